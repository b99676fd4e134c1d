"""Layers of sequences against second routes: naive sums, derivatives of the finite layer, fields of unit vectors."""

import itertools
import math

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from lemmata.architectures import (
    Dense,
    Embedding,
    Erf,
    Exp,
    Flatten,
    GlobalAveragePool,
    Grid,
    NNGPKernel,
    Parallel,
    Serial,
    Softmax,
    State,
    StateSpace,
    TangentKernel,
)
from lemmata.errors import SettingError, ShapeError

EPS = np.finfo(np.float64).eps
LENGTH = 5


def sequences_state(nngp, ntk):
    """The state of one pair of sequences; those of each with itself are the same."""
    ones = jnp.ones((LENGTH, 1)), jnp.ones((1, LENGTH))
    bare = State(nngp, ntk, *ones, 7, grid=Grid((LENGTH,), pairs=True))
    return bare.with_grid(left=bare, right=bare)


def positive_matrix(seed):
    factor = np.random.default_rng(seed).normal(size=(LENGTH, LENGTH))
    return jnp.asarray(factor @ factor.T)


def double_sum(r, values):
    """sum_{s <= t, s' <= t'} r(s, s') values(t - s, t' - s'), term by term."""
    total = np.zeros((LENGTH, LENGTH))
    for t, u in itertools.product(range(LENGTH), repeat=2):
        total[t, u] = sum(r[s, v] * values[t - s, u - v] for s in range(t + 1) for v in range(u + 1))
    return total


def moments_of_the_finite_layer(layer):
    """E[k(s) k(s')] and the sum over parameters of E[dk(s) dk(s')], exact.

    The response k of a channel to an impulse is bilinear in its standard normal "input" and "output" (and linear in
    "skip"), so these expectations are sums of products of its mixed derivatives.
    """
    channels = len(layer.steps)
    impulse = jnp.zeros((LENGTH, channels)).at[0].set(1.0)
    params, _ = layer.init(jax.random.key(0), (LENGTH, channels))

    def response(b, c, rest):
        return layer.apply({"input": b, "output": c, **rest}, impulse)

    rest = {name: value for name, value in params.items() if name not in ("input", "output")}
    mixed = jax.jacfwd(jax.jacfwd(response, 0), 1)
    at = jnp.zeros_like(params["input"])
    total = lambda m: np.asarray(m.reshape(LENGTH, -1) @ m.reshape(LENGTH, -1).T) / channels
    bilinear = total(mixed(at, at, rest))
    skip = total(jax.jacfwd(response, 2)(at, at, rest)["skip"]) if "skip" in rest else 0.0 * bilinear
    own = 2.0 * bilinear + skip
    if "poles" in rest:
        own = own + total(jax.jacfwd(lambda p: mixed(at, at, {**rest, "poles": p}))(rest["poles"]))
    return bilinear + skip, own


@pytest.mark.parametrize(
    "layer",
    [
        StateSpace(3, (0.4, 1.1), 1.3, 0.6, train_poles=True),
        StateSpace([-0.2, -1.0 + 2.0j], 0.5, 0.7, train_poles=True),
        StateSpace(2, 1e-6, 1e6, train_poles=True),
    ],
    ids=["all", "poles", "short"],
)
def test_state_space_moments_are_those_of_random_kernels(layer):
    nngp, ntk = positive_matrix(1), positive_matrix(2)
    pushed = layer.push(sequences_state(nngp, ntk))
    covariance, own = moments_of_the_finite_layer(layer)
    expected = double_sum(covariance, nngp)
    # the derivative of a gain by its pole is a difference of numbers 1 / (step |pole|) as large: 2e6 eps is 4e-10
    rtol = 1e-9 if layer.steps[0] < 1e-3 else 1000 * EPS
    size = np.max(np.abs(expected))
    np.testing.assert_allclose(pushed.nngp, expected, rtol=0, atol=rtol * size)
    tangent = double_sum(covariance, ntk) + double_sum(own, nngp)
    np.testing.assert_allclose(pushed.ntk, tangent, rtol=0, atol=rtol * np.max(np.abs(tangent)))
    for variances in (pushed.xx[:, 0], pushed.yy[0], jnp.diag(pushed.grid.left.nngp)):
        np.testing.assert_allclose(variances, np.diag(expected), rtol=0, atol=rtol * size)


