"""Products with a kernel's Gram matrix on several processes. Each process has one thread."""

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import available_bytes, check_whole, float64_enabled, started
from lemmata.errors import MemoryPlanError, SettingError, ShapeError, SolverError
from lemmata.kernels import AbstractKernel

from ._checks import check_numbers
from ._operators import KernelOperator, rows_of_a_block
from ._product_process import serve

# the memory of Python, JAX and the compiled product without arrays; 319 MiB were resident with 500 points
_PROCESS_BYTES = 320 * 2**20
# the number of arrays of the size of a block: the block itself, and the kernel's arrays while it computes the block
_COPIES = 4


class ProcessOperator:
    """The Gram matrix of a kernel on points. Several processes compute its products in blocks of rows.

    With `KernelOperator`, JAX shares one block among threads, but only for some operations. With `ProcessOperator`,
    each process computes on one thread, and takes the next block when it has finished a block. The product equals the
    product of a `KernelOperator` with the same block, up to rounding. Kernel and points are sent to each process once,
    and the vector is sent once in each product. Use the operator in a `with` block; all processes end when this `with`
    block ends. The processes also end if the calling process is killed, or if a product is interrupted. An interrupted
    product closes the operator.

    The processes are spawned. Spawning takes some seconds and imports the main module again, so a script must guard its
    code by `if __name__ == "__main__":`. The kernel's class must be importable by its name from a module.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        processes: the number of processes.
        block: the number of rows of a block; None means as many rows as fill 128 MiB.

    Attributes:
        bytes: the memory in bytes that all processes together may take.

    Raises:
        ShapeError, DataError, PrecisionError: for the same reasons as `KernelOperator`.
        SettingError: if processes or block is not a whole number above 0, or the kernel cannot be sent.
        MemoryPlanError: if the processes do not fit in memory.
        SolverError: if a process fails; the message quotes its error.

    Example:
        ```python
        with ProcessOperator(RBF(2.0), x, processes=2) as operator:
            found = conjugate_gradients(operator, y, 1e-2)
        ```
    """

    def __init__(
        self, kernel: AbstractKernel, x: Float[Array, "n d"], processes: int, *, block: int | None = None
    ) -> None:
        check_numbers("points x", x)
        check_whole("processes", processes, 1)
        self.kernel, self.x = kernel, x
        self.block = min(rows_of_a_block(block, len(x), x.dtype.itemsize), len(x))
        self.bytes = processes * (_PROCESS_BYTES + 2 * x.nbytes + _COPIES * self.block * len(x) * x.dtype.itemsize)
        if self.bytes > (free := available_bytes()):
            raise MemoryPlanError(
                f"products on {processes} processes",
                found=f"{self.bytes / 2**30:.2f} GiB, but only {free / 2**30:.2f} GiB are free",
                rule="the points and one block of every process must fit into memory",
                remedy="use fewer processes, or a smaller block",
            )
        context = multiprocessing.get_context("spawn")
        self._ends: list[Connection] = []
        self._processes: list[Any] = []
        try:
            for number in range(processes):
                here, there = context.Pipe()
                child = started(context.Process(target=serve, args=(there, number), daemon=True))
                there.close()  # so that each process detects the end of the other process
                self._ends.append(here)
                self._processes.append(child)
            self._send((float64_enabled(), kernel, np.asarray(x), self.block))
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.x)

    def __call__(self, v: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the product of the Gram matrix and v."""
        if len(v) != len(self):
            raise ShapeError("vector v", found=f"shape {v.shape}", rule=f"one row for each of the {len(self)} points")
        if not self._ends:
            raise SettingError(
                "the operator",
                found="that its processes have ended",
                rule="an operator must be used inside its `with` block",
                remedy="move the product into the `with` block",
            )
        try:
            self._send(np.asarray(v))
            return jnp.asarray(self._gathered())
        except BaseException:  # an interrupted product leaves answers in the pipes
            self.close()
            raise

    def columns(self, index: Array) -> Float[Array, "n b"]:
        """Return the columns with the numbers in `index`, computed in this process."""
        return KernelOperator(self.kernel, self.x).columns(index)

    def diagonal(self) -> Float[Array, " n"]:
        """The diagonal of the Gram matrix."""
        return self.kernel.diagonal(self.x)

    def close(self) -> None:
        """End the processes."""
        for end in self._ends:
            end.close()
        for child in self._processes:
            child.terminate()
        for child in self._processes:
            child.join()
        self._ends, self._processes = [], []

    def __enter__(self) -> "ProcessOperator":
        """The operator itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        self.close()

    def _send(self, message: Any) -> None:
        for number, end in enumerate(self._ends):
            try:
                end.send(message)
            except OSError:
                self._fail(number)
            except Exception as error:
                raise SettingError(
                    "kernel",
                    found=f"{type(error).__name__}: {error}",
                    rule="a kernel that can be pickled, because it is sent to other processes",
                    remedy="define its classes and functions at the top level of a module",
                ) from error

    def _gathered(self) -> np.ndarray:
        """Compute the product: each process gets the next block when it has returned its previous block."""
        starts, waiting = iter(range(0, len(self), self.block)), {}
        parts: dict[int, Any] = {}
        for end in self._ends:
            self._next(end, starts, waiting)
        while waiting:
            ready: list[Any] = wait(list(waiting))
            for end in ready:
                start, number = waiting.pop(end), self._ends.index(end)
                try:
                    part = end.recv()
                except (EOFError, OSError):
                    self._fail(number)
                if isinstance(part, str):
                    self._fail(number, part)
                parts[start] = part[start - min(start, len(self) - self.block) :]
                self._next(end, starts, waiting)
        return np.concatenate([parts[start] for start in sorted(parts)])

    def _next(self, end: Connection, starts: Iterator[int], waiting: dict[Connection, int]) -> None:
        if (start := next(starts, None)) is not None:
            try:
                end.send(min(start, len(self) - self.block))
            except OSError:
                self._fail(self._ends.index(end))
            waiting[end] = start

    def _fail(self, number: int, message: str | None = None) -> NoReturn:
        if message is None:
            child = self._processes[number]
            child.join(1)
            message = f"ended with exit code {child.exitcode}"
        raise SolverError(
            f"process {number + 1} of the {len(self._processes)} processes that compute the product",
            found=message,
            rule="every process must return its block of the product",
            remedy="use fewer processes or a smaller block if memory ran out; otherwise check the kernel in "
            "a single process",
        )
