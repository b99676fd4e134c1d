"""The law of docstrings: every example of every module is right, and so are the programs of README and of the tour."""

import ast
import doctest
import importlib
import pathlib
import re
import runpy

import pytest

from tests.programs import printed, skip_without_nuclei, started_in_float32

ROOT = pathlib.Path(__file__).parents[2]
SOURCE = ROOT / "src"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(path: pathlib.Path) -> list[tuple[str, str]]:
    """Those with examples, and what they document: read from the source, since decorators hide some of them."""
    source = path.read_text()
    if ">>> " not in source:
        return []
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
    texts = [(getattr(node, "name", "module"), ast.get_docstring(node) or "") for node in nodes]
    return [(name, text) for name, text in texts if ">>> " in text]


MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in sorted(SOURCE.joinpath("lemmata").rglob("*.py"))
    if docstrings(path)
}


def failures(texts: list[tuple[str, str]], names: dict) -> tuple[str, int]:
    """What doctest says of the examples that fail, and how many ran."""
    said, parser, runner = [], doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    for name, text in texts:
        runner.run(parser.get_doctest(text, dict(names), name, None, None), out=said.append)
    return "".join(said), runner.tries


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_are_right(name, tmp_path, monkeypatch):
    if name.endswith("kernels._disk"):
        pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    if name.endswith(("privacy._spent", "privacy._noise_for")):
        pytest.importorskip("dp_accounting", reason="the extra `privacy` is not installed")
    if name.endswith("regression._charge_radii"):
        skip_without_nuclei()
    monkeypatch.chdir(tmp_path)
    said, ran = failures(docstrings(MODULES[name]), vars(importlib.import_module(name)))
    assert not said, said
    assert ran > 0


def test_a_wrong_example_fails_and_none_is_lost_behind_a_decorator(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('@jit\ndef f():\n    """One.\n\n    >>> 1 + 1\n    3\n    """\n')
    said, ran = failures(docstrings(path), {})
    assert "Expected:\n    3\nGot:\n    2" in said
    assert ran == 1
    assert len(MODULES) >= 60


NEWCOMERS = sorted((ROOT / "docs" / "examples").glob("*.py"))


@pytest.mark.parametrize("path", NEWCOMERS, ids=lambda path: path.stem)
def test_the_programs_for_newcomers_run_and_draw(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with started_in_float32():
        runpy.run_path(str(path))
    assert capsys.readouterr().out == path.with_suffix(".txt").read_text()
    assert (tmp_path / f"{path.stem}.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("path", NEWCOMERS, ids=lambda path: path.stem)
def test_a_newcomers_program_fits_in_thirty_lines_and_stands_on_the_page(path):
    assert sum(bool(line.strip()) for line in path.read_text().splitlines()) <= 30
    page = (path.parent / "README.md").read_text()
    assert f"]({path.name})" in page
    assert f"]({path.stem}.svg)" in page


PAGES = ("README.md", "docs/tour.md")
PROGRAMS = [
    program
    for page in PAGES
    for program in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_the_programs_of_the_readme_and_of_the_tour_run(program):
    with started_in_float32():
        assert printed(program, {})
