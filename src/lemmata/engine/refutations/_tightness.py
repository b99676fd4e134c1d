"""Search for the tightness of a bound, the share of its constant that is needed, for the catalogue.

The share is the largest ratio of measured to predicted that a search finds, or of predicted to measured for a lower
bound.
"""

import dataclasses
import math
import time
from typing import Any

import numpy as np

from lemmata.core import require_float64
from lemmata.engine.claims import AtLeast, AtMost, Claim, Outcome, Status, Witness, fingerprint_of, run_trials
from lemmata.errors import SettingError, SolverError

from ._found import Counterexample, Untested
from ._pressure import searchable
from ._problem import Facts, Place, facts
from ._search import refute

_DRAWN = 64  # problems at a setting, for a statement with a probability
_MOST = 30  # the largest number of extra settings
# A larger ratio without a confirmed counterexample is a rounding error. The hypotheses' slack, 1e-12, can explain a
# counterexample up to this ratio.
_ATTAINED = 1 + 1e-6


@dataclasses.dataclass(frozen=True)
class Tightness:
    """The largest share of a bound's constant that a search found to be needed.

    Args:
        claim: the name of the claim.
        fingerprint: the fingerprint of the claim's code.
        ratio: measured over predicted, or predicted over measured for a lower bound, at the worst problem. For a
            statement with probability 1 - delta, the ratio is the quantile of order 1 - delta, at the worst setting.
            None if predictions are not positive numbers, if the largest ratio is a rounding error, and for refuted
            claims.
        refuted: how a counterexample was confirmed, in words; empty if the claim survived.
        settings, trials, climbed: the numbers of settings, problems and climbs of the search. For a counterexample,
            only the number of problems is known.
        place: where the largest ratio or the counterexample is; None if nothing could be tested.
        seconds: the processor time in seconds that the search was given.
    """

    claim: str
    fingerprint: str
    ratio: float | None
    refuted: str
    settings: int | None
    trials: int
    climbed: int | None
    place: Place | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The record for the catalogue, with the names of the fields that the search changed, not their values."""
        place = self.place
        where = None if place is None else {"setting": place.setting, "seed": place.seed, "number": place.number}
        told = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**told, "place": where, "moved": sorted(place.fields) if place is not None else []}


def has_tightness(claim: Claim) -> bool:
    """Whether the claim is a bound with a constant. Identities, rates and means have no such constant."""
    relation = claim.relation
    return isinstance(relation, AtMost | AtLeast) or (isinstance(relation, Witness) and searchable(claim))


def measure_tightness(claim: Claim, seconds: float = 5.0, *, seed: int = 0) -> Tightness:
    """Search for the largest ratio of a bound, or for a counterexample to any claim, in a given processor time.

    The search is `refute`. For a true statement with probability 1 - delta, the ratio is the quantile of order 1 -
    delta over 64 problems. The function reports the largest of these quantiles over the default setting and extra
    settings. The predicted bound times this quantile is the smallest bound that the draws do not contradict.

    Args:
        claim: the claim.
        seconds: the processor time in seconds, so that a search on a busy machine covers as much as on an idle one.
        seed: the seed of all randomness.

    Raises:
        PrecisionError: if float64 is off.
        SettingError: for a budget that is not above 0.
        SolverError: if no problem could be judged.
        KeyboardInterrupt: if Ctrl-C cut the search short.

    >>> import jax
    >>> from lemmata.engine.claims import find
    >>> with jax.enable_x64(True):
    ...     found = measure_tightness(find("line_by_ramps")[0], 2.0)
    >>> 0.5 < found.ratio < 1 + 1e-9
    True
    """
    require_float64(f"a search for a counterexample to {claim.name}")
    if not seconds > 0:
        raise SettingError("seconds", found=f"{seconds:g}", rule="a number of seconds above 0")
    if has_tightness(claim) and not searchable(claim) and claim.expected is not Status.REFUTED:
        return _by_quantiles(claim, claim.relation.delta, seconds, seed)  # pyright: ignore[reportAttributeAccessIssue]
    found = refute(claim, seconds, seed=seed, clock=time.process_time)
    if isinstance(found, Untested):
        raise _unjudged(claim, found.reason)
    if not isinstance(found, Counterexample) and found.interrupted:
        raise KeyboardInterrupt
    own = fingerprint_of(claim)
    if isinstance(found, Counterexample) and has_tightness(claim) and found.alone and found.ratio <= _ATTAINED:
        return Tightness(claim.name, own, 1.0, "", None, found.trials, None, found.place, seconds)
    if isinstance(found, Counterexample):
        return Tightness(claim.name, own, None, found.confirmed, None, found.trials, None, found.place, seconds)
    ratio = _ratio(claim, found.place) if has_tightness(claim) and found.place is not None else None
    return Tightness(claim.name, own, ratio, "", found.settings, found.trials, found.climbed, found.place, seconds)


def _by_quantiles(claim: Claim, delta: float, seconds: float, seed: int) -> Tightness:
    """The largest quantile of the ratio over settings: the default, and extra settings that the seed draws."""
    space, begun = claim.population.settings(), time.process_time()
    best, where, settings, trials, judged, error = -math.inf, None, 0, 0, 0, ""
    for setting in (space.default, *space.corners(_MOST, seed)):
        if settings and time.process_time() - begun > seconds:
            break
        finished = run_trials(claim, setting, _DRAWN, seed + settings)
        if finished.interrupted:
            raise KeyboardInterrupt
        error = error or next(iter(finished.errors), "")
        if finished.stacked is not None:
            judged += int(finished.stacked.holds.sum())
            ratios = np.where(finished.stacked.holds, ratios_of(claim, finished.stacked), np.nan)
            known = np.flatnonzero(~np.isnan(ratios))
            if len(known):
                order = known[np.argsort(ratios[known])]
                at = order[math.ceil((1 - delta) * len(order)) - 1]
                if ratios[at] > best:
                    best, where = float(ratios[at]), Place(setting, seed + settings, int(finished.numbers[at]))
        settings, trials = settings + 1, trials + len(finished.numbers)
    if not judged:
        raise _unjudged(claim, error or "no problem satisfied the hypotheses")
    ratio = best if -math.inf < best <= _ATTAINED else None
    return Tightness(claim.name, fingerprint_of(claim), ratio, "", settings, trials, 0, where, seconds)


def _unjudged(claim: Claim, found: str) -> SolverError:
    return SolverError(f"the search of {claim.name}", found=found, rule="at least one problem that can be judged")


def ratios_of(claim: Claim, own: Outcome | Facts) -> np.ndarray:
    """The largest ratio over components in each trial; NaN if the bound is not positive or the bounded value negative.

    Args:
        claim: a bound.
        own: the finished trials of the claim, or one trial with a leading axis.
    """
    parts = (own.predicted, own.measured)
    predicted, measured = (np.asarray(part, float).reshape(len(own.predicted), -1) for part in parts)
    above, below = (predicted, measured) if isinstance(claim.relation, AtLeast | Witness) else (measured, predicted)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((above >= 0) & (below > 0), above / below, np.nan)
        ratio = np.where((above == 0) & (below == 0), 0.0, ratio)  # no information, for any constant
    return ratio.max(axis=1)


def _ratio(claim: Claim, place: Place) -> float | None:
    own = facts(claim, place.problem(claim), place.keys(claim)[1])
    one = dataclasses.replace(own, predicted=own.predicted[None], measured=own.measured[None])
    found = float(ratios_of(claim, one)[0])
    return found if found <= _ATTAINED else None


def from_neighbour(claim: Claim, neighbours: list[Claim]) -> Claim:
    """Return a claim as printed with the population of the first claim that corrects it, if the types agree.

    The types of the problems of both populations must agree.

    Args:
        claim: the claim as printed.
        neighbours: all claims.

    Returns:
        The new claim, or the given claim if no such neighbour exists or if a neighbour has the same population.
    """
    found = [other.population for other in neighbours if other.corrects is type(claim)]
    found = [own for own in found if own.problem is claim.population.problem]
    if not found or claim.population in found:
        return claim
    words = {"population": found[0], "__doc__": type(claim).__doc__, "__module__": type(claim).__module__}
    return type(type(claim).__name__, (type(claim),), words)()
