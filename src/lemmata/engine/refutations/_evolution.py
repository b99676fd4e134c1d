"""The search over a problem's free fields without derivatives: the covariance matrix adaptation evolution strategy."""

from collections.abc import Callable

import cmaes
import numpy as np
from jaxtyping import Float

_MOST = 400  # the largest number of variables, which is the width of the covariance matrix
_LARGE = 1e30  # the strategy does not accept entries of this size

Vector = Float[np.ndarray, " p"]


def evolve(height: Callable[[Vector], float], start: Vector, seed: int, generations: int = 40) -> tuple[Vector, float]:
    """The highest point that the strategy found, and the height of this point.

    Args:
        height: the function of a point to maximise. The function returns -inf if the point does not count.
        start: the centre of the first generation.
        seed: the seed of the strategy.
        generations: the largest number of generations.
    """
    best, highest = start, height(start)
    if not 1 < len(start) <= _MOST or not np.all(np.abs(start) < _LARGE):
        return best, highest
    strategy = cmaes.CMA(mean=start, sigma=0.3 * max(float(np.sqrt(np.mean(start**2))), 1e-2), seed=seed)
    for _ in range(generations):
        told = []
        for _ in range(strategy.population_size):
            z = strategy.ask()
            found = height(z)
            told.append((z, -found if np.isfinite(found) else 1e6))
            if found > highest:
                best, highest = z, found
        strategy.tell(told)
        if strategy.should_stop():
            break
    return best, highest
