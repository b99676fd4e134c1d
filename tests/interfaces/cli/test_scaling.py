"""`lemmata scaling` on tables, good and bad."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from lemmata.interfaces.cli._scaling import _lines
from lemmata.subjects.scaling import AbstractFinding, Allocation

SIZES = np.logspace(6, 9.5, 8)
LOSSES = (1.7 + 400 * SIZES**-0.34) * np.exp(0.003 * np.random.default_rng(0).normal(size=8))


@pytest.fixture
def table(tmp_path):
    pl.DataFrame({"n": SIZES, "loss": LOSSES}).write_csv(tmp_path / "points.csv")
    return tmp_path / "points.csv"


def run(*words):
    return CliRunner().invoke(app, ["scaling", *map(str, words)])


def test_a_table_gets_a_law_with_its_limits(table):
    result = run(table, "--at", "1e11", "--loss", "1.8")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("loss = 1.")
    assert "alpha: 0.3" in result.output
    assert "loss at n = 1e+11: 1.7" in result.output
    assert "n for the loss 1.8" in result.output
    assert "valid only if the same law continues there" in result.output
    assert "scaling.laws.extrapolation_interval" in result.output


def test_the_record_alone(table):
    record = json.loads(run(table, "--at", "1e11", "--loss", "1.71", "--json").stdout)
    assert record["law"]["constants"]["alpha"] == pytest.approx(0.34, abs=0.02)
    assert [row["question"] for row in record["answers"]] == ["loss at n = 1e+11", "n for the loss 1.71"]
    low, high = record["answers"][0]["interval"]
    assert low < record["answers"][0]["value"] < high


def test_a_budget_is_shared(tmp_path):
    n, d = (axis.ravel() for axis in np.meshgrid(np.logspace(7, 9.5, 5), np.logspace(8.5, 11, 5)))
    loss = (1.69 + 406.4 * n**-0.34 + 410.7 * d**-0.28) * np.exp(0.003 * np.random.default_rng(0).normal(size=25))
    pl.DataFrame({"params": n, "tokens": d, "eval": loss}).write_parquet(tmp_path / "runs.parquet")
    words = (tmp_path / "runs.parquet", "--size", "params", "--value", "eval", "--amount", "tokens")
    result = run(*words, "--compute", "1e22", "--at", "1e9", "--d", "1e11")
    assert result.exit_code == 0, result.output
    assert "budget 1e+22" in result.output
    assert "beta: 0.2" in result.output
    served = json.loads(run(*words, "--compute", "1e22", "--served", "1e12", "--json").stdout)["answers"][0]
    plain = json.loads(run(*words, "--compute", "1e22", "--json").stdout)["answers"][0]
    assert served["n"] < plain["n"]
    assert served["claim"] == "scaling.laws.inference_aware_allocation"


def test_each_answer_has_its_numbers_and_the_notes_that_were_not_given_yet():
    all_of = {"level": 0.9, "hypotheses": ()}
    law = AbstractFinding(value=0.3, interval=(0.2, 0.4), claim="of.a.law", notes=("few points", "no floor"), **all_of)
    loss = AbstractFinding(value=1.5, interval=(1.25, 1.75), claim="a", notes=("no floor", "far away"), **all_of)
    budget = Allocation(value=2.5, interval=(2.0, 3.0), claim="b", notes=("few points", "very far away"), n=8.0, d=6.0,
                        n_interval=(7.0, 9.0), d_interval=(5.0, float("inf")), **all_of)  # fmt: skip
    assert _lines(law, [("loss at n = 5", loss), ("budget 288", budget)]) == [
        "0.3, 90 % interval 0.2 to 0.4",
        "- few points",
        "- no floor",
        "loss at n = 5: 1.5, 90 % interval 1.25 to 1.75",
        "  - far away",
        "budget 288: 2.5, 90 % interval 2 to 3",
        "  n: 8, 90 % interval 7 to 9",
        "  d: 6, 90 % interval 5 to infinity",
        "  - very far away",
        "The intervals rely on the claim of.a.law. `lemmata show of.a.law` prints it.",
    ]
