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
"""A sample may lack this many rows that are as large as its largest row or larger.

With probability 5 %, none of m rows is in the part of the distribution with the largest losses that has the share 3/m,
although three rows in this part are expected.
"""
TRAINED = 1.5
"""If errors are few, the upper end of a share's interval is at most this many times its exact bound.

The exact bound accounts only for the choice of held-out rows. Training sets vary as well, so the upper end may be above
the exact bound.
"""
STEEPEST = 2.0
"""Beyond the measured sizes, no loss is expected to fall faster than as n to the power of minus this number."""
SAME = 0.9
"""Two models count as tested on different rows if one was tested on less than this share of the other's rows."""
AHEAD = 1e4
"""The end of the curves, as a multiple of the last measured size."""
_FAR = 1e3
"""An interval whose upper end is more than this many times the value is widened as if it were this many times."""
FEW, MOST_STRETCHED, STRETCH = 120, 60, 1.3
"""Intervals of tables of at most 60 rows are 1.3 times as wide, in logarithms; from 120 rows on, they are not widened.

With few rows, standard errors are themselves uncertain. The factor was chosen on the half "odd" of the tables of
`benchmarks/studies.py`. In this half, nine in ten of the widened intervals of 60 rows contain the true error.
"""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model with the forecast of its loss in one metric.

    Args:
        measured: the measured losses of the model.
        forecast: the forecast of the learning curve.
        unit: the metric.
        total: N, the number of the user's rows.
        ground: the least loss that is expected beyond the measured sizes, because a better model has shown that this
            loss is noise.
        room: the least allowed distances, in logarithms of the loss, of the 5 % and the 95 % curve from the median
            curve, at the last measured size and beyond. Models that were tested on more rows set these distances.
    """

    measured: Measured
    forecast: Forecast
    unit: Metric
    total: int
    ground: float = 0.0
    room: tuple[float, float] = (0.0, 0.0)

    @property
    def title(self) -> str:
        """The name of the model in words."""
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

        If a few rows contribute a large part of a mean of squares, the mean is less certain than its standard error
        shows. The reason is that other rows of this size or larger may exist that were not observed. The 95 % curve
        includes an allowance for such unobserved rows. The median curve does not, because such rows would add the same
        amount to the loss of every model and of guessing. If errors are few, the curves are widened to the exact bounds
        of the last measured size. All curves are kept within the range of the metric. The median falls at most like
        n^-2, and not below `ground`.
        """
        last, first = math.log(self.reach), math.log(self.losses.sizes[0])
        grid = np.arange(0.0, last + math.log(AHEAD) + STEP, STEP)
        logs = np.unique(np.concatenate([grid, [first, last, math.log(self.total)]]))
        curves = self.forecast.quantiles(np.exp(logs), LEVELS)
        after = logs >= last - 1e-9
        curves[after, 1:] = np.maximum(curves[after, 1:], self._steepest(curves[after][0, 1:], logs[after] - last))
        if self.losses.greatest < math.inf:
            curves[after, 0] = np.minimum(curves[after, 0], self.losses.least)
            # The exact bounds at the last size also hold at larger sizes, whatever the smoothed curve is there.
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
        """Return the steepest allowed median and 95 % curve: beyond the last measured size, they fall as n^-2."""
        median = ends[0] if ends[0] > 0 else float(self.losses.mean[-1])
        return np.exp(-STEEPEST * ahead)[:, None] * np.array([median, max(ends[1], median)])

    def expected(self, n: float | int) -> Interval:
        """Return the expected loss at n rows, with its 90 % interval."""
        logs, curves = self.curves
        lower, value, upper = (float(np.interp(math.log(n), logs, curve)) for curve in curves.T)
        return Interval(value, lower, upper)

    def samples(self, loss: float) -> Interval:
        """Return the least n such that the expected loss is at most `loss` from n rows up to all N rows.

        This number is at most N if and only if the expected loss with all N rows is at most `loss`. The lower end is
        the size at which the 5 % curve first reaches `loss`. The upper end is the size from which the 95 % curve stays
        at or below `loss`. An end is infinite if there is no such size up to 10,000 times the last measured size. Below
        the smallest measured size, nothing is known. So the value and the upper end are at least this size, and the
        lower end is 1 if the 5 % curve reaches `loss` at this size. If the interval of the loss with all N rows is
        above `loss`, the lower end is at least N.
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
        """Return the largest size at which the 90 % interval of the measured loss is above `loss`; 1 without one."""
        losses = self.losses
        above = np.flatnonzero(losses.mean - NORMAL_90 * losses.se > loss)
        return float(losses.sizes[above[-1]]) if len(above) else 1.0

    def limit(self) -> Interval:
        """Return the least expected loss at any number of rows. Its upper end is at least that of the last size."""
        _, curves = self.curves
        first = int(np.searchsorted(self.curves[0], math.log(self.losses.sizes[0]) - 1e-9))
        lower, value, _ = curves[first:].min(axis=0).tolist()
        return Interval(value, min(lower, value), max(self.expected(self.reach).upper, value))


def _tailed(curves: Float[np.ndarray, "s 3"], tail: float) -> Float[np.ndarray, "s 3"]:
    """Return the curves with a larger upper end, which allows for rows that are larger than all observed rows.

    The upper end starts from the median curve times 1 + tail/2. This factor adds half of what the largest row
    contributes to the mean loss, just as half an error is added to a share of errors.
    """
    value, upper = np.maximum(curves[:, 1:], 1e-300).T
    up = np.hypot(np.log(upper / value), math.log1p(WIDER * tail))
    return np.stack([curves[:, 0], curves[:, 1], value * (1 + tail / 2) * np.exp(up)], axis=1)


def stretch(total: int) -> float:
    """Return the factor, above 1 for few rows, by which intervals are widened in logarithms of the loss.

    Args:
        total: the number of rows of the table.

    >>> stretch(60), round(stretch(85), 3), stretch(120)
    (1.3, 1.149, 1.0)
    """
    share = math.log(FEW / max(total, 1)) / math.log(FEW / MOST_STRETCHED)
    return 1 + (STRETCH - 1) * min(max(share, 0.0), 1.0)


def _stretched(curves: Float[np.ndarray, "s 3"], factor: float) -> Float[np.ndarray, "s 3"]:
    """Return the curves with intervals that are wider by this factor in logarithms. A lower end of 0 stays 0."""
    if factor == 1:
        return curves
    lower, value, upper = curves.T
    above = np.divide(upper, value, out=np.full(len(curves), _FAR), where=upper < _FAR * value)
    below = np.divide(lower, value, out=np.zeros(len(curves)), where=value > 0)
    return np.stack([value * below**factor, value, upper * above ** (factor - 1)], axis=1)


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
    """Return the candidates, limited so that none is expected to fall below the noise that the best model has shown.

    The ground of a candidate is the limit of the model that is best with all rows. If the curve of this model is flat,
    the remaining loss counts as noise until a model is measured below it. The 5 % curves are not limited, so the
    intervals still allow that a worse model falls below the ground.
    """
    able = [item for item in candidates if len(item.losses.sizes)]
    if not able:
        return candidates
    best = min(able, key=lambda item: item.expected(item.total).value)
    ground = best.limit().value
    return [item if item is best else dataclasses.replace(item, ground=ground) for item in candidates]


def evened(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates. For numbers, widen intervals of models tested on fewer rows to the width of the others.

    A model with few splits is tested on fewer rows of the table. If none of its splits has the rows with the largest
    losses, its standard error is small. A small standard error does not mean that its error on new rows is known better
    than that of other models. The widths of the intervals at the last measured size are compared, in logarithms. The
    least allowed width is the median width of the models that were tested on the most rows.
    """
    able = [item for item in candidates if len(item.losses.sizes) and item.measured.learns]
    known = [item for item in able if item.unit.task == "regression" and math.isfinite(item.losses.rows)]
    most = max((item.losses.rows for item in known), default=0.0)
    ends = [item.expected(item.reach) for item in known if item.losses.rows >= SAME * most]
    ratios = [(end.value / end.lower, end.upper / end.value) for end in ends if end.lower > 0 and end.value > 0]
    if not ratios:
        return candidates
    wider = stretch(known[0].total)  # all widths are widened again later
    room = tuple(float(np.median([math.log(pair[k]) for pair in ratios])) / wider for k in range(2))
    fewer = [item.measured.model.name for item in known if item.losses.rows < SAME * most]
    return [dataclasses.replace(item, room=room) if item.measured.model.name in fewer else item for item in candidates]
