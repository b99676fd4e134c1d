"""The expected loss of a model at every number of rows. All sentences of an answer use this one estimate."""

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float

from lemmata.intervals import Interval
from lemmata.subjects.forecasts import Forecast

from ._losses import NORMAL_90, Losses
from ._measure import Measured
from ._metrics import Metric

LEVELS = (0.05, 0.5, 0.95)
STEP = 0.03
WIDER = 3.0
"""A sample may lack this many rows as large as its largest: with probability 5 %, a share 3/m is not seen in m rows."""
TRAINED = 1.5
"""With few errors, the upper end of a share is cut at this many times its exact bound, because training sets vary."""
STEEPEST = 2.0
"""Beyond the measured sizes, no loss is expected to fall faster than this power of the number of rows."""
SAME = 0.9
"""Two models count as measured on different rows if one has fewer than this share of the other's rows."""
AHEAD = 1e4
"""How far the curves are drawn, as a multiple of the last measured size."""
FEW, MOST_STRETCHED, STRETCH = 120, 60, 1.3
"""Intervals of tables of at most 60 rows are 1.3 times as wide, in logarithms; from 120 rows on, they are not widened.

With so few rows, standard errors are themselves uncertain. The factor was chosen on the odd half of the tables of
`benchmarks/studies.py`, where nine in ten of the widened intervals of 60 rows contain the true error.
"""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with its forecast, in a unit.

    Args:
        measured: the measurements.
        forecast: the forecast of the curve.
        unit: the metric.
        total: N, the number of the user's rows.
        ground: the least loss that is expected beyond the measured sizes, because a better model has shown that this
            loss is noise.
        room: the least distance, in logarithms, of the 5 % and the 95 % curve from the median at the last measured size
            and beyond; it is taken from models that were tested on more rows.
    """

    measured: Measured
    forecast: Forecast
    unit: Metric
    total: int
    ground: float = 0.0
    room: tuple[float, float] = (0.0, 0.0)

    @property
    def title(self) -> str:
        """The model in words."""
        return self.measured.model.title

    @property
    def losses(self) -> Losses:
        """The measured losses."""
        return self.measured.losses[self.unit.name]

    @property
    def reach(self) -> float:
        """The largest number of training rows on which the model was measured."""
        return float(self.losses.sizes[-1])

    @functools.cached_property
    def curves(self) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s 3"]]:
        """The logarithms ln n, and the 5 %, 50 % and 95 % curves of the loss at n rows.

        If few rows hold a large part of a mean of squares, the mean is less certain than its standard error shows. The
        reason is that the observed rows may lack rows of this size or larger. The upper end includes an allowance for
        them. The median does not, because such rows would add the same amount to the loss of guessing and of any other
        model. The forecast is also widened to the exact bounds of the last measured size if errors are few, and kept
        within the range of its metric. Its median falls at most like n^-2, and not below the ground.
        """
        last, first = math.log(self.reach), math.log(self.losses.sizes[0])
        grid = np.arange(0.0, last + math.log(AHEAD) + STEP, STEP)
        logs = np.unique(np.concatenate([grid, [first, last, math.log(self.total)]]))
        curves = self.forecast.quantiles(np.exp(logs), LEVELS)
        after = logs >= last - 1e-9
        curves[after, 1:] = np.maximum(curves[after, 1:], self._steepest(curves[after][0, 1:], logs[after] - last))
        if self.losses.greatest < math.inf:
            curves[after, 0] = np.minimum(curves[after, 0], self.losses.least)
            # Exact bounds at the last size also hold beyond it, even if the first sizes change the smoothed curve.
            most = self.losses.greatest
            curves[after, 2] = np.clip(curves[after, 2], most, TRAINED * most)
            curves[after, 1] = np.minimum(curves[after, 1], most)
        if self.losses.tail > 0:
            curves = _tailed(curves, self.losses.tail)
        down, up = (math.exp(own) for own in self.room)
        curves[after, 0] = np.minimum(curves[after, 0], curves[after, 1] / down)
        curves[after, 2] = np.maximum(curves[after, 2], curves[after, 1] * up)
        level = float(curves[np.searchsorted(logs, last - 1e-9), 1])
        beyond = logs > last + 1e-9
        curves[beyond, 1] = np.maximum(curves[beyond, 1], min(self.ground, level))
        curves = np.clip(curves, 0.0, self.unit.most)
        curves = np.stack([curves[:, :2].min(axis=1), curves[:, 1], curves[:, 1:].max(axis=1)], axis=1)
        return logs, np.clip(_stretched(curves, stretch(self.total)), 0.0, self.unit.most)

    def _steepest(self, ends: Float[np.ndarray, " 2"], ahead: Float[np.ndarray, " s"]) -> Float[np.ndarray, "s 2"]:
        """Return a median and upper end that fall as n^-2 beyond the last measured size, so no curve ends at 0."""
        median = ends[0] if ends[0] > 0 else float(self.losses.mean[-1])
        return np.exp(-STEEPEST * ahead)[:, None] * np.array([median, max(ends[1], median)])

    def expected(self, n: float | int) -> Interval:
        """Return the expected loss at n rows, with its 90 % interval."""
        logs, curves = self.curves
        lower, value, upper = (float(np.interp(math.log(n), logs, curve)) for curve in curves.T)
        return Interval(value, lower, upper)

    def samples(self, loss: float) -> Interval:
        """Return the least n such that the expected loss is at or below this loss from n rows up to all rows.

        This number is at most N exactly if the expected loss with all N rows is at most this loss. The lower end is
        where the 5 % curve first reaches the loss. The upper end is the point from which the 95 % curve stays below
        the loss. It is infinite if there is no such point up to 10,000 times the last measured size. Below the
        smallest measured size, nothing is known. So value and upper end are not below it, and the lower end is 1 if
        the 5 % curve reaches the loss at that size. If the interval of the loss with all N rows is above this loss,
        the lower end is at least N.
        """
        logs, curves = self.curves
        first = int(np.searchsorted(logs, math.log(self.losses.sizes[0]) - 1e-9))
        here = int(np.searchsorted(logs, math.log(self.total) - 1e-9))
        ends = []
        for j in range(3):
            curve = curves[:, j].copy()
            if j:
                curve[: here + 1] = np.maximum.accumulate(curve[: here + 1][::-1])[::-1]
            ends.append(_first_at_most(logs, curve, loss, first))
        start = float(self.losses.sizes[0])
        if curves[here, 0] > loss:
            ends[0] = max(ends[0], float(self.total))
        lower, value, upper = max(ends[0], self._missed(loss)), max(ends[1], start), max(ends[2], start)
        return Interval(value, min(lower, value), max(upper, value))

    def _missed(self, loss: float) -> float:
        """The largest size at which the measured loss is above this loss by its 90 % interval; 1 if there is none."""
        losses = self.losses
        above = np.flatnonzero(losses.mean - NORMAL_90 * losses.se > loss)
        return float(losses.sizes[above[-1]]) if len(above) else 1.0

    def limit(self) -> Interval:
        """The least expected loss at any number of rows. Its upper end is not below the upper end at the last size."""
        _, curves = self.curves
        first = int(np.searchsorted(self.curves[0], math.log(self.losses.sizes[0]) - 1e-9))
        lower, value, _ = curves[first:].min(axis=0).tolist()
        return Interval(value, min(lower, value), max(self.expected(self.reach).upper, value))


def _tailed(curves: Float[np.ndarray, "s 3"], tail: float) -> Float[np.ndarray, "s 3"]:
    """Return the curves, with an upper allowance for rows that are larger than all observed rows.

    For the upper end, half of the largest loss is added to the median, just as half an error is added to a share.
    """
    value, upper = np.maximum(curves[:, 1:], 1e-300).T
    up = np.hypot(np.log(upper / value), math.log1p(WIDER * tail))
    return np.stack([curves[:, 0], curves[:, 1], value * (1 + tail / 2) * np.exp(up)], axis=1)


def stretch(total: int) -> float:
    """Return the factor by which intervals are widened, in logarithms, because a table has few rows.

    Args:
        total: the rows of the table.

    >>> stretch(60), round(stretch(85), 3), stretch(120)
    (1.3, 1.149, 1.0)
    """
    share = math.log(FEW / max(total, 1)) / math.log(FEW / MOST_STRETCHED)
    return 1 + (STRETCH - 1) * min(max(share, 0.0), 1.0)


def _stretched(curves: Float[np.ndarray, "s 3"], factor: float) -> Float[np.ndarray, "s 3"]:
    """The curves with intervals that are wider by this factor in logarithms. An end at 0 stays there."""
    if factor == 1:
        return curves
    lower, value, upper = np.maximum(curves, 1e-300).T
    ends = value * (lower / value) ** factor, value * (upper / value) ** factor
    return np.stack([np.where(curves[:, 0] > 0, ends[0], 0.0), curves[:, 1], ends[1]], axis=1)


def _first_at_most(logs: np.ndarray, curve: np.ndarray, loss: float, first: int) -> float:
    """Return the n at which a curve first reaches the loss, from index `first` on.

    The curve is taken as linear between points of the grid.
    """
    later = np.flatnonzero(curve[first:] <= loss)
    if not len(later):
        return math.inf
    if later[0] == 0:
        return 1.0
    at = first + int(later[0])
    share = (curve[at - 1] - loss) / (curve[at - 1] - curve[at])
    return float(np.exp(logs[at - 1] + share * (logs[at] - logs[at - 1])))


def grounded(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, limited so that none is expected to fall below the noise that the best one has shown.

    The ground is the limit of the model that is best with all rows. If its curve is flat, the remaining loss counts as
    noise until a model is seen below it. The 5 % curves keep their own ends, so a possible gain by a worse model stays
    open.
    """
    able = [item for item in candidates if len(item.losses.sizes)]
    if not able:
        return candidates
    best = min(able, key=lambda item: item.expected(item.total).value)
    ground = best.limit().value
    return [item if item is best else dataclasses.replace(item, ground=ground) for item in candidates]


def evened(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, widened so that no interval is narrower than those of models tested on more rows.

    All models are tested on rows of one table. If a model has few splits, and none of them has the largest losses, its
    standard error is small, although its error on new rows is not known better. The intervals at the last measured
    size are compared, in logarithms. For the other models, the smallest width is the median of the models that were
    tested on the most rows.
    """
    able = [item for item in candidates if len(item.losses.sizes) and item.measured.learns]
    known = [item for item in able if item.unit.task == "regression" and math.isfinite(item.losses.rows)]
    most = max((item.losses.rows for item in known), default=0.0)
    ends = [item.expected(item.reach) for item in known if item.losses.rows >= SAME * most]
    ratios = [(end.value / end.lower, end.upper / end.value) for end in ends if end.lower > 0 and end.value > 0]
    if not ratios:
        return candidates
    wider = stretch(known[0].total)  # the least widths are widened with the rest
    room = tuple(float(np.median([math.log(pair[k]) for pair in ratios])) / wider for k in range(2))
    fewer = [item.measured.model.name for item in known if item.losses.rows < SAME * most]
    return [dataclasses.replace(item, room=room) if item.measured.model.name in fewer else item for item in candidates]
