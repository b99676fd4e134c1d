"""Find in a training log when a run fits, when it generalises, and whether one or two time scales explain the delay."""

import dataclasses
import math
from typing import Any

import numpy as np

from lemmata.answers import Condition, inside
from lemmata.errors import SettingError
from lemmata.printable import preformatted

from ._history import Curve, read_history
from ._pictures import history_chart

Interval = tuple[float, float]
_CLAIMS = ("grokking.clocks.delay_by_threshold", "grokking.clocks.delay_is_inverse_in_decay")
CLOCKS = {
    "one": "one clock is possible: within the logged steps, one delay fits all thresholds",
    "two": "two clocks: the delay falls as the threshold rises",
    "slower": "the delay rises with the threshold: late in training, the test error falls more slowly",
    "unknown": "one clock or two: not decided, because fewer than two thresholds are reached in both curves",
}


@dataclasses.dataclass(frozen=True)
class Crossing:
    """The steps at which a run reaches a threshold. None means that the threshold is never reached.

    Args:
        threshold: an accuracy. For a loss, the share by which the first logged loss has fallen.
        train: the first logged step at which the training curve reaches the threshold.
        train_interval: the interval from the previous logged step to `train`.
        test: the first logged step at which the validation curve reaches the threshold.
        test_interval: the interval from the previous logged step to `test`.
        delay: the ratio test / train of the two steps.
        delay_interval: the interval of `delay` that follows from the two other intervals.
    """

    threshold: float
    train: float | None
    train_interval: Interval | None
    test: float | None
    test_interval: Interval | None
    delay: float | None
    delay_interval: Interval | None


@dataclasses.dataclass(frozen=True, eq=False)
class GrokkingRun:
    """One run of a log.

    Args:
        weight_decay: the weight decay of the run, if the log has a column of weight decays.
        crossings: one `Crossing` for each threshold.
        clocks: a key of CLOCKS, which says whether one time scale explains the delay at all thresholds, or two are
            needed.
        onset: with two clocks (two time scales), the step at which the test error begins to fall. The error is assumed
            to fall exponentially from this step.
        onset_interval: the interval of `onset` that follows from the logged steps.
        last: the last logged step of the validation curve.
        notes: remarks about this run for the reader of the report.
        train: the logged training values by step.
        test: the logged validation values by step.
    """

    weight_decay: float | None
    crossings: tuple[Crossing, ...]
    clocks: str
    onset: float | None
    onset_interval: Interval | None
    last: float
    notes: tuple[str, ...]
    train: Curve = dataclasses.field(repr=False)
    test: Curve = dataclasses.field(repr=False)

    def __str__(self) -> str:
        head = "" if self.weight_decay is None else f"weight decay {self.weight_decay:g}\n"
        lines = [f"{'threshold':>9}  {'t_train':<22}{'t_test':<22}delay"]
        for own in self.crossings:
            cells = [_told(own.train, own.train_interval), _told(own.test, own.test_interval)]
            delay = "" if own.delay is None else _told(own.delay, own.delay_interval)
            lines.append(f"{own.threshold:>9g}  {cells[0]:<21} {cells[1]:<21} {delay}".rstrip())
        lines.append(CLOCKS[self.clocks])
        if self.onset is not None:
            lines.append(f"the test error begins to fall around step {_told(self.onset, self.onset_interval)}")
        return head + "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return preformatted(self)


@dataclasses.dataclass(frozen=True)
class DecaySlope:
    """The dependence of the times on the weight decay: slopes of log time against log weight decay.

    Args:
        threshold: the threshold at which the times are taken.
        test: the slope of log t_test.
        test_interval: the range of this slope over all times in the intervals between logged steps.
        train: the slope of log t_train.
        train_interval: the range of the slope of log t_train over all times in these intervals.
        decays: the weight decays that were used.
    """

    threshold: float
    test: float
    test_interval: Interval
    train: float
    train_interval: Interval
    decays: tuple[float, ...]

    @property
    def inverse(self) -> bool:
        """Whether t_test ~ 1/weight decay is compatible with the intervals."""
        return self.test_interval[0] <= -1 <= self.test_interval[1]

    def __str__(self) -> str:
        said = "1/weight decay is possible" if self.inverse else "not 1/weight decay"
        test, train = _told(self.test, self.test_interval), _told(self.train, self.train_interval)
        return f"t_test at {self.threshold:g} grows like weight decay^{test}: {said}; t_train like weight decay^{train}"

    def _repr_html_(self) -> str:
        return preformatted(self)


