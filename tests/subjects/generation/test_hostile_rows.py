"""Rows, labels, functions and settings that a hostile user passes to the tools on generated samples."""

import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pandas
import pytest

from lemmata.errors import DataError, SettingError
from lemmata.subjects.generation import (
    Mixture,
    effective_support,
    guided,
    memorisation,
    recover,
    speciation,
    straightness,
    wasserstein,
)


@pytest.fixture(name="x", scope="module")
def _x():
    return np.random.default_rng(0).normal(size=(60, 3))


def test_a_level_near_1_does_not_hide_a_difference(x):
    """With 199 permutations no p-value is below 0.005, so that a level of 0.999 called all samples alike."""
    found = wasserstein(x, x + 5, level=0.999)
    assert found.distinguishable
    assert found.p_value <= 0.001
    assert all(own.holds is not False for own in found.conditions)
    least = wasserstein(x, x + 5, level=1 - 1e-9)
    assert not least.distinguishable
    assert next(own.name for own in least.conditions if own.holds is False).startswith("the test can find")


def test_rows_that_are_all_equal_have_no_dominant_column():
    found = wasserstein(np.ones((30, 2)), np.ones((30, 2)))
    assert found.value == 0
    assert all(own.holds is not False for own in found.conditions)


@pytest.mark.parametrize("call", [lambda x: wasserstein(x, x), memorisation, lambda x: effective_support(x, 0)])
def test_whole_numbers_that_doubles_do_not_have_are_refused(call):
    rows = 2**60 + np.arange(40)[:, None]
    with pytest.raises(DataError, match="whole numbers above 2\\^53"):
        call(rows)


def test_a_number_and_its_text_are_different_samples():
    found = effective_support([1, "1"] * 20)
    assert found.collisions == 2 * 190
    with pytest.raises(DataError, match="20 missing entries"):
        effective_support(["a", float("nan")] * 20)


@pytest.mark.parametrize("samples", [[{1}, {2}] * 20, [{1: 2}, {2: 2}] * 20])
def test_samples_that_cannot_be_looked_up_are_refused(samples):
    with pytest.raises(DataError, match="a function of two samples"):
        effective_support(samples)
    assert effective_support(np.array(samples, dtype=object)[:, None], lambda a, b: a[0] == b[0]).collisions == 380


@pytest.mark.parametrize(
    "samples",
    [
        np.array(["2020", "NaT"] * 20, "M8[D]"),
        np.array([1j, np.nan] * 20),
        pandas.Series(["a", None] * 20, dtype="string"),
        pandas.Series([1, None] * 20, dtype="Int64").astype(object),
    ],
    ids=["time", "complex", "text", "object"],
)
def test_missing_samples_of_every_type_are_refused(samples):
    with pytest.raises(DataError, match="20 missing entries"):
        effective_support(samples)


def test_a_function_that_changes_samples_is_refused_and_changes_none(x):
    before = x.copy()
    with pytest.raises(SettingError, match="read-only"):
        effective_support(x, lambda a, b: a.__imul__(0)[0] > 5)
    np.testing.assert_array_equal(x, before)


def test_two_rows_that_repeat_equally_often_are_never_told_apart_from_noise():
    with pytest.raises(DataError, match="2 different rows of 30"):
        memorisation(np.repeat([[0.0, 0.0], [1.0, 1.0]], 15, axis=0))


def test_rows_beside_an_extreme_outlier_are_refused_not_merged(x):
    for tool in (memorisation, speciation):
        tool(np.concatenate([x, [[1e12, 0, 0]]]))
        with pytest.raises(DataError, match="1e-18 times"):
            tool(np.concatenate([x, [[1e25, 0, 0]]]))


def test_an_outlier_is_no_class():
    x = np.random.default_rng(0).normal(size=(201, 3))
    x[0] = 1000.0
    assert [own.holds for own in speciation(x).conditions][-1] is False
    x[:100] += 10
    assert [own.holds for own in speciation(x[1:]).conditions][-1] is True


