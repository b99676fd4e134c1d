"""Gram matrices on disk: computed tile by tile into a zarr array, and continued where they were interrupted."""

import hashlib
import pathlib
import re
import shutil
import sys
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import available_bytes
from lemmata.errors import DataError, MemoryPlanError, SettingError

from ._base import AbstractKernel
from ._plan import GramPlan, check_blocks, gram_plan, size
from ._points import checked_problem
from ._tiles import tile_of

_FORMAT = "lemmata gram matrix 1"


def gram_on_disk(
    kernel: AbstractKernel,
    x: Float[Array, "n *shape"],
    y: Float[Array, "m *shape"] | None = None,
    *,
    path: str | pathlib.Path,
    block: int | None = None,
    working_set: int | None = None,
) -> Any:
    """The matrix of `gram` as a zarr array (n, m) at `path`, without ever holding it in memory.

    The chunks are the tiles of `gram_plan`; where `y` is None, half of them are computed and the others are their
    transposes. A tile counts once it is wholly written, so a run that was interrupted, even killed, is continued by the
    same call: only missing tiles are computed. A folder of another problem is refused: the points and the
    kernel's description are compared by their digest, and the first finished tile, computed again, by its values; of
    the other finished tiles only the size is checked. Needs the extra `disk`.

    Args:
        kernel: the kernel K.
        x: points, one a row.
        y: other points; `None` means `x` itself.
        path: the folder of the array; one that is there is continued, with the tiles that it has.
        block: rows of a tile; a folder that is continued keeps its own, and a note on standard error says so.
        working_set: bytes that the work beside the points may take; `None` is 256 MiB.

    Returns:
        The array (`zarr.Array`), opened for reading; `zarr.open_array(path)` opens it later.

    Raises:
        DataError: where the folder holds something else, a damaged array (names the tile), or the matrix of another
            problem.
        MemoryPlanError: where memory does not hold a tile, or the disk not the matrix; says the plan.
        SettingError: where zarr is not installed, or as `gram`.
        ShapeError: as `gram`.

    Example:
        >>> import pathlib, tempfile
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear, gram_on_disk
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "gram"
        >>> matrix = gram_on_disk(Linear(), jnp.eye(5), path=folder, block=2)
        >>> matrix.shape, matrix.chunks, float(matrix[4, 4])
        ((5, 5), (2, 2), 1.0)
    """
    zarr = _zarr()
    x, y, _ = checked_problem(kernel, x, y)
    other = x if y is None else y
    if 0 in (len(x), len(other)):
        raise DataError("points", found="none", rule="at least one row")
    folder, digest = pathlib.Path(path), _digest(kernel, x, y)
    check_blocks(block, working_set)
    stored = _stored(zarr, folder, digest) if folder.exists() and any(folder.iterdir()) else None
    if stored is not None:
        if block not in (None, kept := stored.chunks[0]):
            print(f"lemmata: {folder} keeps its tiles of {kept} x {kept}, not {block} x {block}", file=sys.stderr)
        block = kept
    plan = gram_plan(kernel, x, y, block=block, working_set=working_set if block is None else None)
    _refuse_too_large(plan, folder)
    plan.announce()
    if stored is None:
        stored = zarr.create_array(
            store=str(folder), shape=(plan.rows, plan.columns), chunks=(plan.block, plan.block), dtype=x.dtype.name,
            compressors=None, fill_value=float("nan"), attributes={"format": _FORMAT, "digest": digest},
        )  # fmt: skip
        (folder / "done").mkdir()
    _fill(stored, plan, folder / "done", (kernel, x, y))
    return zarr.open_array(str(folder), mode="r")


def _fill(stored: Any, plan: GramPlan, done: pathlib.Path, problem: tuple[AbstractKernel, Array, Array | None]) -> None:
    """Compute the missing tiles; compare the first of the finished ones."""
    done.mkdir(exist_ok=True)
    finished = {entry.name for entry in done.iterdir()}
    _check_chunks(plan, done, finished)
    tile, b = tile_of(*problem, plan.block), plan.block
    compared = False
    for i, j in plan.tiles:
        rows, columns = slice(i * b, (i + 1) * b), slice(j * b, (j + 1) * b)
        if (name := f"{i}.{j}") in finished:
            if not compared:
                _compare(np.asarray(tile(i, j)), stored[rows, columns], done.parent)
            compared = True
            continue
        values = np.asarray(tile(i, j))
        chunks = _chunks(plan, done.parent, i, j)
        for chunk in chunks:
            chunk.unlink(missing_ok=True)  # zarr reads what is there, damaged or not, before it writes a part
        stored[rows, columns] = values
        if plan.symmetric and i < j:
            stored[columns, rows] = values.T
        # Chunks are written whole or not at all, and this after them; one of nothing but nan is not written.
        if all(chunk.is_file() for chunk in chunks):
            (done / name).touch()


