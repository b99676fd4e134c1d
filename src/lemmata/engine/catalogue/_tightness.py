"""The recorded results of searches for counterexamples to the claims."""

from typing import Any

from ._records import found_of, records, told_earlier

LOOSE = 0.1
"""A bound is marked loose if less than this share of its constant was enough in a search for counterexamples."""


def searches() -> dict[str, dict[str, Any]]:
    """The record of each claim's search, by the claim's name.

    >>> all(record["trials"] > 0 for record in searches().values())
    True
    """
    return {name: record["search"] for name, record in records().items() if "search" in record}


def searched(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The record of a search for a claim; None if there is no record, or if the claim's own code has changed.

    Args:
        entry: the claim's entry of the catalogue.
    """
    return found_of(entry, "search")


def is_loose(record: dict[str, Any] | None) -> bool:
    """Whether a bound is loose: not refuted, and less than a tenth of its constant was needed in a search."""
    return record is not None and not record["refuted"] and record["ratio"] is not None and record["ratio"] < LOOSE


def told_search(record: dict[str, Any] | None) -> str:
    """The result of a search, in a sentence; empty if there was none.

    >>> told_search({"refuted": "", "ratio": 0.08, "trials": 64, "settings": 1, "climbed": 3, "place": None})
    'loose: holds with 0.08 of the constant on all that was tried, 64 problems at 1 setting, 3 of them climbed'
    """
    if record is None:
        return ""
    tried = f"{record['trials']} problems"
    if record["settings"] is not None:
        tried += f" at {record['settings']} setting" + "s" * (record["settings"] != 1)
    tried += f", {record['climbed']} of them climbed" if record["climbed"] else ""
    setting = (record["place"] or {}).get("setting") or {}
    where = ", ".join(f"{name}={_short(value)}" for name, value in setting.items())
    where = f"; at {where}" if where else ""
    return _told_ratio(record, tried, where) + told_earlier(record)


def _told_ratio(record: dict[str, Any], tried: str, where: str) -> str:
    if record["refuted"]:
        return f"refuted by search, after {tried}{where}"
    if record["ratio"] is None:
        return f"survived {tried}; no ratio is known, because of rounding errors or changes of sign"
    if is_loose(record):
        return f"loose: holds with {record['ratio']:.2g} of the constant on all that was tried, {tried}{where}"
    return f"{record['ratio']:.4g} of the constant is needed: this is the largest ratio in {tried}{where}"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
