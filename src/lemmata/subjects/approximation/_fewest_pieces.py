"""The fewest affine pieces that fit a smooth function within a tolerance."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Curve = Callable[[Float[Array, "..."]], Float[Array, "..."]]

_POINTS, _SLOPES, _HALVINGS = 33, 14, 18


def line_error(f: Curve, low: Array, high: Array) -> Array:
    """Return the largest error of the best line on [low, high], measured at 33 points.

    This error is half the range of f - slope x, and the range is convex in the slope. If the largest value of f - slope
    x lies to the right of its smallest value, the best slope is larger than this slope, and otherwise smaller.
    """
    x = low + (high - low) * jnp.linspace(0.0, 1.0, _POINTS)
    y = f(x)
    slopes = jnp.diff(y) / jnp.diff(x)

    def halve(_, ends):
        middle = (ends[0] + ends[1]) / 2
        rest = y - middle * x
        small = jnp.argmax(rest) > jnp.argmin(rest)
        return jnp.where(small, middle, ends[0]), jnp.where(small, ends[1], middle)

    ends = jax.lax.fori_loop(0, _SLOPES, halve, (slopes.min(), slopes.max()))
    rest = y - (ends[0] + ends[1]) / 2 * x
    return (rest.max() - rest.min()) / 2


def pieces_needed(f: Curve, tolerance: Array, end: float, most: int) -> Array:
    """Return the smallest number of affine pieces that fit f on [0, end] within the tolerance, but at most `most`.

    The error of the best line grows with its interval. The function therefore goes from left to right and makes each
    piece as long as possible.
    """

    def further(state):
        start, count = state
        last = jnp.asarray(float(end))

        def halve(_, ends):
            middle = (ends[0] + ends[1]) / 2
            fits = line_error(f, start, middle) <= tolerance
            return jnp.where(fits, middle, ends[0]), jnp.where(fits, ends[1], middle)

        reached = jax.lax.fori_loop(0, _HALVINGS, halve, (start, last))[0]
        return jnp.where(line_error(f, start, last) <= tolerance, last, reached), count + 1

    going = lambda state: (state[0] < end) & (state[1] < most)
    return jax.lax.while_loop(going, further, (jnp.asarray(0.0), jnp.asarray(0)))[1].astype(float)


def least_error(f: Curve, pieces: int) -> Array:
    """Return the smallest possible maximum error when `pieces` affine pieces fit f on [0, 1]."""
    whole = line_error(f, jnp.asarray(0.0), jnp.asarray(1.0))

    def halve(_, ends):
        middle = jnp.sqrt(ends[0] * ends[1])
        enough = pieces_needed(f, middle, 1.0, pieces + 1) <= pieces
        return jnp.where(enough, ends[0], middle), jnp.where(enough, middle, ends[1])

    return jax.lax.fori_loop(0, _HALVINGS, halve, (whole * 1e-5, whole))[1]
