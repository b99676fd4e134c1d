"""Squared Euclidean distances by NumPy, in tiles that fit into the cache, without compilation."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

# The number of entries of a tile (two megabytes). The largest number of pairs times coordinates that are recomputed in
# one step.
_TILE, _REPAIRED = 2**18, 2**20

# Squares below this share of |x|² + |y|² have lost two digits if they come from inner products (`squared_distances`).
_NEAR = 1e-2


def numpy_distances(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    lengths: Float[np.ndarray, "*columns"],
    profile: Callable[[Float[np.ndarray, "a m"]], Float[np.ndarray, "a m"]],
) -> Float[np.ndarray, "n m"]:
    """The matrix profile(s_ij) of s_ij = sum_k (x_ik - y_jk)² / lengths_k², as accurate as in `squared_distances`.

    Squares are computed from inner products of the points minus the mean of y. Squares that lose two digits or more by
    cancellation are computed again from differences, so equal points have the distance 0. On one core, for an RBF
    kernel in 10 dimensions, an entry takes a quarter of the processor time of compiled code.

    Args:
        x: points.
        y: points.
        lengths: the length scale by which differences are divided: one for all columns, or one for each column.
        profile: the function from squares to entries of the kernel; it may overwrite the squares.
    """
    centre = y.mean(axis=0)
    found = np.empty((len(x), len(y)))
    with np.errstate(over="ignore", invalid="ignore"):  # squares that overflow are computed again from differences
        b = (y - centre) / lengths
        norms = np.einsum("ij,ij->i", b, b)
        # With two more columns, the matrix product also adds the squared norms.
        right = np.stack([*(-2.0 * b.T), np.ones(len(y)), norms])
        step = max(1, _TILE // max(1, len(y)))
        for start in range(0, len(x), step):
            part = slice(start, start + step)
            a = (x[part] - centre) / lengths
            own = np.einsum("ij,ij->i", a, a)
            squares = np.matmul(np.column_stack([a, own, np.ones(len(a))]), right, out=found[part])
            _repair(squares, own, norms, x[part], y, lengths)
            profile(squares)
    return found


def _repair(
    squares: np.ndarray, own: np.ndarray, norms: np.ndarray, x: np.ndarray, y: np.ndarray, lengths: np.ndarray
) -> None:
    """Recompute the squares that lost digits by cancellation, from differences of the points."""
    rows = np.flatnonzero(~(squares.min(axis=1) >= _NEAR * (own + norms.max())))
    if not len(rows):
        return
    near = ~(squares[rows] >= _NEAR * (own[rows, None] + norms))
    at, columns = np.nonzero(near)
    step = max(1, _REPAIRED // x.shape[1])
    for start in range(0, len(at), step):
        i, j = rows[at[start : start + step]], columns[start : start + step]
        squares[i, j] = np.sum(((x[i] - y[j]) / lengths) ** 2, axis=1)


def numpy_matern(nu: float) -> Callable[[Float[np.ndarray, "a m"]], Float[np.ndarray, "a m"]]:
    """The Matérn kernel for nu = 1/2, 3/2 or 5/2, as a function of |x - y|² / lengthscale², which it overwrites.

    Args:
        nu: the order, 1/2, 3/2 or 5/2.
    """

    def profile(squares: np.ndarray) -> np.ndarray:
        squares *= 2 * nu
        root = np.sqrt(squares)
        if nu < 1:
            return np.exp(-root, out=squares)
        decay = np.exp(-root)
        root += 1
        if nu > 2:
            squares /= 3
            root += squares
        return np.multiply(root, decay, out=squares)

    return profile
