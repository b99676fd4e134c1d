"""How a study describes the columns of a table: their cells, and how many dimensions they fill."""

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies._data import load_dataset
from lemmata.workflows.studies._overview import describe


def told(tmp_path, columns):
    """The dimension that a study reports of these columns."""
    columns["y"] = np.random.default_rng(9).normal(size=len(next(iter(columns.values()))))
    path = tmp_path / "t.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return describe(load_dataset(path, "y")).dimension


def test_a_plane_in_ten_columns_has_two_dimensions(tmp_path):
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(1500, 2)) @ rng.normal(size=(2, 10)) * np.geomspace(1e-3, 1e3, 10)
    value, low, high = told(tmp_path, {f"c{i}": column for i, column in enumerate(plane.T)})
    assert low < 2 < high
    assert value == pytest.approx(2, rel=0.1)


def test_missing_cells_and_words_are_no_obstacle(tmp_path):
    rng = np.random.default_rng(1)
    curve = rng.uniform(size=800)
    columns = {"a": np.where(rng.uniform(size=800) < 0.001, np.nan, np.cos(6 * curve)), "b": np.sin(6 * curve)}
    value, _, _ = told(tmp_path, columns | {"c": curve, "word": rng.choice(["x", "y"], 800)})
    assert value == pytest.approx(1, rel=0.2)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": np.arange(40) % 5.0, "b": np.arange(40) % 7.0},
        {"a": np.random.default_rng(2).normal(size=40)},
        {"a": np.tile(np.arange(20.0), 3), "b": np.tile(np.arange(20.0), 3)},
    ],
    ids=["few values", "one column", "copies"],
)
def test_nothing_is_said_where_distances_say_nothing(tmp_path, columns):
    assert told(tmp_path, columns) is None


def test_nothing_is_said_where_the_estimate_depends_on_the_number_of_rows(tmp_path):
    """A line with noise of the distance between neighbours: few rows fill one dimension, and many fill more."""
    rng = np.random.default_rng(3)
    line = rng.uniform(size=(1600, 1)) * np.ones(6) + 1e-3 * rng.normal(size=(1600, 6))
    assert told(tmp_path, {f"c{i}": column for i, column in enumerate(line.T)}) is None


def test_the_columns_are_described_in_the_users_own_cells(tmp_path):
    n = 240
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({
        "clock": [f"{k % 24:02d}:{7 * k % 60:02d}" for k in range(n)],
        "flag": [["TRUE", "false"][k % 3 > 0] for k in range(n)],
        "day": [f"{1 + k % 28:02d}.{1 + k // 28:02d}.2000" for k in range(n)], "town": [f"T{k % 60}" for k in range(n)],
        "price": [f"{k / 4:.2f} €".replace(".", ",") for k in range(n)], "long": [k % 50 for k in range(n)],
        "at": [f"2024-06-{1 + k // 24:02d} {k % 24:02d}:00:00Z" for k in range(n)], "y": rng.normal(size=n),
    })  # fmt: skip
    frame.write_csv(tmp_path / "t.csv", separator=";")
    found = {own.name: (own.kind, own.range) for own in describe(load_dataset(tmp_path / "t.csv", "y")).columns}
    assert found == {
        "clock": ("time of day", "00:00 to 23:53"),
        "flag": ("true or false", "False, True"),
        "day": ("date", "01.01.2000 to 16.09.2000"),
        "town": ("category", "T0, T1, T10, ..."),
        "price": ("number", "0,00 € to 59,75 €"),
        "long": ("number", "0 to 49"),
        "at": ("date", "2024-06-01 00:00:00Z to 2024-06-10 23:00:00Z (time zone UTC)"),
    }
