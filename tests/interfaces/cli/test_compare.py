"""What `lemmata compare` writes, prints and returns; the computation itself is replaced by a record."""

import dataclasses
import json

import pytest
from typer.testing import CliRunner

import lemmata.interfaces.report  # noqa: F401 -- before `run` replaces what it imports
from lemmata.interfaces.cli import app
from lemmata.options import ComparisonOptions
from lemmata.workflows.comparisons import ComparisonRecord, load_sequences, run_comparison

OPTIONS = ComparisonOptions(families="mlp,recurrent,attention", lengths="64,128", repeats=2, max_rows=80)


@pytest.fixture(scope="module")
def record():
    """A comparison that really ran."""
    return run_comparison(load_sequences("lookup", OPTIONS), OPTIONS)


@pytest.fixture
def run(monkeypatch, tmp_path, record):
    def start(*options, data="lookup", record=record, stop=None):
        def computed(sequences, options, progress, started, executor):
            start.seen = options
            if stop:
                raise stop
            return record

        monkeypatch.setattr("lemmata.workflows.comparisons.run_comparison", computed)
        return CliRunner().invoke(app, ["compare", data, "--out", str(tmp_path / "out"), *options])

    return start


def test_the_files_and_the_summary(run, tmp_path, record):
    result = run("--families", "mlp,attention", "--lengths", "none", "--seed", "3", "--read", "mean")
    assert result.exit_code == 0, result.output
    assert run.seen == ComparisonOptions(families="mlp,attention", lengths="none", seed=3, read="mean")
    written = ComparisonRecord.load(tmp_path / "out" / "compare.json")
    command = "lemmata compare lookup --families mlp,attention --read mean --lengths none --seed 3"
    assert written == dataclasses.replace(record, command=command)
    page = (tmp_path / "out" / "compare" / "index.html").read_text()
    shown = " ".join(result.stdout.split())
    for sentence in record.sentences:
        assert " ".join(sentence.split()) in shown
    assert record.sentences[0].split(":")[0] in page
    for words in ("Theorem 1", "What longer rows cost", command):
        assert words in page
    assert "<script src" not in page


def test_json_stands_alone_on_stdout(run, tmp_path):
    result = run("--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout, parse_constant=pytest.fail) == json.loads(
        (tmp_path / "out" / "compare.json").read_text()
    )


def test_exit_codes(run, tmp_path, record):
    assert run(record=dataclasses.replace(record, interrupted=True)).exit_code == 130
    result = run(stop=KeyboardInterrupt())
    assert result.exit_code == 130
    assert "before any result was finished" in result.stderr
    result = run("--families", "rnn")
    assert result.exit_code == 2
    assert "Error: --families has an unknown name" in result.stderr
    assert "Traceback" not in result.stderr
    (tmp_path / "few.csv").write_text("a,b,y\n" + "\n".join(f"{i},{i % 7},{i % 5}" for i in range(30)))
    result = run("--target", "y", "--sequence-length", "2", data=str(tmp_path / "few.csv"))
    assert result.exit_code == 2
    assert "at least 40" in result.stderr


def test_names_in_data_are_escaped(run, tmp_path, record):
    name = "<img src=x onerror=alert(1)>\u202e"
    changed = dataclasses.replace(record, data=dataclasses.replace(record.data, name=name))
    assert run(record=changed).exit_code == 0
    page = (tmp_path / "out" / "compare" / "index.html").read_text()
    assert "<img src=x" not in page
    assert "\u202e" not in page
