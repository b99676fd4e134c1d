"""Random softmax lookups: a query, the right key for this query, and other keys."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space
from lemmata.engine.problems.variables import dimension, rows


class Lookup(eqx.Module):
    """A query and n keys. The first key is the right key.

    Args:
        query: the query q.
        keys: the keys k_1, ..., k_n.
        sharpness: the inverse temperature beta. The logits are beta <q, k_j>.
        missed: the largest allowed sum of the weights of the wrong keys.
    """

    query: Float[Array, " d"]
    keys: Float[Array, "n d"]
    sharpness: Float[Array, ""]
    missed: Float[Array, ""]

    @property
    def lead(self) -> Float[Array, ""]:
        """The lead of the right key: <q, k_1> minus the largest <q, k_j> of the other keys."""
        scores = self.keys @ self.query
        return scores[0] - jnp.max(scores[1:])


class Lookups(Population[Lookup]):
    """Random lookups. In half of them, all wrong keys have the same score <q, k_j>. In the others, scores differ."""

    settings = Space(n=rows(64, 3, 4096, corners=(32, 128)), d=dimension(8, 2, 64))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Lookup:
        n, d = setting["n"], setting["d"]
        query_key, key_key, score_key, tied_key, number_key = jax.random.split(key, 5)
        query = jax.random.normal(query_key, (d,))
        lead, times, missed = jax.random.uniform(number_key, (3,))
        lead, missed = 0.1 * 20**lead, 0.01 * 30**missed
        below = jnp.where(jax.random.bernoulli(tied_key), 0.0, jax.random.exponential(score_key, (n,)))
        scores = 1.0 - (lead + below).at[0].set(0.0)
        keys = jax.random.normal(key_key, (n, d))
        keys = keys + jnp.outer(scores - keys @ query, query) / jnp.sum(query**2)
        return Lookup(query, keys, (0.5 + times) * jnp.log(n) / lead, missed)

    def hypotheses(self, problem: Lookup) -> list[Hypothesis]:
        return [Hypothesis("the right key has the largest score", problem.lead, ">", 0.0)]


def first_weight(logits: Float[Array, " n"]) -> Float[Array, ""]:
    """Return the softmax weight of the first of n logits."""
    return jax.nn.softmax(logits)[0]
