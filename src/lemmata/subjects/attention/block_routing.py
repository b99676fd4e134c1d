"""Block routing: how often the means of blocks of keys lead a query to the block that it needs.

A query q of unit length scores a block of B keys by the product with their mean. Keys that mean nothing to it lie
uniformly on the unit sphere in d dimensions, so that products have the variance 1/d; a relevant key is such a key plus
a multiple of q, no longer of unit length, and products of relevant keys are larger by D in all. A relevant block then
exceeds another by D/B, in units of sqrt(2 / (d B)):

    SNR = D sqrt(d / (2 B)).

This theory controls which blocks are attended. It leaves open what a trained model makes of them, how training places
relevant keys, and how far keys of a model are from random ones; of the latter it says what correlation does.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Kind, Order, Source
from lemmata.subjects.attention import hit_rate, router_signal_to_noise
from lemmata.subjects.attention._routed_keys import HiddenRun, HiddenRuns, RelevantBlocks, RoutedKeys

ABOUT = {"tool": "statistics", "architecture": "attention", "object": "score"}

_KEY = "xiao2025moba"
_WEAK, _STRONG = HiddenRuns(ratio=0.3), HiddenRuns(ratio=0.5)
_HALVINGS = (64.0, 32.0, 16.0, 8.0)


def recall(
    products: Float[np.ndarray, "draws n"], relevant: Float[np.ndarray, "draws n"], block: int, count: int
) -> float:
    """The share of relevant keys that lie in the `count` blocks of the largest mean products."""
    blocks = lambda rows: rows.reshape(len(rows), -1, block).mean(axis=2)
    means, shares = blocks(products), blocks(relevant)
    chosen = np.argpartition(-means, count - 1, axis=1)[:, :count]
    return float(np.mean(np.take_along_axis(shares, chosen, axis=1).sum(axis=1) / shares.sum(axis=1)))


def _measured_ratio(problem: RoutedKeys, key: Key[Array, ""]) -> Array:
    means = problem.products(key, 2000, 2).mean(axis=2)
    apart = means[:, 0] - means[:, 1]
    return jnp.asarray(apart.mean() / apart.std())


class RouterSignalToNoise(Claim[RoutedKeys]):
    """Products of a unit query q with random unit keys in d dimensions are independent and of variance 1/d; to m keys
    of one block of B a multiple of q is added, to one D q, to the others D' q. The difference of the scores of this and
    another block has the mean, in its standard deviations,

        SNR = (D + (m - 1) D') sqrt(d / (2 B)).
    """

    title = "The signal-to-noise ratio of a router"
    source = Source(_KEY, "Abstract, signal-to-noise ratio")
    population = RelevantBlocks()
    relation = EqualInMean(resolution=0.03)
    control = Control("the noise of one block alone", lambda ratio, problem: ratio * np.sqrt(2))
    controls = "the difference of two scores"
    unexplained = "keys that are not independent"
    reading = "relevant keys are random unit keys plus D q, no longer of unit length, with the noise of the others"
    traced = False
    trials = 64

    def predict(self, problem: RoutedKeys) -> Array:
        return jnp.asarray(
            router_signal_to_noise(
                problem.excess, problem.dimension, problem.block, relevant=problem.relevant, others=problem.others
            )
        )

    def measure(self, problem: RoutedKeys, key: Key[Array, ""]) -> Array:
        """Mean and standard deviation of differences."""
        return _measured_ratio(problem, key)


class CorrelatedKeysLowerTheRatio(Claim[RoutedKeys]):
    """Where products of a query with the keys of one block of B are correlated by r, and those of different blocks are
    not, the signal-to-noise ratio of a difference of two scores is, with the excess D of all relevant keys,

        D sqrt(d / (2 B (1 + (B - 1) r))),

    so that it falls like 1/B, and not 1/sqrt B, once B exceeds 1/r.
    """

    title = "Correlated keys lower the ratio of a router"
    source = Source(_KEY, "Abstract, signal-to-noise ratio", note="beyond independent keys")
    population = RelevantBlocks(correlated=True)
    relation = EqualInMean(resolution=0.04)
    control = Control("as for independent keys", lambda ratio, problem: ratio * np.sqrt(_inflation(problem)))
    controls = "the difference of two scores"
    unexplained = "how correlated the keys of a model are"
    traced = False
    trials = 64

    def predict(self, problem: RoutedKeys) -> Array:
        return jnp.asarray(
            router_signal_to_noise(
                problem.excess,
                problem.dimension,
                problem.block,
                relevant=problem.relevant,
                others=problem.others,
                correlation=problem.correlation,
            )
        )

    def measure(self, problem: RoutedKeys, key: Key[Array, ""]) -> Array:
        """Mean and standard deviation of differences."""
        return _measured_ratio(problem, key)


def _inflation(problem: RoutedKeys) -> float:
    return 1 + (problem.block - 1) * float(problem.correlation)


class RatioDecidesTheHitRate(Claim[RoutedKeys]):
    """Among N blocks of independent keys the relevant one is one of the k of the largest scores with the probability

        integral of phi(z) P(Bin(N - 1, Phi(-z - sqrt 2 SNR)) < k) dz,

    to 0.01, phi and Phi of the standard normal law. Block size, dimension and excess enter by the ratio alone: blocks
    of half the size with an excess that is smaller by sqrt 2 are hit as often.
    """

    title = "The ratio decides how often a router is right"
    source = Source(_KEY, "Abstract, router")
    population = RelevantBlocks()
    relation = EqualInMean(margin=0.01, resolution=0.03, relative=False)
    control = Control("half as many blocks again", lambda rate, problem: _hits(problem, 3 * problem.blocks // 2))
    controls = "whether the relevant block is attended"
    unexplained = "what a model loses by a block that it does not attend"
    traced = False
    trials = 64

    def predict(self, problem: RoutedKeys) -> Array:
        return _hits(problem, problem.blocks)

    def measure(self, problem: RoutedKeys, key: Key[Array, ""]) -> Array:
        """Shares of random contexts, with both sizes of blocks."""
        found = []
        for half, own in zip((1, 2), jax.random.split(key), strict=True):
            block, shrink = problem.block // half, half**-0.5
            means = problem.products(own, 200, problem.blocks, block=block, shrink=shrink).mean(axis=2)
            found.append(np.mean((means > means[:, :1]).sum(axis=1) < problem.count))
        return jnp.asarray(found)


def _hits(problem: RoutedKeys, blocks: int) -> Array:
    total = problem.excess + (problem.relevant - 1) * problem.others
    rate = hit_rate(router_signal_to_noise(total, problem.dimension, problem.block), blocks, problem.count)
    return jnp.asarray([rate, rate])


class AsManyBlocksFindWeakKeysLess(Claim[HiddenRun]):
    """With the same number of blocks attended, blocks of 64, 32 and 16 keys and one relevant key with a ratio of 0.2
    to 0.5 at 64 keys, its block is attended less often with each halving. A halving multiplies the ratio by sqrt 2 and
    doubles the number of blocks, and a weak key gains less by the first than it loses by the second.
    """

    title = "Smaller blocks, as many of them"
    source = Source(_KEY, "Abstract, block size", note="at another comparison than the paper's, which is at equal cost")
    stated = Kind.OWN
    population = _WEAK
    relation = Order("block", _HALVINGS[:3])
    control = Control("it rises", lambda sign, problem: -sign, loose="a sign has no neighbour")
    controls = "whether the block with the relevant key is attended"
    unexplained = "at which ratio it turns: at some 2 for 64 keys and more of them"
    traced = False
    trials = 60
    predict = -1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """On the same contexts, as many blocks as blocks of 64 make up what is attended."""
        products, relevant = problem.contexts(key, 100)
        count = problem.attended // 64
        return jnp.asarray([recall(products, relevant, int(block), count) for block in _HALVINGS[:3]])


class SmallerBlocksAtEqualCost(Claim[HiddenRun]):
    """With the same number k B of keys attended, blocks of B = 64, 32, 16 and 8 keys, the block with the only relevant
    key is attended more often with each halving of B.
    """

    title = "Smaller blocks at equal cost"
    source = Source(_KEY, "Abstract, block size", note="for one relevant key, at a fixed number of attended keys")
    population = _STRONG
    relation = Order("block", _HALVINGS)
    control = Control("it falls", lambda sign, problem: -sign)
    controls = "whether the block with the relevant key is attended"
    unexplained = "relevant keys that lie together"
    traced = False
    trials = 60
    predict = 1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """On the same contexts."""
        products, relevant = problem.contexts(key, 100)
        return jnp.asarray([recall(products, relevant, int(b), problem.attended // int(b)) for b in _HALVINGS])


class BlocksSmallerThanRuns(Claim[HiddenRun]):
    """Where relevant keys of equal excess D lie in runs of 8, blocks of fewer keys than a run find fewer of them: with
    the same number k B of keys attended, blocks of B = 8, 4 and 2 keys, the attended share of the relevant keys falls
    with each halving. A block within a run has the ratio B D sqrt(d / (2 B)) = D sqrt(d B / 2).
    """

    title = "Blocks smaller than a run of relevant keys"
    source = Source(_KEY, "Abstract, block size", note="where relevant keys are clustered")
    population = HiddenRuns(run=8, at=8, ratio=1.2)
    relation = Order("block", (8.0, 4.0, 2.0))
    control = Control("it rises", lambda sign, problem: -sign)
    controls = "the share of relevant keys that is attended"
    unexplained = "how long runs are in texts; runs that blocks cut"
    traced = False
    trials = 60
    predict = -1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """On the same contexts."""
        products, relevant = problem.contexts(key, 100)
        return jnp.asarray([recall(products, relevant, block, problem.attended // block) for block in (8, 4, 2)])
