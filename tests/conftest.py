"""Float64 for theory, one BLAS thread a worker, quick compilation, rare collections, and the cases that a run takes.

Two workers with two threads each would fight over two cores. Most of the time of these tests is the compilation of
functions that run once, so XLA optimises little, and it takes its older emitter of fused loops, which compiles a small
function in a third of the time; both give way to flags of the caller's. Batches of systems are solved one after the
other, since jaxlib 0.10 may wait for ever. Nothing compiled is shared between processes, since one would read what
another is still writing; what a process holds of it is bounded. Python looks for circles of objects once in 50,000 new
ones, not in 700: each look passes over all that JAX holds.
"""

import gc
import importlib.metadata
import os
import pathlib
import tempfile

from lemmata.cli import solve_in_turn

# XLA reads its flags at the first computation, and ends the process at one that it does not know.
_FLAGS = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
if (0, 8) <= tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2])) <= (0, 10):
    os.environ.setdefault("XLA_FLAGS", _FLAGS)
solve_in_turn()

import jax  # noqa: E402
import pytest  # noqa: E402

from lemmata.core import one_blas_thread  # noqa: E402
from tests import rotation  # noqa: E402

# Bytes that a worker may hold before it forgets its compiled functions.
_HELD = 5 * 2**30

os.environ["LEMMATA_CACHE_DIR"] = ""  # commands that tests start keep no compilations
_DATA = tempfile.TemporaryDirectory(prefix="lemmata-tests-")  # nor do they touch the ledger of whoever runs them
os.environ["LEMMATA_DATA_DIR"] = _DATA.name
jax.config.update("jax_enable_x64", True)
one_blas_thread().__enter__()
gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Cases of rotating tests whose turn it is not are left to the exhaustive run, of which one may ask for a share."""
    rotating = [(item, mark) for item in items if (mark := item.get_closest_marker("rotating"))]
    turns = [rotation.Turn(item.function.__qualname__, _judged(item, mark), mark.args[0]) for item, mark in rotating]
    modules = [item.module.__name__ for item, _ in rotating]
    for index in set(range(len(turns))) - rotation.chosen(modules, turns, rotation.seed()):
        rotating[index][0].add_marker("exhaustive")
    left_out = rotation.beyond_the_share([item.nodeid for item in items if item.get_closest_marker("exhaustive")])
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
    items[:] = [item for item in items if item.nodeid not in left_out]


def _judged(item, mark) -> str:
    """What a case is about: the value of the parameter that the mark names; without a name, what its file is about."""
    value = item.callspec.params[mark.kwargs["over"]] if "over" in mark.kwargs else item.module.__name__
    return str(getattr(value, "judged", getattr(value, "name", value)))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"rotating cases were chosen by LEMMATA_SEED={rotation.seed()}")


def _resident() -> int:
    """The bytes this process holds in memory; without Linux's table of processes, as many as there are."""
    table = pathlib.Path("/proc/self/statm")
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if table.exists() else 2**62


@pytest.fixture(scope="module", autouse=True)
def forget_compilations():
    """Compiled functions are forgotten at the end of a file where they hold gigabytes, as those of all files would."""
    yield
    if _resident() > _HELD:
        jax.clear_caches()


@pytest.fixture
def key():
    return jax.random.key(20_240_501)
