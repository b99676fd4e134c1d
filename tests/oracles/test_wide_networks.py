"""Kernels of wide networks against recursions, integrals and Jacobians written out in NumPy and SciPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

from lemmata.architectures import (
    Elementwise,
    Erf,
    Gelu,
    NNGPKernel,
    Relu,
    Sin,
    State,
    TangentKernel,
    fully_connected,
    relu_network,
    tangent_gram,
)
from lemmata.kernels import gram

EPS = np.finfo(np.float64).eps


def points(n=5, d=4):
    return np.random.default_rng(11).normal(size=(n, d))


def cho_saul_jacot(x, depth, w2, b2):
    """The recursion of Cho and Saul (2009) and Jacot et al. (2018), with the arc-cosine kernels as printed."""
    n, d = x.shape
    sigma = [[w2 * sum(x[i, k] * x[j, k] for k in range(d)) / d + b2 for j in range(n)] for i in range(n)]
    theta = [row[:] for row in sigma]
    for layer in range(depth):
        scale = w2 if layer < depth - 1 else 1.0
        new_sigma, new_theta = np.zeros((n, n)), np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                root = np.sqrt(sigma[i][i] * sigma[j][j])
                angle = 0.0 if i == j else np.arccos(sigma[i][j] / root)
                first = root * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
                new_sigma[i, j] = scale * first + b2
                new_theta[i, j] = new_sigma[i, j] + scale * theta[i][j] * (np.pi - angle) / (2 * np.pi)
        sigma, theta = new_sigma, new_theta
    return sigma, theta


@pytest.mark.parametrize("depth", [1, 3])
def test_relu_recursion(depth):
    x = points()
    network = relu_network(depth, bias_std=0.2)
    sigma, theta = cho_saul_jacot(x, depth, 2.0, 0.04)
    np.testing.assert_allclose(gram(NNGPKernel(network), jnp.asarray(x)), sigma, rtol=1000 * EPS, atol=1000 * EPS)
    np.testing.assert_allclose(gram(TangentKernel(network), jnp.asarray(x)), theta, rtol=1000 * EPS, atol=1000 * EPS)


def test_one_hidden_layer_relu_on_the_sphere():
    # Without biases and for |x|² = d: Theta = (sin t + (pi - t) cos t) / pi + cos t (pi - t) / pi.
    t = np.linspace(0.1, np.pi - 0.1, 7)
    x = np.sqrt(2) * np.stack([np.cos(t), np.sin(t)], axis=1)
    row = TangentKernel(relu_network(1)).cross(jnp.asarray([[np.sqrt(2), 0.0]]), jnp.asarray(x))[0]
    expected = (np.sin(t) + 2 * (np.pi - t) * np.cos(t)) / np.pi
    np.testing.assert_allclose(row, expected, rtol=100 * EPS, atol=100 * EPS)


ANALYTIC = {
    "erf": (Erf(), special.erf, lambda u: 2 / np.sqrt(np.pi) * np.exp(-(u**2))),
    "gelu": (
        Gelu(),
        lambda u: u * special.ndtr(u),
        lambda u: special.ndtr(u) + u * np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi),
    ),
    "sin": (Sin(1.3, 0.5), lambda u: np.sin(1.3 * u + 0.5), lambda u: 1.3 * np.cos(1.3 * u + 0.5)),
    "tanh": (Elementwise(jnp.tanh), np.tanh, lambda u: 1 / np.cosh(u) ** 2),
    "relu": (Relu(), lambda u: np.maximum(u, 0), lambda u: (u > 0) * 1.0),
}


@pytest.mark.parametrize("name", ANALYTIC)
@pytest.mark.parametrize(("k", "a", "b"), [(0.3, 0.7, 1.1), (-0.6, 0.5, 0.9), (0.79, 0.8, 0.8)])
def test_push_is_the_double_integral(name, k, a, b):
    """E[fn(u) fn(v)] and E[fn'(u) fn'(v)] by adaptive integration over the bivariate density, split at its kink."""
    layer, fn, slope = ANALYTIC[name]
    state = layer.push(State(*(jnp.asarray(v) for v in (k, 1.0, a, b)), fan_in=1))

    def expectation(f):
        # v given u is normal with mean k u / a; the inner integral is split at 0 where a kink may be
        spread = np.sqrt(b - k * k / a)

        def inner(u):
            centre = k * u / a
            density = lambda v: f(v) * np.exp(-0.5 * ((v - centre) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
            ends = sorted({centre - 12 * spread, 0.0, centre, centre + 12 * spread})
            pieces = itertools.pairwise(ends)
            return sum(special_quadrature(density, *piece) for piece in pieces)

        outer = lambda u: f(u) * inner(u) * np.exp(-0.5 * u * u / a) / np.sqrt(2 * np.pi * a)
        return sum(integrate.quad(outer, *piece, epsabs=1e-12)[0] for piece in ((-12 * a**0.5, 0), (0, 12 * a**0.5)))

    # 1e-12 is what the integration is asked for; the two inner and outer pieces each add their share
    np.testing.assert_allclose(state.nngp, expectation(fn), atol=1e-11)
    np.testing.assert_allclose(state.ntk, expectation(slope), atol=1e-11)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


def special_quadrature(f, start, stop):
    """60-point Gauss-Legendre on one smooth piece of at most 12 standard deviations."""
    middle, half = (start + stop) / 2, (stop - start) / 2
    return half * np.sum(WEIGHTS * f(middle + half * NODES))


@pytest.mark.parametrize("parameterization", ["ntk", "standard"])
def test_finite_tangent_kernel_is_the_product_of_jacobians(parameterization):
    network = fully_connected(Gelu(), 2, 6, bias_std=0.3, outputs=2, parameterization=parameterization)
    x, y = jnp.asarray(points()), jnp.asarray(points(3) + 1.0)
    params, outputs = network.init(jax.random.key(3), 4)

    def jacobian(p):
        leaves = jax.tree.leaves(jax.jacfwd(network.apply)(params, p))
        return jnp.concatenate([leaf.reshape(outputs, -1) for leaf in leaves], axis=1)

    left, right = ([jacobian(p) for p in side] for side in (x, y))
    expected = np.array([[a @ b.T for b in right] for a in left])
    norm = np.sqrt(max(np.sum(a * a) for a in left) * max(np.sum(b * b) for b in right))
    tolerance = 100 * EPS * norm
    np.testing.assert_allclose(tangent_gram(network, params, x, y), expected, atol=tolerance)
    np.testing.assert_allclose(tangent_gram(network, params, x, y, output=1), expected[..., 1, 1], atol=tolerance)
    mean = (expected[..., 0, 0] + expected[..., 1, 1]) / 2
    np.testing.assert_allclose(tangent_gram(network, params, x, y, trace=True), mean, atol=tolerance)
