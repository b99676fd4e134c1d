"""How often the mean keys of blocks lead a query to the block of keys that the query needs.

A query q of unit length scores a block of B keys by the scalar product with their mean. Irrelevant keys are uniform on
the unit sphere in d dimensions, so their products with q have the variance 1/d. A relevant key is such a key plus a
multiple of q, so it does not have unit length. Let D be the sum of these multiples over the relevant keys of a block.
The score of this block exceeds the score of another block by D/B on average. The standard deviation of this difference
is sqrt(2 / (d B)), which gives the signal-to-noise ratio

    SNR = D sqrt(d / (2 B)).

This theory describes to which blocks a query attends. It does not say what a trained model does with these blocks, or
how training places relevant keys. It also does not say how much the keys of a model differ from random keys. If keys
are correlated, it gives the effect of the correlation.
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
    """Return the share of relevant keys that lie in the `count` blocks with the largest mean products."""
    blocks = lambda rows: rows.reshape(len(rows), -1, block).mean(axis=2)
    means, shares = blocks(products), blocks(relevant)
    chosen = np.argpartition(-means, count - 1, axis=1)[:, :count]
    return float(np.mean(np.take_along_axis(shares, chosen, axis=1).sum(axis=1) / shares.sum(axis=1)))


def _measured_ratio(problem: RoutedKeys, key: Key[Array, ""]) -> Array:
    means = problem.products(key, 2000, 2).mean(axis=2)
    apart = means[:, 0] - means[:, 1]
    return jnp.asarray(apart.mean() / apart.std())


class RouterSignalToNoise(Claim[RoutedKeys]):
    """Let q be a unit query whose scalar products with random unit keys in d dimensions are independent and have
    variance 1/d. A router scores each block of B keys by the scalar product of q with the mean key. Let m keys in one
    block be relevant. Add D q to one of these keys, and D' q to each of the other m - 1 keys, where D and D' are
    numbers. Consider the score of this block minus the score of another block. The mean of this difference divided by
    its standard deviation is

        SNR = (D + (m - 1) D') sqrt(d / (2 B)).
    """

    title = "Routers of block attention find relevant keys with a signal-to-noise ratio like 1/sqrt(block size)"
    source = Source(_KEY, "Abstract, signal-to-noise ratio")
    population = RelevantBlocks()
    relation = EqualInMean(resolution=0.03)
    control = Control("the noise of one block alone", lambda ratio, problem: ratio * np.sqrt(2))
    controls = "the difference of the scores of two blocks"
    unexplained = "keys that are not independent"
    reading = (
        "relevant keys are random unit keys plus D q, so they are no longer of unit length and have the same "
        "noise as the other keys"
    )
    traced = False
    trials = 64

    def predict(self, problem: RoutedKeys) -> Array:
        return jnp.asarray(
            router_signal_to_noise(
                problem.excess, problem.dimension, problem.block, relevant=problem.relevant, others=problem.others
            )
        )

    def measure(self, problem: RoutedKeys, key: Key[Array, ""]) -> Array:
        """Return the mean of the differences of scores over random contexts, divided by their standard deviation."""
        return _measured_ratio(problem, key)


class CorrelatedKeysLowerTheRatio(Claim[RoutedKeys]):
    """A router scores a block of B keys by the mean of their scalar products with a query. Let d be the dimension of
    the keys, and let these products have the variance 1/d. Suppose that two products have the correlation r if their
    keys are in one block, and 0 if their keys are in different blocks. Let relevance add D in total to the scalar
    products of the query with the keys of one block. Consider the score of this block minus the score of another block.
    The signal-to-noise ratio of this difference is

        D sqrt(d / (2 B (1 + (B - 1) r))).

    So if B is larger than 1/r, this ratio falls like 1/B instead of 1/sqrt B.
    """

    title = "Correlated keys in a block lower the signal-to-noise ratio of a block router of sparse attention"
    source = Source(_KEY, "Abstract, signal-to-noise ratio", note="beyond independent keys")
    population = RelevantBlocks(correlated=True)
    relation = EqualInMean(resolution=0.04)
    control = Control("the ratio for independent keys", lambda ratio, problem: ratio * np.sqrt(_inflation(problem)))
    controls = "the difference of the scores of two blocks"
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
        """Return the mean of the differences of scores over random contexts, divided by their standard deviation."""
        return _measured_ratio(problem, key)


def _inflation(problem: RoutedKeys) -> float:
    return 1 + (problem.block - 1) * float(problem.correlation)


class RatioDecidesTheHitRate(Claim[RoutedKeys]):
    """Let N blocks of independent keys contain one relevant block. A router scores each block by the scalar product of
    a query with the block's mean key. Let SNR be the signal-to-noise ratio of the score of the relevant block minus the
    score of another block. Let phi and Phi be the density and the distribution function of the standard normal
    distribution, and let Bin(n, p) be a binomial variable. Up to an error of 0.01, the probability that the relevant
    block is among the k blocks with the largest scores is

        integral of phi(z) P(Bin(N - 1, Phi(-z - sqrt 2 SNR)) < k) dz.

    The block size, the dimension and the excess (the number that relevance adds to the product of query and key) enter
    only through SNR. For example, if blocks are half as large and the excess is smaller by the factor sqrt 2, the
    relevant block is found equally often.
    """

    title = "In block attention, the signal-to-noise ratio of scores decides how often routers find the relevant block"
    source = Source(_KEY, "Abstract, router")
    population = RelevantBlocks()
    relation = EqualInMean(margin=0.01, resolution=0.03, relative=False)
    control = Control("1.5 times as many blocks", lambda rate, problem: _hits(problem, 3 * problem.blocks // 2))
    controls = "whether the relevant block is attended"
    unexplained = "what a model loses if it does not attend to a block"
    traced = False
    trials = 64

    def predict(self, problem: RoutedKeys) -> Array:
        return _hits(problem, problem.blocks)

    def measure(self, problem: RoutedKeys, key: Key[Array, ""]) -> Array:
        """Return the shares of random contexts in which the relevant block is found, for two block sizes.

        The second block size is half of the first, and its excess is smaller by the factor sqrt 2.
        """
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
    """Let a query attend to a fixed number of blocks of 64, 32 or 16 keys. Let one key be relevant, with a
    signal-to-noise ratio of 0.2 to 0.5 for blocks of 64 keys. With each halving of the block size, the block with this
    key is attended less often. A halving multiplies the signal-to-noise ratio by sqrt 2 and doubles the number of
    blocks. For a weak key, the larger ratio helps less than the larger number of blocks harms.
    """

    title = "At a fixed number of attended blocks, routers find a weak relevant key less often in smaller blocks"
    source = Source(
        _KEY, "Abstract, block size", note="with an equal number of blocks; the paper compares at equal cost"
    )
    stated = Kind.OWN
    population = _WEAK
    relation = Order("block", _HALVINGS[:3])
    control = Control(
        "the block is attended more often with each halving",
        lambda sign, problem: -sign,
        loose="the claim predicts a sign, which cannot be changed slightly",
    )
    controls = "whether the block with the relevant key is attended"
    unexplained = "the ratio at which the effect reverses, which is near 0.8 if 2 of 8 blocks of 64 keys are attended"
    traced = False
    trials = 60
    predict = -1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """Return the share of relevant keys that the router finds, for each block size, on the same contexts.

        The number of attended blocks is the same for all sizes. At block size 64, these blocks hold `attended` keys.
        """
        products, relevant = problem.contexts(key, 100)
        count = problem.attended // 64
        return jnp.asarray([recall(products, relevant, int(block), count) for block in _HALVINGS[:3]])


class SmallerBlocksAtEqualCost(Claim[HiddenRun]):
    """Let a query attend to a fixed number k B of keys, in k blocks of B = 64, 32, 16 or 8 keys. Suppose that exactly
    one key is relevant. With each halving of B, the block with the relevant key is attended more often. The test uses
    signal-to-noise ratios of 0.375 to 0.75 for blocks of 64 keys.
    """

    title = "At equal cost in attended keys, block routers with smaller blocks find a single relevant key more often"
    source = Source(_KEY, "Abstract, block size", note="for one relevant key, at a fixed number of attended keys")
    population = _STRONG
    relation = Order("block", _HALVINGS)
    control = Control("the block is attended less often with each halving", lambda sign, problem: -sign)
    controls = "whether the block with the relevant key is attended"
    unexplained = "relevant keys that are adjacent"
    traced = False
    trials = 60
    predict = 1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """Compare all block sizes on the same contexts."""
        products, relevant = problem.contexts(key, 100)
        return jnp.asarray([recall(products, relevant, int(b), problem.attended // int(b)) for b in _HALVINGS])


class BlocksSmallerThanRuns(Claim[HiddenRun]):
    """Let 8 adjacent keys be relevant, and let relevance add the same number D to the product of the query with each of
    these keys. Let a query attend to a fixed number k B of keys, in k blocks of B = 8, 4 or 2 keys. With each halving
    of B, the attended share of the relevant keys falls. If all keys of a block are relevant, the signal-to-noise ratio
    of the block is B D sqrt(d / (2 B)) = D sqrt(d B / 2), where d is the dimension of the keys. So smaller blocks have
    a smaller ratio.
    """

    title = "Block routers find fewer relevant keys if blocks are smaller than a run of adjacent relevant keys"
    source = Source(_KEY, "Abstract, block size", note="if relevant keys are clustered")
    population = HiddenRuns(run=8, at=8, ratio=1.2)
    relation = Order("block", (8.0, 4.0, 2.0))
    control = Control("the attended share rises with each halving", lambda sign, problem: -sign)
    controls = "the share of relevant keys that are attended"
    unexplained = "how long runs are in texts, and runs that cross the borders of blocks"
    traced = False
    trials = 60
    predict = -1.0

    def measure(self, problem: HiddenRun, key: Key[Array, ""]) -> Array:
        """Compare all block sizes on the same contexts."""
        products, relevant = problem.contexts(key, 100)
        return jnp.asarray([recall(products, relevant, block, problem.attended // block) for block in (8, 4, 2)])
