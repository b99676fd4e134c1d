"""`lemmata grokking` on logs, good and bad."""

import json
import pathlib

from typer.testing import CliRunner

from lemmata.interfaces.cli import app

LOG = pathlib.Path(__file__).parents[2] / "subjects" / "grokking" / "modular_addition.csv"


def run(*words):
    return CliRunner().invoke(app, ["grokking", *map(str, words)])


def test_a_log_gets_its_delays():
    result = run(LOG)
    assert result.exit_code == 0, result.output
    assert result.output.count("two clocks") == 3
    assert "t_test at 0.99 grows like weight decay^-0.59" in result.output
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
