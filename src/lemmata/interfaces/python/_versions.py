"""Print the installed versions, which belong at the start of a bug report."""

import importlib.metadata
import platform
import re
import sys

from lemmata.version import __version__


def show_versions() -> None:
    """Print the versions of lemmata, of Python and of every package that lemmata depends on.

    >>> import lemmata
    >>> lemmata.show_versions()  # doctest: +ELLIPSIS
    lemmata ...
    """
    lines = {"lemmata": __version__, "python": sys.version.split()[0], "system": platform.platform()}
    lines |= {name: _installed(name) for name in _dependencies()}
    width = max(map(len, lines))
    print("\n".join(f"{name:{width}}  {version}" for name, version in lines.items()))


def _dependencies() -> list[str]:
    """The names of the packages that lemmata requires, then those of its extras, each once."""
    try:
        asked = importlib.metadata.requires("lemmata") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    asked.sort(key=lambda line: "extra ==" in line)
    names = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in asked]
    return [name for name in dict.fromkeys(names) if name != "lemmata"]


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
