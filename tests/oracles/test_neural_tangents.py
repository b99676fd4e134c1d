"""Infinite-width kernels against Neural Tangents' numbers, which `neural_tangents_numbers.py` wrote."""

import json
import math
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    Cos,
    Dense,
    Erf,
    Exp,
    Gaussian,
    Gelu,
    LayerNorm,
    LeakyRelu,
    Monomial,
    NNGPKernel,
    Rbf,
    Relu,
    Serial,
    Sin,
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


def network(name: str) -> Serial:
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


@pytest.mark.parametrize("name", sorted(NUMBERS["kernels"]))
@pytest.mark.parametrize(("face", "kernel"), [("nngp", NNGPKernel), ("ntk", TangentKernel)])
def test_kernel_is_that_of_neural_tangents(name, face, kernel):
    x, theirs = jnp.asarray(NUMBERS["points"]), np.asarray(NUMBERS["kernels"][name][face])
    ours = np.asarray(gram(kernel(network(name)), x))
    # Each of ten layers rounds; arccos at the diagonal rounds to sqrt(eps) in the peer, where ours is exact.
    off = ~np.eye(len(x), dtype=bool)
    assert np.abs(ours - theirs)[off].max() <= 1e-11 * np.abs(theirs).max()
    assert np.abs(np.diag(ours - theirs)).max() <= 8 * math.sqrt(np.finfo(float).eps) * np.abs(theirs).max()


def test_every_activation_was_compared():
    assert len(NUMBERS["kernels"]) == 2 * len(ACTIVATIONS) + 3
