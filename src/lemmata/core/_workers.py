"""Run tasks on the workers of a `concurrent.futures.Executor`.

Results are returned as they arrive, and an error names the task that failed.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, NoReturn

from lemmata.errors import LemmataError, SettingError, SolverError

# the number of tasks that wait at an executor: enough for some hundred workers, and few enough for a scheduler's memory
WAITING = 1024


def check_executor(executor: object) -> None:
    """Refuse anything that is not an executor.

    Args:
        executor: the object that must be an executor; None means the caller's own process.

    Raises:
        SettingError: for any other value.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise SettingError(
            "executor",
            found=f"a {type(executor).__name__}",
            rule="a concurrent.futures.Executor, or None",
            remedy="use ProcessPoolExecutor(2, mp_context=get_context('spawn')), or client.get_executor() "
            "of a Dask client",
        )


def completed(
    executor: Executor, function: Callable[..., Any], tasks: Iterable[tuple], name: Callable[[tuple], str]
) -> Iterator[tuple[tuple, Any]]:
    """Yield each task and its result function(*task), in the order in which the results arrive.

    At most 1,024 tasks wait at the executor. After the first error, tasks that have not begun are cancelled.

    Args:
        executor: the executor that runs the function. Its workers must be able to import the function by its name.
        function: the function to run.
        tasks: the arguments of each call, one tuple for each task.
        name: a function that returns the name of a task, for error messages.

    Raises:
        LemmataError: the error that a task raised, with the name of the task in front. Errors from outside this library
            become a SolverError, for example if a worker died, the executor was shut down, or an argument cannot be
            sent.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(2) as two:
        ...     sorted(completed(two, pow, [(2, 3), (5, 2)], str))
        [((2, 3), 8), ((5, 2), 25)]
    """
    left, waiting = iter(tasks), {}
    try:
        while True:
            for task in itertools.islice(left, WAITING - len(waiting)):
                try:
                    waiting[executor.submit(function, *task)] = task
                except Exception as error:  # an executor that is shut down, or broken, refuses tasks at once
                    _fail(error, name(task))
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                task = waiting.pop(future)
                yield task, _result(future, name(task))
    finally:
        for future in waiting:
            with contextlib.suppress(Exception):  # a scheduler that is gone cannot cancel anything
                future.cancel()


def _result(future: Future, name: str) -> Any:
    try:
        return future.result()
    except Exception as error:
        _fail(error, name)


def _fail(error: Exception, name: str) -> NoReturn:
    if isinstance(error, LemmataError):
        what = error.what if error.what.startswith(name) else f"{name}: {error.what}"
        raise type(error)(what, found=error.found, rule=error.rule, remedy=error.remedy) from error
    said = next(iter(str(error).splitlines()), "")
    raise SolverError(
        f"{name} on a worker",
        found=f"{type(error).__name__}{': ' * bool(said)}{said}",
        rule=(
            "a running executor, workers that can open the folder of the results, and functions that are defined at "
            "the top level of a module"
        ),
        remedy="repeat the call with a working executor",
    ) from error
