"""Regression on noised data: variances of labels by brute force, the error of leaving one out by NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.diffusion.effective_dimension import (
    FlowThroughEffectiveDimension,
    LeaveOneOutDenoiser,
    NoisedRegressions,
    ScoreErrorThroughEffectiveDimension,
)

SETTING = {"n": 12, "d": 2, "sigma": 0.5, "ridge": 0.7, "target": "sphere"}


@pytest.fixture(scope="module")
def problem():
    return NoisedRegressions().sample(SETTING, jax.random.key(3))


def test_labels_on_a_sphere_vary_by_what_their_mean_is_short(problem):
    assert np.allclose(problem.variances, 1 - np.sum(np.asarray(problem.truth) ** 2, axis=1), atol=1e-10)


def test_labels_in_a_cube_vary_by_at_most_a_third():
    cube = NoisedRegressions().sample({**SETTING, "target": "cube"}, jax.random.key(4))
    assert float(cube.variances.min()) > 0
    assert float(cube.variances.max()) <= 1 / 3
    far = np.argmax(np.abs(np.asarray(cube.places)).max(axis=1))
    alpha, v = (float(f(cube.times[far])) for f in (cube.schedule.scale, cube.schedule.variance))
    nodes, weights = np.polynomial.legendre.leggauss(400)
    expected = 0.0
    for place in np.asarray(cube.places[far]):
        clean = nodes * 2**-0.5
        likelihood = weights * np.exp(-((place - alpha * clean) ** 2) / (2 * v))
        mean = likelihood @ clean / likelihood.sum()
        expected += likelihood @ (clean - mean) ** 2 / likelihood.sum()
    assert float(cube.variances[far]) == pytest.approx(expected, rel=1e-6)


def left_out(problem):
    """The map from labels to predictions, by deleting rows and columns."""
    matrix, n = np.asarray(problem.matrix), len(problem.matrix)
    weights = np.zeros((n, n))
    for i in range(n):
        kept = np.arange(n) != i
        system = matrix[np.ix_(kept, kept)] + float(problem.ridge) * np.eye(n - 1)
        weights[i, kept] = np.linalg.solve(system, matrix[kept, i])
    return weights


def test_the_error_of_leaving_one_out(problem, key):
    weights, truth = left_out(problem), np.asarray(problem.truth)
    bias = np.mean(np.sum((weights @ truth - truth) ** 2, axis=1))
    expected = bias + np.mean(weights**2 @ np.asarray(problem.variances))
    for claim in (LeaveOneOutDenoiser(), ScoreErrorThroughEffectiveDimension()):
        assert float(claim.measure(problem, key)) == pytest.approx(expected)
    assert float(LeaveOneOutDenoiser().predict(problem)) == pytest.approx(expected)
    draws = jax.random.normal(key, (4000, *truth.shape)) * np.sqrt(np.asarray(problem.variances) / 2)[:, None]
    found = jnp.mean(jnp.sum((weights @ (truth + draws) - truth) ** 2, axis=2))
    assert float(found) == pytest.approx(expected, rel=0.03)


def test_the_bounds_through_the_effective_dimension(problem, key):
    values = np.linalg.eigvalsh(np.asarray(problem.matrix))
    dimension = np.sum(values / (values + 0.7))
    smoother = np.asarray(problem.matrix) @ np.linalg.inv(np.asarray(problem.matrix) + 0.7 * np.eye(12))
    truth, largest = np.asarray(problem.truth), float(problem.variances.max())
    energy = 0.7 * np.sum(truth * np.linalg.solve(np.asarray(problem.matrix) + 0.7 * np.eye(12), truth))
    expected = (energy + largest * dimension) / 12 / (1 - np.diag(smoother).max()) ** 2
    assert float(ScoreErrorThroughEffectiveDimension().predict(problem)) == pytest.approx(expected)
    bias = np.sum((np.linalg.solve(np.eye(12) + np.asarray(problem.matrix) / 0.7, truth)) ** 2)
    assert float(FlowThroughEffectiveDimension().predict(problem)) == pytest.approx(
        (bias + 1.69 * largest * dimension) / 12
    )
