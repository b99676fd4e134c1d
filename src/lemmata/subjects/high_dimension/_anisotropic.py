"""The risk of the least squares fit of smallest norm for any covariance, from the covariance itself or from rows."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

_RANK = 1e-22  # share of the largest eigenvalue: the square of a singular value that rounding moves by p eps


class LinearTarget(NamedTuple):
    """What the risk depends on: the eigenvalues, the target along the eigenvectors, the noise, and the number of rows.

    Args:
        eigenvalues: the eigenvalues of the covariance of the columns, or of x'x/N for N rows.
        squares: the square of the target's coefficient in each of these directions; an estimate of such a square may be
            negative.
        noise: the variance of the target that no linear function of the columns explains.
        signal: the variance that the best linear function explains.
        rows: N, if the eigenvalues come from N rows; infinity for a known covariance.
    """

    eigenvalues: Float[np.ndarray, " p"]
    squares: Float[np.ndarray, " p"]
    noise: float
    signal: float
    rows: float


class Risk(NamedTuple):
    """Bias, variance and effective regularisation kappa of fits to n rows, and D, the sum of (l/(l + kappa))² over the
    eigenvalues l.
    """

    bias: float
    variance: float
    kappa: float
    dimension: float


def from_covariance(
    covariance: Float[np.ndarray, "p p"], coefficients: Float[np.ndarray, " p"], noise: float, columns: int
) -> LinearTarget:
    """Return the problem for the first columns.

    The signal that only the other columns explain counts as noise.

    Args:
        covariance: the covariance of all columns, positive definite.
        coefficients: the coefficients of the target.
        noise: the variance of the target around its linear function.
        columns: how many of the columns are used.
    """
    used = covariance[:columns, :columns]
    best = np.linalg.solve(used, covariance[:columns] @ coefficients)
    whole, part = float(coefficients @ covariance @ coefficients), float(best @ used @ best)
    values, vectors = np.linalg.eigh(used)
    return LinearTarget(values, (vectors.T @ best) ** 2, noise + max(whole - part, 0.0), part, np.inf)


def from_rows(
    x: Float[np.ndarray, "N p"], y: Float[np.ndarray, " N"], noise: float | None
) -> LinearTarget | None:  # fmt: skip
    """Estimate the problem from N > p rows by least squares; return None if columns are combinations of others.

    In a direction with eigenvalue l, the squared coefficient of least squares is too large by noise/(N l) on average.
    So noise/(N l) is subtracted.

    Args:
        x: the rows, an array of shape (N, p).
        y: the target of each row.
        noise: the variance of the noise if it is known.
    """
    rows, p = x.shape
    left, strengths, _ = np.linalg.svd(x, full_matrices=False)
    values = strengths**2 / rows
    if not values[-1] > _RANK * values[0]:
        return None
    inner = left.T @ y
    residual = y - left @ inner
    own = float(residual @ residual) / (rows - p) if noise is None else noise
    coefficients = inner / strengths
    squares = coefficients**2 - own / (rows * values)
    return LinearTarget(values, squares, own, float(values @ squares), float(rows))


def ridgeless(problem: LinearTarget, n: int) -> Risk:
    """Return bias and variance of the interpolant of smallest norm, or of least squares, on n rows.

    For a known covariance with eigenvalues l_i and coefficients b_i in the directions of its eigenvectors, kappa
    solves sum l_i/(l_i + kappa) = n. Let D = sum (l_i/(l_i + kappa))². The variance is noise D/(n - D), and the bias
    is kappa² sum l_i b_i²/(l_i + kappa)² / (1 - D/n). With n > p, kappa and the bias are 0 and D = p.

    The eigenvalues from N rows are more widely spread than the eigenvalues of the covariance. If mu solves the
    equation with the eigenvalues from the rows, then kappa = mu/(1 - n/N). The reason: let S be the covariance and S_N
    the covariance of the N rows. Then mu (S_N + mu)^-1 is close to kappa (S + kappa)^-1 for kappa (1 - D_1(kappa)/N) =
    mu with D_1 = sum l_i/(l_i + kappa). The derivative of this relation, d mu/d kappa = 1 - D/N, gives D and the bias.

    Args:
        problem: the eigenvalues, the target and the noise.
        n: the number of rows, not equal to p.
    """
    values, p, share = problem.eigenvalues, len(problem.eigenvalues), n / problem.rows
    if n > p:
        return Risk(0.0, problem.noise * p / (n - p), 0.0, float(p))
    if n == p:
        return Risk(0.0, np.inf, 0.0, float(p))
    excess = lambda log: float((values / (values + np.exp(log))).sum()) - n
    # Each term is above l_min/(l_min + mu), and the sum below sum l/mu.
    low, high = np.log(values.min() * (p - n) / n) - 1e-9, np.log(values.sum() / n) + 1e-9
    root: Any = brentq(excess, low, high, xtol=1e-13)
    mu = math.exp(root)
    kappa = mu / (1 - share)
    slope = -float((values / (values + mu) ** 2).sum())
    dimension = (n + kappa * slope) / (1 + kappa * slope / problem.rows)
    moved = float((problem.squares * values / (values + mu) ** 2).sum()) * (1 - dimension / problem.rows)
    bias = kappa**2 * moved / (1 - dimension / n)
    return Risk(max(bias, 0.0), problem.noise * dimension / (n - dimension), kappa, dimension)
