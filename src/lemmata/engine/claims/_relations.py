"""The methods of all relations. A relation is a rule that compares predictions with measurements.

Every relation judges arrays of predictions and measurements, one row for each trial. A comparison of two numbers allows
for rounding errors. The tolerance is 32 eps (machine precision), times the condition number that the claim computes,
times the larger of the two numbers. Each component has its own tolerance, unless a relation names blocks of components
that share their largest value.
"""

import abc
import dataclasses
from typing import ClassVar

import numpy as np

ROUNDING = 32.0 * float(np.finfo(float).eps)
FACTOR, EXPONENT = 4.0, 0.5  # how far a control may be from its claim, as a factor or a difference of exponents
WHOLE = -1  # a block that contains all components of a trial


@dataclasses.dataclass(frozen=True)
class Sample:
    """T finished trials: predictions (T, *s), measurements (T, *s), condition numbers (T,) or (T, *s).

    Relations with R replicates have measurements (T, R, *s). Sequences of sizes have predictions (T,) and measurements
    (T, sizes). If `exact` is true, the measurement of a problem is not random, so measurements have no sampling error.
    `silent`, shape (T, C), marks those of the C components whose tolerance is so wide that they give no information.
    If `silent` is None, all components give information.
    """

    predicted: np.ndarray
    measured: np.ndarray
    condition: np.ndarray
    exact: bool = False
    silent: np.ndarray | None = None

    @property
    def trials(self) -> int:
        """The number of trials."""
        return len(self.measured)

    @property
    def constant(self) -> bool:
        """Whether all trials have the same prediction and the same measurement. If so, they count as one case."""
        return self.trials > 1 and all((a == a[:1]).all() for a in (self.predicted, self.measured))

    def tolerance(self, block: int = 0) -> np.ndarray:
        """The rounding error in each component: 32 eps condition max(|predicted|, |measured|), shape (T, *s).

        Args:
            block: the number of trailing axes over which the largest value is shared. WHOLE means all axes.
        """
        sizes = [np.abs(np.where(np.isfinite(a), a, 0.0)) for a in (self.predicted, self.measured)]
        while sizes[0].ndim < sizes[1].ndim:
            sizes[0] = sizes[0][..., None]
        size = np.maximum(*sizes)
        axes = size.ndim - 1 if block == WHOLE else min(block, size.ndim - 1)
        if axes:
            size = np.broadcast_to(size.max(axis=tuple(range(-axes, 0)), keepdims=True), size.shape)
        return ROUNDING * self.condition_of(size.ndim) * size

    def condition_of(self, axes: int) -> np.ndarray:
        """The condition numbers, with the requested number of axes."""
        return self.condition.reshape(*self.condition.shape, *(1,) * (axes - self.condition.ndim))


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A relation's judgement of trials: holds (True), fails (False) or undecided (None), with the deciding figures.

    Args:
        holds: whether the statement holds.
        estimate, interval: the statistic and its confidence interval.
        band: the values of the statistic, as an interval, that support the statement.
        reason: the figures in a sentence.
        needed: the number of trials that could decide an undecided statement; None if this number is not known.
        violating: the share of trials that alone contradict the statement; None if a single trial cannot do this.
        apart: whether the interval is outside the band, although rare large values that no trial has shown could move
            the mean into the band. Such an interval refutes a control, but is not enough to refute a statement.
    """

    holds: bool | None
    estimate: float
    interval: tuple[float, float]
    reason: str
    band: tuple[float, float] | None = None
    needed: int | None = None
    violating: float | None = None
    apart: bool = False

    @property
    def told_apart(self) -> bool:
        """Whether the trials contradict the statement strongly enough to refute a control."""
        return self.holds is False or self.apart


class Relation(abc.ABC):
    """The rule by which prediction and measurement are compared."""

    label: ClassVar[str]
    block: int = 0
    rungs: tuple[float, ...] = ()
    replicates: ClassVar[int] = 1
    farthest: ClassVar[float | None] = FACTOR
    """The largest allowed distance of a control, in the unit of `distance`; None if any distance is allowed."""

    @abc.abstractmethod
    def judge(self, sample: Sample, level: float) -> Judgement:
        """Judge finished trials. A true statement is judged to fail with probability at most `level`."""

    @abc.abstractmethod
    def compare(self, sample: Sample) -> bool | None:
        """Whether one trial agrees with the statement; None if a single trial cannot decide this."""

    def against(self, sample: Sample) -> np.ndarray | None:
        """Which components contradict the statement by themselves, shape (T, C); None if single trials cannot do this.

        A block of components that share their tolerance counts as one component.
        """
        return None

    @property
    def unit(self) -> int:
        """The number of trailing axes that form one component (a block)."""
        return self.block

    @abc.abstractmethod
    def budget(self, level: float) -> int | None:
        """The number of trials for support at this level; None if the spread of the measurement determines it."""

    @abc.abstractmethod
    def broken(self, sample: Sample) -> np.ndarray:
        """Which trials have values that this relation cannot judge (NaN, infinity), shape (T,)."""

    @abc.abstractmethod
    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """Which components are beyond the trivial value, shape (T, C); None if no bound is stated."""

    @abc.abstractmethod
    def gaps(self, sample: Sample) -> np.ndarray:
        """How strongly each trial contradicts the statement, shape (T,). Each relation has its own unit."""

    @abc.abstractmethod
    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The distance of a control from the claim in each component, shape (T, C); NaN if it has no meaning."""

    @abc.abstractmethod
    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The rule that the shapes of prediction and measurement break; None if the shapes fit."""

    @abc.abstractmethod
    def shown(self, sample: Sample) -> tuple[float, float]:
        """One predicted and one measured number that represent a sample of a single trial."""

    @property
    @abc.abstractmethod
    def band(self) -> str:
        """The limits for support and for refutation, in words. Between these limits, the verdict is undecided."""

    @abc.abstractmethod
    def __str__(self) -> str: ...


def columns(array: np.ndarray) -> np.ndarray:
    """The components of each trial, one row for each trial."""
    return np.asarray(array, float).reshape(len(array), -1)


def blocks(array: np.ndarray, block: int) -> np.ndarray:
    """The largest value of each block (for truth values, whether any is true), one row for each trial."""
    axes = array.ndim - 1 if block == WHOLE else min(block, array.ndim - 1)
    largest = array.max(axis=tuple(range(-axes, 0)), initial=array.dtype.type(0)) if axes else array
    return np.asarray(largest).reshape(len(array), -1)


def not_finite(array: np.ndarray) -> np.ndarray:
    """Which trials have a component that is NaN or infinite."""
    return ~np.isfinite(columns(array)).all(axis=1)  # pyright: ignore


def factors(predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
    """max(|p/f|, |f/p|) in each component, for prediction p and control f.

    The result is infinite if the signs differ, and NaN if both values are 0 or one is infinite.
    """
    predicted, false = columns(predicted), columns(false)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = false / predicted
        factor = np.where(ratio > 0, np.maximum(ratio, 1 / ratio), np.inf)
    known = np.isfinite(predicted) & np.isfinite(false) & ((predicted != 0) | (false != 0))
    return np.where(known, factor, np.nan)


def same_shape(predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
    """The rule that two different shapes break, for relations without sizes; None if the shapes are equal."""
    return None if predicted == measured else "prediction and measurement have the same shape"


def most_different(sample: Sample, lower: bool = False) -> tuple[float, float]:
    """The numbers of a trial in the component with the largest |measured / predicted| (smallest for a lower bound)."""
    predicted, measured = np.broadcast_arrays(columns(sample.predicted)[0], columns(sample.measured)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(measured / predicted), nan=-1.0, posinf=np.inf)
    at = int(np.argmin(ratio) if lower else np.argmax(ratio))
    return float(predicted[at]), float(measured[at])


def against_band(
    lowest: float, highest: float, interval: tuple[float, float], trials: int, width: float
) -> tuple[bool | None, int | None]:
    """Compare an interval with the band [lowest, highest].

    The first result is True if the interval lies in the band widened by `width`, False if it lies outside the band, and
    otherwise None. If it is None, the second result is the number of trials that could decide the comparison.
    """
    low, high = interval
    if high < lowest or low > highest:
        return False, None
    if low >= lowest - width and high <= highest + width:
        return True, None
    have, want = high - low, (highest - lowest) + 2 * width
    if not (np.isfinite(have) and want > 0):
        return None, 2 * trials
    return None, int(np.ceil(trials * max((1.5 * have / want) ** 2, 2.0)))