def test_a_time_of_pure_noise_is_an_answer(x):
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        found = memorisation(x, 1000)
    assert found.rows_needed == len(x)


def test_one_column_has_the_mean_variance_up_to_rounding():
    for seed in range(6):
        found = speciation(np.random.default_rng(seed).normal(size=(200, 1)))
        assert abs(found.time) < 1e-12
        assert found.sigma < 1e-6


@pytest.mark.parametrize(
    "missing", [["a", float("nan")], np.array(["2020", "NaT"], "M8[D]"), ["a", None], [1.0, np.inf]]
)
def test_missing_labels_are_no_class(x, missing):
    with pytest.raises(DataError, match="30 missing or not finite"):
        speciation(x, missing * 30 if isinstance(missing, list) else np.tile(missing, 30))


def test_paths_that_grow_too_far_are_refused_without_a_warning(x):
    with pytest.raises(DataError, match="paths that diverge"), np.errstate(all="raise"):
        straightness(lambda x, t: 300 * x, x)


@pytest.mark.parametrize(("a_unit", "b_unit"), [(1.0, 1e50), (1e-50, 1.0), (1e20, 1e-20), (1e-6, 1e6)])
def test_recovery_does_not_depend_on_units(a_unit, b_unit):
    rng = np.random.default_rng(0)
    w, a = rng.normal(size=(30, 4)), rng.normal(size=(12, 30))
    b = a @ w @ rng.normal(size=4) + 0.1 * rng.normal(size=12)
    found = recover(lambda z: w @ z, a_unit * a, b_unit * b, 4, restarts=2)
    best = w @ np.linalg.lstsq(a @ w, b)[0]
    np.testing.assert_allclose(found.signal * a_unit / b_unit, best, rtol=1e-8)
    assert all(own.holds is not False for own in found.conditions)


def test_a_fold_of_the_generator_is_a_minimum():
    """At sin(z) = 1, the derivative vanishes, and no step of the latent variables removes more of the residual."""
    rng = np.random.default_rng(0)
    w, a = rng.normal(size=(30, 2)), rng.normal(size=(12, 30))
    found = recover(lambda z: w @ jnp.sin(z), a, 5 * a @ w @ np.ones(2), 2, restarts=4)
    assert next(own for own in found.conditions if own.name.startswith("the search ended in a minimum")).holds


def test_an_infinite_derivative_is_refused():
    with pytest.raises(DataError, match="not finite from every starting point"):
        recover(lambda z: jnp.sqrt(jnp.abs(0 * z)) + jnp.ones(3), np.eye(3), [1.0, 2.0, 3.0], 1, restarts=1)


def test_tiny_distances_are_never_the_same_by_underflow():
    rows = np.concatenate([np.stack([np.zeros(30), np.arange(30) * 1e-190], axis=1), [[1.0, 0.0]]])
    assert effective_support(rows, 0).collisions == 0
    with pytest.raises(SettingError, match="at least 5e-151"):
        effective_support(rows, 1e-195)


def test_the_plot_of_simulated_guidance_has_both_classes():
    """The density of the two classes was drawn as one normal curve between them."""
    found = guided(Mixture([[1.0], [3.0]], 0.01), Mixture([[1.0], [3.0], [-1.0]], 0.01), 1, draws=500, steps=50)
    rows = [row for own in json.loads(found.plot().to_json())["data"]["values"] for row in [own]]
    near = [row["density"] for row in rows if row["distribution"] == "conditional distribution" and
            abs(row["x"] - 2) < 0.3]  # fmt: skip
    assert near
    assert max(near) == 0


@pytest.mark.parametrize("path", ["features", "features/real.npy", pathlib.Path("features")])
@pytest.mark.parametrize("tool", [memorisation, speciation, lambda x: wasserstein(x, x)])
def test_paths_are_refused_with_the_way_to_load_them(tool, path):
    with pytest.raises(DataError, match=r"found the path 'features.*numpy.load and numpy.stack"):
        tool(path)
