"""Writes neural_tangents_branches.json: kernels of branched networks and contractions by Neural Tangents 0.6.5.

Environment and call as of `neural_tangents_numbers.py`, which stands beside it.
"""

import json
import pathlib

import jax
import numpy as np
from neural_tangents import stax  # pyright: ignore[reportMissingImports]
from neural_tangents_numbers import convolution, dense, images, points  # pyright: ignore[reportMissingImports]

SERIAL, SKIP, RELU, GELU, ERF = stax.serial, stax.Identity(), stax.Relu(), stax.Gelu(), stax.Erf()


# What needs all pairs of positions whatever follows.
SUMS = ("columns", "contract_sum", "contract_matrix", "contract_all", "contract_batched")


def branches(end, *layers):
    """Branches of one input, and the layer that joins them."""
    return SERIAL(stax.FanOut(len(layers)), stax.parallel(*layers), end)


def concatenated(*layers, axis: int = -1):
    """Branches one after another."""
    return branches(stax.FanInConcat(axis), *layers)


def product(*layers):
    """The product of branches."""
    return branches(stax.FanInProd(), *layers)


def waves(*shape: int) -> np.ndarray:
    """An array of a shape that needs no generator."""
    return np.sin(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)


def vector_networks() -> dict:
    """Networks on vectors, by name."""
    d, few, out = dense(64, "ntk"), dense(16, "ntk"), dense(1, "ntk")
    own = lambda activation, layer=d: SERIAL(layer, activation)
    found = {
        "concat": [concatenated(d, few, own(ERF)), d, RELU, out],
        "concat_activations": [d, concatenated(RELU, GELU), out],
        "concat_inputs": [concatenated(SKIP, own(RELU, few)), out],
        "concat_skip": [d, concatenated(SKIP, SERIAL(RELU, few)), d, RELU, out],
        "product": [product(d, d), out],
        "product_gate": [d, RELU, product(d, own(ERF)), d, GELU, out],
        "product_activations": [product(own(RELU), own(GELU)), out],
        "product_skip": [d, product(SKIP, SERIAL(RELU, d)), out],
        "product_three": [d, product(d, own(RELU), own(ERF)), d, RELU, out],
        "mixed": [
            d,
            concatenated(product(SKIP, d), SKIP),
            d,
            product(d, concatenated(own(RELU, few), own(ERF, dense(48, "ntk")))),
            d,
            RELU,
            out,
        ],
    }
    for kind in ("concat", "product"):
        join = {"concat": concatenated, "product": product}[kind]
        wide = dense(64, "standard")
        other = dense(16 if kind == "concat" else 64, "standard")
        found[f"{kind}_standard"] = [wide, join(SERIAL(RELU, wide), other), wide, ERF, dense(1, "standard")]
    return {name: SERIAL(*layers) for name, layers in found.items()}


def image_networks() -> dict:
    """Networks on images, by name, each with two ends."""
    conv, short, out = convolution(), convolution((3,)), dense(1, "ntk")
    deep, half = SERIAL(conv, ERF, conv), SERIAL(conv, RELU, stax.AvgPool((1, 2), (1, 2)), conv)
    dot = lambda axes, batch=((), ()), **arrays: stax.DotGeneral(dimension_numbers=(axes, batch), **arrays)
    # layers, the axis of points and that of coordinates at their end
    bodies = {
        "concat": ([conv, concatenated(SKIP, SERIAL(RELU, conv)), conv, RELU], 0, -1),
        "rows": ([concatenated(conv, deep, axis=1), RELU, conv, RELU], 0, -1),
        "columns": ([conv, RELU, concatenated(conv, half, axis=2), RELU], 0, -1),
        "product": ([conv, product(SKIP, deep), conv, RELU], 0, -1),
        "contract_number": ([conv, stax.DotGeneral(rhs=-1.5), RELU], 0, -1),
        "contract_sum": ([conv, RELU, dot(((1,), (0,)), rhs=waves(5)), short, RELU], 0, -1),
        "contract_matrix": ([conv, dot(((1,), (1,)), lhs=waves(4, 5)), RELU], 1, -1),
        "contract_weights": ([conv, dot(((), ()), ((1,), (0,)), rhs=waves(5)), RELU], 1, -1),
        "contract_all": ([conv, dot(((1, 2), (1, 2)), rhs=waves(3, 5, 4)), RELU], 0, 1),
        "contract_copies": ([conv, RELU, stax.DotGeneral(rhs=waves(3))], 0, 3),
        "contract_batched": ([conv, dot(((2,), (1,)), ((1,), (0,)), rhs=waves(5, 4, 3)), RELU], 1, 2),
    }
    found = {}
    for name, (layers, batch, channels) in bodies.items():
        ends = {
            "flatten": stax.Flatten(batch_axis=batch),
            "mean": stax.GlobalAvgPool(batch_axis=batch, channel_axis=channels),
        }
        chosen = ("mean",) if name in SUMS else ("flatten", "mean")
        found |= {f"image_{name}_{end}": SERIAL(*layers, ends[end], out) for end in chosen}
    return found


def main() -> None:
    """Write both kernels of every network, in float64."""
    jax.config.update("jax_enable_x64", True)
    numbers = {}
    for networks, inputs in ((vector_networks(), points()), (image_networks(), images())):
        for name, (_, _, kernel) in networks.items():
            found = kernel(inputs, inputs, ("nngp", "ntk"))
            numbers[name] = {face: np.asarray(getattr(found, face)).tolist() for face in ("nngp", "ntk")}
    file = pathlib.Path(__file__).parent / "neural_tangents_branches.json"
    file.write_text(json.dumps({"points": points().tolist(), "images": images().tolist(), "kernels": numbers}) + "\n")


if __name__ == "__main__":
    main()