@dataclasses.dataclass(frozen=True, eq=False)
class GrokkingReport:
    """The results for a training log.

    Args:
        metric: what the values are, "accuracy" or "loss".
        columns: the names of the columns of steps, training values and validation values.
        runs: one `GrokkingRun` for each weight decay.
        slope: how the times depend on the weight decay, or None if fewer than two runs generalise.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    metric: str
    columns: tuple[str, str, str]
    runs: tuple[GrokkingRun, ...]
    slope: DecaySlope | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        step, train, test = self.columns
        lines = [f"{self.metric}: training {train}, validation {test}, against {step}"]
        lines += [str(run) for run in self.runs]
        lines += [] if self.slope is None else [str(self.slope)]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the curves of each run against the step with Altair, with t_train and t_test at the highest
        threshold.
        """
        return history_chart(self)


def grokking_report(
    history: Any,
    *,
    thresholds: Any = (0.5, 0.9, 0.99),
    step: Any = None,
    train: Any = None,
    test: Any = None,
    weight_decay: Any = None,
    metric: Any = None,
) -> GrokkingReport:
    """Find when a run fits the training set, when it generalises, and whether one clock (time scale) or two explain the
    delay.

    The time of a threshold is the first logged step at which a curve reaches this threshold. The interval of this time
    begins at the previous logged step. A loss reaches the threshold 0.9 if it has fallen to a tenth of the first logged
    loss. The delay is the ratio t_test/t_train. If training and test errors fall exponentially from the start, the
    delay is the same at all thresholds (one clock). If the delay falls as the threshold rises, the test error begins to
    fall only after some time (two clocks).

    With a column of weight decays, each value is one run. Then the slopes of log t_train and log t_test against the
    logarithm of the weight decay are computed. These slopes are compared with 0 and -1, the values for a linear model.

    Args:
        history: the path of a CSV file, a data frame, or a dictionary of columns. Steps with missing values are
            ignored.
        thresholds: numbers between 0 and 1.
        step: the column of the steps. With None, this and the other columns are found by their usual names.
        train: the column of the training accuracy or loss.
        test: the column of the validation accuracy or loss.
        weight_decay: the column of the weight decays, if there is one.
        metric: "accuracy" or "loss". Pass it if the names of the columns contain neither word.

    Raises:
        SettingError, UnknownNameError, DataError, ShapeError: if the table has no validation column, or cannot be used
            for another reason.

    Example:
        >>> log = {"step": [1, 10, 100, 1000], "train_acc": [0.1, 0.6, 1.0, 1.0], "val_acc": [0.1, 0.1, 0.2, 0.95]}
        >>> print(grokking_report(log, thresholds=[0.5, 0.9]))
        accuracy: training train_acc, validation val_acc, against step
        threshold  t_train               t_test                delay
              0.5  10 (1 to 10)          1000 (100 to 1000)    100 (10 to 1000)
              0.9  100 (10 to 100)       1000 (100 to 1000)    10 (1 to 100)
        one clock is possible: within the logged steps, one delay fits all thresholds
    """
    levels = _levels(thresholds)
    log = read_history(history, step, train, test, weight_decay, metric)
    runs = tuple(_run(decay, fits, learns, levels, log.metric) for decay, fits, learns in log.runs)
    slope = _slope(runs, levels)
    conditions = [Condition("times differ between seeds, but the intervals cover only the spacing of the logged steps")]
    if slope is not None and len(slope.decays) < len([run for run in runs if run.weight_decay]):
        conditions.append(Condition("some runs generalise at every weight decay", float(len(slope.decays)), False,
                                    "the slope uses only the runs that generalise"))  # fmt: skip
    return GrokkingReport(log.metric, log.columns, runs, slope, tuple(conditions))


def _levels(thresholds: Any) -> tuple[float, ...]:
    if isinstance(thresholds, str | bytes) or not hasattr(thresholds, "__iter__"):
        thresholds = [thresholds]
    levels = sorted({inside("threshold", level, 0.0, 1.0) for level in thresholds})
    if not levels:
        raise SettingError("thresholds", found="none", rule="at least one number between 0 and 1",
                           remedy="pass a list of them, for example [0.9]")  # fmt: skip
    return tuple(levels)


def _first(curve: Curve, level: float, metric: str) -> tuple[float | None, Interval | None]:
    reached = ~_misses(curve.values, level, metric, curve.values[0])
    if not reached.any():
        return None, None
    place = int(reached.argmax())
    before = float(curve.steps[place - 1]) if place else 0.0
    return float(curve.steps[place]), (before, float(curve.steps[place]))


def _misses(values: np.ndarray, level: float, metric: str, first: float) -> np.ndarray:
    """Return where values do not reach a threshold. A tolerance allows for rounding. So a loss of 0.3 counts as a tenth
    of 3.
    """
    return values < level * (1 - 1e-12) if metric == "accuracy" else values > (1 - level) * first * (1 + 1e-12)


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else math.inf


