"""A run over many claims in processes that can be stopped. Claims that promise the most information come first."""

import contextlib
import dataclasses
import functools
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.errors import DataError, SettingError
from lemmata.interruption import heed, heeded

from ._judging import Judging, check_limits

TRIAL_SECONDS = 600.0
"""The time limit of a trial in seconds if many claims are judged. It is six times the time that the slowest claim
of the catalogue needs for all of its trials."""
MOST_SECONDS = 86400.0
_clock = time.monotonic


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions(Judging):
    """The options of a run that judges a family of claims."""

    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="M", help="Do not start further claims after M minutes. The next run tests the remaining claims."
        ),
    ] = None
    continued: Annotated[
        bool,
        typer.Option(
            "--continue",
            help=(
                "Add new trials to the trials in the ledger. The error level stays valid, because the sessions are "
                "combined with e-values."
            ),
        ),
    ] = False
    trial_seconds: Annotated[
        float | None,
        typer.Option(
            metavar="T", help="Time limit of one trial, in seconds. By default 600, or no limit if you name claims."
        ),
    ] = None
    write: Annotated[bool, typer.Option("--write", help="Write the verdicts into the catalogue.")] = False
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a page about the run to DIR/index.html.")] = (
        None
    )

    def check(self) -> None:
        """Refuse invalid values and options that cannot be combined."""
        super().check()
        check_limits(minutes=self.minutes)
        limit = self.trial_seconds
        if limit is not None and not 0 < limit <= MOST_SECONDS:
            raise SettingError("--trial-seconds", found=limit, rule=f"a number above 0 and at most {MOST_SECONDS:g}")
        if self.dask is not None and limit is not None and limit != TRIAL_SECONDS:
            raise SettingError(
                "--trial-seconds with --dask",
                rule="only trials in processes of this machine can have a time limit",
                remedy="leave one of them out",
            )
        if self.write and (self.budget is not None or self.corners is not None or self.level != 1e-3 or self.continued):
            raise SettingError(
                "--write",
                rule="--write needs a single run with the default --budget, --corners and --level",
                remedy="leave out --write, or leave out --budget, --corners, --level and --continue",
            )


