"""Fit exact-match accuracies by a power law for the loss of a token above a floor, for many tables at once."""

from typing import Any

import numpy as np
from jaxtyping import Float

_STEPS = 60
_FLOORS = np.array([0.0, 0.4, 0.6, 0.75, 0.9, 1.0, 1.1])  # errors of an infinite model, as shares of the best size's
_LARGEST = 30.0  # limit of |log of the loss of an answer|; beyond it, the accuracy is 0 or 1 to rounding


def accuracy_of(eta: Float[np.ndarray, "..."], chance: float, top: Any = 1.0) -> Float[np.ndarray, "..."]:
    """Return the accuracy chance + (top - chance) exp(-exp(eta)), where exp(eta) is the loss of an answer."""
    return chance + (top - chance) * np.exp(-np.exp(np.clip(eta, -_LARGEST, np.log(700.0))))


def deviance(
    successes: Float[np.ndarray, "... sizes"],
    items: Float[np.ndarray, " sizes"],
    share: Float[np.ndarray, "... sizes"],
) -> Float[np.ndarray, "..."]:
    """Return twice the difference between the log likelihoods of the observed shares and of the shares `share`."""
    failures = items - successes
    share = np.clip(share, 1e-300, 1 - 1e-16)
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(successes > 0, successes * np.log(successes / (items * share)), 0.0)
        gained += np.where(failures > 0, failures * np.log(failures / (items * (1 - share))), 0.0)
    return 2 * gained.sum(axis=-1)


def fits(
    design: Float[np.ndarray, "sizes terms"],
    successes: Float[np.ndarray, "... sizes"],
    items: Float[np.ndarray, " sizes"],
    chance: float,
    top: Any,
) -> tuple[Float[np.ndarray, "... terms"], Float[np.ndarray, "..."]]:
    """Return the maximum-likelihood coefficients of `design` and the deviance, for each table of success counts.

    Each step of Fisher scoring solves weighted least squares, and is halved until the deviance does not rise. A small
    ridge keeps steps finite if the counts do not determine a coefficient. A table that has converged takes no further
    steps.

    Args:
        design: the variables in which eta = log(L c N^-alpha) is linear.
        successes: solved items at each size.
        items: number of items at each size.
        chance: accuracy of guessing.
        top: accuracy of an infinite model, for each table.
    """
    tables = successes.reshape(-1, successes.shape[-1])
    tops = np.broadcast_to(np.asarray(top, float), successes.shape[:-1]).reshape(-1, 1)
    observed = (tables + 0.5) / (items + 1.0)
    above = np.clip((observed - chance) / (tops - chance), 0.02, 0.98)
    start = design.T @ np.log(-np.log(above))[..., None]
    theta = np.linalg.solve(design.T @ design + 1e-9 * np.eye(design.shape[1]), start)[..., 0]
    loss = deviance(tables, items, accuracy_of(theta @ design.T, chance, tops))
    left = np.arange(len(tables))
    for _ in range(_STEPS):
        own = tables[left], items, chance, tops[left]
        tried, found = _shortened(design, theta[left], _scored(design, theta[left], *own), loss[left], *own)
        gain = loss[left] - found
        theta[left], loss[left] = tried, found
        left = left[gain >= 1e-9]
        if not len(left):
            break
    return theta.reshape(*successes.shape[:-1], -1), loss.reshape(successes.shape[:-1])


def _scored(design: np.ndarray, theta: np.ndarray, tables: np.ndarray, items: np.ndarray, chance: float,
            tops: np.ndarray) -> Float[np.ndarray, "tables terms"]:  # fmt: skip
    """Return a step of Fisher scoring for each table, scaled so that no coefficient moves by more than 3."""
    eta = np.clip(theta @ design.T, -_LARGEST, 6.0)
    share = np.clip(accuracy_of(eta, chance, tops), 1e-12, 1 - 1e-12)
    slope = -(tops - chance) * np.exp(eta - np.exp(eta))
    score = (items * (tables / items - share) * slope / (share * (1 - share))) @ design
    normal = (design.T * (items * slope**2 / (share * (1 - share)))[:, None, :]) @ design
    trace = np.maximum(np.trace(normal, axis1=-2, axis2=-1), 1.0)[..., None, None]
    step = np.linalg.solve(normal + trace * 1e-9 * np.eye(design.shape[1]), score[..., None])[..., 0]
    return step * np.minimum(1.0, 3.0 / np.maximum(np.abs(step).max(axis=-1, keepdims=True), 1e-300))


