"""A long sequence of inputs, some of which are marked."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._sampled import draws


class MarkedNoise(eqx.Module):
    """The law of white noise x_t that is marked independently with probability p.

    Args:
        chance: p.
        length: how many steps a draw has.
        window: how many of the last steps are looked at.
    """

    chance: Float[Array, ""]
    length: int = eqx.field(static=True)
    window: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> tuple[Float[Array, " t"], Float[Array, " t"]]:
        """Marks m, 0 or 1, and inputs x."""
        mark, noise = jax.random.normal(key, (2, self.length))
        return (jax.scipy.stats.norm.cdf(mark) < self.chance).astype(float), noise


class MarkedSequence(eqx.Module):
    """One draw of marked noise.

    Args:
        chance: p.
        marks: 0 or 1.
        x: the inputs.
    """

    chance: Float[Array, ""]
    marks: Float[Array, " t"]
    x: Float[Array, " t"]


class MarkedNoises(Population[MarkedNoise]):
    """Chances of a mark around a third."""

    def settings(self) -> Space:
        """Chance, length, window."""
        return Space(
            chance=Real(0.3, 0.05, 0.9, "chance of a mark", corners=(0.45, 0.45)),
            length=Integer(8000, 100, 10**6, "steps", corners=(8000, 8000)),
            window=Integer(10, 1, 100, "last steps looked at", corners=(8, 8)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarkedNoise:
        """The chance is moved by some per cent."""
        (normal,) = draws(key, ())
        return MarkedNoise(setting["chance"] * jnp.exp(0.1 * jnp.tanh(normal)), setting["length"], setting["window"])

    def hypotheses(self, problem: MarkedNoise) -> list[Hypothesis]:
        """A chance, and a window that holds all that matters."""
        left = (1 - problem.chance) ** (2 * problem.window)
        return [
            Hypothesis("the chance of a mark", problem.chance, "<", 1.0, "else every input is held"),
            Hypothesis("(1 - p)^(2 window)", left, "<=", 0.01, "what lies before the window explains no more"),
        ]


class MarkedSequences(Population[MarkedSequence]):
    """Draws of marked noise."""

    def settings(self) -> Space:
        """Chance, length."""
        return Space(
            chance=Real(0.3, 0.05, 0.9, "chance of a mark", corners=(0.15, 0.15)),
            length=Integer(100, 1, 10**4, "steps", corners=(50, 50)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarkedSequence:
        """One draw."""
        law = MarkedNoise(jnp.asarray(setting["chance"]), setting["length"], 1)
        return MarkedSequence(law.chance, *law.draw(key))

    def hypotheses(self, problem: MarkedSequence) -> list[Hypothesis]:
        """Marks are 0 or 1."""
        off = jnp.abs(problem.marks * (1 - problem.marks)).max()
        return [Hypothesis("largest m (1 - m)", off, "<=", 0.0, "an input is marked or not")]
