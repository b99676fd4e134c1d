"""Least squares fits of smallest norm to normal rows of a given covariance spectrum, in NumPy."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float


def least_norm(x: Float[np.ndarray, "*batch n p"], y: Float[np.ndarray, "*batch n k"]) -> Float[np.ndarray, "..."]:
    """The fit of smallest norm to each column of y, from the smaller of the two Gram matrices."""
    turned = np.swapaxes(x, -1, -2)
    if x.shape[-2] < x.shape[-1]:
        return turned @ np.linalg.solve(x @ turned, y)
    return np.linalg.solve(turned @ x, turned @ y)


def noise_fits(
    values: Float[np.ndarray, " p"], rows: int, draws: int, noises: int, rng: np.random.Generator
) -> Float[np.ndarray, " draws"]:
    """For each of some draws of rows: the mean square on a new row of fits to standard normal noise.

    Args:
        values: variances of the columns.
        rows: of a draw.
        draws: of rows.
        noises: for each draw.
        rng: randomness.
    """
    found = np.empty(draws)
    for place in range(draws):
        x = rng.normal(size=(rows, len(values))) * np.sqrt(values)
        found[place] = np.mean(values @ least_norm(x, rng.normal(size=(rows, noises))) ** 2)
    return found


def falling_root(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0, by halving an interval that contains the place 60 times."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) > 0 else (low, middle)
    return (low + high) / 2
