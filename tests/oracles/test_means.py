"""Means over coordinates, which LayerNorm subtracts: of activations, and over positions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    ABRelu,
    AveragePool,
    Conv,
    Cos,
    Dense,
    Elementwise,
    Exp,
    ExpNormalized,
    Flatten,
    Gaussian,
    Gelu,
    GlobalSumPool,
    Hermite,
    LayerNorm,
    LeakyRelu,
    Monomial,
    NNGPKernel,
    Patches,
    Polynomial,
    PositionalEmbedding,
    Rbf,
    RectifiedMonomial,
    Relu,
    Serial,
    Sin,
    Softmax,
    TangentKernel,
    Window,
)
from lemmata.architectures._fields import field_state
from lemmata.architectures._state import State
from lemmata.kernels import gram

EPS = np.finfo(np.float64).eps
VARIANCES = 0.3, 1.7

ACTIVATIONS = [
    Relu(), LeakyRelu(-1.0), LeakyRelu(3.0), Gelu(), Sin(0.8, 0.5), Sin(0.8, -2.0), Cos(1.3), Exp(0.6), Gaussian(0.7),
    Rbf(0.4), Monomial(2), Monomial(4), Hermite(2), Hermite(6), Elementwise(jax.nn.silu), ABRelu(-0.4, 1.3),
    RectifiedMonomial(0), RectifiedMonomial(3), Polynomial([0.3, -0.5, 0.2, 0.1, 0.2]),
]  # fmt: skip


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=lambda layer: type(layer).__name__)
def test_the_mean_of_an_activation_is_its_integral_with_its_sign(layer):
    a, b = (jnp.asarray(v) for v in VARIANCES)
    found = layer.push(State(0.2 * a, 0.0 * a, a, b, fan_in=1)).means
    # Gauss-Legendre on both sides of 0, where some have a kink, out to 12 standard deviations
    nodes, weights = np.polynomial.legendre.leggauss(200)
    z, weights = np.concatenate([6 * (nodes - 1), 6 * (nodes + 1)]), np.concatenate([6 * weights, 6 * weights])
    for mean, variance in zip(found, VARIANCES, strict=True):
        values = np.asarray(layer.apply((), jnp.asarray(variance**0.5 * z)))
        expected = np.sum(weights * values * np.exp(-z * z / 2)) / np.sqrt(2 * np.pi)
        np.testing.assert_allclose(mean, expected, rtol=1e-10, atol=1e-10)


def test_the_mean_of_softmax_outputs_is_one():
    assert Softmax(0.7).push(State(*(jnp.asarray(v) for v in (0.1, 0.0, 0.3, 1.7)), fan_in=1)).means == (1.0, 1.0)


def test_the_mean_of_normalised_exponentials_is_their_integral():
    found = ExpNormalized(0.7, -0.4).push(State(*(jnp.asarray(v) for v in (0.1, 0.0, *VARIANCES)), fan_in=1)).means
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    expected = np.sum(weights * np.exp(0.7**0.5 * nodes + 0.35 * (-0.4 - 1.0))) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found, np.sqrt(VARIANCES) * expected, rtol=1e-13)


def fields(n=3, shape=(4, 3, 2)):
    return jnp.asarray(np.random.default_rng(5).normal(size=(n, *shape)) + 0.4)


FIRST = {
    "flatten": (Flatten(), Serial([])),
    "patches": (Patches(Window((2, 2), padding="SAME")), Flatten()),
    "pool": (AveragePool((2, 1)), Flatten()),
    "sum": (GlobalSumPool(), Serial([])),
}


@pytest.mark.parametrize(("first", "last"), FIRST.values(), ids=FIRST)
def test_layer_norm_at_the_inputs_sees_what_the_layer_before_it_makes_of_them(first, last):
    # Given numbers: what the first layer makes of them may as well be the input.
    x = fields()
    made = jax.vmap(lambda point: first.apply((), point))(x)
    for kind in (NNGPKernel, TangentKernel):
        found = gram(kind(Serial([first, LayerNorm(0.1), last, Dense(1)])), x)
        np.testing.assert_allclose(
            found, gram(kind(Serial([LayerNorm(0.1), last, Dense(1)])), made), rtol=1e3 * EPS, atol=1e3 * EPS
        )


@pytest.mark.parametrize("activation", [Relu(), Hermite(2)], ids=repr)
@pytest.mark.parametrize("pooled", [False, True], ids=["equal", "pairs"])
def test_layer_norm_after_flatten_subtracts_the_mean_over_positions(activation, pooled):
    # Per position: variance of the convolution, mean and second moments of the activation; all averaged, then centred.
    x, layer = fields(), Conv(4, (2, 2), 1.1, 0.2)
    norm = [LayerNorm(0.1), Dense(1)]
    pool = [AveragePool((1, 1))] if pooled else []  # changes nothing, but asks for all pairs of positions
    network = Serial([layer, activation, *pool, Flatten(), *norm])
    state = activation.push(layer.push(field_state(x, x, False)))
    mean = np.asarray(state.means.x).reshape(-1, len(x)).mean(axis=0)
    second = np.asarray(state.nngp).reshape(-1, len(x), len(x)).mean(axis=0)
    own = np.asarray(state.xx).reshape(-1, len(x)).mean(axis=0) - mean**2 + 0.1
    expected = (second - np.outer(mean, mean)) / np.sqrt(np.outer(own, own))
    np.testing.assert_allclose(gram(NNGPKernel(network), x), expected, rtol=1e4 * EPS, atol=1e4 * EPS)
    if isinstance(activation, Hermite):  # both signs of a mean occur, which products of means over positions keep
        assert np.asarray(state.means.x).min() < -0.01 < 0.01 < np.asarray(state.means.x).max()


def test_an_embedding_beside_the_channels_dilutes_their_mean():
    x = jnp.asarray(np.random.default_rng(1).normal(size=(3, 5, 4)))
    beside = PositionalEmbedding("concat", channels=4)
    state = beside.push(Relu().push(Conv(4, 2, 1.3).push(field_state(x, x, True))))
    before = Relu().push(Conv(4, 2, 1.3).push(field_state(x, x, True)))
    np.testing.assert_allclose(state.means.x, 0.5 * before.means.x, rtol=10 * EPS)
    network = Serial([Conv(4, 2, 1.3), Relu(), beside, LayerNorm(), Conv(1, 1), Flatten()])
    assert np.linalg.eigvalsh(gram(NNGPKernel(network), x)).min() >= 0
