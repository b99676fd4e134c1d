"""Points, and networks of several widths whose parameters come from one draw of normal numbers."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Dense, Serial, Shape
from lemmata.problems._sampled import draws


def drawn_parameters(networks: Sequence[Serial], fan_in: Shape, key: Key[Array, ""], *batch: int) -> list[Any]:
    """The parameters of independent networks, as `init` draws them, from one call of the generator.

    All parameters have to be centred normal numbers: those of `Dense`, with the standard deviations of its
    parameterisation, and standard normal ones elsewhere.

    Args:
        networks: their architectures.
        fan_in: coordinates of the inputs, or the shape of a field.
        key: randomness.
        batch: leading axes of every array of parameters.
    """
    shapes = [jax.eval_shape(lambda key, own=network: own.init(key, fan_in)[0], key) for network in networks]
    leaves, tree = jax.tree.flatten(shapes)
    normal = draws(key, *(batch + leaf.shape for leaf in leaves))
    every = jax.tree.unflatten(tree, normal)
    return [_scaled(network, own) for network, own in zip(networks, every, strict=True)]


def _scaled(layer: Any, normal: Any) -> Any:
    if isinstance(layer, Serial):
        return tuple(map(_scaled, layer.layers, normal))
    if not isinstance(layer, Dense):
        return normal
    own = layer.scales(normal["weight"].shape[-1])
    deviations = {"weight": own.deviation, "bias": own.bias_deviation}
    return {name: deviations[name] * value for name, value in normal.items()}


def relative_distance(found: Float[Array, "n m"], limit: Float[Array, "n m"]) -> Float[Array, ""]:
    """|found - limit|_F / |limit|_F."""
    return jnp.linalg.norm(found - limit) / jnp.linalg.norm(limit)
