"""Compute and write one tile of a Gram matrix on disk, in this process or in a worker process."""

import pathlib
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import read_array, refusing_disk_errors, write_array
from lemmata.errors import SettingError

from ._base import AbstractKernel
from ._plan import GramPlan
from ._tiles import tile_of

FORMAT = "lemmata gram matrix 1"


def load_zarr(what: str) -> ModuleType:
    """Import and return the package zarr.

    Args:
        what: the feature that needs zarr, for the message.

    Raises:
        SettingError: if zarr is not installed.
    """
    try:
        import zarr
    except ImportError as error:
        raise SettingError(
            what,
            found="that the package zarr is not installed",
            rule="the optional dependency `disk`",
            remedy="install it with pip install 'lemmata[disk]'",
        ) from error
    return zarr


def tile_name(i: int, j: int) -> str:
    """The name of the file that marks a tile as finished. The name contains the tile row and the tile column.

    Args:
        i: the row of the tile in the grid of tiles.
        j: the column of the tile in the grid of tiles.
    """
    return f"{i}.{j}"


def chunks_of(plan: GramPlan, folder: pathlib.Path, i: int, j: int) -> list[pathlib.Path]:
    """The chunk files that hold a tile and, if the matrix is symmetric, its transpose.

    Args:
        plan: the plan of the Gram matrix, with its shape and the size of its tiles.
        folder: the folder of the zarr array that stores the Gram matrix.
        i: the row of the tile in the grid of tiles.
        j: the column of the tile in the grid of tiles.
    """
    places = [(i, j), (j, i)] if plan.symmetric and i < j else [(i, j)]
    return [folder / "c" / str(row) / str(column) for row, column in places]


def write_tile(
    stored: Any, plan: GramPlan, folder: pathlib.Path, i: int, j: int, values: Float[np.ndarray, "a b"]
) -> None:
    """Write a tile and, if the matrix is symmetric, its transpose. Then write the file that marks the tile as finished.

    Args:
        stored: the zarr array that stores the Gram matrix.
        plan: the plan of the Gram matrix, with its shape and the size of its tiles.
        folder: the folder of the zarr array that stores the Gram matrix.
        i: the row of the tile in the grid of tiles.
        j: the column of the tile in the grid of tiles.
        values: the entries of the tile.

    Raises:
        DataError: if the disk is full or the folder is not writable; the message names the tile.
    """
    rows, columns = (slice(k * plan.block, (k + 1) * plan.block) for k in (i, j))
    with refusing_disk_errors(f"tile {tile_name(i, j)} in {folder}"):
        for chunk in chunks_of(plan, folder, i, j):
            for draft in chunk.parent.glob(f"{chunk.name}.*.partial"):  # left by a writer that was killed
                draft.unlink(missing_ok=True)
            # zarr reads an existing chunk before it writes a part of this chunk. So a chunk of a wrong size is removed.
            # A complete chunk stays until the new chunk replaces it, because another process that was believed dead may
            # have written the chunk and its marker.
            if chunk.is_file() and chunk.stat().st_size != plan.block**2 * plan.itemsize:
                chunk.unlink(missing_ok=True)
        stored[rows, columns] = values
        if plan.symmetric and i < j:
            stored[columns, rows] = values.T
        (folder / "done" / tile_name(i, j)).touch()


def share_points(folder: pathlib.Path, x: Float[Array, "n *shape"], y: Float[Array, "m *shape"] | None) -> None:
    """Write the points to the folder from which workers read them, unless the folder already has these points.

    Args:
        folder: the folder of the zarr array that stores the Gram matrix.
        x: points.
        y: other points, or None.

    Raises:
        DataError: if the disk is full or the folder is not writable.
    """
    for name, points in (("x", x), ("y", y)):
        file = _points_file(folder, name)
        if points is not None and not _holds(file, np.asarray(points)):
            write_array(file, np.asarray(points))


def compute_tile(folder: str, plan: GramPlan, kernel: AbstractKernel, float64: bool, i: int, j: int, call: str) -> None:
    """Compute one tile of a Gram matrix from the points in the folder, and write the tile. Workers call this function.

    Args:
        folder: the folder of the zarr array that stores the Gram matrix.
        plan: the plan of the Gram matrix, with its shape and the size of its tiles.
        kernel: the kernel of the Gram matrix.
        float64: whether the caller's JAX computes in float64.
        i: the row of the tile in the grid of tiles.
        j: the column of the tile in the grid of tiles.
        call: an identifier of the call that needs the tile, so that schedulers do not return the result of an earlier
            call.
    """
    import zarr

    place = pathlib.Path(folder)
    with jax.enable_x64(float64):
        left, down = _rows(place, "x", plan, i)
        if plan.symmetric and i == j:
            right, across, tile = None, down, tile_of(kernel, left, None, plan.block)
        else:
            right, across = _rows(place, "x" if plan.symmetric else "y", plan, j)
            tile = tile_of(kernel, left, right, plan.block)
        values = np.asarray(tile(0, 0))[down:, across:]
    write_tile(zarr.open_array(folder, mode="r+", zarr_format=3), plan, place, i, j, values)


def _rows(folder: pathlib.Path, name: str, plan: GramPlan, i: int) -> tuple[Array, int]:
    """A block of points that ends with the points of tile row i, and the number of points in the block before these."""
    points = read_array(_points_file(folder, name))
    first = min(i * plan.block, max(len(points) - plan.block, 0))
    return jnp.asarray(points[first : first + plan.block]), i * plan.block - first


def _points_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    return folder / "points" / f"{name}.npy"


def _holds(file: pathlib.Path, points: np.ndarray) -> bool:
    try:
        found = read_array(file)
    except (OSError, ValueError):
        return False
    return found.dtype == points.dtype and found.shape == points.shape and np.array_equal(found, points)
