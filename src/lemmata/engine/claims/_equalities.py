"""Equalities: identities that hold up to rounding in every trial, and equalities of expectations."""

import dataclasses
from typing import ClassVar

import numpy as np

from ._components import asked, counted, told_silence
from ._means import mean_against, of_squares
from ._relations import (
    ROUNDING,
    WHOLE,
    Judgement,
    Relation,
    Sample,
    blocks,
    columns,
    factors,
    most_different,
    not_finite,
    same_shape,
)
from ._statistics import failure_limits, trials_to_support


@dataclasses.dataclass(frozen=True)
class Equal(Relation):
    """measured = predicted up to rounding, in every trial and every component.

    The tolerance of a component is 32 eps (machine precision) times the claim's condition number times the larger of
    its two values. Components along the last `block` axes share the largest of their values. Set `block` if, for
    example, the entries of a matrix come from sums that cancel. Support means that equality fails in at most the share
    `resolution` of the problems.
    """

    resolution: float = 0.1
    block: int = 0
    label: ClassVar[str] = "identity"
    farthest: ClassVar[float | None] = None

    def _ratios(self, sample: Sample) -> np.ndarray:
        """|measured - predicted| of each component, in units of its tolerance."""
        gaps = np.abs(columns(sample.measured) - columns(sample.predicted))
        tolerance = columns(sample.tolerance(self.block))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(gaps > 0, gaps / tolerance, 0.0)

    def against(self, sample: Sample) -> np.ndarray:
        """In which components prediction and measurement differ by more than rounding."""
        return blocks((self._ratios(sample) > 1).reshape(sample.measured.shape), self.unit)

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Judge the trials. A single difference beyond rounding refutes the statement.

        A trial may give no information about a component. Support depends on the number of trials that give information
        about the component with the fewest such trials.
        """
        wrong, worst = self.against(sample), float(self._ratios(sample).max(initial=0.0))
        mute = np.zeros_like(wrong) if sample.silent is None else sample.silent
        failures, trials = int(wrong.any(axis=1).sum()), counted(wrong, mute)
        limits = failure_limits(failures, trials, level) if trials else (0.0, 1.0)
        reason = f"{failures} differences beyond rounding{'' if sample.constant else f' in {trials} trials'}"
        reason += f"; the largest difference is {worst:.2g} times the rounding tolerance{told_silence(mute)}"
        holds, needed = None, None
        if failures:
            holds = False
        elif limits[1] <= self.resolution:
            holds = True
        else:
            needed = asked(trials_to_support(self.resolution, level), trials, sample.trials)
            reason += f"; {needed} trials could settle it" if needed else ""
        return Judgement(holds, worst, limits, reason, (0.0, 1.0), needed, failures / max(sample.trials, 1))

    def compare(self, sample: Sample) -> bool | None:
        """Whether prediction and measurement of this trial are equal up to rounding."""
        return not self.against(sample).any()

    def budget(self, level: float) -> int | None:
        """The number of trials without an inequality that shows that inequalities are at most as frequent as allowed.

        The allowed rate is `resolution`.
        """
        return trials_to_support(self.resolution, level)

    def broken(self, sample: Sample) -> np.ndarray:
        """Which trials have NaN or infinity."""
        return not_finite(sample.measured) | not_finite(sample.predicted)

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """None, because an identity is not a bound."""
        return None

    def gaps(self, sample: Sample) -> np.ndarray:
        """The largest difference of each trial, in units of the tolerance."""
        return self._ratios(sample).max(axis=1, initial=0.0)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """max |f - p| / max(|p|, |f|) for control f and prediction p; a maximum is over a block (see the class)."""
        size = np.maximum(np.abs(predicted), np.abs(false))
        axes = size.ndim - 1 if self.block == WHOLE else min(self.block, size.ndim - 1)
        apart, shared = np.abs(false - predicted), tuple(range(-axes, 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return columns(apart.max(axis=shared) / size.max(axis=shared) if axes else apart / size)

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if the shapes of prediction and measurement differ."""
        return same_shape(predicted, measured)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The prediction and the measurement of the component with the largest |measured / predicted|."""
        return most_different(sample)

    @property
    def band(self) -> str:
        """A description of the difference that refutes the statement."""
        shared = (
            "" if not self.block else " of the largest component in its block" if self.block > 0 else " of the largest"
        )
        return f"refuted by one component that is off by more than 32 eps times the condition number{shared}"

    def __str__(self) -> str:
        return "measured = predicted, to rounding"


@dataclasses.dataclass(frozen=True)
class EqualInMean(Relation):
    """E[measured / predicted] = 1 (or E[measured - predicted] = 0 if relative is False), within `margin`.

    The expectation is over the measurement, for every problem. Each problem is measured twice with independent keys.
    The deviation from 1 (or 0) is judged in two ways: its mean over problems, and the root mean square over problems of
    each problem's own mean. The product of a problem's two deviations estimates the square of the problem's own mean
    without bias. So errors with different signs in different problems do not average out. With `over="problems"`, the
    statement is only about the mean over the population.

    An exact statement has margin 0. The margin of an asymptotic statement is the declared distance from the limit that
    is allowed at its setting. For support, the interval of the mean must be within margin + resolution. If a spread is
    declared, the root mean square of the means of single problems may be up to margin + spread. Without a declared
    spread, this root mean square must not be shown to exceed the margin. For support, it must then be shown to be at
    most margin + 5 resolution.

    The statement is refuted if the limits of the mean from `mean_limits` are outside the margin. These limits also hold
    for rare events and heavy tails. `ends` may give two values between which every measurement lies, such as (0, 1) for
    a share or (0, inf) for a square. With `ends`, the limits hold for any distribution. If all measurements are equal,
    the statement stays undecided. The exception is a statement about each problem whose measurement is deterministic.
    """

    margin: float = 0.0
    resolution: float = 0.05
    relative: bool = True
    over: str = "measurements"
    spread: float | None = None
    ends: tuple[float, float] = (-np.inf, np.inf)
    label: ClassVar[str] = "identity"

    def __post_init__(self):
        if self.ends != (-np.inf, np.inf) and self.relative and self.over == "problems":
            raise ValueError(
                "if measurements have known ends, they cannot be compared as ratios over problems; set relative=False"
            )
        if self.over not in ("measurements", "problems"):
            raise ValueError(f"over={self.over!r} is not one of 'measurements', 'problems'")

    @property
    def replicates(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How often each problem is measured."""
        return 1 if self.over == "problems" else 2

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Compare two intervals with the margin: of the mean, and of the mean square of the problems' own means."""
        differences = difference_of(sample, self.relative, self.replicates)
        shared, exact = level / self.replicates, sample.exact and self.over == "measurements"
        mean = judge_means(
            differences.mean(axis=1), shared, self.margin, self.resolution, "mean difference", exact, self._ends(sample)
        )
        if self.replicates == 1 or mean.holds is False:
            return mean
        return self._with_heterogeneity(mean, differences, shared, exact)

    def _ends(self, sample: Sample) -> tuple[np.ndarray, np.ndarray] | None:
        """The two values between which each difference always lies; None if these values are not known."""
        if self.ends == (-np.inf, np.inf):
            return None
        predicted = columns(sample.predicted)
        if self.over == "problems":
            least, most = self.ends
            return np.full(predicted.shape, least - most), np.full(predicted.shape, most - least)
        found = [end / predicted - 1 if self.relative else end - predicted for end in self.ends]
        return np.minimum(*found), np.maximum(*found)

    def _with_heterogeneity(self, mean: Judgement, differences: np.ndarray, level: float, exact: bool) -> Judgement:
        products = differences[:, 0] * differences[:, 1]
        allowed = self.margin + (self.spread or 0.0)
        widest = allowed if self.spread is not None else self.margin + 5 * self.resolution
        beyond, (low, high) = of_squares(products, level, allowed + ROUNDING, exact)
        own = (
            f"the mean differences of single problems have a root mean square between {low:.3g} and {high:.3g} "
            f"(at most {widest:.3g} is allowed)"
        )
        text = f"{mean.reason}; {own}"
        if beyond is False:
            return dataclasses.replace(mean, holds=False, reason=text, needed=None)
        if mean.holds and high > widest:
            needed = int(np.ceil(len(products) * max(min(high / widest, 100.0) ** 4, 2.0)))
            return dataclasses.replace(
                mean, holds=None, needed=needed, reason=f"{text}; {needed} trials could settle it"
            )
        return dataclasses.replace(mean, reason=text)

    def compare(self, sample: Sample) -> bool | None:
        """None, because a single trial gives no information about a mean."""
        return None

    def budget(self, level: float) -> int | None:
        """None, because the number of trials depends on the spread of the measurement."""
        return None

    def broken(self, sample: Sample) -> np.ndarray:
        """Which trials have NaN or infinity, or have a prediction of 0 although the statement is relative."""
        zero = (columns(sample.predicted) == 0).any(axis=1) if self.relative else False
        return not_finite(sample.measured) | not_finite(sample.predicted) | zero

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """None, because an expectation is not a bound."""
        return None

    def gaps(self, sample: Sample) -> np.ndarray:
        """The largest absolute difference of each trial."""
        return np.abs(difference_of(sample, self.relative, self.replicates).mean(axis=1)).max(axis=1)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The factor between control f and prediction p; for differences, 1 + |f - p| / (margin + resolution)."""
        if self.relative:
            return factors(predicted, false)
        return 1 + np.abs(columns(false) - columns(predicted)) / (self.margin + self.resolution)

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if the shapes of prediction and measurement differ. The axis of replicates is ignored."""
        return same_shape(predicted, measured if self.replicates == 1 else measured[1:])

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The prediction and the measurement of the component with the largest |measured / predicted|.

        The measurement is averaged over replicates.
        """
        if self.replicates > 1:
            sample = dataclasses.replace(sample, measured=sample.measured.mean(axis=1))
        return most_different(sample)

    @property
    def band(self) -> str:
        """A description of the mean differences that support or refute the statement."""
        wide = self.margin + self.resolution
        return (
            f"supported if the mean difference is shown to be within ±{wide:g}; refuted if it is "
            f"shown to be outside ±{self.margin:g}"
        )

    def __str__(self) -> str:
        allowed = f", within {self.margin:g}" if self.margin else ""
        over = " over problems" if self.over == "problems" else ""
        return f"mean{over} of measured = predicted{allowed}"


def difference_of(sample: Sample, relative: bool, replicates: int = 1) -> np.ndarray:
    """The differences measured / predicted - 1, or measured - predicted, for T trials, R replicates and C components.

    The result has shape (T, R, C).
    """
    measured = np.asarray(sample.measured, float).reshape(sample.trials, replicates, -1)
    predicted = columns(sample.predicted)[:, None, :]
    return measured / predicted - 1 if relative else measured - predicted


def judge_means(
    columns: np.ndarray, level: float, margin: float, resolution: float, what: str, exact: bool = False,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
) -> Judgement:  # fmt: skip
    """Judge whether the mean of each column lies within ±margin. Several columns share the level (Bonferroni)."""
    verdicts, band = [], (-margin - resolution, margin + resolution)
    for number, column in enumerate(columns.T):
        known = None if ends is None else (ends[0][:, number], ends[1][:, number])
        share = level / columns.shape[1]
        mean = mean_against(column, share, -margin - ROUNDING, margin + ROUNDING, resolution, exact, known)
        text = (
            f"{what} {column.mean():.3g}, interval [{mean.interval[0]:.3g}, {mean.interval[1]:.3g}], "
            f"supported within ±{margin + resolution:g}, refuted outside ±{margin:g}"
        )
        text = f"{text}; {mean.note}" if mean.note else text
        own = Judgement(mean.holds, float(column.mean()), mean.interval, text, band, mean.needed, apart=mean.apart)
        verdicts.append(own)
    worst = min(verdicts, key=lambda v: ({False: 0, None: 1, True: 2}[v.holds], not v.apart))
    if worst.holds is None:
        needed = max(v.needed for v in verdicts if v.holds is None)
        return dataclasses.replace(worst, reason=f"{worst.reason}; {needed} trials could settle it", needed=needed)
    return worst
