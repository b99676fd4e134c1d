"""Verification: run a number of trials, which is fixed beforehand, and judge these trials."""

import concurrent.futures
import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lemmata.core import require_float64
from lemmata.errors import ClaimError, LemmataError, MissingDataError, line_of
from lemmata.workers import Lost, finished

from ._answered import check_foreign
from ._apart import TrialExecutor, in_order, received, run_came_back, sent, sent_run, trials_apart
from ._asked import check_asked, check_judging, checked_claims
from ._claim import Claim, Status
from ._family import LEVEL, budget_of
from ._judge import corner_of, judge_trials, with_corners
from ._together import at_family_level
from ._trials import Trials, run_trials
from ._verdict import Corner, Verdict

CORNERS = 3
"""The number of extra settings that a verification judges besides the default."""

CORNER_TRIALS = 32
"""The number of trials at each extra setting. So few trials may refute a statement, but they cannot support it."""

UNSEEN = "data for this claim are not installed"
"""The reason of a verdict begins with these words if the data of an optional package are not installed."""


def verify(
    claim: Claim,
    setting: Mapping[str, object] | None = None,
    *,
    budget: int | None = None,
    corners: int | None = None,
    level: float = LEVEL,
    seed: int = 0,
    executor: concurrent.futures.Executor | None = None,
    progress: bool | None = None,
    run: Callable[..., Trials] = run_trials,
) -> Verdict:
    """Run a claim on sampled problems and judge it.

    If a claim needs data of an optional package that is not installed, its verdict is "inapplicable" and names the
    package.

    The number of trials is fixed beforehand. A true statement is refuted with probability at most `level`. Half of the
    level is spent on the given setting. The other half is spent on the extra settings, which the seed draws. If the
    claim is refuted at an extra setting, its verdict is "refuted". The guarantee is exact for bounds, constructions,
    estimates and means of measurements with declared `ends`. For other means, and for rates, limits and orders, the
    verdict uses limits that hold for the rare events and heavy tails that docs/trust.md lists. Without any assumption
    on the distribution, no limits hold. The claim's control, a false statement near the claim, is judged on the same
    trials. If the trials do not refute the control, they have too little power. A statement that would be supported is
    then inconclusive.

    Args:
        claim: the claim.
        setting: values for the claim's named settings; other settings keep their defaults.
        budget: the number of trials; None means the number that support needs, or the number that the claim declares.
        corners: the number of extra settings to judge; None means 3, or 0 if a setting is given.
        level: probability of refuting a true statement.
        seed: seed of all randomness.
        executor: where trials run. For a claim in JAX, each setting is one task; for other claims, each trial is one
            task. None means in this process. The verdict does not depend on the executor.
        progress: whether to show a progress bar on stderr; with None, it is shown only if stderr is a terminal.
        run: the function that runs trials, in place of `run_trials`; for example, it may write the trials into a
            ledger.

    Raises:
        SettingError, UnknownNameError: if an argument has another type or is out of bounds.
        PrecisionError: if float64 is off.
    """
    check_asked(claim, setting, seed, executor)
    check_judging(budget, corners, level)
    require_float64(f"verification of {claim.name}")
    try:
        check_foreign(claim, calling=executor is None)
    except KeyboardInterrupt:
        run = _interrupted
    trials = budget_of(claim) if budget is None else budget
    space = claim.population.settings()
    resolved = space.resolve(setting)
    others = space.corners((0 if setting else CORNERS) if corners is None else corners, seed)
    start = time.perf_counter()
    wanted = [(resolved, trials), *((other, min(trials, CORNER_TRIALS)) for other in others)]
    shown = _progress(claim.name, sum(count for _, count in wanted), progress)
    with shown as report, np.errstate(invalid="ignore"):  # a bound and a measurement may be the same infinity
        verdict = judged_in_turn(claim, wanted, _in_turn(claim, wanted, seed, executor, run, report), seed, level)
    return dataclasses.replace(verdict, seconds=time.perf_counter() - start)


def _interrupted(claim: Claim, setting: dict, trials: int, *_: object) -> Trials:
    """The trials of a run that was interrupted before its first trial."""
    return Trials(trials, interrupted=True)


def judged_in_turn(
    claim: Claim, wanted: list[tuple[dict, int]], at: Iterator[Trials], seed: int, level: float
) -> Verdict:
    """The verdict on a claim from its trials, first at the given setting, and then at extra settings.

    Half of the level is spent on the given setting, and half on the extra settings. The extra settings are judged only
    if the given setting is neither refuted nor failed.
    """
    start = time.perf_counter()
    (resolved, _), *others = wanted
    first = next(at)
    verdict = _seen(judge_trials(claim, resolved, first, seed, level / 2, time.perf_counter() - start), first)
    corners: list[Corner] = []
    unseen = verdict.reason.startswith(UNSEEN)
    if verdict.status not in (Status.REFUTED, Status.FAILED) and not verdict.interrupted and not unseen:
        for (other, _), own in zip(others, at, strict=True):
            there = judge_trials(claim, other, own, seed, level / 2 / len(others), 0.0)
            corners.append(corner_of(claim, there, own))
            if own.interrupted:
                verdict = dataclasses.replace(verdict, interrupted=True)
                break
    return dataclasses.replace(with_corners(claim, verdict, tuple(corners)), level=level)


def _seen(verdict: Verdict, trials: Trials) -> Verdict:
    """Return the verdict, changed to "inapplicable" if all trials failed because data are not installed."""
    name = f"{MissingDataError.__name__}: "
    if not trials.errors or not all(name in error for error in trials.errors):
        return verdict
    reason = f"{UNSEEN}: {trials.errors[0].partition(name)[2]}"
    return dataclasses.replace(verdict, status=Status.INAPPLICABLE, reason=reason)


