"""Plan the memory of least squares on p centres: the bytes of the p x p matrices (squares), and the rows of a block."""

import dataclasses
import math
import sys
from typing import Any

from jaxtyping import Array, Float

from lemmata.core import check_whole, free_bytes
from lemmata.errors import MemoryPlanError, SettingError
from lemmata.kernels import AbstractKernel

from ._kernel_rows import rows_bytes
from ._operators import BLOCK_BYTES

# the number of squares in memory: K(z, z) or the whitened square, its copy with the ridge, its factor, the factor of
# K(z, z), and the working memory of a factorisation
_SQUARES = 5
# the number of blocks in memory: a block in float64, its whitened form, and the next block; the kernel's own memory for
# computing a block comes in addition
_COPIES = 3
# A block has at most _BLOCK bytes, which the allocator uses again for the next block, or at most _FEW_ROWS rows.
_BLOCK, _FEW_ROWS = 2**24, 1024
# Plans above this many bytes are printed.
_ANNOUNCED = 2**30


@dataclasses.dataclass(frozen=True)
class CentresPlan:
    """The blocks of least squares on centres, and the memory of the computation besides points and targets.

    Attributes:
        rows: the number n of rows.
        centres: the number p of centres.
        outputs: the number of columns of the targets.
        ridges: the number of ridges.
        block: rows of K(x, z) that are computed at once.
        block_bytes: peak memory of one block.
    """

    rows: int
    centres: int
    outputs: int
    ridges: int
    block: int
    block_bytes: int

    @property
    def square_bytes(self) -> int:
        """The bytes of the p x p matrices in float64 that exist together. This number does not depend on the block."""
        return _squares(self.centres)

    @property
    def bytes(self) -> int:
        """The bytes at the peak: the squares, the block, the targets in float64, and the coefficients."""
        return self.square_bytes + self.block_bytes + _columns(self.rows, self.centres, self.outputs, self.ridges)

    def require(self, near: Any = None) -> None:
        """Refuse a plan that does not fit into free memory; print a plan of more than 1 GiB to standard error.

        Args:
            near: the array on whose device the squares will be. None means this machine.

        Raises:
            MemoryPlanError: if the plan does not fit into memory; the message states the plan, the free memory, and how
                many centres would fit.
        """
        if self.bytes > (free := free_bytes(near)):
            possible = int(self.centres * math.sqrt(free / self.bytes))
            raise MemoryPlanError(
                f"least squares on {self.centres} centres",
                found=str(self),
                rule=f"at most the {free / 2**30:.2f} GiB that are free",
                remedy=f"use at most {possible} centres, or smaller blocks (block or working_set)",
            )
        if self.bytes > _ANNOUNCED:
            print(f"lemmata: {self}", file=sys.stderr, flush=True)

    def __str__(self) -> str:
        return (
            f"least squares on {self.centres} centres in {math.ceil(self.rows / self.block)} blocks of {self.block} "
            f"of {self.rows} rows: {_SQUARES} square matrices of {self.square_bytes / _SQUARES / 2**30:.3f} GiB in "
            f"float64 and {self.block_bytes / 2**30:.3f} GiB for a block, together {self.bytes / 2**30:.3f} GiB"
        )


def _squares(centres: int) -> int:
    return _SQUARES * 8 * centres**2


def centres_plan(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    z: Float[Array, "p d"],
    *,
    outputs: int = 1,
    ridges: int = 1,
    block: int | None = None,
    working_set: int | None = None,
) -> CentresPlan:
    """Return the memory plan that `subset_of_regressors` would follow for these points and centres.

    Args:
        kernel: the kernel K.
        x: the points.
        z: the centres.
        outputs: the number of columns of the targets.
        ridges: the number of ridges.
        block: the number of rows of K(x, z) that are computed at once. With None, this number is computed from the
            working set.
        working_set: bytes for everything besides points and targets. None means the p x p squares plus 256 MiB.

    Raises:
        SettingError: if both block and working set are given, or one of them is not a whole number above 0.
        MemoryPlanError: if the squares and a block of one row do not fit in the working set.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import RBF
        >>> from lemmata.solvers import centres_plan
        >>> plan = centres_plan(RBF(), jnp.ones((1000, 2)), jnp.ones((100, 2)), block=64)
        >>> plan.square_bytes, plan.block
        (400000, 64)
    """
    if block is not None and working_set is not None:
        raise SettingError(
            "block and working_set",
            found="both",
            rule="at most one of the two, because each determines the other",
            remedy="leave one of them at None",
        )
    for name, value, unit in (("block", block, "rows"), ("working_set", working_set, "bytes")):
        if value is not None:
            check_whole(name, value, 1, unit)
    n, p = len(x), len(z)
    tile = rows_bytes(kernel, z.astype(x.dtype), n)
    row = 8 * _COPIES * p
    if block is not None:
        return CentresPlan(n, p, outputs, ridges, min(block, n), tile + row * min(block, n))
    beside = _squares(p) + _columns(n, p, outputs, ridges)
    limit = 2 * BLOCK_BYTES if working_set is None else working_set - beside
    if limit < tile + row:
        raise MemoryPlanError(
            "working set",
            found=f"{max(limit, 0)} bytes for a block, in addition to {beside} bytes for the square matrices and "
            "targets",
            rule=f"at least {tile + row} bytes for a block, because one row of this kernel needs so many",
            remedy=f"set working_set to at least {beside + tile + row} bytes, or use fewer centres",
        )
    rows = min(n, (limit - tile) // row, max(_FEW_ROWS, _BLOCK // (8 * p)))
    return CentresPlan(n, p, outputs, ridges, rows, tile + row * rows)


def _columns(rows: int, centres: int, outputs: int, ridges: int) -> int:
    return 8 * outputs * (rows + centres * (ridges + 4))
