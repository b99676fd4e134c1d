"""How often a router that scores blocks by their mean keys finds a relevant key: signal-to-noise ratio and hit rate."""

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
    """Return SNR = D sqrt(d / (2 B)) with D = excess + (relevant - 1) others.

    The SNR is the mean difference between the router's scores of the relevant block and of another block, divided by
    the standard deviation of this difference.

    Keys are drawn from the unit sphere in d dimensions, so their products with a unit query q have exactly the variance
    1/d. In one block, a multiple of q is added to `relevant` keys, which then no longer have unit length. This makes
    the product of one relevant key with q larger by `excess`, and the products of the other relevant keys larger by
    `others`. If the relevant keys themselves were on the sphere, their noise would be smaller and the ratio somewhat
    larger. The block's mean product exceeds that of another block by D/B on average, and the difference has the
    variance 2/(d B). If the products in a block have the correlation r, this variance is 2 (1 + (B - 1) r)/(d B), and
    the ratio is

        D sqrt(d / (2 B (1 + (B - 1) r))).

    Args:
        excess: how much larger the product of the first relevant key with the query is, on average.
        dimension: the dimension d of queries and keys.
        block: the number B of keys in a block.
        relevant: the number of relevant keys in the block, at most B.
        others: how much larger the product of each other relevant key is, on average.
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

    Scores are independent and normal, and have the same variance. The mean of the relevant block is larger by SNR
    standard deviations of a difference of two scores. In standard deviations of one score, this is sqrt 2 SNR. Let the
    score of the relevant block be z + sqrt 2 SNR. Given z, the number of higher scores among the other blocks is
    binomial, so

        P = integral of phi(z) P(Bin(blocks - 1, Phi(-z - sqrt 2 SNR)) < count) dz,

    computed by the trapezoidal rule. With two blocks and one choice, P is Phi(SNR).

    Args:
        snr: signal-to-noise ratios, in an array of any shape.
        blocks: the number of blocks, including the relevant one but not the query's own block, which needs no score.
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
    """Return the numbers of a setting; raise an error if one is NaN."""
    rule = "numbers, none of them NaN"
    try:
        found = np.asarray(value, float)
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=repr(value), rule=rule) from error
    if np.isnan(found).any():
        raise SettingError(name, found=value, rule=rule)
    return found
