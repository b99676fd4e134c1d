"""The encoder is fitted on the training rows alone, keeps its width, and neither overflows nor leaves raw values."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from lemmata.workflows.studies import load_dataset

RNG = np.random.default_rng(0)
N = 60
EPS = np.finfo(float).eps


@pytest.fixture(scope="module")
def messy():
    a = RNG.normal(3.0, 2.0, size=N)
    a[[2, 30]] = np.nan
    table = pl.DataFrame(
        {
            "whole": RNG.normal(size=N) * 5 + 1,
            "a": a,
            "colour": ["red", "green", None, "blue"] * (N // 4),
            "rare": ["usual"] * (N - 1) + ["once"],
            "late": [4.0] * (N - 5) + [6.0] * 5,
            "y": RNG.normal(size=N),
        }
    )
    return load_dataset(table, "y")


@pytest.mark.parametrize("train", [np.arange(1), np.arange(10), np.arange(0, N, 2), np.arange(N)])
def test_the_width_is_that_of_the_whole_table_in_every_split(messy, train):
    x = messy.encoder().fit(messy.inputs[train]).transform(messy.inputs)
    assert x.shape == (N, len(messy.features))
    assert np.isfinite(x).all()


def test_names_and_codes_of_the_raw_columns(messy):
    assert messy.raw_features == ("whole", "a", "colour", "rare", "late")
    assert messy.categories == (None, None, ("blue", "green", "red"), ("once", "usual"), None)
    assert messy.inputs.shape == (N, 5)
    np.testing.assert_array_equal(messy.inputs[:4, 2], [2, 1, np.nan, 0])
    assert np.flatnonzero(np.isnan(messy.inputs[:, 1])).tolist() == [2, 30]
    assert messy.features == (
        *("whole", "late", "a", "a is missing"),
        *("colour = blue", "colour = green", "colour = red", "colour is missing", "rare = once", "rare = usual"),
    )
    np.testing.assert_allclose(messy.targets * 1.0, messy.y * messy.y_scale + messy.y_mean, rtol=0, atol=8 * EPS)


def test_every_step_is_learned_from_the_training_rows(messy):
    train = np.arange(20)
    x = messy.encoder().fit(messy.inputs[train]).transform(messy.inputs)
    column = dict(zip(messy.features, x.T, strict=True))
    whole, a = messy.inputs[:, 0], messy.inputs[:, 1]
    np.testing.assert_allclose(
        column["whole"], (whole - whole[train].mean()) / whole[train].std(), rtol=0, atol=1e3 * EPS
    )
    filled = np.where(np.isnan(a), np.nanmedian(a[train]), a)
    np.testing.assert_allclose(
        column["a"], (filled - filled[train].mean()) / filled[train].std(), rtol=0, atol=1e3 * EPS
    )
    for name, hot in (("a is missing", np.isnan(a)), ("colour = red", messy.inputs[:, 2] == 2)):
        hot = hot.astype(float)
        np.testing.assert_allclose(column[name], (hot - hot[train].mean()) / hot[train].std(), rtol=0, atol=1e3 * EPS)


def test_what_is_constant_over_the_training_rows_is_zero_for_all_rows(messy):
    x = messy.encoder().fit(messy.inputs[:40]).transform(messy.inputs)
    column = dict(zip(messy.features, x.T, strict=True))
    for name in ("late", "rare = once", "rare = usual"):
        np.testing.assert_array_equal(column[name], np.zeros(N))
    # A column without any value among the training rows has no median either.
    alone = messy.encoder().fit(messy.inputs[[2, 30]]).transform(messy.inputs)
    np.testing.assert_array_equal(alone[:, messy.features.index("a")], np.zeros(N))


@pytest.mark.parametrize("scale", [1e-300, 1e200, 1e300])
def test_huge_and_tiny_columns_do_not_overflow(scale):
    values = RNG.normal(size=N)
    table = pl.DataFrame({"a": values * scale, "b": RNG.normal(size=N), "y": RNG.normal(size=N)})
    data = load_dataset(table, "y")
    train = np.arange(30)
    x = data.encoder().fit(data.inputs[train]).transform(data.inputs)
    np.testing.assert_allclose(x[:, 0], (values - values[train].mean()) / values[train].std(), rtol=0, atol=1e3 * EPS)


def test_a_single_huge_cell_that_is_held_out_stays_finite_when_squared():
    values = RNG.normal(size=N)
    values[-1] = 1e250
    data = load_dataset(pl.DataFrame({"a": values, "b": RNG.normal(size=N), "y": RNG.normal(size=N)}), "y")
    x = data.encoder().fit(data.inputs[:30]).transform(data.inputs)
    assert np.isfinite(x @ x.T).all()
    assert x[-1, 0] == 10.0


def test_x_is_the_encoder_fitted_on_all_rows(messy):
    np.testing.assert_array_equal(messy.x, clone(messy.encoder()).fit_transform(messy.inputs))
    np.testing.assert_allclose(messy.x.mean(axis=0), 0, rtol=0, atol=N * EPS)
    np.testing.assert_allclose(messy.x.var(axis=0), 1, rtol=0, atol=N * EPS)
