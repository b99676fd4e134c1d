"""Contexts in which names are followed by values, and stand again in the last block: associative recall."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class RecalledPairs(eqx.Module):
    """Tokens at random on the unit sphere; those of the last block are names that values follow earlier.

    Args:
        tokens: of each context.
        values: for each token of the last block the position of its value, which is before that block.
        block: keys of a block.
        count: blocks that a query attends.
    """

    tokens: Float[Array, "draws n d"]
    values: Int[Array, "draws block"]
    block: int = eqx.field(static=True)
    count: int = eqx.field(static=True)


class RecallContexts(Population[RecalledPairs]):
    """Contexts of whole blocks.

    Args:
        draws: contexts of a problem.
    """

    draws: int = eqx.field(default=24, static=True)

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            dimension=Integer(8, 6, 64, "dimension of tokens", corners=(7, 10)),
            block=Integer(4, 4, 32, "keys of a block", corners=(4, 5)),
            blocks=Integer(16, 6, 64, "blocks", corners=(14, 17)),
            count=Integer(4, 2, 32, "blocks that a query attends", corners=(3, 4)),
        ).where("blocks are left out", lambda s: 2 * s["count"] < s["blocks"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> RecalledPairs:
        """Tokens and places."""
        keys = jax.random.split(key)
        n, block = setting["blocks"] * setting["block"], setting["block"]
        tokens = jax.random.normal(keys[0], (self.draws, n, setting["dimension"]))
        tokens = tokens / jnp.linalg.norm(tokens, axis=2, keepdims=True)
        values = jax.random.randint(keys[1], (self.draws, block), 1, n - block)
        names = jnp.take_along_axis(tokens, values[:, :, None] - 1, axis=1)
        return RecalledPairs(tokens.at[:, -block:].set(names), values, block, setting["count"])

    def hypotheses(self, problem: RecalledPairs) -> list[Hypothesis]:
        """A value to route to."""
        n, block = problem.tokens.shape[1], problem.block
        return [
            Hypothesis("the last value's position", problem.values.max(), "<", n - block, "else it needs no router")
        ]
