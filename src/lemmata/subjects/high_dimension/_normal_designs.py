"""Minimum-norm least squares fits to normal rows whose covariance has given eigenvalues, in NumPy."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float


def least_norm(x: Float[np.ndarray, "*batch n p"], y: Float[np.ndarray, "*batch n k"]) -> Float[np.ndarray, "..."]:
    """Return the minimum-norm least squares fit to each column of y, computed from the smaller of x x' and x'x."""
    turned = np.swapaxes(x, -1, -2)
    if x.shape[-2] < x.shape[-1]:
        return turned @ np.linalg.solve(x @ turned, y)
    return np.linalg.solve(turned @ x, turned @ y)


def noise_fits(
    values: Float[np.ndarray, " p"], rows: int, draws: int, noises: int, rng: np.random.Generator
) -> Float[np.ndarray, " draws"]:
    """Fit standard normal noise on draws of rows, and return the mean squared prediction at a new row for each draw.

    The mean is taken over noise vectors and over the new row.

    Args:
        values: the variances of the columns.
        rows: the number of rows of each draw.
        draws: the number of draws of rows.
        noises: the number of noise vectors for each draw.
        rng: the random generator.
    """
    found = np.empty(draws)
    for place in range(draws):
        x = rng.normal(size=(rows, len(values))) * np.sqrt(values)
        found[place] = np.mean(values @ least_norm(x, rng.normal(size=(rows, noises))) ** 2)
    return found


def falling_root(value: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a decreasing function between `low` and `high`, from 60 steps of bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) > 0 else (low, middle)
    return (low + high) / 2
