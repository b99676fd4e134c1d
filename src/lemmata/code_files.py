"""Run the Python files that the user names, and no other files of the current folder.

At the top, this module imports only modules that Python has already loaded for `python -m`. The reason is that the
current folder may contain a file such as `typing.py`.
"""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import CodeType, ModuleType
    from typing import Any

SAFE_PATH = "PYTHONSAFEPATH"
"""If this environment variable is set, a new Python process imports no modules from its current folder."""


def forget_current_folder() -> None:
    """Stop imports from the current folder, in this program and in programs that it starts.

    `python -m` searches the current folder before the standard library. Every Python that is started with `-c` does the
    same, for example a process of `multiprocessing`. The folder is still searched if lemmata itself is in this folder.
    """
    os.environ[SAFE_PATH] = "1"
    # If a program was started by its file (`python run.py`, or the command), the first entry is the folder of that
    # file.
    by_module = getattr(sys.modules.get("__main__"), "__spec__", None) is not None
    if not by_module or sys.flags.safe_path or not sys.path:
        return
    here = current_folder()
    own = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    if sys.path[0] in ("", here) and os.path.realpath(here) != own:
        del sys.path[0]


def current_folder() -> "str":
    """The path of the current folder; empty if this folder was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


@contextlib.contextmanager
def in_folder(folder: "str") -> "Iterator[None]":
    """A context in which a folder is the current folder. Code of the user may have chosen another current folder.

    Args:
        folder: the path of the folder; if it is empty, the current folder stays as it is.
    """
    before = current_folder()
    if folder:
        os.chdir(folder)
    try:
        yield
    finally:
        if before:
            os.chdir(before)


class _Source(importlib.machinery.SourceFileLoader):
    """A loader that reads the text of the file itself, never a cached compilation.

    The compiled code names the file in UTF-8, since JAX cannot read other names.
    """

    def source_to_code(self, data: "Any", path: "Any", *, _optimize: int = -1) -> "CodeType":
        """Return the compiled code. `inspect` finds its source lines, even if no file has the name in the code."""
        shown = in_utf_8(path)
        if shown != path:
            import linecache  # not at the top, because it loads modules that Python itself has not loaded

            _NAMED[shown] = path
            lines = importlib.util.decode_source(data).splitlines(keepends=True)
            linecache.cache[shown] = (len(data), None, lines, shown)
        return super().source_to_code(data, shown, _optimize=_optimize)

    def path_stats(self, path: "str") -> "dict":
        """Raise an error, so that Python neither reads nor writes a cache."""
        raise OSError("not cached")


def file_named(shown: str) -> str:
    """The path of the file that compiled code refers to by the name `shown`."""
    return _NAMED.get(shown, shown)


def in_utf_8(text: str) -> str:
    """The text, with escapes for characters that UTF-8 cannot encode.

    Such characters are surrogates. Python uses surrogates for the bytes of a file name that is not UTF-8.
    """
    return text.encode(errors="backslashreplace").decode()


def executed(path: "str | Path", name: str, *, registered: bool = False) -> "ModuleType":
    """Run a Python file, and return the module that it defines.

    Args:
        path: the file, whose name ends in .py.
        name: the name of the module; characters that UTF-8 cannot encode are escaped.
        registered: whether to register the module in `sys.modules`. Dataclasses and Flax classes of the module need
            this, because their code looks for the module there.

    Raises:
        BaseException: any exception that the code of the file raises.
    """
    whole, name = os.path.abspath(path), in_utf_8(name)
    spec = importlib.util.spec_from_file_location(name, whole, loader=_Source(name, whole))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if registered:
        sys.modules[name] = module
    with importing_beside(path):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def importing_beside(path: "str | Path") -> "Iterator[None]":
    """A context in which modules in the folder of a file can be imported. Modules of Python itself have priority.

    Args:
        path: the file.
    """
    folder = os.path.dirname(os.path.realpath(path))
    library = [place for place, entry in enumerate(sys.path) if entry in _LIBRARY]
    sys.path.insert(library[-1] + 1 if library else 0, folder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # the code of the file may have removed the folder
            sys.path.remove(folder)


_NAMED: "dict[str, str]" = {}  # paths that are not UTF-8, by the names that compiled code has for them
_FOLDER = os.path.dirname(os.__file__)
_LIBRARY = (_FOLDER, os.path.join(_FOLDER, "lib-dynload"))
