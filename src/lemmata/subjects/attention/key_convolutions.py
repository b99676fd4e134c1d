"""Convolutions of keys before a block router, and their effect on signal and noise.

A router scores a block by the scalar product of a query with the mean of the block's keys. A causal convolution of keys
is linear, and so is this mean. The score of a block of convolved keys is therefore a weighted sum of products with the
original keys. Some of these keys lie before the block. Signal and noise have the same weights. This theory describes a
router with given filters. It does not treat filters that are trained together with queries and keys, or the effect of
an activation on keys of large norm. It also does not say what attention to single keys gains if a key contains
information on earlier keys. Associative recall shows that such keys can replace a whole layer.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import betainc, ndtr

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Order,
    Population,
    Source,
    Space,
)
from lemmata.subjects.attention import block_scores, key_convolution, masked_block_attention, router_signal_to_noise
from lemmata.subjects.attention._routed_keys import HiddenRun, HiddenRuns
from lemmata.subjects.attention.block_routing import recall

ABOUT = {"tool": "linear algebra", "architecture": "attention", "object": "score"}


class RecalledPairs(eqx.Module):
    """Contexts for associative recall: random tokens on the unit sphere, and names whose values have to be found.

    Each token of the last block is a name. The same token occurs earlier in the context, right before its value.

    Args:
        tokens: the tokens of each context.
        values: the position of the value of each token in the last block. The values lie before the last block.
        block: the number of keys in a block.
        count: the number of blocks to which a query attends.
    """

    tokens: Float[Array, "draws n d"]
    values: Int[Array, "draws block"]
    block: int = eqx.field(static=True)
    count: int = eqx.field(static=True)


class RecallContexts(Population[RecalledPairs]):
    """Contexts whose length is a multiple of the block size.

    Args:
        draws: the number of contexts in a problem.
    """

    draws: int = eqx.field(default=24, static=True)
    settings = Space(
        dimension=Integer(8, 6, 64, "dimension of tokens", corners=(7, 10)),
        block=Integer(4, 4, 32, "keys of a block", corners=(4, 5)),
        blocks=Integer(16, 6, 64, "blocks", corners=(14, 17)),
        count=Integer(4, 2, 32, "blocks that a query attends", corners=(3, 4)),
    ).where("fewer than half of the blocks are attended", lambda s: 2 * s["count"] < s["blocks"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> RecalledPairs:
        keys = jax.random.split(key)
        n, block = setting["blocks"] * setting["block"], setting["block"]
        tokens = jax.random.normal(keys[0], (self.draws, n, setting["dimension"]))
        tokens = tokens / jnp.linalg.norm(tokens, axis=2, keepdims=True)
        values = jax.random.randint(keys[1], (self.draws, block), 1, n - block)
        names = jnp.take_along_axis(tokens, values[:, :, None] - 1, axis=1)
        return RecalledPairs(tokens.at[:, -block:].set(names), values, block, setting["count"])

    def hypotheses(self, problem: RecalledPairs) -> list[Hypothesis]:
        n, block = problem.tokens.shape[1], problem.block
        return [
            Hypothesis(
                "the last value's position", problem.values.max(), "<", n - block, "otherwise no router is needed"
            )
        ]


class ConvolvedKey(eqx.Module):
    """Blocks of keys that are convolved before a router computes the products of a query with the blocks' mean keys.

    Args:
        query: the query, of length 1.
        filters: one weight for each step back (row) and each coordinate (column).
        excess: the number D; D times the query is added to the relevant key.
        block: the number of keys in a block.
        blocks: the number of blocks. The first block has fewer keys before it, so its score is not compared.
    """

    query: Float[Array, " d"]
    filters: Float[Array, "width d"]
    excess: Float[Array, ""]
    block: int = eqx.field(static=True)
    blocks: int = eqx.field(static=True)


class ConvolvedKeys(Population[ConvolvedKey]):
    """Positive filters that all coordinates share, plus normal filters of random size for each coordinate."""

    free = ("query", "filters")
    settings = Space(
        dimension=Integer(8, 2, 256, "dimension of keys", corners=(4, 16)),
        block=Integer(8, 4, 256, "keys of a block", corners=(6, 12)),
        width=Integer(3, 1, 5, "keys that a filter weighs", corners=(3, 5)),
    ).where("a filter does not reach beyond the previous block", lambda s: s["width"] <= s["block"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> ConvolvedKey:
        keys = jax.random.split(key, 4)
        d, width = setting["dimension"], setting["width"]
        query = jax.random.normal(keys[0], (d,))
        shared = jax.random.uniform(keys[1], (width, 1), minval=0.2)
        u, v = jax.random.uniform(keys[2], (2,))
        filters = shared + u * jax.random.normal(keys[3], (width, d))
        return ConvolvedKey(query / jnp.linalg.norm(query), filters, 0.5 + 1.5 * v, setting["block"], 5)

    def hypotheses(self, problem: ConvolvedKey) -> list[Hypothesis]:
        return [
            Hypothesis(
                "| |q| - 1 |", jnp.abs(jnp.linalg.norm(problem.query) - 1), "<", 1e-9, "the query has unit length"
            ),
            Hypothesis(
                "the filters' squared length", jnp.sum(problem.filters**2), ">", 0.0, "otherwise all scores are 0"
            ),
            Hypothesis("blocks", problem.blocks, ">=", 4, "the second and the last block share no key"),
        ]


_KEY = "xiao2025moba"
_WIDTH = 5
_SHARPNESS = 40.0
_TIE = 1e-9


class MeansOfKeysHitLess(Claim[HiddenRun]):
    """Replace each key by the mean of this key and the four keys before it. This averaging is the same for all queries,
    and nothing is trained. It makes a router with blocks of 8 keys attend less often to the block with the only
    relevant key. The reason is that the scalar products with a query are averaged in the same way as the keys, so both
    signal and noise are averaged. Keys near the end of a block leak into the next block.
    """

    title = "If each key is averaged over the last five keys, a block router finds a relevant key less often"
    source = Source(_KEY, "Abstract, key convolution", note="for given weights; the paper trains its filters")
    stated = Kind.OWN
    population = HiddenRuns(at=8, ratio=1.0)
    relation = Order("convolved", (0.0, 1.0))
    control = Control(
        "the block is attended more often",
        lambda sign, problem: -sign,
        loose="the claim predicts a sign, which cannot be changed slightly",
    )
    controls = "whether the block with the relevant key is attended"
    unexplained = "filters trained together with queries and keys, which may bring relevant keys together"
    traced = False
    trials = 60
    predict = -1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """Return the shares of relevant keys that the router finds, without and with the convolution.

        Products of the query with keys are convolved in place of the keys, which is the same.
        """
        products, relevant = problem.contexts(key, 100)
        earlier = np.pad(products, ((0, 0), (_WIDTH - 1, 0)))
        convolved = np.lib.stride_tricks.sliding_window_view(earlier, _WIDTH, axis=1).mean(axis=2)
        count = problem.attended // 8
        return jnp.asarray([recall(rows, relevant, 8, count) for rows in (products, convolved)])


class ConvolutionNeverRaisesTheMeanRatio(Claim[ConvolvedKey]):
    """Let the keys be independent, with covariance I/d, and let D q be added to one of them, where q is a query of unit
    length. Convolve the keys with filters of any weights, one filter for each coordinate. Consider the signal-to-noise
    ratio of a router with blocks of B convolved keys, averaged over the place of the relevant key in its block. This
    mean is at most the ratio without a convolution,

        D sqrt(d / (2 B)).

    Derivation: let w_t be the weight of key t in the score of a block. The mean signal is D times an average of w_t
    over the places of the block. The variance of the noise contains the squares of all weights w_t. These include the
    weights of keys before the block, which enter the score through the convolution. The Cauchy-Schwarz inequality then
    gives the bound.
    """

    title = "No convolution of keys raises the mean signal-to-noise ratio of a block router"
    source = Source(_KEY, "Abstract, key convolution", note="for one relevant key and fixed filters")
    population = ConvolvedKeys()
    relation = AtMost()
    control = Control("0.8 times the bound", lambda ratio, problem: ratio / 1.25)
    controls = "the difference of the scores of two blocks"
    unexplained = "relevant keys whose excess is not along the query, and the effect of training"
    trivial = "a signal-to-noise ratio has no trivial bound"

    def predict(self, problem: ConvolvedKey) -> Array:
        n, d = problem.blocks * problem.block, len(problem.query)
        return problem.excess * jnp.asarray(router_signal_to_noise(1.0, d, n // problem.blocks))

    def measure(self, problem: ConvolvedKey, key: Key[Array, ""]) -> Array:
        """Return the mean signal-to-noise ratio, from the weights of all keys in the difference of two scores.

        These weights are the derivative of the difference, which is linear in the keys.
        """
        own, other = 1, problem.blocks - 1

        def apart(keys: Array) -> Array:
            scores = block_scores(problem.query[None], key_convolution(keys, problem.filters), problem.block)[0]
            return scores[own] - scores[other]

        n, d = problem.blocks * problem.block, len(problem.query)
        weights = jax.grad(apart)(jnp.zeros((n, d)))
        places = jnp.arange(own * problem.block, (own + 1) * problem.block)
        signal = problem.excess * jnp.mean(weights[places] @ problem.query)
        return signal / jnp.sqrt(jnp.sum(weights**2) / d)


class RecallIsTheHitRate(Claim[RecalledPairs]):
    """Let tokens lie on the unit sphere in d dimensions. Each name in a context is followed by a value, and the names
    appear again in the last block. Consider one layer of block attention whose keys are the tokens shifted by one
    position. This shift is a convolution with the weights 0 and 1. So the key at the place of a value is the value's
    name. Each query is a token times a number so large that softmax weights are nearly 0 or 1. The layer returns a
    value as often as its router finds the block of the value.

    Let N be the number of blocks of B keys, and k the number of attended blocks, where N and k do not count the last
    block. The router attends to the k blocks with the highest scores. The score of a block is the scalar product of the
    query, scaled to length 1, with the mean of the block's keys. So the score of the block of the value is 1/B plus (B
    - 1)/B times the mean of B - 1 scalar products of variance 1/d. The score of every other block is the mean of B such
    products. Let phi and Phi be the density and the distribution function of the standard normal distribution. Let
    Bin(n, p) be the number of successes in n independent trials of probability p. The probability that the layer
    returns a value is, up to an error of 0.02,

        integral of phi(z) P(Bin(N - 1, Phi(-sqrt(d/B) - z sqrt((B - 1)/B))) < k) dz.
    """

    title = "One layer of block attention recalls a value as often as its router finds the block of this value"
    source = Source(_KEY, "Abstract, router", note="for one layer that recalls a pair")
    population = RecallContexts()
    relation = EqualInMean(margin=0.02, resolution=0.04, relative=False, over="problems")
    control = Control("1.5 times as many blocks", lambda rate, problem: _found(problem, 1.5))
    controls = "how often one layer returns the value that follows a name"
    unexplained = "trained layers"
    trials = 128

    def predict(self, problem: RecalledPairs) -> Array:
        return _found(problem, 1.0)

    def measure(self, problem: RecalledPairs, key: Key[Array, ""]) -> Array:
        """Return how often the output row of a name is nearer to its value than to all other tokens of the context."""
        d = problem.tokens.shape[2]
        shift = jnp.zeros((2, d)).at[1].set(1.0)

        def recalled(tokens: Array, values: Array) -> Array:
            queries = _SHARPNESS * jnp.sqrt(d) * tokens
            keys = key_convolution(tokens, shift)
            rows = masked_block_attention(queries, keys, tokens, block=problem.block, count=problem.count)
            likeness = rows[-problem.block :] @ tokens.T
            own = jnp.take_along_axis(likeness, values[:, None], axis=1)
            return own >= likeness.max(axis=1, keepdims=True) - _TIE

        return jnp.mean(jax.vmap(recalled)(problem.tokens, problem.values))


def _found(problem: RecalledPairs, factor: float) -> Array:
    """Compute the probability by quadrature, with the number of blocks before the last multiplied by `factor`."""
    (_, n, d), size, count = problem.tokens.shape, problem.block, problem.count - 1
    blocks = int(factor * (n // size - 1))
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    rival = ndtr(-np.sqrt(d / size) - z * np.sqrt((size - 1) / size))
    return jnp.asarray(weights @ betainc(blocks - count, count, 1 - rival) / np.sqrt(2 * np.pi))
