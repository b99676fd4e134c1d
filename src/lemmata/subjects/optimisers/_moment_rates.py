"""The gradients of one coordinate, and the decay rates of Adam's two moments."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class GradientHistory(eqx.Module):
    """The gradients of one coordinate, the oldest first, and the decay rates b1, b2 of Adam's moments."""

    gradients: Float[Array, " t"]
    b1: Float[Array, ""]
    b2: Float[Array, ""]

    @property
    def longest(self) -> Float[Array, " t"]:
        """The gradients (b1/b2)^age, for which Adam's last step is longest. The last gradient has age 0."""
        age = jnp.arange(len(self.gradients))[::-1]
        return (self.b1 / self.b2) ** age


class GradientHistories(Population[GradientHistory]):
    """Decay rates near the usual rates, and the gradients of the longest step times random factors around 1."""

    free = ("gradients",)
    settings = Space(steps=Integer(100, 2, 10_000, "steps"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GradientHistory:
        """Draw 1 - b1 from 0.03 to 0.3, 1 - b2 from 0.001 to 0.03, and noise of a random relative size."""
        one, two = jax.random.split(key)
        u = jax.random.uniform(one, (3,))
        b1, b2 = 1 - 0.03 * 10 ** u[0], 1 - 0.001 * 30 ** u[1]
        quiet = GradientHistory(jnp.ones(setting["steps"]), b1, b2)
        noise = jax.random.normal(two, (setting["steps"],))
        return GradientHistory(quiet.longest * (1 + 2 * jnp.maximum(u[2] - 0.3, 0.0) * noise), b1, b2)

    def hypotheses(self, problem: GradientHistory) -> list[Hypothesis]:
        return [
            Hypothesis(
                "b1² is below b2",
                problem.b1**2,
                "<",
                problem.b2,
                "then the supremum stays finite as the number of steps T grows",
            )
        ]
