"""Entries of the catalogue with further fields, such as tag, subject, tightness and results of searches."""

import dataclasses
import functools
import math
from typing import Any

from ._fingerprint import Fingerprint
from ._mutations import is_weak, mutated
from ._read import entries, kept
from ._records import records
from ._states import prints, told_state
from ._tags import tag_of
from ._tightness import is_loose, searched
from ._walks import walked

NOT_JUDGED = "not judged"
TIGHTNESS = ("exact", "within 2", "within 10", "within 1000", "beyond 1000", "not a ratio")
"""Words for the factor by which a prediction and the measurement differ, in either direction."""


def rows() -> list[dict[str, Any]]:
    """Every claim's entry with the further fields of `described`, in the order of the registry."""
    return [described(entry) for entry in entries().values()]


def described(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry with further fields: tag, subject, place (subject.section), status, tightness, search and others.

    `tightness` is a word for how close prediction and measurement are in the median over problems of the last verdict.
    `search` is the record of a search for the problem that is nearest to a counterexample. `loose` says whether less
    than a tenth of the bound's constant was needed on all problems of this search. `walk` is the record of a walk
    through the declared ranges of the settings. `mutations` is the record of the claim's false neighbours. `weak` says
    whether, for some kind of change, the trials refute only false neighbours that are far from the claim.

    Args:
        entry: the entry of a claim. The claim need not be in the catalogue.
    """
    place = entry["name"].rpartition(".")[0]
    return {
        **entry,
        "tag": tag_of(entry["class"]) if entry["name"] in entries() else None,
        "subject": place.partition(".")[0],
        "place": place,
        "status": status(entry),
        "tightness": tightness(entry),
        "search": searched(entry),
        "loose": is_loose(searched(entry)),
        "walk": walked(entry),
        "mutations": mutated(entry),
        "weak": is_weak(mutated(entry)),
    }


def status(entry: dict[str, Any]) -> str:
    """The status of the last verdict."""
    return entry.get("verdict", {}).get("status", NOT_JUDGED)


def older(entry: dict[str, Any]) -> str:
    """A description of the code that has changed since a verdict; empty if the verdict is on the current code."""
    record = records().get(entry["name"])
    return "" if record is None else told_state(record, prints(entry["module"], entry["class"]))


def older_by_kept(entry: dict[str, Any]) -> str:
    """The same text as `older`. Use this function for many claims: it computes the digests of all claims once."""
    record = records().get(entry["name"])
    return "" if record is None else told_state(record, Fingerprint(**_all_prints()[entry["name"]]))


@functools.cache
def _all_prints() -> dict[str, dict[str, Any]]:
    """The digests of the code of every claim, by the name of the claim."""
    return kept("prints", lambda: {
        name: dataclasses.asdict(prints(entry["module"], entry["class"])) for name, entry in entries().items()
    })  # fmt: skip


def accusation(row: dict[str, Any]) -> int:
    """The kind of a refuted claim: 0 if it quotes its source, 1 for folklore, 2 for our own result, and otherwise 3."""
    if row["passage"]:
        return 0
    return {"folklore": 1, "own result": 2}.get(row["kind"], 3)


def tightness(entry: dict[str, Any]) -> str:
    """A word, one of `TIGHTNESS`, for the distance from 1 of the median of predicted / measured."""
    slack = (entry.get("verdict") or {}).get("slack")
    middle = slack[1] if slack else None
    if entry["label"] == "rate" or not middle or middle < 0:
        return "not a ratio"
    factor = math.exp(abs(math.log(middle)))
    steps = ((1 + 1e-6, "exact"), (2, "within 2"), (10, "within 10"), (1000, "within 1000"))
    return next((word for most, word in steps if factor <= most), "beyond 1000")
