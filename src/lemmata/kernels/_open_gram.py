"""Open a Gram matrix on disk if all of its tiles are complete."""

import math
import pathlib
from typing import Any

from lemmata.errors import DataError, file_error

from ._stored_tiles import FORMAT, load_zarr, tile_name


def open_gram(path: str | pathlib.Path) -> Any:
    """Open the matrix that `gram_on_disk` wrote at `path`; refuse it if a tile is missing or has another size.

    Args:
        path: the folder of the array.

    Returns:
        The array (`zarr.Array`), opened for reading.

    Raises:
        MissingFileError: if the folder does not exist.
        DataError: if the folder has no complete matrix of `gram_on_disk`. The message gives the number of its finished
            tiles.
        SettingError: if zarr is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear, gram_on_disk, open_gram
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "gram"
        >>> matrix = gram_on_disk(Linear(), jnp.eye(5), path=folder, block=2)
        >>> open_gram(folder).shape
        (5, 5)
    """
    zarr, folder = load_zarr("open_gram"), pathlib.Path(path)
    wrong = f"folder {folder}"
    try:
        stored = zarr.open_array(str(folder), mode="r", zarr_format=3)
    except Exception as error:  # the readers of metadata in zarr raise many classes of errors
        found = f"a folder without a readable zarr array ({type(error).__name__})"
        raise file_error(error)(wrong, found=found, rule="a folder with a matrix that gram_on_disk wrote") from error
    if stored.attrs.get("format") != FORMAT:
        raise DataError(
            wrong,
            found="an array that gram_on_disk did not write",
            rule="a folder with a matrix that gram_on_disk wrote",
        )
    rows, columns = (range(math.ceil(size / stored.chunks[0])) for size in stored.shape)
    size = stored.chunks[0] * stored.chunks[1] * stored.dtype.itemsize
    symmetric = stored.attrs.get("symmetric", False)
    places = [(i, j) for i in rows for j in columns]
    whole = [_is_whole(folder, i, j, size, symmetric) for i, j in places]
    if not all(whole):
        raise DataError(
            wrong,
            found=f"{sum(whole)} of {len(places)} tiles; the first missing tile is "
            f"{tile_name(*places[whole.index(False)])}",
            rule="all tiles, each of them complete",
            remedy="call gram_on_disk with the same kernel, points and path; it computes the missing tiles",
        )
    return stored


def _is_whole(folder: pathlib.Path, i: int, j: int, size: int, symmetric: bool) -> bool:
    mark = tile_name(min(i, j), max(i, j)) if symmetric else tile_name(i, j)
    chunk = folder / "c" / str(i) / str(j)
    return (folder / "done" / mark).is_file() and chunk.is_file() and chunk.stat().st_size == size
