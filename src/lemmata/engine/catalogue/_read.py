"""The catalogue: the words of every claim, such as its title and its statement, and the claim's record.

The words of claims are in Python classes. To read these classes, Python must import JAX, which takes some seconds. So
the words are stored in the user's cache. The words are read again if a file of lemmata has changed.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import pathlib
from collections.abc import Callable
from typing import Any

from lemmata.directories import cache_directory
from lemmata.errors import DataError
from lemmata.files import replace_text
from lemmata.stored import sealed, unsealed

from ._modules import ROOT
from ._records import BESIDE, costs, records

ENTRY_POINT = "lemmata.words"
"""The entry-point group of the function that returns the words of claims, as {"claims": ..., "sources": ...}."""


@functools.cache
def catalogue() -> dict[str, Any]:
    """The words of claims by the claims' names, and the statements of sources by the sources' keys.

    >>> sorted(catalogue())
    ['claims', 'sources']
    """
    (point,) = importlib.metadata.entry_points(group=ENTRY_POINT)
    return kept("catalogue", lambda: point.load()())


def kept(name: str, read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return values of the current code from the user's cache. If the cache lacks them, compute and store them.

    Args:
        name: the name of the cached file.
        read: a function that computes the values, which must be plain values.
    """
    key, path = _key(), _path(name)
    known = path and unsealed(path, key)
    if known is not None:
        return known
    found = read()
    if path is not None:
        with contextlib.suppress(DataError):  # if the values cannot be stored, the next process computes them again
            replace_text(path, sealed(key, found))
    return json.loads(json.dumps(found))


def entries() -> dict[str, dict[str, Any]]:
    """The words and the record of every claim, by the claim's name, in the order of the registry.

    If a claim has a verdict, its entry also has `verdict` and `fingerprint`.
    """
    known = records()
    if _merged.get("records") is not known:
        merged = {name: {**words, **judged(words)} for name, words in catalogue()["claims"].items()}
        _merged.update(records=known, entries=merged)
    return _merged["entries"]


def judged(words: dict[str, Any]) -> dict[str, Any]:
    """A claim's recorded verdict and fingerprint; empty if it has no verdict. Missing figures get their default values.

    Args:
        words: the words of the claim.
    """
    record = records().get(words["name"])
    if record is None:
        return {}
    told = {name: value for name, value in record.items() if name not in ("fingerprint", *BESIDE)}
    setting = {name: variable["default"] for name, variable in words["settings"].items()}
    return {"fingerprint": record["fingerprint"], "verdict": {"setting": setting, **DEFAULTS, **told}}


_merged: dict[str, Any] = {}  # the entries, and the records from which the entries were made
DEFAULTS: dict[str, Any] = {
    "seed": 0, "level": 1e-3, "judged": 0, "dropped": {}, "violated": [], "estimate": None, "interval": None,
    "band": None, "slack": None, "vacuous": None, "corners": [], "p_value": 1.0, "worst": None, "interrupted": False,
}  # fmt: skip
"""The default values of a verdict's figures. A record leaves out a figure that equals its default value."""


def cost(entry: dict[str, Any]) -> float:
    """The approximate time in seconds that a verification of a claim takes; 0 if this time is unknown."""
    return costs().get(entry["class"], 0.0)


def _path(name: str) -> pathlib.Path | None:
    folder = cache_directory()
    return folder and folder / f"{name}-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]}.json"


def _key() -> str:
    """A key that changes if a file of lemmata changes."""
    facts = []
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in (".py", ".toml", ".bib"):
            state = path.stat()
            facts.append(f"{path.relative_to(ROOT)} {state.st_size} {state.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()
