import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.solvers import (
    OtherPoints,
    gradient_descent_ensemble,
    gradient_flow,
    gradient_flow_ensemble,
    kernel_ridge,
    posterior,
)
from lemmata.spectra import spectrum

EPS = np.finfo(float).eps


def gram(rng, rank):
    z = rng.normal(size=(14, rank)) / np.sqrt(rank)
    return z @ z.T


RNG = np.random.default_rng(0)
THETA, PRIOR, Y = gram(RNG, 30), gram(RNG, 20), RNG.normal(size=(10, 2))
OTHERS = OtherPoints(jnp.asarray(THETA[10:, :10]), jnp.asarray(PRIOR[10:, :10]), jnp.asarray(PRIOR[10:, 10:]))
FOUND, NNGP = spectrum(jnp.asarray(THETA[:10, :10])), jnp.asarray(PRIOR[:10, :10])


def law(maps):
    """The normal law of M f(0) + (I - M on the training points) y when f(0) ~ N(0, PRIOR), for linear maps M."""
    shift = np.stack([(np.eye(14) - M)[:, :10] @ Y for M in maps])
    return shift, np.stack([M @ PRIOR @ M.T for M in maps])


@pytest.mark.parametrize("kind", ["flow", "descent"])
def test_the_law_is_that_of_a_linear_map_of_the_initial_function(kind):
    generator = np.zeros((14, 14))
    generator[:, :10] = THETA[:, :10]
    y = jnp.asarray(Y)
    if kind == "flow":
        maps = [expm(-generator * time) for time in (0.0, 0.5, 7.0)]
        found = gradient_flow_ensemble(FOUND, NNGP, y, [0.0, 0.5, 7.0], OTHERS)
    else:
        maps = [np.linalg.matrix_power(np.eye(14) - 0.1 * generator, steps) for steps in (0, 1, 60)]
        found = gradient_descent_ensemble(FOUND, NNGP, y, 0.1, [0, 1, 60], OTHERS)
    mean, covariance = law(maps)
    tolerance = 100 * 14**2 * EPS * np.linalg.cond(THETA[:10, :10])
    np.testing.assert_allclose(found.mean.train, mean[:, :10], rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.mean.test, mean[:, 10:], rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.train, covariance[:, :10, :10], rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.test, covariance[:, 10:, 10:], rtol=0, atol=tolerance)
    assert tolerance < 1e-8


def test_variances_alone_and_the_ends_of_training():
    y, times = jnp.asarray(Y), [0.0, 3.0, float("inf")]
    whole = gradient_flow_ensemble(FOUND, NNGP, y, times, OTHERS)
    diagonal = OtherPoints(OTHERS.tangent, OTHERS.nngp, jnp.diagonal(OTHERS.prior))
    alone = gradient_flow_ensemble(FOUND, NNGP, y, times, diagonal)
    np.testing.assert_allclose(alone.test, jnp.diagonal(whole.test, axis1=1, axis2=2), rtol=0, atol=1e3 * EPS)
    np.testing.assert_allclose(whole.test[0], OTHERS.prior, rtol=0, atol=14 * EPS)
    # With Theta = K the trained ensemble is the noise-free posterior of K (Lee et al., 2019, "sample-then-optimise").
    K = jnp.asarray(PRIOR)
    others = OtherPoints(K[10:, :10], K[10:, :10], K[10:, 10:])
    found = gradient_flow_ensemble(spectrum(NNGP), NNGP, y, float("inf"), others)
    known = posterior(kernel_ridge(NNGP, y, 0.0), K[10:, :10], K[10:, 10:])
    tolerance = 1e3 * EPS * np.linalg.cond(PRIOR[:10, :10])
    np.testing.assert_allclose(found.mean.test[0], known.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.test[0], known.covariance, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.train[0], 0, atol=tolerance)
    np.testing.assert_array_equal(whole.mean.train, gradient_flow(FOUND, y, times).train)
    assert gradient_flow_ensemble(FOUND, NNGP, y, 1.0).test is None


def test_repeated_rows_keep_their_initial_difference():
    # Two copies of a point with different targets: the difference of copies never moves, and is 0 at initialisation.
    rows = np.r_[0, np.arange(10)]
    found = gradient_flow_ensemble(
        spectrum(jnp.asarray(THETA[np.ix_(rows, rows)])),
        jnp.asarray(PRIOR[np.ix_(rows, rows)]),
        jnp.asarray(Y)[rows].at[0].add(1.0),
        [1e13, float("inf")],
        OtherPoints(OTHERS.tangent[:, rows], OTHERS.nngp[:, rows], OTHERS.prior),
    )
    clean = gradient_flow_ensemble(FOUND, NNGP, jnp.asarray(Y).at[0].add(0.5), float("inf"), OTHERS)
    tolerance = 1e4 * EPS * np.linalg.cond(THETA[:10, :10])
    for i in range(2):
        np.testing.assert_allclose(found.mean.test[i], clean.mean.test[0], rtol=0, atol=tolerance)
        np.testing.assert_allclose(found.test[i], clean.test[0], rtol=0, atol=tolerance)


def test_wrong_arguments_are_refused():
    y, theta, nngp, prior = jnp.asarray(Y), OTHERS.tangent, OTHERS.nngp, OTHERS.prior
    with pytest.raises(ShapeError, match="nngp"):
        gradient_flow_ensemble(FOUND, NNGP[:-1], y, 1.0)
    with pytest.raises(ShapeError, match="cross"):
        gradient_flow_ensemble(FOUND, NNGP, y, 1.0, OtherPoints(theta[:, 1:], nngp[:, 1:], prior))
    with pytest.raises(ShapeError, match="other points"):
        gradient_flow_ensemble(FOUND, NNGP, y, 1.0, OtherPoints(theta[1:], nngp[1:], prior[0, :2]))
    with pytest.raises(DataError, match="nngp"):
        gradient_descent_ensemble(FOUND, NNGP.at[0, 0].set(jnp.nan), y, 0.1, 2)
    with pytest.raises(NotPositiveDefiniteError, match="nngp is not positive semidefinite"):
        gradient_flow_ensemble(FOUND, -NNGP, y, 1.0)
    with pytest.raises(DataError, match="prior"):
        gradient_flow_ensemble(FOUND, NNGP, y, 1.0, OtherPoints(theta, nngp, prior * jnp.nan))
    # As without checks of types:
    with pytest.raises(SettingError, match=r"others; found a tuple.*OtherPoints\(tangent, nngp, prior\)"):
        inspect.unwrap(gradient_flow_ensemble)(FOUND, NNGP, y, 1.0, (theta, nngp, prior))
    with pytest.raises(SettingError, match=r"spectrum\(K\)"):
        inspect.unwrap(gradient_descent_ensemble)(NNGP, NNGP, y, 0.1, 2)
    with pytest.raises(SettingError, match=r"spectrum; found an array.*spectrum\(K\)"):
        inspect.unwrap(gradient_flow)(NNGP, y, 1.0)
