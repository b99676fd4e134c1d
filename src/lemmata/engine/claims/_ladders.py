"""Relations along a ladder: rates, limits and orders. One trial is one ladder; the trials give the interval."""

import dataclasses
from typing import ClassVar

import numpy as np

from ._equalities import difference_of, judge_means
from ._relations import EXPONENT, WHOLE, Judgement, Relation, Sample, against_band, columns, factors, not_finite
from ._statistics import mean_interval


@dataclasses.dataclass(frozen=True)
class AbstractLadder(Relation):
    """A statement about one value a rung.

    Args:
        along: what the rungs are, in a word or a symbol.
        rungs: Python numbers, so that sizes that come from them may set shapes.
    """

    along: str = "n"
    rungs: tuple[float, ...] = ()

    def compare(self, sample: Sample) -> bool | None:
        """A single ladder has no interval."""
        return None

    def budget(self, level: float) -> int | None:
        """It depends on the spread of the measurement."""
        return None

    def broken(self, sample: Sample) -> np.ndarray:
        """NaN or infinity anywhere."""
        return not_finite(sample.measured) | not_finite(sample.predicted)

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """There is no trivial exponent."""
        return None

    @property
    def _ladder(self) -> str:
        return ", ".join(f"{rung:g}" for rung in self.rungs)

    def _one_a_rung(self, measured: tuple[int, ...]) -> str | None:
        count = len(self.rungs)
        return None if measured == (count,) else f"measure() gives one value for each of the {count} rungs"


