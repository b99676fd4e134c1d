import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.spectra import (
    _curve,
    deterministic_equivalent,
    learning_curve,
    leave_one_out,
    measured_curve,
    spectrum,
)
from tests.spectra.subsets import PROBLEMS, brute_force, linear, rbf, split_errors

FEW = 9  # rows of which all subsets can be tried


def drawn(seed, rows=40):
    draw = np.random.default_rng(seed)
    return draw, draw.normal(size=(rows, 2))


def copies():
    draw, x = drawn(0)
    x = x[draw.integers(10, size=40)]
    return rbf(x), np.sin(2 * x[:, 0]) + 0.2 * draw.normal(size=40)


def clusters():
    draw, x = drawn(1)
    x = 0.02 * x + 4 * draw.normal(size=(5, 2))[draw.integers(5, size=40)]
    return rbf(x), x[:, 0]


def outlier():
    _, x = drawn(2)
    return rbf(x), np.where(np.arange(40) == 7, 50.0, np.sin(2 * x[:, 0]))


def constant():
    return rbf(drawn(3)[1]), np.full(40, 2.0)


def rank_six():
    draw, _ = drawn(4)
    z = draw.normal(size=(40, 6))
    return linear(z), z[:, 0] + 0.3 * draw.normal(size=40)


@pytest.mark.parametrize("ridge", [1e-6, 0.1])
@pytest.mark.parametrize("table", [copies, clusters, outlier, constant, rank_six])
def test_small_tables_of_hard_kinds_lie_inside(table, ridge):
    matrix, y = table()
    sizes = (6, 20, 34)
    curve = learning_curve(spectrum(matrix), jnp.asarray(y), sizes, ridge)
    for i, n in enumerate(sizes):
        truth, error = brute_force(matrix, y[:, None], n, ridge, 400, np.random.default_rng(n))
        assert curve.lower[i] - 2 * error < truth < curve.upper[i] + 2 * error
        assert curve.solves[i] > 100
        off = abs(np.log(curve.error[i] / truth))
        assert off < 0.3 or error > 0.05 * truth  # where few splits carry the mean, the truth itself is not known
    np.testing.assert_allclose(curve.correction, jnp.log(curve.error / curve.equivalent.error), rtol=1e-12)


def test_normal_rows_in_three_dimensions_are_corrected():
    matrix, y = PROBLEMS["gaussian inputs, 3 dimensions"](0, 200)
    sizes = (50, 100)
    curve = learning_curve(spectrum(matrix), jnp.asarray(y), sizes, 1e-2)
    for i, n in enumerate(sizes):
        truth, _ = brute_force(matrix, y, n, 1e-2, 60, np.random.default_rng(9))
        assert curve.lower[i] < truth < curve.upper[i] < 3 * curve.lower[i]
        assert curve.equivalent.error[i] < truth / 1.5  # which the formula alone misses
    np.testing.assert_array_equal(curve.mu, deterministic_equivalent(spectrum(matrix), jnp.asarray(y), sizes, 1e-2).mu)


def test_few_rows_are_averaged_exactly():
    draw = np.random.default_rng(5)
    z = draw.normal(size=(FEW, 12))
    matrix, y = linear(z), draw.normal(size=(FEW, 2))
    curve = learning_curve(spectrum(matrix), jnp.asarray(y), [2, 4, 7, FEW], 0.1, resamples=None)
    for n, error in zip((2, 4, 7), curve.error, strict=False):
        train = np.array(list(itertools.combinations(range(FEW), n)))
        rest = np.array([np.setdiff1d(range(FEW), part) for part in train])
        np.testing.assert_allclose(error, split_errors(matrix, y, train, rest, 0.1).mean(), rtol=1e-11)
    np.testing.assert_allclose(curve.error[3], leave_one_out(spectrum(matrix), jnp.asarray(y), 0.1), rtol=1e-11)
    np.testing.assert_allclose(curve.lower, curve.upper, rtol=1e-12)


def test_what_is_learned_without_error_is_zero_up_to_rounding():
    z = np.random.default_rng(6).normal(size=(40, 6))
    curve = learning_curve(spectrum(linear(z)), jnp.asarray(z @ np.arange(6.0)), [4, 6, 12, 30], 0.0)
    assert curve.error[0] > 1
    np.testing.assert_array_equal(curve.lower[2:], 0)
    assert np.all(curve.upper[2:] < 1e-20)
    silent = learning_curve(spectrum(linear(z)), jnp.zeros(40), [4, 30], 0.1)
    assert np.all(jnp.stack([silent.error, silent.lower, silent.upper]) == 0)


def test_where_no_ridge_is_given_copies_that_contradict_each_other_lie_inside():
    draw = np.random.default_rng(0)
    x = np.repeat(draw.normal(size=(10, 2)), 2, axis=0)
    matrix, y = rbf(x), draw.normal(size=(20, 1))
    curve = learning_curve(spectrum(matrix), jnp.asarray(y), [5, 10, 16], 0.0)
    for i, n in enumerate((5, 10, 16)):
        order = np.argsort(draw.random((400, 20)), axis=1)
        errors = split_errors(matrix, y, order[:, :n], order[:, n:], 0.0, least_norm=True)
        assert curve.lower[i] < errors.mean() < curve.upper[i]


