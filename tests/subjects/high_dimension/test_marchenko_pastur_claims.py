"""The Marchenko-Pastur edge against the density's moments, and its hypotheses where they fail."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import Linear
from lemmata.subjects.high_dimension import _random_matrices as matrices
from lemmata.subjects.high_dimension import marchenko_pastur as section


def broken(found):
    return {finding.name for finding in found.hypotheses if finding.holds is False}


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_density_between_the_edges_has_mass_and_mean_1_and_second_moment_1_plus_ratio(ratio):
    low, high = matrices.marchenko_pastur_edges(ratio)
    assert low * high == pytest.approx((1 - ratio) ** 2)
    for power, moment in ((0, 1.0), (1, 1.0), (2, 1 + ratio)):
        # s = low + (high - low) sin²: the square roots at both ends become smooth.
        def integrand(angle, power=power):
            s = low + (high - low) * np.sin(angle) ** 2
            jacobian = 2 * (high - low) * np.sin(angle) * np.cos(angle)
            return s**power * np.sqrt((high - s) * (s - low)) / (2 * np.pi * ratio * s) * jacobian

        value, error = integrate.quad(integrand, 0, np.pi / 2)
        assert abs(value - moment) <= 10 * error + 1e-12


def test_scale_is_that_of_johnstone_and_symmetric():
    n, d = 50, 20
    sigma = (np.sqrt(n) + np.sqrt(d)) * (1 / np.sqrt(n) + 1 / np.sqrt(d)) ** (1 / 3)
    assert matrices.tracy_widom_scales(n, d)[1] == pytest.approx(sigma / n, rel=1e-14)
    for one, two in zip(matrices.tracy_widom_scales(n, d), matrices.tracy_widom_scales(d, n), strict=True):
        assert one * n == pytest.approx(two * d, rel=1e-14)


def test_mean_square_correlation_is_the_loop(key):
    x = np.asarray(jax.random.normal(key, (30, 5)))
    values = [
        30 * (x[:, i] @ x[:, j]) ** 2 / (x[:, i] @ x[:, i]) / (x[:, j] @ x[:, j])
        for i in range(5)
        for j in range(5)
        if i != j
    ]
    assert float(matrices.mean_square_correlation(jnp.asarray(x))) == pytest.approx(np.mean(values), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda x: x + 0.3, "entries have mean 0"),
        (lambda x: 1.2 * x, "entries have variance 1"),
        (lambda x: x.at[:, 0].set(x[:, 1]).at[:, 2].set(x[:, 1]), "columns are uncorrelated"),
        (lambda x: x[:40, :10], "the size is large enough for the limit"),
    ],
)
def test_each_hypothesis_fails_where_it_must(key, change, name):
    x = jax.random.normal(key, (300, 60))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    x = change(x)
    problem = Regression(x, x[:, :1], x, x[:, :1], Linear(), jnp.asarray(0.0), jnp.asarray(jnp.nan))
    found = examine(section.MarchenkoPasturEdge(), problem, key)
    assert name in broken(found)
    assert found.culprit


def test_independent_entries_pass_and_the_eigenvalue_is_numpys(key):
    x = jax.random.rademacher(key, (250, 80), float)
    found = examine(section.MarchenkoPasturEdge(), matrices.Design(x), key)
    assert found.applies
    assert found.measured == pytest.approx(np.linalg.norm(np.asarray(x), 2) ** 2 / 250, rel=1e-12)
