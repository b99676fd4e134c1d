"""Functions on [-1, 1] as integrals of ramps, by quadrature that is exact for pieces of straight lines."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .features import ramp

_NODES = (-0.9061798459386640, -0.5384693101056831, 0.0, 0.5384693101056831, 0.9061798459386640)
_WEIGHTS = (0.2369268850561891, 0.4786286704993665, 0.5688888888888889, 0.4786286704993665, 0.2369268850561891)


def pieces(ends: Float[Array, " k"], panels: int = 1) -> tuple[Float[Array, " q"], Float[Array, " q"]]:
    """Nodes and weights of Gauss-Legendre quadrature with five points on each part of each interval between the ends.

    Args:
        ends: ends of intervals, in any order.
        panels: equal parts of each interval.
    """
    ends = jnp.sort(ends)
    lengths = jnp.diff(ends) / panels
    starts = ends[:-1, None] + lengths[:, None] * jnp.arange(panels)
    half = (lengths / 2)[:, None, None]
    nodes = starts[..., None] + half * (1 + jnp.asarray(_NODES))
    return nodes.reshape(-1), jnp.broadcast_to(half * jnp.asarray(_WEIGHTS), nodes.shape).reshape(-1)


class Line(eqx.Module):
    """A function on [-1, 1] that is linear between equally spaced knots.

    Args:
        start: g(-1).
        slopes: its slopes, from left to right.
        sharpness: tau of the ramps that represent it.
    """

    start: Float[Array, ""]
    slopes: Float[Array, " k"]
    sharpness: Float[Array, ""]

    @property
    def knots(self) -> Float[Array, " k1"]:
        """Ends of its pieces."""
        return jnp.linspace(-1.0, 1.0, len(self.slopes) + 1)

    def __call__(self, z: Float[Array, " m"]) -> Float[Array, " m"]:
        """g."""
        inside = jnp.clip(z[:, None] - self.knots[:-1], 0.0, 2 / len(self.slopes))
        return self.start + inside @ self.slopes

    def density(self, t: Float[Array, " q"]) -> Float[Array, " q"]:
        """gamma: g' on [-1, 1], and sign g(-1) on an interval of length |g(-1)| below (li2025incontext, 82)."""
        index = jnp.searchsorted(self.knots, t, side="right") - 1
        inner = jnp.where(t < 1, self.slopes[jnp.clip(index, 0, len(self.slopes) - 1)], 0.0)
        return jnp.where(t >= -1, inner, jnp.where(t >= -1 - jnp.abs(self.start), jnp.sign(self.start), 0.0))

    @property
    def ends(self) -> Float[Array, " e"]:
        """Where the density jumps, and the ends of [-2, 1]."""
        return jnp.concatenate([self.knots, jnp.stack([-1 - jnp.abs(self.start), jnp.asarray(-2.0)])])

    def represented(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """The integral of gamma(t) phi(tau (z - t)) over [-2, 1]."""
        kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / self.sharpness, -2.0, 1.0)
        nodes, weights = pieces(jnp.concatenate([self.ends, kinks]))
        return weights @ (self.density(nodes) * ramp(self.sharpness * (z - nodes)))
