"""A directory in which workers say what they do, and two workers of either kind for all tests of a file."""

import multiprocessing
import types

import pytest

import lemmata.workers._processes
from lemmata.workers import Processes
from tests.executors import ready_processes

from . import tasks


@pytest.fixture(scope="session")
def marks():
    """Of a whole session, since workers have it in their environment from their start."""
    tasks.folder().mkdir(exist_ok=True)


@pytest.fixture(scope="session")
def imported():
    return ready_processes()


@pytest.fixture(scope="module", autouse=True)
def quick_processes(imported):
    """A process that takes the place of another imports nothing again: most of these tests end some."""
    known = types.SimpleNamespace(get_context=lambda method: imported, parent_process=multiprocessing.parent_process)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lemmata.workers._processes, "multiprocessing", known)
        yield


@pytest.fixture
def clean(marks):
    for path in tasks.folder().iterdir():
        path.unlink()


@pytest.fixture(scope="module")
def processes(marks):
    with Processes(2) as executor:
        yield executor


@pytest.fixture(scope="module")
def cluster(marks):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit="1.5GiB", dashboard_address="127.0.0.1:0"
    ) as found:
        yield found.scheduler_address
