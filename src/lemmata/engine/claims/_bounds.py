"""Bounds and constructions. The statement holds or fails in each trial; a binomial test judges the failures.

A trial compares a prediction (the bound) with a measurement on one random problem. Prediction and measurement are
arrays; their entries are called components. The trivial value is the value that holds without any theory. A control is
a false statement near the claim.
"""

import abc
import dataclasses
from typing import ClassVar

import numpy as np

from ._components import asked, counted, told_silence
from ._relations import (
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
class AbstractBound(Relation):
    """A bound that may fail with probability delta.

    With delta = 0, a single violation refutes the bound. Support then means that at most the share `resolution` of the
    population's problems violates the bound. With delta > 0, support means that the rate of violations is at most
    delta. An infinite bound is never violated, whether the statement is true or false. So trials with an infinite bound
    never count for support.
    """

    delta: float = 0.0
    resolution: float = 0.1
    block: int = 0

    @abc.abstractmethod
    def excess(self, predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """The excess over the bound. The excess is negative or 0 if the bound holds."""

    @abc.abstractmethod
    def empty(self, predicted: np.ndarray) -> np.ndarray:
        """Which components of the bound are infinite, so that they always hold."""

    @property
    def aim(self) -> float:
        """The largest rate of violations at which the statement is supported, if the trials show this rate."""
        return self.delta if self.delta > 0 else self.resolution

    def against(self, sample: Sample) -> np.ndarray:
        """Which components violate the bound by more than rounding errors."""
        excess = self.excess(columns(sample.predicted), columns(sample.measured))
        beyond = excess > columns(sample.tolerance(self.block))
        return blocks(beyond.reshape(sample.measured.shape), self.unit)

    def violations(self, sample: Sample) -> np.ndarray:
        """Which trials violate the bound by more than rounding errors."""
        return np.asarray(np.any(self.against(sample), axis=1))

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Apply the exact binomial test to the violations. With delta = 0, a single violation refutes the bound.

        A trial may give no information about a component. The test uses the number of trials that give information
        about the component with the fewest such trials.
        """
        wrong, infinite = self.against(sample), self._infinite(sample)
        mute = infinite if sample.silent is None else infinite | sample.silent
        violated = wrong.any(axis=1)
        failures, trials = int(violated.sum()), counted(wrong, mute)
        lower, upper = failure_limits(failures, trials, level) if trials else (0.0, 1.0)
        share = failures / trials if trials else 0.0
        rate = f" in {trials} trials; failure rate between {lower:.2g} and {upper:.2g}"
        reason = f"{failures} violations{'' if sample.constant else rate}"
        reason += told_silence(mute, infinite)
        holds, needed = None, None
        if failures and (self.delta == 0 or lower > self.delta):
            holds, reason = False, f"{reason}, {self._allowed}"
        elif trials and upper <= self.aim:
            shown = "" if self.delta else f", and support needs a rate of at most {self.aim:g}"
            holds, reason = True, f"{reason}, {self._allowed}{shown}"
        else:
            needed = max(trials_to_support(self.aim, level), 2 * trials if failures else 0)
            needed = asked(needed, trials, sample.trials)
            reason += f"; {needed} trials could settle it" if needed else ""
        return Judgement(holds, share, (lower, upper), reason, (0.0, self.aim), needed, violated.mean())

    def _infinite(self, sample: Sample) -> np.ndarray:
        """Which components consist only of infinite bounds."""
        empty = np.broadcast_to(self.empty(columns(sample.predicted)), columns(sample.predicted).shape)
        return ~blocks(~empty.reshape(sample.predicted.shape), self.unit)

    def compare(self, sample: Sample) -> bool | None:
        """Whether the bound holds in this trial."""
        return not self.violations(sample).any()

    def budget(self, level: float) -> int | None:
        """The number of trials without a violation that shows that the rate of violations is at most `aim`."""
        return trials_to_support(self.aim, level)

    def broken(self, sample: Sample) -> np.ndarray:
        """Which trials have NaN or infinity. A bound may be infinite in the direction in which it always holds."""
        predicted = columns(sample.predicted)
        lost = ~(np.isfinite(predicted) | self.empty(predicted)).all(axis=1)  # pyright: ignore
        return not_finite(sample.measured) | lost

    def gaps(self, sample: Sample) -> np.ndarray:
        """The largest excess of each trial, relative to the larger of |prediction| and |measurement|."""
        predicted, measured = columns(sample.predicted), columns(sample.measured)
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = self.excess(predicted, measured) / np.maximum(np.abs(predicted), np.abs(measured))
        return np.nan_to_num(relative, nan=-1.0, neginf=-1.0).max(axis=1, initial=-1.0)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The factor in each component between the prediction and the false prediction of the control."""
        return factors(predicted, false)

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if the shapes of prediction and measurement differ."""
        return same_shape(predicted, measured)

    @property
    def band(self) -> str:
        """A description of the rates of violations that support or refute the statement."""
        if self.delta:
            return (
                f"supported if the rate of violations is shown to be at most {self.delta:g}; refuted if the rate is "
                "shown to be larger"
            )
        return (
            f"refuted by one violation; supported if the rate of violations is shown to be at most {self.resolution:g}"
        )

    @property
    def _allowed(self) -> str:
        return f"allowed {self.delta:g}" if self.delta else "none is allowed"

    def _stated(self, sign: str) -> str:
        return f"measured {sign} predicted" + (f" with probability >= {1 - self.delta:g}" if self.delta else "")


@dataclasses.dataclass(frozen=True)
class AtMost(AbstractBound):
    """measured <= predicted with probability at least 1 - delta."""

    label: ClassVar[str] = "upper"

    def excess(self, predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """The difference measured - predicted."""
        return measured - predicted

    def empty(self, predicted: np.ndarray) -> np.ndarray:
        """Which components of the bound are +inf."""
        return np.isposinf(predicted)

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """Which components of the bound are at or above the trivial value."""
        return columns(predicted) >= columns(trivial)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The prediction and the measurement in the component that is nearest to violating the bound."""
        return most_different(sample)

    def __str__(self) -> str:
        return self._stated("<=")


@dataclasses.dataclass(frozen=True)
class AtLeast(AbstractBound):
    """measured >= predicted with probability at least 1 - delta."""

    label: ClassVar[str] = "lower"

    def excess(self, predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
        """The difference predicted - measured."""
        return predicted - measured

    def empty(self, predicted: np.ndarray) -> np.ndarray:
        """Which components of the bound are -inf."""
        return np.isneginf(predicted)

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """Which components of the bound are at or below the trivial value."""
        return columns(predicted) <= columns(trivial)

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The prediction and the measurement in the component that is nearest to violating the bound."""
        return most_different(sample, lower=True)

    def __str__(self) -> str:
        return self._stated(">=")


@dataclasses.dataclass(frozen=True)
class Witness(Relation):
    """An object that the statement constructs attains at least the predicted value, with the given probability.

    The construction is refuted if it is shown to succeed less often than stated. If the probability is 1, one failure
    beyond rounding refutes the construction. For support, the success rate must be shown to be at least probability -
    `resolution`, and at least half of the probability.

    The probability is stated for each problem, not on average over problems. If the probability is below 1, each
    problem is tried twice. Let q = 1 - probability. If each problem fails with a probability of at most q, both tries
    fail with a probability of at most q². The construction is refuted if two failures are shown to be more frequent.
    For support, the rate of two failures must be shown to be at most q² + resolution. So success on only some of the
    problems is not enough.
    """

    probability: float = 1.0
    resolution: float = 0.1
    label: ClassVar[str] = "lower"

    @property
    def replicates(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """How often each problem is tried."""
        return 1 if self.probability == 1.0 else 2

    @property
    def least(self) -> float:
        """The smallest rate of success at which the statement is supported."""
        return max(self.probability - self.resolution, self.probability / 2)

    def _tries(self, sample: Sample) -> list[Sample]:
        """For each try, the sample with the measurements of this try."""
        measured = np.asarray(sample.measured)
        tries = measured[None] if self.replicates == 1 else np.moveaxis(measured, 1, 0)
        return [dataclasses.replace(sample, measured=own) for own in tries]

    def against(self, sample: Sample) -> np.ndarray:
        """Which components miss the value by more than rounding, at the first try."""
        return _short(self._tries(sample)[0])

    def judge(self, sample: Sample, level: float) -> Judgement:
        """Apply exact binomial tests to the successes of first tries, and to the problems in which both tries fail.

        A trial may give no information about a component. The tests use the number of trials that give information
        about the component with the fewest such trials.
        """
        tries, share = self._tries(sample), level / self.replicates
        wrong = _short(tries[0])
        mute = np.zeros_like(wrong) if sample.silent is None else sample.silent
        missed = np.stack([_short(own).any(axis=1) for own in tries])
        failures, trials = int(missed[0].sum()), counted(wrong, mute)
        lower, upper = failure_limits(failures, trials, share) if trials else (0.0, 1.0)
        interval, least = (1 - upper, 1 - lower), self.least
        reason = (
            f"{trials - failures} of {trials} constructions attain the value (stated probability: {self.probability:g})"
        )
        reason += told_silence(mute)
        holds, needed = None, None
        if (self.probability == 1.0 and failures) or interval[1] < self.probability:
            holds = False
        elif interval[0] >= least:
            holds = True
        if self.replicates > 1 and holds is not False and trials:
            both, allowed = int(missed.all(axis=0).sum()), (1 - self.probability) ** 2
            low, high = failure_limits(both, trials, share)
            reason = (
                f"{reason}; both measurements fail in {both} of the trials (at most {allowed:.2g} of the trials are "
                "allowed)"
            )
            holds = False if low > allowed else holds if high <= allowed + self.resolution else None
        if holds is None:
            needed = asked(max(trials_to_support(1 - least, level), 2 * trials), trials, sample.trials)
            reason += f"; {needed} trials could settle it" if needed else ""
        rate = 1 - failures / trials if trials else 0.0
        return Judgement(holds, rate, interval, reason, (least, 1.0), needed, missed[0].mean())

    def compare(self, sample: Sample) -> bool | None:
        """Whether this construction attains the value, at the first try."""
        return not self.against(sample).any()

    def budget(self, level: float) -> int | None:
        """The number of trials without a failure that gives support, if the probability is 1; otherwise None."""
        return trials_to_support(self.resolution, level) if self.probability == 1.0 else None

    def broken(self, sample: Sample) -> np.ndarray:
        """Which trials have NaN or infinity."""
        return not_finite(sample.measured) | not_finite(sample.predicted)

    def vacuous(self, predicted: np.ndarray, trivial: np.ndarray) -> np.ndarray | None:
        """Which components of the bound are at or below the trivial value."""
        return columns(predicted) <= columns(trivial)

    def gaps(self, sample: Sample) -> np.ndarray:
        """The largest difference predicted - measured in each trial, at the first try."""
        return (columns(sample.predicted) - columns(self._tries(sample)[0].measured)).max(axis=1)

    def distance(self, predicted: np.ndarray, false: np.ndarray) -> np.ndarray:
        """The factor in each component between the prediction and the false prediction of the control."""
        return factors(predicted, false)

    def misfit(self, predicted: tuple[int, ...], measured: tuple[int, ...]) -> str | None:
        """The fault if the shapes of prediction and measurement differ. The axis of tries is ignored."""
        return same_shape(predicted, measured if self.replicates == 1 else measured[1:])

    def shown(self, sample: Sample) -> tuple[float, float]:
        """The prediction and the measurement in the component that is nearest to missing the value."""
        return most_different(self._tries(sample)[0], lower=True)

    @property
    def band(self) -> str:
        """A description of the rates of success that support or refute the statement."""
        stated = f"refuted if it is shown to be below {self.probability:g}"
        return f"supported if the rate of success is shown to be at least {self.least:g}, {stated}"

    def __str__(self) -> str:
        return f"the construction attains the predicted value with probability >= {self.probability:g}"


def _short(sample: Sample) -> np.ndarray:
    """Which components of the constructed objects miss the predicted value by more than rounding."""
    short = columns(sample.predicted) - columns(sample.measured)
    return short > columns(sample.tolerance())
