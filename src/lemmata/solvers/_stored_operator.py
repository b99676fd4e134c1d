"""Products with a Gram matrix that is stored in tiles, in this process or on the workers of any executor."""

import pathlib
from concurrent.futures import Executor
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_executor, check_whole, read_array
from lemmata.errors import DataError, ShapeError
from lemmata.kernels import open_gram

from ._shared_vectors import runs_of_rows, scratch, shared_product


class StoredOperator:
    """The symmetric n x n matrix that `gram_on_disk` wrote. Products read the matrix tile by tile.

    Each worker holds two tiles of the matrix in memory at a time. With an executor, each task computes a run of tile
    rows of the product. All workers read the tiles from the folder under the same path, and the vector from a file in
    this folder. Every row is summed in the same order, with or without an executor. So both products are equal, bit for
    bit, if all processors are of one kind and use equally many threads. A product reads n² numbers. If computing a
    kernel is faster than reading its matrix, use `ExecutorOperator` instead.

    Args:
        path: the folder that `gram_on_disk` wrote.
        executor: any `concurrent.futures.Executor`, such as that of a Dask client (`client.get_executor()`); with None,
            this process computes the products.
        tasks: the largest number of tasks in a product.

    Raises:
        DataError: if the folder has no finished matrix of `gram_on_disk`; the message gives the number of its tiles.
        ShapeError: if the matrix is a cross matrix of two sets of points, which is not symmetric.
        SettingError: if tasks is not a whole number above 0, the executor has another type, or zarr is not installed.
        SolverError: from the product, if the executor died or a worker did not answer; the message names the rows.

    Example:
        >>> import pathlib, tempfile
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear, gram_on_disk
        >>> from lemmata.solvers import StoredOperator, conjugate_gradients
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "gram"
        >>> matrix = gram_on_disk(Linear(), jnp.eye(3), path=folder, block=2)
        >>> conjugate_gradients(StoredOperator(folder), jnp.ones(3), 1.0).coefficients.tolist()
        [0.5, 0.5, 0.5]
    """

    def __init__(self, path: str | pathlib.Path, *, executor: Executor | None = None, tasks: int = 64) -> None:
        check_whole("tasks", tasks, 1)
        check_executor(executor)
        self.matrix, self.executor = open_gram(path), executor
        if not self.matrix.attrs.get("symmetric"):
            raise ShapeError(f"folder {path}", found=f"a cross matrix of shape {self.matrix.shape}",
                             rule="the Gram matrix of one set of points with itself")  # fmt: skip
        self._folder = pathlib.Path(path).absolute()
        self._runs = runs_of_rows(len(self), self.matrix.chunks[0], tasks)

    def __len__(self) -> int:
        """The number of rows."""
        return self.matrix.shape[0]

    def __call__(self, v: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the product of the matrix and v."""
        given = np.asarray(v)
        if self.executor is None:
            if len(given) != len(self):
                raise ShapeError(
                    "vector v", found=f"shape {given.shape}", rule=f"one row for each of the {len(self)} points"
                )
            parts = [_rows(self.matrix, given, start, end) for start, end in self._runs]
            return jnp.asarray(np.concatenate(parts))
        with scratch(self._folder / "vectors") as folder:
            return jnp.asarray(
                shared_product(self.executor, _stored_rows, folder, given, self._runs, (str(self._folder),))
            )


def _stored_rows(vector: str, start: int, end: int, path: str) -> np.ndarray:
    """Return the rows from `start` to `end` of the product with the stored matrix. This function runs on a worker."""
    import zarr

    return _rows(zarr.open_array(path, mode="r", zarr_format=3), np.array(read_array(vector)), start, end)


def _rows(matrix: Any, v: np.ndarray, start: int, end: int) -> np.ndarray:
    block, parts = matrix.chunks[0], []
    for first in range(start, end, block):
        rows = slice(first, min(first + block, end))
        parts.append(sum(matrix[rows, j : j + block] @ v[j : j + block] for j in range(0, len(v), block)))
    found = np.concatenate(parts)
    if not np.all(np.isfinite(found)):
        raise DataError(
            f"rows {start} to {end} of the product",
            found="numbers that are not finite",
            rule="finite entries in the vector and in the stored matrix",
            remedy="check the vector for NaN. If the vector is finite, remove the folder, and compute the matrix "
            "again with gram_on_disk",
        )
    return found
