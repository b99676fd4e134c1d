"""The options for judging one or many statements: trials, level, seed, processes and ledger."""

import dataclasses
import functools
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.errors import DataError, SettingError

from ._options import Dask, Jobs

LedgerPath = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="PATH",
        callback=lambda path: None if path is None else path.absolute(),
        help="Ledger, the file that stores the trials. Default: a file in the platform's data directory.",
    ),
]
"""The path of the ledger. It is made absolute at once, because the user's own code may change the current folder."""

MOST_TRIALS = 10**7
"""The largest value of --budget. It takes three hours at a thousand trials a second, a speed that few claims reach."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Judging:
    """The options that `lemmata verify` and `lemmata judge` share."""

    budget: Annotated[
        int | None, "Number of trials, fixed in advance. Default: enough trials to support a true claim."
    ] = None
    corners: Annotated[
        int | None,
        typer.Option(
            help=(
                "Number of extra settings, drawn at random, at which a claim is also tested. By default 3, or 0 "
                "with --set."
            ),
            min=0,
            max=50,
        ),
    ] = None
    level: Annotated[float, "Largest allowed probability of refuting a true statement."] = 1e-3
    seed: Annotated[int, "Seed of all random numbers."] = 0
    jobs: Jobs = 1
    dask: Dask = None
    ledger: LedgerPath = None

    def check(self) -> None:
        """Refuse values that are out of range."""
        from ._study import check_seed

        check_seed(self.seed)
        if self.budget is not None and not 1 <= self.budget <= MOST_TRIALS:
            raise SettingError(
                "--budget is out of range",
                found=self.budget,
                rule=f"at least 1 trial and at most {MOST_TRIALS:,}",
                remedy="leave --budget out; lemmata then uses enough trials to support a true claim",
            )
        if not 0 < self.level < 0.5:
            raise SettingError("level", found=self.level, rule="a probability above 0 and below 0.5")


def check_limits(**limits: float | None) -> None:
    """Refuse a time limit that is infinite or leaves no time.

    Args:
        limits: the minutes or seconds that were given for each option; None if there is no limit. Names of options are
            written with underscores.

    Raises:
        SettingError: if a limit is not a finite number above 0.
    """
    for name, limit in limits.items():
        if limit is not None and not 0 < limit < float("inf"):
            option = f"--{name.replace('_', '-')}"
            raise SettingError(option, found=limit, rule="a finite number above 0", remedy=f"give {option} more time")


class Kept:
    """The ledger of a run, a file of trials and verdicts: `run` runs and records trials, and `add` stores verdicts.

    If the disk is full, trials still run and verdicts are still given; `unrecorded` says why they were not stored.
    Workers on other machines cannot write the ledger's file, so they return their trials with the verdict.
    """

    def __init__(self, path: Path | None, seed: int, carried: bool = False):
        from lemmata.engine.claims import run_trials
        from lemmata.engine.ledger import (
            CarriedTrials,
            FullDiskError,
            TolerantTrials,
            default_path,
            open_ledger,
            recorded_trials,
        )

        self.path: Path = path or default_path()
        self.number = None
        try:
            with open_ledger(self.path) as ledger:
                self.number = ledger.begin(shlex.join(["lemmata", *sys.argv[1:]]), seed)
        except FullDiskError as error:
            self.run = TolerantTrials(run_trials, str(error))
            return
        run = functools.partial(recorded_trials, self.path, self.number)
        self.run = TolerantTrials(CarriedTrials(self.path, self.number) if carried else run)

    @property
    def unrecorded(self) -> str:
        """The reason why something was not recorded; empty if everything was recorded."""
        return self.run.unrecorded

    def add(self, claim: Any, verdict: Any) -> None:
        """Write a verdict into the ledger, unless the ledger cannot be written to."""
        from lemmata.engine.claims import fingerprint_of
        from lemmata.engine.ledger import open_ledger

        if self.number is None:
            return
        try:
            with open_ledger(self.path) as ledger:
                ledger.add_verdict(self.number, fingerprint_of(claim), verdict.to_json())
        except DataError as error:
            self.run.unrecorded = self.unrecorded or str(error)

    def told(self) -> bool:
        """If something was not recorded, print the reason on stderr and return True."""
        from ._console import err

        if self.unrecorded:
            err.print(f"Not recorded: {self.unrecorded}", markup=False, highlight=False, soft_wrap=True)
        return bool(self.unrecorded)


def named_claims(names: list[str] | None) -> list[Any]:
    """Return the claims with these names or tags, each claim once; raise SettingError if two claims share a name."""
    from lemmata.engine.claims import check_foreign, find

    from ._searched import tagged

    found: dict[str, Any] = {}
    for claim in (claim for name in names or [] for claim in find(tagged(name))):
        check_foreign(claim, calling=False)
        if found.setdefault(claim.name, claim) is not claim:
            raise SettingError(
                f"claim {claim.name}",
                found="two different claims with this name",
                rule="different names for all claims of one run",
                remedy="rename one of them, or judge them in two runs",
            )
    return list(found.values())
