"""The learning curve of kernel ridge regression on a finite set, measured by direct solves on random subsets."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.stats import t as student

from lemmata.errors import SettingError

from ._curve import ALLOWANCE, LearningCurve, learning_curve
from ._eigensystem import Spectrum
from ._held_out import HeldOut, all_splits, splits
from ._intercept import intercept_curve

OPERATIONS = 1e9
"""Floating-point operations that one size may cost, before the fewest solves are reached."""
FEWEST, MOST = 8, 400
"""Direct solves a size, where their number is left open."""
MEASURED_SIZES = 24
"""Sizes that are measured; between them the correction is interpolated."""


class MeasuredCurve(eqx.Module):
    """A learning curve by direct solves, with the deterministic equivalent as its interpolation.

    Args:
        sizes: numbers of training rows n, of the N rows of the set.
        error: held-out squared error, summed over outputs, averaged over held-out rows and splits.
        standard_error: of `error`, from the spread over splits; 0 where every split was solved, NaN without solves.
        solves: direct solves that each size rests on; 0 where the correction is interpolated, or nothing was solved.
        correction: ln(error / the deterministic equivalent): how far the rows are from what the equivalent assumes, an
            eigenbasis that is free from them. Above ln 2 in absolute value, nothing else that follows from the
            equivalent (extrapolation, mu, learnability) should be believed.
        lower: lower end of a 95 % interval.
        upper: upper end.
        equivalent: the deterministic equivalent, as `learning_curve` gives it.
    """

    sizes: Float[Array, " s"]
    error: Float[Array, " s"]
    standard_error: Float[Array, " s"]
    solves: Int[Array, " s"]
    correction: Float[Array, " s"]
    lower: Float[Array, " s"]
    upper: Float[Array, " s"]
    equivalent: LearningCurve


def measured_curve(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    sizes: Sequence[int] | Sequence[float] | Float[Array, " s"] | np.ndarray,
    ridge: float | Float[Array, "*s"] | np.ndarray | Sequence[float],
    *,
    intercept: bool = False,
    solves: int | None = None,
    seed: int = 0,
    resamples: int | None = None,
    allowance: float = ALLOWANCE,
) -> MeasuredCurve:
    """The held-out squared error of kernel ridge regression trained on n of N rows, by direct solves on random subsets.

    Where `learning_curve` predicts, this measures: for each size, the mean over balanced random splits, each solved
    exactly from the Gram matrix A = U diag(a) U^T. It needs no assumption on the rows (outlying, clustered, repeated
    rows; n at the rank without ridge, where the equivalent is infinite). At n = N, where no row is left out, it is
    leave-one-out. Up to 24 sizes are measured, at the nearest whole number; at others, the correction
    ln(measured / equivalent) is interpolated linearly in ln n.

    The interval is error * exp(-+ w). With s the relative standard deviation over the B splits, w = t s sqrt(1/B + 1/r),
    where t is the 97.5 % point of Student's law with B - 1 degrees of freedom, and r = `resamples`: for a measurement as
    a mean over r splits; None for the mean over all splits. Balanced splits vary less than the formula allows.
    Interpolated sizes are given the wider of the two neighbours' w and half the change of the correction between them.

    Args:
        spectrum: the eigensystem of the Gram matrix A of all N rows.
        y: targets, one row a point.
        sizes: numbers of training rows, 1 <= n <= N; at least 2 with an intercept.
        ridge: the ridge on the diagonal of the Gram matrix of the training rows, at least 0; one, or one a size.
        intercept: whether a constant that is not penalised is learned beside the kernel: each training part is centred
            by itself. The equivalent then is that of `intercept_curve`, which takes another eigendecomposition
            unless A is centred already.
        solves: direct solves a size, rounded up to balanced splits; 0 for the equivalent alone; None for as many as
            1e9 operations allow, between 8 and 400. Where there are no more splits than that, all are solved.
        seed: the splits of a size follow from the seed, n and N, so different kernels see the same splits.
        resamples: splits that a measurement is averaged over, for the interval; None for all.
        allowance: of the interval without solves, see `learning_curve`.

    Raises:
        SettingError: for a size outside the range, a negative ridge, a number of ridges that is not that of the sizes,
            one solve.
        ShapeError: where targets and spectrum have different numbers of rows.
        PrecisionError: without float64.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import measured_curve, spectrum
        >>> rows = jnp.array([0.0, 0.0, 3.0, 3.0])  # two points, each twice, with orthogonal features
        >>> curve = measured_curve(spectrum(1.0 * (rows[:, None] == rows)), rows, [2], 0.0)
        >>> round(float(curve.error[0]), 12), int(curve.solves[0])  # the six pairs: 0 for four of them, 9 or 0 for two
        (1.5, 6)
    """
    counts, total = np.asarray(sizes, float), len(spectrum.eigenvalues)
    ridges = _ridges(ridge, counts)
    _check(counts, total, intercept, solves)
    equivalent = _equivalent(spectrum, y, counts, ridges, intercept, resamples or FEWEST, allowance)
    if solves == 0:
        return _unmeasured(equivalent)
    order = np.argsort(counts, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(MEASURED_SIZES, len(order))).astype(int))]
    whole = np.clip(np.rint(counts[chosen]), 1 + intercept, total - 1).astype(int)
    model = HeldOut(spectrum, np.asarray(y).reshape(total, -1), intercept)
    rows = [_measure(model, n, float(r), solves, seed, resamples) for n, r in zip(whole, ridges[chosen], strict=True)]
    nearest = equivalent.error[chosen]
    if np.any(np.rint(counts) != counts):
        at = np.where(counts[chosen] == total, total, whole).astype(float)
        nearest = _equivalent(spectrum, y, at, ridges[chosen], intercept, FEWEST, allowance).error
    return _assemble(equivalent, np.asarray(nearest), chosen, np.array(rows))


def _ridges(ridge, counts: np.ndarray) -> np.ndarray:
    ridges = np.asarray(ridge, float)
    if ridges.ndim and ridges.shape != counts.shape:
        raise SettingError("ridge", found=f"{ridges.size} ridges", rule=f"one, or one for each of {counts.size} sizes")
    if not np.all((ridges >= 0) & np.isfinite(ridges)):
        raise SettingError("ridge", found=ridges.tolist(), rule="finite numbers, at least 0")
    return np.broadcast_to(ridges, counts.shape)


def _check(counts: np.ndarray, total: int, intercept: bool, solves: int | None) -> None:
    least = 2 if intercept else 1
    if counts.size == 0 or not (counts.min() >= least and counts.max() <= total and total >= 2):
        raise SettingError("sizes", found=counts.tolist(), rule=f"each between {least} and the {total} rows of the set")
    if solves is not None and (solves < 0 or solves == 1):
        raise SettingError("solves", found=solves, rule="0, or at least 2, which a standard error takes")


def _equivalent(spectrum, y, counts, ridges, intercept, resamples, allowance) -> LearningCurve:
    predict = intercept_curve if intercept else learning_curve
    options = {"resamples": resamples, "allowance": allowance}
    if np.all(ridges == ridges[0]):
        return predict(spectrum, y, counts, float(ridges[0]), **options)
    parts = [predict(spectrum, y, counts[[i]], float(ridges[i]), **options) for i in range(len(counts))]
    return jax.tree.map(lambda *points: jnp.concatenate(points), *parts)


def _unmeasured(equivalent: LearningCurve) -> MeasuredCurve:
    zero = jnp.zeros_like(equivalent.error)
    ends = equivalent.lower, equivalent.upper
    return MeasuredCurve(
        equivalent.sizes, equivalent.error, zero * math.nan, zero.astype(int), zero, *ends, equivalent=equivalent
    )


def _measure(model: HeldOut, n: int, ridge: float, solves: int | None, seed: int, resamples: int | None):
    """Mean error, its standard error, the width w and the number of solves at one size."""
    total, cost = len(model.y), model.cost(n, ridge)
    planned = int(np.clip(OPERATIONS / cost, FEWEST, MOST)) if solves is None else solves
    number = math.comb(total, n)
    if number <= (max(planned, total) if model.leaves_out(n, ridge) else planned):
        train, rest = all_splits(total, n)
    else:
        train, rest = splits(total, n, planned, np.random.default_rng([seed, n, total]))
    errors = model.errors(train, rest, ridge)
    count, mean, spread = len(errors), float(errors.mean()), float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
    own = 0.0 if count == number else 1 / count
    quantile = float(student.ppf(0.975, count - 1)) if count > 1 else 0.0
    width = quantile * spread * math.sqrt(own + (1 / resamples if resamples else 0.0)) / mean if mean > 0 else 0.0
    return mean, spread * math.sqrt(own), width, count


def _assemble(
    equivalent: LearningCurve, nearest: np.ndarray, chosen: np.ndarray, rows: Float[np.ndarray, "c 4"]
) -> MeasuredCurve:
    sizes, predicted = np.asarray(equivalent.sizes), np.asarray(equivalent.error)
    measured, standard, widths, counts = rows.T
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(measured / nearest)
        # an infinite or vanishing equivalent tells nothing: at such sizes the measurement itself stands
        told = np.isfinite(found)
        correction, error = np.full(sizes.shape, np.nan), np.empty(sizes.shape)
        where = np.log(sizes[chosen])
        if told.any():
            correction = np.interp(np.log(sizes), where[told], found[told])
        error = np.where(np.isfinite(predicted) & told.any(), predicted * np.exp(correction), np.nan)
        error = np.where(np.isfinite(error), error, np.interp(sizes, sizes[chosen], measured))
        error[chosen] = np.where(told, error[chosen], measured)
        correction = np.where(error == predicted, 0.0, np.log(error / predicted))
    solves, width = np.zeros(sizes.shape, int), np.empty(sizes.shape)
    solves[chosen] = counts
    upper = np.clip(np.searchsorted(where, np.log(sizes)), 0, len(chosen) - 1)
    lower = np.maximum(upper - 1, 0)
    change = np.abs(np.nan_to_num(found[upper] - found[lower], posinf=0, neginf=0))
    width = np.maximum(np.maximum(widths[lower], widths[upper]), change / 2)
    width[chosen] = widths
    relative = np.divide(standard, measured, out=np.zeros_like(standard), where=measured > 0)
    shares = np.interp(sizes, sizes[chosen], relative)
    shares[chosen] = relative
    arrays = (error, error * shares, solves, correction, error * np.exp(-width), error * np.exp(width))
    return MeasuredCurve(equivalent.sizes, *map(jnp.asarray, arrays), equivalent=equivalent)
