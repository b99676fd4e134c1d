"""The search for a counterexample: choose settings, search them, confirm a candidate, and simplify it.

Optuna, a package for optimisation without derivatives, chooses the settings.
"""

import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np
import optuna
from optuna.distributions import FloatDistribution

from lemmata.core import check_real, require_float64
from lemmata.engine.claims import Claim, Space, Status, check_asked, check_foreign, hypotheses_of
from lemmata.errors import MissingDataError, SettingError, line_of
from lemmata.interruption import heed, heeded

from ._chance import Chances
from ._confirm import confirm
from ._found import Counterexample, Searched, Survived, Untested, address, evaluated
from ._look import Look, Seen
from ._pressure import searchable
from ._problem import Place, called_free, spelled_out
from ._region import anywhere, steps_of, suggested
from ._shrink import shrink
from ._spread import widely
from ._storage import open_study, path_of, storage_failure

Progress = Callable[[int, float | None], None]
_WIDER = 6  # settings until larger sizes are searched, too
_WANDERING = 3  # one in this number of settings is drawn from the whole region
_TRIES = 20
_QUICK = 1 / 30  # share of the budget: if a setting takes longer, no larger settings are tried
_SEEDS = 100_000  # the number of seeds that one search may use
_GRACE = 10.0  # seconds beyond the budget for the first setting, if the claim is not written in JAX
_SHRINKING = 0.4  # share of the budget for making a counterexample simpler


def refute(
    claim: Claim,
    budget: float = 60.0,
    *,
    setting: Mapping[str, object] | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    without: str | None = None,
    storage: str | os.PathLike[str] | None = None,
    progress: Progress = lambda settings, best: None,
    clock: Callable[[], float] = time.monotonic,
    simplify: float | None = None,
) -> Searched:
    """Search for a problem that satisfies a claim's hypotheses and contradicts the claim.

    Optuna chooses settings at which the trials come nearest to a contradiction. At each setting, problems are drawn.
    Projected gradient ascent on log(measured/predicted) starts from the problems nearest to a contradiction, and
    changes the fields that the population lists as `free`. If the claim is not written in JAX, an evolution strategy
    changes these fields. A counterexample is confirmed with new random keys and changed rounding errors, and then
    simplified. If the statement has a probability, or is about a mean or a rate, only settings are searched. Such a
    statement is refuted by a second verification with another seed.

    At least one setting is searched, however small the budget. Ctrl-C ends the search with the results so far. If there
    are no results, KeyboardInterrupt is raised. If the storage can no longer be written, the search continues without
    storage, and `unstored` in the result gives the reason.

    Args:
        claim: the claim.
        budget: the seconds to search, once the storage is open; confirming takes additional time, and simplifying
            takes up to `simplify` seconds.
        setting: values of settings that are fixed.
        seed: the seed of all randomness.
        executor: where the searches run, one seed for each worker. With None, one search runs in this process.
        without: a hypothesis that need not hold.
        storage: a SQLite file, or the URL of another database of Optuna. If the storage has an earlier search for the
            same claim, code and hypotheses, the earlier search is continued.
        progress: a function that is called with the number of settings and the largest ratio so far.
        clock: the function that measures the budget. Use `time.process_time` on a machine that other programs use, too.
        simplify: the seconds for simplifying a counterexample; None means 0.4 of the budget.

    Raises:
        PrecisionError: if float64 is off.
        SettingError, UnknownNameError: for an invalid budget, setting, hypothesis or storage.
        KeyboardInterrupt: if Ctrl-C comes before any problem was judged.

    >>> import jax
    >>> from lemmata.engine.claims import find
    >>> with jax.enable_x64(True):
    ...     found = refute(find("printed_logarithmic_samples")[0], 20.0)
    >>> type(found).__name__
    'Counterexample'
    """
    check_asked(claim, setting, seed, executor)
    check_real("budget", budget, "a finite number of seconds above 0", lambda seconds: seconds > 0)
    storage = path_of(storage)
    require_float64(f"a search for a counterexample to {claim.name}")
    check_foreign(claim)
    if executor is not None:
        options = {"setting": setting, "without": without, "storage": storage, "clock": clock, "simplify": simplify}
        return widely(executor, refute, claim, budget, seed=seed, **options)
    space = claim.population.settings()
    fixed = {name: space.resolve(setting)[name] for name in setting or {}}
    _check_hypothesis(claim, space, without)
    stays, opening = frozenset(fixed), (claim, seed, without, space, fixed)
    study, begun = open_study(*opening, storage), clock()
    search = (
        Look(claim, _SEEDS * seed, without, stays, late=lambda: clock() - begun >= budget + _GRACE)
        if searchable(claim)
        else Chances(claim, _SEEDS * seed, _QUICK * budget, stays, clock)
    )
    simplify = _SHRINKING * budget if simplify is None else simplify
    run, unstored = _Run(claim, space, fixed, seed, budget, clock, simplify, search, begun), ""
    try:
        try:
            run.through(study, progress)
        except Exception as error:
            unstored = storage_failure(error, storage)
            if not unstored:
                raise
            run.through(open_study(*opening, None), progress)
    except KeyboardInterrupt:
        if not (search.judged or run.confirming):
            raise
        heeded()
        return run.ended(unstored, interrupted=True)
    return run.ended(unstored)


