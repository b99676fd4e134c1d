"""`lemmata grokking` on logs, good and bad."""

import json
import pathlib

import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app

LOG = pathlib.Path(__file__).parents[2] / "subjects" / "grokking" / "modular_addition.csv"


def run(*words):
    return CliRunner().invoke(app, ["grokking", *map(str, words)])


def test_a_log_gets_its_delays():
    result = run(LOG)
    assert result.exit_code == 0, result.output
    assert result.output.count("two clocks") == 3
    assert "t_test at 0.99 ~ weight decay^-0.59" in result.output
    assert "grokking.clocks.delay_by_threshold" in result.output
    assert len(result.output.splitlines()) < 30


def test_the_record_alone():
    record = json.loads(run(LOG, "--threshold", "0.9", "--json").stdout)
    assert record["columns"] == {"step": "step", "train": "train_accuracy", "test": "validation_accuracy"}
    assert [own["crossings"][0]["test"] for own in record["runs"]] == [4110, 2425, 1706]
    assert record["slope"]["inverse"] is False


def test_columns_by_name(tmp_path):
    (tmp_path / "log.tsv").write_text("it\tfit\theld\n1\t0.1\t0\n10\t1\t0.2\n100\t1\t1\n")
    words = (tmp_path / "log.tsv", "--step", "it", "--train", "fit", "--test", "held")
    assert "metric" in run(*words).output
    assert "100 (10 to 100)" in run(*words, "--metric", "accuracy").output


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("step,train_acc\n1,0\n2,1\n", (), "log both"),
        ("step,train_acc,val_acc\n", (), "no rows"),
        ("step,train_acc,val_acc\n1,0,0\n2,1,x\n", (), "a number"),
        ("step,train_acc,val_acc\n1,0,0\n2,1,80\n", (), "divide percentages by 100"),
        ("step,train_acc,val_acc\n1,0,0\n2,1,1\n", ("--threshold", "1"), "strictly between"),
        ("step,train_acc,val_acc\n1,0,0\n2,1,1\n", ("--test", "acc"), "column 'acc'"),
        ("a,b\n1,0\n2,1\n", (), "step"),
    ],
)
def test_bad_logs_are_refused(tmp_path, text, words, message):
    (tmp_path / "log.csv").write_text(text)
    result = run(tmp_path / "log.csv", *words)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["nowhere.csv", "digits", ""])
def test_what_is_no_file_is_refused(name):
    result = run(name)
    assert result.exit_code == 2
    assert "bundled" not in result.output
