"""How many plausible bugs the tests notice: functions drawn at random get one bug each, in a copy of the checkout.

    python -m tests.mutants --seconds 60

Each group of subpackages has its own score, which is printed and never fails the run. A run fails where it says
nothing: no bug was tried, or a test that noticed one fails without it. A function is drawn from the files that the last
commit changed and from all others in turn, by the commit's number. Its tests are those whose code reaches it, by the
same reading of the code as a verdict's fingerprint; those in the folder of its subpackage come first, and of them those
that reach least.

Python and the libraries are imported once; a fork of that process runs the tests of one bug. mutmut and cosmic-ray
start both for each bug, and choose tests by tracing lines, which misses what JAX compiled for an earlier test.
"""

import argparse
import ast
import contextlib
import importlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tests import bugs
from tests.reach import Reach, Test

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = "src/lemmata"
GROUPS = {
    "numerics": ("core", "kernels", "functions", "architectures", "spectra", "solvers", "networks", "estimators",
                 "storage", "intervals.py"),
    "engine": ("engine",),
    "jobs": ("workflows", "workers.py", "files.py"),
    "faces": ("interfaces",),
}  # fmt: skip
LIBRARIES = ("jax", "scipy.stats", "sklearn.pipeline", "polars", "equinox", "optax", "diffrax", "altair", "typer",
             "rich", "beartype", "pytest")  # fmt: skip
