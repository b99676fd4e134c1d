"""Kernels against scikit-learn, and against the Fourier series and Bernoulli polynomials that define them."""

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as peer

from lemmata.kernels import RBF, Laplace, Matern, Periodic, Polynomial, TorusSobolev, gram

EPS = float(np.finfo(np.float64).eps)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


PEERS = [
    ("rbf", RBF(lengthscale=1.7), peer.RBF(1.7), 3),
    ("rbf-many", RBF(lengthscale=4.0), peer.RBF(4.0), 30),
    ("matern-1/2", Matern(0.5, lengthscale=1.7), peer.Matern(1.7, nu=0.5), 3),
    ("matern-1/2-many", Matern(0.5, lengthscale=5.0), peer.Matern(5.0, nu=0.5), 30),
    ("laplace", Laplace(lengthscale=5.0), peer.Matern(5.0, nu=0.5), 30),
    ("matern-3/2", Matern(1.5, lengthscale=1.7), peer.Matern(1.7, nu=1.5), 3),
    ("matern-5/2", Matern(2.5, lengthscale=5.0), peer.Matern(5.0, nu=2.5), 30),
    ("dot-product", Polynomial(degree=1, offset=0.49), peer.DotProduct(sigma_0=0.7), 5),
    ("dot-product-cubed", Polynomial(degree=3, offset=0.49), peer.DotProduct(sigma_0=0.7) ** 3, 5),
    ("exp-sine-squared", Periodic(period=1.3, lengthscale=0.8), peer.ExpSineSquared(0.8, 1.3), 1),
]


@pytest.mark.parametrize(("kernel", "other", "d"), [row[1:] for row in PEERS], ids=[row[0] for row in PEERS])
def test_kernel_is_that_of_scikit_learn(kernel, other, d):
    x, y = normal(9, d), normal(7, d, seed=1)
    # d terms in a sum, times the largest power of the size of its argument in a cubed or exponentiated sum.
    allowed = 32 * d * EPS * max(1.0, float(np.max(np.abs(other(x)))))
    assert np.max(np.abs(np.asarray(gram(kernel, jnp.asarray(x))) - other(x))) <= allowed
    assert np.max(np.abs(np.asarray(gram(kernel, jnp.asarray(x), jnp.asarray(y))) - other(x, y))) <= allowed


@pytest.mark.parametrize("order", [1, 2, 3, 6, 85, 86, 400])
def test_sobolev_is_its_fourier_series(order):
    terms = 20_000 if order == 1 else 2_000
    t = np.concatenate([np.linspace(-1.2, 1.2, 41), [0.0, 0.5, 1e-9]])
    k = np.arange(1, terms + 1)
    # Summed from the smallest term up; the tail is at most 2 sum_{k > terms} k^(-2s) < 2 terms^(1-2s) / (2s-1).
    series = 1 + 2 * np.sum((k ** -float(2 * order) * np.cos(2 * np.pi * np.outer(t, k)))[:, ::-1], axis=1)
    tail = 2 * terms ** (1.0 - 2 * order) / (2 * order - 1)
    # The cosine of 2πkt errs by 2πk|t| eps, which the weights k^(-2s) sum to 2π|t| eps sum k^(1-2s).
    rounding = 4 * np.pi * 1.2 * EPS * (1 + np.log(terms)) * 4 + 64 * EPS
    ours = jax.vmap(lambda a: TorusSobolev(order=order)(a[None], jnp.zeros(1)))(jnp.asarray(t))
    assert np.max(np.abs(np.asarray(ours) - series)) <= tail + rounding


def bernoulli_numbers(last):
    """B_0, ..., B_last from sum_{k<=n} C(n+1, k) B_k = 0, in exact arithmetic (B_1 = -1/2)."""
    numbers = [Fraction(1)]
    for n in range(1, last + 1):
        numbers.append(-sum(math.comb(n + 1, k) * numbers[k] for k in range(n)) / (n + 1))
    return numbers


@pytest.mark.parametrize("order", [1, 2, 4])
def test_sobolev_is_its_bernoulli_polynomial(order):
    x, y = np.random.default_rng(1).uniform(size=(2, 30))
    degree, numbers = 2 * order, bernoulli_numbers(2 * order)
    coefficients = [float(math.comb(degree, j) * numbers[degree - j]) for j in range(degree + 1)]
    fraction = np.mod(x - y, 1.0)
    polynomial = sum(c * fraction**j for j, c in enumerate(coefficients))
    factor = (-1) ** (order + 1) * (2 * np.pi) ** degree / math.factorial(degree)
    ours = jax.vmap(lambda a, b: TorusSobolev(order=order)(a[None], b[None]))(jnp.asarray(x), jnp.asarray(y))
    # The monomials at a fraction near 1 are as large as the coefficients: that is the naive form's condition.
    condition = abs(factor) * sum(abs(c) for c in coefficients)
    assert np.max(np.abs(np.asarray(ours) - 1 - factor * polynomial)) <= 16 * EPS * condition


def test_sobolev_gram_on_a_grid_has_its_fourier_spectrum():
    # On the grid j/n the eigenvalues are n times the sums over aliases of the weights, sum_a |k + a n|^(-2s).
    n, order = 16, 3
    grid = jnp.arange(n)[:, None] / n
    eigenvalues = np.sort(np.linalg.eigvalsh(np.asarray(gram(TorusSobolev(order=order), grid))))
    aliases = np.arange(-400, 401) * n
    frequency = np.abs(np.arange(n)[:, None] + aliases[None, :]).astype(float)
    weights = np.where(frequency == 0, 1.0, np.maximum(frequency, 1.0) ** (-2.0 * order))
    expected = np.sort(n * weights.sum(axis=1))
    assert np.max(np.abs(eigenvalues - expected)) <= 16 * n * EPS * expected[-1]


def test_sobolev_in_two_dimensions_is_a_product():
    x, y = np.random.default_rng(2).uniform(size=(2, 2))
    kernel = TorusSobolev(order=2)
    both = float(kernel(jnp.asarray(x), jnp.asarray(y)))
    single = [float(kernel(jnp.asarray(x[i : i + 1]), jnp.asarray(y[i : i + 1]))) for i in range(2)]
    assert abs(both - single[0] * single[1]) <= 4 * EPS * abs(both)
