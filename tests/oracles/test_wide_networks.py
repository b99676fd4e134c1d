"""Kernels of wide networks against recursions, integrals and Jacobians written out in NumPy and SciPy."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

from lemmata.architectures import (
    Dense,
    Dropout,
    Elementwise,
    Erf,
    Exp,
    Gaussian,
    Gelu,
    Hermite,
    LayerNorm,
    Monomial,
    NNGPKernel,
    Parallel,
    Rbf,
    Relu,
    RMSNorm,
    Serial,
    Sin,
    State,
    TangentKernel,
    fully_connected,
    relu_network,
    residual,
    sigmoid,
    silu,
    softplus,
    tangent_gram,
    tanh,
    with_masks,
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
    "exp": (Exp(0.7), lambda u: np.exp(0.7 * u), lambda u: 0.7 * np.exp(0.7 * u)),
    "gaussian": (Gaussian(0.8), lambda u: np.exp(-0.8 * u * u), lambda u: -1.6 * u * np.exp(-0.8 * u * u)),
    "rbf": (
        Rbf(0.6),
        lambda u: np.cos(np.sqrt(1.2) * u) + np.sin(np.sqrt(1.2) * u),
        lambda u: np.sqrt(1.2) * (np.cos(np.sqrt(1.2) * u) - np.sin(np.sqrt(1.2) * u)),
    ),
    "cube": (Monomial(3), lambda u: u**3, lambda u: 3 * u**2),
    "hermite": (Hermite(3), lambda u: special.eval_hermitenorm(3, u) / np.sqrt(6), lambda u: (u * u - 1) * 1.5**0.5),
    "sigmoid": (sigmoid(), special.expit, lambda u: special.expit(u) * special.expit(-u)),
    "silu": (
        silu(),
        lambda u: u * special.expit(u),
        lambda u: special.expit(u) * (1 + u * special.expit(-u)),
    ),
    "softplus": (softplus(), lambda u: np.logaddexp(0, u), special.expit),
    "tanh": (tanh(), np.tanh, lambda u: 1 / np.cosh(u) ** 2),
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


CLOSED = [
    *(Exp(alpha) for alpha in (-1.0, 0.3)),
    *(Gaussian(alpha) for alpha in (0.0, 0.2, 1.0)),
    *(Rbf(gamma) for gamma in (0.0, 0.5, 2.0)),
    *(Monomial(n) for n in range(1, 10)),
    *(Hermite(n) for n in range(1, 10)),
]


@pytest.mark.parametrize("layer", CLOSED, ids=repr)
def test_closed_form_is_the_quadrature(layer):
    """At 128 nodes the quadrature is exact for these polynomials, and resolves the others at variances up to 1.6."""
    a, b = jnp.array([0.3, 1.0, 1.6, 0.0])[:, None], jnp.array([0.4, 1.0, 1.5, 1.6])[None, :]
    scalar = lambda u: layer.apply((), u[None])[0]
    for c in (-1.0, -0.6, 0.0, 0.3, 0.95, 1.0):
        state = State(c * jnp.sqrt(a * b), jnp.ones(()), a, b, fan_in=1)
        exact, quadrature = layer.push(state), Elementwise(scalar, degree=128).push(state)
        for field in ("nngp", "ntk", "xx", "yy"):
            values = getattr(exact, field)
            error = jnp.max(jnp.abs(values - getattr(quadrature, field)))
            assert error <= 1e-10 * jnp.max(jnp.abs(values)) + 100 * EPS, (c, field)


def test_hermite_polynomials_are_orthonormal_and_of_unit_correlation():
    # at unit variances E[h_n(u) h_n(v)] = c^n, and the rule of Gauss integrates the products exactly
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    values = np.stack([np.asarray(Hermite(n).apply((), jnp.asarray(nodes))) for n in range(1, 9)])
    np.testing.assert_allclose(values * (weights / weights.sum()) @ values.T, np.eye(8), atol=1000 * EPS)
    c, one = jnp.linspace(-1.0, 1.0, 9), jnp.ones(())
    for n in range(1, 9):
        pushed = Hermite(n).push(State(c, one, one, one, fan_in=1))
        np.testing.assert_allclose(pushed.nngp, c**n, rtol=10 * EPS, atol=EPS)
        np.testing.assert_allclose(pushed.ntk, n * c ** (n - 1), rtol=10 * EPS, atol=EPS)


def test_random_features_of_the_gaussian_kernel():
    x = points()
    square = np.sum((x[:, None] - x[None]) ** 2, axis=2)
    kernel = NNGPKernel(Serial([Dense(7, weight_std=1.3), Rbf(0.4)]))
    np.testing.assert_allclose(gram(kernel, jnp.asarray(x)), np.exp(-0.4 * 1.69 * square / 4), rtol=100 * EPS)


def test_residual_recursion():
    # x_0 = W x / sqrt(d), x_{l+1} = x_l + w V relu(x_l): the moments and tangent kernels of the terms add
    x, w2, depth = points(), 0.7, 3
    block = residual(Serial([Relu(), Dense(9, w2**0.5)]))
    network = Serial([Dense(9), *([block] * depth), Dense(1)])
    sigma = theta = x @ x.T / x.shape[1]
    for _ in range(depth):
        root = np.sqrt(np.outer(np.diag(sigma), np.diag(sigma)))
        angle = np.arccos(np.clip(sigma / root, -1, 1))
        np.fill_diagonal(angle, 0.0)
        first = root * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
        sigma, theta = sigma + w2 * first, theta + w2 * (first + theta * (np.pi - angle) / (2 * np.pi))
    np.testing.assert_allclose(gram(NNGPKernel(network), jnp.asarray(x)), sigma, rtol=1000 * EPS, atol=1000 * EPS)
    expected = theta + sigma
    np.testing.assert_allclose(gram(TangentKernel(network), jnp.asarray(x)), expected, rtol=1000 * EPS, atol=1000 * EPS)


@pytest.mark.parametrize("norm", [RMSNorm(), LayerNorm()], ids=repr)
def test_normalised_layer_has_variance_one(norm):
    x = jnp.asarray(points())
    network = Serial([Dense(5, 1.3, 0.2), norm, Dense(1)])
    correlation = 1.69 * x @ x.T / 4 + 0.04
    root = jnp.sqrt(jnp.diag(correlation))
    np.testing.assert_allclose(gram(NNGPKernel(network), x), correlation / jnp.outer(root, root), rtol=100 * EPS)
    # linear but for the norm: each Dense layer contributes the correlation once
    tangent = 2 * correlation / jnp.outer(root, root)
    np.testing.assert_allclose(gram(TangentKernel(network), x), tangent, rtol=100 * EPS)
    values = norm.apply((), x[0])
    assert abs(jnp.mean(values**2) - 1) <= 10 * EPS
    assert jnp.all(norm.apply((), jnp.zeros(4)) == 0)


def test_mean_over_masks_and_second_moment_of_a_pass():
    keep, x = 0.7, jnp.asarray(points(1)[0])
    layer = Serial([Dropout(keep)])
    passes = np.asarray([with_masks(layer, jax.random.key(i)).apply(((),), x) for i in range(400)])
    assert set(np.unique(np.round(passes / x, 12))) == {0.0, np.round(1 / keep, 12)}
    # a mean of 400 two-point variables, within 4 of its standard errors
    error = 4 * np.abs(x) * np.sqrt((1 / keep - 1) / 400)
    assert (np.abs(passes.mean(axis=0) - x) <= error).all()
    np.testing.assert_array_equal(layer.apply(((),), x), x)
    state = layer.push(State(*(jnp.asarray(v) for v in (0.3, 0.5, 0.7, 1.4)), fan_in=1))
    np.testing.assert_allclose([state.nngp, state.ntk, state.xx, state.yy], [0.3, 0.5, 1.0, 2.0], rtol=4 * EPS)
    two = with_masks(Serial([Dropout(0.5), Dropout(0.5)]), jax.random.key(0)).layers
    ones = jnp.ones(64)
    assert (two[0].apply((), ones) != two[1].apply((), ones)).any()


NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


def special_quadrature(f, start, stop):
    """60-point Gauss-Legendre on one smooth piece of at most 12 standard deviations."""
    middle, half = (start + stop) / 2, (stop - start) / 2
    return half * np.sum(WEIGHTS * f(middle + half * NODES))


FINITE = {
    "ntk": fully_connected(Gelu(), 2, 6, bias_std=0.3, outputs=2),
    "standard": fully_connected(Gelu(), 2, 6, bias_std=0.3, outputs=2, parameterization="standard"),
    "exponents": fully_connected(Gelu(), 2, 6, bias_std=0.3, outputs=2, parameterization="maximal-update"),
    "branches": Serial(
        [
            Parallel([Serial([Dense(6), LayerNorm(0.1)]), Dense(6, bias_std=0.3, parameterization="standard")]),
            residual(Serial([Gelu(), Dense(6)])), RMSNorm(), Dropout(0.5), Dense(2),
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("network", FINITE.values(), ids=FINITE)
def test_finite_tangent_kernel_is_the_product_of_jacobians(network):
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
