"""The risk of the minimum-norm least squares fit for any covariance, from the covariance itself or from rows."""

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

_RANK = 1e-22  # least ratio of eigenvalues: about the square of p eps, the relative rounding error of singular values


class LinearTarget(NamedTuple):
    """The quantities that determine the risk of a linear fit.

    Args:
        eigenvalues: the eigenvalues of the covariance of the columns, or of x'x/N for N rows x.
        squares: the square of the target's coefficient in the direction of each eigenvector. An estimate of this square
            may be negative.
        noise: the variance of the target that no linear function of the columns explains.
        signal: the variance of the target that the best linear function explains.
        rows: the number N if the eigenvalues come from N rows; infinity for a known covariance.
    """

    eigenvalues: Float[np.ndarray, " p"]
    squares: Float[np.ndarray, " p"]
    noise: float
    signal: float
    rows: float


class Risk(NamedTuple):
    """The bias, the variance and the effective regularisation kappa of fits to n rows, and `dimension`, which is the
    sum of (l/(l + kappa))² over the eigenvalues l of the covariance.
    """

    bias: float
    variance: float
    kappa: float
    dimension: float


def from_covariance(
    covariance: Float[np.ndarray, "p p"], coefficients: Float[np.ndarray, " p"], noise: float, columns: int
) -> LinearTarget:
    """Return the `LinearTarget` for the first `columns` columns, from a known covariance.

    The part of the target that only the other columns explain counts as noise.

    Args:
        covariance: the covariance of all columns, positive definite.
        coefficients: the coefficients of the target for all columns.
        noise: the variance of the target around its linear function.
        columns: the number of leading columns that are used.
    """
    used = covariance[:columns, :columns]
    best = np.linalg.solve(used, covariance[:columns] @ coefficients)
    whole, part = float(coefficients @ covariance @ coefficients), float(best @ used @ best)
    values, vectors = np.linalg.eigh(used)
    return LinearTarget(values, (vectors.T @ best) ** 2, noise + max(whole - part, 0.0), part, np.inf)


def from_rows(
    x: Float[np.ndarray, "N p"], y: Float[np.ndarray, " N"], noise: float | None
) -> LinearTarget | None:  # fmt: skip
    """Estimate the `LinearTarget` from N > p rows by least squares. If columns are combinations of others, return None.

    In a direction with eigenvalue l, the square of the least-squares coefficient exceeds the true square by noise/(N l)
    on average. Therefore the function subtracts noise/(N l).

    Args:
        x: the rows, an array of shape (N, p).
        y: the target of each row.
        noise: the variance of the noise, or None to estimate this variance from the residuals.
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
    """Return the bias and the variance of the minimum-norm interpolant of n rows, or of least squares if n > p.

    For a known covariance, let l_i be the eigenvalues and b_i the coefficients in the directions of the eigenvectors.
    Let kappa be the root of sum l_i/(l_i + kappa) = n, and let D = sum (l_i/(l_i + kappa))². The variance is noise D/(n
    - D), and the bias is kappa² sum l_i b_i²/(l_i + kappa)² / (1 - D/n). With n > p, kappa and the bias are 0, and D =
    p.

    The eigenvalues from N rows are more widely spread than the eigenvalues of the covariance. If mu is the root of the
    equation with the eigenvalues from the rows, then kappa = mu/(1 - n/N). To derive this relation, let S be the
    covariance and S_N the covariance of the N rows. Let D_1(kappa) = sum l_i/(l_i + kappa). Then mu (S_N + mu)^-1 is
    close to kappa (S + kappa)^-1 for kappa (1 - D_1(kappa)/N) = mu. The derivative d mu/d kappa = 1 - D/N of this
    equation determines D and the bias.

    Args:
        problem: the eigenvalues, the target and the noise.
        n: the number of rows. For n = p, the variance is infinite.
    """
    values, p, share = problem.eigenvalues, len(problem.eigenvalues), n / problem.rows
    if n > p:
        return Risk(0.0, problem.noise * p / (n - p), 0.0, float(p))
    if n == p:
        return Risk(0.0, np.inf, 0.0, float(p))
    excess = lambda log: float((values / (values + np.exp(log))).sum()) - n
    # Limits for the root: each term is at least l_min/(l_min + mu), and the sum is below (sum of all l)/mu.
    low, high = np.log(values.min() * (p - n) / n) - 1e-9, np.log(values.sum() / n) + 1e-9
    root: Any = brentq(excess, low, high, xtol=1e-13)
    mu = math.exp(root)
    kappa = mu / (1 - share)
    slope = -float((values / (values + mu) ** 2).sum())
    dimension = (n + kappa * slope) / (1 + kappa * slope / problem.rows)
    moved = float((problem.squares * values / (values + mu) ** 2).sum()) * (1 - dimension / problem.rows)
    bias = kappa**2 * moved / (1 - dimension / n)
    return Risk(max(bias, 0.0), problem.noise * dimension / (n - dimension), kappa, dimension)
