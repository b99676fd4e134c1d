"""Checks of a network's kernel: the network, the shapes of points, and finite values."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError

from ._layer import AbstractLayer


def check_network(network: object) -> None:
    """Refuse anything that is not a layer."""
    if not isinstance(network, AbstractLayer):
        raise SettingError(
            "network", found=repr(network), rule="a layer (an AbstractLayer)", remedy="combine layers as Serial([...])"
        )


def check_pair(x: Array, y: Array) -> None:
    """Refuse two single points that differ in shape."""
    if jnp.ndim(x) < 1 or jnp.shape(x) != jnp.shape(y):
        rule = "two vectors of shape (d,), or two fields of shape (*sites, channels)"
        raise ShapeError("points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule=rule)
    check_sites(x[None])


def check_rows(x: Array, y: Array) -> None:
    """Refuse points that are not rows of equal shape."""
    if jnp.ndim(x) < 2 or jnp.ndim(x) != jnp.ndim(y) or x.shape[1:] != y.shape[1:]:
        rule = "shapes (n, d) and (m, d) with the same d, or fields (n, *sites, channels) on the same grid"
        raise ShapeError("points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule=rule)
    check_sites(x)


def check_sites(x: Array) -> None:
    """Refuse fields on a grid without positions."""
    if 0 in x.shape[1:-1]:
        rule = "fields with at least one position along each axis of their grid"
        raise ShapeError("points", found=f"shape {x.shape}", rule=rule)


def finite(values: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the values, or raise an error if they are not finite.

    If JAX traces the values, they are returned without this check, because traced code cannot raise an error.
    """
    try:
        known = bool(np.isfinite(np.asarray(values)).all())  # by NumPy, which needs no compilation
    except jax.errors.TracerArrayConversionError:
        return values
    if not known:
        raise SettingError(
            "kernel of the network",
            found="values that are not finite",
            rule="activations with finite moments, and finite inputs",
            remedy=(
                "use finite or smaller inputs, float64, or a smaller weight_std. If the function of Elementwise "
                "oscillates fast, grows like exp(u²/4), or has kinks or jumps away from 0, use a layer with a closed "
                "form: Relu, LeakyRelu, ABRelu, Sin, Cos, Polynomial"
            ),
        )
    return values
