"""The verdicts that changed between two runs of a ledger, and what differs between the runs."""

import dataclasses
import json
from typing import Any

from lemmata.errors import DataError

from ._file import Ledger
from ._rows import reading


@dataclasses.dataclass(frozen=True)
class Change:
    """A verdict that has changed.

    Args:
        claim: the name of the claim.
        before, after: the statuses of the earlier and of the later verdict.
        why: what differs between the runs, such as code, versions, seed, setting, number of trials or device. Empty if
            nothing differs.
    """

    claim: str
    before: str
    after: str
    why: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.claim}: {self.before} -> {self.after} ({', '.join(self.why) or 'nothing that is known'})"


def compare_runs(ledger: Ledger, first: int, second: int) -> list[Change]:
    """The changed verdicts on claims that both runs judged.

    Raises:
        DataError: if the ledger lacks one of the two runs.
    """
    runs = {row["id"]: row for row in ledger.query("SELECT * FROM runs WHERE id IN (?, ?)", first, second)}
    for number in (first, second):
        if number not in runs:
            last = ledger.query("SELECT max(id) AS last FROM runs")[0]["last"]
            raise DataError(
                f"run {number}",
                found=f"runs 1 to {last}" if last else "no runs",
                rule="a run that is in the ledger",
                remedy="run `lemmata ledger list` to see the runs",
            )
    told = [
        {row["claim"]: row for row in ledger.query("SELECT * FROM verdicts WHERE run = ? ORDER BY id", number)}
        for number in (first, second)
    ]
    found = []
    for claim in sorted(told[0].keys() & told[1].keys()):
        one, other = told[0][claim], told[1][claim]
        if one["status"] != other["status"]:
            found.append(Change(claim, one["status"], other["status"], _why(one, other, runs[first], runs[second])))
    return found


def changes_in(ledger: Ledger, run: int) -> list[Change]:
    """The changed verdicts of a run. Each verdict is compared with the claim's last verdict from an earlier run."""
    runs = {row["id"]: row for row in ledger.query("SELECT * FROM runs WHERE id <= ?", run)}
    last: dict[str, Any] = {}
    before: dict[str, Any] = {}
    for row in ledger.query("SELECT * FROM verdicts WHERE run <= ? ORDER BY run, id", run):
        (last if row["run"] == run else before)[row["claim"]] = row
    return [
        Change(
            claim,
            before[claim]["status"],
            own["status"],
            _why(before[claim], own, runs[before[claim]["run"]], runs[run]),
        )
        for claim, own in sorted(last.items())
        if claim in before and before[claim]["status"] != own["status"]
    ]


def _why(one: Any, other: Any, first: Any, second: Any) -> tuple[str, ...]:
    """The differences between two verdicts, and between their runs."""
    own = [word for word, name in (("code", "fingerprint"), ("seed", "seed"), ("setting", "setting"))
           if one[name] != other[name]]  # fmt: skip
    first_count, count = _requested(one), _requested(other)
    if first_count != count:
        own.append(f"{'more' if count > first_count else 'fewer'} trials")
    with reading():
        before, after = (json.loads(run["versions"]) for run in (first, second))
        versions = [f"{name} {before[name]} -> {after[name]}" for name in before if before[name] != after.get(name)]
    return (*own, *versions, *([] if first["device"] == second["device"] else ["device"]))


def _requested(row: Any) -> int:
    with reading():
        return int(json.loads(row["record"]).get("requested", 0))
