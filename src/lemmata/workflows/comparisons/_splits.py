"""Split the rows into training rows and held-out rows. Every family uses the same splits."""

import dataclasses

import numpy as np
from jaxtyping import Int

FEWEST_TRAINING, STEPS = 8, 4


@dataclasses.dataclass(frozen=True)
class Splits:
    """Random splits of the rows.

    Args:
        orders: the training rows of each split. A training set of n rows consists of the first n of these rows.
        tests: the held-out rows of each split, which are the same for all sizes.
        sizes: the numbers of training rows, increasing; the last size is all training rows.
        permuted: a random permutation of all rows for each split, which shuffles the targets.
    """

    orders: Int[np.ndarray, "r n"]
    tests: Int[np.ndarray, "r m"]
    sizes: tuple[int, ...]
    permuted: Int[np.ndarray, "r N"]


def splits(total: int, test: float, repeats: int, seed: int) -> Splits:
    """Draw `repeats` random splits with training sets of n/8, n/4, n/2 and n rows, but at least 8 rows.

    >>> found = splits(100, 0.5, 3, seed=0)
    >>> found.orders.shape, found.tests.shape, found.sizes
    ((3, 50), (3, 50), (8, 12, 25, 50))
    """
    held = min(max(round(test * total), 2), total - FEWEST_TRAINING)
    n = total - held
    rng = np.random.default_rng([seed, total, 11])
    rows = np.stack([rng.permutation(total) for _ in range(repeats)])
    permuted = np.stack([rng.permutation(total) for _ in range(repeats)])
    sizes = {max(FEWEST_TRAINING, int(n / 2**step)) for step in range(STEPS)}
    return Splits(rows[:, :n], rows[:, n:], tuple(sorted(sizes)), permuted)
