"""`lemmata emergence` on tables, good and bad."""

import json
import pathlib

import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app

DIGITS = pathlib.Path(__file__).parents[2] / "subjects" / "emergence" / "digit_strings.csv"
TABLE = "scale,accuracy,items\n1e7,0,500\n1e8,0,500\n1e9,0.02,500\n1e10,0.22,500\n1e11,0.53,500\n1e12,0.78,500\n"


def run(*words):
    return CliRunner().invoke(app, ["emergence", *map(str, words)])


def test_measured_accuracies_get_a_report():
    result = run(DIGITS, "--scale", "rows", "--length", 8, "--at-length", 16)
    assert result.exit_code == 0, result.output
    assert "half of its rise" in result.output
    assert "a smooth loss of a token explains the jump" in result.output
    assert "for answers of 16 tokens" in result.output
    assert "emergence.metrics.exact_match_width" in result.output


def test_the_record_alone(tmp_path):
    (tmp_path / "evals.csv").write_text(TABLE)
    record = json.loads(run(tmp_path / "evals.csv", "--items", 500, "--at-length", 3, "--json").stdout)
    assert record["report"]["alpha"] == pytest.approx(0.4, abs=0.05)
    assert record["report"]["sharper"] is False
    assert record["answers"][0]["half"] > record["report"]["half"]


def test_spaces_beside_numbers_are_allowed(tmp_path):
    (tmp_path / "spaces.csv").write_text(
        TABLE.replace(",", ", ").replace("scale, accuracy, items", "scale,accuracy,items")
    )
    (tmp_path / "evals.csv").write_text(TABLE)
    assert run(tmp_path / "spaces.csv").output == run(tmp_path / "evals.csv").output


@pytest.mark.parametrize(
    ("head", "sizes"),
    [
        ("params,acc,n_items", ["10M", "100M", "1B", "10B", "100B", "1T"]),
        ("Model Size,exact_match,n", ["10m", "100 m", "1b", "10b", "100b", "1t"]),
        ("parameters,Accuracy,total", ["10000K", "1e8", "1.0B", "1e10", "100B", "1000B"]),
    ],
)
def test_usual_names_and_sizes_in_letters_are_read(tmp_path, head, sizes):
    (tmp_path / "evals.csv").write_text(TABLE)
    rows = [line.split(",", 1)[1] for line in TABLE.splitlines()[1:]]
    lines = [f"{size},{row}" for size, row in zip(sizes, rows, strict=True)]
    (tmp_path / "mine.csv").write_text("\n".join([head, *lines]) + "\n")
    result = run(tmp_path / "mine.csv")
    assert result.exit_code == 0, result.output
    assert result.output == run(tmp_path / "evals.csv").output


@pytest.mark.parametrize("name", ["task", "Benchmark", "Task name"])
def test_tables_of_several_tasks_are_refused(tmp_path, name):
    lines = TABLE.splitlines()
    rows = [f"{line},{task}" for task in ("sums", "words") for line in lines[1:]]
    (tmp_path / "evals.csv").write_text("\n".join([f"{lines[0]},{name}", *rows]) + "\n")
    result = run(tmp_path / "evals.csv")
    assert result.exit_code == 2
    assert "2 tasks, such as sums and words" in " ".join(result.output.split())
    (tmp_path / "one.csv").write_text("\n".join([f"{lines[0]},{name}", *rows[:6]]) + "\n")
    assert run(tmp_path / "one.csv").exit_code == 0


def test_letters_are_no_accuracies(tmp_path):
    (tmp_path / "evals.csv").write_text(TABLE.replace("0.78", "0.78M"))
    assert "the cell '0.78M'" in " ".join(run(tmp_path / "evals.csv").output.split())
