"""Find out which signals a test would have found, by testing signals that are made from the table's own columns."""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import norm

ONE, SEVERAL, ALL, PRODUCT = "one column", "five columns", "all columns", "product"
"""Kinds of signal: linear in one column, in five columns, in all columns, and the product of two columns."""
SHARES = np.array([
    0.001, 0.002, 0.003, 0.004, 0.005, 0.007, 0.01, 0.013, 0.016, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12,
    0.15, 0.18, 0.22, 0.26, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95,
])  # fmt: skip
"""The tried shares of the target's variance. Bisection finds the least sufficient share in five steps."""
TABLES, MOST = 30, 0.85
"""The number of simulated tables for each kind of signal, and the share of them that counts as "most cases"."""
BENT = 1.5
"""For classes, the least share is multiplied by this, because class probabilities are not linear in their causes.

Without this factor, only 52 to 85 % of the signals in real labels were found at the least share that was computed for
mixtures of signal and noise.
"""
_SEVERAL = 5
_LEAST_SPREAD = 1e-9

Powers = dict[str, float]
"""For each kind of signal, the least share of the variance at which it is found in most cases; infinite if never."""


def made(x: Float[np.ndarray, "n d"], rng: np.random.Generator, product: bool) -> dict[str, Float[np.ndarray, "n t"]]:
    """Return t signals of each kind, of variance 1, made from random columns with random normal coefficients."""
    x = x - x.mean(axis=0)
    size = x.std(axis=0)
    x = x[:, size > _LEAST_SPREAD] / size[size > _LEAST_SPREAD]
    width = x.shape[1]
    if not width:
        return {}
    draws: dict[str, Callable[[], np.ndarray]] = {ONE: lambda: x[:, rng.integers(width)]}
    if width > _SEVERAL:
        draws[SEVERAL] = lambda: x[:, rng.choice(width, _SEVERAL, replace=False)] @ rng.standard_normal(_SEVERAL)
    if width > 1:
        draws[ALL] = lambda: x @ rng.standard_normal(width)
    if width > 1 and product:
        draws[PRODUCT] = lambda: x[:, rng.choice(width, 2, replace=False)].prod(axis=1)
    return {kind: np.stack([_normed(draw()) for _ in range(TABLES)], axis=1) for kind, draw in draws.items()}


