"""How a prediction and a measurement must compare, and what trials say about it.

Every relation judges arrays of predictions and measurements, one row a trial. A comparison of two numbers allows for
rounding: 32 eps times the condition number that the claim computes, times the larger of the two.
"""

import abc
import dataclasses

import numpy as np

from ._statistics import failure_limits, mean_interval, trials_to_support

ROUNDING = 32.0


@dataclasses.dataclass(frozen=True)
class Sample:
    """Finished trials: predictions (T, ...), measurements (T, ...) and condition numbers (T,)."""

    predicted: np.ndarray
    measured: np.ndarray
    condition: np.ndarray

    @property
    def trials(self) -> int:
        """How many trials."""
        return len(self.measured)

    @property
    def tolerance(self) -> np.ndarray:
        """What rounding explains in each trial: 32 eps condition max(|predicted|, |measured|), shape (T,)."""
        scale = np.maximum(
            *(
                np.abs(np.where(np.isfinite(a), a, 0.0)).reshape(len(a), -1).max(axis=1, initial=0.0)
                for a in (self.predicted, self.measured)
            )
        )
        return ROUNDING * np.finfo(float).eps * self.condition * scale


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What a relation says: holds (True), fails (False) or undecided (None), with the figures it rests on."""

    holds: bool | None
    estimate: float
    interval: tuple[float, float]
    reason: str
    needed: int | None = None


class Relation(abc.ABC):
    """How prediction and measurement compare."""

    @abc.abstractmethod
    def judge(self, sample: Sample, level: float) -> Judgement:
        """Judge finished trials; a false statement's failure to hold is declared wrongly with probability <= level."""

    @abc.abstractmethod
    def compare(self, sample: Sample) -> bool | None:
        """Whether one trial agrees; None where a single trial cannot tell."""

    @abc.abstractmethod
    def __str__(self) -> str: ...


def columns(array: np.ndarray) -> np.ndarray:
    """The components of each trial, one row a trial."""
    return np.asarray(array, float).reshape(len(array), -1)


def against_band(
    lowest: float, highest: float, interval: tuple[float, float], trials: int, width: float
) -> tuple[bool | None, int | None]:
    """Where an interval lies against the accepted band [lowest, highest], widened by `width` for support."""
    low, high = interval
    if high < lowest or low > highest:
        return False, None
    if low >= lowest - width and high <= highest + width:
        return True, None
    have, want = high - low, (highest - lowest) + 2 * width
    return None, int(np.ceil(trials * max((1.5 * have / want) ** 2, 2.0))) if np.isfinite(
        have
    ) and want > 0 else 2 * trials


@dataclasses.dataclass(frozen=True)
class _Bound(Relation):
    delta: float = 0.0
    resolution: float = 0.1

    def _violations(self, sample: Sample):
        excess = self._excess(columns(sample.predicted), columns(sample.measured))
        return np.any(excess > sample.tolerance[:, None], axis=1)

    @abc.abstractmethod
    def _excess(self, predicted: np.ndarray, measured: np.ndarray) -> np.ndarray: ...

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Exact binomial test of the violations; with delta = 0 a single violation refutes."""
        failures, trials = int(self._violations(sample).sum()), sample.trials
        lower, upper = failure_limits(failures, trials, level)
        aim = self.delta if self.delta > 0 else self.resolution
        reason = f"{failures} violations in {trials} trials; failure rate between {lower:.2g} and {upper:.2g}"
        if failures and (self.delta == 0 or lower > self.delta):
            return Judgement(False, failures / trials, (lower, upper), f"{reason}, allowed {self.delta:g}")
        if upper <= aim:
            return Judgement(True, failures / trials, (lower, upper), f"{reason}, allowed {aim:g}")
        needed = max(trials_to_support(aim, level), 2 * trials if failures else 0)
        return Judgement(None, failures / trials, (lower, upper), f"{reason}; {needed} trials could settle it", needed)

    def compare(self, sample: Sample) -> bool | None:
        """Whether the bound holds in this trial."""
        return not self._violations(sample).any()


@dataclasses.dataclass(frozen=True)
class AtMost(_Bound):
    """measured <= predicted with probability at least 1 - delta.

    With delta = 0 one violation refutes, and support means that the rate of violating problems under the claim's
    sampler is below `resolution`.
    """

    def _excess(self, predicted, measured):
        return measured - predicted

    def __str__(self) -> str:
        return "measured <= predicted" + (f" with probability >= {1 - self.delta:g}" if self.delta else "")


@dataclasses.dataclass(frozen=True)
class AtLeast(_Bound):
    """measured >= predicted with probability at least 1 - delta; as AtMost."""

    def _excess(self, predicted, measured):
        return predicted - measured

    def __str__(self) -> str:
        return "measured >= predicted" + (f" with probability >= {1 - self.delta:g}" if self.delta else "")


@dataclasses.dataclass(frozen=True)
class Equal(Relation):
    """measured = predicted up to rounding, in every trial.

    The tolerance is 32 eps times the claim's condition number times the largest entry of the trial. Support means
    that the rate of problems where equality fails is below `resolution`.
    """

    resolution: float = 0.1

    def _gaps(self, sample: Sample) -> np.ndarray:
        return np.abs(columns(sample.measured) - columns(sample.predicted)).max(axis=1, initial=0.0)

    def judge(self, sample: Sample, level: float) -> Judgement:
        """One inequality beyond rounding refutes."""
        gaps, tolerance = self._gaps(sample), sample.tolerance
        failures = int((gaps > tolerance).sum())
        worst = float(np.max(gaps / np.where(tolerance > 0, tolerance, 1.0), initial=0.0))
        limits = failure_limits(failures, sample.trials, level)
        reason = f"{failures} inequalities in {sample.trials} trials; largest gap {worst:.2g} rounding tolerances"
        if failures:
            return Judgement(False, worst, limits, reason)
        if limits[1] <= self.resolution:
            return Judgement(True, worst, limits, reason)
        needed = trials_to_support(self.resolution, level)
        return Judgement(None, worst, limits, f"{reason}; {needed} trials could settle it", needed)

    def compare(self, sample: Sample) -> bool | None:
        """Whether this trial is equal up to rounding."""
        return not (self._gaps(sample) > sample.tolerance).any()

    def __str__(self) -> str:
        return "measured = predicted, to rounding"


@dataclasses.dataclass(frozen=True)
class EqualInMean(Relation):
    """E[measured / predicted] = 1 (or E[measured - predicted] = 0 where relative is False), within `margin`.

    An exact statement has margin 0; an asymptotic one declares how far its setting may be from the limit. Support
    needs the confidence interval to lie within margin + resolution. Several components share the level (Bonferroni).
    """

    margin: float = 0.0
    resolution: float = 0.05
    relative: bool = True

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Skewness-corrected confidence interval of the mean difference against the margin."""
        difference = difference_of(sample, self.relative)
        return judge_means(difference, level, self.margin, self.resolution, "mean difference")

    def compare(self, sample: Sample) -> bool | None:
        """A single trial says nothing about a mean."""
        return None

    def __str__(self) -> str:
        return "mean of measured = predicted" + (f", within {self.margin:g}" if self.margin else "")