def test_state_space_of_white_noise_is_autoregressive():
    # Different tokens are white noise; one real pole makes of it a process whose correlation is a^|t - t'|.
    step, pole, w = 0.4, -0.7, 1.3
    network = Serial([Embedding(LENGTH, 8), StateSpace([pole], step, w), Flatten(), Dense(1)])
    a = math.exp(step * pole)
    variances = [w**2 * ((1 - a) / pole) ** 2 * (1 - a ** (2 * t + 2)) / (1 - a * a) for t in range(LENGTH)]
    # Y has the tokens of x one step later, so each position of y sees those of x that lie one step before it.
    x, y = jnp.arange(5.0), jnp.array([4.0, 0.0, 1.0, 2.0, 3.0])
    kernel = NNGPKernel(network)
    np.testing.assert_allclose(kernel(x, x), np.mean(variances), rtol=100 * EPS)
    # token j stands at j in x and at j + 1 in y, but 4 also at 4 in x and at 0 in y
    r = lambda s, v: w**2 * ((1 - a) / pole) ** 2 * a ** (s + v)
    shared = [sum(r(t - j, t - j - 1) for j in range(t)) + (r(0, 4) if t == 4 else 0.0) for t in range(LENGTH)]
    np.testing.assert_allclose(kernel(x, y), np.mean(shared), rtol=100 * EPS)


TAILS = {
    "pairs": [Erf(), GlobalAveragePool(), Dense(1)],
    "positions": [Erf(), Flatten(), Dense(1)],
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS)
def test_embedding_is_a_dense_layer_on_unit_vectors(tail):
    tokens = jnp.asarray(np.random.default_rng(3).integers(0, 6, (4, LENGTH)).astype(float))
    unit = jax.nn.one_hot(tokens.astype(int), 6, dtype=float)
    k = TangentKernel(Serial([Embedding(6, 8, 0.7), *tail]))
    dense = TangentKernel(Serial([Dense(8, 0.7 * 6**0.5), *tail]))
    expected = dense.cross(unit, unit[:3])
    tolerance = 100 * EPS * float(jnp.max(expected))
    np.testing.assert_allclose(k.cross(tokens, tokens[:3]), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(k.cross(tokens, tokens), dense.cross(unit, unit), rtol=0, atol=tolerance)
    np.testing.assert_allclose(k.diagonal(tokens), dense.diagonal(unit), rtol=0, atol=tolerance)
    np.testing.assert_allclose(k(tokens[0], tokens[1]), expected[0, 1], rtol=0, atol=tolerance)


def test_embedding_applies_its_table_on_any_grid():
    layer = Embedding(7, 3, 0.5)
    tokens = jnp.array([[0.0, 6.0], [2.0, 2.0]])
    params, shape = layer.init(jax.random.key(0), (2, 2))
    assert shape == (2, 2, 3)
    rows = layer.apply(params, tokens)
    np.testing.assert_array_equal(rows[0, 1], 0.5 * params["table"][6])
    np.testing.assert_array_equal(rows[1, 0], rows[1, 1])
    network = Serial([Parallel([layer, Embedding(9, 3, 1.2)]), Flatten(), Dense(1)])
    x, y = tokens[None], tokens[None, :, ::-1]
    np.testing.assert_allclose(NNGPKernel(network).cross(x, y), [[0.5 * (0.25 + 1.44)]], rtol=100 * EPS)


def test_softmax_is_the_exponential_over_its_mean():
    k, a, b, t = (jnp.asarray(v) for v in np.random.default_rng(4).uniform(0.2, 0.5, (4, 6)))
    state = State(k, t, a + 0.5, b + 0.5, 9)
    pushed, plain = Softmax(1.3).push(state), Exp(1.3).push(state)
    product = plain.means.x * plain.means.y
    np.testing.assert_allclose(pushed.nngp, plain.nngp / product, rtol=100 * EPS)
    np.testing.assert_allclose(pushed.ntk, plain.ntk / product, rtol=100 * EPS)
    np.testing.assert_allclose(pushed.xx, plain.xx / plain.means.x**2, rtol=100 * EPS)
    np.testing.assert_allclose(pushed.means.x, jnp.ones(6), rtol=0)
    x = jnp.asarray(np.random.default_rng(5).normal(size=(2, 4)))
    np.testing.assert_allclose(Softmax(1.3).apply((), x).mean(axis=-1), jnp.ones(2), rtol=100 * EPS)
    ratio = Softmax(1.3).apply((), x)[:, 0] / Softmax(1.3).apply((), x)[:, 1]
    np.testing.assert_allclose(ratio, jnp.exp(1.3 * (x[:, 0] - x[:, 1])), rtol=100 * EPS)


@pytest.fixture
def shapes_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: StateSpace(0), "poles"),
        (lambda: StateSpace([0.5j]), "negative real part"),
        (lambda: StateSpace([complex("nan")]), "finite"),
        (lambda: StateSpace(2, 0.0), "steps"),
        (lambda: StateSpace(2, ()), "steps"),
        (lambda: StateSpace(2, 0.1, -1.0), "weight_std"),
        (lambda: StateSpace(2, 0.1, skip_std=float("nan")), "skip_std"),
        (lambda: Embedding(0, 3), "vocabulary"),
        (lambda: Embedding(3, 3, -1.0), "weight_std"),
        (lambda: Softmax(float("inf")), "scale"),
    ],
)
def test_settings_out_of_bounds(build, words):
    with pytest.raises(SettingError, match=words):
        build()


