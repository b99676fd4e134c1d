"""Two points under noise: the law whose score is a hyperbolic tangent, and what may be asked of it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class TwoPoints(eqx.Module):
    """x0 is m or -m with equal probability, z = x0 + sigma xi with xi standard normal.

    Args:
        m: half of the distance between the points.
        variance: sigma².
        order: how many derivatives a seminorm takes.
    """

    m: Float[Array, ""]
    variance: Float[Array, ""]
    order: int = eqx.field(static=True, default=1)

    @property
    def steepness(self) -> Float[Array, ""]:
        """The steepness a = m/sigma² of the score's step."""
        return self.m / self.variance

    def log_density(self, z: Float[Array, ""], variance: Float[Array, ""] | float | None = None) -> Float[Array, ""]:
        """The logarithm of the density at z, up to a constant.

        Args:
            z: the place.
            variance: another sigma² than the problem's.
        """
        spread = self.variance if variance is None else variance
        return logsumexp(-((z - jnp.stack([self.m, -self.m])) ** 2) / (2 * spread))

    def excess(self, z: Float[Array, " n"], variance: Float[Array, ""] | float | None = None) -> Float[Array, " n"]:
        """The score plus z/sigma², by differentiating `log_density`: what the score has beyond that of the noise.

        Args:
            z: the places.
            variance: another sigma² than the problem's.
        """
        spread = self.variance if variance is None else variance
        return jax.vmap(jax.grad(lambda x: self.log_density(x, spread)))(z) + z / spread


class TwoPointLaws(Population[TwoPoints]):
    """Pairs of points at random distances, and noise for a steepness about the setting's."""

    def settings(self) -> Space:
        """The steepness of the score, and the order of a seminorm."""
        return Space(
            steepness=Real(6.0, 2.0, 20.0, "half of the distance over the variance of the noise"),
            order=Integer(1, 1, 3, "derivatives in a seminorm"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoPoints:
        """Half distances m from 0.5 to 2, the steepness from 0.8 to 1.25 times the setting's."""
        place, steep = jax.random.uniform(key, (2,))
        m = 0.5 * 4**place
        return TwoPoints(m, m / (setting["steepness"] * 0.8 * 1.5625**steep), setting["order"])

    def hypotheses(self, problem: TwoPoints) -> list[Hypothesis]:
        """Two points, and noise."""
        return [
            Hypothesis("there are two points (half of their distance)", problem.m, ">", 0.0, "a score with a step"),
            Hypothesis("noise is added (variance)", problem.variance, ">", 0.0, "a density with a score"),
        ]
