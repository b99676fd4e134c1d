"""Compute held-out errors at some sizes by direct solves, and join them to a learning curve by a formula.

The formula is the `deterministic_equivalent`.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.errors import DataError, SettingError

from ._equivalent import EquivalentCurve
from ._held_out import HeldOut, all_splits, splits

FEWEST, MOST = 8, 1000
"""The smallest and the largest number of direct solves for each size."""
# From this number of solves on, the interval comes from random means over solved splits, and not from Student's
# distribution.
_MANY = 30
_DRAWS = 2000  # the number of these random means
_LARGEST = 1e140  # the largest size of a target, so that squared errors neither overflow nor underflow


class LearningCurve(eqx.Module):
    """A learning curve from direct solves at some sizes; the deterministic equivalent interpolates between these sizes.

    Args:
        sizes: numbers n of training rows, out of the N rows of the set.
        error: the held-out squared error, summed over outputs, and averaged over held-out rows and splits.
        standard_error: the standard error of `error`, from the spread over splits; 0 if every split was solved, NaN
            without solves.
        solves: the number of direct solves at each size. This number is 0 if the correction is interpolated, or if
            nothing was solved.
        correction: ln(error / the deterministic equivalent). The correction shows how far the rows violate an
            assumption of the equivalent: that a random subset of rows is free of the eigenbasis, in the sense of free
            probability. If the absolute value of the correction is above ln 2, do not trust other results of the
            equivalent (extrapolation, mu, learnability).
        lower: the lower end of the interval for the error. The end is NaN if nothing was solved, because then the error
            of the formula is unknown.
        upper: the upper end of this interval.
        equivalent: the deterministic equivalent, without the correction.
    """

    sizes: Float[Array, " s"]
    error: Float[Array, " s"]
    standard_error: Float[Array, " s"]
    solves: Int[Array, " s"]
    correction: Float[Array, " s"]
    lower: Float[Array, " s"]
    upper: Float[Array, " s"]
    equivalent: EquivalentCurve

    @property
    def mu(self) -> Float[Array, " s"]:
        """The effective regularisation, by the deterministic equivalent."""
        return self.equivalent.mu

    @property
    def learnability(self) -> Float[Array, " s"]:
        """The fraction of the target's power that is learned, by the deterministic equivalent."""
        return self.equivalent.learnability


class Point(NamedTuple):
    """The measured error at one size. Its interval goes from error * exp(-below) to error * exp(above)."""

    error: float
    standard_error: float
    below: float
    above: float
    solves: int


class Interval(NamedTuple):
    """The kind of interval: the measurement whose result it covers, and its nominal coverage.

    Args:
        level: the nominal coverage, a probability.
        resamples: the number of splits that the measurement is a mean of; None for all splits.
    """

    level: float
    resamples: int | None


def check_interval(resamples: int | None, seed: int) -> None:
    """Refuse an invalid number of resamples and an invalid seed.

    Args:
        resamples: the number of splits that the measurement is a mean of; None for all splits.
        seed: the seed of the splits.
    """
    whole = lambda value, least: isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
    if resamples is not None and not whole(resamples, 1):
        raise SettingError(
            "resamples", found=repr(resamples), rule="a whole number of at least 1, or None for all splits"
        )
    if not whole(seed, 0):
        raise SettingError("seed", found=repr(seed), rule="a whole number that is not negative")


def in_unit(targets: Float[Array, "rows *k"]) -> tuple[Float[Array, "rows *k"], float]:
    """Return the targets divided by a power of 2, so that the largest is between 1/2 and 1, and this power of 2.

    The intervals need fourth powers of the targets. In this unit, these powers neither overflow nor underflow. Dividing
    by a power of 2 causes no rounding errors. If all targets are 0, the power is 1.

    Args:
        targets: the targets.

    Raises:
        DataError: if the largest target is above 1e140 or below 1e-140, so that squared errors could overflow or
            underflow.
    """
    scale = float(jnp.max(jnp.abs(targets)))
    if scale and not 1 / _LARGEST < scale < _LARGEST:
        raise DataError(
            "targets",
            found=f"a largest absolute value of {scale:.3g}",
            rule=f"between {1 / _LARGEST:g} and {_LARGEST:g}, so that squared errors neither overflow nor underflow",
            remedy="change the unit of the targets",
        )
    unit = math.ldexp(1.0, math.frexp(scale)[1]) if scale else 1.0
    return targets / unit, unit


