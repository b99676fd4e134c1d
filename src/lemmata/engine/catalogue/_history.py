"""The history of verdicts. For every claim, the history lists the days on which the status of the claim changed."""

import datetime
import functools
import json
from typing import NamedTuple

from lemmata.files import replace_text

from . import _records

_FILE = "history.json"


class Change(NamedTuple):
    """A day, such as "2026-11-28", and the status that a claim has had since that day."""

    day: str
    status: str


@functools.cache
def history() -> dict[str, tuple[Change, ...]]:
    """The changes of every claim's status, from the first verdict on, by the name of the claim's class.

    >>> history()["LabelMismatch"][0].status
    'outside'
    """
    file = _records.SECTIONS / _FILE
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {name: tuple(Change(*each) for each in own) for name, own in known.items()}


def extended_history(
    known: dict[str, tuple[Change, ...]], statuses: dict[str, str], day: str
) -> dict[str, tuple[Change, ...]]:
    """The history with the statuses of one day added. A status that equals the claim's last status is not added.

    >>> extended_history({"A": (Change("2026-01-01", "failed"),)}, {"A": "supported"}, "2026-02-01")["A"][1]
    Change(day='2026-02-01', status='supported')

    Args:
        known: the history so far.
        statuses: the statuses, by the names of the claims' classes.
        day: the day on which the statuses were found.
    """
    found = dict(known)
    for name, status in statuses.items():
        own = found.get(name, ())
        if not own or own[-1].status != status:
            found[name] = (*own, Change(day, status))
    return found


def recorded_statuses() -> dict[str, str]:
    """The statuses of all records, by the names of the claims' classes."""
    found = dict[str, str]()
    for path in sorted(_records.SECTIONS.glob(f"*/{_records.FOLDER}/*.json")):
        found |= {name: own["status"] for name, own in json.loads(path.read_text(encoding="utf-8")).items()}
    return found


def write_history(statuses: dict[str, str]) -> None:
    """Enter statuses that differ from the last statuses in the history, with today's date.

    Args:
        statuses: the statuses, by the names of the claims' classes.

    Raises:
        DataError: if the file cannot be written; it stays unchanged.
    """
    found = extended_history(history(), statuses, datetime.datetime.now(datetime.UTC).date().isoformat())
    if found != history():
        lines = (f"{json.dumps(name)}: {json.dumps(own)}" for name, own in sorted(found.items()))
        replace_text(_records.SECTIONS / _FILE, "{\n" + ",\n".join(lines) + "\n}\n")
        history.cache_clear()
