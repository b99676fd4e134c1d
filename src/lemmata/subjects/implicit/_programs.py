"""Linear programs, quadratic programs and convex duals for a user's rows, in NumPy and SciPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog, nnls

from lemmata.errors import SolverError

_HALVINGS = 40
_NEWTON = 200


def least_sum(a: Float[np.ndarray, "n p"], b: Float[np.ndarray, " n"]) -> tuple[np.ndarray, float]:
    """Return the solution w of A w = b with the least l_1 norm, and a number that is below 1 if w is unique.

    Returns:
        The solution w and a number. Let S be the support of w, and consider all nu with A_S'nu = sign(w_S). The number
        is the least value, over these nu, of the largest |a'nu| over columns a outside S. If the number is below 1 and
        the columns in S are independent, all other solutions have larger l_1 norms.
    """
    n, p = a.shape
    w = _solved(np.ones(2 * p), None, None, np.concatenate([a, -a], axis=1), b, [(0, None)] * (2 * p))
    w = w[:p] - w[p:]
    used = np.abs(w) > 1e-9 * np.abs(w).max()
    if used.all():
        return w, 0.0
    others = np.concatenate([a[:, ~used].T, -a[:, ~used].T])
    upper = np.concatenate([others, -np.ones((len(others), 1))], axis=1)
    equal = np.concatenate([a[:, used].T, np.zeros((used.sum(), 1))], axis=1)
    free = [(None, None)] * n + [(0, None)]
    found = _solved(np.append(np.zeros(n), 1.0), upper, np.zeros(len(others)), equal, np.sign(w[used]), free)
    return w, float(found[-1])


def _solved(cost: Any, upper: Any, most: Any, equal: Any, value: Any, bounds: Any) -> np.ndarray:
    found = linprog(cost, upper, most, equal, value, bounds, method="highs")
    if found.status != 0:
        raise SolverError("a linear program for the interpolants", found=found.message, remedy="scale columns alike")
    return found.x


def least_largest(a: Float[np.ndarray, "n p"], b: Float[np.ndarray, " n"]) -> np.ndarray:
    """Return a solution w of A w = b with the least l_inf norm."""
    n, p = a.shape
    upper = np.block([[np.eye(p), -np.ones((p, 1))], [-np.eye(p), -np.ones((p, 1))]])
    cost, equal = np.append(np.zeros(p), 1.0), np.concatenate([a, np.zeros((n, 1))], axis=1)
    return _solved(cost, upper, np.zeros(2 * p), equal, b, [(None, None)] * p + [(0, None)])[:p]


def nonnegative(a: Float[np.ndarray, "n p"], b: Float[np.ndarray, " n"]) -> bool:
    """Return whether A w = b has a solution w >= 0."""
    try:
        return bool(nnls(a, b)[1] <= 1e-9 * np.linalg.norm(b))
    except RuntimeError as error:  # too many steps
        found, remedy = "the solver could not decide whether a solution w >= 0 exists", "scale columns alike"
        raise SolverError("non-negative least squares", found=found, remedy=remedy) from error


def dual_solution(
    a: Float[np.ndarray, "n p"],
    b: Float[np.ndarray, " n"],
    start: Float[np.ndarray, " n"],
    primal: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> np.ndarray | None:
    """Return the nu at which the primal solution w(A'nu) solves A w = b, or None if Newton's method finds no such nu.

    Args:
        a: the matrix A of the system.
        b: the right-hand side of the system.
        start: the nu at which Newton's method starts.
        primal: a function of A'nu that returns three arrays: values, their derivatives w, and their second derivatives.
            Newton's method minimises the sum of the values minus b'nu.
    """
    nu, size = start, np.linalg.norm(b)
    for _ in range(_NEWTON):
        with np.errstate(over="ignore", invalid="ignore"):
            values, w, second = primal(a.T @ nu)
            off = a @ w - b
            if np.linalg.norm(off) <= 1e-11 * size:
                return nu
            try:
                step = np.linalg.solve((a * second) @ a.T, off)
            except np.linalg.LinAlgError:
                return None
            before, slope = values.sum() - b @ nu, off @ step
            for halving in range(_HALVINGS):
                ahead = nu - 0.5**halving * step
                after = primal(a.T @ ahead)[0].sum() - b @ ahead
                if after <= before - 1e-4 * 0.5**halving * slope + 1e-12 * abs(before):
                    break
            else:
                return None
        nu = ahead
    with np.errstate(over="ignore", invalid="ignore"):
        off = a @ primal(a.T @ nu)[1] - b
    return nu if np.linalg.norm(off) <= 1e-8 * size else None


def largest_separator(z: Float[np.ndarray, "m d"]) -> np.ndarray | None:
    """Return the shortest w with <w, z_i> >= 1 for all i, or None if the rows cannot be separated.

    The quadratic program is solved on a growing set of rows, until all other rows satisfy the condition, too.

    Raises:
        SolverError: if the margin is smaller than rounding errors.
    """
    chosen = np.zeros(len(z), bool)
    chosen[: min(len(z), 2 * z.shape[1])] = True
    while True:
        system, target = np.concatenate([z[chosen].T, np.ones((1, chosen.sum()))]), np.append(np.zeros(z.shape[1]), 1.0)
        try:
            residual = target - system @ nnls(system, target)[0]
        except RuntimeError:  # too many steps
            residual = np.zeros(len(target))
        if np.linalg.norm(residual) <= 1e-6:
            if _separable(z):
                raise SolverError("the largest margin", found="a margin too small for double precision",
                          rule="a margin above rounding error",
                          remedy="scale the columns, or pass fewer rows")  # fmt: skip
            return None
        w = -residual[:-1] / residual[-1]
        values = z @ w
        missed = (values < 1 - 1e-8) & ~chosen
        if not missed.any():
            return w
        chosen[np.flatnonzero(missed)[np.argsort(values[missed])[: 2 * z.shape[1]]]] = True


def _separable(z: Float[np.ndarray, "m d"]) -> bool:
    """Return whether some w has <w, z_i> > 0 for all i. Each column is first divided by its largest absolute entry."""
    scaled = z / np.maximum(np.abs(z).max(axis=0), 1e-300)
    d = z.shape[1]
    upper, bounds = np.concatenate([-scaled, np.ones((len(z), 1))], axis=1), [(-1, 1)] * d + [(0, 1)]
    w = linprog(np.append(np.zeros(d), -1.0), upper, np.zeros(len(z)), bounds=bounds, method="highs")
    return bool(w.status == 0 and (scaled @ w.x[:d]).min() > 1e-6)
