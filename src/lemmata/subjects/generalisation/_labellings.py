"""Count labellings of points one by one. A labelling is a whole number whose bit i is the label of point i."""

import itertools
import math

import numpy as np
from jaxtyping import Float, Int


def cover_count(points: int, dimension: int) -> int:
    """Return Cover's number C(N, d) = 2 sum_{i<d} binom(N - 1, i)."""
    return 2 * sum(math.comb(points - 1, i) for i in range(dimension))


def halfspace_labellings(points: Float[np.ndarray, "n d"]) -> Int[np.ndarray, " labellings"]:
    """Return all labellings of n >= d points in general position by halfspaces through the origin.

    The weights that give one labelling form a cone without lines. Such a cone has a ray along which d - 1 of the points
    have inner product 0 with the weights. Weights next to the ray give these d - 1 points every combination of signs.
    So every labelling occurs next to some ray.
    """
    n, d = points.shape
    subsets = np.array(list(itertools.combinations(range(n), d - 1)))
    rays = np.linalg.svd(points[subsets])[2][:, -1]
    bits = 1 << np.arange(n, dtype=np.int64)
    fixed = rays @ points.T > 0
    np.put_along_axis(fixed, subsets, False, axis=1)
    choices = np.array(list(itertools.product((0, 1), repeat=d - 1)))
    free = bits[subsets] @ choices.T
    codes = (fixed @ bits)[:, None] + free
    return np.unique(np.concatenate([codes, bits.sum() - codes]))


def shattered_points(labellings: Int[np.ndarray, " labellings"], points: int) -> int:
    """Return the size of the largest set of points on which every labelling occurs. All sets are tried."""
    for size in range(1, points + 1):
        masks = [sum(1 << i for i in chosen) for chosen in itertools.combinations(range(points), size)]
        if not any(len(np.unique(labellings & mask)) == 2**size for mask in masks):
            return size - 1
    return points
