"""Sizes of layers on sequences."""

import equinox as eqx
import jax
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class SequenceLayer(eqx.Module):
    """A layer on sequences.

    Args:
        width: channels.
        length: positions.
    """

    width: int = eqx.field(static=True)
    length: int = eqx.field(static=True)


class SequenceLayers(Population[SequenceLayer]):
    """The largest number of channels or half of it, by a fair coin. Not for compiled trials."""

    def settings(self) -> Space:
        """The largest width; the length."""
        width = Integer(64, 16, 128, "the largest number of channels", step=16, corners=(32, 32))
        return Space(width=width, length=Integer(32, 8, 64, "positions", step=8, corners=(16, 16)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SequenceLayer:
        """One of two widths."""
        half = bool(jax.random.bernoulli(key))
        return SequenceLayer(setting["width"] // (2 if half else 1), setting["length"])

    def hypotheses(self, problem: SequenceLayer) -> list[Hypothesis]:
        """Channels and positions."""
        return [
            Hypothesis("channels", problem.width, ">=", 1, "sizes"),
            Hypothesis("positions", problem.length, ">=", 1, "sizes"),
        ]
