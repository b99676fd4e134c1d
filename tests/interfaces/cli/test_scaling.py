"""`lemmata scaling` on tables, good and bad."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app

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
