"""Writes neural_tangents_resample.json: kernels of networks that change the grid, by Neural Tangents 0.6.5.

In the environment of `neural_tangents_numbers.py`: python tests/oracles/neural_tangents_resample_numbers.py
"""

import json
import pathlib

import jax
import numpy as np
from neural_tangents import stax  # pyright: ignore[reportMissingImports]

STD, BIAS = 1.3, 0.4


def images() -> np.ndarray:
    """Three images of 4 x 3 positions and 2 channels."""
    return np.sin(np.arange(1.0, 73.0) ** 2).reshape(3, 4, 3, 2)


def sequences() -> np.ndarray:
    """Three sequences of 5 positions and 3 channels."""
    return np.sin(np.arange(3.0, 48.0) ** 2).reshape(3, 5, 3)


def convolution(window=(2, 2), parameterization="ntk"):
    """A convolution to 512 channels, which treats the edges of the grid otherwise than its middle."""
    return stax.Conv(512, window, None, "SAME", STD, BIAS, parameterization=parameterization)


def transposed(window, strides=None, padding="SAME", parameterization="ntk", bias: float | None = BIAS):
    """A transposed convolution to 512 channels."""
    return stax.ConvTranspose(512, window, strides, padding, STD, bias, parameterization=parameterization)


def resized(*shape: int, method: str = "linear", antialias: bool = True):
    """A change of the positions to a grid of a shape, -1 where an axis stays.

    A convolution leaves the covariances with the axes of positions reversed, which this layer's kernel overlooks: its
    finite networks have another limit then. Here a convolution comes before it only where the new grid is square.
    """
    return stax.ImageResize((-1, *shape, -1), method, antialias)


def taken(*index):
    """Positions, of all points."""
    return stax.Index((slice(None), *index))


def networks() -> dict:
    """Networks by name, their inputs in the first word."""
    relu, erf, flat, mean = stax.Relu(), stax.Erf(), stax.Flatten(), stax.GlobalAvgPool()
    dense = stax.Dense(512, STD, BIAS)
    out, standard = stax.Dense(1, STD, BIAS), stax.Dense(1, STD, BIAS, parameterization="standard")
    conv, line = convolution(), convolution((2,))
    found = {
        "image_transposed": [conv, relu, transposed((3, 2), (2, 3)), relu, conv, relu, flat, out],
        "image_transposed_first": [transposed((2, 3), (2, 1)), relu, mean, out],
        "image_transposed_sparse": [conv, relu, transposed((1, 2), (3, 3), bias=None), conv, relu, mean, out],
        "image_transposed_valid": [conv, relu, transposed((3, 2), (2, 3), "VALID"), relu, conv, relu, mean, out],
        "image_transposed_circular": [conv, relu, transposed((3, 4), (2, 3), "CIRCULAR"), relu, conv, relu, mean, out],
        "image_transposed_standard": [
            convolution(parameterization="standard"),
            erf,
            transposed((3, 3), (2, 2), parameterization="standard"),
            relu,
            mean,
            standard,
        ],
        "sequence_transposed": [line, relu, transposed((4,), (2,)), relu, line, relu, mean, out],
        "sequence_transposed_wide": [line, relu, transposed((13,), (2,), "CIRCULAR"), relu, line, relu, flat, out],
        "image_finer": [dense, relu, resized(7, 5), conv, relu, flat, out],
        "image_coarser": [dense, relu, resized(3, -1), conv, relu, mean, out],
        "image_coarser_sharp": [conv, erf, resized(2, 2, antialias=False), conv, relu, mean, out],
        "image_mixed": [dense, resized(6, 2), relu, conv, relu, mean, out],
        "image_first": [resized(3, 4), conv, relu, mean, out],
        "image_nearest": [dense, relu, resized(6, 2, method="nearest"), conv, relu, mean, out],
        "image_nearest_flat": [dense, resized(3, 5, method="nearest"), relu, conv, relu, flat, out],
        "sequence_finer": [line, relu, resized(8), line, relu, mean, out],
        "image_slices": [conv, relu, taken(slice(1, None), slice(None, None, -2)), conv, relu, mean, out],
        "image_row": [conv, relu, taken(1), line, relu, flat, out],
        "image_column": [conv, taken(..., 2, slice(None)), relu, line, relu, mean, out],
        "image_one": [conv, relu, taken(2, -1), dense, relu, out],
        "sequence_last": [line, taken(-1), relu, out],
    }
    branches = stax.parallel(stax.Identity(), stax.serial(relu, conv))
    residual = stax.serial(stax.FanOut(2), branches, stax.FanInSum())
    found["image_together"] = [
        conv,
        relu,
        transposed((2, 2), (2, 1)),
        residual,
        taken(slice(None, -1)),
        resized(5, 5),
        relu,
        stax.AvgPool((2, 2)),
        conv,
        relu,
        mean,
        out,
    ]
    return {name: stax.serial(*layers) for name, layers in found.items()}


def main() -> None:
    """Write both kernels of every network, in float64."""
    jax.config.update("jax_enable_x64", True)
    points, numbers = {"image": images(), "sequence": sequences()}, {}
    for name, (_, _, kernel) in networks().items():
        x = points[name.partition("_")[0]]
        found = kernel(x, x, ("nngp", "ntk"))
        numbers[name] = {face: np.asarray(getattr(found, face)).tolist() for face in ("nngp", "ntk")}
    file = pathlib.Path(__file__).parent / "neural_tangents_resample.json"
    held = {"points": {name: x.tolist() for name, x in points.items()}, "kernels": numbers}
    file.write_text(json.dumps(held) + "\n")


if __name__ == "__main__":
    main()
