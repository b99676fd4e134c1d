"""Branched networks and contractions against Neural Tangents' numbers, which the script beside it wrote."""

import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    AveragePool,
    Concatenate,
    Contract,
    Conv,
    Dense,
    Erf,
    Flatten,
    Gelu,
    GlobalAveragePool,
    Identity,
    Multiply,
    Relu,
    Serial,
)
from lemmata.architectures._fields import field_state
from lemmata.architectures._state import matrix_state

NUMBERS = json.loads((pathlib.Path(__file__).parent / "neural_tangents_branches.json").read_text())
STD, BIAS = 1.3, 0.4
RELU, GELU, ERF, SKIP = Relu(), Gelu(), Erf(), Identity()


def dense(width, kind="ntk"):
    return Dense(width, STD, BIAS, kind)


def waves(*shape):
    return np.sin(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def vector_networks():
    d, few, out = dense(64), dense(16), dense(1)
    own = lambda activation, layer=d: Serial([layer, activation])
    found = {
        "concat": [Concatenate([d, few, own(ERF)]), d, RELU, out],
        "concat_activations": [d, Concatenate([RELU, GELU]), out],
        "concat_inputs": [Concatenate([SKIP, own(RELU, few)]), out],
        "concat_skip": [d, Concatenate([SKIP, Serial([RELU, few])]), d, RELU, out],
        "product": [Multiply([d, d]), out],
        "product_gate": [d, RELU, Multiply([d, own(ERF)]), d, GELU, out],
        "product_activations": [Multiply([own(RELU), own(GELU)]), out],
        "product_skip": [d, Multiply([SKIP, Serial([RELU, d])]), out],
        "product_three": [d, Multiply([d, own(RELU), own(ERF)]), d, RELU, out],
        "mixed": [
            d, Concatenate([Multiply([SKIP, d]), SKIP]), d,
            Multiply([d, Concatenate([own(RELU, few), own(ERF, dense(48))])]), d, RELU, out,
        ],
    }  # fmt: skip
    wide = dense(64, "standard")
    for kind, join, width in (("concat", Concatenate, 16), ("product", Multiply, 64)):
        both = join([Serial([RELU, wide]), dense(width, "standard")])
        found[f"{kind}_standard"] = [wide, both, wide, ERF, dense(1, "standard")]
    return found


def image_networks():
    conv, short, out = Conv(512, (3, 3), STD, BIAS), Conv(512, 3, STD, BIAS), dense(1)
    deep, half = Serial([conv, ERF, conv]), Serial([conv, RELU, AveragePool((1, 2)), conv])
    bodies = {
        "concat": [conv, Concatenate([SKIP, Serial([RELU, conv])]), conv, RELU],
        "rows": [Concatenate([conv, deep], axis=0), RELU, conv, RELU],
        "columns": [conv, RELU, Concatenate([conv, half], axis=1), RELU],
        "product": [conv, Multiply([SKIP, deep]), conv, RELU],
        "contract_number": [conv, Contract(-1.5, ",...->..."), RELU],
        "contract_sum": [conv, RELU, Contract(waves(5), "h,hw->w"), short, RELU],
        "contract_matrix": [conv, Contract(waves(4, 5), "gh,hw->gw"), RELU],
        "contract_weights": [conv, Contract(waves(5), "h,h...->h..."), RELU],
        "contract_all": [conv, Contract(waves(3, 5, 4), "khw,hw->k"), RELU],
        "contract_copies": [conv, RELU, Contract(waves(3), "k,...->...k")],
        "contract_batched": [conv, Contract(waves(5, 4, 3), "hwk,hw->hk"), RELU],
    }
    ends = {"flatten": Flatten(), "mean": GlobalAveragePool()}
    every = {f"image_{name}_{end}": [*body, ends[end], out] for name, body in bodies.items() for end in ends}
    return {name: layers for name, layers in every.items() if name in NUMBERS["kernels"]}


NETWORKS = vector_networks() | image_networks()


@pytest.mark.parametrize("name", sorted(NUMBERS["kernels"]))
def test_kernels_are_those_of_neural_tangents(name):
    network, fields = Serial(NETWORKS[name]), name.startswith("image")
    x = jnp.asarray(NUMBERS["images" if fields else "points"])
    pairs = network.needs_pairs(False)
    state = jax.jit(lambda x: network.push(field_state(x, x, pairs) if fields else matrix_state(x, x)))(x)
    off = ~np.eye(len(x), dtype=bool)
    for face in ("nngp", "ntk"):
        ours, theirs = np.asarray(getattr(state, face)), np.asarray(NUMBERS["kernels"][name][face])
        # Each of ten layers rounds; on the diagonal the angle 0 rounds to sqrt(eps) on both sides.
        assert np.abs(ours - theirs)[off].max() <= 1e-11 * np.abs(theirs).max()
        assert np.abs(np.diag(ours - theirs)).max() <= 8 * math.sqrt(np.finfo(float).eps) * np.abs(theirs).max()


def test_every_network_was_compared():
    assert set(NUMBERS["kernels"]) == set(NETWORKS)
