"""Laws of layers on fields: finite networks approach the limit at its rate, and every form of a push agrees."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Aggregate,
    AveragePool,
    Concatenate,
    Contract,
    Conv,
    ConvTranspose,
    Dense,
    Dropout,
    Embedding,
    Erf,
    Flatten,
    Gelu,
    GlobalAveragePool,
    GlobalSumPool,
    Identity,
    ImageResize,
    Index,
    LayerNorm,
    LocallyConnected,
    Multiply,
    NNGPKernel,
    Relu,
    Serial,
    Softmax,
    StateSpace,
    SumPool,
    TangentKernel,
    residual,
    tangent_gram,
    with_masks,
)
from lemmata.kernels import gram

EPS = np.finfo(np.float64).eps
WIDTHS, KEYS = (32, 80, 200), 64
# A two-sided normal quantile of 4 standard errors; what the next order in 1/width may bend the slope by; the widest
# interval that still tells the rate 1/2 from 0 and 1.
QUANTILE, BEND, RESOLUTION = 4.0, 0.08, 0.4


class Case(NamedTuple):
    """Hidden layers by their width, on inputs of a shape; on tokens where there is a vocabulary."""

    name: str
    shape: tuple[int, ...]
    hidden: list
    vocabulary: int = 0


def conv(width, window=(2, 2), std=1.2, bias=0.3, **options):
    return Conv(width, window, std, bias, **options)


WEIGHTS = np.array([[0.5, -1.2]])
# Directed edges with weights, and a node at which none arrives.
EDGES = jnp.array([[0.0, 0.7, 0.0, 1.2], [0.5, 0.0, 0.9, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.4, 0.0, 0.3]])

CASES = [
    Case("mean", (4, 2), lambda n: [conv(n, 3), Relu(), conv(n, 2), Relu(), GlobalAveragePool()]),
    Case("standard", (4, 2), lambda n: [conv(n, 3, parameterization="standard"), Erf(), GlobalSumPool()]),
    Case(
        "flatten", (3, 4, 2),
        lambda n: [
            conv(n, strides=(1, 2)), Relu(), conv(n, dilation=(2, 1), padding="CIRCULAR"), Gelu(), Flatten(),
            LayerNorm(0.1),
        ],
    ),
    Case(
        "pool", (4, 4, 1),
        lambda n: [
            conv(n, padding="VALID"), Relu(), AveragePool((2, 2), 1), conv(n), Erf(), SumPool((1, 2)), Flatten(),
        ],
    ),
    Case(
        "local", (3, 3, 2),
        lambda n: [LocallyConnected(n, (2, 2), 1.2, 0.3), Relu(), conv(n), Relu(), GlobalAveragePool()],
    ),
    Case(
        "residual", (4, 2),
        lambda n: [
            conv(n, 2), residual(Serial([Relu(), LayerNorm(0.1), conv(n, 3)])), AveragePool(2), Relu(),
            GlobalAveragePool(), Dense(n, 1.2, 0.3), Erf(),
        ],
    ),
    Case(
        "states", (4, 2), lambda n: [
            Dense(n, 1.2, 0.3), Erf(), StateSpace(4, (0.5, 0.9), 1.5, 0.3, train_poles=True), Dense(n), Relu(),
            Flatten(),
        ],
    ),
    Case(
        "transposed", (3, 2),
        lambda n: [
            conv(n, 2), Relu(), ConvTranspose(n, 3, 1.6, 0.3, strides=2), residual(Serial([Erf(), conv(n, 2)])),
            ImageResize(4, "linear"), Relu(), GlobalAveragePool(),
        ],
    ),
    Case(
        "resized", (3, 2, 2),
        lambda n: [
            conv(n), ImageResize((4, None), "cubic"), Index((slice(1, None), slice(None, None, -1))),
            ImageResize((2, 3), "nearest"), Erf(), Index((0, -1)),
        ],
    ),
    Case(
        "branches", (2, 2, 1), lambda n: [
            Concatenate([conv(n), Serial([conv(n), Contract(WEIGHTS, "gh,hw->gw")])], axis=0), LayerNorm(0.1),
            Concatenate([residual(Multiply([Identity(), conv(n)])), Serial([conv(n // 2), Relu()])]),
            AveragePool((2, 1), 1), Contract(WEIGHTS[0], "w,hw->hw"), Flatten(),
        ],
    ),
    Case(
        "graph", (4, 2), lambda n: [
            Dense(n, 1.2, 0.3), Relu(), Aggregate("symmetric", 0.5, adjacency=EDGES), Dense(n, 1.2, 0.3), Erf(),
            Aggregate("row", adjacency=EDGES), GlobalSumPool(),
        ],
    ),
    Case("tokens", (4,), lambda n: [Embedding(5, n, 0.9), conv(n, 2), Softmax(0.6), GlobalAveragePool()], 5),
]  # fmt: skip
by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def network(case, width=8):
    standard = "standard" if case.name == "standard" else "ntk"
    return Serial([*case.hidden(width), Dense(1, 1.2, 0.3, standard)])


def points(case, n=3, seed=7):
    if case.vocabulary:
        return jnp.asarray(np.random.default_rng(seed).integers(0, case.vocabulary, (n, *case.shape)).astype(float))
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, *case.shape)))


def finite_kernels(case, width, x):
    """The kernels of every key's network: of the last hidden layer through the readout, and of all gradients."""
    net = network(case, width)
    readout, hidden = net.layers[-1], Serial(net.layers[:-1])

    def kernels(key):
        params, _ = net.init(key, case.shape)
        features = jax.vmap(lambda a: hidden.apply(params[:-1], a))(x)
        gradients = jax.vmap(lambda a: jax.grad(lambda p: net.apply(p, a)[0])(params))(x)
        rows = [leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(gradients)]
        nngp = readout.weight_std**2 * features @ features.T / features.shape[1] + readout.bias_std**2
        return nngp, sum(row @ row.T for row in rows)

    return jax.jit(lambda keys: jax.lax.map(kernels, keys))(jax.random.split(jax.random.key(width), KEYS))


