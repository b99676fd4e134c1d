"""The signal-to-noise ratio and the hit rate of a router that chooses blocks of keys by the mean keys of the blocks."""

import numpy as np
from jax.typing import ArrayLike
from scipy.special import betainc, ndtr

from lemmata.core import check_whole
from lemmata.errors import SettingError

_RANGE, _NODES = 9.0, 2049


def router_signal_to_noise(
    excess: ArrayLike,
    dimension: ArrayLike,
    block: ArrayLike,
    *,
    relevant: ArrayLike = 1,
    others: ArrayLike = 0.0,
    correlation: ArrayLike = 0.0,
) -> np.ndarray:
    """Return the signal-to-noise ratio SNR = D sqrt(d / (2 B)) of a router, where D = excess + (relevant - 1) others.

    The SNR is the mean difference between the router's scores of the relevant block and of another block, divided by
    the standard deviation of this difference.

    Keys are drawn from the unit sphere in d dimensions. Therefore their products with a unit query q have exactly the
    variance 1/d. In one block, a multiple of q is added to `relevant` keys, which then no longer have unit length. This
    addition increases the product of one relevant key with q by `excess`, and the products of the other relevant keys
    by `others`. For relevant keys on the sphere, the noise would be smaller and the ratio somewhat larger. The mean
    product of the relevant block exceeds the mean product of another block by D/B on average. The difference has the
    variance 2/(d B). If the products in a block have the correlation r, this variance is 2 (1 + (B - 1) r)/(d B).
    Then the ratio is

        D sqrt(d / (2 B (1 + (B - 1) r))).

    Args:
        excess: the mean product of the first relevant key with the query; the mean product of irrelevant keys is 0.
        dimension: the dimension d of queries and keys.
        block: the number B of keys in a block.
        relevant: the number of relevant keys in the block, at most B.
        others: the mean product of each other relevant key with the query.
        correlation: the correlation r, between 0 and 1.

    Raises:
        SettingError: for sizes below 1, more relevant keys than a block has, a correlation outside [0, 1], or NaN.

    Example:
        >>> from lemmata.subjects.attention import router_signal_to_noise
        >>> float(router_signal_to_noise(1.0, 64, 32))
        1.0
    """
    for name, size in (("dimension", dimension), ("block", block), ("relevant", relevant)):
        if not np.all(np.asarray(size) >= 1):
            raise SettingError(name, found=size, rule="a whole number that is at least 1")
    if not np.all(np.asarray(relevant) <= np.asarray(block)):
        raise SettingError("relevant", found=relevant, rule=f"at most {block}, the number of keys in a block")
    r = _numbers("correlation", correlation)
    if not np.all((r >= 0) & (r <= 1)):
        raise SettingError("correlation", found=correlation, rule="a number between 0 and 1")
    total = _numbers("excess", excess) + (np.asarray(relevant) - 1) * _numbers("others", others)
    size = np.asarray(block, float)
    return np.asarray(total * np.sqrt(np.asarray(dimension) / (2 * size * (1 + (size - 1) * r))))


def hit_rate(snr: ArrayLike, blocks: int, count: int) -> np.ndarray:
    """Return the probability that the relevant block is among the `count` best of `blocks` blocks with normal scores.

    Scores are independent and normal, and have the same variance. The mean score of the relevant block is larger than
    the other means. This excess is SNR standard deviations of a difference of two scores, or sqrt 2 SNR standard
    deviations of one score. Let the score of the relevant block be z + sqrt 2 SNR. Given z, the number of higher scores
    among the other blocks is binomial. Therefore

        P = integral of phi(z) P(Bin(blocks - 1, Phi(-z - sqrt 2 SNR)) < count) dz,

    computed by the trapezoidal rule. With two blocks and one choice, P is Phi(SNR).

    Args:
        snr: signal-to-noise ratios, in an array of any shape.
        blocks: the number of scored blocks, including the relevant block. The query's own block is not scored.
        count: the number of blocks that are chosen.

    Raises:
        SettingError: for a count or number of blocks below 1, or a ratio that is NaN.

    Example:
        >>> from lemmata.subjects.attention import hit_rate
        >>> round(float(hit_rate(0.0, 10, 3)), 12)  # nothing is known of the blocks
        0.3
    """
    check_whole("blocks", blocks, 1, "blocks")
    check_whole("count", count, 1, "blocks")
    ratio = _numbers("snr", snr)
    if count >= blocks:
        return np.ones(ratio.shape)
    z = np.linspace(-_RANGE, _RANGE, _NODES)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    # P(Bin(m, p) < c) = I_(1-p)(m - c + 1, c), m = blocks - 1.
    fewer = betainc(blocks - count, count, ndtr(z + np.sqrt(2) * ratio[..., None]))
    return np.asarray((density * fewer).sum(axis=-1) * (z[1] - z[0]))


def _numbers(name: str, value: ArrayLike) -> np.ndarray:
    """Return the numbers of an argument as an array; raise an error with the argument's name if one is NaN."""
    rule = "numbers, none of them NaN"
    try:
        found = np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=repr(value), rule=rule) from error
    if np.isnan(found).any():
        raise SettingError(name, found=value, rule=rule)
    return found
