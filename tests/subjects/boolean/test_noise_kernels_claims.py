"""The expected errors of estimates on the cube against the mean over every possible sample."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.functions import cube
from lemmata.subjects.boolean.noise_kernels import (
    BestFactorsByDegree,
    LowDegreeAgainstNoiseKernel,
    NoiseKernelError,
    SampledFunction,
)


def errors(values, samples, factors):
    """The mean squared error over all samples, with sums over sets written out."""
    x = np.asarray(cube(2))
    products = np.stack([np.ones(4), x[:, 0], x[:, 1], x[:, 0] * x[:, 1]], axis=1)
    by_set = np.asarray(factors)[[0, 1, 1, 2]]
    found = []
    for rows in itertools.product(range(4), repeat=samples):
        rows = list(rows)
        coefficients = by_set * (values[rows] @ products[rows]) / samples
        found.append(np.mean((products @ coefficients - values) ** 2))
    return np.mean(found)


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_predictions_are_means_over_all_samples(samples):
    values = np.array([1.0, 1.0, 1.0, -1.0])
    problem = SampledFunction(jnp.asarray(values), jnp.asarray(0.6), samples, 1)
    kernel = errors(values, samples, 0.6 ** np.arange(3))
    assert NoiseKernelError().predict(problem) == pytest.approx(kernel, rel=1e-12)
    low = errors(values, samples, [1.0, 0.0, 0.0])
    assert LowDegreeAgainstNoiseKernel().predict(problem) == pytest.approx(low - kernel, rel=1e-12)
    best = BestFactorsByDegree().predict(problem)
    assert best == pytest.approx(errors(values, samples, problem.best), rel=1e-12)
    rng = np.random.default_rng(0)
    assert all(errors(values, samples, rng.uniform(0, 1, 3)) >= best for _ in range(50))
