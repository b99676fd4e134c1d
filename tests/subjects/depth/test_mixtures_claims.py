"""Mixtures, thresholds and ridge sums: enumeration, brute force, sums over fine grids, and regression on samples."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from lemmata.subjects.depth._mixtures import Mixture, Mixtures, greedy_errors
from lemmata.subjects.depth.ridge_sums import RadialTarget, RidgeCapture
from lemmata.subjects.depth.sparsification import MaureySampling
from lemmata.subjects.depth.threshold_atoms import FewThresholds, ThresholdAtoms, Wave


def test_maurey_by_enumeration():
    rng = np.random.default_rng(0)
    atoms, weights = rng.normal(size=(4, 3)), rng.dirichlet(np.ones(4))
    problem = Mixture(jnp.asarray(atoms), jnp.asarray(weights), 3)
    mean = sum(
        weights[list(drawn)].prod() * ((atoms[list(drawn)].mean(axis=0) - weights @ atoms) ** 2).sum()
        for drawn in itertools.product(range(4), repeat=3)
    )
    assert MaureySampling().predict(problem) == pytest.approx(mean)


def test_greedy_errors_by_hand():
    atoms = jnp.eye(5)
    errors = greedy_errors(atoms, jnp.full(5, 0.2), 3)
    np.testing.assert_allclose(errors, [1 / k - 1 / 5 for k in (1, 2, 3)])


def test_greedy_errors_by_brute_force(key):
    problem = Mixtures().sample({"n": 40, "d": 5, "keep": 2}, key)
    atoms, target, at = np.asarray(problem.atoms), np.asarray(problem.target), 0.0
    for i, error in enumerate(greedy_errors(problem.atoms, problem.target, 2), start=1):
        new = [(i - 1) / i * at + atom / i for atom in atoms]
        at = min(new, key=lambda point: ((point - target) ** 2).sum())
        assert error == pytest.approx(((at - target) ** 2).sum())


def test_the_signed_measure_on_a_fine_grid():
    wave = Wave(jnp.asarray(3.3), jnp.asarray(0.4), jnp.asarray(2.0), jnp.asarray([-0.7, 0.2]), 5)
    b = (np.arange(200_000) + 0.5) / 50_000 - 2.0
    slope = np.asarray(wave.slope(jnp.asarray(b))) / 50_000
    values = [slope[(b >= 0) & (b <= z)].sum() - slope[(b < 0) & (b > z)].sum() for z in (-1.4, 0.4)]
    np.testing.assert_allclose(ThresholdAtoms().predict(wave), [*values, np.abs(slope).sum()], atol=1e-4)


def test_few_thresholds_by_hand(key):
    # cos(pi z) on [-1, 1], of total variation 4, with 2 steps: at -1/2 and 1/2, the error is 1 beside a step.
    wave = Wave(jnp.asarray(1.0), jnp.asarray(0.0), jnp.asarray(1.0), jnp.asarray([0.0]), 2)
    assert FewThresholds().predict(wave) == pytest.approx(1.0)
    assert FewThresholds().measure(wave, key) == pytest.approx(1.0)


def test_orthogonal_directions_share_a_square():
    target = RadialTarget(jnp.eye(6)[:4], 1)
    assert RidgeCapture().predict(target) == pytest.approx(4 / 6)


def test_a_share_by_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200_000, 3))
    directions = np.asarray([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    f = 1.5 - (x**2).sum(axis=1) / 2
    features = np.concatenate([(x @ directions.T) ** power for power in (1, 2, 3, 4)], axis=1)
    share = LinearRegression().fit(features, f).score(features, f)
    assert RidgeCapture().predict(RadialTarget(jnp.asarray(directions), 1)) == pytest.approx(share, abs=0.01)
