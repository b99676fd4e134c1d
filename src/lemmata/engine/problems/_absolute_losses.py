"""Convex stochastic losses with kinks: the absolute value of one coordinate, drawn at random."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class AbsoluteLosses(eqx.Module):
    """Losses |x_j - optimum_j|, j uniform, from x = 0, with interpolation `beta`, for a number of steps."""

    optimum: Float[Array, " d"]
    beta: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def risk(self, at: Float[Array, " d"]) -> Float[Array, ""]:
        """The expected loss: 0 at the optimum alone."""
        return jnp.abs(at - self.optimum).mean()


class AbsoluteDescents(Population[AbsoluteLosses]):
    """An optimum of norm 1 with coordinates of nearly one size; beta near 0 in half of the problems, else any."""

    def settings(self) -> Space:
        """Dimension, steps."""
        return Space(d=Integer(50, 2, 500, "coordinates", corners=(40, 60)), steps=Integer(400, 10, 10_000, "steps"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> AbsoluteLosses:
        """Signs and sizes between 0.8 and 1.2, normalised."""
        one, two, three = jax.random.split(key, 3)
        d = setting["d"]
        drawn = jax.random.uniform(one, (d,), minval=0.8, maxval=1.2) * jax.random.rademacher(two, (d,), jnp.float64)
        u = jax.random.uniform(three, (2,))
        beta = jnp.where(u[0] < 0.5, 0.05 + 0.1 * u[1], 0.1 + 0.85 * u[1])
        return AbsoluteLosses(drawn / jnp.linalg.norm(drawn), beta, setting["steps"])

    def hypotheses(self, problem: AbsoluteLosses) -> list[Hypothesis]:
        """An interpolation between the two sequences."""
        return [Hypothesis("beta is at most 1", problem.beta, "<=", 1.0, "gradients are taken between z and x")]
