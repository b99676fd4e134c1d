"""The outer search: which settings, and how a candidate becomes a counterexample."""

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution

from lemmata.core import require_float64
from lemmata.engine.claims import Claim, Space, check_foreign, fingerprint_of, hypotheses_of
from lemmata.errors import SettingError

from ._chance import Chances
from ._confirm import confirm
from ._found import Counterexample, Survived, address, evaluated
from ._look import Look, Seen
from ._pressure import searchable
from ._problem import Place, called_free, spelled_out
from ._region import anywhere, beginnings, steps_of, suggested
from ._shrink import shrink
from ._spread import widely

Progress = Callable[[int, float | None], None]
_WIDER = 6  # settings until larger sizes are searched, too
_WANDERING = 3  # of so many settings one is from anywhere
_TRIES = 20
_QUICK = 1 / 30  # of the budget: where a setting takes longer, no larger ones are
_SEEDS = 100_000  # of one search
_SHRINKING = 0.4  # of the budget, for making simpler what was found


def refute(
    claim: Claim,
    budget: float = 60.0,
    *,
    setting: Mapping[str, object] | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    without: str | None = None,
    storage: str | None = None,
    progress: Progress = lambda settings, best: None,
    clock: Callable[[], float] = time.monotonic,
    simplify: float | None = None,
) -> Counterexample | Survived:
    """Search inside a claim's hypotheses for a problem on which it fails.

    Settings are chosen by Optuna, which learns where the statement is nearly false; at each of them problems are drawn,
    and from those that come nearest the fields that the population calls `free` are moved by projected gradient ascent
    on log(measured/predicted) (by an evolution strategy where the claim is not written in JAX). What is found is
    confirmed on fresh randomness and against rounding, and then made simpler. A statement with probability, in the mean
    or about a rate is searched over settings alone, and refuted by a second verification with another seed.

    Args:
        claim: the claim.
        budget: seconds to search; confirming takes some more, and simplifying as many as `simplify`.
        setting: settings that stay as they are.
        seed: of all randomness.
        executor: where searches from as many seeds as it has workers run; None is one search, here.
        without: a hypothesis that need not hold.
        storage: a SQLite file, or the URL of another database of Optuna's, where the search over settings goes on from
            an earlier one for the same claim, code and hypotheses.
        progress: told the number of settings and the largest ratio so far.
        clock: what the budget is counted by; `time.process_time` on a machine that others use as well.
        simplify: seconds to make what was found simpler; None takes 0.4 of the budget.

    Raises:
        PrecisionError: if float64 is off.
        SettingError, UnknownNameError: for an invalid budget, setting or hypothesis.

    >>> import jax
    >>> from lemmata.engine.claims import find
    >>> with jax.enable_x64(True):
    ...     found = refute(find("printed_logarithmic_samples")[0], 20.0)
    >>> type(found).__name__
    'Counterexample'
    """
    require_float64(f"a search for a counterexample to {claim.name}")
    check_foreign(claim)
    if executor is not None:
        options = {"setting": setting, "without": without, "storage": storage, "clock": clock, "simplify": simplify}
        return widely(executor, refute, claim, budget, seed=seed, **options)
    if not budget > 0:
        raise SettingError("budget", found=f"{budget:g}", rule="a number of seconds above 0")
    space = claim.population.settings()
    fixed = {name: space.resolve(setting)[name] for name in setting or {}}
    _check_hypothesis(claim, space, without)
    begun, stays = clock(), frozenset(fixed)
    search = (
        Look(claim, _SEEDS * seed, without, stays)
        if searchable(claim)
        else Chances(claim, _SEEDS * seed, _QUICK * budget, stays, clock)
    )
    study, reach = _study(claim, seed, storage, without, space, fixed), 4.0
    unconfirmed, simplify = 0, _SHRINKING * budget if simplify is None else simplify
    known: dict[Any, Seen] = {}
    free = bool(called_free(claim))
    while clock() - begun < budget:
        if search.settings % _WANDERING == 2:
            _wander(study, space, fixed, reach, seed, known)
        asked, asked_at = study.ask(), clock()
        own = suggested(space, asked, fixed, reach)
        if own is None:
            asked.set_constraint("rules", 1.0)
            study.tell(asked, state=optuna.trial.TrialState.PRUNED)
            continue
        name = tuple(own.items())
        if name in known and not free and _wander(study, space, fixed, reach, seed, known):
            asked.set_constraint("hypotheses", max(-known[name].margin, 0.0))
            study.tell(asked, max(known[name].value, -1e6))
            continue
        seen = known[name] = search.at(own, asked.number)
        _report(study, asked, own, seen)
        progress(search.settings, _ratio(search))
        if seen.place is not None:
            found = _confirmed(search, seen.place, clock() + simplify, stays, clock)
            if found is not None:
                return found
            unconfirmed += 1
        if search.settings % _WIDER == 0 and clock() - asked_at < _QUICK * budget:
            reach *= 2
        if not space.variables and search.settings >= 30:
            break
    return Survived(claim.name, search.settings, search.trials, search.climbed, _ratio(search), search.place,
                    search.failed, clock() - begun, unconfirmed)  # fmt: skip


