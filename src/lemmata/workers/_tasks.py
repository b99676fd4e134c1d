"""Run tasks, each with a key, on any executor. Return results and lost tasks one by one as they finish."""

import concurrent.futures
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, TypeVar

from lemmata.core import float64_enabled, one_blas_thread
from lemmata.errors import words_of

_AHEAD = 64  # submitted and unfinished tasks, if an executor does not have an attribute with its number of workers

Key = TypeVar("Key", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Lost:
    """A task that has no result.

    Args:
        key: the key of the task.
        error: what happened, in one line.
    """

    key: Any
    error: str


def finished(
    executor: Executor | None, function: Callable[..., Any], tasks: Iterable[tuple[Key, tuple]]
) -> Iterator[tuple[Key, Any]]:
    """Run tasks on an executor. Yield the key and the result of each task when the task is finished.

    If a task fails, its result is a `Lost`, and the other tasks continue. If the executor dies, the tasks that it has
    received are lost, at most two for each of its workers. The remaining tasks run in this process. If the caller ends
    the iteration early, tasks that have not begun are cancelled. A worker uses float64 if this process uses float64,
    and BLAS gets one thread.

    Args:
        executor: any executor of `concurrent.futures`. With None, the tasks run in this process, one after the other.
        function: a function of a module, so that a worker can import the function.
        tasks: pairs of a key and the arguments of the call. The next pair is taken when the executor has room for it.

    >>> dict(finished(None, divmod, [("a", (7, 2)), ("b", (1, 0))]))
    {'a': (3, 1), 'b': Lost(key='b', error='ZeroDivisionError: integer division or modulo by zero')}
    """
    waiting, running = iter(tasks), dict[Future, Any]()
    float64, room = float64_enabled(), 2 * getattr(executor, "_max_workers", _AHEAD // 2)
    task = next(waiting, None)
    try:
        while task is not None or running:
            while executor is not None and task is not None and len(running) < room:
                try:
                    running[submitted(executor, _run, float64, function, *task)] = task[0]
                except RuntimeError:  # the executor died, or was shut down
                    executor = None
                else:
                    task = next(waiting, None)
            for future in concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)[0]:
                key = running.pop(future)
                yield key, _result(key, future)
            if executor is None and task is not None and not running:
                yield task[0], _run(float64, function, *task)
                task = next(waiting, None)
    finally:
        for future in running:
            future.cancel()


def submitted(executor: Executor, function: Callable[..., Any], *arguments: Any) -> Future:
    """Give a call to an executor.

    Raises:
        RuntimeError: if the executor accepts no more tasks, or if the scheduler of Dask's executor is gone. Without
            this check, Dask's executor would accept tasks and never finish them.
    """
    client = getattr(executor, "_client", None)
    if getattr(client, "status", "running") != "running":
        raise BrokenExecutor("the scheduler is gone")
    return executor.submit(function, *arguments)


def _run(float64: bool, function: Callable[..., Any], key: Any, arguments: tuple) -> Any:
    """Run one task on a worker. An exception is sent as text, because not every exception class can be sent."""
    import jax

    with jax.enable_x64(float64), one_blas_thread():
        try:
            return function(*arguments)
        except (Exception, SystemExit) as error:
            return Lost(key, told_line(error))


def _result(key: Any, future: Future) -> Any:
    """Return a finished future's result. An exception here comes from the executor or a worker, not from the task."""
    try:
        return future.result()
    except (Exception, concurrent.futures.CancelledError) as error:
        return Lost(key, told_line(error))


def told_line(error: BaseException) -> str:
    said = words_of(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