def _run(decay: float | None, train: Curve, test: Curve, levels: tuple[float, ...], metric: str) -> GrokkingRun:
    crossings, notes = [], []
    for level in levels:
        (fit, fit_in), (learned, learned_in) = _first(train, level, metric), _first(test, level, metric)
        delay = interval = None
        if fit is not None and fit > 0 and learned is not None and fit_in is not None and learned_in is not None:
            delay = learned / fit
            interval = (_ratio(learned_in[0], fit_in[1]), _ratio(learned_in[1], fit_in[0]))
        crossings.append(Crossing(level, fit, fit_in, learned, learned_in, delay, interval))
        for what, curve, first in (("training", train, fit), ("validation", test, learned)):
            if first is None:
                continue
            if first == curve.steps[0]:
                notes.append(f"the {what} {metric} reaches {level:g} at the first logged step: log earlier steps")
            later = Curve(curve.steps[curve.steps > first], curve.values[curve.steps > first])
            back = _misses(later.values, level, metric, curve.values[0])
            if back.any():
                level_of = f"below {level:g}" if metric == "accuracy" else f"above {1 - level:g} of the first one"
                notes.append(f"the {what} {metric} is {level_of} again at {back.sum()} of {len(back)} later steps")
    last = float(test.steps[-1])
    for what, curve in (("validation", test), ("training", train)):
        never = [f"{own.threshold:g}" for own in crossings if (own.test if curve is test else own.train) is None]
        if never:
            said = " and ".join([", ".join(never[:-1]), never[-1]] if never[1:] else never)
            notes.insert(0, f"the {what} {metric} never reaches {said} up to step {curve.steps[-1]:g}")
    clocks = _clocks(crossings)
    onset, onset_in = _onset(crossings) if clocks == "two" else (None, None)
    return GrokkingRun(decay, tuple(crossings), clocks, onset, onset_in, last, tuple(notes), train, test)


def _clocks(crossings: list[Crossing]) -> str:
    """Return the key of `CLOCKS` for a run. One delay fits all thresholds if the intervals of the delays have a common
    point.
    """
    own = [crossing.delay_interval for crossing in crossings if crossing.delay_interval is not None]
    if len(own) < 2:
        return "unknown"
    if max(low for low, _ in own) <= min(high for _, high in own):
        return "one"
    falls = any(low[0] > high[1] for place, low in enumerate(own) for high in own[place + 1 :])
    rises = any(low[1] < high[0] for place, low in enumerate(own) for high in own[place + 1 :])
    return "two" if falls and not rises else "slower"


def _onset(crossings: list[Crossing]) -> tuple[float | None, Interval | None]:
    """Return the onset t_0, from the lowest and the highest threshold that are reached. At a threshold 1 - eps, t_test
    = t_0 + log(1/eps)/b, where b is the rate at which the test error falls.
    """
    own = [(at.threshold, at.test, at.test_interval) for at in crossings if at.test is not None and at.test_interval]
    (low, early, early_in), (high, late, late_in) = own[0], own[-1]
    share = math.log1p(-low) / math.log1p(-high)
    onset = lambda first, second: max((first - share * second) / (1 - share), 0.0)
    return onset(early, late), (onset(early_in[0], late_in[1]), onset(early_in[1], late_in[0]))


def _slope(runs: tuple[GrokkingRun, ...], levels: tuple[float, ...]) -> DecaySlope | None:
    """Compute the slopes at the threshold that the most runs reach.

    If several thresholds are reached by equally many runs, use the highest. Return None if no threshold is reached by
    two runs.
    """
    best: list[tuple[float, Crossing]] = []
    for place in reversed(range(len(levels))):
        own = [(run.weight_decay, run.crossings[place]) for run in runs if run.weight_decay]
        own = [(decay, at) for decay, at in own if at.test_interval and at.train_interval
               and at.test_interval[0] > 0 and at.train_interval[0] > 0]  # fmt: skip
        best = own if len(own) > max(len(best), 1) else best
    if not best:
        return None
    logs = np.log([decay for decay, _ in best])
    weights = (logs - logs.mean()) / np.sum((logs - logs.mean()) ** 2)

    def line(times: list[float], intervals: list[Interval]) -> tuple[float, Interval]:
        ends = np.log(np.array(intervals))
        low = np.where(weights > 0, ends[:, 0], ends[:, 1]) @ weights
        high = np.where(weights > 0, ends[:, 1], ends[:, 0]) @ weights
        own = float(np.log(times) @ weights)
        return round(own, 12) + 0.0, (round(float(low), 12) + 0.0, round(float(high), 12) + 0.0)

    test = line([at.test or 0.0 for _, at in best], [at.test_interval or (0.0, 0.0) for _, at in best])
    train = line([at.train or 0.0 for _, at in best], [at.train_interval or (0.0, 0.0) for _, at in best])
    return DecaySlope(best[0][1].threshold, *test, *train, tuple(decay for decay, _ in best))


def _told(value: float | None, interval: Interval | None) -> str:
    if value is None or interval is None:
        return "never"
    low, high = ("infinity" if math.isinf(end) else f"{end:.4g}" for end in interval)
    return f"{value:.4g} ({low} to {high})"
