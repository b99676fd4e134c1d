"""Distances and their derivatives: no cancellation in the fast form, and right slopes at distance zero."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.kernels import RBF, Laplace, Matern, TorusSobolev, gram
from lemmata.kernels._distance import squared_distances

EPS = float(np.finfo(np.float64).eps)
STATIONARY = [RBF(lengthscale=0.7), Laplace(lengthscale=0.7), *(Matern(nu, lengthscale=0.7) for nu in (0.5, 1.5, 2.5))]


def clustered(d, offset=0.0):
    """Points with equal ones, a pair 1e-9 apart and a cluster of width 1e-5."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, d))
    x[3], x[4] = x[2], x[5] + 1e-9
    x[6:12] = x[13] + 1e-5 * rng.normal(size=(6, d))
    return x + offset


@pytest.mark.parametrize("d", [1, 8, 9, 40])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_distances_keep_their_relative_accuracy(d, offset):
    x = clustered(d, offset)
    # Differences of doubles are exact in extended precision up to a rounding that is 2000 times finer.
    wide = x.astype(np.longdouble)
    exact = np.sum((wide[:, None] - wide[None]) ** 2, axis=-1).astype(float)
    found = np.asarray(squared_distances(jnp.asarray(x), jnp.asarray(x)))
    assert np.all(found[exact == 0] == 0)
    # The product form is kept where the square is at least 1 % of |x|² + |y|²: at most 100 times the error of a sum.
    assert np.max(np.abs(found - exact)[exact > 0] / exact[exact > 0]) <= 100 * (d + 4) * EPS


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_diagonal_is_exactly_one(kernel):
    for d in (3, 20):
        x = jnp.asarray(clustered(d, offset=100.0))
        assert np.all(np.asarray(kernel.diagonal(x)) == 1)
        assert np.all(np.diagonal(gram(kernel, x)) == 1)
        assert np.all(np.diagonal(gram(kernel, x, block=7)) == 1)


@pytest.mark.parametrize("kernel", STATIONARY, ids=repr)
def test_gradient_at_the_diagonal_is_zero(kernel):
    a = jnp.array([0.3, -1.2, 0.8])
    assert np.all(np.asarray(jax.grad(kernel)(a, a)) == 0)
    assert np.all(np.asarray(jax.grad(lambda x: gram(kernel, x).sum())(jnp.tile(a, (3, 4)))) == 0)


# K = 1 - c |x - y|² / 2 + ..., so the Hessian in x at x = y is -c I and the mixed derivative is c I.
@pytest.mark.parametrize(
    ("kernel", "curvature"),
    [
        (RBF(lengthscale=0.7), 1 / 0.49),
        (Matern(1.5, lengthscale=0.7), 3 / 0.49),
        (Matern(2.5, lengthscale=0.7), 5 / (3 * 0.49)),
    ],
    ids=repr,
)
def test_second_derivatives_at_the_diagonal(kernel, curvature):
    a = jnp.array([0.3, -1.2, 0.8])
    assert np.max(np.abs(jax.hessian(kernel)(a, a) + curvature * np.eye(3))) <= 8 * EPS * curvature
    mixed = jax.jacfwd(jax.grad(kernel, argnums=0), argnums=1)(a, a)
    assert np.max(np.abs(mixed - curvature * np.eye(3))) <= 8 * EPS * curvature


def test_sobolev_has_its_curvature_at_the_diagonal():
    # k_s'' (0) = -8π² sum k^(2-2s), for s = 2 equal to -8π² π²/6.
    a = jnp.array([0.3])
    curvature = 8 * np.pi**4 / 6
    assert abs(float(jax.hessian(TorusSobolev(order=2))(a, a)[0, 0]) + curvature) <= 16 * EPS * curvature
    assert float(jax.grad(TorusSobolev(order=1))(a, a)[0]) == 0


def test_points_keep_their_precision():
    x = jnp.asarray(clustered(12), jnp.float32)
    for kernel in STATIONARY:
        assert kernel(x[0], x[1]).dtype == gram(kernel, x).dtype == kernel.diagonal(x).dtype == jnp.float32


def test_derivatives_do_not_feel_the_distance_from_the_origin():
    kernel, x = RBF(lengthscale=3.0), jnp.asarray(clustered(12, offset=1e6))
    fast = jax.grad(lambda p: jnp.sum(kernel.cross(p, x)))(x)
    slow = jax.vmap(lambda a: jnp.sum(jax.vmap(lambda b: jax.grad(kernel)(a, b))(x), axis=0))(x)
    # Each of the n slopes is (x - y) K / lengthscale²: it errs by d eps times the spread of the points, not their size.
    spread = float(jnp.max(jnp.linalg.norm(x - jnp.mean(x, axis=0), axis=1)))
    assert float(jnp.max(jnp.abs(fast - slow))) <= 4 * 12 * EPS * len(x) * spread / 9
