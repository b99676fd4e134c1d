"""Sizes that the penalty of the theory of in-context learning depends on."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

from ._theorem_sizes import penalty_of_theory


class Scales(eqx.Module):
    """The sizes that the penalty depends on.

    Args:
        cost: C_F.
        noise: sigma.
        discretisation: epsilon_dis.
        examples: N.
        layers: L.
        number: n.
    """

    cost: Float[Array, ""]
    noise: Float[Array, ""]
    discretisation: Float[Array, ""]
    examples: int = eqx.field(static=True)
    layers: int = eqx.field(static=True)
    number: int = eqx.field(static=True)

    @property
    def order(self) -> Float[Array, ""]:
        """H = sqrt(log N/N)."""
        return jnp.sqrt(jnp.log(self.examples) / self.examples)

    @property
    def accuracy(self) -> Float[Array, ""]:
        """E = h C_F (C_F + sigma) + epsilon_dis² + n C_F²/L (li2025incontext, equation 58c)."""
        product = self.order * self.cost * (self.cost + self.noise)
        return product + self.discretisation**2 + self.number * self.cost**2 / self.layers

    def penalty(self) -> Float[Array, ""]:
        """Lambda with the constant 1."""
        sizes = {"examples": self.examples, "layers": self.layers, "number": self.number}
        return penalty_of_theory(self.cost, self.noise, self.discretisation, **sizes)


class LognormalScales(Population[Scales]):
    """Lognormal C_F; sigma and epsilon_dis a hundredth of it in the median."""

    free = ("cost",)

    def settings(self) -> Space:
        """Sizes of the prompt and the transformer."""
        examples, layers = Integer(64, 4, 10**6, "examples"), Integer(10_001, 3, 10**9, "layers")
        return Space(N=examples, L=layers, n=Integer(16, 1, 10**6, "features"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Scales:
        """Independent numbers."""
        cost, noise, misfit = jnp.exp(jax.random.normal(key, (3,)))
        return Scales(cost, cost * noise / 100, cost * misfit / 100, setting["N"], setting["L"], setting["n"])

    def hypotheses(self, problem: Scales) -> list[Hypothesis]:
        """A class that is not {0}."""
        return [Hypothesis("C_F is positive", problem.cost, ">", 0.0, "its powers")]