"""What most tests import: imported once, before the forks. None of them starts threads when it is imported."""
IGNORED = shutil.ignore_patterns(".git", ".venv", "venv", ".pytest_cache", ".ruff_cache", "node_modules")
_OPTIONS = ("-o", "addopts=", "--jaxtyping-packages=lemmata,tests.checked.lazily", "-m", "every", "-q", "-x", "-n0",
            "-p", "no:cacheprovider", "--no-header", "--tb=short",
            "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip


class Mutant(NamedTuple):
    """A bug in a function.

    Args:
        group: of subpackages.
        file: below `src/lemmata`.
        function: its qualified name.
        line: of the bug.
        bug: what is changed.
        before: the text that stands there.
    """

    group: str
    file: str
    function: str
    line: int
    bug: bugs.Bug
    before: str

    def __str__(self):
        before, after = (" ".join(text.split()) for text in (self.before, self.bug.text))
        return f"{self.file}:{self.line} {self.function}: {self.bug.kind}: `{before[:70]}` -> `{after[:70]}`"


class Outcome(NamedTuple):
    """What the tests said to a mutant.

    Args:
        noticed: whether one of them failed; None where they were too slow to say.
        how: the test that failed, or in what other way it was noticed, or how many cases passed.
        test: the node of the test that failed.
    """

    noticed: bool | None
    how: str
    test: str = ""


def group_of(file: str) -> str | None:
    """The group of a file below `src/lemmata`; None for files that are drawn in none."""
    first = file.split("/")[0]
    return next((group for group, parts in GROUPS.items() if first in parts), None)


def files() -> list[str]:
    """Files of all groups, below `src/lemmata`."""
    root = ROOT / PACKAGE
    found = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    return [file for file in found if group_of(file) is not None and not file.endswith("__init__.py")]


def changed() -> list[str]:
    """Of those, the ones that the last commit changed; none where git does not say."""
    command = ["git", "-C", str(ROOT), "diff", "--name-only", "HEAD~1", "--", PACKAGE]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return sorted({name.removeprefix(f"{PACKAGE}/") for name in found} & set(files()))


def draw(group: str, among: Iterable[str], seed: int) -> Iterator[Mutant]:
    """Mutants of a group in random order, one of each function."""
    chance = random.Random(f"{seed} {group}")
    places = []
    for file in among:
        if group_of(file) == group:
            source = (ROOT / PACKAGE / file).read_bytes()
            places += [(file, name, function) for name, function in bugs.functions(ast.parse(source))]
    chance.shuffle(places)
    for file, name, function in places:
        source = (ROOT / PACKAGE / file).read_bytes()
        found = bugs.bugs(source, function)
        if found:
            bug = bugs.drawn(found, chance)
            line = source[: bug.start].count(b"\n") + 1
            yield Mutant(group, file, name, line, bug, source[bug.start : bug.end].decode())


def in_turn(seed: int) -> Iterator[Mutant]:
    """Mutants of all groups in turn, of a changed file and of any file by turns."""
    sources = []
    for group in GROUPS:
        sources += [(draw(group, changed(), seed)), (draw(group, files(), seed + 1))]
    sources = [*sources[::2], *sources[1::2]]
    seen = set[tuple[str, str]]()
    while sources:
        for source in list(sources):
            found = next(source, None)
            if found is None:
                sources.remove(source)
            elif (found.file, found.function) not in seen:
                seen.add((found.file, found.function))
                yield found


class _Watch:
    """Ends a run of pytest after some seconds of processor in tests; says which case failed, and how many were run.

    Of a test that is named with `*]` at its end it runs the cases whose names begin so.
    """

    def __init__(self, limit: float, tests: Sequence[str] = ()):
        self.limit, self.cases, self.failed, self.began = limit, 0, "", 0.0
        self.begins = tuple(test.removesuffix("*]") for test in tests if test.endswith("*]"))
        self.named = list(dict.fromkeys(test.partition("[")[0] if test.endswith("*]") else test for test in tests))

    def pytest_collection_modifyitems(self, items):
        parts = {begin.partition("[")[0] for begin in self.begins}
        items[:] = [
            item for item in items
            if item.nodeid.partition("[")[0] not in parts or item.nodeid.startswith(self.begins)
        ]  # fmt: skip

    def pytest_collectreport(self, report):
        self.failed = self.failed or ("" if report.passed or report.skipped else report.nodeid)

    def pytest_collection_finish(self):
        self.began = sum(os.times()[:4])

    def pytest_runtest_logreport(self, report):
        self.cases += report.when == "call" and not report.skipped
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_runtest_teardown(self, item):
        if sum(os.times()[:4]) - self.began > self.limit:
            item.session.shouldstop = "enough"


def _child(copy: pathlib.Path, tests: Sequence[str], limit: float, out: pathlib.Path) -> None:
    """Run tests in a copy of the checkout, in a fork: what they say is written to a file."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(4 * limit + 60), int(4 * limit + 70)))
    log = os.open(out.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    for name in [name for name in sys.modules if name.split(".")[0] in ("lemmata", "tests")]:
        del sys.modules[name]
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")
    sys.path[:] = [str(copy / "src"), str(copy), *(each for each in sys.path if each not in ("", str(ROOT)))]
    importlib.invalidate_caches()
    import pytest

    watch = _Watch(limit, tests)
    code = int(pytest.main([*_OPTIONS, *watch.named], plugins=[watch]))
    out.write_text(json.dumps({"code": code, "cases": watch.cases, "failed": watch.failed}))


class Runner:
    """Runs the tests of mutants, several at a time, each in a copy of the checkout.

    Args:
        folder: for the copies.
        jobs: how many run at a time.
        limit: seconds of processor that the tests of a mutant may take.
    """

    def __init__(self, folder: pathlib.Path, jobs: int, limit: float):
        self.folder, self.limit = folder, limit
        self.free = [folder / str(number) for number in range(jobs)]
        for copy in self.free:
            shutil.copytree(ROOT, copy, ignore=IGNORED, symlinks=True)
        self.running: dict[int, tuple[Any, pathlib.Path, float]] = {}
        self.count = 0

    def start(self, about: Any, tests: Sequence[str], limit: float, mutant: Mutant | None = None) -> None:
        """Begin a run; `about` is given back with what it says."""
        copy = self.free.pop()
        self.count += 1
        if mutant is not None:
            path = copy / PACKAGE / mutant.file
            path.write_bytes(mutant.bug.applied((ROOT / PACKAGE / mutant.file).read_bytes()))
            os.utime(path, (1_000_000_000 + self.count,) * 2)  # compiled files go by the second and by the length
        out = copy / "said.json"
        out.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                _child(copy, tests, limit, out)
            except BaseException as error:
                out.write_text(json.dumps({"wrong": f"{type(error).__name__}: {error}"}))
            os._exit(0)
        self.running[child] = (about, copy, time.monotonic() + 30 * limit + 120)

    def ended(self) -> Iterator[tuple[Any, Outcome]]:
        """Those that have ended; waits a little where none has."""
        for child, (about, copy, end) in list(self.running.items()):
            if os.waitpid(child, os.WNOHANG)[0] == 0:
                if time.monotonic() < end:
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
            del self.running[child]
            self.free.append(copy)
            if isinstance(about, Mutant):
                shutil.copy2(ROOT / PACKAGE / about.file, copy / PACKAGE / about.file)
            yield about, _outcome(copy / "said.json")
        time.sleep(0.02)

    def close(self) -> None:
        """End what still runs."""
        for child in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)


def _outcome(out: pathlib.Path) -> Outcome:
    if not out.exists():
        return Outcome(None, "the tests did not come to an end")
    said = json.loads(out.read_text())
    if "wrong" in said:
        raise RuntimeError(f"a fork could not run pytest: {said['wrong']}")
    if said["failed"]:
        return Outcome(True, said["failed"], said["failed"])
    if said["code"] in (4, 5) and not said["cases"]:
        raise RuntimeError(f"pytest found none of the tests; see {out.with_suffix('.log')}")
    if said["code"] == 3:
        return Outcome(True, "pytest could not go on")
    return Outcome(False, f"{said['cases']} cases passed")


def measured(mutants: Iterator[Mutant], runner: Runner, reach: Reach, seconds: float) -> dict[Mutant, Outcome]:
    """Mutants with what their tests said, each printed as soon as it is there; none is begun after some seconds."""
    end, found, waiting = time.monotonic() + seconds, dict[Mutant, Outcome](), True
    while waiting or runner.running:
        if waiting and runner.free:
            mutant = next(mutants, None) if time.monotonic() < end else None
            waiting = mutant is not None
            if mutant is not None:
                tests = reach.tests_of(mutant.file, mutant.function, runner.limit)
                if tests:
                    runner.start(mutant, [each.node for each in tests], runner.limit, mutant)
                else:
                    found[mutant] = Outcome(False, "no test reaches it")
                    tell(mutant, found[mutant])
            continue
        for mutant, outcome in runner.ended():
            found[mutant] = outcome
            tell(mutant, outcome)
    return found


def tell(mutant: Mutant, outcome: Outcome) -> None:
    """Print a mutant and what was said to it."""
    word = {True: "noticed", False: "NOT NOTICED", None: "not known"}[outcome.noticed]
    print(f"{word}  {mutant.group}  {mutant}  ({outcome.how})", flush=True)


def unsound(found: dict[Mutant, Outcome], runner: Runner) -> str:
    """Why the outcomes say nothing; empty where they do. The tests that noticed something are run without a bug."""
    if not found:
        return "no bug was tried"
    nodes = sorted({outcome.test for outcome in found.values() if outcome.test})
    if not nodes:
        return "no test noticed anything"
    runner.start("all", nodes, 20 * runner.limit)
    while runner.running:
        for _, outcome in runner.ended():
            if outcome.noticed is not False:
                return f"without a bug: {outcome.how}"
    return ""


def table(found: dict[Mutant, Outcome]) -> str:
    """The score of each group."""
    lines = ["group      noticed    of"]
    for group in GROUPS:
        own = [outcome.noticed for mutant, outcome in found.items()
               if mutant.group == group and outcome.noticed is not None]  # fmt: skip
        lines.append(f"{group:10} {sum(own):7} {len(own):5}" + (f"  {sum(own) / len(own):4.0%}" if own else ""))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run and print; 0 where bugs were tried, whatever the score, and 1 where the outcomes say nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="begin no bug after so long")
    parser.add_argument("--seed", type=int, help="of the draw (default: the commit's number)")
    parser.add_argument("--each", type=int, help="draw so many functions of each group, for as long as it takes")
    parser.add_argument("--groups", nargs="*", default=list(GROUPS), choices=list(GROUPS))
    parser.add_argument("--limit", type=float, default=6.0, help="seconds of processor for the tests of a bug")
    parser.add_argument("--jobs", type=int, default=2, help="how many bugs are tested at a time")
    parser.add_argument("--list", action="store_true", help="print the bugs and their tests; run nothing")
    given = parser.parse_args(arguments)
    from tests import budget

    seed = budget.seed() if given.seed is None else given.seed
    if given.each is None:
        mutants: Iterator[Mutant] = in_turn(seed)
    else:
        draws = [draw(group, files(), seed) for group in given.groups]
        mutants = (each for _ in range(given.each) for each in map(next, draws))
        given.seconds = float("inf")
    reach = Reach(ROOT)
    if given.list:
        for mutant in mutants:
            tests: list[Test] = reach.tests_of(mutant.file, mutant.function, given.limit)
            print(f"{mutant.group}  {mutant}  {[each.node for each in tests[:3]]} and {max(len(tests) - 3, 0)} others")
        return 0
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory(prefix="lemmata-mutants-") as folder:
        runner = Runner(pathlib.Path(folder), given.jobs, given.limit)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
        with contextlib.closing(runner):
            found = measured(mutants, runner, reach, given.seconds)
            wrong = unsound(found, runner)
    print(f"\nplausible bugs that tests noticed, seed {seed}:\n{table(found)}")
    if wrong:
        print(f"the scores say nothing: {wrong}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
