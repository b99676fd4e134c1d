"""A named pipe, a device or a folder where a file should be is refused at once; a lack of memory is one line."""

import os

import pytest
from typer.testing import CliRunner

from lemmata.engine.refutations import load_counterexample
from lemmata.errors import FileError
from lemmata.interfaces.cli import app
from lemmata.storage import load

SUFFIXES = (".csv", ".parquet", ".npz", ".json", ".jsonl", ".feather", ".xlsx", ".gz", ".zip")


@pytest.fixture
def pipe(tmp_path):
    """A named pipe of an ending; a reader that waited for it would wait for ever."""

    def make(ending):
        path = tmp_path / f"pipe{ending}"
        os.mkfifo(path)
        return str(path)

    return make


def refused(*words):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("ending", SUFFIXES)
def test_data(pipe, ending):
    assert "found: it is a named pipe, and not a file" in refused("study", pipe(ending), "--target", "y")


@pytest.mark.parametrize(
    ("words", "ending"),
    [(["report"], ".json"), (["ledger", "list", "--ledger"], ".sqlite"), (["scaling"], ".csv"),
     (["grokking"], ".csv"), (["compare"], ".npz"), (["in-context"], ".csv")],
    ids=lambda value: value[0],
)  # fmt: skip
def test_what_commands_read(pipe, words, ending):
    told = refused(*words, pipe(ending))
    assert "found: it is a named pipe, and not a file" in told or "found: not a regular file" in told


@pytest.mark.parametrize(
    ("words", "ending"), [(["model", "{}"], ".skops"), (["model", "model.py", "--weights", "{}"], ".safetensors")]
)
def test_what_a_model_is_read_from(pipe, words, ending, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("def build():\n    return None\n")
    (tmp_path / "t.csv").write_text("a,y\n" + "1,2\n" * 30)
    path = pipe(ending)
    words = [word.format(path) for word in words]
    told = refused(*words[:2], "t.csv", "--target", "y", *words[2:])
    assert "it is a named pipe, and not a file" in told
    assert path in told


def test_only_a_lack_of_permission_is_one(pipe):
    assert "remedy: name a file that holds the table" in refused("study", pipe(".csv"), "--target", "y")


def test_devices():
    assert "found: it is a device, and not a file" in refused("report", "/dev/zero")
    assert "found: not a regular file" in refused("ledger", "list", "--ledger", "/dev/null")


@pytest.mark.parametrize("words", [["verify"], ["refute"]])
def test_claims(pipe, words):
    assert "rule: an existing Python file" in refused(*words, pipe(".py"))


def test_in_python(pipe):
    with pytest.raises(FileError, match="named pipe"):
        load_counterexample(pipe(".json"))
    with pytest.raises(FileError, match="named pipe"):
        load(pipe(".safetensors"))


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 80 bytes"),
        RuntimeError("std::bad_alloc"),
    ],
    ids=["Python", "XLA", "C++"],
)
def test_a_lack_of_memory_is_one_line(monkeypatch, error):
    def lacking(*_a, **_k):
        raise error

    monkeypatch.setattr("lemmata.engine.catalogue.rows", lacking)
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 4
    assert result.stderr.startswith("Error: there is not enough memory")


@pytest.mark.parametrize(("words", "found"), [(("no data left",), "found: no data left "), ((), "")])
def test_a_file_that_ends_too_early_is_no_verdict(monkeypatch, words, found):
    def short(*_a, **_k):
        raise EOFError(*words)

    monkeypatch.setattr("lemmata.engine.catalogue.rows", short)
    told = f"Error: a file is shorter than its header says {found}rule: a file must be complete"
    assert refused("list") == told
