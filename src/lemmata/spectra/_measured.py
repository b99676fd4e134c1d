"""The learning curve of kernel ridge regression on a finite set, measured by direct solves on random subsets."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.core import require_float64
from lemmata.errors import SettingError, ShapeError

from ._curve import ALLOWANCE, LearningCurve, learning_curve
from ._eigensystem import Spectrum
from ._held_out import HeldOut, all_splits, splits
from ._intercept import between_contrasts, with_the_mean

OPERATIONS = 2e8
"""Floating-point operations that one size may cost, before the fewest solves are reached."""
FEWEST, MOST = 8, 1000
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

    The interval is error * exp(-+ w). With s the relative standard deviation over the B splits, w = t s v, where t is
    the 97.5 % point of Student's law with B - 1 degrees of freedom, v² = 1/B + 1/r, and r = `resamples`: for a
    measurement as a mean over r splits; None for the mean over all splits. Errors are skewed, so a mean over few of
    them is more often too low: upwards w is multiplied by 1 + g v (1 + 2 t²) / (6 t), g >= 0 the skewness over splits,
    as in Johnson's modified t. Balanced splits vary less than the formula allows. Interpolated sizes are given the
    widest of the two neighbours' w and half the change of the correction between them.

    Args:
        spectrum: the eigensystem of the Gram matrix A of all N rows.
        y: targets, one row a point.
        sizes: numbers of training rows, 1 <= n <= N; at least 2 with an intercept.
        ridge: the ridge on the diagonal of the Gram matrix of the training rows, at least 0; one, or one a size.
        intercept: whether a constant that is not penalised is learned beside the kernel: each training part is centred
            by itself. The equivalent then is that of the contrasts of rows, which takes another eigendecomposition
            unless A is centred already.
        solves: direct solves a size, rounded up to balanced splits; 0 for the equivalent alone; None for as many as
            2e8 operations allow, between 8 and 1000. Where no more splits exist than are allowed, all are solved.
        seed: the splits of a size follow from the seed, n and N, so different kernels see the same splits.
        resamples: splits that a measurement is averaged over, for the interval; None for all.
        allowance: of the interval without solves, see `learning_curve`.

    Raises:
        SettingError: for a size outside the range, a negative ridge, a number of ridges that differs from that of the
            sizes, or a single solve.
        ShapeError: if targets and spectrum have different numbers of rows.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import measured_curve, spectrum
        >>> rows = jnp.array([0.0, 0.0, 3.0, 3.0])  # two points, each twice, with orthogonal features
        >>> curve = measured_curve(spectrum(1.0 * (rows[:, None] == rows)), rows, [2], 0.0)
        >>> round(float(curve.error[0]), 12), int(curve.solves[0])  # the six pairs: 0 for four of them, 9 or 0 for two
        (1.5, 6)
    """
    counts, total = np.asarray(sizes, float), len(spectrum.eigenvalues)
    require_float64("a measured learning curve")
    ridges = _ridges(ridge, counts)
    _check(counts, total, intercept, solves, resamples)
    if len(y) != total:
        raise ShapeError("targets", found=f"{len(y)} rows", rule=f"{total} rows, as many as the spectrum has")
    equivalent = _equivalent(spectrum, y, counts, ridges, intercept, resamples or FEWEST, allowance)
    if solves == 0:
        return _unmeasured(equivalent)
    order = np.argsort(counts, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(MEASURED_SIZES, len(order))).astype(int))]
    whole = np.clip(np.rint(counts[chosen]), 1 + intercept, total - 1)
    model = HeldOut(spectrum, np.asarray(y).reshape(total, -1), intercept)
    pairs = zip(whole.astype(int), ridges[chosen], strict=True)
    points = [_measure(model, int(n), float(r), solves, seed, resamples) for n, r in pairs]
    nearest = equivalent.error[chosen]
    if np.any(np.rint(counts) != counts):
        at = np.where(counts[chosen] == total, total, whole)
        nearest = _equivalent(spectrum, y, at, ridges[chosen], intercept, FEWEST, allowance).error
    return _assemble(equivalent, np.asarray(nearest), chosen, points)


class _Point(NamedTuple):
    """What the solves at one size say; the widths are logarithms."""

    error: float
    standard_error: float
    below: float
    above: float
    solves: int


def _ridges(ridge, counts: np.ndarray) -> np.ndarray:
    ridges = np.asarray(ridge, float)
    if ridges.ndim and ridges.shape != counts.shape:
        raise SettingError(
            "ridge", found=f"{ridges.size} ridges", rule=f"one ridge, or one for each of the {counts.size} sizes"
        )
    if not np.all((ridges >= 0) & np.isfinite(ridges)):
        raise SettingError("ridge", found=ridges.tolist(), rule="finite numbers that are not negative")
    return np.broadcast_to(ridges, counts.shape)


