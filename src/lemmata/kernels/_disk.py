"""Gram matrices on disk: compute them tile by tile into a zarr array, and continue interrupted computations."""

import pathlib
import shutil
import sys
import uuid
from concurrent.futures import Executor
from types import ModuleType
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from lemmata.core import available_bytes, check_executor, completed, float64_enabled, refusing_disk_errors
from lemmata.errors import DataError, MemoryPlanError

from ._base import AbstractKernel
from ._plan import GramPlan, check_blocks, gram_plan, size
from ._points import checked_problem
from ._problem_digest import problem_digest
from ._stored_tiles import FORMAT, chunks_of, compute_tile, load_zarr, share_points, tile_name, write_tile
from ._tiles import tile_of


def gram_on_disk(
    kernel: AbstractKernel,
    x: Float[Array, "n *shape"],
    y: Float[Array, "m *shape"] | None = None,
    *,
    path: str | pathlib.Path,
    block: int | None = None,
    working_set: int | None = None,
    executor: Executor | None = None,
) -> Any:
    """Write the matrix of `gram` as a zarr array (n, m) at `path`. The whole matrix is never in memory.

    The chunks of the array are the square tiles of the plan that `gram_plan` returns. If `y` is None, only the tiles on
    and above the diagonal are computed, and the other tiles are their transposes. A tile counts as finished only when
    it is completely written. If a run was interrupted or killed, the same call computes only the missing tiles. If the
    folder contains the matrix of another kernel or of other points, an error is raised. To detect such a folder, the
    function compares the stored digest with the digest of the points and the kernel. The function also computes the
    first finished tile again and compares the values. For the other finished tiles, only the file size is checked. This
    function needs zarr, which the extra `disk` of the package installs.

    With an `executor`, its workers compute the tiles and write each tile into its own chunks. If a worker dies, its
    tile does not count as finished, and another worker or the next call computes the tile. All workers read the points
    from the folder under the same path. So the workers must run on one machine, or share the storage. If the processors
    are of one kind and use equally many threads, the matrix equals the matrix of a call without executor, bit for bit.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        y: other points; `None` means `x` itself.
        path: the folder of the array. If the folder contains an array, its finished tiles are kept.
        block: rows of a tile. If the folder contains an array, the rows of its tiles are used instead, and a note is
            printed to standard error.
        working_set: bytes that the work of each worker may take besides the points; `None` means 256 MiB.
        executor: any `concurrent.futures.Executor`, such as that of a Dask client (`client.get_executor()`); None
            computes the tiles in this process.

    Returns:
        The array (`zarr.Array`), opened for reading; `zarr.open_array(path)` opens it later.

    Raises:
        DataError: if the folder contains other files, a damaged array (the message names the tile) or the matrix of
            another problem. This error is also raised if the disk is full, or if the folder is not writable.
        MemoryPlanError: if a tile does not fit into memory or the matrix onto the disk; the message states the plan.
        SettingError: if zarr is not installed or the executor has another type, and for the same reasons as `gram`.
        SolverError: if the executor died or a worker did not answer; the message names the tile. Finished tiles are
            kept, and repeating the call with a working executor continues.
        ShapeError: for the same reasons as `gram`.

    Example:
        >>> import pathlib, tempfile
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear, gram_on_disk
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "gram"
        >>> matrix = gram_on_disk(Linear(), jnp.eye(5), path=folder, block=2)
        >>> matrix.shape, matrix.chunks, float(matrix[4, 4])
        ((5, 5), (2, 2), 1.0)
    """
    zarr = load_zarr("gram_on_disk")
    check_executor(executor)
    x, y, _ = checked_problem(kernel, x, y)
    other = x if y is None else y
    if 0 in (len(x), len(other)):
        raise DataError("points", found="no row", rule="at least one row")
    folder, digest = pathlib.Path(path), problem_digest(kernel, x, y)
    check_blocks(block, working_set)
    stored = _stored(zarr, folder, digest) if folder.exists() and any(folder.iterdir()) else None
    if stored is not None:
        if block not in (None, kept := stored.chunks[0]):
            print(
                (
                    f"lemmata: the matrix in {folder} already has tiles of {kept} x {kept}. These tiles are kept, "
                    f"and not replaced by tiles of {block} x {block}"
                ),
                file=sys.stderr,
            )
        block = kept
    plan = gram_plan(kernel, x, y, block=block, working_set=working_set if block is None else None)
    _refuse_too_large(plan, folder)
    plan.announce()
    with refusing_disk_errors(f"folder {folder}"):
        if stored is None:
            stored = zarr.create_array(
                store=str(folder), shape=(plan.rows, plan.columns), chunks=(plan.block, plan.block),
                dtype=x.dtype.name, compressors=None, fill_value=float("nan"),
                attributes={"format": FORMAT, "digest": digest, "symmetric": plan.symmetric},
            )  # fmt: skip
        (folder / "done").mkdir(exist_ok=True)
    _fill(stored, plan, folder, (kernel, x, y), executor)
    return zarr.open_array(str(folder), mode="r", zarr_format=3)


