"""Gauss-Legendre quadrature on intervals. The ends of the intervals may be values that JAX traces."""

import jax.numpy as jnp
from jaxtyping import Array, Float

_NODES = (-0.9061798459386640, -0.5384693101056831, 0.0, 0.5384693101056831, 0.9061798459386640)
_WEIGHTS = (0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665, 0.2369268850561891)


def pieces(ends: Float[Array, " k"], panels: int = 1) -> tuple[Float[Array, " q"], Float[Array, " q"]]:
    """Nodes and weights of Gauss-Legendre quadrature, with five points on each part of each interval between the ends.

    Args:
        ends: ends of intervals, in any order.
        panels: the number of equal parts of each interval.
    """
    ends = jnp.sort(ends)
    lengths = jnp.diff(ends) / panels
    starts = ends[:-1, None] + lengths[:, None] * jnp.arange(panels)
    half = (lengths / 2)[:, None, None]
    nodes = starts[..., None] + half * (1 + jnp.asarray(_NODES))
    return nodes.reshape(-1), jnp.broadcast_to(half * jnp.asarray(_WEIGHTS), nodes.shape).reshape(-1)
