"""Trials on workers that cannot read the ledger's file. A worker gets the stored trials, and returns new trials."""

import dataclasses
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path

from lemmata.engine.claims import Claim, Trials, trials_print_of

from ._file import open_ledger
from ._recorded import Row, recorded_trials


@dataclasses.dataclass
class CarriedTrials:
    """An object that runs trials like the function `recorded_trials`, also on a machine without the ledger.

    Args:
        path: the path of the ledger; None on a worker.
        run: the number of the run (one call of a command) to which the trials belong.
        rows: on a worker, the rows of the known trials.
    """

    path: Path | None
    run: int
    rows: list[Row] = dataclasses.field(default_factory=list)

    def __call__(
        self, claim: Claim, setting: dict, trials: int, seed: int, executor: Executor | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Trials:  # fmt: skip
        """Read or run a claim's trials at a setting. A worker keeps trials in a temporary ledger, then in `rows`."""
        if self.path is not None:
            return recorded_trials(self.path, self.run, claim, setting, trials, seed, executor, progress)
        with tempfile.TemporaryDirectory(prefix="lemmata-") as folder:
            path = Path(folder) / "ledger.sqlite"
            with open_ledger(path) as ledger:
                ledger.add_trials(self.rows)
            found = recorded_trials(path, self.run, claim, setting, trials, seed, executor, progress)
            with open_ledger(path) as ledger:
                self.rows = [dict(row) for row in ledger.query("SELECT * FROM trials")]
        return found

    def sent(self, claim: Claim, seed: int) -> "CarriedTrials":
        """The object for a worker, with the stored trials of this claim, code and seed."""
        where = "claim = ? AND fingerprint = ? AND seed = ?"
        with open_ledger(self.path) as ledger:
            known = ledger.query(f"SELECT * FROM trials WHERE {where}", claim.name, trials_print_of(claim), seed)
        return CarriedTrials(None, self.run, [dict(row) for row in known])

    def add(self, other: "CarriedTrials") -> None:
        """Write the trials that a worker returned to the ledger. Stored trials are not changed."""
        with open_ledger(self.path) as ledger:
            ledger.add_trials(other.rows)
