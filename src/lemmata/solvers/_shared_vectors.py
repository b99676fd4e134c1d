"""Products with a matrix in which each task of an executor computes a run of rows.

Vectors are passed to workers through files. The results come back to the caller, which puts them in order.
"""

import contextlib
import pathlib
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np

from lemmata.core import completed, refusing_disk_errors, write_array
from lemmata.errors import ShapeError


def runs_of_rows(rows: int, block: int, most: int) -> list[tuple[int, int]]:
    """Return the first row and the end of each run of whole blocks. There are at most `most` runs.

    Args:
        rows: the number of rows.
        block: the number of rows of a block.
        most: the largest number of runs.
    """
    blocks = -(-rows // block)
    step = block * -(-blocks // most)
    return [(start, min(start + step, rows)) for start in range(0, rows, step)]


@contextlib.contextmanager
def scratch(folder: str | pathlib.Path | None) -> Iterator[pathlib.Path]:
    """Return a context with a new folder inside a folder that workers can read. The new folder is removed at the end.

    Args:
        folder: the folder that workers can read. None means a new folder on this machine.

    Raises:
        DataError: if the folder cannot be made.
    """
    with contextlib.ExitStack() as stack:
        with refusing_disk_errors(f"folder {folder or tempfile.gettempdir()}"):
            if folder is not None:
                pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            made = tempfile.TemporaryDirectory(prefix="lemmata-", dir=folder, ignore_cleanup_errors=True)
            place = pathlib.Path(stack.enter_context(made)).absolute()
            # The new folder gets the permissions of the caller's folder, because workers may belong to another user.
            if folder is not None:
                place.chmod(pathlib.Path(folder).stat().st_mode & 0o777)
        yield place


def shared_product(
    executor: Executor,
    multiply: Callable[..., np.ndarray],
    folder: pathlib.Path,
    v: np.ndarray,
    runs: list[tuple[int, int]],
    given: tuple[Any, ...],
) -> np.ndarray:
    """Return the product of a matrix and v. Each task computes one run of rows.

    Args:
        executor: the executor that runs the tasks.
        multiply: a function (file of v, first row, end, *given) that returns these rows of the product.
        folder: the folder that workers can read.
        v: one row for each column of the matrix.
        runs: the first row and the end of each task.
        given: further arguments of `multiply`.

    Raises:
        ShapeError: if v has another number of rows.
        DataError, SolverError: for the same reasons as `lemmata.core.completed`.
    """
    if len(v) != (rows := runs[-1][1]):
        raise ShapeError("vector v", found=f"shape {v.shape}", rule=f"one row for each of the {rows} points")
    # Each product has a new file name, so that no worker uses a cached file of an earlier product.
    file = folder / f"{uuid.uuid4().hex}.npy"
    write_array(file, v)
    try:
        tasks = ((str(file), start, end, *given) for start, end in runs)
        name = lambda task: f"rows {task[1]} to {task[2]} of the product"
        parts = {task[1]: part for task, part in completed(executor, multiply, tasks, name)}
    finally:
        file.unlink(missing_ok=True)
    return np.concatenate([parts[start] for start, _ in runs])