def _fill(
    stored: Any,
    plan: GramPlan,
    folder: pathlib.Path,
    problem: tuple[AbstractKernel, Array, Array | None],
    executor: Executor | None,
) -> None:
    """Check the first finished tile by computing it again.

    Then compute the missing tiles, in this process or on the workers of an executor.
    """
    finished = {entry.name for entry in (folder / "done").iterdir()}
    missing = [place for place in plan.tiles if tile_name(*place) not in finished]
    _check_chunks(plan, folder, finished)
    tile, b = tile_of(*problem, plan.block), plan.block
    if (first := next((place for place in plan.tiles if tile_name(*place) in finished), None)) is not None:
        i, j = first
        _compare(np.asarray(tile(i, j)), stored[i * b : (i + 1) * b, j * b : (j + 1) * b], folder)
    if executor is None:
        for i, j in missing:
            write_tile(stored, plan, folder, i, j, np.asarray(tile(i, j)))
        return
    kernel, x, y = problem
    share_points(folder, x, y)
    call = uuid.uuid4().hex  # a scheduler returns the stored result if it receives the same task twice
    where = str(folder.absolute())
    tasks = ((where, plan, kernel, float64_enabled(), i, j, call) for i, j in missing)
    for _ in completed(executor, compute_tile, tasks, lambda task: f"tile {tile_name(*task[4:6])} in {task[0]}"):
        pass
    _check_chunks(plan, folder, {tile_name(*place) for place in plan.tiles})


def _check_chunks(plan: GramPlan, folder: pathlib.Path, finished: set[str]) -> None:
    """Refuse finished tiles whose files are missing or have another size.

    The files are not compressed, so every file of a tile has the same known size.
    """
    expected = plan.block**2 * plan.itemsize
    for i, j in plan.tiles:
        for chunk in chunks_of(plan, folder, i, j) if tile_name(i, j) in finished else ():
            found = chunk.stat().st_size if chunk.is_file() else None
            if found != expected:
                raise DataError(
                    f"tile {tile_name(i, j)} in {folder}",
                    rule=f"{expected} bytes in {chunk.relative_to(folder)}",
                    found="no file" if found is None else f"a damaged array: {found} bytes",
                    remedy=f"remove {folder / 'done' / tile_name(i, j)}, and repeat the call to compute this tile "
                    "again",
                )


def _compare(computed: np.ndarray, found: np.ndarray, folder: pathlib.Path) -> None:
    # Values of the same kernel on another machine differ by rounding. Values of another function with the same name
    # differ by more.
    allowed = np.sqrt(np.finfo(computed.dtype).eps) * max(float(np.abs(computed).max()), np.finfo(computed.dtype).tiny)
    if not np.all(np.abs(computed - found) <= allowed):
        raise DataError(
            f"folder {folder}",
            found="a finished tile with other values than this kernel gives",
            rule="the matrix of this kernel and these points",
            remedy="choose another path, or remove the folder",
        )


def _stored(zarr: ModuleType, folder: pathlib.Path, digest: str) -> Any:
    try:
        stored = zarr.open_array(str(folder), mode="r+", zarr_format=3)
        found = stored.attrs.get("format"), stored.attrs.get("digest")
    except Exception as error:  # the readers of metadata in zarr raise many classes of errors
        raise DataError(
            f"folder {folder}",
            found=f"a folder without a readable zarr array ({type(error).__name__}: {error})",
            rule="a new folder, or a folder that gram_on_disk wrote",
            remedy="choose another path, or remove the folder",
        ) from error
    if found != (FORMAT, digest):
        what = (
            "a zarr array that gram_on_disk did not write"
            if found[0] != FORMAT
            else "the matrix of another kernel or of other points"
        )
        raise DataError(
            f"folder {folder}",
            found=what,
            rule="the matrix of this kernel and these points",
            remedy="choose another path, or remove the folder",
        )
    return stored


def _refuse_too_large(plan: GramPlan, folder: pathlib.Path) -> None:
    if plan.working_bytes > (free := available_bytes()):
        raise MemoryPlanError(
            "work on a tile",
            found=str(plan),
            rule=f"at most the {size(free)} that are free",
            remedy="choose a smaller working_set",
        )
    parent = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    written = sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file()) if folder.exists() else 0
    if plan.output_bytes - written > (free := shutil.disk_usage(parent).free):
        raise MemoryPlanError(
            "Gram matrix on disk",
            found=str(plan),
            rule=f"at most the {size(free)} that are free at {parent}",
            remedy="use another disk, fewer points, or float32",
        )
