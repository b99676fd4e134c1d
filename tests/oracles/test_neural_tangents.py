"""Infinite-width kernels against Neural Tangents' numbers, which `neural_tangents_numbers.py` wrote."""

import json
import math
import pathlib
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Attention,
    AveragePool,
    Conv,
    Cos,
    Dense,
    Erf,
    Exp,
    Flatten,
    Gaussian,
    Gelu,
    GlobalAveragePool,
    GlobalSumPool,
    LayerNorm,
    LeakyRelu,
    LocallyConnected,
    Monomial,
    NNGPKernel,
    PositionalEmbedding,
    Rbf,
    Relu,
    Serial,
    Sin,
    SumPool,
    TangentKernel,
    residual,
)
from lemmata.kernels import gram

NUMBERS = json.loads((pathlib.Path(__file__).parent / "neural_tangents.json").read_text())
STD, BIAS = 1.3, 0.4
ACTIVATIONS = {
    "relu": Relu(), "leaky_relu": LeakyRelu(0.2), "abs": LeakyRelu(-1.0), "erf": Erf(), "gelu": Gelu(),
    "sin": Sin(1.2, 0.4), "cos": Cos(1.2), "rbf": Rbf(0.7), "exp": Exp(0.5), "gaussian": Gaussian(0.6),
    "monomial_3": Monomial(3),
}  # fmt: skip


def conv(window=(3, 3), **options) -> Conv:
    return Conv(512, window, STD, BIAS, **options)


def attention(mechanism: Any, scaling: Any = "1/d", kind: Any = None) -> Attention:
    return Attention(
        512,
        8,
        mechanism,
        scaling=scaling,
        query_std=1.2,
        key_std=1.1,
        value_std=0.9,
        weight_std=STD,
        bias_std=BIAS,
        positions=kind if kind is None else PositionalEmbedding(kind, 0.7),
    )


RELU, OUT, MEAN = Relu(), Dense(1, STD, BIAS), GlobalAveragePool()
STANDARD, CIRCULAR = {"parameterization": "standard"}, {"padding": "CIRCULAR"}
FIELDS = {
    "image_flatten": [conv(), RELU, conv(), RELU, Flatten(), OUT],
    "image_mean": [conv(), RELU, conv(), RELU, MEAN, OUT],
    "image_sum": [conv(), Erf(), GlobalSumPool(), OUT],
    "image_valid": [conv((2, 3), strides=(2, 1), padding="VALID"), RELU, MEAN, OUT],
    "image_strided": [conv((3, 2), strides=2), RELU, conv(), RELU, Flatten(), OUT],
    "image_circular": [conv(**CIRCULAR), RELU, conv(**CIRCULAR), RELU, MEAN, OUT],
    "image_standard": [conv(**STANDARD), RELU, conv(**STANDARD), RELU, MEAN, Dense(1, STD, BIAS, "standard")],
    "image_local": [LocallyConnected(512, (3, 3), STD, BIAS), RELU, conv(), RELU, MEAN, OUT],
    "image_pool": [conv(), RELU, AveragePool((2, 2)), conv(), RELU, Flatten(), OUT],
    "image_pool_same": [conv(), RELU, AveragePool((2, 3), (1, 2), "SAME"), conv(), RELU, MEAN, OUT],
    "image_sum_pool": [conv(), Gelu(), SumPool((2, 2), 1), conv(), RELU, MEAN, OUT],
    "image_norm": [conv(), LayerNorm(1e-12), RELU, conv(), RELU, MEAN, OUT],
    "image_dense": [Dense(512, STD, BIAS), RELU, conv(), RELU, MEAN, Dense(512, STD, BIAS), RELU, OUT],
    "sequence_mean": [conv(3), RELU, conv(2), RELU, MEAN, OUT],
    "image_residual": [
        conv(), residual(Serial([RELU, conv()])), RELU, AveragePool((2, 2), 1), conv((2, 2)), RELU, Flatten(), OUT
    ],
    "sequence_attention_softmax_linear": [conv(3), RELU, attention("softmax"), RELU, MEAN, OUT],
    "sequence_attention_identity_linear": [conv(3), RELU, attention("identity"), RELU, MEAN, OUT],
    "sequence_attention_relu_linear": [conv(3), RELU, attention("relu"), RELU, MEAN, OUT],
    "sequence_attention_identity_root": [conv(3), RELU, attention("linear", "1/sqrt(d)"), RELU, MEAN, OUT],
    "sequence_attention_flatten": [attention("softmax"), RELU, Flatten(), OUT],
    "sequence_attention_positions_sum": [attention("softmax", kind="sum"), RELU, MEAN, OUT],
    "sequence_attention_positions_concat": [attention("softmax", kind="concat"), RELU, MEAN, OUT],
}  # fmt: skip


def network(name: str) -> Serial:
    if name in FIELDS:
        return Serial(FIELDS[name])
    dense = lambda width, kind="ntk", bias=BIAS: Dense(width, STD, bias, kind)
    block = residual(Serial([Relu(), dense(512)]))
    structures = {
        "residual": [dense(512), block, block, Relu(), dense(1)],
        "layer_norm": [dense(512), LayerNorm(1e-12), Relu(), dense(1)],
        "relu_without_bias_10": [*([dense(512, bias=0.0), Relu()] * 10), dense(1, bias=0.0)],
    }
    if name in structures:
        return Serial(structures[name])
    activation, _, kind = name.rpartition("_")
    hidden = [dense(512, kind), ACTIVATIONS[activation]]
    return Serial([*hidden, *hidden, dense(1, kind)])


POINTS = {"image": "images", "sequence": "sequences"}


@pytest.mark.parametrize("name", sorted(NUMBERS["kernels"]))
@pytest.mark.parametrize(("face", "kernel"), [("nngp", NNGPKernel), ("ntk", TangentKernel)])
def test_kernel_is_that_of_neural_tangents(name, face, kernel):
    x = jnp.asarray(NUMBERS[POINTS.get(name.partition("_")[0], "points")])
    theirs = np.asarray(NUMBERS["kernels"][name][face])
    ours = np.asarray(gram(kernel(network(name)), x))
    # Each of ten layers rounds; arccos at the diagonal rounds to sqrt(eps) in the peer, where ours is exact.
    off = ~np.eye(len(x), dtype=bool)
    assert np.abs(ours - theirs)[off].max() <= 1e-11 * np.abs(theirs).max()
    assert np.abs(np.diag(ours - theirs)).max() <= 8 * math.sqrt(np.finfo(float).eps) * np.abs(theirs).max()


def test_every_activation_was_compared():
    assert len(NUMBERS["kernels"]) == 2 * len(ACTIVATIONS) + 3 + len(FIELDS)