def out_of_unit(curve: LearningCurve, unit: float) -> LearningCurve:
    """Return the curve of targets that are `unit` times as large. Squared errors are then unit² times as large.

    Args:
        curve: the curve of the targets in the unit of `in_unit`.
        unit: this unit.
    """
    squared = lambda c: (c.error, c.standard_error, c.lower, c.upper, c.equivalent.error)
    return eqx.tree_at(squared, curve, tuple(each * unit**2 for each in squared(curve)))


def measure(model: HeldOut, n: int, ridge: float, allowed: float | int, planned: int, seed: int, of: Interval) -> Point:
    """Measure the error at one size, with all splits if there are at most `allowed`, and else with `planned` splits.

    Args:
        model: the held-out errors of the rows.
        n: the number of training rows.
        ridge: the ridge on the diagonal.
        allowed: the largest number of direct solves.
        planned: the least number of splits that are drawn if more than `allowed` exist.
        seed: the seed of the random splits, which follow from the seed, n and N.
        of: the coverage of the interval, and the number of splits that a measurement is a mean of.
    """
    total, number = len(model.y), math.comb(len(model.y), n)
    # rare splits may dominate the mean (both copies of a row held out), so use all splits if this is cheap
    if number <= (max(allowed, total) if model.leaves_out(n, ridge) else allowed):
        train, rest = all_splits(total, n)
    else:
        train, rest = splits(total, n, planned, np.random.default_rng([seed, n, total]))
    errors = model.errors(train, rest, ridge)
    count, mean = len(errors), float(errors.mean())
    below, above = _widths(errors, count == number, of)
    own = 0.0 if count in (number, 1) else float(errors.std(ddof=1)) / math.sqrt(count)
    return Point(mean, own, below, above, count)


def _widths(errors: np.ndarray, every: bool, of: Interval) -> tuple[float, float]:
    """The amounts by which log(measurement) may be below and above log(mean of these errors), at the level of `of`."""
    count, mean, spread = len(errors), float(errors.mean()), float(errors.std())
    if not spread > 0:  # all splits equal, or only one split
        return 0.0, 0.0
    spread *= math.sqrt(count / (count - 1))
    drawn = of.resamples if of.resamples and count >= _MANY else 0
    fresh = 1 / of.resamples if of.resamples and not drawn else 0.0
    variance = (0.0 if every else 1 / count) + fresh
    from scipy.special import stdtrit  # slow to import

    quantile = float(stdtrit(count - 1, (1 + of.level) / 2))
    skewness = max(0.0, float(np.mean(((errors - mean) / spread) ** 3)))
    below = quantile * spread * math.sqrt(variance) / mean
    above = below * (1 + skewness * (1 + 2 * quantile**2) / (6 * quantile) * math.sqrt(variance))
    if not drawn:
        return below, above
    means = np.random.default_rng(count).choice(errors, size=(_DRAWS, drawn)).mean(axis=1)
    low, high = np.quantile(means, [(1 - of.level) / 2, (1 + of.level) / 2])
    with np.errstate(divide="ignore"):
        return float(np.hypot(below, np.log(mean / low))), float(np.hypot(above, np.log(high / mean)))


def assemble(
    equivalent: EquivalentCurve,
    nearest: np.ndarray,
    chosen: np.ndarray,
    points: Sequence[Point],
    allowance: float = 0.0,
) -> LearningCurve:
    """Assemble the curve at all sizes from the points at the measured sizes.

    Args:
        equivalent: the deterministic equivalent at all sizes.
        nearest: the deterministic equivalent's errors at the measured sizes, which are whole numbers.
        chosen: the positions of the measured sizes among all sizes, in ascending order of the sizes.
        points: the points of these sizes.
        allowance: the additional half-width of an interpolated correction, in the logarithm of the error.
    """
    sizes, predicted = np.asarray(equivalent.sizes), np.asarray(equivalent.error)
    measured, standard, below, above, counts = (np.array(column) for column in zip(*points, strict=True))
    at, where = np.log(sizes), np.log(sizes[chosen])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(measured / nearest)
        told = np.isfinite(found)  # an equivalent that is infinite or 0 gives no information about other sizes
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
        width = np.hypot(width, allowance)
        width[chosen] = widths
        ends.append(jnp.asarray(error * np.exp(sign * width)))
    shares = np.maximum(relative[left], relative[right])
    shares[chosen] = relative
    arrays = (jnp.asarray(array) for array in (error, error * shares, solves, correction))
    return LearningCurve(equivalent.sizes, *arrays, *ends, equivalent=equivalent)
