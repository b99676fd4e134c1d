"""Find values that cannot be judged, because they are NaN, infinite or out of range."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._claim import Claim
from ._relations import Sample, columns, not_finite
from ._trials import Outcome


@dataclasses.dataclass(frozen=True)
class Fault:
    """A part of the trials that cannot be judged.

    Args:
        what: the part, in words.
        values: the values of this part, one row for each trial.
        where: the trials in which this part cannot be judged.
    """

    what: str
    values: np.ndarray
    where: np.ndarray

    def told(self, numbers: np.ndarray) -> str:
        """A description of the fault: the part, the kind of fault, the number of trials, and the first trial."""
        found, count = self.values[self.where], int(self.where.sum())
        word = "NaN" if np.isnan(found).any() else "infinite" if np.isinf(found).any() else "out of its range"
        first = numbers[np.argmax(self.where)]
        return f"{self.what} is {word} in {count} of {len(numbers)} trials; first: trial {first}"


def undefined_hypotheses(results: Outcome) -> Iterator[Fault]:
    """Hypotheses whose value or threshold is NaN, or whose value is infinite although the threshold is finite.

    If a trial has fewer hypotheses than others, NaN stands in place of the missing hypotheses. Such a NaN is not a
    fault.
    """
    for hypothesis in results.hypotheses:
        if hypothesis.checkable:
            value, threshold = np.broadcast_arrays(hypothesis.value, hypothesis.threshold)
            missing = (np.isnan(value) | np.isnan(threshold)) & results.undefined
            where = missing | (np.isinf(value) & np.isfinite(threshold))
            if where.any():
                yield Fault(f"'{hypothesis.name}'", columns(np.stack([value, threshold], axis=-1)), where)


def faults(claim: Claim, results: Outcome) -> Iterator[Fault]:
    """The faults of trials whose hypotheses hold: NaN, and infinite values that are not allowed.

    A bound may be infinite in the direction in which it always holds, and so may its control. A trivial value may be
    infinite in the same direction if it is infinite in every trial. The component then has no trivial value.
    """
    sample = Sample(
        *(np.asarray(part) for part in (results.predicted, results.measured, results.condition))  # pyright: ignore
    )
    condition, false = columns(sample.condition), columns(results.false)
    found: list[tuple[str, Any, Any]] = [
        ("the condition number", condition, ~(np.isfinite(condition) & (condition >= 0)).all(axis=1)),
        ("the measurement", sample.measured, not_finite(sample.measured)),
        ("the prediction", sample.predicted, claim.relation.broken(sample)),
        ("the control", false, ~(np.isfinite(false) | (false == columns(sample.predicted))).all(axis=1)),
    ]
    if callable(claim.trivial):
        trivial = columns(results.trivial)
        unknown = trivial == (-np.inf if claim.relation.label == "lower" else np.inf)
        always = (unknown | ~np.asarray(results.holds)[:, None]).all(axis=0)
        found.append(("the trivial value", trivial, ~(np.isfinite(trivial) | (unknown & always)).all(axis=1)))
    for what, values, where in found:
        if (where & results.holds).any():
            yield Fault(what, columns(values), where & results.holds)
