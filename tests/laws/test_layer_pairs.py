"""Every layer before each that reads the state: the kernels are those of finite networks, on fields and on graphs.

The laws of single layers take each layer beside Dense layers and activations. Here each stands directly before another
one, for what one layer leaves in the state, the next one reads: means, masks, graphs, moments of a point with itself.
Second moments do not determine all of these networks; those are refused, and which are is a rule of its own.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Aggregate,
    Attention,
    AveragePool,
    Concatenate,
    Contract,
    Conv,
    ConvTranspose,
    Dense,
    Erf,
    GlobalAveragePool,
    ImageResize,
    Index,
    LayerNorm,
    LocalDense,
    LocallyConnected,
    Multiply,
    NNGPKernel,
    OnGraphs,
    PositionalEmbedding,
    Relu,
    RMSNorm,
    Serial,
    StateSpace,
    SumPool,
    TangentKernel,
    graph_points,
    residual,
    tangent_gram,
)
from lemmata.errors import SettingError
from lemmata.kernels import gram

WIDTH, KEYS = 96, 24
QUANTILE = 5.0  # standard errors
BIAS = 6.0  # of two random layers, times the largest entry, over the width
EDGES = jnp.array([[0.0, 0.7, 0.0, 1.2], [0.5, 0.0, 0.9, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.4, 0.0, 0.3]])


def dense(n):
    return Dense(n, 1.2, 0.3)


ANYWHERE = {
    "dense": dense,
    "local-dense": lambda n: LocalDense(n, 1.2, 0.3),
    "relu": lambda n: Relu(),
    "erf": lambda n: Erf(),
    "layer-norm": lambda n: LayerNorm(0.1),
    "rms-norm": lambda n: RMSNorm(0.1),
    "attention": lambda n: Attention(n, n // 4),
    "residual": lambda n: residual(Serial([Relu(), dense(n)])),
    "concatenate": lambda n: Concatenate([dense(n), Serial([dense(n // 2), Erf()])]),
    "multiply": lambda n: Multiply([dense(n), Serial([dense(n), Erf()])]),
}
"""Layers whose outputs have as many positions as their inputs, whatever their order."""
FIELDS = {
    **ANYWHERE,
    "graph": lambda n: Aggregate("symmetric", 0.5, adjacency=EDGES),
    "conv": lambda n: Conv(n, 2, 1.2, 0.3),
    "transposed": lambda n: ConvTranspose(n, 2, 1.2, 0.3),
    "unshared": lambda n: LocallyConnected(n, 2, 1.2, 0.3),
    "average": lambda n: AveragePool(2, 1, "SAME"),
    "sum": lambda n: SumPool(2, 1, "SAME"),
    "states": lambda n: StateSpace(2, (0.5, 0.9), 1.2, 0.3),
    "positions": lambda n: PositionalEmbedding(),
    "contract": lambda n: Contract(np.arange(1.0, 17.0).reshape(4, 4) / 16, "gh,h->g"),
    "index": lambda n: Index(slice(None, None, -1)),
    "resize": lambda n: ImageResize(4, "linear"),
}
GRAPHS = {
    **{name: layer for name, layer in ANYWHERE.items() if name != "local-dense"},
    "sums": lambda n: Aggregate("none", 0.4),
    "means": lambda n: Aggregate("row"),
    "symmetric": lambda n: Aggregate("symmetric", 1.0),
}


@pytest.fixture(autouse=True)
def operation_by_operation():
    """Single operations are compiled once for all pairs, whole networks once each."""
    with jax.disable_jit():
        yield


def fields(rows=2):
    return jnp.asarray(np.random.default_rng(5).normal(size=(rows, 4, 2)))


def graphs():
    """Graphs of unequal sizes with edges of their own, and a node at which none arrives."""
    rng, found = np.random.default_rng(6), []
    for size in (4, 2):
        edges = rng.random((size, size)) * (rng.random((size, size)) < 0.7)
        edges[-1] = 0.0
        found.append((rng.normal(size=(size, 2)), edges))
    return graph_points(found)


def finite_kernels(build, x):
    """Of networks with random parameters: of the last hidden layer through the readout, and of all gradients."""
    net = build(WIDTH)
    inner = net.network if isinstance(net, OnGraphs) else net
    readout, hidden = inner.layers[-1], Serial(inner.layers[:-1])
    hidden = OnGraphs(hidden) if isinstance(net, OnGraphs) else hidden

    def kernels(key):
        params, _ = net.init(key, x.shape[1:])
        features = jax.vmap(lambda row: hidden.apply(params[:-1], row))(x)
        nngp = readout.weight_std**2 * features @ features.T / features.shape[1] + readout.bias_std**2
        return nngp, tangent_gram(net, params, x, output=0)

    return jax.vmap(kernels)(jax.random.split(jax.random.key(1), KEYS))


def agrees(build, x, name):
    """Whether the kernels of the limit are those of finite networks; False where the limit is refused."""
    try:
        limits = [np.asarray(gram(kind(build(WIDTH)), x)) for kind in (NNGPKernel, TangentKernel)]
    except SettingError:
        return False
    for limit, values in zip(limits, finite_kernels(build, x), strict=True):
        values = np.asarray(values)
        spread = values.std(axis=0, ddof=1) / KEYS**0.5
        apart = np.abs(values.mean(axis=0) - limit)
        allowed = QUANTILE * spread + BIAS / WIDTH * np.abs(limit).max()
        assert (apart <= allowed).all(), (name, limit, values.mean(axis=0), spread)
    return True


READERS = ("relu", "layer-norm", "rms-norm", "residual", "concatenate", "multiply")
"""Layers that read more of a state than its moments between two points: what stands before them matters."""
BENT = ("relu", "erf", "concatenate", "multiply")
"""Layers whose outputs are not Gaussian, so that their second moments do not determine what an activation makes of
them."""
ACTIVATIONS = ("relu", "residual")


def check(first, layers, build, x):
    for name in READERS:
        known = agrees(lambda n, name=name: build(n, layers[first](n), layers[name](n)), x, f"{first}, {name}")
        assert known is not (first in BENT and name in ACTIVATIONS), f"{first} before {name}"


@pytest.mark.parametrize("first", FIELDS)
def test_a_layer_on_fields_before_every_reader(first):
    check(first, FIELDS, lambda n, *two: Serial([Conv(n, 2, 1.2, 0.3), *two, GlobalAveragePool(), dense(1)]), fields())


@pytest.mark.parametrize("first", GRAPHS)
def test_a_layer_on_graphs_before_every_reader(first):
    check(first, GRAPHS, lambda n, *two: OnGraphs(Serial([dense(n), *two, GlobalAveragePool(), dense(1)])), graphs())
