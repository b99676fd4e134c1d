"""The registry of layers that every law in `test_architectures.py` runs over: a new layer is one line here."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from lemmata.architectures import (
    AbstractLayer,
    Cos,
    Dense,
    Elementwise,
    Erf,
    Gelu,
    LeakyRelu,
    Relu,
    Serial,
    Sin,
    fully_connected,
)


class Activation(NamedTuple):
    """A layer without parameters, its function, and whether that is analytic (None: no closed form)."""

    name: str
    layer: AbstractLayer
    fn: Callable
    analytic: bool | None = True


ACTIVATIONS = [
    Activation("relu", Relu(), lambda u: jnp.maximum(u, 0.0), analytic=False),
    Activation("leaky", LeakyRelu(0.2), lambda u: jnp.where(u > 0, u, 0.2 * u), analytic=False),
    Activation("absolute", LeakyRelu(-1.0), jnp.abs, analytic=False),
    Activation("erf", Erf(), jax.scipy.special.erf),
    Activation("gelu", Gelu(), lambda u: u * jax.scipy.stats.norm.cdf(u)),
    Activation("sin", Sin(1.2, 0.4), lambda u: jnp.sin(1.2 * u + 0.4)),
    Activation("cos", Cos(1.2), lambda u: jnp.cos(1.2 * u)),
    Activation("cube", Elementwise(lambda u: u**3 / 3, degree=8), lambda u: u**3 / 3),
    Activation("tanh", Elementwise(jnp.tanh, degree=24), jnp.tanh, analytic=None),
]
PARAMETERIZATIONS = ("ntk", "standard")
DEPTHS = {"relu": (1, 2), "erf": (1, 2)}


class Case(NamedTuple):
    """A network by its width, and its number of hidden layers."""

    name: str
    depth: int
    network: Callable[[int], Serial]


def build(activation: Activation, depth: int, parameterization: str) -> Callable[[int], Serial]:
    return lambda width: fully_connected(
        activation.layer, depth, width, weight_std=1.1, bias_std=0.3, parameterization=parameterization
    )


NETWORKS = [
    Case(f"{activation.name}-{depth}-{parameterization}", depth, build(activation, depth, parameterization))
    for activation in ACTIVATIONS
    for parameterization in PARAMETERIZATIONS
    for depth in DEPTHS.get(activation.name, (1,))
]
# A push differs between parameterisations only in Dense: laws about its forms take one activation in the standard one.
FORMS = [case for case in NETWORKS if case.name.endswith("ntk") or case.name.startswith("relu")]
LAYERS = [Dense(1), Serial([]), *(activation.layer for activation in ACTIVATIONS)]
