"""The intrinsic dimension against other routes, and bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.approximation import intrinsic_dimension

RNG = np.random.default_rng(0)


def test_the_dimension_by_all_pairs_and_of_frames():
    x = RNG.uniform(size=(150, 3))
    apart = np.sort(np.linalg.norm(x[:, None] - x, axis=2), axis=1)
    found = intrinsic_dimension(pd.DataFrame(x))
    assert found.dimension == pytest.approx(1 / np.mean(np.log(apart[:, 2] / apart[:, 1])))
    assert found.interval[0] < found.dimension < found.interval[1]
    assert found.exponent == -1 / found.dimension
    assert intrinsic_dimension(pl.DataFrame(np.repeat(x, 2, axis=0))).dimension == pytest.approx(found.dimension)
    assert "duplicate rows, which are left out: fails (150)" in str(intrinsic_dimension(np.repeat(x, 2, axis=0)))


def test_intervals_hold_the_dimension_of_a_torus():
    held = []
    for _ in range(60):
        angle = RNG.uniform(0, 2 * np.pi, (200, 2))
        found = intrinsic_dimension(np.concatenate([np.cos(angle), np.sin(angle)], axis=1))
        held.append(found.interval[0] <= 2 <= found.interval[1])
    assert np.mean(held) > 0.75


def test_tables_that_are_refused():
    with pytest.raises(DataError, match="5 different rows; rule: at least 20"):
        intrinsic_dimension(np.repeat(np.eye(5), 10, axis=0))
    with pytest.raises(ShapeError, match="a table"):
        intrinsic_dimension(np.arange(50.0))
    with pytest.raises(SettingError, match="level"):
        intrinsic_dimension(RNG.normal(size=(50, 2)), level=1.0)
    with pytest.raises(DataError):
        intrinsic_dimension(np.full((50, 2), np.nan))
    for table, words in [
        (3.0, r"found shape \(\)"),
        (np.arange(50.0)[:, None].tolist()[:5], "5 different rows; .*add rows"),
    ]:
        with pytest.raises((ShapeError, DataError), match=words):
            intrinsic_dimension(table)
    with pytest.raises(SettingError, match="seed; found -1"):
        intrinsic_dimension(RNG.normal(size=(50, 2)), seed=-1)


def test_lattices_are_refused_and_rounded_values_are_named():
    square = np.stack(np.meshgrid(range(20), range(20)), axis=-1).reshape(-1, 2)
    for table in (square, np.linspace(0, 1, 500)[:, None], np.eye(50)):
        with pytest.raises(
            DataError, match=r"% of the rows equally far from their two nearest neighbours, as on a lattice"
        ):
            intrinsic_dimension(table)
    shown = str(intrinsic_dimension(np.random.default_rng(0).integers(0, 50, size=(500, 2))))
    assert "the interval begins at or below the number of columns: fails" in shown
    assert "share of rows that are equally far from their two nearest neighbours: fails" in shown


@pytest.mark.parametrize("columns", [3, 200])
def test_the_dimension_depends_on_no_origin_and_unit(columns):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3)) @ rng.normal(size=(3, columns))
    plain = intrinsic_dimension(x)
    for moved in (x + 1e6, 1e200 * x, 1e-200 * x, x.astype(object)):
        assert intrinsic_dimension(moved).dimension == pytest.approx(plain.dimension, rel=1e-4)
    apart = np.sort(np.linalg.norm(x[:, None] - x, axis=2), axis=1)
    assert plain.dimension == pytest.approx(1 / np.mean(np.log(apart[:, 2] / apart[:, 1])))


def test_tables_of_other_types():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(60, 2))
    plain = intrinsic_dimension(x).dimension
    nullable = pd.DataFrame({"a": pd.Series(x[:, 0], dtype="Float64"), 1: x[:, 1]})
    for table in (torch.tensor(x, requires_grad=True), nullable):
        assert intrinsic_dimension(table).dimension == plain
    with pytest.raises(DataError, match="found the entry 'u'"):
        intrinsic_dimension(pd.DataFrame({"a": x[:, 0], "b": "u"}))
    assert " of 60 rows with 1 column is " in str(intrinsic_dimension(x[:, :1]))
