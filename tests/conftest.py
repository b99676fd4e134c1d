"""Float64 for theory, one BLAS thread a worker, quick compilation, rare collections, and the cases that a run takes.

Two workers with two threads each would fight over two cores. Most of the time of these tests is the compilation of
functions that run once, so XLA optimises little, and it takes its older emitter of fused loops, which compiles a small
function in a third of the time; both give way to flags of the caller's. Batches of systems are solved one after the
other, since jaxlib 0.10 may wait for ever. Nothing compiled is shared between processes, since one would read what
another is still writing; what a process holds of it is bounded. Python looks for circles of objects once in 50,000 new
ones, not in 700: each look passes over all that JAX holds.
"""

import ctypes
import gc
import importlib.metadata
import json
import os
import pathlib
import resource
import sys
import tempfile
import time

from lemmata.interfaces.cli import solve_in_turn

# XLA reads its flags at the first computation, and ends the process at one that it does not know.
_FLAGS = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
if (0, 8) <= tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) <= (0, 10):
    os.environ.setdefault("XLA_FLAGS", _FLAGS)
solve_in_turn()

import jax  # noqa: E402
import jaxtyping  # noqa: E402
import pytest  # noqa: E402

from lemmata.code_files import SAFE_PATH  # noqa: E402
from lemmata.core import one_blas_thread  # noqa: E402
from lemmata.engine.claims import Claim  # noqa: E402
from lemmata.files import replace_text  # noqa: E402
from tests import budget  # noqa: E402

# Bytes that a worker may hold before it forgets its compiled functions, and by which it may grow after that.
_HELD, _GROWN = 5 * 2**28, 2**29
_LIMIT = [_HELD]

os.environ["LEMMATA_CACHE_DIR"] = ""  # commands that tests start keep no compilations
_DATA = tempfile.TemporaryDirectory(prefix="lemmata-tests-")  # nor do they touch the ledger of whoever runs them
os.environ["LEMMATA_DATA_DIR"] = _DATA.name
jax.config.update("jax_enable_x64", True)
one_blas_thread().__enter__()
gc.set_threshold(50_000, 20, 20)


def pytest_configure(config):
    for line in (
        "due: cases of this run, by what has changed and in turn under a budget; the default. LEMMATA_SECONDS=n: n "
        "seconds more",
        "later: cases that this run leaves to others; LEMMATA_SECONDS=n takes n seconds of them",
        "every: all cases",
        "seconds(n): about how long a case takes; of others costs.json says it",
    ):
        config.addinivalue_line("markers", line)
    folder = pathlib.Path(config.cache.mkdir("lemmata")) if hasattr(config, "cache") else None
    config.stash[_KEPT] = kept = _Kept(folder)
    if kept.passed and not hasattr(config, "workerinput"):
        kept.digests.read((module for module, _ in kept.passed.values()), claims=True)


class _Kept:
    """What is known of earlier runs: digests of code, and those with which each case passed."""

    def __init__(self, folder: pathlib.Path | None):
        self.file = None if folder is None else folder / "rests_on_and_passed.json"
        self.digests = budget.Digests((folder or pathlib.Path(_DATA.name)) / "digests.json")
        known = self.file is not None and self.file.exists()
        self.passed: dict[str, tuple[str, str]] = json.loads(self.file.read_text()) if known else {}  # pyright: ignore
        self.results: dict[str, bool] = {}
        self.told = ""


_KEPT = pytest.StashKey[_Kept]()


def _rests_on(item) -> tuple[str, tuple[str, ...]]:
    """The file of a case, and the claims that it is about."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return item.module.__name__, tuple(value.name for value in values if isinstance(value, Claim))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Cases are marked as due or left for later."""
    kept = config.stash[_KEPT]
    known = bool(kept.passed)
    cases = []
    for item in items:
        before = kept.passed.get(item.nodeid)
        changed = before is not None and before[1] != kept.digests.of(*_rests_on(item))
        seconds = item.get_closest_marker("seconds")
        cost = seconds.args[0] if seconds else budget.cost(item.nodeid)
        file = item.nodeid.partition("::")[0]
        cases.append(budget.Case(item.nodeid, cost, changed, file if file in budget.costs() else ""))
        item.user_properties.append(("rests on", _rests_on(item)))
    due = budget.chosen(cases, budget.seed())
    names = set(due.names)
    seconds = os.environ.get("LEMMATA_SECONDS")
    rest = [case for case in cases if case.name not in names]
    later = {case.name for case in rest}
    if seconds is not None:
        later = set(budget.chosen(rest, budget.seed(), float(seconds)).names)
        if config.option.markexpr == "due":
            names |= later
            due = due._replace(names=frozenset(names))
    for item in items:
        item.add_marker("every")
        if item.nodeid in names:
            item.add_marker("due")
        elif item.nodeid in later:
            item.add_marker("later")
    kept.told = budget.told(cases, due, known)


