"""Writes neural_tangents.json: kernels of small networks by Neural Tangents 0.6.5, in an environment of its own.

    pip install jax==0.5.3 jaxlib==0.5.3 neural-tangents==0.6.5 tensorflow-cpu
    python tests/oracles/neural_tangents_numbers.py

The library itself never needs that environment: the numbers are committed.
"""

import json
import pathlib

import jax
import numpy as np
from neural_tangents import stax  # pyright: ignore[reportMissingImports]

STD, BIAS = 1.3, 0.4
ACTIVATIONS = {
    "relu": stax.Relu(),
    "leaky_relu": stax.LeakyRelu(0.2),
    "abs": stax.Abs(),
    "erf": stax.Erf(),
    "gelu": stax.Gelu(),
    "sin": stax.Sin(1.0, 1.2, 0.4),
    "cos": stax.Cos(1.0, 1.2, 0.0),
    "rbf": stax.Rbf(0.7),
    "exp": stax.Exp(1.0, 0.5),
    "gaussian": stax.Gaussian(1.0, -0.6),
    "monomial_3": stax.Monomial(3),
}


def points() -> np.ndarray:
    """Four points in three dimensions that need no generator."""
    return np.sin(np.arange(1.0, 13.0) ** 2).reshape(4, 3)


def dense(width: int, parameterization: str, bias: float | None = BIAS):
    """A fully connected layer."""
    return stax.Dense(width, W_std=STD, b_std=bias, parameterization=parameterization)


def networks() -> dict:
    """Networks by name: two hidden layers of each activation, and the structures."""
    found = {}
    for name, activation in ACTIVATIONS.items():
        for parameterization in ("ntk", "standard"):
            layer = dense(512, parameterization)
            found[f"{name}_{parameterization}"] = stax.serial(
                layer, activation, layer, activation, dense(1, parameterization)
            )
    block = stax.serial(stax.Relu(), dense(512, "ntk"))
    residual = stax.serial(stax.FanOut(2), stax.parallel(stax.Identity(), block), stax.FanInSum())
    found["residual"] = stax.serial(dense(512, "ntk"), residual, residual, stax.Relu(), dense(1, "ntk"))
    found["layer_norm"] = stax.serial(dense(512, "ntk"), stax.LayerNorm(), stax.Relu(), dense(1, "ntk"))
    found["relu_without_bias_10"] = stax.serial(
        *([dense(512, "ntk", None), stax.Relu()] * 10), dense(1, "ntk", None)
    )
    return found


def main() -> None:
    """Write both kernels of every network, in float64."""
    jax.config.update("jax_enable_x64", True)
    x, numbers = points(), {}
    for name, (_, _, kernel) in networks().items():
        found = kernel(x, x, ("nngp", "ntk"))
        numbers[name] = {face: np.asarray(getattr(found, face)).tolist() for face in ("nngp", "ntk")}
    file = pathlib.Path(__file__).parent / "neural_tangents.json"
    file.write_text(json.dumps({"points": x.tolist(), "kernels": numbers}, indent=1) + "\n")


if __name__ == "__main__":
    main()
