"""The inverse temperature that a softmax lookup among random keys needs.

A lookup has a query that is equal to one key, the right key. The wrong keys nearest to the query are drawn one by one.
The sum over all other keys is replaced by a random number with the mean and the variance of this sum.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy import special

_NEAREST, _STEPS, _TABLE = 64, 45, 3000
_CLOSE_ENOUGH = 1e-13  # largest error of the logarithm of an inverse temperature
_PANELS, _NODES = 8, np.polynomial.legendre.leggauss(12)
_CLOSE = 0.01  # below this gap of equal logits, differences from 1 are summed


@dataclasses.dataclass(frozen=True, eq=False)
class Draws:
    """Wrong keys around a query, one row for each draw: the nearest keys, and quadrature nodes for the other keys.

    Args:
        halves: sin²(t/2) for the angles t between the keys and the query.
        counts: the number of keys that each entry represents.
        drawn: the number of entries that are keys. The other entries are quadrature nodes.
        noise: one standard normal number for each draw. The number determines the deviation of the sum over the other
            keys from its mean.
    """

    halves: Float[np.ndarray, "m k"]
    counts: Float[np.ndarray, "m k"]
    drawn: int
    noise: Float[np.ndarray, " m"]


@functools.lru_cache(maxsize=8)
def draws_of(n: int, d: int, count: int) -> Draws:
    """Draw sets of n - 1 random keys that are uniform on the sphere.

    For a random key, the share of the sphere that is nearer to the query than this key is uniform on [0, 1]. The order
    statistics of these shares are drawn by Rényi's formula. The shares of the nearest keys are not random: over the
    draws, they are evenly spaced quantiles.

    Args:
        n: the number of keys, including the right key.
        d: the dimension of the keys.
        count: the number of draws.
    """
    rng = np.random.default_rng(0)
    others = n - 1
    drawn = min(others, _NEAREST)
    steps = rng.exponential(size=(count, drawn))
    steps[:, 0] = -np.log1p(-(np.arange(count) + 0.5) / count)
    shares = -np.expm1(-np.cumsum(steps / (others - np.arange(drawn, dtype=float)), axis=1))
    counts = np.ones_like(shares)
    if others > drawn:
        last = shares[:, -1:]
        cuts = np.arange(_PANELS)[:, None] + (1 + _NODES[0]) / 2
        places = (1 - cuts.ravel() / _PANELS) * np.log(last)  # logarithms of shares
        weights = -np.log(last) / _PANELS * np.tile(_NODES[1] / 2, _PANELS) * np.exp(places)
        farther = (others - drawn) * weights / weights.sum(axis=1, keepdims=True)
        shares, counts = np.hstack([shares, np.exp(places)]), np.hstack([counts, farther])
    grid = np.append(-np.geomspace(-1.01 * math.log(shares.min()), 1e-9, _TABLE), 0.0)
    table = special.betaincinv((d - 1) / 2, (d - 1) / 2, np.exp(grid))
    halves = np.exp(np.interp(np.log(shares), grid, np.log(table)))
    return Draws(halves, counts, drawn, rng.normal(size=count))


def gap_of(n: int, weight: float) -> float:
    """Return the lead over n - 1 equal logits that gives a logit this softmax weight, accurately even near 1/n."""
    return math.log1p((n * weight - 1) / (1 - weight))


def needed(draws: Draws, n: int, weight: float, unit: float = 0.0) -> Float[np.ndarray, " m"]:
    """Return, for each draw, the inverse temperature at which the right key has this weight; infinite if there is none.

    Args:
        draws: the draws of the other keys.
        n: the number of keys, including the right key.
        weight: the softmax weight that the right key should have.
        unit: the largest relative rounding error of a logit; 0 means no rounding.
    """
    halves, gap = draws.halves, gap_of(n, weight)
    behind = np.where(halves <= 0.5, 2 * halves - 2 * unit * (1 - halves), 2 * halves * (1 - unit))
    nearest = behind.min(axis=1)
    some = nearest > 0
    behind, counts, noise = behind[some], draws.counts[some], draws.noise[some]
    low = np.full(int(some.sum()), math.log(gap / 4))
    high = math.log(2 * gap) - np.log(nearest[some])
    left = lambda place: _left(np.exp(place)[:, None] * behind, counts, draws.drawn, noise, n, weight)
    found = np.full(len(halves), math.inf)
    found[some] = np.exp(_crossing(left, low, high))
    return found


def _crossing(
    falling: Callable[[np.ndarray], np.ndarray], low: Float[np.ndarray, " m"], high: Float[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """Return zeros of decreasing functions by Ridders' method, which is exact in a few steps for exponential functions.

    If a function has the same sign at both ends, the result is the end at which the function is nearer to 0.
    """
    above, below, last = falling(low), falling(high), low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        half = falling(middle)
        root = np.sqrt(half**2 + np.maximum(above, 0.0) * np.maximum(-below, 0.0))
        place = np.clip(middle + (high - low) / 2 * half / np.where(root > 0, root, 1.0), low, high)
        value = falling(place)
        for own, at in ((middle, half), (place, value)):
            up = (at > 0) & (own > low)
            down = (at <= 0) & (own < high)
            low, above = np.where(up, own, low), np.where(up, at, above)
            high, below = np.where(down, own, high), np.where(down, at, below)
        if np.all((np.abs(place - last) <= _CLOSE_ENOUGH) | (high - low <= _CLOSE_ENOUGH)):
            return place
        last = place
    return (low + high) / 2


def _left(
    below: Float[np.ndarray, "m k"], counts: Float[np.ndarray, "m k"], drawn: int, noise: Float[np.ndarray, " m"],
    n: int, weight: float,
) -> Float[np.ndarray, " m"]:  # fmt: skip
    """Return, for each draw, a number that is above 0 if the wrong keys have too much weight.

    Then the right key does not have the wanted weight. The array `below` holds by how much the logits of the entries
    are below the logit of the right key.
    """
    close = gap_of(n, weight) < _CLOSE  # then 1 is subtracted from each term and from the target value
    terms = np.expm1(-below) if close else np.exp(-below)
    total = np.sum(counts[:, :drawn] * terms[:, :drawn], axis=1)
    if terms.shape[1] > drawn:
        own, far = counts[:, drawn:], terms[:, drawn:]
        mean = np.sum(own * far, axis=1)
        square = np.maximum(np.sum(own * far**2, axis=1) - mean**2 / own.sum(axis=1), 0.0)
        if close:
            return total + mean + np.sqrt(square) * noise + (n * weight - 1) / weight
        spread = np.sqrt(np.log1p(square / np.maximum(mean, 1e-150) ** 2))
        total = total + mean * np.exp(spread * noise - spread**2 / 2)  # lognormal, so not negative
    return total + (n * weight - 1) / weight if close else total - (1 - weight) / weight
