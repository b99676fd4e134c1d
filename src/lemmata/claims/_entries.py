"""Entries of the catalogue: what a claim says, its last verdict, and the fingerprint of the code that it rests on."""

import concurrent.futures
import dataclasses
import hashlib
import importlib.metadata
import inspect
import math
import multiprocessing
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import jax

from lemmata.catalogue import entries, fingerprint
from lemmata.errors import EntryPointWarning

from ._claim import Claim, Status, name_of
from ._family import budget_of
from ._registry import registry
from ._verdict import ControlVerdict, Corner, Verdict, plain_json
from ._verify import verify

# What every verdict rests on besides the claim's own code.
ENGINE = (
    ("lemmata.claims._trials", "run_trials"),
    ("lemmata.claims._judge", "judge_trials"),
    ("lemmata.claims._judge", "corner_of"),
    ("lemmata.claims._judge", "with_corners"),
    ("lemmata.claims._settings", "Space"),
)
_A_PROCESS = 40  # claims that a process judges before another takes its place: compiled functions fill its memory


def fingerprint_of(claim: Claim) -> str:
    """The hash of the code that a claim's verdict rests on: the claim's, and the engine's."""
    nodes = ((type(claim).__module__, type(claim).__name__), *ENGINE)
    return hashlib.sha256(" ".join(fingerprint(*node) for node in nodes).encode()).hexdigest()[:16]


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
    known = dict(entry["verdict"])
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


def verdicts_of(claims: list[Claim], seed: int, jobs: int, progress: bool | None = None) -> Iterator[Verdict]:
    """Verify registered claims one after the other, or in several processes; verdicts come as they are finished.

    Args:
        claims: registered claims.
        seed: seed of all randomness.
        jobs: how many processes; 1 runs them here.
        progress: show a progress bar for each claim that runs here.
    """
    if jobs == 1:
        for claim in claims:
            yield verify(claim, seed=seed, progress=progress)
        return
    # New processes for every block, not `max_tasks_per_child`: with that, pools of Python 3.11 can wait for ever.
    context = multiprocessing.get_context("spawn")
    for start in range(0, len(claims), jobs * _A_PROCESS):
        with concurrent.futures.ProcessPoolExecutor(jobs, context) as pool:
            try:
                block = claims[start : start + jobs * _A_PROCESS]
                waiting = [pool.submit(_by_name, claim.name, seed) for claim in block]
                for done in concurrent.futures.as_completed(waiting):
                    yield done.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def _by_name(name: str, seed: int) -> Verdict:
    """A verdict made in a process of its own; the first process has said what is left out."""
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore", EntryPointWarning)
        return verify(registry()[name], seed=seed, progress=False)
