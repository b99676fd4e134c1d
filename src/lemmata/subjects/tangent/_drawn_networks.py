"""Networks of several widths whose parameters come from one draw of normal numbers."""

import operator
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import (
    AbstractLayer,
    Attention,
    Concatenate,
    Dense,
    Embedding,
    Masked,
    Multiply,
    Parallel,
    PositionalEmbedding,
    Serial,
    Shape,
    StateSpace,
)
from lemmata.engine.problems.sampled import draws


def drawn_parameters(networks: Sequence[AbstractLayer], fan_in: Shape, key: Key[Array, ""], *batch: int) -> list[Any]:
    """Draw the parameters of independent networks, distributed as by `init`, with one call of the random generator.

    If the `deviations` of a layer are not known, the network is drawn by its `init`, which takes longer to compile.

    Args:
        networks: the architectures of the networks.
        fan_in: the number of coordinates of an input, or the shape of an input on a grid of positions.
        key: the random key.
        batch: the sizes of leading axes, along which several draws of every parameter are stacked.
    """
    shapes = [jax.eval_shape(lambda key, own=network: own.init(key, fan_in)[0], key) for network in networks]
    leaves, tree = jax.tree.flatten(shapes)
    every = jax.tree.unflatten(tree, draws(key, *(batch + leaf.shape for leaf in leaves)))
    drawn = []
    for number, (network, shape, normal) in enumerate(zip(networks, shapes, every, strict=True)):
        scale = deviations(network, shape)
        if scale is None:
            drawn.append(_by_init(network, fan_in, jax.random.fold_in(key, number), batch))
        else:
            drawn.append(jax.tree.map(operator.mul, scale, normal))
    return drawn


def _by_init(network: AbstractLayer, fan_in: Shape, key: Key[Array, ""], batch: tuple[int, ...]) -> Any:
    draw = lambda own: network.init(own, fan_in)[0]
    for _ in batch:
        draw = jax.vmap(draw)
    return draw(jax.random.split(key, batch) if batch else key)


@singledispatch
def deviations(layer: Any, params: Any) -> Any:
    """Return a tree with the standard deviation of each parameter, if `init` draws independent centred normals.

    Return None if the standard deviations are unknown, because a layer with parameters has no registered rule.

    Args:
        layer: the layer, or a container of layers.
        params: the layer's parameters, or their shapes.
    """
    return None if jax.tree.leaves(params) else params


@deviations.register
def _(layer: Dense, params: Any) -> Any:
    own = layer.scales(params["weight"].shape[-1])
    every = {"weight": own.deviation, "bias": own.bias_deviation}
    return {name: every[name] for name in params}


@deviations.register(Attention)
@deviations.register(Embedding)
@deviations.register(PositionalEmbedding)
def _(layer: Any, params: Any) -> Any:
    return jax.tree.map(lambda _: 1.0, params)


@deviations.register
def _(layer: StateSpace, params: Any) -> Any:
    # Poles that are trained start at given numbers.
    return None if layer.train_poles else jax.tree.map(lambda _: 1.0, params)


@deviations.register
def _(layer: Serial, params: Any) -> Any:
    return _of_parts(layer.layers, params)


@deviations.register(Concatenate)
@deviations.register(Multiply)
@deviations.register(Parallel)
def _(layer: Any, params: Any) -> Any:
    return _of_parts(layer.branches, params)


@deviations.register
def _(layer: Masked, params: Any) -> Any:
    return deviations(layer.network, params)


def _of_parts(layers: Sequence[AbstractLayer], params: Sequence[Any]) -> tuple[Any, ...] | None:
    parts = tuple(map(deviations, layers, params))
    return None if any(part is None for part in parts) else parts


def relative_distance(found: Float[Array, "n m"], limit: Float[Array, "n m"]) -> Float[Array, ""]:
    """Return |found - limit|_F / |limit|_F, the distance of a kernel matrix from its limit, relative to the limit."""
    return jnp.linalg.norm(found - limit) / jnp.linalg.norm(limit)
