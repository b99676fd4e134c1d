"""Queries, keys and values of a sequence whose length need be no multiple of a block."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class TokenRows(eqx.Module):
    """A sequence for block attention.

    Args:
        q: queries.
        k: keys.
        v: values.
        block: keys of a block.
        count: blocks that a query attends.
    """

    q: Float[Array, "n d"]
    k: Float[Array, "n d"]
    v: Float[Array, "n e"]
    block: int = eqx.field(static=True)
    count: int = eqx.field(static=True)


class TokenSequences(Population[TokenRows]):
    """Normal rows, scores of unit variance once divided by sqrt d."""

    free = ("q", "k", "v")

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            n=Integer(37, 2, 400, "positions", corners=(25, 45)),
            d=Integer(4, 1, 128, "dimension", corners=(3, 6)),
            block=Integer(5, 1, 128, "keys of a block", corners=(4, 8)),
            count=Integer(3, 1, 64, "blocks that a query attends", corners=(2, 3)),
        ).where("blocks are left out", lambda s: s["count"] * s["block"] < s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> TokenRows:
        """Queries, keys, values."""
        q, k, v = jax.random.normal(key, (3, setting["n"], setting["d"]))
        return TokenRows(q, k, v, setting["block"], setting["count"])

    def hypotheses(self, problem: TokenRows) -> list[Hypothesis]:
        """A choice, and one that leaves something out."""
        n = len(problem.q)
        return [
            Hypothesis("attended blocks", problem.count, ">=", 1, "a query attends its own block"),
            Hypothesis("their keys", problem.count * problem.block, "<", n, "else attention is dense"),
        ]
