"""Calibration: how often the engine refutes true statements, supports false statements, or fails to refute them.

A family is a generator of finished trials of a statement that is known to be true or false (see `Family`).
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from lemmata.workers import Lost, finished

from ._claim import Status
from ._families import FAMILIES, Family
from ._judge import decide
from ._relations import Sample
from ._statistics import failure_limits

LOW, HIGH = 0.05, 1e-3
"""Two levels of tests. Rates of false alarms are measured at LOW: few repetitions are enough to measure a rate
near LOW, but not a rate near HIGH. Power is measured at HIGH, the level of verdicts."""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The result of the calibration for one family of statements.

    Args:
        family: the family of statements that was judged.
        level: the level of the verifications, the largest probability of refuting a true statement.
        repeats: the number of verifications.
        rate: the share of the verifications with the required result.
        limits: exact (Clopper-Pearson) limits of that share at confidence 1 - 2e-3.
        least: the required share. The required share is 1 - level in general, 1 - 2 level for the coverage of two
            one-sided binomial limits, and 0.95 for power.
        error: the reason why nothing was measured, if the family was lost with its worker; otherwise empty.
    """

    family: Family
    level: float
    repeats: int
    rate: float
    limits: tuple[float, float]
    least: float
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether the limits of the share are compatible with the required share."""
        return not self.error and self.limits[1] >= self.least


def calibrate(
    repeats: int = 2000,
    seed: int = 0,
    families: Sequence[Family] = FAMILIES,
    progress: Callable[[int, int], None] = lambda done, total: None,
    executor: Executor | None = None,
) -> list[Calibration]:
    """Judge each family many times, on independent trials.

    Each family tests one of these requirements. A true statement is refuted with probability at most the level. The
    interval of a true statement covers the truth with probability at least 1 - level. A statement that must not be
    supported (vacuous, heterogeneous, false) is supported with probability at most the level. A false statement near a
    true statement is refuted at the level 1e-3 in at least 95 of 100 verifications.

    Args:
        repeats: the number of verifications of each family.
        seed: seed of all randomness.
        families: the families that are judged.
        progress: a function that is called with the number of finished families and the number of all families.
        executor: where families are judged, one task for each family. None means in this process. The rates do not
            depend on the executor.
    """
    place = lambda family: next((k for k, own in enumerate(FAMILIES) if own is family), family)
    tasks = [(number, (place(family), number, repeats, seed)) for number, family in enumerate(families)]
    here = ((number, _calibrated(*given)) for number, given in tasks)
    found: dict[int, Calibration] = {}
    progress(0, len(families))
    for number, own in here if executor is None else finished(executor, _calibrated, tasks):
        if isinstance(own, Lost):
            own = {"level": _level(families[number]), "repeats": 0, "rate": math.nan, "limits": (0.0, 1.0),
                   "least": math.nan, "error": f"family {number}: {own.error}"}  # fmt: skip
        found[number] = Calibration(families[number], **own)
        progress(len(found), len(families))
    return [found[number] for number in range(len(families))]


def _calibrated(family: Family | int, number: int, repeats: int, seed: int) -> dict[str, Any]:
    """The result for one family. Workers get the family's position in `FAMILIES`, as its closures cannot be sent."""
    family = FAMILIES[family] if isinstance(family, int) else family
    rng, level = np.random.default_rng([seed, number]), _level(family)
    right = sum(as_asked(family, family.sample(rng), level) for _ in range(repeats))
    wrong = failure_limits(repeats - right, repeats, 1e-3)
    limits = (1 - wrong[1], 1 - wrong[0])
    sides = 2 if family.asked == "covered" and family.relation.label in ("upper", "lower") else 1
    least = 0.95 if family.asked == "refuted" else 1 - sides * level
    return {"level": level, "repeats": repeats, "rate": right / repeats, "limits": limits, "least": least}


def _level(family: Family) -> float:
    return HIGH if family.asked == "refuted" else LOW


def as_asked(family: Family, sample: Sample, level: float) -> bool:
    """Whether one verification of a family gave the required result."""
    judgement = family.relation.judge(sample, level)
    if family.asked == "covered":
        return bool(judgement.interval[0] <= family.truth <= judgement.interval[1])
    beyond = None
    if family.trivial is not None:
        beyond = family.relation.vacuous(sample.predicted, np.full(sample.trials, family.trivial))
    status = decide(judgement, "", beyond, ())[0]
    return {
        "refuted": status is Status.REFUTED,
        "not refuted": status is not Status.REFUTED,
        "not supported": status is not Status.SUPPORTED,
    }[family.asked]