def pytest_collection_finish(session):
    """What is told counts the cases that are left where words of the command choose among them."""
    kept, words = session.config.stash[_KEPT], session.config.option.keyword
    if words:
        kept.told = f"{len(session.items)} cases by -k {words!r}; without it: {kept.told}"
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["told"] = kept.told


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    output = getattr(node, "workeroutput", {})
    _SECONDS.update(output.get("seconds", {}))
    told = output.get("told", "")
    node.config.stash[_KEPT].told = told or node.config.stash[_KEPT].told


def pytest_runtest_logreport(report):
    """Whether all parts of a case have passed, and what it rests on."""
    if not _RESULTS.get(report.nodeid, (True,))[0]:
        return
    good = report.outcome == "passed" or (report.outcome == "skipped" and report.when == "setup")
    rests = dict(report.user_properties).get("rests on", ("", ()))
    _RESULTS[report.nodeid] = (good, tuple(rests))


_RESULTS: dict[str, tuple] = {}
_SECONDS: dict[str, float] = {}


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """What a case costs: processor time of everything that pytest does for it, and of programs that it starts."""
    began, shared = _processor(), _SECONDS.get(item.nodeid.partition("::")[0], 0.0)
    done = yield
    shared = _SECONDS.get(item.nodeid.partition("::")[0], 0.0) - shared
    _SECONDS[item.nodeid] = _processor() - began - shared
    return done


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef, request):
    """What a file costs beside its cases: the making of what they share."""
    began = _processor()
    made = yield
    if fixturedef.scope != "function":
        file = request.node.nodeid.partition("::")[0]
        _SECONDS[file] = _SECONDS.get(file, 0.0) + _processor() - began
    return made


def _processor() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def pytest_sessionfinish(session):
    """Keep the digest with which each case has passed; what failed counts as changed the next time."""
    config = session.config
    kept = config.stash[_KEPT]
    if hasattr(config, "workeroutput"):
        config.workeroutput["seconds"] = _SECONDS
    if hasattr(config, "workerinput") or not _RESULTS:
        return
    if "LEMMATA_WRITE_COSTS" in os.environ:
        took: dict[str, list[float]] = {}
        for name, seconds in _SECONDS.items():
            took.setdefault(name.partition("[")[0], []).append(seconds)
        budget.write_costs(took)
    if kept.file is None:
        return
    about = [rests for _, rests in _RESULTS.values()]
    kept.digests.read((module for module, _ in about), claims=any(claims for _, claims in about))
    for name, (good, (module, claims)) in _RESULTS.items():
        kept.passed[name] = (module, kept.digests.of(module, claims) if good else "failed")
    replace_text(kept.file, json.dumps(kept.passed))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(terminalreporter.config.stash[_KEPT].told)
    terminalreporter.write_line(f"cases in turn were chosen by LEMMATA_SEED={budget.seed()}")


def _resident() -> int:
    """The bytes this process holds in memory; without Linux's table of processes, the most that it ever held."""
    table = pathlib.Path("/proc/self/statm")
    if not table.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _give_back() -> None:
    """Forget compiled functions, and give their memory back to the system, which glibc does not by itself."""
    jax.clear_caches()
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def relieve() -> None:
    """Give memory back where the process holds much; where that does not help, not again before it has grown."""
    if _resident() > _LIMIT[0]:
        _give_back()
        _LIMIT[0] = max(_HELD, _resident() + _GROWN)


@pytest.fixture(autouse=True)
def forget_compilations():
    """Compiled functions are forgotten after a test where they hold gigabytes, as those of all tests would."""
    yield
    relieve()


@pytest.fixture(autouse=True)
def leave_the_path():
    """A test that leaves what is no name in `sys.path` fails here, not a later one that looks for a package.

    What the command says to programs that it starts is not said to those of later tests: these find `tests` in the
    current folder, where some libraries install a `tests` of their own.
    """
    yield
    os.environ.pop(SAFE_PATH, None)
    left = [entry for entry in sys.path if not isinstance(entry, str)]
    sys.path[:] = [entry for entry in sys.path if isinstance(entry, str)]
    assert not left, f"sys.path holds {left}"


@pytest.fixture
def unchecked():
    """Annotations are not checked, as they are not for users."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def key():
    return jax.random.key(20_240_501)
