"""Random sequences of tokens, and networks with one layer of attention on them."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Attention, Dense, GlobalAveragePool, Serial
from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Space


class AttentionTokens(eqx.Module):
    """Sequences of tokens, and two choices of an attention layer: the scale of its logits, and the map to weights.

    Args:
        x: the tokens, with axes for sequences, positions and channels.
        mechanism: the map from logits to weights: softmax, relu or identity.
        scaling: the factor of the logits, 1/d or 1/sqrt(d), where d is the width of a head.
    """

    x: Float[Array, "n t c"]
    mechanism: Literal["softmax", "relu", "identity"] = eqx.field(static=True)
    scaling: Literal["1/sqrt(d)", "1/d"] = eqx.field(static=True)

    def network(self, width: int = 8, heads: int = 2) -> Serial:
        """Return a network: a dense layer on every token, attention, the mean over positions, and a readout."""
        attention = Attention(width, heads, self.mechanism, scaling=self.scaling)
        return Serial([Dense(width), attention, GlobalAveragePool(), Dense(1)])

    def channels_attended(self) -> Serial:
        """Return a network without the dense layer on tokens: attention, the mean over positions, and a readout."""
        return Serial([Attention(8, 2, self.mechanism, scaling=self.scaling), GlobalAveragePool(), Dense(1)])


class AttentionSequences(Population[AttentionTokens]):
    """Normal tokens around a normal mean that all sequences share, so sequences are positively correlated.

    Attributes:
        sequences, channels: the default numbers of sequences and channels.
        mechanism, scaling: the mechanism and the scaling of the attention layer.
    """

    free = ("x",)
    sequences: int = 2
    channels: int = 5
    mechanism: str = "softmax"
    scaling: Literal["1/sqrt(d)", "1/d"] = "1/d"

    def settings(self) -> Space:
        return Space(
            n=Integer(self.sequences, 2, 64, "sequences", corners=(self.sequences, self.sequences + 2)),
            positions=Integer(3, 2, 16, "positions", corners=(2, 3)),
            channels=Integer(self.channels, 1, 64, "channels", corners=(self.channels - 1, self.channels + 1)),
            mechanism=Choice(self.mechanism, (self.mechanism,), "weights of attention"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttentionTokens:
        first, second = jax.random.split(key)
        common = jax.random.normal(first, (setting["channels"],))
        own = jax.random.normal(second, (setting["n"], setting["positions"], setting["channels"]))
        return AttentionTokens(0.7 * common + 0.5 * own, setting["mechanism"], self.scaling)

    def hypotheses(self, problem: AttentionTokens) -> list[Hypothesis]:
        return [Hypothesis("tokens are not zero", jnp.abs(problem.x).max(), ">", 0.0, "otherwise kernels are 0")]
