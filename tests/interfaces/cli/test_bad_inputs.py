"""Every entry of `bad_inputs.toml` is refused with its exit code and its words, without a traceback and without work.

An entry has `command`, the words of the command line, and `what` is wrong. `files` are made in a folder that has the
small inputs of `tests/faults/inputs.py`: text, or a table of `head`, `rows` times `row` and `tail`. In a row, {i} is
its number, {m} is i² mod 7, {h} is i mod 2, {g} is i mod 35, {d} is i + 1. `say` are words that stderr must hold, and
`code` is the exit code, 2 where it is left out. Nothing is computed, unless `late` says that only the computation can
tell.
"""

import pathlib
import shutil
import tomllib

import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app, commands
from tests.faults.inputs import write_inputs

CATALOGUE = pathlib.Path(__file__).with_name("bad_inputs.toml")
BAD = tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["bad"]
LEAST = 150


def text_of(content):
    """What a file of an entry holds."""
    if isinstance(content, str):
        return content
    rows = (
        content["row"].format(i=i, m=i * i % 7, h=i % 2, g=i % 35, d=i + 1) if "{" in content["row"] else content["row"]
        for i in range(content["rows"])
    )
    return content.get("head", "") + "".join(rows) + content.get("tail", "")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad") / "inputs"
    folder.mkdir()
    write_inputs(folder)
    return folder


def refuse(name):
    def computes(*given, **options):
        pytest.fail(f"{name} computed something before the input was refused")

    return computes


COMPUTING = (
    ("workflows.studies", "run_study"), ("workflows.comparisons", "run_comparison"),
    ("workflows.examinations", "run_examination"), ("engine.refutations", "refute"), ("engine.claims", "verify"),
    ("engine.claims", "calibrate"), ("engine.claims", "mutate"), ("interfaces.site", "write_site"),
)  # fmt: skip


@pytest.fixture
def place(inputs, tmp_path, monkeypatch):
    """A folder with the inputs."""
    folder = tmp_path / "here"
    shutil.copytree(inputs, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LEMMATA_DATA_DIR", str(tmp_path / "data"))
    return folder


def named(entry):
    return f"{entry['command'][0] if entry['command'] else ''}: {entry['what']}"


@pytest.mark.parametrize("entry", BAD, ids=named)
def test_a_bad_input_is_refused_in_words(entry, place, monkeypatch):
    for module, name in () if entry.get("late") else COMPUTING:
        monkeypatch.setattr(f"lemmata.{module}.{name}", refuse(name))
    for name, content in entry.get("files", {}).items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of(content), encoding="utf-8")
    result = CliRunner().invoke(app, entry["command"])
    said = " ".join(result.stderr.split())
    assert result.exit_code == entry.get("code", 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.output
    assert said, "it said nothing"
    assert len(said) < 6000
    missing = [words for words in entry["say"] if " ".join(words.split()) not in said]
    assert not missing, f"{missing} not in: {said}"


def test_the_catalogue_has_something_of_every_command():
    assert len(BAD) >= LEAST
    assert {entry["command"][0] for entry in BAD if entry["command"]} >= set(commands)
    known = [repr((entry["command"], entry.get("files"))) for entry in BAD]
    twice = {named(entry) for entry, own in zip(BAD, known, strict=True) if known.count(own) > 1}
    assert not twice, f"entered twice: {twice}"
