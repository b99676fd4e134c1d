"""A walk through the declared ranges of a claim's settings: the ends of every variable, and places between the ends."""

import collections
import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np

from lemmata.engine.catalogue import prints
from lemmata.errors import SettingError

from ._claim import Claim
from ._keyed import Judged, JudgingTask
from ._settings import Choice, Space, Variable
from ._verdict import plain_json

INTERIOR = 4
"""The number of settings that are drawn between the ends. All variables of such a setting are drawn together."""
_DRAWS = 100


def places(space: Space, seed: int = 0, interior: int = INTERIOR) -> list[dict]:
    """The settings of a walk: each end of each variable (others at their defaults), and settings between the ends.

    For a `Choice`, every option is an end. Between the ends, all variables are drawn together, uniformly on a
    logarithmic scale if they are positive. Settings that the rules of the space exclude are left out.

    >>> from lemmata.engine.claims import Integer
    >>> places(Space(n=Integer(8, 2, 64)), interior=0)
    [{'n': 2}, {'n': 64}]
    """
    found: list[dict] = []

    def add(given: dict) -> None:
        try:
            setting = space.resolve(given)
        except SettingError:
            return
        if setting not in found and setting != space.default:
            found.append(setting)

    for name, variable in space.variables.items():
        for end in variable.options if isinstance(variable, Choice) else (variable.low, variable.high):
            add({name: end})
    rng, ends = np.random.default_rng(seed), len(found)
    for _ in range(_DRAWS if space.variables else 0):
        if len(found) == ends + interior:
            break
        add({name: _between(variable, rng) for name, variable in space.variables.items()})
    return found


def _between(variable: Variable, rng: np.random.Generator) -> Any:
    if isinstance(variable, Choice):
        return variable.options[int(rng.integers(len(variable.options)))]
    return dataclasses.replace(variable, corners=(variable.low, variable.high)).corner(rng)


def walk_of(claim: Claim, *, seed: int = 0, budget: int | None = None, level: float) -> list[JudgingTask]:
    """The tests of a claim, one at each setting of its walk. Each test has an equal share of the level.

    Args:
        claim: the claim.
        seed: seed of the settings and of all trials.
        budget: the number of trials at each setting; None for the number that support needs.
        level: the probability that a true claim is refuted anywhere on its walk.
    """
    found = places(claim.population.settings(), seed)
    return [JudgingTask(claim, seed, budget, 0, level / len(found), setting) for setting in found]


def walk_record(claim: Claim, walked: Iterable[Judged]) -> dict[str, Any]:
    """The record of a walk: the number of settings with each result, and the settings at which the claim did not hold.

    A setting that exceeded the time limit counts as unfinished, because the claim was not judged at this setting.

    Args:
        claim: the claim.
        walked: the judged tasks of the claim at all settings of its walk.
    """
    walked = list(walked)
    counts = collections.Counter("unfinished" if own.late else str(own.verdict.status) for own in walked)
    wrong = [
        own.verdict
        for own in walked
        if own.verdict.status in ("refuted", "failed") and not own.late and claim.expected != "refuted"
    ]
    return plain_json({
        "settings": len(walked), **{status: counts[status] for status in sorted(counts)},
        "where": [{"setting": verdict.setting, "status": str(verdict.status), "reason": verdict.reason[:200]}
                  for verdict in wrong],
        "fingerprint": prints(type(claim).__module__, type(claim).__name__).whole,
    })  # fmt: skip
