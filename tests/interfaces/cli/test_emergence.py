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
    assert "half of the rise" in result.output
    assert "a smooth loss of a token explains the jump" in result.output
    assert "for 16 tokens" in result.output
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
