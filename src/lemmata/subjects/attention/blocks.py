"""Block attention: a comparison of the gathered computation with masked attention, and the cost of block attention.

Each of n queries attends to the keys of its own block and of the k - 1 earlier blocks with the highest router scores.
The score of a block is the scalar product of the query with the mean of the block's keys. The gathered computation
sorts pairs of a query and a block by block, works on dense tiles, and merges partial results by their maxima and sums.
It never forms an n x n array. This theory describes its result and its number of pairs of a query and a key. It does
not treat running times on an accelerator, where small blocks are slow, or the quality of a model with few blocks.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.subjects.attention import attended_pairs, block_attention

ABOUT = {"tool": "linear algebra", "architecture": "attention", "object": "cost"}


class TokenRows(eqx.Module):
    """A sequence for block attention.

    Args:
        q: the queries, one in each row.
        k: the keys, one in each row.
        v: the values, one in each row.
        block: the number of keys in a block.
        count: the number of blocks to which a query attends.
    """

    q: Float[Array, "n d"]
    k: Float[Array, "n d"]
    v: Float[Array, "n e"]
    block: int = eqx.field(static=True)
    count: int = eqx.field(static=True)


class TokenSequences(Population[TokenRows]):
    """Normal queries, keys and values, whose scores have unit variance after division by sqrt d."""

    free = ("q", "k", "v")
    settings = Space(
        n=Integer(37, 2, 400, "positions", corners=(25, 45)),
        d=Integer(4, 1, 128, "dimension", corners=(3, 6)),
        block=Integer(5, 1, 128, "keys of a block", corners=(4, 8)),
        count=Integer(3, 1, 64, "blocks that a query attends", corners=(2, 3)),
    ).where("some blocks are left out", lambda s: s["count"] * s["block"] < s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> TokenRows:
        q, k, v = jax.random.normal(key, (3, setting["n"], setting["d"]))
        return TokenRows(q, k, v, setting["block"], setting["count"])

    def hypotheses(self, problem: TokenRows) -> list[Hypothesis]:
        n = len(problem.q)
        return [
            Hypothesis("attended blocks", problem.count, ">=", 1, "a query attends its own block"),
            Hypothesis(
                "keys of the attended blocks", problem.count * problem.block, "<", n, "otherwise attention is dense"
            ),
        ]


_KEY = "xiao2025moba"
_TILE = 4


def reach(problem: TokenRows, count: int) -> Bool[Array, "n n"]:
    """Return a mask of attended keys. An earlier block is attended if its score is among the count - 1 largest."""
    q, k, block, n = problem.q, problem.k, problem.block, len(problem.q)
    starts = np.arange(0, n, block)
    scores = q @ (jnp.asarray(starts[:, None] // block == np.arange(n) // block, float) @ k).T
    scores = scores / np.minimum(block, n - starts)
    own = np.arange(n)[:, None] // block
    earlier = np.arange(len(starts)) < own
    above = (scores[:, None, :] > scores[:, :, None]) & earlier[:, None, :]
    taken = (earlier & (above.sum(axis=2) < count - 1)) | (np.arange(len(starts)) == own)
    return jnp.repeat(taken, block, axis=1)[:, :n] & np.tri(n, dtype=bool)


def _masked(problem: TokenRows, count: int) -> Array:
    """Compute softmax attention over all pairs of a query and a key, with the mask `reach`."""
    scores = problem.q @ problem.k.T / problem.q.shape[1] ** 0.5
    weights = jnp.where(reach(problem, count), jnp.exp(scores), 0.0)
    return weights @ problem.v / weights.sum(axis=1, keepdims=True)


class GatheredAttentionIsMasked(Claim[TokenRows]):
    """Let a sequence of any length have queries q_i, keys k_j and values v_j, with keys of dimension d. For query i,
    select the block that contains position i, and the k - 1 earlier blocks whose mean keys have the largest scalar
    products with q_i. Take the keys j <= i of these k blocks. For query i, masked softmax attention gives the mean of
    the values v_j of these keys, with weights proportional to exp(q_i . k_j / sqrt d). The gathered computation sorts
    the queries by block, cuts the sorted queries into tiles, and merges partial results by maxima and sums. The
    gathered computation gives the same output rows as masked attention.
    """

    title = "Gathered block attention, computed in tiles of sorted queries, equals attention with a mask"
    source = Source(_KEY, "Abstract, kernel")
    population = TokenSequences()
    relation = Equal(block=-1)
    control = Control("attention to one fewer block", lambda rows, problem: _masked(problem, problem.count - 1))
    controls = "the rows of block attention"
    unexplained = "running times on an accelerator"

    def predict(self, problem: TokenRows) -> Array:
        return _masked(problem, problem.count)

    def measure(self, problem: TokenRows, key: Key[Array, ""]) -> Array:
        """Compute the output rows by the gathered computation, in tiles."""
        return block_attention(problem.q, problem.k, problem.v, block=problem.block, count=problem.count, tile=_TILE)


class PairsOfBlockAttention(Claim[TokenRows]):
    """Let causal block attention over n keys use blocks of B keys, and let each query attend to k blocks. Let s_b be
    the number of keys in block b. This number is B, except in the last block, which may have fewer keys. The number of
    pairs of a query and a key is

        sum over blocks b = 0, 1, ... of s_b min(k - 1, b) B + s_b (s_b + 1)/2.

    This number is at most k B n, while dense causal attention has n (n + 1)/2 pairs.
    """

    title = "Causal block attention of n queries to k blocks of B keys uses at most k B n query-key pairs"
    source = Source(_KEY, "Abstract, block attention")
    population = TokenSequences()
    relation = Equal()
    control = Control("k whole blocks for each query", lambda pairs, problem: _whole(problem))
    controls = "the number of pairs of queries and keys"
    unexplained = "the n²/B scores of blocks, the memory, and the running time"

    def predict(self, problem: TokenRows) -> Array:
        return jnp.asarray(float(attended_pairs(len(problem.q), problem.block, problem.count)))

    def measure(self, problem: TokenRows, key: Key[Array, ""]) -> Array:
        """Count the attention weights that are not 0. With the unit vectors as values, the outputs are the weights."""
        rows = lambda v: block_attention(problem.q, problem.k, v, block=problem.block, count=problem.count, tile=_TILE)
        n = len(problem.q)
        return jnp.sum(rows(jnp.eye(n)) > 0).astype(float)


def _whole(problem: TokenRows) -> Array:
    return jnp.asarray(float(problem.count * problem.block * len(problem.q)))
