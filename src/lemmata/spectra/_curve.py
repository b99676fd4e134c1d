"""The learning curve of kernel ridge regression on a finite set of rows: a formula, corrected by direct solves."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import array_argument, check_real, known, require_float64
from lemmata.errors import SettingError, ShapeError

from ._eigensystem import Spectrum
from ._equivalent import deterministic_equivalent, sizes_of
from ._held_out import HeldOut
from ._points import (
    FEWEST,
    MOST,
    Interval,
    LearningCurve,
    Point,
    assemble,
    check_interval,
    in_unit,
    measure,
    out_of_unit,
)

LEVEL = 0.9
"""Nominal coverage of the interval."""
_SMALL = 100  # the largest number of rows that counts as few
_OPERATIONS = {True: 5e8, False: 5e7}  # the operations that a curve may cost, for few and for more rows, if N³ is less
_ALLOWANCE = 0.12  # the additional half-width of the interval at an interpolated size, in the logarithm of the error
_ROUNDING = 16.0


def learning_curve(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    sizes: Sequence[int] | Sequence[float] | Float[Array, " s"] | np.ndarray,
    ridge: float | Float[Array, ""],
    *,
    resamples: int | None = 8,
    seed: int = 0,
) -> LearningCurve:
    """The held-out squared error of kernel ridge regression trained on n of N rows, checked by direct solves.

    A formula, the deterministic equivalent (`deterministic_equivalent`), gives the whole curve from the eigensystem.
    However, its error can be too low by large factors. So the error at some of the sizes is measured. The measured
    error is the mean held-out error over random splits into n training rows and N - n held-out rows. Each split is
    solved exactly from the Gram matrix. This measurement corrects the formula by c = ln(measured / equivalent). Let s
    be the standard error of the measured mean, divided by this mean. The correction is reduced to c max(0, 1 -
    (s/c)^4), because a correction smaller than its noise would make the curve less accurate. Between measured sizes the
    correction is interpolated linearly in ln n. At n = N, where no row is left out, the error is the leave-one-out
    error. If a size has no more splits than the planned number of solves, all its splits are solved, and the mean is
    exact.

    The interval covers the result of a new measurement, a mean over `resamples` random splits. The nominal coverage of
    the interval is 90 %. With at least 30 solves, means over `resamples` splits are drawn at random from the solved
    splits. The ends of the interval are quantiles of these means, widened by the standard error of the mean over the
    solved splits. With fewer solves, the ends come from Student's distribution, with Johnson's correction for skewness.
    Interpolated sizes get the wider of the intervals of the two neighbouring measured sizes. This interval is widened
    by half the change of the correction between the neighbours, and by 0.12 in the logarithm.
    `benchmarks/learning_curve_coverage.py` measures the coverage.

    Cost: at each measured size, at least 8 splits are solved. There are enough splits for each row to be in the smaller
    part of at least one split. As many sizes are measured as N³ floating-point operations allow (5e7 if 5e7 is more
    than N³). The smallest and the largest size, and the size with the largest equivalent, are always measured. A curve
    takes at most about as long as `spectrum`, or some tens of milliseconds for a few hundred rows. Sets of at most 100
    rows may cost 5e8 operations, with up to 1000 solves for each size. If you need thousands of curves from one
    spectrum, or derivatives, use `deterministic_equivalent`. That function solves no splits, and costs one pass over
    the eigenvectors for each size. `measured_curve` spends more operations on measurements.

    Args:
        spectrum: the eigensystem of the Gram matrix A of all N rows.
        y: targets, one row for each point.
        sizes: numbers n of training rows, 1 <= n <= N. A size that is not whole is measured at the nearest whole
            number, and the equivalent supplies the difference.
        ridge: the ridge on the diagonal of the Gram matrix of the training rows, at least 0. If the ridge is not above
            the rounding error of a singular A, the limit ridge -> 0 is computed.
        resamples: for the interval, the number of splits that a measurement is averaged over; None for all splits.
        seed: the seed of the random splits. The splits of a size follow from the seed, n and N.

    Raises:
        SettingError: for a size that is a boolean or outside 1..N, a negative ridge, less than one resample, or a call
            within a compiled function.
        ShapeError: if targets and spectrum have different numbers of rows, or there is a single row.
        DataError: for targets that are not finite real numbers, or whose largest absolute value is above 1e140 or below
            1e-140.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import learning_curve, spectrum
        >>> curve = learning_curve(spectrum(jnp.eye(6)), jnp.ones(6), [3], 1.0)
        >>> round(float(curve.error[0]), 12), int(curve.solves[0])  # uncorrelated rows: nothing is learned of others
        (1.0, 20)
    """
    require_float64("a predicted learning curve")
    if any(isinstance(array, jax.Array) and known(array) is None for array in (spectrum.eigenvectors, y, ridge)):
        raise SettingError(
            "learning_curve",
            found="a traced array",
            rule="arrays with known numbers, because the curve is computed from random splits",
            remedy="call it outside jit, grad and vmap, or use deterministic_equivalent, which makes no checks",
        )
    check_real("ridge", ridge, "not negative", lambda number: number >= 0)
    check_interval(resamples, seed)
    targets = array_argument("targets", y, axes=(1, 2))
    targets, unit = in_unit(targets)
    counts, penalty = sizes_of(sizes, len(spectrum.eigenvalues)), float(ridge)
    equivalent = deterministic_equivalent(spectrum, targets, counts, penalty)
    if len(targets) < 2:
        raise ShapeError("targets", found="one row", rule="at least two rows, because one must be left out")
    model = HeldOut(spectrum, np.asarray(targets).reshape(len(targets), -1), False)
    whole = np.clip(np.rint(counts), 1, len(targets) - 1).astype(int)
    chosen, planned = _plan(model, whole, np.asarray(equivalent.error), penalty)
    of = Interval(LEVEL, resamples)
    plan = zip(whole[chosen], planned, strict=True)
    points = [measure(model, int(n), penalty, int(solves), int(solves), seed, of) for n, solves in plan]
    nearest = np.asarray(equivalent.error)[chosen]
    if np.any(np.rint(counts) != counts):
        at = np.where(counts[chosen] == len(targets), len(targets), whole[chosen])
        nearest = np.asarray(deterministic_equivalent(spectrum, targets, at, penalty).error)
    points = [_shrunk(point, float(formula)) for point, formula in zip(points, nearest, strict=True)]
    curve = assemble(equivalent, nearest, chosen, points, _ALLOWANCE)
    noise = _noise(spectrum, targets, penalty)
    ends = (jnp.maximum(curve.lower - noise, 0.0), curve.upper + noise)
    return out_of_unit(eqx.tree_at(lambda c: (c.lower, c.upper), curve, ends), unit)


def _plan(model: HeldOut, sizes: np.ndarray, predicted: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Choose the sizes to measure, in ascending order, and the number of solves for each."""
    total = len(model.y)
    floor = _OPERATIONS[total <= _SMALL]
    cost = np.array([model.cost(int(n), ridge) for n in sizes])
    # At least this many splits put every row once into the smaller part of a split, so that the solves include the
    # effect of a single outlying row.
    least = np.maximum(FEWEST, -(-total // np.minimum(sizes, total - sizes)))
    order = np.argsort(sizes, kind="stable")
    heights = np.where(np.isfinite(predicted[order]), predicted[order], -np.inf)
    always = np.isneginf(heights) | (np.arange(len(order)) == np.argmax(heights))
    number = len(order)
    while True:
        taken = always.copy()
        taken[np.linspace(0, len(order) - 1, number).astype(int)] = True
        chosen = order[taken]
        if number <= 2 or np.sum((cost * least)[chosen]) <= max(floor, float(total) ** 3):
            break
        number = max(2, int(0.8 * number))
    share = floor / len(chosen) / cost[chosen]
    return chosen, np.clip(share, least[chosen], np.maximum(MOST, least[chosen])).astype(int)


def _shrunk(point: Point, formula: float) -> Point:
    """Return the measurement with its correction c reduced to c max(0, 1 - (s/c)^4). The interval stays the same.

    Here c = ln(measured error / `formula`), and s is the standard error of the measured error, divided by this error.
    If the formula is right, the mean of a few solves is less accurate than the formula. The correction moves by at most
    s, so the error stays inside the interval.
    """
    if not (0 < formula < math.inf and point.error > 0 and point.standard_error > 0):
        return point
    correction, spread = math.log(point.error / formula), point.standard_error / point.error
    moved = max(-spread, min(spread, correction if abs(correction) < spread else spread**4 / correction**3))
    shift = min(max(moved, -point.above), point.below)
    return Point(
        point.error * math.exp(-shift), point.standard_error, point.below - shift, point.above + shift, point.solves
    )


def _noise(spectrum: Spectrum, targets: Float[Array, "rows *k"], ridge: float) -> float:
    """The squared error of predictions that rounding alone may cause if the exact error is 0."""
    values = np.asarray(spectrum.resolved)
    smallest = values[values > 0].min(initial=np.inf)
    lowest = ridge + (smallest if np.isfinite(smallest) else 0.0)
    condition = (values[0] + ridge) / lowest if lowest > 0 else 1.0
    relative = _ROUNDING * len(values) * float(np.finfo(values.dtype).eps)
    return relative**2 * condition * float(jnp.sum(targets**2)) / len(values)
