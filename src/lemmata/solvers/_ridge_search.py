"""Find the ridge of least leave-one-out error from a few Cholesky factors, if an eigensystem costs too much."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from ._in_place import SystemInPlace

# Random vectors for traces, powers of the matrix and of its inverse, and columns of targets that are combined.
_PROBES, _POWERS, _COLUMNS = 8, 6, 8
# The ridge at which the guess factorises, in units of the mean of the diagonal. Then the gain that is needed to
# continue the search.
_POLE, _GAIN = 1e-4, 1e-3


class Fitted(NamedTuple):
    """Kernel ridge regression at one ridge.

    Attributes:
        ridge: the ridge.
        jitter: the amount that had to be added to the ridge.
        coefficients: the coefficients alpha (n, k).
        left_out: at the requested rows, the targets minus the predictions of fits without the row (m, k).
    """

    ridge: float
    jitter: float
    coefficients: Float[np.ndarray, "n k"]
    left_out: Float[np.ndarray, "m k"]


def fitted(system: SystemInPlace, y: Float[np.ndarray, "n k"], ridge: float, rows: Int[np.ndarray, " m"]) -> Fitted:
    """Solve kernel ridge regression, with exact leave-one-out residuals at some rows.

    Args:
        system: the Gram matrix.
        y: targets.
        ridge: the ridge, at least 0.
        rows: the rows for leave-one-out residuals; may be empty.
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
    """Find the ridge in a list that has nearly the least leave-one-out error, and return the fit at this ridge.

    The search starts where generalised cross-validation of all rows, n |(A + r)^-1 y|² / (tr (A + r)^-1)², is smallest.
    One Cholesky factor gives this approximately for all ridges r (`_guess`). From there, the search moves to the
    neighbouring ridge with the smaller estimate, as long as this lowers the leave-one-out error by more than a
    thousandth. The leave-one-out error is exact, but only over the given rows.

    Args:
        system: the Gram matrix A.
        y: targets.
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
    """Estimate generalised cross-validation for all ridges, up to a factor, by projection on a block Krylov space.

    The space is spanned by A^j B and (A + pole)^-j B, j = 0..6, where B are the targets and random signs. In this
    extended Krylov space, y^T (A + r)^-2 y and the traces, which Hutchinson's method estimates, converge from both ends
    of the spectrum.
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
    """Remove the part of a block in the span of another basis, and return an orthonormal basis of the rest."""
    for _ in range(2):
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
    return block