def _normed(signal: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    signal = signal - signal.mean()
    return signal / max(float(signal.std()), _LEAST_SPREAD)


def powers(
    signals: dict[str, Float[np.ndarray, "n t"]],
    noise: Float[np.ndarray, "n t k"],
    found: Callable[[Float[np.ndarray, "n tables k"]], Bool[np.ndarray, " tables"]],
    rng: np.random.Generator,
    classes: bool,
) -> Powers:
    """Return, for each kind of signal, the share of the variance from which it is found in 85 % of the tables.

    Each signal is mixed with noise, and the least share at which it is found is searched by bisection. If the target
    has several outputs or classes, the signal has a random direction. In each output, the signal is as large as the
    variation of the target.

    If the target's numbers have many ties, the simulated targets have the same ties (`_with_ties`). Without these ties,
    the signal would determine the order of tied rows, so ranks would contain information that the real target does not
    have.

    Args:
        signals: the signals of each kind, with variance 1.
        noise: targets that are independent of the columns, one for each signal of a kind.
        found: a function that returns, for each of many tables of targets, whether the test finds a signal.
        rng: the random generator of the directions and of the order of ties.
        classes: whether the target holds classes, whose statistics do not use ranks.
    """
    if not signals:
        return {}
    kinds, count = list(signals), noise.shape[1]
    shown = np.concatenate([signals[kind] for kind in kinds], axis=1)
    noise = np.tile(noise - noise.mean(axis=0), (1, len(kinds), 1))
    flat = noise[:, 0]
    ways = rng.standard_normal((noise.shape[1], len(flat))) @ flat / math.sqrt(len(flat))
    length = math.sqrt(float(flat.var(axis=0).sum()))
    ways *= length / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), np.finfo(float).tiny)
    tied = not classes and tied_share(flat) >= SHARES[0]
    mixed = _with_ties(shown, ways, noise, rng) if tied else _sums(shown, ways, noise)
    low, high = np.zeros(len(ways), int), np.full(len(ways), len(SHARES))
    while (low < high).any():
        middle = np.minimum((low + high) // 2, len(SHARES) - 1)
        seen = found(mixed(SHARES[middle][:, None]))
        open_ = low < high
        high, low = np.where(open_ & seen, middle, high), np.where(open_ & ~seen, middle + 1, low)
    places = np.sort(high.reshape(len(kinds), count), axis=1)[:, math.ceil(MOST * count) - 1]
    return {kind: float([*SHARES, math.inf][place]) for kind, place in zip(kinds, places.tolist(), strict=True)}


Mixed = Callable[[Float[np.ndarray, "t 1"]], Float[np.ndarray, "n t k"]]
"""A function that returns tables in which the signal explains these shares of the variance."""


def _sums(shown: Float[np.ndarray, "n t"], ways: Float[np.ndarray, "t k"], noise: Float[np.ndarray, "n t k"]) -> Mixed:
    return lambda share: np.sqrt(share) * shown[:, :, None] * ways + np.sqrt(1 - share) * noise


def tied_share(y: Float[np.ndarray, "n k"]) -> float:
    """Return the share of the variance of ranks that ties hide: Σ (t³ - t) / (n³ - n), in the output with most ties.

    The sum is over the values of y, and t is the number of rows with this value.

    >>> tied_share(np.array([[0.0], [0.0], [1.0], [2.0]]))
    0.1
    """
    sizes = [np.unique(column, return_counts=True)[1].astype(float) for column in y.T]
    return max(float((t**3 - t).sum()) for t in sizes) / max(float(len(y)) ** 3 - len(y), 1.0)


def _with_ties(
    shown: Float[np.ndarray, "n t"], ways: Float[np.ndarray, "t k"], noise: Float[np.ndarray, "n t k"],
    rng: np.random.Generator,
) -> Mixed:  # fmt: skip
    """Return tables that have the values of the noise, with all their ties, in an order that depends on the signal.

    Each output has a normal score z, which has the order of the noise and breaks its ties at random. The order of the
    values is that of √a·signal ± √(1 - a)·z. Let c be the correlation of the sorted values with the sorted scores. The
    signal explains about the share a·c² of the variance, so a is the share to explain, divided by c², but at most 1.
    """
    score = norm.ppf((np.arange(len(noise)) + 0.5) / len(noise))
    score = (score / score.std())[:, None, None]
    order = np.argsort(rng.random(noise.shape), axis=0)
    order = np.take_along_axis(order, np.argsort(np.take_along_axis(noise, order, 0), axis=0, kind="stable"), 0)
    latent = np.empty(noise.shape)
    np.put_along_axis(latent, order, np.broadcast_to(score, noise.shape), 0)
    values = np.sort(noise, axis=0)
    variance = np.maximum(values.var(axis=0), np.finfo(float).tiny)
    known = np.maximum((values * score).mean(axis=0) ** 2 / variance, np.finfo(float).tiny)

    def mixed(share: Float[np.ndarray, "t 1"]) -> Float[np.ndarray, "n t k"]:
        own = share * ways**2
        part = np.minimum(own / (own + (1 - share) * variance) / known, 1.0)
        places = np.argsort(np.sqrt(part) * np.sign(ways) * shown[:, :, None] + np.sqrt(1 - part) * latent, axis=0)
        tables = np.empty(noise.shape)
        np.put_along_axis(tables, places, values, 0)
        return tables

    return mixed


def bent(found: Powers) -> Powers:
    """Return the shares to state for classes: each given share times `BENT`, or infinity if this is 1 or more."""
    return {kind: BENT * share if BENT * share < 1 else math.inf for kind, share in found.items()}


def hardest(found: Powers) -> float:
    """Return the share from which every linear kind of signal is found in most cases; nan if no kind was tried."""
    return max((share for kind, share in found.items() if kind != PRODUCT), default=math.nan)


def either(one: Powers, other: Powers) -> Powers:
    """Return the smaller share of two tests for each kind, because one of the tests is enough to find the signal."""
    return {kind: min(share, other.get(kind, math.inf)) for kind, share in one.items()}
