"""Find out whether a recorded verdict is on the current code."""

import enum
import functools
import json
import pathlib
import re
from typing import Any

from ._fingerprint import Fingerprint, fingerprint
from ._modules import PACKAGE, ROOT
from ._records import FOLDER, SECTIONS, spelled

ENGINE = (
    ("lemmata.engine.claims._trials", "run_trials"),
    ("lemmata.engine.claims._verify", "judged_in_turn"),
    ("lemmata.engine.claims._verify", "CORNERS"),
    ("lemmata.engine.claims._verify", "CORNER_TRIALS"),
)
"""The code on which every verdict depends, besides the claim's own code."""
ASKED = ("settings", "resolve", "corners", "budget")
"""Methods that a verification calls before the first trial."""


class State(enum.StrEnum):
    """Whether a claim's verdict is on the current code."""

    CURRENT = "current"
    OWN = "own code changed"
    SHARED = "shared code changed beneath it"


def prints(module: str, class_name: str, besides: str = "") -> Fingerprint:
    """The digests of the code on which a claim's verdicts depend: the claim's own code, and the shared code.

    The claim's own code is the file of its section, and private files in the same folder that only this file imports.

    Args:
        module: the full name of the claim's module.
        class_name: the name of the claim's class, from which the keys of its trials are made.
        besides: the text of a claim's code outside lemmata, which becomes part of the digests.
    """
    return fingerprint(((module, class_name), *ENGINE), _own(module), ASKED, class_name + besides)


def trials_print(module: str, class_name: str, besides: str = "") -> str:
    """The digest of the code that a claim's trials run, without the code that judges them.

    Args:
        module: the full name of the claim's module.
        class_name: the name of the claim's class.
        besides: the text of a claim's code outside lemmata, which becomes part of the digest.
    """
    return fingerprint(((module, class_name), ENGINE[0]), _own(module), ASKED, class_name + besides).whole


@functools.cache
def _own(section: str) -> frozenset[str]:
    """The file of a section, and the private files in the same folder that only this file imports."""
    folder, package = ROOT.joinpath(*section.split(".")[1:-1]), section.rpartition(".")[0]
    users = _users(folder, package)
    own = {section}
    while new := {name for name, by in users.items() if by <= own} - own:
        own |= new
    return frozenset(own)


@functools.cache
def _users(folder: pathlib.Path, package: str) -> dict[str, set[str]]:
    """For each private file of a folder, the files of the folder that import it. All are given by modules' names."""
    found = dict[str, set[str]]()
    for path in folder.glob("*.py"):
        name = package if path.stem == "__init__" else f"{package}.{path.stem}"
        text = path.read_text(encoding="utf-8")
        for used in re.findall(rf"^from (?:{re.escape(package)})?\.(_\w+) import", text, flags=re.M):
            found.setdefault(f"{package}.{used}", set()).add(name)
    return found


def compared(record: dict[str, Any] | None, now: Fingerprint) -> State:
    """Whether a recorded verdict is on the current code, as a `State`.

    Args:
        record: the record of the claim; None if there is none.
        now: the digests of the current code.
    """
    kept = None if record is None else record["fingerprint"]
    if kept is None or (kept["whole"] != now.whole and kept["own"] != now.own):
        return State.OWN
    return State.CURRENT if kept["whole"] == now.whole else State.SHARED


def changed_beneath(record: dict[str, Any], now: Fingerprint) -> list[str]:
    """The subpackages whose code has changed since a verdict."""
    shared = record["fingerprint"]["shared"]
    return [name for name in sorted({*shared, *now.shared}) if shared.get(name) != now.shared.get(name)]


def told_state(record: dict[str, Any] | None, now: Fingerprint) -> str:
    """The `State` of a recorded verdict in words; empty if the verdict is on the current code, or if there is none."""
    state = compared(record, now)
    if record is None or state is State.CURRENT:
        return ""
    if state is State.OWN:
        return "judged with an earlier version of this section's own code"
    return f"judged with an earlier version of {', '.join(changed_beneath(record, now)) or 'the shared code'}"


def claim_digests() -> dict[str, str]:
    """The digest of all code that each recorded claim depends on, by the claim's name."""
    found = {}
    for path in sorted(SECTIONS.glob(f"*/{FOLDER}/*.json")):
        place = f"{path.parts[-3]}.{path.stem}"
        for name in json.loads(path.read_text(encoding="utf-8")):
            found[f"{place}.{spelled(name)}"] = prints(f"{PACKAGE}.subjects.{place}", name).whole
    return found
