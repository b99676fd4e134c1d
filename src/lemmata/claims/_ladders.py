"""Relations along a ladder: rates, limits and orders. One trial is one ladder; the trials give the interval."""

import dataclasses

import numpy as np

from ._relations import Judgement, Relation, Sample, against_band, columns, difference_of, judge_means
from ._statistics import mean_interval


def _ladder(rungs: tuple[float, ...]) -> str:
    return ", ".join(f"{rung:g}" for rung in rungs)


@dataclasses.dataclass(frozen=True)
class Rate(Relation):
    """measured ~ C rung^exponent along a geometric ladder; `predict` gives the exponent, `measure` one value a rung.

    Each trial is one ladder and gives one log-log slope; the slopes give the interval. With `upper`, the statement is
    an upper bound O(rung^exponent), refuted only by a slope above exponent + margin. `margin` is the declared
    allowance for finite sizes. Rungs where the median measurement is at the rounding floor are dropped, and said so.
    """

    along: str = "n"
    rungs: tuple[float, ...] = ()
    upper: bool = False
    margin: float = 0.05
    resolution: float = 0.1

    def _slopes(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        measured = columns(sample.measured)
        floor = sample.tolerance[:, None]
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
            return Judgement(
                None, np.nan, (-np.inf, np.inf), f"fewer than 3 rungs of {self.along} above the rounding floor{dropped}"
            )
        excess = slopes - columns(sample.predicted)[:, 0]
        interval = mean_interval(excess, level)
        lowest = -np.inf if self.upper else -self.margin
        holds, needed = against_band(lowest, self.margin, interval, sample.trials, self.resolution)
        exponent = float(columns(sample.predicted)[:, 0].mean())
        shown = (exponent + interval[0], exponent + interval[1])
        stated = f"{'at most ' if self.upper else ''}{exponent:.3f}"
        reason = (
            f"slope along {self.along} {exponent + excess.mean():.3f}, interval [{shown[0]:.3f}, {shown[1]:.3f}], "
            f"stated {stated}, allowance {self.margin:g}; {self._constant(sample, kept)}{dropped}"
        )
        return Judgement(holds, float(exponent + excess.mean()), shown, reason, needed if holds is None else None)

    def compare(self, sample: Sample) -> bool | None:
        """A single ladder has no interval."""
        return None

    def __str__(self) -> str:
        sign = "<=" if self.upper else "~"
        return f"measured {sign} C {self.along}^predicted along {self.along} = {_ladder(self.rungs)}"


@dataclasses.dataclass(frozen=True)
class Limit(Relation):
    """measured -> predicted along a ladder: the mean relative difference at the last rung is within `margin`.

    Refuted where the difference at the last rung is outside the margin and has not fallen below half of that at the
    first rung; undecided while it is outside but still falling.
    """

    along: str = "n"
    rungs: tuple[float, ...] = ()
    margin: float = 0.05
    resolution: float = 0.05
    relative: bool = True

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Confidence interval of the difference at the last rung, and whether it still falls."""
        difference = difference_of(sample, self.relative)
        last = judge_means(
            difference[:, -1:], level, self.margin, self.resolution, f"difference at {self.along} = {self.rungs[-1]:g}"
        )
        first = mean_interval(difference[:, 0], level)
        least_now = max(last.interval[0], -last.interval[1], 0.0)
        most_before = max(abs(first[0]), abs(first[1]))
        if last.holds is False and least_now < most_before / 2:
            return dataclasses.replace(last, holds=None, reason=f"{last.reason}; it still falls: extend the ladder")
        return last

    def compare(self, sample: Sample) -> bool | None:
        """A single ladder has no interval."""
        return None

    def __str__(self) -> str:
        return f"measured -> predicted along {self.along} = {_ladder(self.rungs)}, within {self.margin:g}"


@dataclasses.dataclass(frozen=True)
class Order(Relation):
    """The mean measurement rises (predicted > 0) or falls (predicted < 0) from each rung to the next."""

    along: str = "n"
    rungs: tuple[float, ...] = ()

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
        estimate = float(steps.mean(axis=0).min())
        if wrong:
            k = wrong[0]
            text = f"the order is reversed from {self.along} = {self.rungs[k]:g} to {self.rungs[k + 1]:g}"
            return Judgement(False, estimate, lowest, text)
        if not unsure:
            return Judgement(
                True, estimate, lowest, f"all {len(intervals)} steps along {self.along} have the stated sign"
            )
        needed = 4 * sample.trials
        return Judgement(
            None,
            estimate,
            lowest,
            f"{len(unsure)} of {len(intervals)} steps undecided; {needed} trials could settle it",
            needed,
        )

    def compare(self, sample: Sample) -> bool | None:
        """Whether every step of this trial has the stated sign."""
        return bool((self._steps(sample) > 0).all())

    def __str__(self) -> str:
        return f"measured is ordered as predicted along {self.along} = {_ladder(self.rungs)}"
