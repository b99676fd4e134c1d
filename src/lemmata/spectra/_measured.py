"""The learning curve of kernel ridge regression on a finite set, measured by direct solves on random subsets."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import array_argument, require_float64
from lemmata.errors import SettingError, ShapeError

from ._eigensystem import Spectrum
from ._equivalent import EquivalentCurve, deterministic_equivalent, sizes_of
from ._held_out import HeldOut
from ._intercept import between_contrasts, with_the_mean
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

OPERATIONS = 2e8
"""The largest number of floating-point operations for one size, unless the smallest number of solves takes more."""
MEASURED_SIZES = 24
"""The largest number of sizes that are measured. Between these sizes, the correction is interpolated."""
LEVEL = 0.95


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
) -> LearningCurve:
    """Measure the held-out squared error of kernel ridge regression on n of N rows, by solves on random subsets.

    `learning_curve` spends less on a whole curve than the eigensystem costs, but this function spends up to 2e8
    operations on each size. The error at a size is a mean over random splits that use all rows about equally often
    (balanced splits). Each split is solved exactly from the Gram matrix A = U diag(a) U^T. The measurement is also
    right for outlying, clustered or repeated rows. Without a ridge, the deterministic equivalent is infinite at n equal
    to the rank, but the measurement is right there, too. At n = N, where no row is left out, the error is the
    leave-one-out error. Up to 24 sizes are measured, each rounded to a whole number. At other sizes, the correction
    ln(measured / equivalent) is interpolated linearly in ln n.

    The interval is error * exp(-+ w), nominally at 95 %. Let s be the standard deviation of the errors of the B splits,
    divided by their mean. The width is w = t s v. Here t is the 97.5 % point of Student's distribution with B - 1
    degrees of freedom, v² = 1/B + 1/r, and r = `resamples`. The interval covers the result of a new measurement that is
    a mean over r splits. If `resamples` is None, the interval is for the mean over all splits. Errors are skewed, so a
    mean over few errors is more often too low than too high. Therefore, the upper w is multiplied by 1 + g v (1 + 2 t²)
    / (6 t), where g >= 0 is the skewness over splits, as in Johnson's modified t. With B >= 30, the spread of means
    over r splits, drawn at random from the solved splits, replaces the term 1/r. Means over balanced splits vary less
    than this formula allows. The w of an interpolated size is the largest of three numbers: the values of w at the two
    neighbouring measured sizes, and half the change of the correction between these two sizes.

    Args:
        spectrum: the eigensystem of the Gram matrix A of all N rows.
        y: targets, one row for each point.
        sizes: numbers n of training rows, 1 <= n <= N; at least 2 with an intercept.
        ridge: the ridge on the diagonal of the Gram matrix of the training rows, at least 0. Pass one number, or one
            for each size.
        intercept: whether an unpenalised constant is learned with the kernel. If so, each training part is centred
            separately. The equivalent is then computed for contrasts of rows (weighted sums of rows with weights of sum
            0). The computation then needs another eigendecomposition, unless A is centred already.
        solves: the number of direct solves for each size, rounded up to balanced splits. 0 computes only the
            equivalent, without an interval. With None, there are as many as 2e8 operations allow, but at least 8 and at
            most 1000. If a size has no more splits than the allowed number of solves, all its splits are solved.
        seed: the splits of a size follow from the seed, n and N, so all kernels are measured on the same splits.
        resamples: for the interval, the number of splits that a measurement is averaged over; None for all splits.

    Raises:
        SettingError: for a size that is a boolean or outside the range, a negative ridge, a number of ridges that
            differs from the number of sizes, or a single solve.
        ShapeError: if targets and spectrum have different numbers of rows.
        DataError: for targets that are not finite real numbers, or whose largest absolute value is above 1e140 or below
            1e-140.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import measured_curve, spectrum
        >>> rows = jnp.array([0.0, 0.0, 3.0, 3.0])  # two points, each twice, with orthogonal features
        >>> curve = measured_curve(spectrum(1.0 * (rows[:, None] == rows)), rows, [2], 0.0)
        >>> round(float(curve.error[0]), 12), int(curve.solves[0])  # the six pairs: 0 for four of them, 9 or 0 for two
        (1.5, 6)
    """
    require_float64("a measured learning curve")
    total = len(spectrum.eigenvalues)
    counts = sizes_of(sizes, total)
    ridges = _ridges(ridge, counts)
    _check(counts, total, intercept, solves)
    check_interval(resamples, seed)
    y = array_argument("targets", y)
    if len(y) != total:
        raise ShapeError("targets", found=f"{len(y)} rows", rule=f"{total} rows, the number of rows of the spectrum")
    y, unit = in_unit(y)
    equivalent = _equivalent(spectrum, y, counts, ridges, intercept)
    if solves == 0:
        return out_of_unit(_unmeasured(equivalent), unit)
    order = np.argsort(counts, kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, min(MEASURED_SIZES, len(order))).astype(int))]
    whole = np.clip(np.rint(counts[chosen]), 1 + intercept, total - 1)
    model = HeldOut(spectrum, np.asarray(y).reshape(total, -1), intercept)
    pairs = zip(whole.astype(int), ridges[chosen], strict=True)
    of = Interval(LEVEL, resamples)
    points = [_measured(model, int(n), float(r), solves, seed, of) for n, r in pairs]
    nearest = equivalent.error[chosen]
    if np.any(np.rint(counts) != counts):
        at = np.where(counts[chosen] == total, total, whole)
        nearest = _equivalent(spectrum, y, at, ridges[chosen], intercept).error
    return out_of_unit(assemble(equivalent, np.asarray(nearest), chosen, points), unit)


def _ridges(ridge, counts: np.ndarray) -> np.ndarray:
    ridges = np.asarray(ridge, float)
    if ridges.ndim and ridges.shape != counts.shape:
        raise SettingError(
            "ridge",
            found=f"{ridges.size} ridges",
            rule=f"one ridge for all sizes, or one ridge for each of the {counts.size} sizes",
        )
    if not np.all((ridges >= 0) & np.isfinite(ridges)):
        raise SettingError("ridge", found=ridges.tolist(), rule="finite numbers that are not negative")
    return np.broadcast_to(ridges, counts.shape)


def _check(counts: np.ndarray, total: int, intercept: bool, solves: int | None) -> None:
    least = 2 if intercept else 1
    if not (counts.min() >= least and total >= 2):
        raise SettingError("sizes", found=counts.tolist(), rule=f"numbers from {least} to {total}, the number of rows")
    if solves is not None and (solves < 0 or solves == 1):
        raise SettingError("solves", found=solves, rule="0, or at least 2, because a standard error needs two solves")


def _equivalent(spectrum, y, counts, ridges, intercept) -> EquivalentCurve:
    """The `deterministic_equivalent` at each size with the size's own ridge. Sizes of equal ridge share a call."""
    if intercept:
        spectrum, y = between_contrasts(spectrum, y)
    values, of_value = np.unique(ridges, return_inverse=True)
    groups: dict[tuple[float, ...], list[np.ndarray]] = {}  # the positions of each ridge, by its tuple of sizes
    for number in range(len(values)):
        where = np.flatnonzero(of_value == number)
        groups.setdefault(tuple((counts[where] - intercept).tolist()), []).append(where)
    parts = [_at_sizes(spectrum, y, sizes, jnp.asarray([ridges[where[0]] for where in found], float), intercept)
             for sizes, found in groups.items()]  # fmt: skip
    places = np.argsort(np.concatenate([np.concatenate(found) for found in groups.values()]))
    return jax.tree.map(lambda *points: jnp.asarray(np.concatenate(list(map(np.ravel, points)))[places]), *parts)


@eqx.filter_jit
def _at_sizes(spectrum, y, sizes: tuple[float, ...], ridges: Float[Array, " r"], intercept: bool) -> EquivalentCurve:
    """The curve at the sizes for each ridge.

    The function is compiled as a whole, because operations take longer to compile one by one.
    """

    def at(ridge: Float[Array, ""]) -> EquivalentCurve:
        curve = deterministic_equivalent(spectrum, y, sizes, ridge)
        return with_the_mean(curve) if intercept else curve

    return jax.lax.map(at, ridges)


def _unmeasured(equivalent: EquivalentCurve) -> LearningCurve:
    zero = jnp.zeros_like(equivalent.error)
    none = zero * math.nan
    return LearningCurve(equivalent.sizes, equivalent.error, none, zero.astype(int), zero, none, none, equivalent)


def _measured(model: HeldOut, n: int, ridge: float, solves: int | None, seed: int, of: Interval) -> Point:
    allowed = OPERATIONS / model.cost(n, ridge) if solves is None else solves
    planned = int(np.clip(allowed, FEWEST, MOST)) if solves is None else solves
    return measure(model, n, ridge, allowed, planned, seed, of)