def difference_of(sample: Sample, relative: bool) -> np.ndarray:
    """The differences measured / predicted - 1, or measured - predicted, one row a trial."""
    predicted, measured = np.broadcast_arrays(columns(sample.predicted), columns(sample.measured))
    return measured / predicted - 1 if relative else measured - predicted


def judge_means(columns: np.ndarray, level: float, margin: float, resolution: float, what: str) -> Judgement:
    """Judge each column mean against ±margin; several columns share the level (Bonferroni)."""
    verdicts = []
    for column in columns.T:
        interval = mean_interval(column, level / columns.shape[1])
        rounding = ROUNDING * np.finfo(float).eps
        holds, needed = against_band(-margin - rounding, margin + rounding, interval, len(column), resolution)
        text = (
            f"{what} {column.mean():.3g}, interval [{interval[0]:.3g}, {interval[1]:.3g}], "
            f"allowed ±{margin:g}, resolution {resolution:g}"
        )
        verdicts.append(Judgement(holds, float(column.mean()), interval, text, needed))
    worst = min(verdicts, key=lambda v: {False: 0, None: 1, True: 2}[v.holds])
    if worst.holds is None:
        needed = max(v.needed for v in verdicts if v.holds is None)
        return dataclasses.replace(worst, reason=f"{worst.reason}; {needed} trials could settle it", needed=needed)
    return worst


@dataclasses.dataclass(frozen=True)
class Witness(Relation):
    """The object that the statement constructs attains at least the predicted value, with the given probability.

    One construction that attains it proves existence; the construction is refuted where it succeeds less often than
    stated (with probability 1: where it fails once, beyond rounding).
    """

    probability: float = 1.0

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Exact binomial test of the successes."""
        success = (columns(sample.measured) >= columns(sample.predicted) - sample.tolerance[:, None]).all(axis=1)
        count, trials = int(success.sum()), sample.trials
        lower, upper = failure_limits(trials - count, trials, level)
        reason = f"{count} of {trials} constructions attain the value"
        interval = (1 - upper, 1 - lower)
        if (self.probability == 1.0 and count < trials) or interval[1] < self.probability:
            return Judgement(False, count / trials, interval, f"{reason}, stated {self.probability:g}")
        if count:
            return Judgement(True, count / trials, interval, reason)
        return Judgement(None, 0.0, interval, f"{reason}; {4 * trials} trials could settle it", 4 * trials)

    def compare(self, sample: Sample) -> bool | None:
        """Whether this construction attains the value."""
        return bool((columns(sample.measured) >= columns(sample.predicted) - sample.tolerance[:, None]).all())

    def __str__(self) -> str:
        return f"the construction attains the predicted value with probability >= {self.probability:g}"
