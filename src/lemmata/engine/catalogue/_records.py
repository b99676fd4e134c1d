"""Records of the last verification and search of every claim, with one file for each section.

A record contains facts that the code does not show: the status and figures of the verdict, the distance between claim
and control (a false statement near the claim), the result of the search for counterexamples, and the fingerprint of the
tested code. A record has no times and no versions, so its file changes only if a verdict changes. `costs.json` contains
the approximate time of each claim.
"""

import functools
import json
import math
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from lemmata.errors import DataError, LemmataError
from lemmata.files import replace_text
from lemmata.stored import Told, built, read_bytes

from ._modules import ROOT
from ._stored import StoredVerdict

SECTIONS = ROOT / "subjects"
FOLDER = "records"
COSTS = pathlib.Path(__file__).with_name("costs.json")
_RESTORE = "restore the file from version control"
_FAR = 4  # a stored time is replaced if it is wrong by at least this factor


def spelled(class_name: str) -> str:
    """The class name of a claim, spelled like the last part of the claim's name.

    >>> spelled("AdamOnABatch"), spelled("RMSNormWidth"), spelled("Width2Depth")
    ('adam_on_a_batch', 'rms_norm_width', 'width2_depth')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).lower()


@functools.cache
def records() -> dict[str, dict[str, Any]]:
    """The record of every claim that has a verdict, by the claim's name.

    >>> all("status" in record for record in records().values())
    True
    """
    found = {}
    for path in sorted(SECTIONS.glob(f"*/{FOLDER}/*.json")):
        place = f"{path.parts[-3]}.{path.stem}"
        for name, record in _read(path).items():
            found[f"{place}.{spelled(name)}"] = record
    return found


BESIDE = ("search", "walk", "mutations")
"""Parts of a record besides the verdict. Other commands write these parts, and a new verdict does not change them."""


def found_of(entry: dict[str, Any], what: str) -> dict[str, Any] | None:
    """The result of another command, stored with a claim's verdict; None if there is none that still counts.

    A result counts if it was made with the code of the verdict. If only shared code differs, the result counts too,
    and its field `earlier` is True.

    Args:
        entry: the claim's entry of the catalogue.
        what: the kind of result, one of `BESIDE`, such as "search" or "mutations".
    """
    record, code = records().get(entry["name"], {}).get(what), entry.get("fingerprint")
    if record is None or code is None:
        return None
    if record["fingerprint"] == code["whole"]:
        return record
    return {**record, "earlier": True} if record.get("own") == code["own"] else None


def told_earlier(record: dict[str, Any]) -> str:
    """The end of a sentence about a result: that shared code has changed since; empty if it has not.

    Args:
        record: a result that `found_of` returned.
    """
    return "; measured with an earlier version of the shared code" if record.get("earlier") else ""


def write_records(place: str, classes: Iterable[str], given: dict[str, dict[str, Any]]) -> None:
    """Replace some records of a section in one step. The records of the section's other claims are kept.

    Args:
        place: subject.section.
        classes: the class names of the section's claims, in the order of the section; records of other classes are
            removed.
        given: new records, by the names of classes.

    Raises:
        DataError: if the file is not valid JSON, or cannot be written. In both cases, the file is not changed.
    """
    subject, _, section = place.partition(".")
    path = SECTIONS / subject / FOLDER / f"{section}.json"
    known = _read(path) if path.exists() else {}
    own = {name: given.get(name, known.get(name)) for name in classes}
    kept = {name: record for name, record in own.items() if record is not None}
    told = ",\n".join(f"{json.dumps(name)}: {_laid_out(record)}" for name, record in kept.items())
    replace_text(path, f"{{\n{told}\n}}\n")
    records.cache_clear()


def _read(path: pathlib.Path) -> dict[str, Any]:
    try:
        found = json.loads(read_bytes(path, f"records {path}", "records of verdicts"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, LemmataError):
            raise
        raise DataError(f"records {path}", found=str(error), rule="valid JSON", remedy=_RESTORE) from None
    return built(dict[str, StoredVerdict], found, Told(f"file {path}", "records of verdicts", _RESTORE))


def _laid_out(record: dict[str, Any]) -> str:
    """A record with one line for each figure and one line for each extra setting."""
    own = functools.partial(json.dumps, ensure_ascii=False, allow_nan=False)
    lines = []
    for name, value in record.items():
        rows = ",\n  ".join(map(own, value)) if name == "corners" else ""
        lines.append(f" {own(name)}: " + (f"[\n  {rows}\n ]" if rows else own(value)))
    return "{\n" + ",\n".join(lines) + "\n}"


@functools.cache
def costs() -> dict[str, float]:
    """The approximate seconds (a power of two) for a verification of each claim, by the name of the claim's class."""
    return json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}


def write_costs(seconds: dict[str, float]) -> None:
    """Store the times that claims took, if the stored times are wrong by at least a factor 4.

    Args:
        seconds: the seconds that each claim took, by the name of the claim's class.
    """
    known = costs()
    rough = {name: 2.0 ** round(math.log2(max(took, 0.25))) for name, took in seconds.items()}
    new = {name: own for name, own in rough.items() if not 1 / _FAR < own / known.get(name, math.inf) < _FAR}
    if new:
        text = json.dumps({**known, **new}, indent=0, sort_keys=True)
        replace_text(COSTS, text + "\n")
        costs.cache_clear()
