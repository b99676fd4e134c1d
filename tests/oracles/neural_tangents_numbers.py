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


def images() -> np.ndarray:
    """Three images of 5 x 4 positions and 2 channels."""
    return np.sin(np.arange(1.0, 121.0) ** 2).reshape(3, 5, 4, 2)


def sequences() -> np.ndarray:
    """Three sequences of 6 positions and 4 channels."""
    return np.sin(np.arange(3.0, 75.0) ** 2).reshape(3, 6, 4)


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
    found["relu_without_bias_10"] = stax.serial(*([dense(512, "ntk", None), stax.Relu()] * 10), dense(1, "ntk", None))
    return found


def convolution(window=(3, 3), strides=None, padding="SAME", parameterization="ntk", dilation=None, layer=stax.Conv):
    """A convolution to 512 channels."""
    own = {} if dilation is None else {"rhs_dilation": dilation}
    if layer is stax.Conv:
        own["parameterization"] = parameterization
    return layer(512, window, strides, padding, W_std=STD, b_std=BIAS, **own)


def attention(mechanism: str, linear: bool, **options):
    """Self-attention over a sequence."""
    return stax.GlobalSelfAttention(
        512, 512, 512, 8, linear, 1.1, 0.9, 1.2, 1.3, BIAS, attention_mechanism=mechanism, **options
    )


def field_networks() -> dict:
    """Networks on images and on sequences, by name."""
    relu, out = stax.Relu(), dense(1, "ntk")
    conv, flat, mean = convolution(), stax.Flatten(), stax.GlobalAvgPool()
    found = {
        "image_flatten": [conv, relu, conv, relu, flat, out],
        "image_mean": [conv, relu, conv, relu, mean, out],
        "image_sum": [conv, stax.Erf(), stax.GlobalSumPool(), out],
        "image_valid": [convolution((2, 3), (2, 1), "VALID"), relu, mean, out],
        "image_strided": [convolution((3, 2), (2, 2), "SAME"), relu, conv, relu, flat, out],
        "image_circular": [convolution(padding="CIRCULAR"), relu, convolution(padding="CIRCULAR"), relu, mean, out],
        "image_standard": [
            convolution(parameterization="standard"),
            relu,
            convolution(parameterization="standard"),
            relu,
            mean,
            dense(1, "standard"),
        ],
        "image_local": [convolution(layer=stax.ConvLocal), relu, conv, relu, mean, out],
        "image_pool": [conv, relu, stax.AvgPool((2, 2), (2, 2)), conv, relu, flat, out],
        "image_pool_same": [conv, relu, stax.AvgPool((2, 3), (1, 2), "SAME"), conv, relu, mean, out],
        "image_sum_pool": [conv, stax.Gelu(), stax.SumPool((2, 2), (1, 1)), conv, relu, mean, out],
        "image_norm": [conv, stax.LayerNorm(axis=-1), relu, conv, relu, mean, out],
        "image_dense": [dense(512, "ntk"), relu, conv, relu, mean, dense(512, "ntk"), relu, out],
        "sequence_mean": [convolution((3,)), relu, convolution((2,)), relu, mean, out],
    }
    block = stax.serial(relu, conv)
    residual = stax.serial(stax.FanOut(2), stax.parallel(stax.Identity(), block), stax.FanInSum())
    found["image_residual"] = [conv, residual, relu, stax.AvgPool((2, 2)), convolution((2, 2)), relu, flat, out]
    for mechanism in ("SOFTMAX", "IDENTITY", "RELU"):
        found[f"sequence_attention_{mechanism.lower()}_linear"] = [
            convolution((3,)),
            relu,
            attention(mechanism, True),
            relu,
            mean,
            out,
        ]
    found["sequence_attention_identity_root"] = [convolution((3,)), relu, attention("IDENTITY", False), relu, mean, out]
    found["sequence_attention_flatten"] = [attention("SOFTMAX", True), relu, flat, out]
    for kind in ("SUM", "CONCAT"):
        found[f"sequence_attention_positions_{kind.lower()}"] = [
            attention("SOFTMAX", True, pos_emb_type=kind, W_pos_emb_std=0.7),
            relu,
            mean,
            out,
        ]
    return {name: stax.serial(*layers) for name, layers in found.items()}


def main() -> None:
    """Write both kernels of every network, in float64."""
    jax.config.update("jax_enable_x64", True)
    x, numbers = points(), {}
    for name, (_, _, kernel) in networks().items():
        found = kernel(x, x, ("nngp", "ntk"))
        numbers[name] = {face: np.asarray(getattr(found, face)).tolist() for face in ("nngp", "ntk")}
    for name, (_, _, kernel) in field_networks().items():
        inputs = images() if name.startswith("image") else sequences()
        found = kernel(inputs, inputs, ("nngp", "ntk"))
        numbers[name] = {face: np.asarray(getattr(found, face)).tolist() for face in ("nngp", "ntk")}
    file = pathlib.Path(__file__).parent / "neural_tangents.json"
    file.write_text(
        json.dumps(
            {"points": x.tolist(), "images": images().tolist(), "sequences": sequences().tolist(), "kernels": numbers}
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
