"""Find the nearest false statement that a claim's trials refute, and false statements that the trials do not refute."""

import collections
import dataclasses
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lemmata.core import require_float64
from lemmata.engine.catalogue import costs, is_loose, prints, records
from lemmata.errors import SettingError

from ._asked import check_asked, check_judging
from ._claim import Claim, Status
from ._family import LEVEL, budget_of
from ._judge import judge_trials, judged_sample
from ._mutants import Mutant, is_wrong, judged, moves, mutants, nearest_refuted, parts, ways
from ._relations import Sample
from ._roles import swapped_predictions
from ._trials import Trials, run_trials
from ._verdict import plain_json


@dataclasses.dataclass(frozen=True)
class Neighbour:
    """The nearest statement that the trials refute, for one kind of change.

    Args:
        part: the only component that is wrong; None if all components are wrong.
        way: the kind of change in words.
        unit: the unit of the amount.
        amount: a factor minus 1, a difference of exponents, or a share of the way to the control. None if even the
            farthest statement is not refuted.
    """

    part: int | None
    way: str
    unit: str
    amount: float | None


@dataclasses.dataclass(frozen=True)
class Mutations:
    """The verdicts of a claim's trials on false neighbours of the claim (mutants).

    Args:
        relation: the name of the relation's class.
        trials: the number of trials that were judged.
        status: the status of the claim itself at its default setting.
        left: the reason why the claim does not count in the score (the share of mutants that are noticed); empty if it
            counts.
        outcomes: for each mutant, the change in words, its size, whether only one component is mutated, and the status.
        neighbours: the nearest refuted neighbours.
    """

    relation: str
    trials: int
    status: Status
    left: str
    outcomes: tuple[tuple[str, str, bool, Status], ...] = ()
    neighbours: tuple[Neighbour, ...] = ()

    def noticed(self, status: Status) -> bool:
        """Whether a mutant with this status is noticed: not supported, or if the claim is refuted, not refuted."""
        return status is not (Status.REFUTED if self.status is Status.REFUTED else Status.SUPPORTED)


def mutate(
    claim: Claim, *, seed: int = 0, budget: int | None = None, level: float = LEVEL,
    run: Callable[..., Trials] = run_trials,
) -> Mutations:  # fmt: skip
    """Run a claim's trials once, at its default setting, and use them to judge false neighbours of the claim (mutants).

    Predictions are multiplied by 1.05, 0.95, 1.25 and 0.8, in all components and in one component alone. Exponents are
    moved by 0.1 and 0.2, intervals are narrowed, and signs are changed. Predictions are compared with measurements of
    another problem, or with sequences in which the size has no effect. Fields of problems are exchanged. Bounds are
    made tighter, since a looser bound stays true. A mutant is noticed if the trials do not support it. A mutant of a
    refuted claim is noticed if the trials do not refute it.

    Args:
        claim: the claim.
        seed: seed of all randomness, as in `verify`.
        budget: number of trials; None for the number that `verify` runs.
        level: the level of a verdict, as in `verify`. Half of this level is spent on the default setting.
        run: the function that runs trials.

    Raises:
        SettingError: if the budget is not positive.
        PrecisionError: if float64 is off.
    """
    check_asked(claim, None, seed, None)
    check_judging(budget, None, level)
    require_float64(f"mutation of {claim.name}")
    trials = budget_of(claim) if budget is None else budget
    setting = claim.population.settings().resolve(None)
    finished = run(claim, setting, trials, seed)
    verdict = judge_trials(claim, setting, finished, seed, level / 2, 0.0)
    relation, results = claim.relation, finished.stacked
    known = Mutations(type(relation).__name__, verdict.judged, verdict.status, _left(claim, verdict.status))
    if results is None or verdict.status in (Status.FAILED, Status.INAPPLICABLE) or not verdict.judged:
        return known
    kept = results.holds
    sample = judged_sample(claim, results, kept)
    false, numbers = np.asarray(results.false)[kept], finished.numbers[kept]
    holds = relation.judge(sample, level / 2).holds
    if holds is None:
        return known
    wrong = [*mutants(relation, sample, false, seed, both=not holds), *_roles(claim, setting, sample, numbers, seed)]
    told = [(own.what, own.size, own.part is not None, judged(relation, own.sample, level / 2)) for own in wrong]
    near = _nearest(claim, sample, false, level / 2) if holds else ()
    return dataclasses.replace(known, outcomes=tuple(told), neighbours=near)