@by_case
def test_finite_kernels_approach_the_limit_at_rate_one_half(case):
    x = points(case)
    found = [finite_kernels(case, width, x) for width in WIDTHS]
    # the limit depends on the widths of standard layers alone
    widths = WIDTHS if case.name == "standard" else WIDTHS[:1]
    for face, kind in enumerate((NNGPKernel, TangentKernel)):
        limits = [np.asarray(gram(kind(network(case, width)), x)) for width in widths]
        squares = []
        for limit, kernels in zip(limits * (len(WIDTHS) // len(widths)), found, strict=True):
            deviation = (np.asarray(kernels[face]) - limit) / np.linalg.norm(limit)
            squares.append(np.sum(deviation**2, axis=(1, 2)))
        mean = np.array([np.mean(s) for s in squares])
        error = np.array([np.std(s, ddof=1) / np.sqrt(KEYS) for s in squares]) / (2 * mean)
        t = np.log(WIDTHS) - np.mean(np.log(WIDTHS))
        slope, interval = t @ np.log(mean) / 2 / (t @ t), QUANTILE * np.sqrt((t**2) @ error**2) / (t @ t)
        assert interval < RESOLUTION, (kind, interval)
        assert abs(slope + 0.5) <= interval + BEND, (kind, slope, interval)
        bias, spread = np.mean(deviation, axis=0), np.std(deviation, axis=0, ddof=1) / np.sqrt(KEYS)
        assert (np.abs(bias) <= QUANTILE * spread + 4.0 / WIDTHS[-1]).all(), (kind, bias, spread)


@by_case
def test_the_finite_tangent_kernel_is_that_of_the_gradients(case):
    net, x = network(case, width=5), points(case)
    params, _ = net.init(jax.random.key(1), case.shape)

    @jax.jit
    def expected(params):
        gradients = jax.vmap(lambda a: jax.grad(lambda p: net.apply(p, a)[0])(params))(x)
        rows = jnp.concatenate([leaf.reshape(len(x), -1) for leaf in jax.tree.leaves(gradients)], axis=1)
        return rows @ rows.T

    found = tangent_gram(net, params, x, output=0)
    np.testing.assert_allclose(found, expected(params), atol=1000 * EPS * float(jnp.max(jnp.abs(found))))


# The tangent kernel is made of every other moment; one network shows that both are read.
FORMS = [(case, TangentKernel) for case in CASES] + [(CASES[0], NNGPKernel)]


@pytest.mark.parametrize(("case", "kernel"), FORMS, ids=lambda part: getattr(part, "name", ""))
def test_every_form_agrees(case, kernel):
    x = points(case, n=5)
    k = kernel(network(case))
    symmetric, cross, diagonal = gram(k, x), k.cross(x, x + 0.0), k.diagonal(x)
    tolerance = 1000 * EPS * float(jnp.max(jnp.abs(cross)))
    np.testing.assert_array_equal(symmetric, symmetric.T)
    np.testing.assert_array_equal(jnp.diag(symmetric), diagonal)
    # At equal points rounding turns the angle 0 into sqrt(eps), which a kink shows in the tangent kernel.
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(np.asarray(symmetric)[off], np.asarray(cross)[off], atol=tolerance)
    np.testing.assert_allclose(diagonal, jnp.diag(cross), rtol=20 * np.sqrt(EPS))
    np.testing.assert_allclose(k(x[0], x[1]), cross[0, 1], atol=tolerance)
    assert jnp.linalg.eigvalsh(symmetric)[0] > 0


@pytest.mark.parametrize("pooled", [GlobalAveragePool(), Flatten()], ids=["pairs", "positions"])
def test_tiles_are_the_same_matrix(pooled):
    # 70 images of 16 or 25 x 25 numbers a pair need more than one tile, the last one moved back.
    side = 5
    x = jnp.asarray(np.random.default_rng(1).normal(size=(70, side, side, 1)))
    k = TangentKernel(Serial([conv(1), Relu(), conv(1), Relu(), pooled, Dense(1)]))
    whole, symmetric = k.cross(x, x[:67]), gram(k, x)
    strips = jnp.concatenate([k.cross(x[i : i + 3], x[:67]) for i in range(0, 70, 3)])
    tolerance = 1000 * EPS * float(jnp.max(jnp.abs(strips)))
    off = ~np.eye(70, 67, dtype=bool)
    np.testing.assert_allclose(np.asarray(whole)[off], np.asarray(strips)[off], atol=tolerance)
    np.testing.assert_allclose(np.asarray(symmetric[:, :67])[off], np.asarray(strips)[off], atol=tolerance)
    np.testing.assert_array_equal(symmetric, symmetric.T)


def test_a_network_of_one_position_is_the_dense_one():
    # With one position a convolution is a dense layer: the kernels are those of vectors.
    x = jnp.asarray(np.random.default_rng(3).normal(size=(4, 6)))
    dense = Serial([Dense(8, 1.2, 0.3), Relu(), Dense(8, 1.2, 0.3), Relu(), Dense(1)])
    fields = Serial([conv(8, (1,)), Relu(), conv(8, (1,)), AveragePool(1), Relu(), GlobalSumPool(), Dense(1)])
    np.testing.assert_allclose(
        gram(TangentKernel(fields), x[:, None, :]), gram(TangentKernel(dense), x), rtol=1000 * EPS
    )


def test_dropout_before_a_pool_counts_one_pass_for_variances():
    # Two passes of one input: what is pooled, then activated, sees the variance of one pass and the covariance of two.
    shape, width, keep = (3, 2), 512, 0.7
    net = Serial([conv(width, 2), Relu(), Dropout(keep), GlobalAveragePool(), Dense(width, 1.2, 0.3), Erf(), Dense(1)])
    x = jnp.asarray(np.random.default_rng(2).normal(size=(2, *shape)))
    limit = gram(NNGPKernel(net), x)
    hidden = Serial(net.layers[:-1])

    def passes(key):
        own, first, second = jax.random.split(key, 3)
        params, _ = hidden.init(own, shape)
        feature = lambda k: jax.vmap(lambda a, m: with_masks(hidden, m).apply(params, a))(x, jax.random.split(k, 2))
        return feature(first) @ feature(second).T / width

    values = np.asarray(jax.jit(lambda keys: jax.lax.map(passes, keys))(jax.random.split(jax.random.key(0), 200)))
    spread = np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - limit) <= QUANTILE * spread + float(jnp.max(limit)) / width).all()
    without = gram(NNGPKernel(Serial([*net.layers[:2], *net.layers[3:]])), x)
    assert (np.abs(values.mean(axis=0) - without) > 10 * spread).all()