def _wander(
    study: optuna.Study, space: Space, fixed: dict[str, Any], reach: float, seed: int, known: dict[Any, Seen]
) -> bool:
    """Have a setting from anywhere looked at soon: what is nearly true at many small settings holds others up.

    Returns:
        Whether there is one that is not known.
    """
    rng = np.random.default_rng([seed, len(study.trials)])
    for _ in range(_TRIES):
        own = anywhere(space, fixed, reach, rng)
        if own is None or not set(own) - set(fixed):
            return False
        if tuple(own.items()) not in known:
            study.enqueue_trial(steps_of(space, {name: value for name, value in own.items() if name not in fixed}))
            return True
    return False


def _ratio(search: Look | Chances) -> float | None:
    """The largest ratio so far; None where ratios say nothing, or nothing was judged."""
    if isinstance(search, Chances) or not math.isfinite(search.best):
        return None
    return math.exp(min(search.best, 700.0))


def _report(study: optuna.Study, asked: optuna.Trial, own: dict[str, Any], seen: Seen) -> None:
    """Tell the study what a setting showed: its pressure, and by how much it is outside the hypotheses.

    Where the largest pressure was at other real numbers than asked, the study hears of those as well.
    """
    value = max(seen.value, -1e6)
    asked.set_constraint("hypotheses", max(-seen.margin, 0.0))
    study.tell(asked, value)
    if seen.setting == own or seen.place is not None or not math.isfinite(seen.value):
        return
    moved = {
        name: seen.setting[name] for name, one in asked.distributions.items() if isinstance(one, FloatDistribution)
    }
    study.add_trial(
        optuna.trial.create_trial(
            params={**asked.params, **moved}, distributions=asked.distributions, value=value,
            constraints={"hypotheses": 0.0},
        )
    )  # fmt: skip


def _confirmed(
    search: Look | Chances, place: Place, until: float, fixed: frozenset[str], clock: Callable[[], float]
) -> Counterexample | None:
    if isinstance(search, Chances):
        return search.confirmed(place)
    claim, without = search.claim, search.without
    place = spelled_out(claim, place)
    said = confirm(claim, place, without)
    if said is None:
        return None

    def again(setting: dict[str, Any]) -> Place | None:
        short = Look(claim, search.seed + _SEEDS // 2, without, frozenset(setting))
        other = short.at(setting, 0).place
        search.trials += short.trials
        return None if other is None else spelled_out(claim, other)

    place, said, steps = shrink(claim, place, said, again, until, fixed, without, clock)
    blank = Counterexample(address(claim), place, 0.0, 0.0, 0.0, (), said, search.trials, steps)
    return evaluated(claim, blank)


def _check_hypothesis(claim: Claim, space: Space, without: str | None) -> None:
    if without is None:
        return
    key = Place(space.default, 0, 0).keys(claim)[0]
    names = [own.name for own in hypotheses_of(claim, claim.population.sample(space.default, key))]
    if without not in names:
        raise SettingError("hypothesis", found=without, rule=f"one of {'; '.join(names)}")


def study_name(claim: Claim, without: str | None = None) -> str:
    """What a database calls the searches for a claim: with its code, since ratios of other code say nothing of it."""
    return " ".join([claim.name, fingerprint_of(claim), *([f"without {without}"] if without else [])])


def _study(
    claim: Claim, seed: int, storage: str | None, without: str | None, space: Space, fixed: dict[str, Any]
) -> optuna.Study:
    """Optuna's study of the claim; the default and the smallest setting come first."""
    url = storage if storage is None or "://" in storage else f"sqlite:///{storage}"
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=8)
    try:
        study = optuna.create_study(
            direction="maximize",
            sampler=sampler,
            storage=url,
            study_name=claim.name if storage is None else study_name(claim, without),  # code takes seconds to read
            load_if_exists=True,
        )
    except Exception as error:  # whatever the database's driver raises
        raise SettingError(
            "storage", found=f"{storage}: {' '.join(str(error).split())[:120]}",
            rule="a file or the URL of a database that can be written to, such as search.db",
        ) from error  # fmt: skip
    if not study.trials:
        for own in beginnings(space):
            study.enqueue_trial(steps_of(space, {k: v for k, v in own.items() if k not in fixed}))
    return study