def _left(claim: Claim, status: Status) -> str:
    """The reason why a claim does not count in the score (not supported, loose, or false); empty if it counts."""
    if status is not Status.SUPPORTED:
        return str(status)
    if claim.expected is not Status.SUPPORTED:
        return f"expected to be {claim.expected}"
    found = records().get(claim.name, {}).get("search")
    return "loose" if is_loose(found) else ""


def _roles(claim: Claim, setting: dict, sample: Sample, numbers: np.ndarray, seed: int) -> Iterable[Mutant]:
    for names, predicted in swapped_predictions(claim, setting, numbers, seed).items():
        if is_wrong(claim.relation, sample, predicted):
            changed = dataclasses.replace(sample, predicted=predicted)
            yield Mutant(f"{names} exchanged", "roles", None, changed)


def _nearest(claim: Claim, sample: Sample, false: np.ndarray, level: float) -> tuple[Neighbour, ...]:
    relation = claim.relation
    return tuple(
        Neighbour(part, way.name, way.unit, nearest_refuted(relation, sample, false, level, way, part))
        for part in (None, *parts(relation, sample))
        for way in ways(relation, sample, part)
        if moves(sample, false, way, part)
    )


def mutation_record(claim: Claim, found: Mutations) -> dict[str, Any]:
    """The record of a claim's mutations: the numbers made and noticed, the unnoticed mutations, and the neighbours.

    Args:
        claim: the claim.
        found: the result of `mutate`.
    """
    counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for _, size, alone, status in found.outcomes:
        own = counts[f"{size} alone" if alone else size]
        own[0] += 1
        own[1] += found.noticed(status)
    return plain_json({
        "relation": found.relation, "trials": found.trials, "status": str(found.status), "left": found.left,
        "counts": dict(counts),
        "survivors": [what for what, _, _, status in found.outcomes if not found.noticed(status)],
        "nearest": [dataclasses.asdict(own) for own in found.neighbours],
        "fingerprint": prints(type(claim).__module__, type(claim).__name__).whole,
    })  # fmt: skip


def drawn(claims: Iterable[Claim], count: int, seed: int = 0) -> list[Claim]:
    """Draw a sample of claims over all relations and subjects. In each group, the cheapest claims come first.

    Claims of one relation and one subject are a group. The groups take turns, in an order that the seed draws. In its
    turn, a group gives its cheapest remaining claim. The seed chooses between equally cheap claims.

    Args:
        claims: the claims to draw from.
        count: the number of claims to draw; all claims if there are fewer.
        seed: the seed of the order.

    Raises:
        SettingError: if the count is not positive.
    """
    if count < 1:
        raise SettingError("--sample", found=count, rule="at least 1 claim")
    key = lambda words: zlib.crc32(f"{seed} {words}".encode())
    cost = lambda claim: costs().get(type(claim).__name__, 0.0)
    groups: dict[str, list[Claim]] = collections.defaultdict(list)
    for claim in claims:
        groups[f"{type(claim.relation).__name__} {claim.name.partition('.')[0]}"].append(claim)
    ordered = [sorted(groups[name], key=lambda own: (cost(own), key(own.name))) for name in sorted(groups, key=key)]
    found: list[Claim] = []
    for place in range(max(map(len, ordered), default=0)):
        found += [own[place] for own in ordered if place < len(own)]
    return sorted(found[:count], key=cost)