def _shortened(
    design: np.ndarray, theta: np.ndarray, step: np.ndarray, loss: np.ndarray, tables: np.ndarray, items: np.ndarray,
    chance: float, tops: np.ndarray,
) -> tuple[Float[np.ndarray, "tables terms"], Float[np.ndarray, " tables"]]:  # fmt: skip
    """Halve each step until the deviance does not rise. If all 12 lengths are too long, take no step."""
    tried, found, worse = theta.copy(), loss.copy(), np.arange(len(theta))
    for halvings in range(12):
        own = theta[worse] + step[worse] / 2**halvings
        value = deviance(tables[worse], items, accuracy_of(own @ design.T, chance, tops[worse]))
        good = value <= loss[worse] + 1e-12
        tried[worse[good]], found[worse[good]] = own[good], value[good]
        worse = worse[~good]
        if not len(worse):
            break
    return tried, found


def fits_with_top(
    designs: Float[np.ndarray, "sizes terms"],
    successes: Float[np.ndarray, "tables sizes"],
    items: Float[np.ndarray, " sizes"],
    chance: float,
    gain: float = 0.0,
) -> tuple[Float[np.ndarray, "tables terms"], Float[np.ndarray, " tables"], Float[np.ndarray, " tables"]]:
    """Fit each table, including the accuracy of an infinite model. Return coefficients, deviance and this accuracy.

    The fit tries several accuracies for the infinite model: 1, and accuracies whose error is a share of the error at
    the best size. An accuracy of the infinite model below 1 means that the loss has a floor.

    Args:
        designs: as in `fits`.
        successes: solved items at each size, for each table.
        items: number of items at each size.
        chance: accuracy of guessing.
        gain: a floor is used only if it lowers the deviance by more than this number.
    """
    theta, loss, tops = _by_top(designs, successes, items, chance)
    own = np.argmin(loss + gain * (np.arange(len(_FLOORS)) > 0), axis=1)
    rows = np.arange(len(own))
    return theta[rows, own], loss[rows, own], tops[rows, own]


def _by_top(
    designs: Float[np.ndarray, "sizes terms"], successes: Float[np.ndarray, "tables sizes"], items: Any, chance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients, deviance and `top`, for each table and each accuracy of an infinite model that is tried."""
    least = np.clip(np.max(successes / items, axis=1), chance + 0.05 * (1 - chance), 1.0)
    tops = np.maximum(1 - _FLOORS * (1 - least)[:, None], chance + 0.02 * (1 - chance))
    tables = np.broadcast_to(successes[:, None], (*tops.shape, successes.shape[1]))
    return *fits(designs, tables, items, chance, tops), tops


def steepest_with_floor(
    design: Float[np.ndarray, "sizes 2"],
    successes: Float[np.ndarray, " sizes"],
    items: Float[np.ndarray, " sizes"],
    chance: float,
    gain: float,
) -> float:
    """Return the largest exponent among the fits with a floor whose deviance is at most `gain` above that without a
    floor.
    """
    theta, loss, _ = _by_top(design, successes[None], items, chance)
    return float(np.max(theta[0, :, 1][loss[0] <= loss[0, 0] + gain]))


def error_of_slope(
    design: Float[np.ndarray, "sizes 2"],
    theta: Float[np.ndarray, " 2"],
    items: Float[np.ndarray, " sizes"],
    chance: float,
    top: float,
) -> float:
    """Return the standard error of the second coefficient, which is proportional to alpha, from the Fisher information,
    or infinity if this information is singular.
    """
    eta = np.clip(design @ theta, -_LARGEST, 6.0)
    share = np.clip(accuracy_of(eta, chance, top), 1e-12, 1 - 1e-12)
    weight = items * ((top - chance) * np.exp(eta - np.exp(eta))) ** 2 / (share * (1 - share))
    centred = design[:, 1] - np.sum(weight * design[:, 1]) / np.sum(weight) if weight.any() else 0 * weight
    information = float(np.sum(weight * centred**2))
    return 1 / np.sqrt(information) if information > 0 else np.inf
