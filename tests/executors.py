"""Executors whose workers are other processes, and a death among them at a moment that is observed."""

import contextlib
import multiprocessing
import multiprocessing.forkserver
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import ForkServerContext

import pytest

from lemmata.code_files import SAFE_PATH

PATIENCE = 120.0  # seconds until a test gives up on an event


def ready_processes() -> ForkServerContext:
    """Processes that start in a moment, from one that has imported everything and computed nothing.

    There is one such process for all test files that a worker of pytest runs: the first that asks names the modules.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.workers.tasks", "tests.engine.ledger.slow"])
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(SAFE_PATH, raising=False)
        multiprocessing.forkserver.ensure_running()  # here, where it finds the tests in the current folder
    return context


def two_processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@contextlib.contextmanager
def two_dask_workers():
    """A client of a scheduler with two worker processes of one thread each."""
    distributed = pytest.importorskip("distributed", reason="the extra `scale` is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def wait_for(event) -> None:
    """Return when the event is there, and fail where it does not come."""
    end = time.monotonic() + PATIENCE
    while not event():
        assert time.monotonic() < end, "the event did not come"
        time.sleep(0.002)


@contextlib.contextmanager
def killed_when(event, pid: int):
    """Kill a process once the event is seen; says at the end whether that came to pass in the block."""
    seen, over = [], threading.Event()

    def watch():
        end = time.monotonic() + PATIENCE
        while not over.is_set() and time.monotonic() < end:
            if event():
                os.kill(pid, signal.SIGKILL)
                seen.append(pid)
                return
            time.sleep(0.001)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, size: int):
    """A disk of so many bytes at the folder, and the function that gives it more.

    It is a file system of its own where one may be mounted, and else a limit on the size of a file of this process.
    """
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True).returncode == 0
    if mounted:
        try:
            yield lambda: subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (min(size, 1000), before[1]))
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # Python would keep halves of what it compiles
    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = compiles
        signal.signal(signal.SIGXFSZ, ignored)
