"""Verification: many trials under a budget fixed before the first look, and the verdict."""

import concurrent.futures
import contextlib
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lemmata.core import require_float64
from lemmata.errors import SettingError

from ._claim import Claim, Status
from ._family import LEVEL, budget_of
from ._judge import corner_of, judge_trials, with_corners
from ._statistics import holm
from ._trials import run_trials
from ._verdict import Corner, Verdict

CORNERS = 3
"""Other settings that a verification judges besides the default."""

CORNER_TRIALS = 32
"""Trials at each of them: they look for a violation, and are not asked to support the statement."""


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
) -> Verdict:
    """Run a claim on sampled problems and judge it.

    The number of trials is fixed beforehand. A refutation of a true statement happens with probability at most
    `level`: half of it is spent on the case itself, half on the corners, other settings drawn by the seed, of which one
    that is refuted refutes. The claim's control, a neighbouring false statement, is judged on the same trials: where
    it is not refuted, the budget has no power and a statement that would be supported stays inconclusive.

    Args:
        claim: the claim.
        setting: values for the claim's named settings; the rest stay at their defaults.
        budget: number of trials; None takes what support needs, or the claim's own.
        corners: how many other settings to judge; None is 3, and none where a setting is given.
        level: probability of refuting a true statement.
        seed: seed of all randomness.
        executor: where trials of claims that are not written in JAX run; None runs them here.
        progress: show a progress bar on stderr; None shows it on a terminal.

    Raises:
        SettingError, UnknownNameError: a setting, the budget or the level is out of bounds.
        PrecisionError: float64 is off.
    """
    require_float64(f"verification of {claim.name}")
    trials = budget_of(claim) if budget is None else budget
    if trials < 1:
        raise SettingError("budget", found=budget, rule="at least 1 trial")
    if not 0 < level < 0.5:
        raise SettingError("level", found=level, rule="a probability between 0 and 0.5")
    space = claim.population.settings()
    resolved = space.resolve(setting)
    others = space.corners((0 if setting else CORNERS) if corners is None else corners, seed)
    start = time.perf_counter()
    with _progress(claim.name, trials + len(others) * min(trials, CORNER_TRIALS), progress) as report:
        finished = run_trials(claim, resolved, trials, seed, executor, report)
        verdict = judge_trials(claim, resolved, finished, seed, level / 2, time.perf_counter() - start)
        judged: list[Corner] = []
        if verdict.status not in (Status.REFUTED, Status.FAILED) and not verdict.interrupted:
            for other in others:
                done = trials + len(judged) * min(trials, CORNER_TRIALS)
                moved = lambda count, total, done=done: report(done + count, total)
                own = run_trials(claim, other, min(trials, CORNER_TRIALS), seed, executor, moved)
                there = judge_trials(claim, other, own, seed, level / 2 / len(others), 0.0)
                judged.append(corner_of(claim, there, own))
                if own.interrupted:
                    verdict = dataclasses.replace(verdict, interrupted=True)
                    break
    verdict = with_corners(claim, verdict, tuple(judged))
    return dataclasses.replace(verdict, level=level, seconds=time.perf_counter() - start)


def verify_all(
    claims: list[Claim], *, budget: int | None = None, level: float = LEVEL, seed: int = 0, progress: bool | None = None
) -> list[Verdict]:
    """Verify several claims so that the probability of refuting any true one is at most `level` (Holm's procedure).

    Each claim is verified at `level`; a refutation stands where Holm's procedure rejects, too, and is inconclusive
    elsewhere. Ctrl-C ends the run: the claims that were not begun are missing from the list.

    Returns:
        A verdict for each claim; its level is the one that Holm's procedure held its p-value against.
    """
    verdicts: list[Verdict] = []
    for claim in claims:
        verdicts.append(verify(claim, budget=budget, level=level, seed=seed, progress=progress))
        if verdicts[-1].interrupted:
            break
    return at_family_level(verdicts, level)


def at_family_level(verdicts: list[Verdict], level: float) -> list[Verdict]:
    """The verdicts with those refutations that Holm's procedure does not allow made inconclusive."""
    levels = holm({verdict.name: verdict.p_value for verdict in verdicts}, level)
    return [_held_against(verdict, *levels[verdict.name]) for verdict in verdicts]


def _held_against(verdict: Verdict, level: float, rejected: bool) -> Verdict:
    if verdict.status is not Status.REFUTED or rejected:
        return dataclasses.replace(verdict, level=level)
    reason = f"{verdict.reason}; refuted alone (p = {verdict.p_value:.2g}), but not beside the other claims"
    return dataclasses.replace(verdict, level=level, status=Status.INCONCLUSIVE, reason=reason)


@contextlib.contextmanager
def _progress(name: str, trials: int, shown: bool | None) -> Iterator[Callable[[int, int], None]]:
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=trials)
        yield lambda done, total: bar.update(task, completed=done)
