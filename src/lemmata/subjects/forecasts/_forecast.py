"""Forecast a measured learning curve at more data, with an interval whose coverage was measured on other curves.

Inside the measured sizes, a Gaussian process smooths ln(error) as a function of ln(size) (`_curve_smoothing`). Beyond
the last size, the forecast is a mixture of several continuations: a constant, straight lines, the Gaussian process, a
decaying slope, and power laws with a floor. A small network computes the shares of the mixture from the curve's
features (`_curve_prior`). The network also computes a correction and two scales, downwards and upwards, that grow with
the distance from the last size.

The network was trained on real curves and on synthetic curves of known form, and serves as a prior. The real curves
belong to the data sets with odd OpenML numbers in the Learning Curve Database (Mohr et al., 2022). These curves were
cut at random sizes, thinned, and averaged over few splits. Then the scales were multiplied by a factor for each
distance from the last size (horizon). With these factors, intervals have the nominal coverage on curves of data sets
that were not used in the fit. The numbers are in learning_curve_prior.json. `benchmarks/learning_curves.py` writes this
file and reports coverage and error on the data sets with even numbers.

The forecast gives no guarantee for a single curve. An unusual curve (a phase transition beyond the last size, a change
of the data's distribution) can leave the interval. The calibration is an average over curves and was checked up to 8
times the last size. Beyond this size, the scales continue to grow in proportion to ln n, by choice.
"""

import dataclasses
import functools
import importlib.resources
import json
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy import special

from lemmata.core import array_of, real_numbers
from lemmata.errors import DataError
from lemmata.intervals import Interval

from ._curve_prior import continuations, look, outlook
from ._curve_smoothing import Smoothed, smooth

FARTHEST = 1e4
"""The largest size of a forecast, divided by the last measured size. An error that the curve does not reach up to this
size counts as unreachable."""
LEAST = 3
LEAST_OWN = 0.25
"""The smallest share of a measurement's standard error that is assumed to be independent of the other measurements."""
STEP = 0.03


