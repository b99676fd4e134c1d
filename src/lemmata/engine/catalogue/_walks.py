"""Records of walks through the declared ranges of settings: the number of settings with each result."""

from typing import Any

from ._records import found_of, told_earlier

_NO_COUNTS = ("settings", "where", "fingerprint", "own", "earlier")


def walked(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The record of a walk for a claim; None if there is no record, or if the claim's own code has changed.

    Args:
        entry: the claim's entry of the catalogue.
    """
    return found_of(entry, "walk")


def told_walk(record: dict[str, Any] | None) -> str:
    """The result of a walk in words; empty if there was no walk.

    >>> told_walk({"settings": 34, "inconclusive": 3, "supported": 31, "where": [], "fingerprint": ""})
    '34 settings, 3 inconclusive, 31 supported'
    """
    if record is None:
        return ""
    counts = {name: count for name, count in record.items() if name not in _NO_COUNTS}
    settings = f"{record['settings']} setting{'s' * (record['settings'] != 1)}"
    return ", ".join([settings, *(f"{count} {name}" for name, count in counts.items())]) + told_earlier(record)
