"""Convolutions of keys before a router by block means: what they do to its signal and to its noise.

A causal convolution of keys is linear and the same at all positions, and so is a block's mean. The score of a block of
convolved keys is therefore the score of the keys themselves by other weights, which leak over the block's ends; noise
has these weights as a signal has. This theory controls a router whose filters are given. It leaves open filters that
are trained together with queries and keys, what an activation does to keys of large norm, and what attention to single
keys gains where a key knows of the keys before it; that it can gain a whole layer is shown by associative recall.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy.special import betainc, ndtr

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Order, Source, Status
from lemmata.engine.problems._convolved_keys import ConvolvedKey, ConvolvedKeys
from lemmata.engine.problems._recalled_pairs import RecallContexts, RecalledPairs
from lemmata.engine.problems._routed_keys import HiddenRun, HiddenRuns
from lemmata.subjects.attention import block_scores, key_convolution, masked_block_attention, router_signal_to_noise
from lemmata.subjects.attention.block_routing import recall

_KEY = "xiao2025moba"
_WIDTH = 5
_SHARPNESS = 40.0
_TIE = 1e-9


class ConvolutionRaisesHitsAsOftenRead(Claim[HiddenRun]):
    """As often read: a short convolution of keys by itself enhances routing, without being trained with the model; here
    a mean of the last 5 keys, with the same weights for all queries, blocks of 8 keys, one relevant key.

    It lowers it: products with a query are convolved like the keys, so that signal and noise are, and what is near the
    end of a block leaks into the next.
    """

    title = "A convolution of keys raises the hit rate"
    source = Source(_KEY, "Abstract, key convolution", note="as often read")
    population = HiddenRuns(at=8, ratio=1.0)
    relation = Order("convolved", (0.0, 1.0))
    control = Control("it falls", lambda sign, problem: -sign, loose="a sign has no neighbour")
    controls = "whether the block with the relevant key is attended"
    unexplained = "filters trained together with queries and keys, which may bring relevant keys together"
    reading = "a short convolution as a mean of 5 keys, not trained"
    expected = Status.REFUTED
    traced = False
    trials = 60

    def predict(self, problem: HiddenRun) -> Array:
        return jnp.asarray(1.0)

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """Shares of random contexts, without and with the convolution, of products as of keys."""
        products, relevant = problem.contexts(key, 100)
        earlier = np.pad(products, ((0, 0), (_WIDTH - 1, 0)))
        convolved = np.lib.stride_tricks.sliding_window_view(earlier, _WIDTH, axis=1).mean(axis=2)
        count = problem.attended // 8
        return jnp.asarray([recall(rows, relevant, 8, count) for rows in (products, convolved)])


class ConvolutionNeverRaisesTheMeanRatio(Claim[ConvolvedKey]):
    """Keys are independent, with covariance I/d, and one of them is larger by D q, q the query, of unit length. With
    filters of any weights, one for each coordinate, the ratio of a router by blocks of B convolved keys is on average
    over the place of that key in its block at most that without a convolution,

        D sqrt(d / (2 B)).

    Proof: the signal averages, over the block's places, the weights that the noise has the squares of, and these on
    places beyond the block as well; Cauchy and Schwarz.
    """

    title = "No convolution of keys raises the mean ratio"
    source = Source(_KEY, "Abstract, key convolution", note="for one relevant key, filters fixed")
    population = ConvolvedKeys()
    relation = AtMost()
    control = Control("it lowers it by a fifth", lambda ratio, problem: ratio / 1.25)
    controls = "the difference of the scores of two blocks"
    unexplained = "relevant keys that are not along the query, and what training does"
    trivial = "a ratio of signal and noise has no bound of its own"
    corrects = ConvolutionRaisesHitsAsOftenRead

    def predict(self, problem: ConvolvedKey) -> Array:
        n, d = problem.blocks * problem.block, len(problem.query)
        return problem.excess * jnp.asarray(router_signal_to_noise(1.0, d, n // problem.blocks))

    def measure(self, problem: ConvolvedKey, key: Key[Array, ""]) -> Array:
        """Weights of all keys in the difference of two scores, by its derivative: it is linear in keys."""
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
    """Names in a context are followed by values and stand again in its last block; tokens are on the unit sphere in d
    dimensions. One layer of block attention, whose keys are the tokens moved on by one position (a convolution with
    the weights 0 and 1) and whose queries are sharp, gives a value as often as its router finds it: among N blocks
    of B keys besides the last, k attended besides the last, with the probability, to 0.02,

        integral of phi(z) P(Bin(N - 1, Phi(-sqrt(d/B) - z sqrt((B - 1)/B))) < k) dz.

    The block of the value has the score 1/B + the mean of B - 1 products of variance 1/d, over B/(B - 1).
    """

    title = "A layer recalls what its router finds"
    source = Source(_KEY, "Abstract, router", note="for one layer that recalls a pair")
    population = RecallContexts()
    relation = EqualInMean(margin=0.02, resolution=0.04, relative=False, over="problems")
    control = Control("half as many blocks again", lambda rate, problem: _found(problem, 1.5))
    controls = "how often one layer gives the value that follows a name"
    unexplained = "layers that are trained"
    trials = 64

    def predict(self, problem: RecalledPairs) -> Array:
        return _found(problem, 1.0)

    def measure(self, problem: RecalledPairs, key: Key[Array, ""]) -> Array:
        """Whether the rows of names are nearest to their values, of all tokens of the context."""
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
    """The integral by a rule of its own, with a multiple of the blocks."""
    (_, n, d), size, count = problem.tokens.shape, problem.block, problem.count - 1
    blocks = int(factor * (n // size - 1))
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    rival = ndtr(-np.sqrt(d / size) - z * np.sqrt((size - 1) / size))
    return jnp.asarray(weights @ betainc(blocks - count, count, 1 - rival) / np.sqrt(2 * np.pi))
