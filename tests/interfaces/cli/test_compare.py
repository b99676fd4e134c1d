"""What `lemmata compare` writes, prints and returns; the computation itself is replaced by a record."""

import dataclasses
import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

import lemmata.interfaces.report  # noqa: F401 -- before `run` replaces what it imports
from lemmata.interfaces.cli import _compare, app
from lemmata.options import ComparisonOptions
from lemmata.workflows.comparisons import ComparisonRecord, load_sequences, run_comparison
from lemmata.workflows.records.comparisons import Data, FamilyResult, FiniteResult, Interval

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


def test_the_table_has_a_row_for_each_family_by_its_error_and_blanks_for_what_is_not_known():
    one = FamilyResult(
        name="attention", title="attention", words="", error=Interval(0.4, 0.35, 0.5), wrong=None,
        permuted=Interval(1.0, 0.9, 1.1), sound=True, setting="s", values=[1.0], chosen=[1.0], ridges=[1.0], points=[],
        ratio=1.5, equivalent=None, later=[], effective_dimension=7.4, alignment=[], seconds=12.34,
    )  # fmt: skip
    two = dataclasses.replace(
        one, name="mlp", title="flattened", error=Interval(0.25, 0.2, 0.3), ratio=None, effective_dimension=None
    )
    data = Data(
        name="rows.csv", words="", expected="", rows=90, used_rows=80, length=6, shortest=6, channels=1, training=1000,
        test=40, repeats=2, task="regression", target="y", classes=None, read="last", kernels="fixed", notes=["once"],
    )  # fmt: skip
    record = ComparisonRecord(
        **ComparisonRecord.head(), seed=0, seconds=1.0, peak_gib=1.0, data=data, winner=None, leaders=["mlp"],
        sentences=["It is so."], families=[one, two], pairs=[], theorem=None, statements=[],
        finite=[FiniteResult("mlp", 0.125, 0.25, 6000, 10, 1.0)], scores=[], notes=["once", "twice"],
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=200)
    _compare._print(console, record)
    lines = [line.split() for line in console.file.getvalue().splitlines() if line.strip()]
    assert lines[0] == ["It", "is", "so."]
    assert lines[1] == ["error", "with", "predicted", "from", "effective"]
    assert lines[2] == ["family", "1,000", "rows", "95", "%", "interval", "training", "rows", "dimension", "seconds"]
    assert lines[4] == ["flattened", "0.25", "0.2", "to", "0.3", "12.3"]
    assert lines[5] == ["attention", "0.4", "0.35", "to", "0.5", "0.6", "7", "12.3"], "0.6 is 1.5 times 0.4"
    assert lines[6][:9] == ["rows.csv:", "80", "rows", "of", "6", "tokens", "with", "1", "channel."]
    assert " ".join(lines[7]).startswith("Trained network, flattened: error 0.125 with 6,000 parameters (the kernel")
    assert " ".join(lines[7]).endswith("error 0.25 on the same split).")
    assert [" ".join(line) for line in lines[8:]] == ["Note: once", "Note: twice"]


def test_names_in_data_are_escaped(run, tmp_path, record):
    name = "<img src=x onerror=alert(1)>\u202e"
    changed = dataclasses.replace(record, data=dataclasses.replace(record.data, name=name))
    assert run(record=changed).exit_code == 0
    page = (tmp_path / "out" / "compare" / "index.html").read_text()
    assert "<img src=x" not in page
    assert "\u202e" not in page
