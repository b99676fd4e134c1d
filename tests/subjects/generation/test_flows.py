"""Straightness and couplings: closed forms of normal flows, brute force, SciPy; tables of all kinds, refusals."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.generation import couple, straightness

from .tables import TABLES, refused

RNG = np.random.default_rng
X, Y = RNG(0).normal(size=(120, 2)), RNG(1).normal(size=(120, 2)) * [2.0, 0.5] + 1.0


def independent(s):
    """The velocity of the independent linear path from N(0, 1) to N(0, s²), in each column."""
    return lambda x, t: x * (t * s**2 - (1 - t)) / ((1 - t) ** 2 + (t * s) ** 2)


def test_the_independent_path_of_normal_rows():
    s = 3.0
    found = straightness(independent(s), X, steps=400)
    np.testing.assert_allclose(found.ends, s * X, rtol=1e-7)  # the flow is linear, and the optimal map
    t = (np.arange(20_000) + 0.5) / 20_000
    slope = (t * s**2 - (1 - t)) / np.sqrt((1 - t) ** 2 + (t * s) ** 2)
    assert found.energy == pytest.approx(np.mean(X**2) * 2 * np.mean(slope**2), rel=1e-5)
    assert found.moved == pytest.approx((s - 1) ** 2 * np.mean(X**2) * 2, rel=1e-6)
    assert found.transport == pytest.approx(found.moved, rel=1e-6)
    assert found.energy_interval[0] <= 2 * np.mean(slope**2) <= found.energy_interval[1]
    assert found.detour == pytest.approx(0, abs=1e-9)
    assert 0.9 < found.order < 1.1
    assert found.reached <= found.error


def test_the_steps_that_are_predicted_are_nearly_the_fewest():
    for method in ("euler", "heun"):
        found = straightness(independent(3.0), X, error=0.01, method=method)
        assert found.reached <= 0.01
        exact = 3 * X

        def error(steps, method=method, exact=exact):
            x, h, field = X.copy(), 1 / steps, independent(3.0)
            for step in range(steps):
                slope = field(x, step * h)
                if method == "heun":
                    slope = (slope + field(x + h * slope, step * h + h)) / 2
                x = x + h * slope
            return np.sqrt(np.mean(np.sum((x - exact) ** 2, axis=1)))

        assert error(found.steps) == pytest.approx(found.reached, rel=1e-4)
        assert error(int(0.8 * found.steps)) > 0.01


def test_a_turn_is_bent_and_no_transport():
    turning = lambda x, t: np.pi / 2 * np.stack([-x[:, 1], x[:, 0]], axis=1)
    found = straightness(turning, X)
    assert found.energy / found.moved == pytest.approx(np.pi**2 / 8, rel=1e-6)
    squares = cdist(X, np.stack([-X[:, 1], X[:, 0]], axis=1), "sqeuclidean")
    assert found.transport == pytest.approx(squares[linear_sum_assignment(squares)].mean(), rel=1e-6)
    assert found.bent + found.detour + found.transport / found.energy == pytest.approx(1)
    straight = straightness(lambda x, t: jnp.ones_like(x), X)  # a function of JAX
    assert (straight.steps, round(straight.bent, 9), round(straight.detour, 9)) == (1, 0, 0)
    rest = straightness(lambda x, t: 0 * x, X)
    assert (rest.steps, rest.energy, rest.bent, rest.transport) == (1, 0, 0, 0)
    assert found.plot().to_dict()
    assert "energy" in found._repr_html_()


def test_too_many_steps_are_said_to_be():
    found = straightness(independent(3.0), X, error=1e-8, steps=64)
    assert found.steps is None
    assert np.isnan(found.reached)
    assert "more than 4096 euler steps" in str(found)
    assert False in [c.holds for c in found.conditions]


def test_units_and_tables_of_a_flow():
    found = straightness(independent(2.0), X)
    for make in TABLES:
        assert straightness(independent(2.0), make(X)).energy == pytest.approx(found.energy, rel=1e-12)
    for unit in (1e-100, 1e100):
        other = straightness(independent(2.0), X * unit)
        assert other.energy == pytest.approx(found.energy * unit**2, rel=1e-9)
        assert (other.steps, other.transport / unit**2) == (found.steps, pytest.approx(found.transport))
    for unit in (1e-200, 1e200):
        with pytest.raises(DataError, match="x0 and velocity; found numbers as large as"):
            straightness(independent(2.0), X * unit)
    assert straightness(independent(2.0), X[:, :1]).steps > 1

    def changing(x, t):
        x[:] = 0
        return x + 1

    kept = X.copy()
    assert straightness(changing, X).steps == 1
    np.testing.assert_array_equal(X, kept)
    refused(lambda x: straightness(independent(2.0), x), "x0", X)


@pytest.mark.parametrize(
    ("velocity", "settings", "words", "kind"),
    [
        (3, {}, "velocity; found a int; rule: a function", SettingError),
        (dict, {}, "velocity; found a type", SettingError),
        (lambda x: x, {}, "velocity; found TypeError", SettingError),
        (lambda x, t: x[:, 0], {}, r"values of velocity; found shape \(120,\)", ShapeError),
        (lambda x, t: x * np.nan, {}, "values of velocity; found 240 entries", DataError),
        (lambda x, t: x**3 * 1e3, {}, "velocity", DataError),
        (lambda x, t: x, {"method": "midpoint"}, "method; found 'midpoint'", SettingError),
        (lambda x, t: x, {"error": 0}, "error; found 0", SettingError),
        (lambda x, t: x, {"steps": 4}, "steps; found 4", SettingError),
        (lambda x, t: x, {"level": 2}, "level; found 2", SettingError),
    ],
)
def test_refusals(velocity, settings, words, kind):
    with pytest.raises(kind, match=words) as caught:
        straightness(velocity, X, **settings)
    assert "\n" not in str(caught.value)


def test_pairs_are_the_best_of_each_batch():
    x, y = X[:20], Y[:20]
    found = couple(x, y, 5)
    assert sorted(found.order.tolist()) == list(range(20))
    assert found.cost == pytest.approx(np.mean(np.sum((x - y[found.order]) ** 2, axis=1)))
    assert found.independent == pytest.approx(cdist(x, y, "sqeuclidean").mean())
    whole = couple(x, y, 20)
    squares = cdist(x, y, "sqeuclidean")
    assert whole.cost == pytest.approx(squares[linear_sum_assignment(squares)].mean())
    assert np.isnan(whole.interval).all()
    # Inside a batch no exchange of partners helps, by brute force over all orders of five.
    rng = RNG(0)
    left, right = rng.permutation(20), rng.permutation(20)
    for start in range(0, 20, 5):
        part = squares[np.ix_(left[start : start + 5], right[start : start + 5])]
        best = min(part[range(5), list(order)].sum() for order in itertools.permutations(range(5)))
        own = squares[left[start : start + 5], found.order[left[start : start + 5]]].sum()
        assert own == pytest.approx(best)


def test_larger_batches_cost_less_and_the_interval_holds():
    rng = RNG(2)
    big = couple(rng.normal(size=(20_000, 4)), rng.normal(size=(20_000, 4)), 16).cost
    held = 0
    for seed in range(60):
        rng = RNG(seed)
        found = couple(rng.normal(size=(160, 4)), rng.normal(size=(160, 4)), 16, level=0.9)
        held += found.interval[0] <= big <= found.interval[1]
        assert (np.diff(found.costs) < 0).all()
    assert held >= 47  # 54 of 60 are expected


def test_tables_units_and_refusals_of_pairs():
    found = couple(X, Y, 40)
    for make in TABLES:
        np.testing.assert_array_equal(couple(make(X), make(Y), 40).order, found.order)
    for unit in (1e-120, 1e120):
        assert couple(X * unit, Y * unit, 40).cost == pytest.approx(found.cost * unit**2)
    assert couple(X, Y, 1).cost == pytest.approx(found.costs[0], rel=0.5)
    assert [c.holds for c in couple(X, Y, 50).conditions] == [None, False, None]
    assert couple(np.ones((30, 2)), np.ones((30, 2)), 10).cost == 0
    refused(lambda x: couple(x, Y, 20), "x0", X)
    refused(lambda y: couple(X, y, 20), "x1", Y)
    for arguments, words, kind in (((X, Y[:, :1], 5), "x1; found 1 columns; rule: 2", ShapeError),
                                   ((X, Y[:50], 5), "x1; found 50 rows; rule: 120 rows", DataError),
                                   ((X, Y, 0), "batch; found 0", SettingError),
                                   ((X, Y, 121), "batch; found 121; rule: at most 120", SettingError),
                                   ((X * 1e150, Y, 5), "x0 and x1; found numbers as large as", DataError)):  # fmt: skip
        with pytest.raises(kind, match=words):
            couple(*arguments)
    assert found.plot().to_dict()
    assert "pairs in batches" in found._repr_html_()
