"""Products with a kernel's Gram matrix on the workers of any executor. Blocks are computed when they are needed."""

import contextlib
import functools
import pathlib
from concurrent.futures import Executor

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_executor, check_whole, float64_enabled, read_array, write_array
from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel

from ._checks import check_numbers
from ._operators import KernelOperator, kernel_product, rows_of_a_block
from ._shared_vectors import runs_of_rows, scratch, shared_product


class ExecutorOperator:
    """The Gram matrix of a kernel on points, whose products are computed in blocks by the workers of an executor.

    The blocks are those of a `KernelOperator` with the same `block`. Blocks are computed when they are needed, and not
    stored. A task computes a run of consecutive blocks. If a worker dies, the executor may give its task to another
    worker, as Dask does. Each worker process reads the points from a file once, and reads the vector from a file in
    each task. The files lie in a folder that all workers find under the same path, so points and vectors do not pass
    through a scheduler. The product does not depend on which worker computed which block. Repeated products are equal
    bit for bit if all processors are of one kind and use equally many threads. Use the operator in a `with` block. The
    files of the operator are deleted at the end of this block.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        executor: any `concurrent.futures.Executor`, such as that of a Dask client (`client.get_executor()`).
        block: the number of rows of a block. None means as many rows as fill 128 MiB.
        tasks: the largest number of tasks in a product. About four tasks for each worker keep all workers busy.
        folder: a folder that workers on other machines can read. None means a folder on this machine.

    Raises:
        ShapeError, DataError, PrecisionError: for the same reasons as `KernelOperator`; DataError also if the folder
            cannot be written to.
        SettingError: if tasks or block is not a whole number above 0, or the executor has another type.
        SolverError: from the product, if the executor died or a worker did not answer; the message names the rows.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear
        >>> from lemmata.solvers import ExecutorOperator, conjugate_gradients
        >>> with ThreadPoolExecutor(2) as two, ExecutorOperator(Linear(), jnp.eye(3), two, block=1) as operator:
        ...     found = conjugate_gradients(operator, jnp.ones(3), 1.0)
        >>> found.coefficients.tolist()
        [0.5, 0.5, 0.5]
    """

    def __init__(
        self,
        kernel: AbstractKernel,
        x: Float[Array, "n d"],
        executor: Executor,
        *,
        block: int | None = None,
        tasks: int = 64,
        folder: str | pathlib.Path | None = None,
    ) -> None:
        check_numbers("points x", x)
        check_whole("tasks", tasks, 1)
        if executor is None:
            raise SettingError(
                "executor",
                found="None",
                rule="a concurrent.futures.Executor",
                remedy="pass an executor, or use KernelOperator(kernel, x) to compute in this process",
            )
        check_executor(executor)
        self.kernel, self.x, self.executor = kernel, x, executor
        self.block = min(rows_of_a_block(block, len(x), x.dtype.itemsize), len(x))
        self._runs = runs_of_rows(len(x), self.block, tasks)
        self._stack = contextlib.ExitStack()
        self._folder: pathlib.Path | None = self._stack.enter_context(scratch(folder))
        try:
            write_array(self._folder / "x.npy", np.asarray(x))
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.x)

    def __call__(self, v: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the product of the Gram matrix and v."""
        if self._folder is None:
            raise SettingError(
                "the operator",
                found="that its folder was removed",
                rule="an operator must be used inside its `with` block",
                remedy="move the product into the `with` block",
            )
        given = (str(self._folder / "x.npy"), self.kernel, float64_enabled(), self.block)
        return jnp.asarray(shared_product(self.executor, _kernel_rows, self._folder, np.asarray(v), self._runs, given))

    def columns(self, index: Array) -> Float[Array, "n b"]:
        """Return the columns of the Gram matrix with the numbers in `index`, computed in this process."""
        return KernelOperator(self.kernel, self.x).columns(index)

    def diagonal(self) -> Float[Array, " n"]:
        """The diagonal of the Gram matrix."""
        return self.kernel.diagonal(self.x)

    def close(self) -> None:
        """Remove the operator's own folder with its files. The executor stays open."""
        self._folder = None
        self._stack.close()

    def __enter__(self) -> "ExecutorOperator":
        """The operator itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the operator's own folder."""
        self.close()


def _kernel_rows(
    vector: str, start: int, end: int, points: str, kernel: AbstractKernel, float64: bool, block: int
) -> np.ndarray:
    """Return some rows of K(x, x) v, computed in the blocks of `kernel_product`. This function runs on a worker."""
    with jax.enable_x64(float64):
        x, v = _kept(points), jnp.asarray(read_array(vector))
        parts = []
        for row in range(start, end, block):
            first = min(row, len(x) - block)
            part = kernel_product(kernel, x[first : first + block], x, v, block=block)
            parts.append(np.asarray(part)[row - first :])
        return np.concatenate(parts)


@functools.lru_cache(maxsize=1)
def _kept(points: str) -> Array:
    """Return the points in a file, which a process reads only once. Each operator has new files, so none changes."""
    return jnp.asarray(read_array(points))
