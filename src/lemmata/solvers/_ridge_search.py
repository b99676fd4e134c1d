"""Find the ridge of least leave-one-out error from a few Cholesky factors, which cost less than an eigensystem."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ._in_place import SystemInPlace

# the numbers of random vectors for traces, of powers of the matrix and its inverse, and of mixed columns of targets
_PROBES, _POWERS, _COLUMNS = 8, 6, 8
# _POLE: the ridge of the Cholesky factor in `_guess`, in units of the mean diagonal entry. _GAIN: the share by which
# the error must fall for the search to continue.
_POLE, _GAIN = 1e-4, 1e-3


class Fitted(NamedTuple):
    """Kernel ridge regression at one ridge.

    Attributes:
        ridge: the ridge on the diagonal of the Gram matrix.
        jitter: the amount that was added to the ridge so that a Cholesky factor exists.
        coefficients: the coefficients alpha (n, k) of the fit K alpha to all rows.
        left_out: the targets minus the predictions at the requested rows (m, k), each by a fit without its row.
    """

    ridge: float
    jitter: float
    coefficients: Float[np.ndarray, "n k"]
    left_out: Float[np.ndarray, "m k"]


def fitted(system: SystemInPlace, y: Float[np.ndarray, "n k"], ridge: float, rows: Int[np.ndarray, " m"]) -> Fitted:
    """Solve kernel ridge regression, and compute the exact leave-one-out residuals of some rows.

    Args:
        system: the Gram matrix.
        y: the targets.
        ridge: the ridge, at least 0.
        rows: the rows whose leave-one-out residuals are computed. There may be none.
    """
    jitter = system.factorise(ridge)
    alpha = system.solved(y)
    left_out = alpha[rows] / system.inverse_diagonal(rows)[:, None] if len(rows) else alpha[rows]
    return Fitted(ridge, jitter, alpha, left_out)


def least_left_out(
    system: SystemInPlace,
    y: Float[np.ndarray, "n k"],
    ridges: Sequence[float] | Float[np.ndarray, " s"],
    rows: Int[np.ndarray, " m"],
    scale: Float[np.ndarray, " k"],
) -> Fitted:
    """Find a ridge of a list with nearly the least leave-one-out error, and return the fit at this ridge.

    The search starts at the ridge r with the smallest generalised cross-validation error of all n rows, n |(A + r)^-1
    y|² / (tr (A + r)^-1)². One Cholesky factor gives estimates of this error for all ridges (`_guess`). The search then
    moves to the neighbouring ridge with the smaller estimate, as long as a move lowers the leave-one-out error by more
    than a thousandth. This leave-one-out error is exact, but includes only the given rows.

    Args:
        system: the Gram matrix A.
        y: the targets.
        ridges: the ridges, in ascending order.
        rows: the rows whose leave-one-out errors count.
        scale: the divisor of each column of errors.
    """
    error = lambda left_out: float(np.mean(np.sum((left_out / scale) ** 2, axis=1)))
    guesses = _guess(system, y / scale, np.asarray(ridges, float))
    place = int(np.argmin(guesses))
    best, tried = fitted(system, y, ridges[place], rows), {place}
    while near := [other for other in (place - 1, place + 1) if 0 <= other < len(ridges) and other not in tried]:
        other = min(near, key=guesses.__getitem__)
        tried.add(other)
        found = fitted(system, y, ridges[other], rows)
        if not error(found.left_out) < (1 - _GAIN) * error(best.left_out):
            break
        best, place = found, other
    return best


def _guess(
    system: SystemInPlace, y: Float[np.ndarray, "n k"], ridges: Float[np.ndarray, " s"]
) -> Float[np.ndarray, " s"]:
    """Estimate generalised cross-validation errors for all ridges, up to one factor, by projection on a Krylov space.

    The space is spanned by A^j B and (A + pole)^-j B for j = 0..6, where `pole` is the constant `_POLE` times the mean
    tr A / n of the diagonal. The columns of B are the targets and vectors of random signs. The random signs estimate
    traces by Hutchinson's method. In this extended Krylov space, y^T (A + r)^-2 y and the traces converge from both
    ends of the spectrum.
    """
    n, rng = len(y), np.random.default_rng(0)
    if y.shape[1] > _COLUMNS:
        y = y @ rng.normal(size=(y.shape[1], _COLUMNS))
    signs = rng.choice([-1.0, 1.0], size=(n, _PROBES))
    start = np.concatenate([y, signs], axis=1)
    system.factorise(_POLE * system.trace / n)
    basis = up = down = np.linalg.qr(start)[0]
    for _ in range(_POWERS):
        up, down = (_beyond(basis, part) for part in (system.product(up), system.solved(down)))
        down = _beyond(up, down)
        basis = np.concatenate([basis, up, down], axis=1)
    basis = np.linalg.qr(basis)[0]
    values, vectors = np.linalg.eigh(basis.T @ system.product(basis))
    parts = (basis @ vectors).T @ start
    inverse = 1 / (np.maximum(values, 0.0) + ridges[:, None])
    targets, probes = parts[:, : y.shape[1]], parts[:, y.shape[1] :]
    return (inverse**2 @ np.sum(targets**2, axis=1)) / (inverse @ np.sum(probes**2, axis=1)) ** 2


def _beyond(basis: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Project a block on the complement of an orthonormal basis, and return an orthonormal basis of the result."""
    for _ in range(2):
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
    return block
