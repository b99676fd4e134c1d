"""The claims on features by other routes: quadrature, brute force, permutations, scikit-learn and SciPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sklearn.linear_model import Lasso

from lemmata.subjects.features._two_features import descend, one_feature_loss, pair_boundary, two_feature_loss
from lemmata.subjects.features.circuits import Circuit, Redundancy, ShapleyValues, SmoothOutput
from lemmata.subjects.features.dictionaries import (
    Absorption,
    ParentAndChild,
    PenalisedCode,
    Shrinkage,
    TurnedDictionary,
    WhySparse,
)
from lemmata.subjects.features.evidence import BestOfMany, UnrelatedFeatures
from lemmata.subjects.features.packing import Directions, Floors
from lemmata.subjects.features.stored_features import (
    Importance,
    PairBeatsOneFeature,
    decoding_share,
    readout_failure,
)


@pytest.mark.parametrize(("n", "d", "degrees"), [(5, 2, 72.0), (4, 3, 109.4712), (6, 3, 90.0), (5, 3, 90.0)])
def test_known_best_configurations(n, d, degrees):
    angles = Floors().predict(Directions(jnp.zeros((n, d))))
    assert np.degrees(angles[1]) == pytest.approx(degrees, abs=1e-3)


@pytest.mark.parametrize(("n", "d"), [(9, 4), (14, 6), (40, 16)])
def test_the_bound_beyond_the_cross_polytope_is_levenshteins(n, d):
    count = lambda s: d * (1 - s) * (2 + (d + 1) * s) / (1 - d * s**2)
    end = (np.sqrt(d + 3) - 1) / (d + 2)
    s = optimize.brentq(lambda s: count(s) - n, 0, end) if count(end) > n else end
    assert Floors().predict(Directions(jnp.zeros((n, d))))[1] == pytest.approx(np.arccos(s), abs=1e-10)


@pytest.mark.parametrize("weights", [(1.0, -1.0, 0.0, 0.0), (0.9, -0.7, 0.1, -0.2), (1.1, 0.4, -0.1, 0.2)])
def test_the_exact_loss_of_two_features(weights):
    p, r = 0.3, 0.4
    w, b = np.asarray(weights[:2]), np.asarray(weights[2:])

    def error(x, y):
        out = np.maximum(np.outer(w, w) @ [x, y] + b, 0)
        return (x - out[0]) ** 2 + r * (y - out[1]) ** 2

    both = integrate.dblquad(error, 0, 1, 0, 1, epsabs=1e-7)[0]
    one = sum(integrate.quad(f, 0, 1)[0] for f in (lambda x: error(x, 0.0), lambda x: error(0.0, x)))
    expected = (1 - p) ** 2 * error(0.0, 0.0) + p * (1 - p) * one + p**2 * both
    assert two_feature_loss(np.asarray(weights), p, r)[0] == pytest.approx(expected, abs=1e-6)


def test_the_losses_of_the_pair_and_of_one_feature():
    p, r = 0.2, 0.3
    assert two_feature_loss(np.array([1.0, -1.0, 0.0, 0.0]), p, r)[0] == pytest.approx(p**2 * (1 + r) / 6)
    assert two_feature_loss(np.array([1.0, 0.0, 0.0, p / 2]), p, r)[0] == pytest.approx(one_feature_loss(p, r))
    bound = float(PairBeatsOneFeature().predict(Importance(jnp.asarray(r))))
    assert bound**2 * (1 + r) / 6 == pytest.approx(one_feature_loss(bound, r))


def test_the_boundary_separates_the_best_of_many_starts(key):
    r = 0.3
    starts = np.asarray(jax.random.normal(key, (12, 4)))
    least = lambda p: min(descend(start, p, r)[0] for start in starts)
    edge = pair_boundary(r, 1e-6)
    assert least(0.95 * edge) < one_feature_loss(0.95 * edge, r) - 1e-5
    assert least(1.1 * edge) > one_feature_loss(1.1 * edge, r) - 1e-9


def test_the_cap_and_the_weak_threshold():
    k, n, d = 9, 300, 200
    cap = lambda c: stats.beta.sf(c**2, 0.5, (d - 1) / 2) / 2
    rate = (n - k) * cap(0.5 / np.sqrt(k)) + k * cap(0.5 / np.sqrt(k - 1))
    assert readout_failure(jnp.asarray(9.0), n, d) == pytest.approx(1 - np.exp(-rate), rel=1e-9)
    # Donoho and Tanner's weak thresholds at m = n/2: k/m = 0.558 with signs known, 0.385 with signs free
    assert optimize.brentq(lambda rho: decoding_share(rho) - 0.5, 0.1, 0.4) == pytest.approx(0.279, abs=2e-3)
    assert optimize.brentq(lambda rho: decoding_share(rho, 2) - 0.5, 0.1, 0.4) == pytest.approx(0.193, abs=2e-3)


def test_shrinkage_against_scikit_learn(key):
    x_key, table_key = jax.random.split(key)
    x, table = 2 * jax.random.normal(x_key, (6,)), jax.random.normal(table_key, (6, 6))
    problem = PenalisedCode(x, table, jnp.asarray(1.2))
    fit = Lasso(alpha=1.2 / 12, positive=True, fit_intercept=False, tol=1e-12, max_iter=10_000)
    codes = fit.fit(np.asarray(problem.dictionary), np.asarray(x)).coef_
    active = np.maximum(np.asarray(problem.dictionary.T @ x), 0)
    np.testing.assert_allclose(Shrinkage().predict(problem), active - codes, atol=1e-8)


def test_the_growth_of_the_norm_by_cases():
    p, angle = 0.3, 0.6
    cos, sin = np.cos(angle), np.sin(angle)
    mean_abs = lambda a, b: np.sqrt(2 / np.pi) * np.hypot(a, b)
    rows = [(cos, sin), (-sin, cos)]
    turned = sum(p**2 * mean_abs(a, b) + p * (1 - p) * (mean_abs(a, 0) + mean_abs(0, b)) for a, b in rows)
    expected = turned - 2 * p * np.sqrt(2 / np.pi)
    assert WhySparse().predict(TurnedDictionary(jnp.asarray(p), jnp.asarray(angle))) == pytest.approx(expected)


def test_no_random_dictionary_beats_the_absorbing_one():
    problem = ParentAndChild(jnp.asarray(0.5), jnp.asarray(0.3), jnp.asarray(0.4))
    rng, inputs = np.random.default_rng(0), np.array([[1.0, 0.0], [1.0, 1.0]])

    def cost(dictionary):
        fit = Lasso(alpha=0.4 / 4, positive=True, fit_intercept=False, tol=1e-12, max_iter=10_000)
        total = 0.0
        for x, share in zip(inputs, (0.35, 0.15), strict=True):
            z = fit.fit(dictionary.T, x).coef_
            total += share * (np.sum((x - z @ dictionary) ** 2) + 0.4 * z.sum())
        return total

    gain = float(Absorption().predict(problem))
    best = cost(np.eye(2)) - gain
    assert cost(np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)]])) == pytest.approx(best, abs=1e-8)
    for angles in rng.uniform(0, 2 * np.pi, (200, 2)):
        assert cost(np.stack([np.cos(angles), np.sin(angles)], axis=1)) >= best - 1e-9


def test_attribution_misses_half_of_the_second_order_term(key):
    keys = jax.random.split(key, 4)
    output = SmoothOutput(
        jax.random.normal(keys[0], (8, 3)), jnp.zeros(8), jax.random.normal(keys[1], (8,)),
        jax.random.normal(keys[2], (3,)), jax.random.normal(keys[3], (3,)),
    )  # fmt: skip
    step = 1e-4 * output.change
    error = output.y(output.z + step) - output.y(output.z) - jax.grad(output.y)(output.z) @ step
    expected = float(step @ jax.hessian(output.y)(output.z) @ step / 2)
    assert float(error) == pytest.approx(expected, rel=2e-2)


@pytest.mark.parametrize("sets", ["10/01", "11/11", "110/011", "1100/0110/0001"])
def test_effects_and_shapley_values_over_all_orders(sets):
    table = np.array([[mark == "1" for mark in row] for row in sets.split("/")])
    r = table.shape[1]
    shows = lambda kept: any(all(kept[i] for i in range(r) if row[i]) for row in table)
    value = np.zeros(r)
    orders = list(itertools.permutations(range(r)))
    for order in orders:
        kept = [False] * r
        for site in order:
            before = shows(kept)
            kept[site] = True
            value[site] += (shows(kept) - before) / len(orders)
    circuit = Circuit(jnp.asarray(table), jnp.ones((r, 2)), jnp.zeros((r, 2)))
    np.testing.assert_allclose(ShapleyValues().predict(circuit), value, atol=1e-12)
    one = np.eye(r, dtype=bool)
    effects = [sum(not shows(~own) for own in one), sum(shows(own) for own in one)]
    np.testing.assert_allclose(Redundancy().predict(circuit), effects)


def test_the_best_of_many_by_draws():
    rng = np.random.default_rng(0)
    problem = UnrelatedFeatures(100, 30, 50)
    ranks = stats.rankdata(rng.normal(size=(100, 100, 80)), axis=2)[:, :, :30].sum(axis=2)  # of the positive examples
    best = ((ranks - 30 * 31 / 2) / (30 * 50)).max(axis=1)
    assert np.mean(best) - 0.5 == pytest.approx(float(BestOfMany().predict(problem)), rel=0.05)
