"""Files of Python code run where somebody names them, and those that lie beside them or beside the data do not."""

import ast
import importlib.util
import inspect
import multiprocessing
import os
import pathlib
import subprocess
import sys
import types

import pytest

import lemmata
from lemmata.code_files import SAFE_PATH, executed, file_named, forget_current_folder
from lemmata.core import started

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "lemmata"
NAMES = ("signal", "threading", "json", "typing", "struct", "selectors", "random", "jax", "numpy/__init__", "typer")


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """The current folder, whose modules have the names of others and write down that they ran; and what they wrote."""
    folder, ran = tmp_path / "data", tmp_path / "ran"
    for name in NAMES:
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(ran)!r}, 'a').write({name!r} + chr(10))\nraise SystemExit('ran')\n")
    monkeypatch.chdir(folder)
    return lambda: ran.read_text().split() if ran.exists() else []


def test_a_process_runs_nothing_of_the_current_folder(hostile, monkeypatch):
    monkeypatch.delenv(SAFE_PATH, raising=False)
    process = started(multiprocessing.get_context("spawn").Process(target=os.getpid))
    process.join(300)
    assert (hostile(), process.exitcode) == ([], 0)
    assert SAFE_PATH not in os.environ, "programs that a user's own code starts stay as they are"


def test_every_process_of_multiprocessing_is_started_so():
    calls = 0
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        safe = [
            argument for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "started"
            for argument in node.args
        ]  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("Process", "Popen", "run_path"):
                calls += 1
                assert node in safe, f"{path}:{node.lineno}"
    assert calls >= 3


def test_the_command_runs_nothing_of_the_current_folder(hostile):
    env = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-m", "lemmata", "--version"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    assert (hostile(), done.returncode) == ([], 0), done.stderr
    assert done.stdout.startswith("lemmata ")


@pytest.fixture
def by_module(monkeypatch):
    """A Python that was started with -m."""
    monkeypatch.setitem(sys.modules, "__main__", types.SimpleNamespace(__spec__=object()))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(SAFE_PATH, "0")


def test_the_current_folder_is_no_place_to_import_from_unless_lemmata_lies_there(by_module, monkeypatch, tmp_path):
    own = pathlib.Path(lemmata.__file__).resolve().parents[1]
    cases = ((str(tmp_path), tmp_path, False), ("", tmp_path, False), (str(own), own, True), ("/none", tmp_path, True))
    for first, folder, stays in cases:
        monkeypatch.chdir(folder)
        sys.path.insert(0, first)
        before = [*sys.path]
        forget_current_folder()
        assert sys.path == (before if stays else before[1:]), first
        assert os.environ[SAFE_PATH] == "1"


def test_a_script_keeps_its_own_folder(by_module, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "__main__", types.SimpleNamespace(__spec__=None))
    monkeypatch.chdir(tmp_path)
    sys.path.insert(0, str(tmp_path))
    forget_current_folder()
    assert sys.path[0] == str(tmp_path)


def test_the_source_runs_and_not_what_a_cache_beside_it_says(tmp_path):
    path, twin = tmp_path / "own.py", tmp_path / "twin.py"
    path.write_text("value = 'read by the user'\n")
    twin.write_text("value = 'left in a cache!'\n")
    stat = path.stat()
    os.utime(twin, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    cache = pathlib.Path(importlib.util.cache_from_source(str(path)))
    import py_compile

    py_compile.compile(str(twin), cfile=str(cache), doraise=True)
    before = cache.read_bytes()
    spec = importlib.util.spec_from_file_location("own", path)
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    assert plain.value == "left in a cache!", "Python itself believes the cache"
    assert executed(path, "own").value == "read by the user"
    assert cache.read_bytes() == before


def test_a_file_imports_what_lies_beside_it_but_not_in_the_place_of_the_library(tmp_path):
    (tmp_path / "beside_it.py").write_text("value = 3\n")
    (tmp_path / "colorsys.py").write_text("raise SystemExit('ran')\n")
    path, before = tmp_path / "own.py", [*sys.path]
    path.write_text("import colorsys\nimport beside_it\n\nvalue = beside_it.value, colorsys.__name__\n")
    sys.modules.pop("colorsys", None)
    try:
        assert executed(path, "own_module").value == (3, "colorsys")
        assert "own_module" not in sys.modules
        path.write_text("raise ValueError('of the file')")
        with pytest.raises(ValueError, match="of the file"):
            executed(path, "own_module")
        assert sys.path == before
    finally:
        sys.modules.pop("beside_it", None)


@pytest.mark.parametrize("folder", [b"", b"f\xff"])
def test_code_of_a_file_whose_name_is_not_utf_8_has_a_name_that_every_library_can_read(folder, tmp_path):
    place = tmp_path / os.fsdecode(folder)
    place.mkdir(exist_ok=True)
    path = place / os.fsdecode(b"own\xff.py")
    path.write_text("def value():\n    return 3\n")
    module = executed(path, path.stem)
    assert module.__name__ == r"own\udcff"
    assert module.value.__code__.co_filename.encode().endswith(rb"own\udcff.py")
    assert inspect.getsource(module.value) == path.read_text()
    assert file_named(inspect.getsourcefile(module.value)) == str(path)
