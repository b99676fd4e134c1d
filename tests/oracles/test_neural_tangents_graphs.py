"""Kernels on graphs against Neural Tangents' numbers, which `neural_tangents_graphs_numbers.py` wrote."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from lemmata.architectures import (
    Aggregate,
    Dense,
    Erf,
    Flatten,
    GlobalAveragePool,
    GlobalSumPool,
    LayerNorm,
    NNGPKernel,
    OnGraphs,
    Relu,
    Serial,
    TangentKernel,
    graph_points,
    residual,
)
from lemmata.kernels import gram

NUMBERS = json.loads((pathlib.Path(__file__).parent / "neural_tangents_graphs.json").read_text())
FEATURES, ADJACENCIES = np.asarray(NUMBERS["features"]), np.asarray(NUMBERS["adjacencies"])


def dense(width: int = 512, kind: Any = "ntk") -> Dense:
    return Dense(width, 1.3, 0.4, kind)


def block(*settings: Any) -> list:
    return [Aggregate(*settings), dense(), Relu()]


MEAN, RELU = GlobalAveragePool(), Relu()
LAYERS = {
    "sum": [*block(), *block(), GlobalSumPool()],
    "loops": [*block("none", 0.7), *block("none", 0.7), MEAN],
    "row": [*block("row"), *block("row"), MEAN],
    "symmetric": [*block("symmetric", 1.0), *block("symmetric", 1.0), MEAN],
    "symmetric_without_loops": [*block("symmetric"), *block("symmetric"), MEAN],
    "flatten": [*block("none", 1.0), *block("none", 1.0), Flatten()],
    "erf": [dense(), Erf(), Aggregate("none", 1.0), dense(kind="standard"), Erf(), MEAN],
    "norm": [dense(), Aggregate("none", 1.0), LayerNorm(1e-12), RELU, *block("none", 1.0), MEAN],
    "residual": [
        dense(), residual(Serial([RELU, Aggregate("row", 1.0), dense()])), RELU, Aggregate("row", 1.0), MEAN, dense(),
        RELU,
    ],
}  # fmt: skip


TOLERANCE = 8 * np.sqrt(np.finfo(float).eps)


# The tangent kernel is made of every other moment; two networks show that both are read.
KINDS = {"nngp": NNGPKernel, "ntk": TangentKernel}
FORMS = [*((name, "ntk") for name in LAYERS), ("symmetric", "nngp"), ("norm", "nngp")]


@pytest.mark.parametrize(("name", "face"), FORMS)
def test_kernel_is_that_of_neural_tangents(name, face):
    kernel = KINDS[face](OnGraphs(Serial([*LAYERS[name], dense(1)])))
    cut = zip(FEATURES, ADJACENCIES, NUMBERS["sizes"], strict=True)
    graphs = [*zip(FEATURES, ADJACENCIES, strict=True), *((x[:s], a[:s, :s]) for x, a, s in cut)]
    ours = np.asarray(gram(kernel, graph_points(graphs)))
    theirs = np.asarray(NUMBERS["kernels"][name][face])
    difference, off = np.abs(ours[:3, :3] - theirs) / np.abs(theirs).max(), ~np.eye(3, dtype=bool)
    assert difference[off].max() <= 1e-11
    # At equal nodes of equal graphs the peer's arccos rounds to sqrt(eps), and the sum over pairs holds it.
    assert difference.max() <= TOLERANCE
    # Padded graphs of unequal size: the kernel of each with itself is that of the graph alone. Flatten divides by the
    # length of the vector, and the readout adds its bias.
    alone = np.asarray(NUMBERS["parts"][name][face])
    if name == "flatten":
        own = 0.4**2
        alone = own + (alone - own) * np.asarray(NUMBERS["sizes"]) / max(NUMBERS["sizes"])
    assert np.abs(np.diag(ours)[3:] - alone).max() <= TOLERANCE * np.abs(alone).max()


def test_every_network_was_compared():
    assert set(LAYERS) == set(NUMBERS["kernels"]) == set(NUMBERS["parts"])
    assert ADJACENCIES.min() == 0
    assert not np.array_equal(ADJACENCIES[0], ADJACENCIES[0].T)