@pytest.mark.usefixtures("shapes_unchecked")
def test_points_that_are_not_sequences():
    network = Serial([Dense(4), StateSpace(2), Dense(4), Flatten()])
    for shape in ((3,), (3, 3, 2)):
        with pytest.raises(ShapeError, match=r"StateSpace.*length, channels"):
            network.init(jax.random.key(0), shape if len(shape) > 1 else 3)
        with pytest.raises(ShapeError, match=r"StateSpace.*length, channels"):
            NNGPKernel(network).diagonal(jnp.ones((2, *shape)))
    with pytest.raises(SettingError, match=r"StateSpace.*the network.s own inputs"):
        NNGPKernel(Serial(network.layers[1:])).diagonal(jnp.ones((2, 3, 2)))
    with pytest.raises(SettingError, match="input of an activation"):
        NNGPKernel(Serial([Dense(4), StateSpace(2), Erf(), Flatten()])).diagonal(jnp.ones((2, 3, 2)))


def test_tokens_outside_the_vocabulary():
    k = NNGPKernel(Serial([Embedding(4, 8), Flatten(), Dense(1)]))
    good = jnp.array([[0.0, 1.0, 3.0]])
    for value in (-1.0, 4.0, 0.5, jnp.nan):
        bad = good.at[0, 2].set(value)
        for call in (lambda b: k.cross(good, b), lambda b: k.cross(b, b), k.diagonal, lambda b: k(good[0], b[0])):
            with pytest.raises(SettingError, match=rf"{value} at position .*2.*from 0 to 3"):
                call(bad)
        assert jnp.isnan(jax.jit(k.cross)(good, bad)).all()
    params, _ = k.network.init(jax.random.key(0), 3)
    with pytest.raises(SettingError, match=r"4\.0 at position \(1,\)"):
        k.network.apply(params, jnp.array([0.0, 4.0, 1.0]))
    with pytest.raises(SettingError, match="first layer"):
        NNGPKernel(Serial([Dense(3), Embedding(4, 8), Flatten()])).cross(good[..., None], good[..., None])
    with pytest.raises(SettingError, match="read tokens"):
        NNGPKernel(Serial([Parallel([Dense(3), Embedding(4, 3)]), Flatten()])).cross(good, good)