def _check(counts: np.ndarray, total: int, intercept: bool, solves: int | None, resamples: int | None) -> None:
    least = 2 if intercept else 1
    if counts.size == 0 or not (counts.min() >= least and counts.max() <= total and total >= 2):
        raise SettingError(
            "sizes", found=counts.tolist(), rule=f"whole numbers from {least} to {total}, the number of rows"
        )
    if solves is not None and (solves < 0 or solves == 1):
        raise SettingError("solves", found=solves, rule="0, or at least 2, because a standard error needs two solves")
    if resamples is not None and resamples < 1:
        raise SettingError("resamples", found=resamples, rule="at least 1, or None for all splits")


def _equivalent(spectrum, y, counts, ridges, intercept, resamples, allowance) -> LearningCurve:
    """`learning_curve` at each size with its ridge: one call for all sizes of a ridge."""
    if intercept:
        spectrum, y = between_contrasts(spectrum, y)
    options, order, parts = {"resamples": resamples, "allowance": allowance}, [], []
    for ridge in np.unique(ridges):
        where = np.flatnonzero(ridges == ridge)
        order.append(where)
        parts.append(learning_curve(spectrum, y, counts[where] - intercept, float(ridge), **options))
    places = np.argsort(np.concatenate(order))
    curve = jax.tree.map(lambda *points: jnp.concatenate(points)[places], *parts)
    return with_the_mean(curve) if intercept else curve


def _unmeasured(equivalent: LearningCurve) -> MeasuredCurve:
    zero = jnp.zeros_like(equivalent.error)
    ends = equivalent.lower, equivalent.upper
    return MeasuredCurve(
        equivalent.sizes, equivalent.error, zero * math.nan, zero.astype(int), zero, *ends, equivalent=equivalent
    )


def _measure(model: HeldOut, n: int, ridge: float, solves: int | None, seed: int, resamples: int | None) -> _Point:
    total = len(model.y)
    allowed = OPERATIONS / model.cost(n, ridge) if solves is None else solves
    planned, number = int(np.clip(allowed, FEWEST, MOST)) if solves is None else solves, math.comb(total, n)
    # rare splits may carry the mean (both copies of a row held out): see them all where that is cheap
    if number <= (max(allowed, total) if model.leaves_out(n, ridge) else allowed):
        train, rest = all_splits(total, n)
    else:
        train, rest = splits(total, n, planned, np.random.default_rng([seed, n, total]))
    errors = model.errors(train, rest, ridge)
    count, mean, spread = len(errors), float(errors.mean()), float(errors.std())
    if not spread > 0:  # every split alike, or a single one
        return _Point(mean, 0.0, 0.0, 0.0, count)
    own = 0.0 if count == number else 1 / count
    spread *= math.sqrt(count / (count - 1))
    variance = own + (1 / resamples if resamples else 0.0)
    from scipy.special import stdtrit  # slow to import

    quantile = float(stdtrit(count - 1, 0.975))
    skewness = max(0.0, float(np.mean(((errors - mean) / spread) ** 3)))
    width = quantile * spread * math.sqrt(variance) / mean
    above = width * (1 + skewness * (1 + 2 * quantile**2) / (6 * quantile) * math.sqrt(variance))
    return _Point(mean, spread * math.sqrt(own), width, above, count)


def _assemble(
    equivalent: LearningCurve, nearest: np.ndarray, chosen: np.ndarray, points: Sequence[_Point]
) -> MeasuredCurve:
    """The curve at all sizes from the points at the chosen ones; `nearest` is the equivalent where they were taken."""
    sizes, predicted = np.asarray(equivalent.sizes), np.asarray(equivalent.error)
    measured, standard, below, above, counts = (np.array(column) for column in zip(*points, strict=True))
    at, where = np.log(sizes), np.log(sizes[chosen])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(measured / nearest)
        told = np.isfinite(found)  # an equivalent that is infinite or 0 says nothing about other sizes
        bridge = np.interp(at, where[told], found[told]) if told.any() else np.zeros_like(at)
        error = np.where(np.isfinite(predicted), predicted * np.exp(bridge), np.interp(at, where, measured))
        error[chosen] = np.where(told, predicted[chosen] / nearest * measured, measured)
        correction = np.where(error == predicted, 0.0, np.log(error / predicted))
        relative = np.where(measured > 0, standard / measured, 0.0)
    solves, ends = np.zeros(sizes.shape, int), []
    solves[chosen] = counts
    right = np.clip(np.searchsorted(where, at), 0, len(where) - 1)
    left = np.maximum(right - 1, 0)
    jumps = np.where(told, found, np.nan)
    change = np.nan_to_num(np.abs(jumps[right] - jumps[left])) / 2
    for widths, sign in ((below, -1), (above, 1)):
        width = np.maximum(np.maximum(widths[left], widths[right]), change)
        width[chosen] = widths
        ends.append(jnp.asarray(error * np.exp(sign * width)))
    shares = np.maximum(relative[left], relative[right])
    shares[chosen] = relative
    arrays = (jnp.asarray(array) for array in (error, error * shares, solves, correction))
    return MeasuredCurve(equivalent.sizes, *arrays, *ends, equivalent=equivalent)
