"""Six more activations against Neural Tangents' numbers, which `neural_tangents_pointwise_numbers.py` wrote."""

import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    ABRelu,
    Conv,
    Dense,
    ExpNormalized,
    Flatten,
    Gabor,
    GlobalAveragePool,
    LayerNorm,
    NNGPKernel,
    Polynomial,
    RectifiedMonomial,
    Serial,
    Sign,
    TangentKernel,
    residual,
)
from lemmata.kernels import gram

NUMBERS = json.loads((pathlib.Path(__file__).parent / "neural_tangents_pointwise.json").read_text())
STD, BIAS = 1.3, 0.4
SLOPES = ABRelu(-0.4, 1.3)
ACTIVATIONS = {
    "sign": Sign(),
    "polynomial": Polynomial([0.3, -0.5, 0.2, 0.1]),
    "gabor": Gabor(),
    "exp_normalized": ExpNormalized(),
    "exp_normalized_shifted": ExpNormalized(0.7, -0.4),
    "ab_relu": SLOPES,
}


def dense(width, kind="ntk"):
    return Dense(width, STD, BIAS, kind)


CONV, OUT = Conv(512, (3, 3), STD, BIAS), dense(1)
STRUCTURES = {
    "residual-ntk": [
        dense(512), residual(Serial([SLOPES, dense(512)])), LayerNorm(1e-12), Gabor(), OUT,
    ],
    "image_mean": [CONV, Gabor(), CONV, SLOPES, GlobalAveragePool(), OUT],
    "image_flatten": [CONV, ExpNormalized(), CONV, Sign(), Flatten(), OUT],
}  # fmt: skip


def network(name: str) -> Serial:
    if name in STRUCTURES:
        return Serial(STRUCTURES[name])
    activation, _, kind = name.partition("-")
    return Serial([*[dense(512, kind), ACTIVATIONS[activation]] * 2, dense(1, kind)])


@pytest.mark.parametrize("name", sorted(NUMBERS["kernels"]))
@pytest.mark.parametrize(("face", "kernel"), [("nngp", NNGPKernel), ("ntk", TangentKernel)])
def test_kernel_is_that_of_neural_tangents(name, face, kernel):
    x = jnp.asarray(NUMBERS["images" if name.startswith("image") else "points"])
    theirs = np.asarray(NUMBERS["kernels"][name][face])
    ours = np.asarray(gram(kernel(network(name)), x))
    # The angle at the diagonal rounds to sqrt(eps) in the peer, where ours is exact; the second Sign takes its root.
    rounding = np.finfo(float).eps ** (0.25 if name.startswith("sign") else 0.5)
    off = ~np.eye(len(x), dtype=bool)
    assert np.abs(ours - theirs)[off].max() <= 1e-11 * np.abs(theirs).max()
    assert np.abs(np.diag(ours - theirs)).max() <= 8 * rounding * np.abs(theirs).max()


@pytest.mark.parametrize("degree", sorted(NUMBERS["rectified"]))
def test_rectified_monomials_are_those_of_neural_tangents(degree):
    x, y = jnp.asarray(NUMBERS["points"]), jnp.asarray(NUMBERS["others"])
    net = Serial([dense(512), RectifiedMonomial(int(degree)), OUT])
    for face, kernel in (("nngp", NNGPKernel), ("ntk", TangentKernel)):
        theirs = np.asarray(NUMBERS["rectified"][degree][face])
        np.testing.assert_allclose(gram(kernel(net), x, y), theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())


def test_the_diagonal_of_signs_is_exact():
    x = jnp.asarray(NUMBERS["points"])
    np.testing.assert_allclose(NNGPKernel(network("sign-ntk")).diagonal(x), STD**2 + BIAS**2, rtol=1e-15)


def test_every_activation_was_compared():
    assert len(NUMBERS["kernels"]) == 2 * len(ACTIVATIONS) + len(STRUCTURES)
