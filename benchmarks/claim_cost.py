"""How many lines a claim takes, everything included: `claim_cost.py [section ...] [--since REVISION]`.

The lines of a section are those of its file; of every private file of its subject and every file of the stock
(`engine/problems`) that it reaches, shared evenly among the sections that reach it; and of its tests, a file being
shared evenly among the sections that it imports. Private files that a subject's public functions rest on are the
product and not the cost of a claim; nor do the numerics and the engine count. Blank lines and docstrings do.

With sections it prints these, else the dearest and the cheapest; and always the whole and the median. With --since it
prints what sections in which there are new claims cost more than at that revision, for each new claim.
"""

import argparse
import ast
import collections
import functools
import io
import json
import operator
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).parents[1]
PLACE = "src/lemmata"
SHOWN = 8
MOST = 70
Files = set[pathlib.Path]


class Cost(NamedTuple):
    """The claims of a section; the lines of its file, and of its shares of private files, of the stock, of tests."""

    claims: int
    section: float
    private: float
    stock: float
    tests: float

    @property
    def lines(self) -> float:
        """All of them."""
        return sum(self[1:])

    def __str__(self) -> str:
        shown = (f"{part:8.0f}" for part in (*self, self.lines))
        return "".join(shown) + f"{self.lines / max(self.claims, 1):10.1f}"


_NOTHING = Cost(0, 0, 0, 0, 0)


def total(costs: list[Cost]) -> Cost:
    """The sum of several."""
    return Cost(*map(sum, zip(*costs, strict=True)))


class Tree:
    """The Python files of a checkout and what they import of each other; nothing is run."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        self.files = [path for part in (PLACE, "tests") for path in sorted((root / part).rglob("*.py"))]
        self.text = {path: path.read_text(encoding="utf-8") for path in self.files}
        self.lines = {path: len(text.splitlines()) for path, text in self.text.items()}
        self.names = {self.name(path): path for path in self.files}
        self.subjects = [path for path in self.files if path.parts[-3] == "subjects"]
        self.known: dict[pathlib.Path, frozenset[pathlib.Path]] = {}

    def name(self, path: pathlib.Path) -> str:
        """The full name of a module."""
        parts = path.relative_to(self.root).with_suffix("").parts
        return ".".join(part for part in parts if part not in ("src", "__init__"))

    def imported(self, path: pathlib.Path) -> frozenset[pathlib.Path]:
        """The files that a file itself imports, a subpackage and what it is asked for by one statement."""
        if path not in self.known:
            found, name = set[str](), self.name(path).split(".")
            package = name if path.name == "__init__.py" else name[:-1]
            for node in ast.walk(ast.parse(self.text[path])):
                if isinstance(node, ast.ImportFrom):
                    above = package[: len(package) - node.level + 1] if node.level else []
                    origin = ".".join([*above, *([node.module] if node.module else [])])
                    found |= {origin, *(f"{origin}.{each.name}" for each in node.names)}
            self.known[path] = frozenset(self.names[each] for each in found if each in self.names)
        return self.known[path]

    def reached(self, starts: Files, within: Files) -> Files:
        """The files of a set that some files import, also by way of others of the set."""
        found, waiting = set[pathlib.Path](), list(starts)
        while waiting:
            new = (self.imported(waiting.pop()) & within) - found
            found |= new
            waiting += new
        return found

    @functools.cached_property
    def sections(self) -> dict[str, tuple[pathlib.Path, list[str]]]:
        """Of every section, by subject.section, the file and the claims that were judged."""
        found = {}
        for path in self.subjects:
            record = path.parent / "records" / f"{path.stem}.json"
            if record.exists():
                found[f"{path.parts[-2]}.{path.stem}"] = path, list(json.loads(record.read_text(encoding="utf-8")))
        return found

    def costs(self) -> dict[str, Cost]:
        """Of every section."""
        private = {path for path in self.subjects if path.name.startswith("_") and path.name != "__init__.py"}
        product = self.reached({path for path in self.subjects if path.name == "__init__.py"}, private)
        stock = {path for path in self.files if path.parts[-3:-1] == ("engine", "problems")}
        reached = {place: self.reached({path}, private - product | stock) for place, (path, _) in self.sections.items()}
        users = collections.Counter(path for found in reached.values() for path in found)
        share = lambda found: sum(self.lines[path] / users[path] for path in found)
        tests = self._tests({place: {path, *reached[place] - stock} for place, (path, _) in self.sections.items()})
        return {
            place: Cost(
                len(claims), self.lines[path], share(reached[place] - stock), share(reached[place] & stock),
                tests[place],
            )
            for place, (path, claims) in self.sections.items()
        }  # fmt: skip

    def _tests(self, own: dict[str, Files]) -> dict[str, float]:
        """The lines of tests, by the sections that they are of: those whose files they import."""
        found = dict.fromkeys(own, 0.0)
        for path in self.files:
            if "tests" in path.relative_to(self.root).parts:
                places = [place for place, files in own.items() if self.imported(path) & files]
                for place in places:
                    found[place] += self.lines[path] / len(places)
        return found


def at(revision: str, folder: str) -> Tree:
    """The tree of a revision, unpacked into a folder."""
    packed = subprocess.run(["git", "archive", revision, PLACE, "tests"], cwd=HERE, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return Tree(pathlib.Path(folder))


def added(now: Tree, before: Tree) -> dict[str, Cost]:
    """What sections with new claims cost more than before: new claims, and lines."""
    old, found = before.costs(), {}
    for place, cost in now.costs().items():
        known = set(before.sections[place][1]) if place in old else set()
        new = len(set(now.sections[place][1]) - known)
        if new:
            found[place] = Cost(new, *map(operator.sub, cost[1:], old.get(place, _NOTHING)[1:]))
    return found


def show(costs: dict[str, Cost], named: list[str]) -> None:
    """A line a section, then the whole and the median."""
    heads = ("claims", "section", "private", "stock", "tests", "lines")
    print(f"{'':44}" + "".join(f"{head:>8}" for head in heads) + f"{'a claim':>10}")
    ranked = sorted(costs, key=lambda place: costs[place].lines / costs[place].claims)
    for place in named or [*ranked[:SHOWN], *ranked[SHOWN:][-SHOWN:]]:
        print(f"{place:44}{costs[place]}")
    each = [cost.lines / cost.claims for cost in costs.values() for _ in range(cost.claims)]
    print(f"{'the whole':44}{total(list(costs.values()))}")
    cheap = sum(line <= MOST for line in each) / len(each)
    print(f"the median claim takes {statistics.median(each):.1f} lines; {cheap:.0%} of claims take at most {MOST}")


def main(words: list[str]) -> int:
    """Print the cost of sections, or of what is new; 1 where new claims cost more than they may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("section", nargs="*", help="subject.section")
    parser.add_argument("--since", metavar="REVISION", help="only what was added since")
    given, now = parser.parse_args(words), Tree(HERE)
    if missing := [place for place in given.section if place not in now.sections]:
        parser.error(f"no section {missing[0]}")
    if not given.since:
        show(now.costs(), given.section)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        new = added(now, at(given.since, folder))
    if not new:
        print(f"no claim was added since {given.since}")
        return 0
    show(new, [place for place in given.section if place in new] or list(new))
    whole = total(list(new.values()))
    return int(whole.lines > MOST * whole.claims)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
