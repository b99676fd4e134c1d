"""Conditions for the risk of ridgeless least squares: checks on the rows, and a check whether a fit is useful."""

from typing import Any

import numpy as np
from scipy import stats

from lemmata.answers import Condition

_NEAR = 5  # rows from the number of columns, within which direct fits do not settle
_AGREES = 0.15
_LIKELY = 2.0  # the factor by which noise that is given and the residuals of rows may differ
_CHANCE = 0.05  # p-value from which on a signal is not distinguished from none


def of_fits(sizes: np.ndarray, p: int, predicted: np.ndarray, measured: np.ndarray, spread: np.ndarray):
    """Check that direct fits agree with the predicted curve at the sizes that are not too near to p."""
    tested = ~np.isnan(measured) & (np.abs(sizes - p) > _NEAR)
    apart = np.abs(measured - predicted)[tested]
    allowed = np.fmax(_AGREES * predicted[tested], 3 * spread[tested])
    # Without noise and bias both are 0.
    relative = np.divide(apart, predicted[tested], out=np.where(apart > 0, np.inf, 0.0), where=predicted[tested] > 0)
    largest = float(relative.max()) if tested.any() else None
    return (
        Condition("rows are independent draws of one distribution"),
        Condition("the target is linear in the columns, up to a part that acts like independent noise"),
        Condition("errors of direct fits agree with the curve (largest relative difference)", largest,
                  bool((apart <= allowed).all()) if tested.any() else None,
                  f"within {100 * _AGREES:g} % or 3 standard errors, at sizes over {_NEAR} rows away from p"),
        Condition("no size is within 5 rows of the number of columns", None, bool((np.abs(sizes - p) > _NEAR).all()),
                  "near that number, the error of a fit has no mean, or a mean that few fits do not show"),
    )  # fmt: skip


def of_noise(rows: Any, noise: float | None) -> tuple[Condition, ...]:
    """Check a given noise against the variance of the residuals of least squares on the rows."""
    if rows is None or noise is None:
        return ()
    x, y = rows
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    found = float(residual @ residual) / (len(y) - x.shape[1])
    ratio = found / noise if noise > 0 else np.inf
    return (
        Condition("the given noise agrees with the rows (variance of the residuals divided by the noise)", ratio,
                  1 / _LIKELY <= ratio <= _LIKELY, f"within a factor of {_LIKELY:g}"),
    )  # fmt: skip


def of_content(sizes: np.ndarray, predicted: np.ndarray, zero: float, rows: Any) -> tuple[Condition, ...]:
    """Check whether some fit is expected to predict better than 0, and whether the rows show a signal."""
    ratio = float(predicted.min() / zero) if zero > 0 else np.inf
    useful = Condition("some size has a smaller error than the prediction 0 (smallest ratio of the errors)", ratio,
                       ratio < 1, "otherwise predicting 0 is at least as good at every size")  # fmt: skip
    if rows is None:
        return (useful,)
    x, y = rows
    count, p = x.shape
    left = float(np.sum((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2))
    explained = max(float(y @ y) - left, 0.0)
    chance = float(stats.f.sf(explained / p / (left / (count - p)), p, count - p)) if left > 0 else float(not explained)
    return (
        useful,
        Condition("the target depends on the columns (p-value of the F test)", chance, chance <= _CHANCE,
                  "otherwise these rows do not distinguish the signal from 0"),
        Condition("sizes are at most the number of given rows (largest size divided by that number)",
                  float(sizes.max() / count), bool(sizes.max() <= count), "otherwise the curve is extrapolated"),
    )  # fmt: skip
