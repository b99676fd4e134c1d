"""Layers that change the grid against Neural Tangents' numbers, of `neural_tangents_resample_numbers.py`."""

import json
import math
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    AveragePool,
    Conv,
    ConvTranspose,
    Dense,
    Erf,
    Flatten,
    GlobalAveragePool,
    ImageResize,
    Index,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    residual,
)
from lemmata.kernels import gram

NUMBERS = json.loads((pathlib.Path(__file__).parent / "neural_tangents_resample.json").read_text())
STD, BIAS = 1.3, 0.4


def transposed(window, strides=None, padding="SAME", kind="ntk", bias=BIAS):
    return ConvTranspose(512, window, STD, bias, strides=strides, padding=padding, parameterization=kind)


def resized(*shape, method="linear", antialias=True):
    return ImageResize(shape, method, antialias)


CONV, LINE, DENSE = Conv(512, (2, 2), STD, BIAS), Conv(512, 2, STD, BIAS), Dense(512, STD, BIAS)
RELU, FLAT, MEAN = Relu(), Flatten(), GlobalAveragePool()
OUT, END = Dense(1, STD, BIAS), [CONV, RELU, MEAN, Dense(1, STD, BIAS)]
STANDARD = {"parameterization": "standard"}
NETWORKS = {
    "image_transposed": [CONV, RELU, transposed((3, 2), (2, 3)), RELU, CONV, RELU, FLAT, OUT],
    "image_transposed_first": [transposed((2, 3), (2, 1)), RELU, MEAN, OUT],
    "image_transposed_sparse": [CONV, RELU, transposed((1, 2), (3, 3), bias=0.0), *END],
    "image_transposed_valid": [CONV, RELU, transposed((3, 2), (2, 3), "VALID"), RELU, *END],
    "image_transposed_circular": [CONV, RELU, transposed((3, 4), (2, 3), "CIRCULAR"), RELU, *END],
    "image_transposed_standard": [
        Conv(512, (2, 2), STD, BIAS, **STANDARD), Erf(), transposed((3, 3), (2, 2), kind="standard"), RELU, MEAN,
        Dense(1, STD, BIAS, **STANDARD),
    ],
    "sequence_transposed": [LINE, RELU, transposed(4, 2), RELU, LINE, RELU, MEAN, OUT],
    "sequence_transposed_wide": [LINE, RELU, transposed(13, 2, "CIRCULAR"), RELU, LINE, RELU, FLAT, OUT],
    "image_finer": [DENSE, RELU, resized(7, 5), CONV, RELU, FLAT, OUT],
    "image_coarser": [DENSE, RELU, resized(3, None), *END],
    "image_coarser_sharp": [CONV, Erf(), resized(2, 2, antialias=False), *END],
    "image_mixed": [DENSE, resized(6, 2), RELU, *END],
    "image_first": [resized(3, 4), *END],
    "image_nearest": [DENSE, RELU, resized(6, 2, method="nearest"), *END],
    "image_nearest_flat": [DENSE, resized(3, 5, method="nearest"), RELU, CONV, RELU, FLAT, OUT],
    "sequence_finer": [LINE, RELU, resized(8), LINE, RELU, MEAN, OUT],
    "image_slices": [CONV, RELU, Index(np.s_[1:, ::-2]), *END],
    "image_row": [CONV, RELU, Index(1), LINE, RELU, FLAT, OUT],
    "image_column": [CONV, Index(np.s_[..., 2]), RELU, LINE, RELU, MEAN, OUT],
    "image_one": [CONV, RELU, Index((2, -1)), DENSE, RELU, OUT],
    "sequence_last": [LINE, Index(-1), RELU, OUT],
    "image_together": [
        CONV, RELU, transposed((2, 2), (2, 1)), residual(Serial([RELU, CONV])), Index(np.s_[:-1]), resized(5, 5), RELU,
        AveragePool((2, 2), 1), *END,
    ],
}  # fmt: skip


FACES = {"nngp": NNGPKernel, "ntk": TangentKernel}
# The tangent kernel is made of every other moment; one network with each layer shows that both are read.
COMPARED = [(name, "ntk") for name in sorted(NETWORKS)]
COMPARED += [(name, "nngp") for name in ("image_transposed", "image_one", "sequence_finer")]


@pytest.mark.parametrize(("name", "face"), COMPARED)
def test_kernel_is_that_of_neural_tangents(name, face):
    x = jnp.asarray(NUMBERS["points"][name.partition("_")[0]])
    theirs = np.asarray(NUMBERS["kernels"][name][face])
    ours = np.asarray(gram(FACES[face](Serial(NETWORKS[name])), x))
    # arccos at the diagonal rounds to sqrt(eps) in the peer, where ours is exact
    off = ~np.eye(len(x), dtype=bool)
    assert np.abs(ours - theirs)[off].max() <= 1e-11 * np.abs(theirs).max()
    assert np.abs(np.diag(ours - theirs)).max() <= 8 * math.sqrt(np.finfo(float).eps) * np.abs(theirs).max()


def test_every_network_was_compared():
    assert NETWORKS.keys() == NUMBERS["kernels"].keys()
