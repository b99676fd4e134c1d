"""Sum the normal equations of least squares on centres by workers, which store partial sums until all are complete."""

import contextlib
import hashlib
import pathlib
import shutil
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import completed, read_array, write_array
from lemmata.kernels import AbstractKernel, problem_digest

from ._normal_equations import summed_blocks, whitened
from ._shared_vectors import runs_of_rows, scratch

Sums = Callable[..., tuple[Any, Any]]
_PARTS = ("x", "y", "z", "factor")


def shared_normal_equations(
    kernel: AbstractKernel,
    factor: Float[Array | np.ndarray, "p p"],
    z: Float[Array, "p d"],
    x: Float[Array, "n d"],
    y: Float[Array | np.ndarray, "n k"],
    rows: int,
    executor: Executor,
    tasks: int,
    folder: str | pathlib.Path | None,
) -> Sums:
    """Return a function that computes `normal_equations(..., last=)` of this problem on the workers of an executor.

    Args:
        kernel: the kernel K.
        factor: the Cholesky factor L.
        z: the centres.
        x: the points.
        y: the targets.
        rows: the number of rows of a block.
        executor: the executor whose workers sum the runs of rows.
        tasks: the largest number of runs.
        folder: a folder that all workers can read. Sums of the same problem that are stored there are not computed
            again. None means a folder on this machine.

    Raises:
        DataError, SolverError: from the returned function, for the same reasons as `lemmata.core.completed`.
    """
    arrays: dict[str, np.ndarray] = dict(zip(_PARTS, map(np.asarray, (x, y, z, factor)), strict=True))
    shape = (len(z), len(z) + y.shape[1])
    runs = runs_of_rows(len(x), rows, tasks)

    def sums(*, last: bool) -> tuple[Any, Any]:
        with _place(folder, lambda: _name(kernel, arrays, rows, runs, last)) as place:
            for name, array in arrays.items():
                write_array(place / f"{name}.npy", array)
            files = [place / f"rows-{start}-{end}.npy" for start, end in runs]
            given, call = (kernel, rows, last), uuid.uuid4().hex
            missing = [
                (str(place), *run, *given, call)
                for run, file in zip(runs, files, strict=True)
                if not _is_whole(file, shape)
            ]
            for _ in completed(executor, _sum_run, missing, lambda task: f"the sum over rows {task[1]} to {task[2]}"):
                pass
            both = np.zeros(shape)
            for file in files:  # in the order of the rows, and not in the order of arrival
                both += read_array(file)
        return whitened(both[:, : len(z)], both[:, len(z) :], factor if last else None)

    return sums


def _sum_run(place: str, start: int, end: int, kernel: AbstractKernel, rows: int, last: bool, call: str) -> None:
    """Sum the blocks of some rows, and write the sums of squares and products to one file. A worker runs this function.

    `call` makes the arguments of every call unique. Otherwise, a scheduler may return its stored result of an equal
    task.
    """
    folder = pathlib.Path(place)
    with jax.enable_x64(True):
        x, y, z, factor = (read_array(folder / f"{name}.npy") for name in _PARTS)
        sums = summed_blocks(
            kernel,
            None if last else jnp.asarray(factor),
            jnp.asarray(z),
            jnp.asarray(x[start:end]),
            y[start:end],
            min(rows, end - start),
        )
        write_array(folder / f"rows-{start}-{end}.npy", np.concatenate([np.asarray(part) for part in sums], axis=1))


@contextlib.contextmanager
def _place(folder: str | pathlib.Path | None, name: Callable[[], str]) -> Iterator[pathlib.Path]:
    """Return a context with a folder for the files of a problem.

    If `folder` is None, the new folder is temporary. Otherwise, the folder stays until all sums are complete.
    """
    if folder is None:
        with scratch(None) as place:
            yield place
        return
    place = pathlib.Path(folder).absolute() / name()
    yield place
    shutil.rmtree(place, ignore_errors=True)


def _name(
    kernel: AbstractKernel, arrays: dict[str, np.ndarray], rows: int, runs: list[tuple[int, int]], last: bool
) -> str:
    """Return a folder name that no other problem has. The name contains a digest of the problem.

    Functions in the kernel enter the digest by their names, and by the kernel's entries at up to 16 points and centres.
    """
    x, z = jnp.asarray(arrays["x"]), jnp.asarray(arrays["z"])
    digest = hashlib.sha256(problem_digest(kernel, x, z).encode())
    digest.update(np.asarray(kernel.cross(x[:16], z[:16])).tobytes())
    for name in ("y", "factor"):
        digest.update(f"{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    digest.update(f"{rows} {runs} {last}".encode())
    return f"sums-{digest.hexdigest()[:16]}"


def _is_whole(file: pathlib.Path, shape: tuple[int, int]) -> bool:
    try:
        return read_array(file).shape == shape
    except (OSError, ValueError):
        return False
