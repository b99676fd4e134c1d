"""Eigenvalues of the softmax kernel on spheres against integrals, and the points that are drawn on the spheres."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from lemmata.engine.claims import Integer
from lemmata.engine.problems.softmax_kernels import KernelPoints
from lemmata.engine.problems.sphere_kernels import (
    Polygons,
    SphereKernels,
    SpreadPoints,
    coefficients,
    dimensions,
    log_coefficients,
    sigma_is_moderate,
)


@pytest.mark.parametrize("d", [2, 3, 4, 7])
def test_dimensions_are_those_of_homogeneous_polynomials_less_two_degrees(d):
    homogeneous = lambda q: math.comb(q + d - 1, d - 1) if q >= 0 else 0
    wanted = [homogeneous(q) - homogeneous(q - 2) for q in range(9)]
    np.testing.assert_allclose(dimensions(d, 8), wanted, rtol=1e-12)
    assert dimensions(d).shape == (41,)


@pytest.mark.parametrize("d", [2, 3, 5, 8])
@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.0])
def test_eigenvalues_are_the_integrals_of_the_kernel_against_zonal_polynomials(d, sigma):
    """kappa_q is the mean of t exp(sigma^2 t) P_q(t) over a coordinate t of a uniform point."""
    if d == 2:
        t = np.cos(np.pi * (np.arange(200) + 0.5) / 200)
        weights, zonal = np.full(200, 1 / 200), lambda q: special.eval_chebyt(q, t)
    else:
        t, weights = special.roots_gegenbauer(80, d / 2 - 1)
        weights = weights / weights.sum()
        zonal = lambda q: special.eval_gegenbauer(q, d / 2 - 1, t) / special.eval_gegenbauer(q, d / 2 - 1, 1.0)
    found = coefficients(jnp.asarray(sigma), d, 6)
    wanted = [weights @ (t * np.exp(sigma**2 * t) * zonal(q)) for q in range(7)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(log_coefficients(jnp.asarray(sigma), d, 6), np.log(found), rtol=1e-12)
    assert coefficients(jnp.asarray(sigma), d).shape == (41,)


def test_all_eigenvalues_add_up_to_the_kernel_of_a_point_with_itself():
    for d in (2, 3, 6):
        total = dimensions(d) @ np.asarray(coefficients(jnp.asarray(0.9), d))
        assert total == pytest.approx(math.exp(0.81), rel=1e-12)


@pytest.mark.parametrize(("sigma", "holds"), [(1.0, True), (1.0 + 1e-9, False), (0.1, True)])
def test_sigma_is_at_most_one(sigma, holds):
    assert bool(sigma_is_moderate(KernelPoints(jnp.eye(2), jnp.asarray(sigma))).holds) is holds


def test_kernels_have_a_sigma_between_half_of_the_setting_and_the_setting(key):
    population = SphereKernels(d=5, n=9, most=20)
    space = population.settings()
    assert (space.default["d"], space.default["n"]) == (5, 9)
    points = space.variables["n"]
    assert isinstance(points, Integer)
    assert (points.high, points.corners) == (20, (4, 9))
    assert SphereKernels(n=4).settings().variables["n"].corners == (3, 4)
    drawn = [population.sample({"d": 5, "n": 9, "sigma": 0.8}, own) for own in jax.random.split(key, 100)]
    sigmas = np.array([float(own.sigma) for own in drawn])
    assert 0.4 <= sigmas.min() < 0.45 < 0.75 < sigmas.max() <= 0.8
    assert {(own.d, own.n) for own in drawn} == {(5, 9)}
    (own,) = population.hypotheses(drawn[0])
    assert bool(own.holds)


def test_polygons_are_equispaced_and_turned(key):
    sample = lambda n: jax.jit(lambda own: Polygons().sample({"n": n, "sigma": 0.6}, own))
    first, second = map(sample(7), jax.random.split(key))
    wanted = np.cos(2 * np.pi * (np.arange(7)[:, None] - np.arange(7)) / 7)
    for problem in (first, second):
        np.testing.assert_allclose(problem.x @ problem.x.T, wanted, atol=1e-12)
        assert 0.3 <= float(problem.sigma) <= 0.6
        assert [own.name for own in Polygons().hypotheses(problem)] == ["sigma is at most 1"]
    assert float(jnp.abs(first.x - second.x).max()) > 1e-3
    turns = [float(np.arctan2(*drawn.x[0, ::-1])) for drawn in map(sample(3), jax.random.split(key, 60))]
    assert 0 <= min(turns) < 0.3 < 1.8 < max(turns) < 2 * np.pi / 3, "a part of a full turn"


@pytest.mark.parametrize(("n", "d"), [(3, 5), (4, 4), (5, 2), (6, 3)])
def test_half_of_the_points_are_as_far_apart_as_they_can_be(n, d, key):
    spread = 0
    wanted = np.eye(n) if n <= d else np.cos(2 * np.pi * (np.arange(n)[:, None] - np.arange(n)) / n)
    sample = jax.jit(lambda own: SpreadPoints().sample({"n": n, "d": d, "sigma": 0.8}, own))
    for own in jax.random.split(key, 40):
        problem = sample(own)
        assert problem.x.shape == (n, d)
        assert 0.4 <= float(problem.sigma) <= 0.8
        assert all(bool(each.holds) for each in SpreadPoints().hypotheses(problem))
        spread += bool(np.allclose(problem.x @ problem.x.T, wanted, atol=1e-10))
    assert 8 < spread < 32


def test_points_off_the_sphere_are_told():
    for length in (1 + 1e-9, 1 - 1e-9):
        on_sphere, moderate = SpreadPoints().hypotheses(
            KernelPoints(jnp.eye(3).at[1].multiply(length), jnp.asarray(0.5))
        )
        assert not bool(on_sphere.holds)
        assert bool(moderate.holds)
