"""Random units: moves, changes without cancellation, and the sharp values that the parts of Lemma B.1 surround."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import examine
from lemmata.engine.claims._registry import claims_in
from lemmata.engine.problems.random_units import RandomLayers, RandomUnits, moves, unit_rows
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.subjects.softmax_training import _units as units
from lemmata.subjects.softmax_training import logit_concentration as concentration
from lemmata.subjects.softmax_training import softmax_normaliser as normalisation

EPS = float(np.finfo(float).eps)
PARTS = [*claims_in(concentration), *claims_in(normalisation)]
R = 0.009


def drawn(key, n=5, d=3, m=32, sigma=0.5):
    x = unit_rows(key, n, d)
    weight, changes = units.drawn_units(x, m, sigma, R, key)
    return x, weight, changes


def exact_shares(x, weight):
    values = np.exp(np.asarray(x, np.longdouble) @ np.asarray(weight, np.longdouble))
    return values / values.sum(axis=1, keepdims=True)


def test_moves_have_length_at_most_the_radius(key):
    _, _, changes = drawn(key)
    lengths = np.linalg.norm(changes, axis=1)
    assert lengths.max() <= R * (1 + 8 * EPS)
    assert lengths.min() >= R * (1 - 8 * EPS)


def test_moves_of_the_zero_input_are_finite():
    changes = moves(jnp.zeros((1, 2)), jnp.zeros((2, 4)), R, jnp.ones((2, 4)))
    assert jnp.isfinite(changes).all()
    assert float(jnp.abs(changes[1:]).max()) == 0.0


def test_changes_against_extended_precision(key):
    x, weight, changes = drawn(key)
    for change in 1e-6 * changes:
        moved = np.asarray(weight, np.longdouble) + np.asarray(change, np.longdouble)
        shares = exact_shares(x, moved) - exact_shares(x, weight)
        # logits move by at most 1e-6 R; extended precision leaves 2e-19 of the shares
        tolerance = 64 * EPS * 1e-6 * R + 8 * float(np.finfo(np.longdouble).eps)
        assert np.abs(np.asarray(units.share_change(x, weight, change)) - shares).max() <= tolerance
        wide = np.asarray(x, np.longdouble)
        exponentials = np.exp(wide @ moved) - np.exp(wide @ np.asarray(weight, np.longdouble))
        scale = float(np.exp(x @ weight).max())
        assert np.abs(np.asarray(units.exponential_change(x, weight, change)) - exponentials).max() <= scale * tolerance


def test_sharp_values_behind_the_parts(key):
    x, weight, changes = drawn(key, m=64, sigma=0.0)
    quantities = {type(part).__name__: part.quantities(x, weight, changes).max(axis=0) for part in PARTS}
    assert math.isclose(quantities["PairLogitChange"], 2 * R, rel_tol=1e-12)
    assert math.isclose(quantities["PairExponentialChange"], math.expm1(2 * R), rel_tol=1e-12)
    assert math.isclose(quantities["DenominatorChange"], 64 * math.expm1(R), rel_tol=1e-12)
    assert math.isclose(quantities["InverseDenominatorChange"], math.expm1(R) / 64, rel_tol=1e-12)
    assert math.isclose(quantities["AverageChange"], math.tanh(R), rel_tol=1e-12)
    one = math.exp(R) / (math.exp(R) + 63 * math.exp(-R)) - 1 / 64
    assert math.isclose(quantities["ShareChange"], one, rel_tol=1e-9)


@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_averages_change_by_less_than_two_tanh(key, sigma):
    x, weight, changes = drawn(key, sigma=sigma)
    change = normalisation.AverageChange().quantities(x, weight, changes).max()
    assert float(change) <= 2 * math.tanh(R / 2) * (1 + 64 * EPS)


def test_union_bound_of_the_width_by_hand():
    problem = RandomUnits(jnp.eye(2), 1, 50, 2.0, R)
    np.testing.assert_allclose(concentration.LogitBoundWithWidth().predict(problem), 2 * math.sqrt(2 * math.log(2000)))


def test_bounds_by_hand():
    problem = RandomUnits(jnp.eye(2), 3, 10, 0.0, 0.005)
    values = {type(part).__name__: part.predict(problem) for part in PARTS}
    e = math.e
    np.testing.assert_allclose(values["LogitBound"], 1.0)
    np.testing.assert_allclose(values["MovedExponentialBounds"], [e**1.005] * 2)
    np.testing.assert_allclose(values["ExponentialChange"], 0.005 * e**1.005)
    np.testing.assert_allclose(values["DenominatorChange"], 0.05 * e**1.005)
    np.testing.assert_allclose(values["InverseDenominatorChange"], 0.0005 * e**3.01)
    np.testing.assert_allclose(values["MovedShareBound"], e**2.01 / 10)
    np.testing.assert_allclose(values["ShareChange"], 0.0005 * e**4.015)
    np.testing.assert_allclose(values["AverageChange"], 0.005 * e**4.015)


def test_hypotheses_fail_where_they_should():
    def failing(x, width=64, radius=R):
        problem = RandomUnits(x, 1, width, 1.0, radius)
        return [hypothesis.name for hypothesis in RandomLayers().hypotheses(problem) if not hypothesis.holds]

    assert failing(jnp.eye(2)) == []
    assert failing(1.1 * jnp.eye(2)) == ["inputs lie in the unit ball"]
    assert failing(jnp.eye(2), radius=0.01) == ["R is below 0.01"]
    assert failing(jnp.eye(2), radius=0.0) == ["R is positive"]
    most = int(20.0**49 / 4)  # (n k / delta)^49 / (2 n), n = 2, k = 1
    (name,) = failing(jnp.eye(2), width=2 * most)
    assert name.startswith("the width is polynomial")
    assert failing(jnp.eye(2), width=most // 2) == []


def test_the_first_part_speaks_about_a_users_inputs(key):
    part = concentration.LogitBound()
    problem = sampled_regression(key, n=40, t=2, d=3)
    posed = part.population.pose(problem)
    assert posed.x.shape == (32, 3)
    assert math.isclose(float(jnp.linalg.norm(posed.x, axis=1).max()), 1.0, rel_tol=4 * EPS)
    found = examine(part, problem, jax.random.fold_in(key, 1))
    assert found.applies
    assert found.agrees
    assert part.population.pose("no regression") is None