@dataclasses.dataclass(frozen=True)
class Rate(AbstractLadder):
    """measured ~ C rung^exponent along a geometric ladder; `predict` gives the exponent, `measure` one value a rung.

    Each trial is one ladder and gives one log-log slope; the slopes give the interval. With `upper`, the statement is
    an upper bound O(rung^exponent), refuted only by a slope above exponent + margin. `margin` is the declared
    allowance for finite sizes; support needs the interval within margin + resolution. Rungs where the median
    measurement is at the rounding floor of the trial are dropped, and said so.
    """

    upper: bool = False
    margin: float = 0.05
    resolution: float = 0.1
    label: ClassVar[str] = "rate"
    farthest: ClassVar[float | None] = EXPONENT

    def _slopes(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        measured = columns(sample.measured)
        floor = columns(sample.tolerance(WHOLE))
        kept = (np.median(measured - floor, axis=0) > 0) & (measured > 0).all(axis=0)
        if kept.sum() < 3:
            return np.full(sample.trials, np.nan), kept
        logs = np.log(np.asarray(self.rungs)[kept])
        logs = logs - logs.mean()
        return np.log(measured[:, kept]) @ logs / (logs @ logs), kept

    def _constant(self, sample: Sample, kept: np.ndarray) -> str:
        """Fit C on the small half of the ladder, test it on the large half."""
        scaled = columns(sample.measured)[:, kept] / np.asarray(self.rungs)[kept] ** columns(sample.predicted)[:, :1]
        half = (kept.sum() + 1) // 2
        constant = float(np.median(scaled[:, :half].max(axis=1)))
        needed = float(np.median(scaled[:, half:].max(axis=1)))
        return f"constant {constant:.3g} fitted on the small half; the large half needs {needed:.3g}"

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Confidence interval of the slope against the exponent."""
        slopes, kept = self._slopes(sample)
        dropped = f"; {int((~kept).sum())} rungs at the rounding floor dropped" if not kept.all() else ""
        if not np.isfinite(slopes).all():
            text = f"fewer than 3 rungs of {self.along} above the rounding floor{dropped}"
            return Judgement(None, np.nan, (-np.inf, np.inf), text)
        excess = slopes - columns(sample.predicted)[:, 0]
        interval = mean_interval(excess, level)
        lowest = -np.inf if self.upper else -self.margin
        holds, needed = against_band(lowest, self.margin, interval, sample.trials, self.resolution)
        exponent = float(columns(sample.predicted)[:, 0].mean())
        shown = (exponent + interval[0], exponent + interval[1])
        band = (exponent + lowest - self.resolution, exponent + self.margin + self.resolution)
        decides = f"at most {band[1]:.3f}" if self.upper else f"[{band[0]:.3f}, {band[1]:.3f}]"
        reason = (
            f"slope along {self.along} {exponent + excess.mean():.3f}, interval [{shown[0]:.3f}, {shown[1]:.3f}], "
            f"stated {'at most ' if self.upper else ''}{exponent:.3f}, supported within {decides}; "
            f"{self._constant(sample, kept)}{dropped}"
        )
        needed = needed if holds is None else None
        return Judgement(holds, float(exponent + excess.mean()), shown, reason, band, needed)

    def gaps(self, sample: Sample) -> np.ndarray:
        """The difference of slope and exponent."""
        excess = self._slopes(sample)[0] - columns(sample.predicted)[:, 0]
        return excess if self.upper else np.abs(excess)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """Differences of exponents."""
        return np.abs(columns(false) - columns(predicted))

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """One exponent, one value a rung."""
        return "predict() gives one number, the exponent" if predicted != () else self._one_a_rung(measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The stated and the measured exponent."""
        return float(columns(sample.predicted)[0, 0]), float(self._slopes(sample)[0][0])

    @property
    def band(self) -> str:
        """Exponents."""
        wide, narrow = self.margin + self.resolution, self.margin
        if self.upper:
            return f"supported up to the exponent + {wide:g}, refuted where shown to be above the exponent + {narrow:g}"
        return f"supported within the exponent ± {wide:g}, refuted where shown to be outside ± {narrow:g}"

    def __str__(self) -> str:
        sign = "<=" if self.upper else "~"
        return f"measured {sign} C {self.along}^predicted along {self.along} = {self._ladder}"


@dataclasses.dataclass(frozen=True)
class Limit(AbstractLadder):
    """measured -> predicted along a ladder: the mean difference at the last rung is within `margin`.

    What a difference has beyond the margin is stated to fall at least like rung^(-slowest). Where the last rung is
    still outside the margin, it is compared with the rung two before it: an excess that has fallen less (a plateau,
    wherever it lies) refutes, one that falls as fast is undecided.
    """

    margin: float = 0.05
    resolution: float = 0.05
    relative: bool = True
    slowest: float = 0.5
    label: ClassVar[str] = "rate"

    def _differences(self, sample: Sample) -> np.ndarray:
        return difference_of(sample, self.relative)[:, 0]

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Confidence interval of the difference at the last rung, and of how much of an earlier one is left there."""
        difference, what = self._differences(sample), f"difference at {self.along} = {self.rungs[-1]:g}"
        last = judge_means(difference[:, -1:], level / 2, self.margin, self.resolution, what)
        if last.holds is not False:
            return last
        before = max(len(self.rungs) - 3, 0)
        left = (self.rungs[-1] / self.rungs[before]) ** -self.slowest
        excess = np.sign(last.estimate) * (difference[:, -1] - left * difference[:, before]) - (1 - left) * self.margin
        low, _ = mean_interval(excess, level / 2)
        since = (
            f"since {self.along} = {self.rungs[before]:g} its excess over the margin should have fallen to {left:.2g}"
        )
        if low > 0:
            return dataclasses.replace(last, reason=f"{last.reason}; {since} of it and has not")
        return dataclasses.replace(last, holds=None, reason=f"{last.reason}; {since} of it, and may have: extend it")

    def gaps(self, sample: Sample) -> np.ndarray:
        """The difference at the last rung."""
        return np.abs(self._differences(sample)[:, -1])

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """Factors; for differences 1 + |f - p| / (margin + resolution)."""
        if self.relative:
            return factors(predicted, false)
        return 1 + np.abs(columns(false) - columns(predicted)) / (self.margin + self.resolution)

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """One limit or one a rung, one value a rung."""
        return self._one_a_rung(measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """Limit and last rung."""
        return float(columns(sample.predicted)[0, -1]), float(columns(sample.measured)[0, -1])

    @property
    def band(self) -> str:
        """Differences at the last rung."""
        return (
            f"supported where the last rung is within ±{self.margin + self.resolution:g}, refuted where it is shown to "
            f"be outside ±{self.margin:g} and to fall more slowly than {self.along}^-{self.slowest:g}"
        )

    def __str__(self) -> str:
        return f"measured -> predicted along {self.along} = {self._ladder}, within {self.margin:g}"


@dataclasses.dataclass(frozen=True)
class Order(AbstractLadder):
    """The mean measurement rises (predicted > 0) or falls (predicted < 0) from each rung to the next."""

    label: ClassVar[str] = "rate"
    farthest: ClassVar[float | None] = None

    def _steps(self, sample: Sample) -> np.ndarray:
        measured = columns(sample.measured)
        return np.sign(columns(sample.predicted)[:, :1]) * np.diff(measured, axis=1)

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Paired confidence intervals of the steps, which share the level."""
        steps = self._steps(sample)
        intervals = [mean_interval(column, level / steps.shape[1]) for column in steps.T]
        lowest = min(intervals, key=lambda interval: interval[1])
        wrong = [k for k, interval in enumerate(intervals) if interval[1] < 0]
        unsure = [k for k, interval in enumerate(intervals) if interval[0] <= 0]
        estimate, band = float(steps.mean(axis=0).min()), (0.0, np.inf)
        if wrong:
            k = wrong[0]
            text = f"the order is reversed from {self.along} = {self.rungs[k]:g} to {self.rungs[k + 1]:g}"
            return Judgement(False, estimate, lowest, text, band)
        if not unsure:
            text = f"all {len(intervals)} steps along {self.along} have the stated sign"
            return Judgement(True, estimate, lowest, text, band)
        needed = 4 * sample.trials
        text = f"{len(unsure)} of {len(intervals)} steps undecided; {needed} trials could settle it"
        return Judgement(None, estimate, lowest, text, band, needed)

    def gaps(self, sample: Sample) -> np.ndarray:
        """The largest step of the wrong sign."""
        return -self._steps(sample).min(axis=1)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """A sign has no neighbour but its opposite."""
        return np.abs(columns(false) - columns(predicted))

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """One sign, one value a rung."""
        return "predict() gives one number, the sign" if predicted != () else self._one_a_rung(measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The sign, and the value at the last rung."""
        return float(columns(sample.predicted)[0, 0]), float(columns(sample.measured)[0, -1])

    @property
    def band(self) -> str:
        """Steps."""
        return (
            "supported where every step is shown to have the stated sign, refuted where one is shown to have the other"
        )

    def __str__(self) -> str:
        return f"measured is ordered as predicted along {self.along} = {self._ladder}"