@dataclasses.dataclass
class _Run:
    """A running search: the settings that it has tested, its time budget, its region of settings, and its result."""

    claim: Claim
    space: Space
    fixed: dict[str, Any]
    seed: int
    budget: float
    clock: Callable[[], float]
    simplify: float
    search: Look | Chances
    begun: float
    reach: float = 4.0
    unconfirmed: int = 0
    confirming: bool = False
    found: Counterexample | None = None
    known: dict[Any, Seen] = dataclasses.field(default_factory=dict)

    @property
    def late(self) -> bool:
        """Whether the time budget is spent."""
        return self.clock() - self.begun >= self.budget

    def through(self, study: optuna.Study, progress: Progress) -> None:
        """Search one setting, and then others until the budget is spent or a counterexample is confirmed."""
        search, free = self.search, bool(called_free(self.claim))
        while self.found is None and not (self.late and search.settings):
            heed()
            if search.settings % _WANDERING == 2:
                self.wander(study)
            asked, asked_at = study.ask(), self.clock()
            own = suggested(self.space, asked, self.fixed, self.reach)
            if own is None:
                asked.set_constraint("rules", 1.0)
                study.tell(asked, state=optuna.trial.TrialState.PRUNED)
                if self.late and not search.settings:
                    self.look_at(self.space.resolve(self.fixed), asked.number)
                continue
            name = tuple(own.items())
            if name in self.known and not free and self.wander(study):
                asked.set_constraint("hypotheses", max(-self.known[name].margin, 0.0))
                study.tell(asked, max(self.known[name].value, -1e6))
                continue
            seen = self.known[name] = self.look_at(own, asked.number)
            _report(study, asked, own, seen)
            progress(search.settings, _ratio(search))
            if search.settings % _WIDER == 0 and self.clock() - asked_at < _QUICK * self.budget:
                self.reach *= 2
            if not self.space.variables and search.settings >= 30:
                return

    def look_at(self, setting: dict[str, Any], number: int) -> Seen:
        """Search at a setting. This setting counts as failed if the claim's own code raises an error or exits."""
        search, known = self.search, self.search.settings
        try:
            seen = search.at(setting, number)
            if seen.place is not None:
                self.confirming = True
                until = self.clock() + self.simplify
                self.found = _confirmed(search, seen.place, until, frozenset(self.fixed), self.clock)
                self.confirming, self.unconfirmed = False, self.unconfirmed + (self.found is None)
        except (Exception, SystemExit) as error:
            search.settings, search.failed = known + 1, search.failed + 1  # `at` may have counted the setting
            search.error = search.error or line_of(error)
            self.confirming = False
            return Seen(-math.inf, -1.0, setting)
        return seen

    def ended(self, unstored: str, interrupted: bool = False) -> Searched:
        """The result of the finished search."""
        own, seconds = self.search, self.clock() - self.begun
        if self.found is not None:
            return dataclasses.replace(self.found, unstored=unstored)
        if own.judged and not self.confirming:
            return Survived(self.claim.name, own.settings, own.trials, own.climbed, _ratio(own), own.place, own.failed,
                            seconds, self.unconfirmed, interrupted, unstored)  # fmt: skip
        absent = f"{MissingDataError.__name__}: " in own.error or not own.failed
        status = Status.INAPPLICABLE if absent else Status.FAILED
        reason = own.error or "no problem satisfied the hypotheses"
        if own.failed:
            reason = f"no problem gave a number: {own.error}" if own.error else "no problem gave a number"
        if self.confirming:
            status = Status.INCONCLUSIVE
            reason = "the search was interrupted while it confirmed a contradiction; run the search again"
        return Untested(self.claim.name, own.settings, own.trials, own.failed, status, reason, seconds, interrupted,
                        unstored)  # fmt: skip

    def wander(self, study: optuna.Study) -> bool:
        """Queue a random setting, because Optuna may stay at small settings where statements are nearly false.

        Returns:
            Whether a setting that was not searched yet was found and queued.
        """
        rng = np.random.default_rng([self.seed, len(study.trials)])
        for _ in range(_TRIES):
            own = anywhere(self.space, self.fixed, self.reach, rng)
            if own is None or not set(own) - set(self.fixed):
                return False
            if tuple(own.items()) not in self.known:
                free = {name: value for name, value in own.items() if name not in self.fixed}
                study.enqueue_trial(steps_of(self.space, free))
                return True
        return False


def _ratio(search: Look | Chances) -> float | None:
    """The largest ratio so far; None if ratios have no meaning, or if nothing was tested."""
    if isinstance(search, Chances) or not math.isfinite(search.best):
        return None
    return math.exp(min(search.best, 700.0))


def _report(study: optuna.Study, asked: optuna.Trial, own: dict[str, Any], seen: Seen) -> None:
    """Report a setting to Optuna's study: its largest pressure, and how far its problems are outside the hypotheses.

    If the largest pressure was found at other real numbers than requested, these numbers are reported, too.
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

    steps = 0
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C ends the simplification; the counterexample is kept
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
