"""Filters of a convolution of keys, a query, and an excess of one key along it."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class ConvolvedKey(eqx.Module):
    """Blocks of keys that are convolved before a query scores their means.

    Args:
        query: of unit length.
        filters: a weight for each step back and coordinate.
        excess: the relevant key is larger by this times the query.
        block: keys of a block.
        blocks: how many; their scores but the first one's see as many keys.
    """

    query: Float[Array, " d"]
    filters: Float[Array, "width d"]
    excess: Float[Array, ""]
    block: int = eqx.field(static=True)
    blocks: int = eqx.field(static=True)


class ConvolvedKeys(Population[ConvolvedKey]):
    """Positive filters that all coordinates share, plus normal ones of a random size that they do not."""

    free = ("query", "filters")

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            dimension=Integer(8, 2, 256, "dimension of keys", corners=(4, 16)),
            block=Integer(8, 4, 256, "keys of a block", corners=(6, 12)),
            width=Integer(3, 1, 5, "keys that a filter weighs", corners=(3, 5)),
        ).where("a filter does not reach beyond the block before", lambda s: s["width"] <= s["block"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> ConvolvedKey:
        """The excess is 1/2 to 2."""
        keys = jax.random.split(key, 4)
        d, width = setting["dimension"], setting["width"]
        query = jax.random.normal(keys[0], (d,))
        shared = jax.random.uniform(keys[1], (width, 1), minval=0.2)
        u, v = jax.random.uniform(keys[2], (2,))
        filters = shared + u * jax.random.normal(keys[3], (width, d))
        return ConvolvedKey(query / jnp.linalg.norm(query), filters, 0.5 + 1.5 * v, setting["block"], 5)

    def hypotheses(self, problem: ConvolvedKey) -> list[Hypothesis]:
        """A query of unit length, filters that are not 0, two blocks apart that see all keys they weigh."""
        return [
            Hypothesis("| |q| - 1 |", jnp.abs(jnp.linalg.norm(problem.query) - 1), "<", 1e-9, "a unit query"),
            Hypothesis("the filters' squared length", jnp.sum(problem.filters**2), ">", 0.0, "else all scores are 0"),
            Hypothesis("blocks", problem.blocks, ">=", 4, "the second and the last of them share no key"),
        ]
