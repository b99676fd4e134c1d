"""Families of laws that are shifts of one normal law, learned from draws."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class ShiftedNormal(eqx.Module):
    """The normal law N(shift, sigma²), sigma known, the shift to be learned from n draws.

    Args:
        shift: theta.
        sigma: the known standard deviation.
        n: draws.
    """

    shift: Float[Array, ""]
    sigma: Float[Array, ""]
    n: int = eqx.field(static=True)

    def fitted(self, key: Key[Array, ""], n: int, repeats: int) -> Float[Array, " r"]:
        """Means of n draws, the best estimates of the shift, of as many samples as `repeats`."""
        return self.shift + self.sigma * jax.random.normal(key, (repeats, n)).mean(axis=1)

    def quantiles(self, shift: Float[Array, ""], count: int) -> Float[Array, " q"]:
        """Quantiles of the law of that shift at the middles of `count` even shares of probability.

        Args:
            shift: in the place of theta.
            count: how many.
        """
        return shift + self.sigma * jax.scipy.stats.norm.ppf((jnp.arange(count) + 0.5) / count)


class ShiftedNormals(Population[ShiftedNormal]):
    """Random shifts and standard deviations."""

    def settings(self) -> Space:
        """Draws."""
        return Space(n=Integer(64, 2, 1024, "draws"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ShiftedNormal:
        """A shift of standard deviation 3, sigma from 0.5 to 2."""
        shift_key, spread_key = jax.random.split(key)
        sigma = 0.5 * 4 ** jax.random.uniform(spread_key)
        return ShiftedNormal(3 * jax.random.normal(shift_key), sigma, setting["n"])

    def hypotheses(self, problem: ShiftedNormal) -> list[Hypothesis]:
        """A normal law."""
        return [Hypothesis("the law has a density (sigma)", problem.sigma, ">", 0.0, "a location family")]
