"""Writes neural_tangents_pointwise.json: kernels of small networks with six activations by Neural Tangents 0.6.5.

    pip install jax==0.5.3 jaxlib==0.5.3 neural-tangents==0.6.5 tensorflow-cpu
    python -m tests.oracles.neural_tangents_pointwise_numbers

in an environment of its own, at the root of the repository.
"""

import json
import pathlib

import jax
import numpy as np
from neural_tangents import stax  # pyright: ignore[reportMissingImports]

from .neural_tangents_numbers import convolution, dense, images, points

ACTIVATIONS = {
    "sign": stax.Sign(),
    "polynomial": stax.Polynomial([0.3, -0.5, 0.2, 0.1]),
    "gabor": stax.Gabor(),
    "exp_normalized": stax.ExpNormalized(),
    "exp_normalized_shifted": stax.ExpNormalized(0.7, -0.4),
    "ab_relu": stax.ABRelu(-0.4, 1.3),
}


def networks() -> dict:
    """Two hidden layers of each activation in each parameterisation, by name."""
    found = {}
    for name, activation in ACTIVATIONS.items():
        for kind in ("ntk", "standard"):
            layer = dense(512, kind)
            found[f"{name}-{kind}"] = stax.serial(layer, activation, layer, activation, dense(1, kind))
    block = stax.serial(stax.ABRelu(-0.4, 1.3), dense(512, "ntk"))
    residual = stax.serial(stax.FanOut(2), stax.parallel(stax.Identity(), block), stax.FanInSum())
    found["residual-ntk"] = stax.serial(dense(512, "ntk"), residual, stax.LayerNorm(), stax.Gabor(), dense(1, "ntk"))
    return found


def field_networks() -> dict:
    """The same behind convolutions of images."""
    conv, out = convolution(), dense(1, "ntk")
    return {
        "image_mean": stax.serial(conv, stax.Gabor(), conv, stax.ABRelu(-0.4, 1.3), stax.GlobalAvgPool(), out),
        "image_flatten": stax.serial(conv, stax.ExpNormalized(), conv, stax.Sign(), stax.Flatten(), out),
    }


def others() -> np.ndarray:
    """Twelve more points in three dimensions."""
    return np.sin(np.arange(3.0, 39.0) ** 2).reshape(12, 3)


def rectified(degree: int) -> dict[str, np.ndarray]:
    """One hidden layer of a rectified monomial and a readout, between the points and the others.

    That library's variances after RectifiedMonomial are NaN, as some covariances of equal points are: no second layer
    can follow.
    """
    network = stax.serial(dense(512, "ntk"), stax.RectifiedMonomial(degree), dense(1, "ntk"))
    found = network[2](points(), others(), ("nngp", "ntk"))
    return {face: np.asarray(getattr(found, face)) for face in ("nngp", "ntk")}


def main() -> None:
    """Write both kernels of every network, in float64."""
    jax.config.update("jax_enable_x64", True)
    numbers = {}
    for inputs, found in ((points(), networks()), (images(), field_networks())):
        for name, (_, _, kernel) in found.items():
            pair = kernel(inputs, inputs, ("nngp", "ntk"))
            numbers[name] = {face: np.asarray(getattr(pair, face)).tolist() for face in ("nngp", "ntk")}
    cross = {
        str(degree): {face: matrix.tolist() for face, matrix in rectified(degree).items()} for degree in (0, 1, 2, 5)
    }
    inputs = {name: made().tolist() for name, made in (("points", points), ("others", others), ("images", images))}
    file = pathlib.Path(__file__).parent / "neural_tangents_pointwise.json"
    file.write_text(json.dumps({**inputs, "kernels": numbers, "rectified": cross}) + "\n")


if __name__ == "__main__":
    main()
