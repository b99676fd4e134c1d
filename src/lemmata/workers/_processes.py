"""Processes that share this machine's cores. If a process ends, a new process replaces it and runs its task again."""

import atexit
import contextlib
import multiprocessing
import os
import pathlib
import queue
import sys
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from multiprocessing.connection import Connection, wait
from typing import Any

from lemmata.core import available_bytes, check_whole, started
from lemmata.interruption import ignore_interruption

from ._tasks import told_line

ATTEMPTS = 3
"""A task is given up if this number of processes have ended while they ran the task."""
_HELD = 3 * 2**29, 2**32
"""The smallest and the largest value, in bytes, of a limit on the memory of a process.

If a process exceeds the limit after a task, a new process replaces it. Compiled functions fill the memory of a process,
and each function takes a few of the 65,530 memory mappings that a process may have. The limit is half of the machine's
remaining memory, but lies between these two values. The new process compiles its functions again."""


class Processes(Executor):
    """An executor of processes that share this machine's cores.

    If a process ends, a new process replaces it and runs its task again.

    Each process imports the script again, so a script must guard its own code by `if __name__ == "__main__":`. In each
    process, JAX uses only a share of the cores, so two processes on two cores do not compete. If a task loses its
    process three times (killed, or out of memory), its result is a `BrokenExecutor`. The other tasks continue.

    Args:
        jobs: the number of processes.

    Raises:
        SettingError: if jobs is not a whole number above 0.
    """

    def __init__(self, jobs: int):
        check_whole("jobs", jobs, 1, "processes")
        self._max_workers = int(jobs)
        self._tasks: queue.SimpleQueue[tuple[Future, tuple] | None] = queue.SimpleQueue()
        self._closed, self._ended, self._lock = False, False, threading.Lock()
        self._children: dict[int, _Child] = {}
        self._threads = [threading.Thread(target=self._work, args=(k,), daemon=True) for k in range(jobs)]
        for thread in self._threads:
            thread.start()
        atexit.register(self.end)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Put the call fn(*args, **kwargs) into the queue for the next free process."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the processes were shut down")
            future: Future = Future()
            self._tasks.put((future, (fn, args, kwargs)))
            return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls. Wait for the accepted calls, or cancel the calls that have not begun."""
        with self._lock:
            if not self._closed:
                self._closed = True
                waiting = self._waiting() if cancel_futures else []
                for _ in self._threads:
                    self._tasks.put(None)
                for future in waiting:
                    future.cancel()
                    future.set_running_or_notify_cancel()
        if wait:
            for thread in self._threads:
                thread.join()
            atexit.unregister(self.end)

    def _waiting(self) -> list[Future]:
        """Remove and return the tasks that no process has begun."""
        found = []
        with contextlib.suppress(queue.Empty):
            while (task := self._tasks.get_nowait()) is not None:
                found.append(task[0])
        return found

    def end(self) -> None:
        """End the processes at once, even if they are busy."""
        with self._lock:
            self._ended = True
        self.shutdown(wait=False, cancel_futures=True)
        for child in list(self._children.values()):
            child.process.terminate()
        self.shutdown(wait=True)

    def __exit__(self, kind: Any, *_: object) -> None:
        """Wait for the accepted tasks, or end them if an error ended the context."""
        self.shutdown() if kind is None else self.end()

    def _work(self, number: int) -> None:
        """Pass tasks to one process, and start a new process if it ends. Each process has a thread that does this."""
        while (task := self._tasks.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._answer(number, call))
            except BaseException as error:
                future.set_exception(error)
        if number in self._children:
            self._children.pop(number).close()

    def _answer(self, number: int, call: tuple) -> Any:
        code = None
        for _ in range(ATTEMPTS):
            child = self._child(number)
            if child is None:
                break
            try:
                child.end.send(call)
                answer, error, lasts = child.end.recv()
            except (EOFError, OSError):
                code = self._children.pop(number).close()
                continue
            if not lasts:
                self._children.pop(number).close()
            if error is not None:
                raise error
            return answer
        raise BrokenExecutor("the processes were ended" if self._ended else
                             (
                                 f"{ATTEMPTS} processes ended while they ran the task, the last with exit code {code}"
                             ))  # fmt: skip

    def _child(self, number: int) -> "_Child | None":
        """Return the process with this number, and start it if necessary. Return None after `end` was called."""
        with self._lock:
            if self._ended:
                return None
            if number not in self._children:
                self._children[number] = _Child(max(1, (os.cpu_count() or 1) // self._max_workers), number)
            return self._children[number]


class _Child:
    """A process and the connection to it."""

    def __init__(self, threads: int, number: int):
        context = multiprocessing.get_context("spawn")
        self.end, there = context.Pipe()
        # The process is not a daemon, because a daemon may not start processes. `end_with_parent` ends the process.
        self.process = started(context.Process(target=_serve, args=(there, threads, number)))
        there.close()  # so that each process notices if the other process ends

    def close(self) -> int | None:
        """Let the process end, and return its exit code."""
        self.end.close()
        self.process.join()
        return self.process.exitcode


def _serve(end: Connection, threads: int, number: int) -> None:
    """Run the calls that arrive, until the connection is closed. Text that the calls print goes to stderr."""
    ignore_interruption()
    sys.stdout = sys.stderr
    threading.Thread(target=end_with_parent, daemon=True).start()
    share_cores(threads, number)
    lasts = True
    with contextlib.suppress(EOFError, OSError):
        while lasts:
            try:
                function, args, kwargs = end.recv()
                answer, error = function(*args, **kwargs), None
            except EOFError:
                return
            except (Exception, SystemExit) as found:  # also if this process cannot import the function
                answer, error = None, found
            lasts = _lasts()
            try:
                end.send((answer, error, lasts))
            except OSError:
                return
            except Exception as found:
                end.send((None, RuntimeError(f"no answer: {told_line(error or found)}"), lasts))


def end_with_parent() -> None:
    """End this process, even during a task, if the process that started it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def share_cores(threads: int, number: int) -> None:
    """Start JAX in this process with a limited number of threads.

    When JAX starts, its thread pool gets one thread for each core that the process may use. Therefore, the process may
    use only some of the cores while JAX starts. Afterwards, its threads may run on any core, because other programs may
    be busy on these cores.

    Args:
        threads: the number of threads.
        number: the number of the process, counted from 0.
    """
    import jax

    os.environ["OMP_NUM_THREADS"] = str(threads)
    if not hasattr(os, "sched_setaffinity"):
        jax.devices()
        return
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[(number * threads + k) % len(cores)] for k in range(threads)})
    jax.devices()
    for thread in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cores)


def _lasts() -> bool:
    """Whether this process may take another task, because its memory is below the limit (see `_HELD`)."""
    least, most = _HELD
    return _resident() < max(least, min(most, available_bytes() // 2))


def _resident() -> int:
    """The bytes of memory that this process uses; 0 if the system has no file /proc/self/statm."""
    table = pathlib.Path("/proc/self/statm")
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if table.exists() else 0
