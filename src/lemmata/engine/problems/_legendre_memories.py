"""Legendre memories: a number of states, a signal, and how much of it has been seen."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

from ._sampled import draws


class LegendreMemory(eqx.Module):
    """The signal u(x) = sum_j a_j cos(w_j x + p_j) on [0, t], and a vector of as many entries as states.

    Args:
        waves: the rows a, w, p.
        time: t.
        probe: any vector.
    """

    waves: Float[Array, "3 waves"]
    time: Float[Array, ""]
    probe: Float[Array, " n"]

    @property
    def states(self) -> int:
        """N."""
        return len(self.probe)

    def u(self, time: Float[Array, " k"]) -> Float[Array, " k"]:
        """The signal."""
        size, frequency, phase = self.waves
        return jnp.sum(size * jnp.cos(frequency * time[:, None] + phase), axis=1)


class LegendreMemories(Population[LegendreMemory]):
    """Three waves of some turns, seen for a time around 1."""

    def settings(self) -> Space:
        """States."""
        return Space(states=Integer(12, 1, 24, "states", corners=(6, 6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LegendreMemory:
        """Normal amplitudes and probe, frequencies below 6."""
        waves, rest, probe = draws(key, (3, 3), (), (setting["states"],))
        spread = jnp.stack([waves[0], 3 + 3 * jnp.tanh(waves[1]), jnp.pi * jnp.tanh(waves[2])])
        return LegendreMemory(spread, jnp.exp(0.3 * rest), probe)

    def hypotheses(self, problem: LegendreMemory) -> list[Hypothesis]:
        """A past to remember."""
        return [Hypothesis("the time", problem.time, ">", 0.0, "at 0 nothing has been seen")]
