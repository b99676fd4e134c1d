"""Exact optimal transport between two samples: the cost, the dual potentials, and the critic from the potentials."""

import dataclasses
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import optimize, sparse
from scipy.spatial.distance import cdist

from lemmata.errors import DataError, SolverError

_PIVOTS = 100_000_000
_PROGRAM = 250_000  # the largest number of entries of a cost matrix for the solver HiGHS
_CHUNK = 4_000_000
_ROWS = 64
_COLUMNS, _CANCELS = 16, 1e-3


@dataclasses.dataclass(frozen=True, eq=False)
class Transport:
    """A transport of least cost between two samples x and y. The rows of each sample have equal weights.

    Args:
        cost: the mean cost of the transport.
        left: the dual potentials of the rows of x.
        right: the dual potentials of the rows of y. For each pair (i, j), left[i] + right[j] is at most the cost of the
            pair. Up to rounding, the mean of `left` plus the mean of `right` is `cost`.
        gap: the duality gap: `cost` minus the mean of `left` minus the mean of `right`.
        critic: a function with Lipschitz constant 1 that is `left` at x and minus `right` at y. None if costs are not
            distances.
    """

    cost: float
    left: Float[np.ndarray, " n"]
    right: Float[np.ndarray, " m"]
    gap: float
    critic: Callable[[np.ndarray], np.ndarray] | None = None


def transport(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> Transport:
    """Return the transport of least mean Euclidean distance between two samples, with its critic."""
    if x.shape[1] == 1:
        return _on_a_line(x[:, 0], y[:, 0])
    costs = distances(x, y)
    found = solved(costs)

    def critic(rows: np.ndarray) -> np.ndarray:
        step = max(1, _CHUNK // len(y))
        parts = [
            (distances(rows[start : start + step], y) - found.right).min(axis=1) for start in range(0, len(rows), step)
        ]
        return np.concatenate(parts)

    return dataclasses.replace(found, critic=critic)


def solved(costs: Float[np.ndarray, "n m"]) -> Transport:
    """Return the transport of least mean cost, computed by the package POT if it is installed, and else by SciPy.

    Args:
        costs: the cost of each pair of rows.

    Raises:
        DataError: if POT is not installed, and the samples are large and differ in size.
        SolverError: if the method does not converge.
    """
    n, m = costs.shape
    pot = library()
    if pot is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, log = pot.emd(np.full(n, 1 / n), np.full(m, 1 / m), costs, numItermax=_PIVOTS, log=True)
        if log["warning"] is not None:
            raise SolverError("optimal transport", found=str(log["warning"])[:80], rule="a solution")
        cost, left = float(log["cost"]), np.asarray(log["u"])
    elif n == m:
        order = optimize.linear_sum_assignment(costs)[1]
        cost, left = float(costs[np.arange(n), order].mean()), _potentials(costs, order)
    else:
        cost, left = _program(costs)
    right = np.full(m, np.inf)
    for start in range(0, n, _ROWS):  # parts of the costs that fit into a processor's cache
        part = slice(start, start + _ROWS)
        np.minimum(right, (costs[part] - left[part, None]).min(axis=0), out=right)
    gap = cost - float(left.mean() + right.mean())
    if not gap <= 1e-6 * np.abs(costs).max():
        raise SolverError(
            "optimal transport",
            found=f"a duality gap of {gap:.3g}",
            rule="a gap that is at most of the size of rounding errors",
        )
    return Transport(cost, left, right, gap)


def distances(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Return the Euclidean distances between rows of x and rows of y, with a relative error of about 1e-12.

    With 16 or more columns, the distances are computed by a matrix product. If the distance of two rows is small
    relative to their norms, terms would cancel in this computation. Distances of this kind are computed from the
    difference of the two rows.
    """
    if x.shape[1] < _COLUMNS:
        return cdist(x, y)
    centre = x.mean(axis=0)
    near_x, near_y = x - centre, y - centre
    norms = np.einsum("nd,nd->n", near_x, near_x)[:, None] + np.einsum("md,md->m", near_y, near_y)
    squares = near_x @ near_y.T
    squares *= -2
    squares += norms
    norms *= _CANCELS
    left, right = np.nonzero(squares <= norms)
    if 4 * len(left) > squares.size:
        return cdist(x, y)
    step = max(1, _CHUNK // x.shape[1])
    for start in range(0, len(left), step):
        i, j = left[start : start + step], right[start : start + step]
        squares[i, j] = np.square(x[i] - y[j]).sum(axis=1)
    return np.sqrt(squares, out=squares)


def assigned(costs: Float[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return, for each row, the index of its column in a pairing of rows and columns with the least total cost."""
    return optimize.linear_sum_assignment(costs)[1]


def library() -> Any:
    """Return the module of the package POT, or None if the package is not installed."""
    try:
        with warnings.catch_warnings():  # at the first import, Python warns of escapes in the docstrings of POT
            warnings.simplefilter("ignore")
            return importlib.import_module("ot")
    except ImportError:
        return None


def _on_a_line(x: np.ndarray, y: np.ndarray) -> Transport:
    """Return the transport in one dimension. The cost is the area between both distribution functions. The slope of the
    critic is 1, -1, or 0 where both functions are equal.
    """
    places = np.sort(np.concatenate([x, y]))
    above = np.searchsorted(np.sort(y), places[:-1], "right") / len(y)
    above -= np.searchsorted(np.sort(x), places[:-1], "right") / len(x)
    widths = np.diff(places)
    heights = np.concatenate([[0.0], np.cumsum(np.sign(above) * widths)])
    critic = lambda rows: np.interp(np.ravel(rows), places, heights)
    cost = float(np.abs(above) @ widths)
    left, right = critic(x), -critic(y)
    return Transport(cost, left, right, cost - float(left.mean() + right.mean()), critic)


def _potentials(costs: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return dual potentials of the rows for an optimal assignment, in which row i has the column order[i]. The
    potentials are lengths of shortest paths in a graph of the rows.
    """
    # The condition is left[i] - left[k] <= costs[i, order[k]] - costs[k, order[k]], the length of a step from k to i.
    lengths = costs.T[order]
    lengths -= np.diagonal(lengths)[:, None].copy()
    left, changed = np.zeros(len(costs)), np.arange(len(costs))
    for _ in range(len(costs)):
        if not len(changed):
            break
        shorter = left
        for start in range(0, len(changed), _ROWS):
            part = changed[start : start + _ROWS]
            shorter = np.minimum(shorter, (lengths[part] + shorter[part, None]).min(axis=0))
        left, changed = shorter, np.flatnonzero(shorter < left)
    return left


def _program(costs: np.ndarray) -> tuple[float, np.ndarray]:
    n, m = costs.shape
    if n * m > _PROGRAM:
        raise DataError(
            "x and y",
            found=f"{n} and {m} rows, without POT",
            rule=f"equal numbers of rows, or numbers of rows whose product is at most {_PROGRAM}",
            remedy="install POT with pip install 'lemmata[transport]', or pass equal numbers of rows",
        )
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    sums = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    found = optimize.linprog(costs.ravel(), A_eq=sparse.vstack([rows, columns]).tocsr(), b_eq=sums, method="highs")
    if found.status != 0:
        raise SolverError("optimal transport", found=str(found.message)[:80], rule="a solution")
    return float(found.fun), np.asarray(found.eqlin.marginals)[:n]