def _in_turn(
    claim: Claim, wanted: list[tuple[dict, int]], seed: int, executor: concurrent.futures.Executor | None,
    run: Callable[..., Trials], report: Callable[[int, int], None],
) -> Iterator[Trials]:  # fmt: skip
    """Yield the trials of one setting after the other. For a claim in JAX, an executor runs all settings first."""
    done = 0

    def moved(count: int, total: int = 0) -> None:
        report(done + count, total)

    if executor is not None and claim.traced:
        yield from trials_apart(executor, run, claim, wanted, seed, moved)
        return
    single = None if executor is None else TrialExecutor(executor)
    for setting, trials in wanted:
        yield in_order(_stayed(run, claim, setting, trials, seed, single, moved))
        done += trials


def _stayed(run: Callable[..., Trials], claim: Claim, setting: dict, trials: int, *rest: Any) -> Trials:
    """Run trials. If the claim's own code calls sys.exit, the trials count as failed."""
    try:
        return run(claim, setting, trials, *rest)
    except SystemExit as error:
        return Trials(trials, errors=[f"the claim's own code called sys.exit({error.code!r})"])
    except (LemmataError, MemoryError):
        raise
    except Exception as error:  # an error of the claim's own code whose text cannot be read
        return Trials(trials, errors=[line_of(error)])


def verdicts_of(
    claims: Iterable[Claim], seed: int = 0, executor: concurrent.futures.Executor | None = None,
    progress: bool | None = None, run: Callable[..., Trials] = run_trials, *, budget: int | None = None,
    level: float = LEVEL,
) -> Iterator[Verdict]:  # fmt: skip
    """Verify claims one after the other, or each in an executor. Verdicts are returned as soon as they are finished.

    A claim is lost if its worker ended again and again, or if the executor died. The verdict on a lost claim is
    "failed", and the other claims continue.

    Args:
        claims: claims with different names. The next claim is requested when a worker is free.
        seed: the seed of all randomness.
        executor: where claims are verified; None means in this process.
        progress: whether to show a progress bar for each claim that runs in this process.
        run: the function or object that runs trials, as in `verify`. Workers receive it unchanged, unless it has a
            method `sent`. Then a worker receives the result of this method for a claim and a seed, and returns it with
            the verdict. If `run` has a method `add`, this method gets the returned object.
        budget: number of trials, as in `verify`.
        level: probability of refuting a true statement.
    """
    if executor is None:
        asked = {"budget": budget, "level": level, "seed": seed, "progress": progress}
        yield from (_verified_or_failed(claim, run, asked) for claim in claims)
        return
    asked = {"budget": budget, "level": level, "seed": seed, "progress": False}
    known: dict[str, Claim] = {}

    def tasks() -> Iterator[tuple[str, tuple]]:
        for claim in claims:
            known[claim.name] = claim
            yield claim.name, (sent(claim), sent_run(run, claim, seed), asked)

    for name, found in finished(executor, verified, tasks()):
        if isinstance(found, Lost):
            yield _lost(known[name], f"{name}: {found.error}", asked)
        else:
            run_came_back(run, found[1])
            yield found[0]


def verified(claim: Claim | str, run: Callable[..., Trials], asked: dict) -> tuple[Verdict, Callable[..., Trials]]:
    """The verdict on one claim, and the function that ran its trials and may have stored them."""
    return _verified_or_failed(received(claim), run, asked), run


def _verified_or_failed(claim: Claim, run: Callable[..., Trials], asked: dict) -> Verdict:
    """The verdict on one of many claims. If the claim breaks a rule, its verdict is `failed`, and others continue."""
    try:
        return verify(claim, run=run, **asked)
    except ClaimError as error:
        return _lost(claim, str(error), asked)


def _lost(claim: Claim, error: str, asked: dict) -> Verdict:
    """The verdict `failed` on a claim whose trials could not run."""
    trials = budget_of(claim) if asked["budget"] is None else asked["budget"]
    setting = claim.population.settings().resolve(None)
    lost = iter([Trials(trials, errors=[error])])
    return judged_in_turn(claim, [(setting, trials)], lost, asked["seed"], asked["level"])


def verify_all(
    claims: list[Claim], *, budget: int | None = None, level: float = LEVEL, seed: int = 0,
    progress: bool | None = None, run: Callable[..., Trials] = run_trials,
    executor: concurrent.futures.Executor | None = None,
) -> list[Verdict]:  # fmt: skip
    """Verify several claims. The probability of refuting any true claim is at most `level` (Holm's procedure).

    Each claim is verified at `level`. A refutation is valid if Holm's procedure rejects the claim, too; otherwise the
    verdict is inconclusive. Ctrl-C ends the run. Claims that had not begun are missing from the result, but count in
    the family. The arguments are the same as for `verify`. In an executor, each claim is one task.

    Returns:
        A verdict for each claim. The verdict's level is the level with which Holm's procedure compared its p-value.
    """
    claims, found = checked_claims(claims), dict[str, Verdict]()
    for claim in claims:
        check_asked(claim, None, seed, executor)
    check_judging(budget, None, level)
    try:
        for verdict in verdicts_of(claims, seed, executor, progress, run, budget=budget, level=level):
            found[verdict.name] = verdict
            if verdict.interrupted:
                break
    except KeyboardInterrupt:
        if not found:
            raise
    return at_family_level([found[claim.name] for claim in claims if claim.name in found], level, len(claims))


@contextlib.contextmanager
def _progress(name: str, trials: int, shown: bool | None) -> Iterator[Callable[[int, int], None]]:
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=trials)
        yield lambda done, total: bar.update(task, completed=done)
