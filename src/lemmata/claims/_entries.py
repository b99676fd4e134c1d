"""Entries of the catalogue: what a claim says, its last verdict, and the fingerprint of the code that it rests on."""

import dataclasses
import hashlib
import importlib.metadata
import inspect
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lemmata.catalogue import entries, fingerprint

from ._claim import Claim, Status, name_of
from ._family import budget_of
from ._verdict import ControlVerdict, Corner, Verdict, plain_json

# What every verdict rests on besides the claim's own code.
ENGINE = (
    ("lemmata.claims._trials", "run_trials"),
    ("lemmata.claims._judge", "judge_trials"),
    ("lemmata.claims._judge", "corner_of"),
    ("lemmata.claims._judge", "with_corners"),
    ("lemmata.claims._settings", "Space"),
)


def fingerprint_of(claim: Claim) -> str:
    """The hash of the code that a claim's verdict rests on: the claim's, and the engine's.

    Of a claim outside lemmata it is that of its whole file, and not of what the file imports.
    """
    module = type(claim).__module__
    nodes = ((module, type(claim).__name__), *ENGINE)
    told = " ".join(fingerprint(*node) for node in nodes)
    file = inspect.getsourcefile(type(claim).predict)
    if module.partition(".")[0] != "lemmata" and file is not None:
        told += Path(file).read_text(encoding="utf-8")
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def is_stale(claim: Claim) -> bool:
    """Whether the catalogue has no verdict on the code as it is."""
    entry = entries().get(claim.name)
    return entry is None or entry.get("fingerprint") != fingerprint_of(claim)


def words_of(claim: Claim) -> dict[str, Any]:
    """What a claim says, as plain values."""
    control = {"statement": claim.control.statement, "loose": claim.control.loose}
    settings = claim.population.settings()
    module = sys.modules.get(type(claim).__module__)
    return {
        "name": claim.name,
        "class": type(claim).__name__,
        "title": claim.title,
        "statement": claim.statement,
        "kind": str(claim.kind),
        "reading": claim.reading,
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
        "population": type(claim.population).__name__,
        "settings": {name: dataclasses.asdict(variable) for name, variable in settings.variables.items()},
        "rules": list(settings.rules),
        "section": inspect.cleandoc((module.__doc__ if module else None) or ""),
    }


def entry_of(claim: Claim, verdict: Verdict | None) -> dict[str, Any]:
    """The claim's entry: its words now, with a new verdict, or with the one that the catalogue has."""
    if verdict is None:
        known = entries().get(claim.name, {})
        kept = {name: known[name] for name in ("fingerprint", "versions", "verdict") if name in known}
        return {**words_of(claim), **kept}
    versions = {name: importlib.metadata.version(name) for name in ("lemmata", "jax")}
    record = plain_json(verdict.to_json())
    said = ("name", "source", "remedy")
    own = {name: value for name, value in record.items() if name not in said}
    return {**words_of(claim), "fingerprint": fingerprint_of(claim), "versions": versions, "verdict": own}


def recorded(claim: Claim) -> Verdict | None:
    """The verdict that the catalogue has on a claim; None where it has none."""
    entry = entries().get(claim.name, {})
    if "verdict" not in entry:
        return None
    return verdict_from(claim, entry["verdict"])


def verdict_from(claim: Claim, record: Mapping[str, Any]) -> Verdict:
    """A verdict on a claim from its record, as `Verdict.to_json` gives it."""
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
    """The number, or what JSON has no number for."""
    return missing if value is None else float(value)