class FamilyRun:
    """One run over many claims.

    Args:
        chosen: the claims of the family.
        options: how the claims are judged.
    """

    def __init__(self, chosen: list[Any], options: RunOptions):
        from lemmata.engine.ledger import default_path, known_of, open_ledger

        self.chosen, self.options = chosen, options
        self.path = options.ledger or default_path()
        self.command = shlex.join(["lemmata", *sys.argv[1:]])
        self.notes: list[str] = []
        self.judged: dict[str, Any] = {}
        self.began = _clock()
        with open_ledger(self.path) as ledger:
            self.number = ledger.begin(self.command, options.seed)
            self.known = {own.claim.name: own for own in known_of(
                ledger, self.number, chosen, options.seed, options.budget, options.level, options.corners,
                fresh=options.continued,
            )}  # fmt: skip
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """How long the run has lasted."""
        return _clock() - self.began

    def standing(self) -> dict[str, Any]:
        """The ledger's verdicts that need no new run, by claim.

        With --continue, these are the last verdicts of earlier sessions.
        """
        if self.options.continued:
            return {name: own.last for name, own in self.known.items() if own.sessions and own.last is not None}
        if self.options.write:
            return {}
        return {name: own.verdict for name, own in self.known.items() if own.verdict is not None}

    def tasks(self) -> Iterator[Any]:
        """Yield the claims to judge until the time is over. Claims with the most information per second come first.

        If the time is not limited and several processes work, the longest claims come first.
        """
        from lemmata.engine.claims import JudgingTask, by_information, longest_first
        from lemmata.engine.ledger import prospects

        done = {} if self.options.continued else self.standing()
        waiting = [own for name, own in self.known.items() if name not in done]
        own = self.options
        all_of_them = own.minutes is None and (own.jobs > 1 or own.dask is not None)
        for prospect in (longest_first if all_of_them else by_information)(prospects(waiting, own.budget)):
            if own.minutes is not None and self.seconds > 60 * own.minutes:
                return
            claim = prospect.claim
            yield JudgingTask(claim, self.known[claim.name].seed, own.budget, own.corners, own.level)

    def judge(self) -> Iterator[tuple[Any, Any]]:
        """Judge the claims. Yield each claim with its verdict when the verdict is written into the ledger."""
        from lemmata.engine.claims import run_keyed
        from lemmata.engine.ledger import CarriedTrials, recorded_trials
        from lemmata.workers import workers

        from ._compilations import kept_compilations

        own = self.options
        elsewhere = own.dask is not None
        run = functools.partial(recorded_trials, self.path, self.number)
        with workers(own.jobs if elsewhere else 1, own.dask) as executor:
            if elsewhere:  # workers on other machines cannot write the ledger's file
                run = CarriedTrials(self.path, self.number)
            tasks = self.tasks() if own.minutes is not None else list(self.tasks())
            stream = run_keyed(
                tasks, limit=own.trial_seconds, jobs=own.jobs, run=run, around=kept_compilations, executor=executor
            )
            yield from self.taken(stream)

    def taken(self, stream: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield each judged claim with its verdict, after the verdict is written into the ledger."""
        try:
            with contextlib.closing(stream):  # pyright: ignore[reportArgumentType]
                for done in stream:
                    self.judged[done.verdict.name] = done.verdict
                    kept = self._add(done.task.claim, done.verdict)
                    self._tell(done.verdict, done.unrecorded or kept)
                    yield done.task.claim, done.verdict
                    if done.verdict.interrupted:
                        heeded()
                        self.interrupted = True
                        return
                    heed()
        except KeyboardInterrupt:
            heeded()
            self.interrupted = True

    def _add(self, claim: Any, verdict: Any) -> str:
        """Write a verdict into the ledger; if it was not written, return the reason."""
        from lemmata.engine.claims import fingerprint_of
        from lemmata.engine.ledger import open_ledger

        try:
            with open_ledger(self.path) as ledger:
                ledger.add_verdict(self.number, fingerprint_of(claim), verdict.to_json())
        except DataError as error:
            return str(error)
        return ""

    def _tell(self, verdict: Any, amiss: str) -> None:
        """Note that a verdict was not written, but only once: writing its final status may fail for the same reason."""
        note = f"{verdict.name}, seed {verdict.seed}: the verdict was not recorded ({amiss})"
        if amiss and note not in self.notes:
            self.notes.append(note)

    def together(self) -> list[Any]:
        """The verdicts at the level of the whole family, in the order of the claims."""
        from lemmata.engine.claims import at_family_level
        from lemmata.engine.ledger import evidence_of, open_ledger

        found = {**self.standing(), **self.judged}
        verdicts = [found[claim.name] for claim in self.chosen if claim.name in found]
        evidence = None
        if self.options.continued:
            evidence = dict.fromkeys(found, 1.0)
            try:
                with open_ledger(self.path) as ledger:
                    evidence = {claim.name: evidence_of(ledger, claim) for claim in self.chosen if claim.name in found}
            except DataError as error:
                self.notes.append(f"the evidence of earlier sessions cannot be read: {error}")
        held = at_family_level(verdicts, self.options.level, len(self.chosen), evidence)
        claims = {claim.name: claim for claim in self.chosen}
        for verdict in held:
            raw = self.judged.get(verdict.name)
            if raw is not None and raw.status is not verdict.status:
                self._tell(verdict, self._add(claims[verdict.name], verdict))
        return held

    def changes(self) -> list[Any]:
        """The verdicts of this run that differ from the ledger's last verdicts before this run."""
        from lemmata.engine.ledger import changes_in, open_ledger

        try:
            with open_ledger(self.path) as ledger:
                return changes_in(ledger, self.number)
        except DataError as error:
            self.notes.append(f"the changes since the last run are unknown: {error}")
            return []


def of_package(claim: Any) -> bool:
    """Whether the claim comes from an imported module, not from a file that was read for this run."""
    return type(claim).__module__ in sys.modules
