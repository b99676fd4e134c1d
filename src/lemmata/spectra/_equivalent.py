"""The deterministic equivalent of the learning curve of kernel ridge regression on a finite set."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import array_argument, array_of, numbers_of, require_float64
from lemmata.errors import SettingError, ShapeError

from ._alignment import target_power
from ._eigensystem import Spectrum, check_ridge
from ._regularisation import effective_regularisation
from ._validation import gcv, leave_one_out


class EquivalentCurve(eqx.Module):
    """The deterministic equivalent of a learning curve: a formula, which was not compared with held-out errors.

    Args:
        sizes: numbers n of training rows, out of the N rows of the set.
        error: the squared error on the other N - n rows by the formula, summed over outputs.
        mu: the effective regularisation. Training on n rows acts like training on all N rows with the ridge mu.
        learnability: the fraction of the target's power |y|² that is learned, sum_i L_i |<u_i, y>|² / |y|² with L_i =
            a_i / (a_i + mu).
        overfitting: the factor error / (|(I - L) y|² / N) with L = A (A + mu)^-1, which measures the cost of fitting
            noise. At n = N, this factor is the ratio of generalised cross-validation to the training error.
        drift: (n/N)² ln(leave-one-out / GCV). The drift shows how far rows of unequal leverage may move the logarithm
            of the measured error away from the formula. The drift only uses single rows, so it does not detect
            duplicate rows.
        spread: the standard deviation over rows of the squared residual (A + mu)^-1 y, divided by the mean of the
            squared residual.
    """

    sizes: Float[Array, " s"]
    error: Float[Array, " s"]
    mu: Float[Array, " s"]
    learnability: Float[Array, " s"]
    overfitting: Float[Array, " s"]
    drift: Float[Array, " s"]
    spread: Float[Array, " s"]


def deterministic_equivalent(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    sizes: Sequence[int] | Sequence[float] | Float[Array, " s"] | np.ndarray,
    ridge: float | Float[Array, ""],
) -> EquivalentCurve:
    """The deterministic equivalent of the error of kernel ridge regression on n of N rows.

    The result comes from a formula, which is not compared with held-out errors of the rows.

    The formula replaces the restriction of the N x N Gram matrix A to n rows by the restriction to a random subspace of
    dimension n. This subspace is free of A, as in free probability. Let mu be the root of ridge tr (A + mu)^-1 = n - tr
    A (A + mu)^-1. The error on the other N - n rows is

        n |(A + mu)^-1 y|² / ( [tr (A + mu)^-1]² - (1 - n/N) N tr (A + mu)^-2 ).

    At n = N, this error is generalised cross-validation. For N >> n, it is the error of `omniscient_curve`. With ridge
    = 0, the limit ridge -> 0 is computed. The limit diverges at n = rank(A); for larger n, mu = 0. The formula treats
    the subset as freely independent of the eigenvectors. Rows of large leverage violate this assumption. If the ridge
    is small, the formula can be too low by factors of 2 to 100. Examples are rows with heavy tails, outlying or
    repeated rows, and inputs of few dimensions. For this reason, the result has no interval. `learning_curve` checks
    and corrects this formula by direct solves, and gives an interval.

    The function costs one pass over the eigenvectors for each size, and can be compiled and differentiated.

    Args:
        spectrum: the eigensystem of the Gram matrix A of all N rows.
        y: targets, one row for each point.
        sizes: numbers n of training rows, 1 <= n <= N. These numbers need not be whole.
        ridge: the ridge on the diagonal of the Gram matrix of the training rows, at least 0.

    Raises:
        SettingError: for a size that is a boolean or outside 1..N, or a negative ridge.
        ShapeError: if targets and spectrum have different numbers of rows.
        DataError: for targets that are not finite real numbers.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import deterministic_equivalent, spectrum
        >>> curve = deterministic_equivalent(spectrum(jnp.eye(6)), jnp.ones(6), [3], 1.0)
        >>> round(float(curve.error[0]), 12)  # uncorrelated rows: nothing is learned about the others
        1.0
    """
    require_float64("a predicted learning curve")
    check_ridge(ridge)
    total, y = len(spectrum.eigenvalues), array_argument("targets", y)
    counts = sizes_of(sizes, total)
    if len(y) != total:
        raise ShapeError("targets", found=f"{len(y)} rows", rule=f"{total} rows, the number of rows of the spectrum")
    y = y.reshape(total, -1)
    mu, error, learnability, overfitting, spread = _curve(spectrum, y, jnp.asarray(counts), jnp.asarray(ridge, float))
    whole, left_out = gcv(spectrum, y, ridge), leave_one_out(spectrum, y, ridge)
    known = (whole > 0) & (left_out > 0) & jnp.isfinite(left_out)
    gap = jnp.where(known, jnp.log(jnp.where(known, left_out, 1.0) / jnp.where(known, whole, 1.0)), 0.0)
    drift = gap * (jnp.asarray(counts) / total) ** 2
    return EquivalentCurve(jnp.asarray(counts), error, mu, learnability, overfitting, drift, spread)


def sizes_of(sizes: Sequence[int] | Sequence[float] | Float[Array, " s"] | np.ndarray, total: int) -> np.ndarray:
    """Return numbers of training rows as an array; raise SettingError for booleans and numbers outside 1 to `total`.

    Args:
        sizes: the numbers that the caller gave.
        total: the number of rows.
    """
    given = array_of("sizes", sizes)
    entries = sizes if isinstance(sizes, list | tuple) else ()  # NumPy turns booleans beside numbers into numbers
    if given.dtype == bool or any(isinstance(entry, bool | np.bool_) for entry in entries):
        rule = f"a list of numbers from 1 to {total}, the number of rows"
        raise SettingError("sizes", found="a boolean", rule=rule, remedy="pass numbers of rows; for a mask, its sum")
    counts = numbers_of("sizes", given).astype(float) if given.size else np.empty(0)
    if counts.ndim != 1 or counts.size == 0 or not (counts.min() >= 1 and counts.max() <= total):
        raise SettingError(
            "sizes",
            found=counts.tolist(),
            rule=f"a list of numbers from 1 to {total}, the number of rows",
            remedy="use omniscient_curve for sizes beyond the data, which extrapolates",
        )
    return counts


@jax.jit
def _curve(spectrum, y, sizes, ridge):
    values, power = spectrum.resolved, target_power(spectrum, y)
    coefficients = spectrum.eigenvectors.T @ y
    total, signal = len(values), jnp.sum(power)

    def point(n):
        mu = effective_regularisation(values, n, ridge)
        # At mu = 0, the inverse is infinite on null modes. This infinite factor cancels in the error, so it is dropped.
        singular = (mu <= 0) & (values[-1] <= 0)
        null = (values <= 0).astype(values.dtype)
        inverse = jnp.where(singular, null, 1 / jnp.where(values + mu > 0, values + mu, 1.0))
        # The ridge times this infinite factor is (n - rank) / (N - rank), which follows from the equation for mu.
        load = jnp.where(singular, (n - (total - jnp.sum(null))) / jnp.maximum(jnp.sum(null), 1), ridge)
        # With B = (A + mu)^-1, the equation for mu also gives a denominator without cancellation: [tr B]² - (N - n) tr
        # B² = tr B (tr B A B + ridge tr B²)
        learned = jnp.where(values > 0, values / jnp.where(values > 0, values + mu, 1.0), 0.0)
        trace = jnp.sum(inverse)
        mean = trace * (jnp.sum(inverse * learned) + load * jnp.sum(inverse**2))
        residual = jnp.sum(power * inverse**2)
        error = jnp.where(residual > 0, n * residual / mean, 0.0)
        training = jnp.sum(power * (1 - learned) ** 2) / total
        rows = jnp.sum((spectrum.eigenvectors @ (inverse[:, None] * coefficients)) ** 2, axis=1)
        spread = jnp.std(rows) / jnp.where(jnp.mean(rows) > 0, jnp.mean(rows), 1.0)
        learnability = jnp.sum(learned * power) / jnp.where(signal > 0, signal, 1.0)
        return mu, error, learnability, jnp.where(training > 0, error / training, math.inf), spread

    return jax.lax.map(point, sizes)