@dataclasses.dataclass(frozen=True)
class Prior:
    """A prior that was learned from many curves.

    Args:
        members: the networks, whose outputs are averaged.
        horizons: the horizons, ln(size / last size), of the factors `down` and `up`.
        down, up: the factors that multiply the scales below and above the median, at these horizons. The first factor
            also applies inside the measured range.
    """

    members: tuple[dict, ...]
    horizons: Float[np.ndarray, " k"]
    down: Float[np.ndarray, " k"]
    up: Float[np.ndarray, " k"]

    def spread(self, features, ways, variance, horizons) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the median of the change of ln(error), its scales below and above the median (already multiplied by
        `down` and `up`), and a number that is larger for heavier tails.
        """
        found = [outlook(member, features, ways, variance, horizons) for member in self.members]
        median, down, up = (np.mean(part, axis=0) for part in zip(*found, strict=True))
        apart = np.var([part[0] for part in found], axis=0)
        tail = float(np.mean([np.exp(member["tail"]) for member in self.members]))
        down = np.sqrt(down**2 + apart) * np.interp(horizons, self.horizons, self.down)
        up = np.sqrt(up**2 + apart) * np.interp(horizons, self.horizons, self.up)
        return median, down, up, tail


@functools.cache
def prior() -> Prior:
    """Return the prior that is stored in the package."""
    text = importlib.resources.files("lemmata.subjects.forecasts").joinpath("learning_curve_prior.json").read_text()
    return prior_from(json.loads(text))


def prior_from(stored: dict) -> Prior:
    """Return the prior from the content of a JSON file."""
    members = tuple(
        {
            "matrices": [np.array(matrix, float) for matrix in member["matrices"]],
            "biases": [np.array(bias, float) for bias in member["biases"]],
            **{name: np.array(member[name], float) for name in ("centre", "spread", "tail")},
        }
        for member in stored["members"]
    )
    stretches = (np.array(stored[name], float) for name in ("horizons", "down", "up"))
    return Prior(members, *stretches)


@dataclasses.dataclass(frozen=True)
class Forecast:
    """A distribution of the true mean error at every number of rows. The function `forecast` returns this object.

    Args:
        smoothed: the smoothed curve, as a batch with one curve.
        sizes: the measured sizes.
        measured: the measured losses, which are not smoothed.
        features, ends: the results of `look` for this curve.
        prior: the prior that was learned from other curves.
        shared: the relative standard error that all measurements have in common.
    """

    smoothed: Smoothed
    sizes: Float[np.ndarray, " s"]
    measured: Float[np.ndarray, " s"]
    features: Float[np.ndarray, "1 f"]
    ends: dict
    prior: Prior
    shared: float = 0.0

    def quantiles(self, sizes, levels) -> Float[np.ndarray, "s q"]:
        """Return quantiles of the true error, with one row for each size and one column for each level.

        The quantiles increase with the level.

        Args:
            sizes: numbers of rows, at least 1. Within the measured sizes, the quantiles belong to the smoothed curve.
            levels: the levels of the quantiles, between 0 and 1.
        """
        sizes, levels = _reals("sizes", sizes), _reals("levels", levels)
        logs, normal = np.log(sizes), special.ndtri(levels)[None]
        median, down, up, tail = self._distribution(logs)
        x = np.sinh(np.clip(tail * normal, -50.0, 50.0)) / tail
        end = float(self.measured[-1])
        shared = self.shared * end / max(end + float(self.smoothed.offset[0]), np.finfo(float).tiny)
        away = np.hypot(np.where(x < 0, down[:, None], up[:, None]) * x, shared * normal)
        values = median[:, None] + np.sign(normal) * away
        return np.maximum(np.exp(np.clip(values, -700.0, 700.0)) - self.smoothed.offset[0], 0.0)

    def error(self, n: float | int, level: float = 0.9) -> Interval:
        """Return the median of the true error at n rows, and the central interval that contains the true error with
        probability `level`.
        """
        lower, value, upper = self.quantiles([n], _levels(level))[0].tolist()
        return Interval(value, lower, upper)

    def samples(self, error: float | int, level: float = 0.9) -> Interval:
        """Return the smallest number of rows at which the curve is at or below `error`, with an interval.

        The value is the number of rows at which the median first reaches `error`. The lower and upper ends are the
        sizes at which the lower and upper quantiles first reach `error`. A number is math.inf if its quantile does not
        reach `error` up to 10,000 times the last measured size. If all measurements from some size on are at or below
        `error`, the value is at most this size. Value and upper end are at least the first measured size, because there
        is no measurement below this size. If the lower quantile is at or below `error` at the first size, the lower end
        is 1.
        """
        logs, curves, first = self._curves(level)
        lower, value, upper = (_first_below(logs, curves[:, i], error, first) for i in range(3))
        start = float(self.sizes[0])
        value, upper = max(value, start), max(upper, start)
        above = np.flatnonzero(self.measured > error)
        reached = int(above[-1]) + 1 if len(above) else 0
        if reached < len(self.sizes):
            value = min(value, float(self.sizes[reached]))
        return Interval(value, min(lower, value), max(upper, value))

    def floor(self, level: float = 0.9) -> Interval:
        """Return the error with unlimited rows: the minimum of each quantile over the sizes from the first size on.

        The sizes extend to 10,000 times the last size. `samples(error)` has a finite value exactly if `error` is at
        least the value that `floor` returns. A lower end of `samples` is finite exactly if `error` is at least the
        lower end of `floor`. Upper ends are finite under the same condition.
        """
        _, curves, first = self._curves(level)
        lower, value, upper = curves[first:].min(axis=0).tolist()
        value = min(value, float(self.measured[-1]))
        return Interval(value, min(lower, value), upper)

    def _curves(self, level: float) -> tuple[np.ndarray, np.ndarray, int]:
        """Return a fine grid of ln n that contains the measured sizes, three quantiles on this grid, and the index of
        the first measured size.
        """
        measured = self.smoothed.logs[0]
        grid = np.arange(0.0, float(measured[-1]) + math.log(FARTHEST) + STEP, STEP)
        logs = np.unique(np.concatenate([grid, measured]))
        return logs, self.quantiles(np.exp(logs), _levels(level)), int(np.searchsorted(logs, measured[0]))

    def _distribution(self, logs: Float[np.ndarray, " s"]) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the median of ln(error + offset), the scales below and above it, and a number for the heavy tails."""
        last = self.ends["last"][0]
        horizons = np.maximum(logs - last, 0.0)[None]
        ways = continuations(self.smoothed, self.ends, horizons)
        change, down, up, tail = self.prior.spread(self.features, ways, self.ends["variance"], horizons)
        change, down, up = change[0], down[0], up[0]
        mean, variance = (part[0] for part in self.smoothed.at(np.minimum(logs, last)[None]))
        inside = np.sqrt(variance / self.ends["variance"][0])
        return mean + change, down * inside, up * inside, tail


