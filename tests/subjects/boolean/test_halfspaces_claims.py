"""Halfspaces against enumeration, other derivations and SciPy's truncated normal law."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.functions import cube, walsh_hadamard, weights_by_degree
from lemmata.subjects.boolean import _cube_functions as functions
from lemmata.subjects.boolean import halfspaces, majority

ETAS = (0.01, 0.06, 1 / 9, 1 / 7, 0.2, 1 / 3, 0.4, 0.499)


def _bound(eta: float) -> float:
    problem = functions.NoisyFunction(jnp.ones(2), jnp.asarray(eta))
    return float(halfspaces.HalfspaceNoiseConstant().predict(problem))


@pytest.mark.parametrize("d", [3, 5, 9])
def test_weights_of_the_majority(d):
    weights = weights_by_degree(walsh_hadamard(jnp.sign(cube(d).sum(axis=1))))
    for k in range(1, d + 1, 2):
        assert float(majority._weight_of_majority(d, k)) == pytest.approx(float(weights[k]), rel=1e-12)


@pytest.mark.parametrize("d", [1, 3, 9])
def test_noise_of_the_majority_by_its_flipped_votes(d):
    claim = majority.MajorityNoise()
    for eta in (0.01, 0.3):
        found = claim.measure_at(majority.Majority(jnp.asarray(eta), jnp.asarray(1.0)), jax.random.key(0), float(d))
        values = jnp.sign(cube(d).sum(axis=1))
        assert float(found) == pytest.approx(float(functions.changed_by_flips(values, jnp.asarray(eta))), rel=1e-10)


def test_limits_of_the_majority_weights():
    """They sum to 1, and weigh the expansion of (2/pi) arcsin(rho)."""
    predict = majority.MajorityWeights().predict
    at = lambda k: float(predict(majority.Majority(jnp.asarray(0.1), jnp.asarray(float(k)))))
    assert at(1) == pytest.approx(2 / math.pi)
    assert at(3) == pytest.approx(1 / (3 * math.pi))
    assert sum(at(k) * 0.6**k for k in range(1, 60, 2)) == pytest.approx(2 / math.pi * math.asin(0.6), rel=1e-9)


def test_limits_do_not_commute():
    """For 15 votes and eta = 0.001 the sensitivity is about a fifth of the law for many votes."""
    values = jnp.sign(cube(15).sum(axis=1))
    found = float(functions.changed_by_flips(values, jnp.asarray(0.001)))
    assert 0.1 < found / (2 / math.pi * math.sqrt(0.001)) < 0.25


def test_constant_of_halfspaces():
    """At most 0.81 sqrt(eta), at most 1/2, and at eta = 1/m the mean of |sum of m signs| / m, for m even."""
    grid = np.geomspace(1e-6, 0.5, 4000)
    claim = halfspaces.HalfspaceNoiseConstant()
    predict = jax.vmap(lambda eta: claim.predict(functions.NoisyFunction(jnp.ones(2), eta)))
    ratios = np.asarray(predict(jnp.asarray(grid))) / np.sqrt(grid)
    assert ratios.max() < 0.81
    assert ratios[0] == pytest.approx(math.sqrt(2 / math.pi), rel=1e-3)
    assert _bound(0.5) == 0.5
    for m in (4, 6, 10):
        mean = np.mean([abs(sum(signs)) for signs in itertools.product([-1, 1], repeat=m)]) / m
        assert _bound(1 / m) == pytest.approx(mean)


def test_blocks_of_the_proof():
    """The mean over all splits into 3 blocks of the change by one flipped block is the noise sensitivity at 1/3."""
    values = np.asarray(functions.halfspace(jnp.array([1.0, 0.7, 0.6, 0.2]), jnp.asarray(0.3)))
    changes = []
    for blocks in itertools.product(range(3), repeat=4):
        mask = sum(1 << i for i, block in enumerate(blocks) if block == 0)
        changes.append(np.mean(values != values[np.arange(16) ^ mask]))
    assert np.mean(changes) == pytest.approx(float(functions.changed_by_flips(jnp.asarray(values), jnp.asarray(1 / 3))))


@pytest.mark.parametrize("d", [2, 3, 4])
def test_all_halfspaces_with_small_weights(d):
    """None exceeds arccos(1 - 2 eta)/pi, which is below both bounds; noise is a matrix of transitions."""
    points = np.asarray(cube(d))
    weights = np.array(list(itertools.combinations_with_replacement(range(1, 5), d)))
    thresholds = np.arange(-4 * d, 4 * d) + 0.5
    values = np.sign((points @ weights.T)[:, :, None] - thresholds).reshape(2**d, -1)
    for eta in ETAS:
        moves = functools.reduce(np.kron, d * [np.array([[1 - eta, eta], [eta, 1 - eta]])])
        changed = (1 - np.mean(values * (moves @ values), axis=0)) / 2
        limit = np.arccos(1 - 2 * eta) / np.pi
        assert changed.max() <= limit + 1e-12
        assert limit <= min(_bound(eta), math.sqrt(eta / 2))


def test_variance_of_truncated_normals():
    problem = halfspaces.HalfspacePair(jnp.eye(3)[:, :2], jnp.array([0.4, -0.8]))
    expected = [stats.truncnorm.var(t, np.inf) for t in (0.4, -0.8)]
    assert np.asarray(halfspaces.GaussianIntersection().predict(problem)) == pytest.approx(expected)


def test_covariance_inside_has_variance_one_elsewhere(key):
    problem = halfspaces.HalfspacePair(jnp.eye(4)[:, :2], jnp.array([0.4, -0.8]))
    found = np.asarray(halfspaces._covariance_inside(problem, key, 200_000))
    expected = [stats.truncnorm.var(t, np.inf) for t in (0.4, -0.8)] + [1.0, 1.0]
    assert found == pytest.approx(np.diag(expected), abs=0.03)
