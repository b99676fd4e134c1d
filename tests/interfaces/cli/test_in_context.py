"""`lemmata in-context` on tables, good and bad."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "yield": np.sin(x[:, 0]) + 0.1 * x[:, 1]})
    frame.write_csv(tmp_path / "table.csv")
    return tmp_path / "table.csv"


def run(*words):
    return CliRunner().invoke(app, ["in-context", *map(str, words)])


def test_a_table_gets_predictions_and_pictures(table, tmp_path):
    result = run(table, "--target", "yield", "--features", 64, "--layers", 201, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "Lasso by coordinate descent" in result.output
    record = json.loads((tmp_path / "in_context" / "run.json").read_text())
    rows = {row["model"]: row for row in record["rows"]}
    lasso = rows["Lasso by coordinate descent, same features"]
    momentum, plain = rows["transformer, with momentum"], rows["transformer, plain"]
    assert record["examples"] == 45
    assert record["width_of_stream"] == {"with momentum": 2 + 3 * 64 + 8, "plain": 2 + 2 * 64 + 7}
    assert lasso["objective"] <= momentum["objective"] <= plain["objective"] + 1e-12
    assert momentum["objective"] < lasso["objective"] + 0.05
    assert momentum["error"] < 0.6
    conditions = {condition["name"]: condition for condition in record["hypotheses"]}
    cover = conditions["number of features is at least log |N_epsilon|"]
    assert cover["value"] == 64
    assert cover["holds"] == (cover["threshold"] <= 64)
    assert conditions["noise is sub-Gaussian"]["holds"] is None
    for kind in ("with momentum", "plain"):
        path = record["paths"][kind]
        assert path["layers"][-1] == 201
        assert path["error"][-1] == pytest.approx(rows[f"transformer, {kind}"]["error"], rel=0.05)
    for name in ("errors", "coefficients", "coefficients_plain", "attention"):
        assert (tmp_path / "in_context" / f"{name}.svg").read_text().startswith("<svg")


def test_the_record_alone(table, tmp_path):
    words = (table, "--target", "yield", "--features", 8, "--layers", 5, "--out", tmp_path, "--json")
    result = CliRunner().invoke(app, ["in-context", *map(str, words)])
    assert json.loads(result.stdout)["layers"] == 5