def _chunks(plan: GramPlan, folder: pathlib.Path, i: int, j: int) -> list[pathlib.Path]:
    """The files of a tile and of its transpose."""
    places = [(i, j), (j, i)] if plan.symmetric and i < j else [(i, j)]
    return [folder / "c" / str(row) / str(column) for row, column in places]


def _check_chunks(plan: GramPlan, done: pathlib.Path, finished: set[str]) -> None:
    """Refuse finished tiles whose files are missing or of another size: uncompressed, each is a whole tile."""
    expected = plan.block**2 * plan.itemsize
    for i, j in plan.tiles:
        for chunk in _chunks(plan, done.parent, i, j) if f"{i}.{j}" in finished else ():
            found = chunk.stat().st_size if chunk.is_file() else None
            if found != expected:
                raise DataError(
                    f"tile {i}.{j} in {done.parent}",
                    rule=f"{expected} bytes in {chunk.relative_to(done.parent)}",
                    found="no file" if found is None else f"a damaged array: {found} bytes",
                    remedy=f"remove {done / f'{i}.{j}'}: the same call then computes this tile again",
                )


def _compare(computed: np.ndarray, found: np.ndarray, folder: pathlib.Path) -> None:
    # The same kernel on another machine differs by rounding; a function under the same name differs by more.
    allowed = np.sqrt(np.finfo(computed.dtype).eps) * max(float(np.abs(computed).max()), np.finfo(computed.dtype).tiny)
    if not np.all(np.abs(computed - found) <= allowed):
        raise DataError(
            f"folder {folder}",
            found="a finished tile with other values",
            rule="the matrix of this kernel and points",
            remedy="another path, or remove the folder",
        )


def _stored(zarr: ModuleType, folder: pathlib.Path, digest: str) -> Any:
    try:
        stored = zarr.open_array(str(folder), mode="r+")
        found = stored.attrs.get("format"), stored.attrs.get("digest")
    except Exception as error:  # zarr raises what its many readers of metadata raise
        raise DataError(
            f"folder {folder}",
            found=f"no zarr array that can be read ({type(error).__name__}: {error})",
            rule="a new folder, or one that gram_on_disk wrote",
            remedy="another path, or remove the folder",
        ) from error
    if found != (_FORMAT, digest):
        what = "a zarr array of another origin" if found[0] != _FORMAT else "the matrix of another kernel or points"
        raise DataError(
            f"folder {folder}",
            found=what,
            rule="the matrix of this kernel and these points",
            remedy="another path, or remove the folder",
        )
    return stored


def _digest(kernel: AbstractKernel, x: Array, y: Array | None) -> str:
    """SHA-256 of the points, the kernel's numbers and its structure (functions by name: their addresses change)."""
    leaves, structure = jax.tree.flatten(kernel)
    digest = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", str(structure)).encode())
    for leaf in (*leaves, x, *(() if y is None else (y,))):
        array = np.asarray(leaf) if isinstance(leaf, jax.Array | np.ndarray) else None
        if array is None:
            digest.update(f"|{leaf!r}".encode())
        else:
            digest.update(f"|{array.dtype} {array.shape}|".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _refuse_too_large(plan: GramPlan, folder: pathlib.Path) -> None:
    if plan.working_bytes > (free := available_bytes()):
        raise MemoryPlanError(
            "work on a tile",
            found=str(plan),
            rule=f"at most the {size(free)} that are free",
            remedy="a smaller working_set",
        )
    parent = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    written = sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file()) if folder.exists() else 0
    if plan.output_bytes - written > (free := shutil.disk_usage(parent).free):
        raise MemoryPlanError(
            "Gram matrix on disk",
            found=str(plan),
            rule=f"at most the {size(free)} that are free at {parent}",
            remedy="another disk, fewer points, or float32",
        )


def _zarr() -> ModuleType:
    try:
        import zarr
    except ImportError as error:
        raise SettingError(
            "gram_on_disk",
            found="no zarr",
            rule="the extra `disk`",
            remedy="pip install 'lemmata[disk]'",
        ) from error
    return zarr
