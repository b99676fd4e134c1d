"""Functions on [-1, 1] as integrals of ramps, by quadrature that is exact for pieces of straight lines."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.functions import ramp

from ._gauss_legendre import pieces


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