def _reals(name: str, given: object) -> np.ndarray:
    found = np.atleast_1d(real_numbers(name, array_of(name, given)))
    if found.dtype.kind == "c":
        raise DataError(name, found="complex numbers", rule="real numbers", remedy="pass the real parts")
    return found.astype(float)


def forecast(
    sizes,
    measured,
    se,
    *,
    baseline: float | int | None = None,
    shared: float = 0.0,
) -> Forecast:
    """Forecast a measured learning curve at more training rows.

    Args:
        sizes: at least 3 increasing numbers of training rows.
        measured: the mean held-out loss at each size. Losses are at least 0, and a smaller loss is better.
        se: the standard errors of the means, nan if unknown and 0 if exact.
        baseline: the loss of predicting the mean or the class shares, if known.
        shared: the relative standard error that the means at all sizes have in common, because they use the same rows.
            This error is a part of `se`. Averaging over sizes does not lower this error.

    Raises:
        DataError: if there are fewer than 3 sizes, if the sizes do not increase, or if a loss is negative or not
            finite.

    Example:
        >>> n = np.array([25, 50, 100, 200, 400])
        >>> curve = forecast(n, 2.0 * n**-0.5, 0.02 * n**-0.5, baseline=1.0)
        >>> found = curve.error(1600)
        >>> bool(found.lower < 2.0 * 1600**-0.5 < found.upper)
        True
    """
    sizes, measured, se = _reals("sizes", sizes), _reals("measured", measured), _reals("se", se)
    if not (sizes.shape == measured.shape == se.shape and sizes.ndim == 1):
        shapes = ", ".join(str(part.shape) for part in (sizes, measured, se))
        raise DataError(
            "sizes, measured and se do not fit each other",
            found=f"shapes {shapes}",
            rule="one loss and one standard error for each size",
            remedy="pass three lists of the same length",
        )
    if len(sizes) < LEAST:
        raise DataError(
            "the learning curve has too few sizes",
            found=len(sizes),
            rule=f"at least {LEAST}",
            remedy="measure the loss at more sizes",
        )
    if not (np.all(np.diff(sizes) > 0) and sizes[0] >= 1 and np.isfinite(sizes[-1])):
        raise DataError("sizes are out of bounds", found=sizes.tolist(), rule="finite, increasing and at least 1")
    if not (np.all(np.isfinite(measured)) and np.all(measured >= 0)):
        raise DataError("measured is out of bounds", found=measured.tolist(), rule="finite and at least 0")
    known = np.where(np.isfinite(se) & (se >= 0), se, np.nan)
    known = np.sqrt(np.maximum(known**2 - (shared * measured) ** 2, (LEAST_OWN * known) ** 2))
    smoothed = smooth(sizes[None], measured[None], known[None])
    features, ends = look(smoothed, np.array([np.nan if baseline is None else baseline], float))
    return Forecast(smoothed, sizes, measured, features, ends, prior(), shared)


def _levels(level: float) -> Sequence[float]:
    return ((1 - level) / 2, 0.5, (1 + level) / 2)


def _first_below(
    logs: Float[np.ndarray, " s"], errors: Float[np.ndarray, " s"], error: float | int, first: int
) -> float:
    """Return the n at which the curve first reaches the error, from index `first` on, or inf if the curve does not
    reach the error. Return 1 if the curve is at or below the error at index `first`. Between points of the grid, the
    curve is linear in ln n.
    """
    later = np.flatnonzero(errors[first:] <= error)
    if not len(later):
        return math.inf
    if later[0] == 0:
        return 1.0
    at = first + int(later[0])
    share = (errors[at - 1] - error) / (errors[at - 1] - errors[at])
    return float(np.exp(logs[at - 1] + share * (logs[at] - logs[at - 1])))
