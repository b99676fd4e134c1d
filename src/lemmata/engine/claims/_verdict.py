"""The verdict: the result of the trials of a statement, and the figures that decide it."""

import dataclasses
import math
from typing import Any

import numpy as np

from ._advice import advice_on
from ._claim import Status
from ._source import Source


@dataclasses.dataclass(frozen=True)
class Corner:
    """The result at an extra setting, at which a verification tests the claim besides the default setting.

    Args:
        setting: the values of the settings.
        status, reason: the result of the trials at this setting.
        slack: the median over trials of predicted / measured.
        gap: how strongly the worst trial contradicts the statement, in the unit of the relation.
        p_value: the smallest level at which the trials refute the statement.
    """

    setting: dict
    status: Status
    reason: str
    slack: float | None = None
    gap: float = -math.inf
    p_value: float = 1.0


@dataclasses.dataclass(frozen=True)
class ControlVerdict:
    """The result of a claim's trials for its control, a false statement near the claim.

    Args:
        status: "refuted" if the trials have enough power.
        violating: the share of trials that alone contradict the false statement, in the component with the smallest
            share. For a loose control or a vacuous bound, a contradiction in any component counts. The share is None if
            a single trial cannot contradict the statement.
        nearest, farthest: medians over trials of the distance between the false statement and the claim, in the
            component that changes least and in the component that changes most. The distance is a factor, a difference
            of exponents, or a relative difference. The distance is None if it has no meaning.
    """

    status: Status = Status.INCONCLUSIVE
    violating: float | None = None
    nearest: float | None = None
    farthest: float | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of a verification. Read its status; `bool(verdict)` is deliberately undefined.

    Args:
        name, source: the name and the source of the claim.
        status: supported, vacuous, refuted, inconclusive, inapplicable, outside, fails outside or failed.
        reason: the figures that decide the status, in a sentence.
        setting, seed, level: the setting, the seed and the level of the run.
        requested, executed, judged: the numbers of trials that were requested, that ran, and that satisfied the
            hypotheses.
        dropped: for each hypothesis that failed, the number of trials in which it failed.
        violated: the hypotheses that are known to be false on these problems.
        estimate, interval, band: the statistic of the relation, its confidence interval, and the interval within which
            the statement is supported.
        slack: 5, 50 and 95 % quantiles of predicted / measured (None if not meaningful).
        vacuous: the share of components, over all trials, that are beyond the trivial value; None without a trivial
            value.
        control: the result of the same trials for the control, a false statement near the claim.
        corners: the results at extra settings; `worst_corner` is the extra setting with the strongest evidence against
            the statement.
        p_value: the smallest level at which these trials, or the trials of an extra setting, refute the statement.
        worst: the number of the trial with the largest disagreement.
        seconds: the elapsed time in seconds.
        interrupted: whether Ctrl-C stopped the run before all trials had run.
    """

    name: str
    source: Source
    setting: dict
    seed: int
    level: float
    requested: int
    executed: int
    seconds: float
    status: Status
    reason: str
    judged: int = 0
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)
    violated: tuple[str, ...] = ()
    estimate: float | None = None
    interval: tuple[float, float] | None = None
    band: tuple[float, float] | None = None
    slack: tuple[float, float, float] | None = None
    vacuous: float | None = None
    control: ControlVerdict = ControlVerdict()
    corners: tuple[Corner, ...] = ()
    p_value: float = 1.0
    worst: int | None = None
    interrupted: bool = False

    @property
    def remedy(self) -> str:
        """The advice for the next step."""
        if self.interrupted:
            return "These numbers cover only the finished trials. Run the claim again to finish all trials."
        if self.status is Status.INCONCLUSIVE and "no power" in self.reason:
            return (
                "If trials differ from each other, raise the budget until the control is refuted. Otherwise use a "
                "control that differs more from the prediction."
            )
        return self.status.remedy

    @property
    def worst_corner(self) -> Corner | None:
        """The extra setting with the strongest evidence against the statement.

        Settings at which the claim is refuted come first, then settings that failed. Among equals, the setting with the
        largest gap is returned.
        """
        order = {Status.REFUTED: 2, Status.FAILS_OUTSIDE: 2, Status.FAILED: 1}
        return max(self.corners, key=lambda corner: (order.get(corner.status, 0), corner.gap), default=None)

    def to_json(self) -> dict:
        """The verdict as plain JSON values. Infinite numbers and NaN become null."""
        record = {**dataclasses.asdict(self), "source": str(self.source), "remedy": advice_on(self)}
        return plain_json(record)


def plain_json(value: Any) -> Any:
    """The value, with NumPy's numbers as Python numbers, tuples as lists, and infinite numbers and NaN as None."""
    if isinstance(value, dict):
        return {name: plain_json(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_json(part) for part in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
