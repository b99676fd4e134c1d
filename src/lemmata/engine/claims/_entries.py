"""Entries of the catalogue: a claim's words, its last verdict, and the fingerprint of the code of this verdict."""

import dataclasses
import functools
import inspect
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lemmata.code_files import file_named
from lemmata.engine.catalogue import (
    BESIDE,
    DEFAULTS,
    Fingerprint,
    State,
    about,
    classification,
    compared,
    costs,
    judged,
    prints,
    records,
    trials_print,
    write_history,
    write_records,
)

from ._claim import Claim, Status, name_of
from ._family import budget_of
from ._registry import claims_in
from ._verdict import ControlVerdict, Corner, Verdict, plain_json


@functools.cache
def prints_of(cls: type[Claim]) -> Fingerprint:
    """The digests of the code that verdicts on a claim depend on.

    For a claim outside lemmata, the digests also cover the whole text of its file, but not the files that it imports.
    """
    return prints(cls.__module__, cls.__name__, _besides(cls))


@functools.cache
def _besides(cls: type[Claim]) -> str:
    """The text of the file of a claim outside lemmata; empty for a claim of lemmata."""
    measures = filter(None, (getattr(cls, name) for name in ("measure", "measure_at")))
    file = inspect.getsourcefile(next(measures, cls))
    if file is None or cls.__module__.partition(".")[0] == "lemmata":
        return ""
    return Path(file_named(file)).read_text(encoding="utf-8")


@functools.cache
def _trials_print(cls: type[Claim]) -> str:
    return trials_print(cls.__module__, cls.__name__, _besides(cls))


def fingerprint_of(claim: Claim) -> str:
    """The hash of all code that a claim's verdict depends on."""
    return prints_of(type(claim)).whole


def trials_print_of(claim: Claim) -> str:
    """The hash of the code that a claim's trials run. The hash stays the same if only the rules for judging change."""
    return _trials_print(type(claim))


def state_of(claim: Claim) -> State:
    """Whether the recorded verdict is on the current code, and if not, which code has changed."""
    return compared(records().get(claim.name), prints_of(type(claim)))


def is_stale(claim: Claim) -> bool:
    """Whether there is no verdict on the current code."""
    return state_of(claim) is not State.CURRENT


def words_of(claim: Claim) -> dict[str, Any]:
    """The words of a claim (title, statement, source and others), as plain values."""
    control = {"statement": claim.control.statement, "loose": claim.control.loose}
    settings = claim.population.settings()
    module = sys.modules.get(type(claim).__module__)
    return {
        "name": claim.name,
        "class": type(claim).__name__,
        "module": type(claim).__module__,
        "title": claim.title,
        "statement": claim.statement,
        "kind": str(claim.kind),
        "reading": claim.reading,
        "passage": None if claim.passage is None else dataclasses.asdict(claim.passage),
        "readings": [dataclasses.asdict(own) for own in claim.readings],
        "source": str(claim.source),
        "key": claim.source.key,
        "locators": list(claim.source.locators),
        "reference": claim.source.text,
        "relation": str(claim.relation),
        "band": claim.relation.band,
        "label": claim.relation.label,
        "controls": claim.controls,
        "unexplained": claim.unexplained,
        "trivial": claim.trivial if isinstance(claim.trivial, str) else "",
        "expected": str(claim.expected),
        "corrects": None if claim.corrects is None else name_of(claim.corrects),
        "control": control,
        "trials": budget_of(claim),
        "population": getattr(claim.population, "of", type(claim.population)).__name__,
        "laws": {name: str(law) for name, law in getattr(claim.population, "laws", {}).items()},
        "settings": {name: dataclasses.asdict(variable) for name, variable in settings.variables.items()},
        "rules": list(settings.rules),
        **classification(about(type(claim).__module__), type(claim).__name__),
        "section": inspect.cleandoc((module.__doc__ if module else None) or ""),
    }


def entry_of(claim: Claim) -> dict[str, Any]:
    """The claim's words, with the recorded verdict."""
    words = words_of(claim)
    return {**words, **judged(words)}


def record_of(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    """The record of a verdict at the default setting, together with the results of other commands."""
    found = plain_json(dataclasses.asdict(verdict))
    said = ("name", "source", "setting", "seconds")
    own = {name: value for name, value in found.items() if name not in said and DEFAULTS.get(name, ()) != value}
    kept = {name: value for name, value in records().get(claim.name, {}).items() if name in BESIDE}
    return {**own, **kept, "fingerprint": dataclasses.asdict(prints_of(type(claim)))}


def write_record(claim: Claim, record: dict[str, Any]) -> None:
    """Enter a record into the file of the claim's section.

    Raises:
        DataError: if the file cannot be written. The file is then not changed.
    """
    classes = [type(own).__name__ for own in claims_in(sys.modules[type(claim).__module__])]
    write_records(claim.name.rpartition(".")[0], classes, {type(claim).__name__: record})
    write_history({type(claim).__name__: record["status"]})


def write_beside(claim: Claim, what: str, found: dict[str, Any]) -> str:
    """Add a command's result to a claim's record, next to the verdict.

    Args:
        claim: the claim.
        what: the kind of result, for example "walk" or "mutations".
        found: the result of the command, as plain values.

    Returns:
        Empty if the result was written. If the claim has no record, nothing is written, and the text says so.

    Raises:
        DataError: if the file cannot be written. The file is then not changed.
    """
    records.cache_clear()  # another process may have written a verdict in the meantime
    if claim.name not in records():
        return f"the claim has no verdict in the catalogue; first run {judging(claim)}"
    write_record(claim, {**records()[claim.name], what: {**found, "own": prints_of(type(claim)).own}})
    return ""


def judging(claim: Claim) -> str:
    """The command that writes the verdict on a claim into the catalogue."""
    return f"`lemmata judge {claim.name} --write`"


def recorded(claim: Claim) -> Verdict | None:
    """The recorded verdict on a claim; None if there is none. The time of the verdict is only approximate."""
    found = judged({"name": claim.name, "settings": {}}).get("verdict")
    if found is None:
        return None
    seconds = costs().get(type(claim).__name__, 0.0)
    return verdict_from(claim, {**found, "setting": claim.population.settings().default, "seconds": seconds})


def verdict_from(claim: Claim, record: Mapping[str, Any]) -> Verdict:
    """Build a verdict on a claim from its record, which has the form of `Verdict.to_json`."""
    known = {name: value for name, value in record.items() if name not in ("name", "source", "remedy")}
    known["status"] = Status(known["status"])
    known["control"] = ControlVerdict(**{**known["control"], "status": Status(known["control"]["status"])})
    known["violated"] = tuple(known["violated"])
    known["corners"] = tuple(
        Corner(**{**corner, "status": Status(corner["status"]), "gap": _number(corner["gap"], -math.inf)})
        for corner in known["corners"]
    )
    for name in ("interval", "band", "slack"):
        if known[name] is not None:
            low, *middle, high = known[name]
            known[name] = (_number(low, -math.inf), *middle, _number(high, math.inf))
    known["estimate"] = _number(known["estimate"], math.nan)
    return Verdict(claim.name, claim.source, **known)


def _number(value: float | None, missing: float) -> float:
    """The number. If JSON has null, return `missing`, which stands for a number that JSON cannot represent."""
    return missing if value is None else float(value)
