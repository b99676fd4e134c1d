"""A directory in which workers say what they do, and two workers of either kind for all tests of a file."""

import pytest

from lemmata.workers import Processes

from . import tasks


@pytest.fixture(scope="module")
def marks(tmp_path_factory):
    """Of a whole file, since workers have it in their environment from their start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(tasks.MARKS, str(tmp_path_factory.mktemp("marks")))
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
