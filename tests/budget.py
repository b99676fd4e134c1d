"""Which tests a run takes: those whose code has changed since they last passed, and of the others a share in turn.

A test file rests on what its functions reach, by the same reading of the code as a verdict's fingerprint does, and on
the claims that its cases are about. What passed is kept with the digest of that code, in pytest's cache. A run has a
budget of seconds; `costs.json` says roughly what a case takes. Cheap cases are taken always, dearer ones in
turn, others for every seed: the number that the commit begins with, or LEMMATA_SEED.
"""

import functools
import hashlib
import heapq
import json
import math
import os
import pathlib
import subprocess
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lemmata.engine.catalogue import ROOTS, claim_digests, digest_of_modules
from lemmata.files import replace_text

ROOT = pathlib.Path(__file__).parents[1]
COSTS = pathlib.Path(__file__).with_name("costs.json")
BUDGET = 180.0
"""Seconds of processor that the cases of a run may take, as `costs.json` states them.

The whole run is to take four minutes on two idle cores. Two workers need a minute and a half of processor to load and
to collect, and what is kept of the run is made in half a minute.
"""
_CHANGED = 0.8  # the share of it that changed cases may take
USUAL = 0.004
"""Seconds of a case of which `costs.json` says nothing."""
_DEAR = 1.0
"""Seconds from which what the cases of a file share counts."""


class Case(NamedTuple):
    """A test case.

    Args:
        name: its node.
        cost: about how many seconds it takes.
        changed: whether code that it rests on has changed since it last passed.
        file: its file, if the cases of this file share something that is dear to make; else "".
    """

    name: str
    cost: float
    changed: bool = False
    file: str = ""


class Chosen(NamedTuple):
    """What a run takes.

    Args:
        names: the cases.
        changed: of those, the ones whose code has changed.
        left: cases whose code has changed and which the budget leaves out.
        turns: after how many runs each case has had its turn, where the code stands still.
    """

    names: frozenset[str]
    changed: int
    left: int
    turns: int


@functools.cache
def seed() -> int:
    """LEMMATA_SEED where it is set, else the number that the commit begins with, else 0."""
    if "LEMMATA_SEED" in os.environ:
        return int(os.environ["LEMMATA_SEED"])
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    try:
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout[:6], 16)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def chosen(cases: Sequence[Case], seed: int, budget: float = BUDGET) -> Chosen:
    """The cases of a run: changed ones, the cheapest first, up to four fifths of the budget; the rest goes to others.

    Half of what is left goes to the cheapest of these, which are taken in every run; the others are taken by every n-th
    seed, where n is the number of runs that their costs fill. Cases that share something dear are taken together. No
    run costs more than its budget and the dearest of these.
    """
    together = dict[str, list[Case]]()
    for case in cases:
        together.setdefault(case.file or case.name, []).append(case)
    units = [Case(name, sum(case.cost for case in each) + _shared(each), any(case.changed for case in each))
             for name, each in together.items()]  # fmt: skip
    changed = sorted((unit for unit in units if unit.changed), key=lambda unit: unit.cost)
    taken, spent = set[str](), 0.0
    for case in changed:
        if spent + case.cost > _CHANGED * budget:
            break
        taken.add(case.name)
        spent += case.cost
    others = sorted((unit for unit in units if not unit.changed), key=lambda unit: unit.cost)
    always, rest = 0.0, []
    for case in others:
        if not rest and always + case.cost <= (budget - spent) / 2:
            always += case.cost
            taken.add(case.name)
        else:
            rest.append(case)
    left = max(budget - spent - always, 1e-3)
    turns = max(1, math.ceil(sum(case.cost for case in rest) / left))
    taken |= _turn(rest, seed % turns, turns)
    names = frozenset(case.name for name in taken for case in together[name])
    done = sum(case.changed and case.name in names for case in cases)
    return Chosen(names, done, sum(case.changed for case in cases) - done, turns)


def _turn(cases: Sequence[Case], number: int, turns: int) -> set[str]:
    """Names of the cases of one of so many runs: the dearest are given out first, each to the run with the least."""
    runs, names = [(0.0, place) for place in range(turns)], set[str]()
    for case in sorted(cases, key=lambda case: (-case.cost, zlib.crc32(case.name.encode()))):
        spent, place = runs[0]
        heapq.heapreplace(runs, (spent + case.cost, place))
        if place == number:
            names.add(case.name)
    return names


