"""Conditions for the risk of ridgeless least squares: checks of the rows, and a check whether a fit has a smaller error
than the prediction 0.
"""

from typing import Any

import numpy as np
from scipy import stats

from lemmata.answers import Condition

_NEAR = 5  # the distance of the number of rows from the number of columns within which direct fits vary too much
_AGREES = 0.15
_LIKELY = 2.0  # the factor by which the given noise and the variance of the residuals may differ
_CHANCE = 0.05  # the largest p-value at which a signal counts as different from 0


def of_fits(sizes: np.ndarray, p: int, predicted: np.ndarray, measured: np.ndarray, spread: np.ndarray):
    """Return conditions on the rows and on the errors of direct fits. The errors must agree with the predicted curve at
    the sizes that are more than 5 rows away from p.
    """
    tested = ~np.isnan(measured) & (np.abs(sizes - p) > _NEAR)
    apart = np.abs(measured - predicted)[tested]
    allowed = np.fmax(_AGREES * predicted[tested], 3 * spread[tested])
    # Without noise and bias, the measured and the predicted error are 0.
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
    """Return the condition that a given noise agrees with the variance of least squares residuals on the rows."""
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
    """Return the condition that some fit has a smaller expected error than the prediction 0. If rows are given, also
    return the conditions that the rows contain a signal, and that the sizes do not exceed the number of rows.
    """
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
