"""Run trials even if the ledger (the file that stores trials) can no longer be written."""

import dataclasses
from collections.abc import Callable
from typing import Any

from lemmata.engine.claims import Claim, Trials, run_trials
from lemmata.errors import DataError


@dataclasses.dataclass
class TolerantTrials:
    """An object that runs trials and records them. If the ledger cannot be written, trials run without being recorded.

    Args:
        run: the function or object that runs trials and records them.
        unrecorded: the reason why trials were not recorded; empty as long as all trials were recorded.
    """

    run: Callable[..., Trials]
    unrecorded: str = ""

    def __call__(self, claim: Claim, setting: dict, trials: int, seed: int, *rest: Any) -> Trials:
        """Run the trials of a claim at a setting, and record them if possible."""
        if not self.unrecorded:
            try:
                return self.run(claim, setting, trials, seed, *rest)
            except DataError as error:  # errors of the ledger only, because an error of a claim is already a verdict
                self.unrecorded = str(error)
        return run_trials(claim, setting, trials, seed, *rest)

    def sent(self, claim: Claim, seed: int) -> "TolerantTrials":
        """The object that is sent to a worker, for the trials of this claim and seed."""
        own = getattr(self.run, "sent", None)
        return TolerantTrials(self.run if own is None else own(claim, seed), self.unrecorded)

    def add(self, other: "TolerantTrials") -> None:
        """Record the trials that a worker returned. If the worker could not record trials, keep the reason."""
        self.unrecorded = self.unrecorded or other.unrecorded
        add = getattr(self.run, "add", None)
        try:
            if add is not None:
                add(other.run)
        except DataError as error:
            self.unrecorded = self.unrecorded or str(error)
