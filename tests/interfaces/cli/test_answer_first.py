"""A job prints what it found before it writes: neither a full disk nor a closed output takes both."""

import dataclasses
import inspect
import os
import pathlib

import pytest
from typer.testing import CliRunner

from lemmata import results
from lemmata.errors import FileError
from lemmata.interfaces import report
from lemmata.interfaces.cli import _console, _job, app
from lemmata.interfaces.cli._app import at_end
from lemmata.interfaces.cli._compare import _JOB as COMPARE
from lemmata.interfaces.cli._model import _JOB as MODEL
from lemmata.interfaces.cli._study import _JOB as STUDY
from tests.engine.refutations import untested

RUNNER = CliRunner()


@dataclasses.dataclass(frozen=True)
class Asked:
    """Options."""

    def command(self, *data):
        return "lemmata job"


@dataclasses.dataclass(frozen=True)
class Found:
    """A record, as far as a job asks for it."""

    command: str = ""
    interrupted: bool = False

    def to_json(self):
        return '{"found": true}'


def done(job, folder, monkeypatch, as_json=False):
    monkeypatch.setattr(report, "page_of", lambda record, beside: "the page")
    own = dataclasses.replace(
        job, load=lambda told, *data: None, run=lambda *how: Found(), beside=lambda loaded, record: {},
        say=lambda console, record: console.print("the answer"),
    )  # fmt: skip
    with at_end:  # as a command does it
        return own(Asked(), "digits", directory=folder, as_json=as_json)


def _full(result, files, gone):
    raise FileError("file study.json cannot be written", found="No space left on device")


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("job", [STUDY, COMPARE, MODEL], ids=["study", "compare", "model"])
def test_the_answer_is_printed_where_it_cannot_be_written(job, as_json, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(results.Result, "replace", _full)
    monkeypatch.setattr(_console, "out", _console._Results(width=100))
    with pytest.raises(FileError, match="No space left"):
        done(job, tmp_path, monkeypatch, as_json)
    assert ('{"found": true}' if as_json else "the answer") in capsys.readouterr().out


@pytest.mark.parametrize("job", [STUDY, COMPARE, MODEL], ids=["study", "compare", "model"])
def test_the_record_is_written_where_it_cannot_be_printed(job, tmp_path, monkeypatch):
    def closed(text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_console, "plain", closed)
    with pytest.raises(OSError, match="No space left"):
        done(job, tmp_path, monkeypatch, as_json=True)
    assert pathlib.Path(tmp_path / job.record.file).read_text() == '{"found": true}\n'


@pytest.mark.parametrize("job", [STUDY, COMPARE, MODEL], ids=["study", "compare", "model"])
@pytest.mark.parametrize("phase", ["load", "run"])
def test_code_of_the_user_moves_no_result_and_adds_nothing_to_the_answer(job, phase, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def strays(*given):
        os.chdir(tmp_path / "elsewhere")
        print("a word of the user's")
        return Found()

    own = dataclasses.replace(
        job, load=lambda told, *data: None, run=lambda *how: Found(), beside=lambda loaded, record: {}
    )
    own = dataclasses.replace(own, **{phase: strays})
    monkeypatch.setattr(report, "page_of", lambda record, beside: "a page")
    own(Asked(), "digits", directory=pathlib.Path("out"), as_json=True)
    assert (tmp_path / "out" / job.record.file).is_file()
    assert (tmp_path / "out" / job.folder / "index.html").read_text() == "a page"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    said = capsys.readouterr()
    assert said.out == '{"found": true}\n'
    assert said.err.count("a word of the user's") == 1


@pytest.mark.parametrize("command", ["verify", "walk", "mutate"])
def test_a_file_of_claims_moves_no_ledger(command, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine.py").write_text(inspect.getsource(untested) + "\nimport os\nos.chdir('elsewhere')\n")
    monkeypatch.chdir(tmp_path)
    done = RUNNER.invoke(app, [command, "mine.py:Holds", "--budget", "3", "--ledger", "l.sqlite"])
    assert "Holds" not in done.stderr, done.output
    assert (tmp_path / "l.sqlite").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_of_claims_moves_no_storage(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mine.py").write_text(inspect.getsource(untested) + "\nimport os\nos.chdir('elsewhere')\n")
    monkeypatch.chdir(tmp_path)
    done = RUNNER.invoke(app, ["refute", "mine.py:Holds", "--minutes", "0.001", "--storage", "found.db"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "found.db").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_of_claims_moves_no_counterexample(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    text = inspect.getsource(untested).replace("jnp.asarray(1.0)", "jnp.asarray(0.1)")
    (tmp_path / "mine.py").write_text(text + "\nimport os\nos.chdir('elsewhere')\n")
    monkeypatch.chdir(tmp_path)
    done = RUNNER.invoke(app, ["refute", "mine.py:Holds", "--minutes", "0.001", "--out", "found"])
    assert done.exit_code == 1, done.output
    assert "Written: found/mine.holds/counterexample.py" in done.stdout
    assert (tmp_path / "found" / "mine.holds" / "counterexample.py").exists()


def test_what_was_said_is_said_before_anything_is_written():
    order = []
    with _job.answered(lambda: order.append("said")):
        order.append("written")
    assert order == ["said", "written"]
