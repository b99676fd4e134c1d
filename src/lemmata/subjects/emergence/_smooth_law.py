"""Exact match by a power law of the loss of a token: fits of success counts, many at once, by Fisher scoring."""

import numpy as np
from jaxtyping import Float

_STEPS = 60
_LARGEST = 30.0  # of |log of the loss of an answer|: beyond it, the accuracy is 0 or 1 to rounding


def accuracy_of(eta: Float[np.ndarray, "*many"], chance: float) -> Float[np.ndarray, "*many"]:
    """chance + (1 - chance) exp(-exp(eta))."""
    return chance + (1 - chance) * np.exp(-np.exp(np.clip(eta, -_LARGEST, np.log(700.0))))


def deviance(
    successes: Float[np.ndarray, "*many sizes"],
    items: Float[np.ndarray, " sizes"],
    share: Float[np.ndarray, "*many sizes"],
) -> Float[np.ndarray, "*many"]:
    """Twice the log likelihood that the shares lose against the observed shares."""
    failures = items - successes
    share = np.clip(share, 1e-300, 1 - 1e-16)
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(successes > 0, successes * np.log(successes / (items * share)), 0.0)
        gained += np.where(failures > 0, failures * np.log(failures / (items * (1 - share))), 0.0)
    return 2 * gained.sum(axis=-1)


def fits(
    designs: Float[np.ndarray, "*many sizes terms"],
    successes: Float[np.ndarray, "*many sizes"],
    items: Float[np.ndarray, " sizes"],
    chance: float,
) -> tuple[Float[np.ndarray, "*many terms"], Float[np.ndarray, "*many"]]:
    """The coefficients of eta of largest likelihood, and the deviance, for each table of success counts.

    Each step solves weighted least squares, and is halved until the deviance does not rise. A little ridge keeps steps
    finite where the counts say nothing about a coefficient.

    Args:
        designs: what eta = log(L c N^-alpha) is linear in.
        successes: solved items at each size.
        items: number of items at each size.
        chance: accuracy of guessing.
    """
    observed = (successes + 0.5) / (items + 1.0)
    above = np.clip((observed - chance) / (1 - chance), 0.02, 0.98)
    start = np.log(-np.log(above))[..., None]
    ridge = 1e-9 * np.eye(designs.shape[-1])
    flipped = np.swapaxes(designs, -1, -2)
    theta = np.linalg.solve(flipped @ designs + ridge, flipped @ start)[..., 0]
    loss = deviance(successes, items, accuracy_of((designs @ theta[..., None])[..., 0], chance))
    for _ in range(_STEPS):
        eta = np.clip((designs @ theta[..., None])[..., 0], -_LARGEST, 6.0)
        share = np.clip(accuracy_of(eta, chance), 1e-12, 1 - 1e-12)
        slope = -(1 - chance) * np.exp(eta - np.exp(eta))
        weight = items * slope**2 / (share * (1 - share))
        score = flipped @ (items * (successes / items - share) * slope / (share * (1 - share)))[..., None]
        step = np.linalg.solve((flipped * weight[..., None, :]) @ designs + ridge, score)[..., 0]
        step *= np.minimum(1.0, 3.0 / np.maximum(np.abs(step).max(axis=-1, keepdims=True), 1e-300))
        size = np.ones(loss.shape)
        for _ in range(12):
            tried = theta + size[..., None] * step
            found = deviance(successes, items, accuracy_of((designs @ tried[..., None])[..., 0], chance))
            worse = ~(found <= loss + 1e-12)
            if not worse.any():
                break
            size = np.where(worse, size / 2, size)
        moved = ~worse
        gain = np.max(np.where(moved, loss - found, 0.0))
        theta, loss = np.where(moved[..., None], tried, theta), np.where(moved, found, loss)
        if gain < 1e-9:
            break
    return theta, loss