def _shared(cases: Sequence[Case]) -> float:
    """What it takes to make what the cases of a file share."""
    return costs().get(cases[0].file, 0.0)


def told(cases: Sequence[Case], due: Chosen, known: bool) -> str:
    """What a run takes and leaves, in a sentence."""

    def seconds(names: Iterable[str]) -> float:
        some = [case for case in cases if case.name in names]
        return sum(case.cost for case in some) + sum(costs().get(file, 0.0) for file in {case.file for case in some})

    rest = {case.name for case in cases} - due.names
    first = "nothing is known of earlier runs" if not known else f"{due.changed} whose code has changed"
    text = f"{len(due.names)} of {len(cases)} cases ({first}), about {seconds(due.names):,.0f} s of processor; "
    text += f"not run: {len(rest)}, about {seconds(rest):,.0f} s (`pytest -m later`)"
    if due.left:
        text += f", {due.left} of them with changed code"
    return f"{text}; each has its turn within {due.turns} runs"


@functools.cache
def costs() -> dict[str, float]:
    """About how many seconds a case of each test takes, where it is not the usual, by file::function.

    By the file's name: what it takes to make what its cases share, where that is dear.
    """
    return json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}


def write_costs(seconds: dict[str, list[float]]) -> None:
    """Enter how long the cases of tests took, where what stands there is off by a factor of 2 or more.

    Args:
        seconds: of the cases of each test, by file::function; of what the cases of a file share, by file.
    """
    found = dict(costs())
    for name, took in seconds.items():
        mean = sum(took) / len(took)
        if "::" not in name and mean < _DEAR:
            found.pop(name, None)
        elif max(mean, USUAL) / 2 >= found.get(name, USUAL) or max(mean, USUAL) <= found.get(name, USUAL) / 2:
            found[name] = 2.0 ** round(math.log2(max(mean, USUAL)))
    replace_text(COSTS, json.dumps(dict(sorted(found.items())), indent=0) + "\n")
    costs.cache_clear()


def cost(name: str) -> float:
    """About how many seconds a case takes: its own cost where the file has one, else that of its function."""
    return costs().get(name, costs().get(name.partition("[")[0], USUAL))


class Digests:
    """Digests of the code that tests rest on, kept in a file for as long as no file of the code has changed.

    Args:
        path: of the file.
    """

    def __init__(self, path: pathlib.Path):
        self.path = path
        self.files: dict[str, str] = {}
        self.claims: dict[str, str] = {}

        self.key = _state_of_files()
        kept = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        if kept.get("key") == self.key:
            self.files, self.claims = kept["files"], kept["claims"]

    def read(self, modules: Iterable[str], claims: bool) -> None:
        """Read the code of test files, and of all claims, where that was not done yet: half a minute for everything."""
        new = {name: digest(name) for name in sorted(set(modules) - set(self.files))}
        own = claim_digests() if claims and not self.claims else {}
        if new or own:
            self.files.update(new)
            self.claims.update(own)
            replace_text(self.path, json.dumps({"key": self.key, "files": self.files, "claims": self.claims}))

    def of(self, module: str, claims: Sequence[str]) -> str:
        """Of the code that a case rests on: its file's, and that of the claims which it is about."""
        return " ".join([self.files.get(module, "?"), *(self.claims.get(name, "?") for name in claims)])


def digest(module: str) -> str:
    """Of the code that a test file rests on, and the fixtures of its folder and those above it."""
    ROOTS.setdefault("tests", ROOT / "tests")
    parts = module.split(".")[:-1]
    shared = [".".join((*parts[: k + 1], "conftest")) for k in range(len(parts))]
    return digest_of_modules((module, *shared))[:12]


def _state_of_files() -> str:
    facts = []
    for folder in (pathlib.Path(ROOTS["lemmata"]), ROOT / "tests"):
        for path in sorted(folder.rglob("*.py")):
            state = path.stat()
            facts.append(f"{path} {state.st_size} {state.st_mtime_ns}")
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()
