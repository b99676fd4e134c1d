"""Relations along a sequence of sizes ("rungs"): rates, limits and orders. Each trial measures all sizes."""

import dataclasses
from typing import ClassVar

import numpy as np

from ._equalities import difference_of, judge_means
from ._means import mean_against, of_squares
from ._relations import EXPONENT, ROUNDING, WHOLE, Judgement, Relation, Sample, columns, factors, not_finite
from ._statistics import failure_limits, mean_interval, mean_limits

_SLOWER = 1 / 3
"""The largest share of problems whose rate may be slower than an upper rate by more than the spread."""


@dataclasses.dataclass(frozen=True)
class AbstractLadder(Relation):
    """A statement about a sequence of values, one for each size.

    Args:
        along: the meaning of the sizes, in a word or a symbol.
        rungs: the sizes, as Python numbers, so that they may determine shapes.
        replicates: how often each problem is measured. Two measurements separate noise from differences of problems.
    """

    along: str = "n"
    rungs: tuple[float, ...] = ()
    replicates: int = dataclasses.field(default=1, kw_only=True)  # pyright: ignore[reportIncompatibleVariableOverride]

    def compare(self, sample: Sample) -> bool | None:
        """None, because a single trial has no interval."""
        return None

    def budget(self, level: float) -> int | None:
        """None, because the number of trials depends on the spread of the measurement."""
        return None

    def broken(self, sample: Sample) -> np.ndarray:
        """Which trials have NaN or infinity."""
        return not_finite(sample.measured) | not_finite(sample.predicted)

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """None, because there is no trivial value."""
        return None

    @property
    def _ladder(self) -> str:
        return ", ".join(f"{rung:g}" for rung in self.rungs)

    def _each(self, sample: Sample) -> list[Sample]:
        """For each replicate r, the sample in which each problem has only its r-th measurement."""
        if self.replicates == 1:
            return [sample]
        measured = np.asarray(sample.measured).reshape(sample.trials, -1, len(self.rungs))
        return [dataclasses.replace(sample, measured=own) for own in np.moveaxis(measured, 1, 0)]

    def _one_a_rung(self, measured: tuple[int, ...]) -> str | None:
        count = len(self.rungs)
        measured = measured if self.replicates == 1 else measured[1:]
        return None if measured == (count,) else f"measure() must give one value for each of the {count} sizes"


def spread_over_problems(
    judgement: Judgement, own: np.ndarray, allowed: float, level: float, exact: bool, what: str
) -> Judgement:
    """The judgement of a mean, combined with the distances between single problems' values and the statement.

    If each problem is measured twice, the mean product of the two measurements estimates the mean square of the
    problems' own values. With a single measurement, the mean square also includes noise. A mean square with noise is
    too large, so it can support a statement, but cannot refute it.

    Args:
        judgement: the judgement of the mean.
        own: the distance between each problem's value and the statement, shape (T, R) for T problems and R replicates.
        allowed: the largest root mean square.
        level: the probability of refuting an allowed value.
        exact: whether the numbers have no sampling error.
        what: the name of the numbers, in words.
    """
    squares = own[:, :1] * own[:, -1:]
    within, (_, high) = of_squares(squares, level, allowed, exact)
    if judgement.holds is False or within:
        return judgement
    text = f"{judgement.reason}; {what} of problems are off by {high:.3g} in root mean square, allowed {allowed:.3g}"
    if within is False and (exact or own.shape[1] > 1):
        return dataclasses.replace(judgement, holds=False, reason=text, needed=None)
    if not judgement.holds:
        return judgement
    text += "" if exact or own.shape[1] > 1 else "; noise is included, so measure each problem twice (replicates=2)"
    return dataclasses.replace(judgement, holds=None, reason=text, needed=2 * len(own))


