"""The best approximations of an iterated tent map by functions with few affine pieces, from dynamic programming.

The tent map rises linearly from 0 at 0 to 1 at 1/2, and falls to 0 at 1. Its k-fold iterate is its composition with
itself.
"""

import functools

import numpy as np
from scipy.optimize import minimize


@functools.cache
def _cost_of_piece(phase: int, length: int) -> float:
    """Return the least L_1 distance of a line to a triangle wave with a period of 8 grid cells.

    The distance is taken over `length` cells, beginning at the cell `phase`.
    """
    if length <= 4 - phase:
        return 0.0
    at = (phase + np.arange(length + 1)) % 8
    wave, place = np.where(at <= 4, at / 4, 2 - at / 4), (np.arange(length + 1) - length / 2) / 4

    def distance(line: np.ndarray) -> tuple[float, np.ndarray]:
        gap = wave - line[0] - line[1] * place
        one, two = gap[:-1], gap[1:]
        total = np.maximum(np.abs(one) + np.abs(two), 1e-100)
        squares, crossed = one**2 + two**2, one * two < 0
        along = lambda end: np.where(
            crossed, (2 * end * total - squares * np.sign(end)) / (2 * total**2), np.sign(one + two) / 2
        )
        pull = np.append(along(one), 0.0) + np.append(0.0, along(two))
        value = np.where(crossed, squares / (2 * total), total / 2).sum()
        return value / 4, -np.asarray([pull.sum(), pull @ place]) / 4

    return float(minimize(distance, [0.5, 0.0], jac=True, method="BFGS").fun)


@functools.cache
def best_errors(k: int) -> tuple[float, ...]:
    """Return the L_1 distances of the k-fold tent map to the best functions with 1, 2, ..., 2^k pieces.

    Pieces may begin and end at the multiples of 2^-k/4, and the function may jump there.
    """
    cells = 4 * 2**k
    # The wave rises or falls over 4 cells. A reflection turns falling runs into rising runs: phases count modulo 4.
    cost = np.asarray([[_cost_of_piece(start % 4, length) for length in range(cells + 1)] for start in range(4)])
    best, errors = cost[0].copy(), []
    for _ in range(2**k):
        errors.append(float(best[-1]) / 2**k)
        best = np.asarray([min(best[i] + cost[i % 4, j - i] for i in range(j + 1)) for j in range(cells + 1)])
    return tuple(errors)
