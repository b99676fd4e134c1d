"""The predicted learning curve of kernel ridge regression on a finite set, from its Gram matrix."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import require_float64
from lemmata.errors import SettingError, ShapeError

from ._alignment import target_power
from ._eigensystem import Spectrum, check_ridge
from ._regularisation import effective_regularisation
from ._validation import gcv, leave_one_out

ALLOWANCE = 0.12
"""Half-width, in the logarithm of the error, that the interval allows for the estimate itself being approximate."""


class LearningCurve(eqx.Module):
    """A predicted learning curve.

    Args:
        sizes: numbers of training rows n, of the N rows of the set.
        error: predicted squared error on the other N - n rows, summed over outputs, averaged over rows and splits.
        mu: the effective regularisation: the subset learns like a ridge mu on all N rows.
        learnability: the fraction of the target's power that is learned, sum_i L_i |<u_i, y>|² / |y|² with
            L_i = a_i / (a_i + mu).
        overfitting: error / (|(I - L) y|² / N), the price of fitting noise; at n = N that of cross-validation.
        drift: (n/N)² ln(leave-one-out / GCV), how far rows of unequal leverage may carry the measured error from the
            estimate, in the logarithm.
        lower: lower end of the interval for the measured error.
        upper: upper end.
    """

    sizes: Float[Array, " s"]
    error: Float[Array, " s"]
    mu: Float[Array, " s"]
    learnability: Float[Array, " s"]
    overfitting: Float[Array, " s"]
    drift: Float[Array, " s"]
    lower: Float[Array, " s"]
    upper: Float[Array, " s"]


def learning_curve(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    sizes: Sequence[int] | Sequence[float] | Float[Array, " s"] | np.ndarray,
    ridge: float | Float[Array, ""],
    *,
    resamples: int = 8,
    allowance: float = ALLOWANCE,
) -> LearningCurve:
    """The predicted held-out squared error of kernel ridge regression trained on n of N rows chosen at random.

    The deterministic equivalent of a compression of the N x N Gram matrix A by a free projection of rank n: with mu
    the root of ridge tr (A + mu)^-1 = n - tr A (A + mu)^-1, the error on the other N - n rows is

        n |(A + mu)^-1 y|² / ( [tr (A + mu)^-1]² - (1 - n/N) N tr (A + mu)^-2 ).

    At n = N it is generalised cross-validation; for N >> n it is `omniscient_curve`. With ridge = 0 the limit
    ridge -> 0 is taken: it diverges at n = rank(A), and beyond it mu = 0. The estimate treats the subset as free
    from the eigenvectors, which rows of large leverage break: with heavy tails, outlying or repeated rows and a small
    ridge it is too low by factors of 2 to 100, outside the interval. `measured_curve` measures instead, and tells by
    its `correction` how far this estimate is off.

    The interval is error * exp(-+ w), w² = allowance² + (2 s)²: the declared allowance for the estimate, and two
    standard errors s of a measurement as a mean over `resamples` splits. s² = c² (1/n + 1/(N-n)) / resamples,
    where c² is the variance over rows of the squared residual (A + mu)^-1 y relative to its squared mean: held-out
    rows are a sample of rows, and so are training rows. At n = N - 1 the truth is leave-one-out, and the estimate
    nearly GCV: where they differ, the interval is widened towards leave-one-out by the factor exp(drift), with drift =
    (n/N)² ln(leave-one-out / GCV). (The square is an interpolation, not a theorem.)

    Args:
        spectrum: the eigensystem of the Gram matrix A of all N rows.
        y: targets, one row a point.
        sizes: numbers of training rows, 1 <= n <= N.
        ridge: the ridge on the diagonal of the Gram matrix of the training rows, at least 0.
        resamples: splits that the measurement is averaged over, for the interval.
        allowance: half-width allowed for the estimate, in the logarithm of the error.

    Raises:
        SettingError: for a size outside 1..N, a negative ridge, or no resamples.
        ShapeError: if targets and spectrum have different numbers of rows.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import learning_curve, spectrum
        >>> curve = learning_curve(spectrum(jnp.eye(6)), jnp.ones(6), [3], 1.0)
        >>> round(float(curve.error[0]), 12)  # uncorrelated rows: nothing is learned about the others
        1.0
    """
    require_float64("a predicted learning curve")
    check_ridge(ridge)
    total, counts = len(spectrum.eigenvalues), np.asarray(sizes, float)
    if len(y) != total:
        raise ShapeError("targets", found=f"{len(y)} rows", rule=f"{total} rows, as many as the spectrum has")
    if counts.size == 0 or not (counts.min() >= 1 and counts.max() <= total):
        raise SettingError(
            "sizes",
            found=counts.tolist(),
            rule=f"whole numbers from 1 to {total}, the number of rows",
            remedy="use omniscient_curve for sizes beyond the data, which extrapolates",
        )
    if resamples < 1 or not allowance >= 0:
        raise SettingError(
            "resamples and allowance",
            found=f"resamples={resamples} and allowance={allowance}",
            rule="resamples of at least 1, and an allowance that is not negative",
        )
    y = y.reshape(total, -1)
    mu, error, learnability, overfitting, spread = _curve(spectrum, y, jnp.asarray(counts), jnp.asarray(ridge, float))
    sampling = spread * jnp.sqrt((1 / counts + 1 / np.maximum(total - counts, 1)) / resamples)
    width = jnp.sqrt(allowance**2 + (2 * sampling) ** 2)
    whole, left_out = gcv(spectrum, y, ridge), leave_one_out(spectrum, y, ridge)
    known = (whole > 0) & (left_out > 0) & jnp.isfinite(left_out)
    gap = jnp.where(known, jnp.log(jnp.where(known, left_out, 1.0) / jnp.where(known, whole, 1.0)), 0.0)
    drift = gap * (jnp.asarray(counts) / total) ** 2
    lower, upper = error * jnp.exp(jnp.minimum(drift, 0) - width), error * jnp.exp(jnp.maximum(drift, 0) + width)
    return LearningCurve(jnp.asarray(counts), error, mu, learnability, overfitting, drift, lower, upper)


@jax.jit
def _curve(spectrum, y, sizes, ridge):
    values, power = spectrum.resolved, target_power(spectrum, y)
    coefficients = spectrum.eigenvectors.T @ y
    total, signal = len(values), jnp.sum(power)

    def point(n):
        mu = effective_regularisation(values, n, ridge)
        # At mu = 0 the inverse is infinite on null modes: drop the common factor, which cancels in the error, ...
        singular = (mu <= 0) & (values[-1] <= 0)
        null = (values <= 0).astype(values.dtype)
        inverse = jnp.where(singular, null, 1 / jnp.where(values + mu > 0, values + mu, 1.0))
        # ... and ridge * (that factor), which is then (n - rank) / (N - rank), from the equation of mu itself.
        load = jnp.where(singular, (n - (total - jnp.sum(null))) / jnp.maximum(jnp.sum(null), 1), ridge)
        # With B = (A + mu)^-1 the equation also removes the cancellation in the denominator:
        # [tr B]² - (N - n) tr B² = tr B (tr B A B + ridge tr B²)
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