@pytest.mark.parametrize("name", ["heavy tails", "outlying rows", "gaussian inputs, 3 dimensions"])
def test_where_the_budget_is_small_the_rest_is_interpolated_and_widened(name, monkeypatch):
    monkeypatch.setattr(_curve, "_OPERATIONS", {True: 1.0, False: 1.0})
    matrix, y = PROBLEMS[name](3, 120)
    sizes = np.arange(5, 120, 6)
    curve = learning_curve(spectrum(matrix), jnp.asarray(y), sizes, 1e-2)
    at = np.flatnonzero(curve.solves == 0)
    assert len(at) > len(sizes) / 2
    assert 0 not in at
    assert len(sizes) - 1 not in at
    inside = []
    for i in at[::4]:
        truth, _ = brute_force(matrix, y, int(sizes[i]), 1e-2, 100, np.random.default_rng(i))
        inside.append(curve.lower[i] < truth < curve.upper[i])
    assert np.mean(inside) >= 0.75
    assert np.all(np.log(curve.upper / curve.lower)[at] > 2 * _curve._ALLOWANCE)


def test_where_the_formula_is_infinite_the_size_is_measured(monkeypatch):
    monkeypatch.setattr(_curve, "_OPERATIONS", {True: 1.0, False: 1.0})
    draw = np.random.default_rng(7)
    z = draw.normal(size=(60, 8))
    curve = learning_curve(spectrum(linear(z)), jnp.asarray(draw.normal(size=60)), np.arange(2, 59), 0.0)
    assert np.isinf(curve.equivalent.error[6])
    assert curve.solves[6] > 0
    assert np.all(np.isfinite(curve.error))


def test_a_measurement_over_more_splits_has_a_narrower_interval():
    matrix, y = PROBLEMS["noise"](1)
    ends = [
        learning_curve(spectrum(matrix), jnp.asarray(y), [10, 30], 0.1, resamples=resamples)
        for resamples in (2, 8, 200, None)
    ]
    widths = np.array([np.log(curve.upper / curve.lower) for curve in ends])
    assert np.all(np.diff(widths, axis=0) < 0)
    assert len({float(curve.error[0]) for curve in ends}) == 1
    other = learning_curve(spectrum(matrix), jnp.asarray(y), [10.4, 30], 0.1, seed=1)
    assert other.error[0] != ends[1].error[0]
    assert abs(np.log(other.error[0] / ends[1].error[0])) < 0.2


@pytest.mark.parametrize("measured", [learning_curve, measured_curve])
def test_the_unit_of_the_targets_does_not_change_the_curve(measured):
    matrix, y = PROBLEMS["noise"](1)
    modes = spectrum(matrix)

    def in_unit(power):
        curve = measured(modes, jnp.asarray(y) * 2.0**power, [4, 10.5, 30, 40], 0.1)
        squared = (curve.error, curve.lower, curve.upper, curve.standard_error, curve.equivalent.error)
        return np.array([each * 4.0**-power for each in squared]), curve.correction

    expected, correction = in_unit(0)
    assert np.all(expected[1, :3] < 0.99 * expected[0, :3])
    for power in (-460, -285, 1, 270, 460):
        found, again = in_unit(power)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(again, correction)


def test_what_does_not_fit_is_refused():
    modes, y = spectrum(rbf(drawn(8)[1])), jnp.ones(40)
    for sizes in ([0], [41], [0, 20], [20, 41], [], 20):
        with pytest.raises(SettingError, match=r"sizes; found .* rule: a list of numbers from 1 to 40"):
            learning_curve(modes, y, np.asarray(sizes, float), 0.1)
    for sizes in ([True], (3, True), np.array([True])):
        for curve in (learning_curve, measured_curve, deterministic_equivalent):
            with pytest.raises(SettingError, match="sizes; found a boolean"):
                curve(modes, y, sizes, 0.1)
    with pytest.raises(DataError, match="sizes"):
        learning_curve(modes, y, [np.nan], 0.1)
    with pytest.raises(SettingError, match="ridge"):
        learning_curve(modes, y, [3], -0.1)
    with pytest.raises(ShapeError, match="targets"):
        learning_curve(modes, y[:-1], [3], 0.1)
    for targets in (y.at[3].set(jnp.nan), 1e150 * y, 1e-150 * y):
        with pytest.raises(DataError, match="targets"):
            learning_curve(modes, targets, [3], 0.1)
        with pytest.raises(DataError, match="targets"):
            measured_curve(modes, targets, [3], 0.1)
    with pytest.raises(ShapeError, match="at least two rows"):
        learning_curve(spectrum(np.eye(1)), jnp.ones(1), [1], 0.1)
    for options in ({"resamples": 0}, {"seed": -1}):
        with pytest.raises(SettingError, match=next(iter(options))):
            learning_curve(modes, y, [3], 0.1, **options)


def test_in_compiled_functions_it_points_to_the_formula():
    modes, y = spectrum(rbf(drawn(8)[1])), jnp.ones(40)
    for call in (
        lambda: jax.jit(lambda y: learning_curve(modes, y, [3], 0.1).error)(y),
        lambda: jax.grad(lambda ridge: learning_curve(modes, y, [3], ridge).error[0])(0.1),
    ):
        with pytest.raises(SettingError, match="deterministic_equivalent"):
            call()
    slope = jax.grad(lambda ridge: deterministic_equivalent(modes, y, [3], ridge).error[0])(0.1)
    assert np.isfinite(slope)