def slower_problems(judgement: Judgement, slower: np.ndarray, allowed: float, level: float) -> Judgement:
    """The judgement of an upper bound on a rate, combined with the number of problems that are much slower."""
    count, trials = int(slower.sum()), len(slower)
    if not judgement.holds or not count or failure_limits(count, trials, level)[1] <= _SLOWER:
        return judgement
    text = f"{judgement.reason}; in {count} of {trials} problems the slope exceeds the bound by over {allowed:.3g}"
    return dataclasses.replace(judgement, holds=None, reason=text, needed=2 * trials)


@dataclasses.dataclass(frozen=True)
class Rate(AbstractLadder):
    """The statement measured ~ C rung^exponent along a geometric sequence of sizes ("rungs").

    `predict` gives the exponent, and `measure` gives one value for each size.

    Each trial is one sequence of sizes and gives one log-log slope. The slopes give the interval. If `upper` is true,
    the statement is an upper bound O(rung^exponent), which only a slope above exponent + margin refutes. `margin` is
    the declared allowance for finite sizes. For support, the interval must be within margin + resolution. Sizes at
    which the median measurement is only rounding error are dropped. The reason of the verdict then says so.

    The statement is about each problem and about all sizes. For support, the slopes of the problems must also be within
    `spread` of the exponent in root mean square. By default, `spread` is 2 (margin + resolution). For an upper bound,
    less than a third of the problems may be slower than the exponent by more than `spread`. The slope over the larger
    half of the sizes must not be shown to differ from the exponent by more than margin + resolution. This half has at
    least three sizes if there are four or more. The slope over all sizes except the last must not be shown to differ by
    more either. The constant C that fits the smaller sizes must not be shown to fail at the larger sizes.
    """

    upper: bool = False
    margin: float = 0.05
    resolution: float = 0.1
    spread: float | None = dataclasses.field(default=None, kw_only=True)
    label: ClassVar[str] = "rate"
    farthest: ClassVar[float | None] = EXPONENT

    def _kept(self, sample: Sample) -> np.ndarray:
        """The sizes whose measurements are above the rounding error."""
        measured = columns(sample.measured)
        floor = columns(sample.tolerance(WHOLE))
        return (np.median(measured - floor, axis=0) > 0) & (measured > 0).all(axis=0)

    def _slopes(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        kept = np.all([self._kept(own) for own in self._each(sample)], axis=0)
        if kept.sum() < 3:
            return np.full((sample.trials, self.replicates), np.nan), kept
        logs = [np.log(columns(own.measured)[:, kept]) for own in self._each(sample)]
        return np.stack([slope(self._logs(kept), own) for own in logs], axis=1), kept

    def _logs(self, kept: np.ndarray) -> np.ndarray:
        return np.log(np.asarray(self.rungs)[kept])

    def _scaled(self, sample: Sample, kept: np.ndarray) -> np.ndarray:
        """log(measured / rung^exponent) at the sizes that are kept, averaged over replicates."""
        logs = np.mean([np.log(columns(own.measured)[:, kept]) for own in self._each(sample)], axis=0)
        return logs - columns(sample.predicted)[:, :1] * self._logs(kept)

    def _bend(self, sample: Sample, kept: np.ndarray, level: float) -> tuple[str, str]:
        """Texts about the constants C of the small and the large sizes, and about sizes that contradict the others."""
        scaled, at, most = self._scaled(sample, kept), self._logs(kept), self.margin + self.resolution
        half, large = (len(at) + 1) // 2, max(1, min(len(at) // 2, len(at) - 3))
        constants = np.exp([np.median(part.max(axis=1)) for part in (scaled[:, :half], scaled[:, half:])])
        text = f"the smaller sizes need the constant {constants[0]:.3g}, and the larger sizes need {constants[1]:.3g}"
        growth = (scaled[:, half:].max(axis=1) - scaled[:, :half].max(axis=1)) / (at[-1] - at[half - 1])
        parts = {
            "over the large rungs the slope": slope(at[large:], scaled[:, large:]),
            "without the last rung the slope": slope(at[:-1], scaled[:, :-1]),
        }
        for what, excess in parts.items():
            low, high = mean_interval(excess, level / 3, sample.exact)
            if low > most or (high < -most and not self.upper):
                return text, f"{what} is off by {excess.mean():.3g}"
        low, _ = mean_interval(growth, level / 3, sample.exact)
        return text, "the constant of the smaller sizes fails on the larger sizes" if low > most else ""

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Judge the slope by its interval, its spread over problems, and its values on parts of the sizes."""
        slopes, kept = self._slopes(sample)
        dropped = f"; {int((~kept).sum())} sizes dropped because of rounding errors" if not kept.all() else ""
        if not np.isfinite(slopes).all():
            text = f"fewer than 3 sizes of {self.along} at which rounding errors do not dominate{dropped}"
            return Judgement(None, np.nan, (-np.inf, np.inf), text)
        own = slopes - columns(sample.predicted)[:, :1]
        excess, share = own.mean(axis=1), level / 2 if sample.exact or self.replicates > 1 else level
        lowest = -np.inf if self.upper else -self.margin - ROUNDING
        mean = mean_against(excess, share, lowest, self.margin + ROUNDING, self.resolution, sample.exact)
        exponent = float(columns(sample.predicted)[:, 0].mean())
        shown = (exponent + mean.interval[0], exponent + mean.interval[1])
        band = (exponent + lowest - self.resolution, exponent + self.margin + self.resolution)
        decides = f"at most {band[1]:.3f}" if self.upper else f"[{band[0]:.3f}, {band[1]:.3f}]"
        constants, bend = self._bend(sample, kept, level)
        reason = (
            f"slope along {self.along} {exponent + excess.mean():.3f}, interval [{shown[0]:.3f}, {shown[1]:.3f}], "
            f"stated {'at most ' if self.upper else ''}{exponent:.3f}, supported within {decides}; "
            f"{constants}{f'; {mean.note}' if mean.note else ''}{dropped}"
        )
        estimate = float(exponent + excess.mean())
        found = Judgement(mean.holds, estimate, shown, reason, band, mean.needed, apart=mean.apart)
        if bend and found.holds:
            found = dataclasses.replace(found, holds=None, reason=f"{reason}; {bend}", needed=2 * sample.trials)
        allowed = 2 * (self.margin + self.resolution) if self.spread is None else self.spread
        if self.upper:
            return slower_problems(found, np.min(own, axis=1) > allowed, allowed, share)
        return spread_over_problems(found, own, allowed, share, sample.exact, "slopes")

    def gaps(self, sample: Sample) -> np.ndarray:
        """The difference between slope and exponent in each trial."""
        excess = self._slopes(sample)[0].mean(axis=1) - columns(sample.predicted)[:, 0]
        return excess if self.upper else np.abs(excess)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The difference between the exponents of control and claim."""
        return np.abs(columns(false) - columns(predicted))

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if there is not exactly one exponent, or not one value for each size."""
        return "predict() must give one number, the exponent" if predicted != () else self._one_a_rung(measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The stated and the measured exponent of a trial."""
        return float(columns(sample.predicted)[0, 0]), float(self._slopes(sample)[0][0].mean())

    @property
    def band(self) -> str:
        """A description of the exponents that support or refute the statement."""
        wide, narrow = self.margin + self.resolution, self.margin
        if self.upper:
            return (
                f"supported if the slope is shown to be at most the predicted exponent + {wide:g}; "
                f"refuted if it is shown to be above the predicted exponent + {narrow:g}"
            )
        return (
            f"supported if the slope is shown to be within ± {wide:g} of the predicted exponent; "
            f"refuted if it is shown to be outside ± {narrow:g}"
        )

    def __str__(self) -> str:
        sign = "<=" if self.upper else "~"
        return f"measured {sign} C {self.along}^predicted along {self.along} = {self._ladder}"


@dataclasses.dataclass(frozen=True)
class Limit(AbstractLadder):
    """The statement measured -> predicted along sizes. The mean difference at the last size must be within `margin`.

    The excess, the part of a difference beyond the margin, is stated to fall at least like size^(-slowest). If the
    last size is still outside the margin, its excess is compared with the excess two sizes before. The statement is
    refuted if the excess has fallen less than required, for example at a plateau. If the excess falls fast enough, the
    statement stays undecided.

    The statement is about each problem. For support, the differences of the problems at the last size must be within
    `spread` in root mean square. By default, `spread` is 2 (margin + resolution).
    """

    margin: float = 0.05
    resolution: float = 0.05
    relative: bool = True
    slowest: float = 0.5
    spread: float | None = dataclasses.field(default=None, kw_only=True)
    label: ClassVar[str] = "rate"

    def _differences(self, sample: Sample) -> np.ndarray:
        """The differences of each replicate along the sizes, shape (T, R, rungs)."""
        return np.stack([difference_of(own, self.relative)[:, 0] for own in self._each(sample)], axis=1)

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Judge the difference at the last size, and how far the excess has fallen since an earlier size."""
        own, what = self._differences(sample), f"difference at {self.along} = {self.rungs[-1]:g}"
        difference, exact = own.mean(axis=1), sample.exact
        share = level / (3 if exact or self.replicates > 1 else 2)
        last = judge_means(difference[:, -1:], share, self.margin, self.resolution, what, exact)
        allowed = 2 * (self.margin + self.resolution) if self.spread is None else self.spread
        if not last.told_apart:
            return spread_over_problems(last, own[:, :, -1], allowed, share, exact, "differences")
        before = max(len(self.rungs) - 3, 0)
        left = (self.rungs[-1] / self.rungs[before]) ** -self.slowest
        excess = np.sign(last.estimate) * (difference[:, -1] - left * difference[:, before]) - (1 - left) * self.margin
        low, _ = mean_interval(excess, share, exact)
        since = (
            f"since {self.along} = {self.rungs[before]:g}, the excess over the margin should have fallen to a "
            f"fraction {left:.2g} of its value there"
        )
        if low > 0:
            return dataclasses.replace(last, reason=f"{last.reason}; {since}, but it has not fallen so far")
        text = f"{last.reason}; {since}. The trials do not show whether it has: add larger sizes"
        return dataclasses.replace(last, holds=None, apart=False, reason=text)

    def gaps(self, sample: Sample) -> np.ndarray:
        """The difference at the last size in each trial."""
        return np.abs(self._differences(sample).mean(axis=1)[:, -1])

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The factor between control f and prediction p; for differences, 1 + |f - p| / (margin + resolution)."""
        if self.relative:
            return factors(predicted, false)
        return 1 + np.abs(columns(false) - columns(predicted)) / (self.margin + self.resolution)

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if there is not one measured value for each size."""
        return self._one_a_rung(measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The limit and the value at the last size."""
        return float(columns(sample.predicted)[0, -1]), float(columns(self._each(sample)[0].measured)[0, -1])

    @property
    def band(self) -> str:
        """A description of the differences at the last size that support or refute the statement."""
        return (
            f"supported if the last size is shown to be within ±{self.margin + self.resolution:g}; "
            f"refuted if it is shown to be outside ±{self.margin:g} and to fall more slowly than "
            f"{self.along}^-{self.slowest:g}"
        )

    def __str__(self) -> str:
        return f"measured -> predicted along {self.along} = {self._ladder}, within {self.margin:g}"


@dataclasses.dataclass(frozen=True)
class Order(AbstractLadder):
    """The statement that the mean measurement rises (predicted > 0) or falls (predicted < 0) from size to size.

    The values of one problem at all sizes form a sequence. A step within rounding counts as no step. If some sequences
    reverse a step, support also needs a confidence limit below 1/2 for the share of sequences that reverse it. With
    `over="problems"`, the statement is only about means, so this limit is not needed. A step refutes the statement if
    its mean is shown to have the other sign, or if the interval of its mean has the other sign and more than half of
    all sequences are shown to reverse the step.
    """

    over: str = "measurements"
    label: ClassVar[str] = "rate"
    farthest: ClassVar[float | None] = None

    def __post_init__(self):
        if self.over not in ("measurements", "problems"):
            raise ValueError(f"over={self.over!r} is not one of 'measurements', 'problems'")

    def _steps(self, sample: Sample) -> np.ndarray:
        """The steps in the stated direction (0 if they are within rounding), for each replicate."""
        signs, found = np.sign(columns(sample.predicted)[:, :1]), []
        for own in self._each(sample):
            steps, floor = np.diff(columns(own.measured), axis=1), columns(own.tolerance())
            found.append(signs * np.where(np.abs(steps) > floor[:, 1:] + floor[:, :-1], steps, 0.0))
        return np.mean(found, axis=0)

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Judge the steps by intervals that share the level, and by the share of sequences that reverse each step."""
        steps = self._steps(sample)
        share = level / steps.shape[1]
        limits = [mean_limits(column, share, sample.exact) for column in steps.T]
        intervals = [mean_interval(column, share, sample.exact) for column in steps.T]
        lowest = min(intervals, key=lambda interval: interval[1])
        unsure = [k for k, interval in enumerate(intervals) if interval[0] <= 0]
        reversed_in = [failure_limits(int(count), len(steps), share) for count in (steps < 0).sum(axis=0)]
        wrong = [
            k for k in range(len(intervals))
            if limits[k][1] < 0 or (intervals[k][1] < 0 and reversed_in[k][0] > 0.5)
        ]  # fmt: skip
        turned = [k for k, most in enumerate(reversed_in) if most[1] >= 0.5 and (steps[:, k] < 0).any()]
        turned = [] if self.over == "problems" else turned
        estimate, band = float(steps.mean(axis=0).min()), (0.0, np.inf)
        if wrong:
            k = wrong[0]
            text = f"the order is reversed from {self.along} = {self.rungs[k]:g} to {self.rungs[k + 1]:g}"
            return Judgement(False, estimate, intervals[k], text, band)
        if not unsure and not turned:
            text = f"all {len(intervals)} steps along {self.along} have the stated sign"
            return Judgement(True, estimate, lowest, text, band)
        needed = 4 * sample.trials
        text = f"{len(unsure)} of {len(intervals)} steps undecided"
        if not unsure:
            k, part = turned[0], (steps[:, turned[0]] < 0).mean()
            text = f"the step from {self.along} = {self.rungs[k]:g} is reversed in {part:.0%} of the problems"
        apart = any(interval[1] < 0 for interval in intervals)
        return Judgement(None, estimate, lowest, f"{text}; {needed} trials could settle it", band, needed, apart=apart)

    def gaps(self, sample: Sample) -> np.ndarray:
        """The largest step of the wrong sign in each trial."""
        return -self._steps(sample).min(axis=1)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The difference of the two signs, because the only control of a sign is the opposite sign."""
        return np.abs(columns(false) - columns(predicted))

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if there is not exactly one sign, or not one value for each size."""
        return "predict() must give one number, the sign" if predicted != () else self._one_a_rung(measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The stated sign, and the measurement of a trial at the last size."""
        return float(columns(sample.predicted)[0, 0]), float(columns(self._each(sample)[0].measured)[0, -1])

    @property
    def band(self) -> str:
        """A description of the steps that support or refute the statement."""
        return (
            "supported if every step is shown to have the stated sign; refuted if one step is shown "
            "to have the opposite sign"
        )

    def __str__(self) -> str:
        return f"measured is ordered as predicted along {self.along} = {self._ladder}"


def slope(at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The least-squares slope of each row of values, shape (T, sizes), over the positions `at`."""
    centred = at - at.mean()
    return values @ centred / (centred @ centred)
