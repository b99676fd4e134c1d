"""Float64 for theory, one BLAS thread a worker, and compilations that are kept within bounds.

Two workers with two threads each would fight over two cores. Most of the time of these tests is compilation: what one
test compiled, others take from a directory, that of pytest's cache; what a process holds of it is bounded too.
"""

import os
import pathlib

import jax
import pytest

from lemmata.core import one_blas_thread

# Bytes that a worker may hold before it forgets its compiled functions.
_HELD = 3 * 2**30

jax.config.update("jax_enable_x64", True)
one_blas_thread().__enter__()


def pytest_configure(config):
    """Compilations are shared by workers, commands that tests start, and later runs; not with the user's commands."""
    os.environ["LEMMATA_CACHE_DIR"] = ""
    settings = {
        "jax_compilation_cache_dir": str(config.cache.mkdir("compilations")),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)


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
