"""Plan the memory of a Gram matrix: the bytes of the output and of the working memory, and the tiles."""

import dataclasses
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError, SettingError

from ._base import AbstractKernel
from ._points import checked_problem, entries
from ._tiles import cross_tile, diagonal_tile

# The default number of bytes that the work may take besides the output: 256 MiB.
WORKING_SET = 2**28

# The allocator keeps freed memory in pieces that do not always fit the next tile. So resident memory was up to 2.9
# times the memory that the compiled function of a tile uses (`benchmarks/gram_memory.py`).
_KEPT = 3

# A cache of the memory that compiled tiles use, and the largest number of its entries.
_KNOWN: dict[Any, int] = {}
_MOST = 256

# Plans above this many bytes are printed.
_ANNOUNCED = 2**30


@dataclasses.dataclass(frozen=True)
class GramPlan:
    """The tiles in which a Gram or cross matrix will be computed, and the memory of the computation.

    Attributes:
        rows: the number n of rows.
        columns: the number m of columns.
        itemsize: bytes of an entry.
        symmetric: whether tiles below the diagonal are copies of those above it.
        block: rows and columns of a tile.
        working_bytes: peak memory besides the points and the output. The peak is three times the memory of one tile,
            its copy, its points and the compiled kernel's intermediate results. The factor is three because freed
            memory is not returned at once.
    """

    rows: int
    columns: int
    itemsize: int
    symmetric: bool
    block: int
    working_bytes: int

    @property
    def output_bytes(self) -> int:
        """Bytes of the matrix."""
        return self.rows * self.columns * self.itemsize

    @property
    def peak_bytes(self) -> int:
        """Bytes of the matrix and of the working memory."""
        return self.output_bytes + self.working_bytes

    @property
    def tiles(self) -> list[tuple[int, int]]:
        """Row and column (in tiles) of every tile that is computed."""
        down, across = math.ceil(self.rows / self.block), math.ceil(self.columns / self.block)
        return [(i, j) for i in range(down) for j in range(i if self.symmetric else 0, across)]

    def fits(self, free: int | None = None) -> bool:
        """Whether the peak fits into `free` bytes. If `free` is None, the free memory of the machine is used."""
        return self.peak_bytes <= (available_bytes() if free is None else free)

    def announce(self) -> None:
        """Print the plan to standard error if the matrix takes more than 1 GiB."""
        if self.output_bytes > _ANNOUNCED:
            print(f"lemmata: {self}", file=sys.stderr, flush=True)

    def __str__(self) -> str:
        kind = "symmetric Gram matrix" if self.symmetric else "cross matrix"
        return (
            f"{kind} of {self.rows} x {self.columns} numbers of {self.itemsize} bytes = {size(self.output_bytes)}, "
            f"computed in {len(self.tiles)} tiles of {self.block} x {self.block}, with {size(self.working_bytes)} of "
            "working memory (and about 100 MiB once, for compilation)"
        )


def size(count: int) -> str:
    """A number of bytes as text, in a suitable unit.

    Args:
        count: the number of bytes.
    """
    unit, name = next((unit, name) for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (1, "bytes")) if count >= unit
                      or unit == 1)  # fmt: skip
    return f"{count / unit:.2f} {name}" if unit > 1 else f"{count:.0f} bytes"


def gram_plan(
    kernel: AbstractKernel,
    x: Float[Array, "n *shape"],
    y: Float[Array, "m *shape"] | None = None,
    *,
    block: int | None = None,
    working_set: int | None = None,
) -> GramPlan:
    """Return the plan that `gram` and `gram_on_disk` would use to compute a matrix.

    The compiler reports the memory of a tile of this kernel, so a plan usually costs one to three compilations. The
    compiler's own memory, about 100 MiB once, is not part of the plan.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        y: other points; `None` means `x` itself.
        block: rows of a tile; `None` derives the tiles from the working set.
        working_set: bytes that the work may take besides points and output; `None` means 256 MiB.

    Raises:
        SettingError: if both block and working set are given, or one of them is not a whole number above 0. This error
            is also raised if the kernel is not a kernel of lemmata.
        MemoryPlanError: if not even a tile of one entry fits in the working set.
        ShapeError, DataError: for the same reasons as `gram`.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import RBF, gram_plan
        >>> plan = gram_plan(RBF(), jnp.ones((100_000, 2)), block=1000)
        >>> print(len(plan.tiles), plan.output_bytes // (jnp.ones(1).itemsize * 10**9))
        5050 10
    """
    x, y, _ = checked_problem(kernel, x, y)
    other = x if y is None else y
    check_blocks(block, working_set)
    if len(x) and len(other):
        entries(partial(jax.eval_shape, kernel.cross), x[:1], other[:1])
    limit = WORKING_SET if working_set is None else working_set
    itemsize = x.dtype.itemsize
    plan = partial(GramPlan, len(x), len(other), itemsize, y is None)
    tile_bytes = partial(_tile_bytes, kernel, x, y)
    if block is not None:
        return plan(block, tile_bytes(block))
    largest = max(len(x), len(other), 1)
    candidate = min(largest, max(1, math.isqrt(limit // (8 * itemsize))))
    while (needed := tile_bytes(candidate)) > limit:
        if candidate == 1:
            raise MemoryPlanError(
                "working set",
                found=f"{limit} bytes",
                rule=f"at least {needed} bytes, because one entry of this kernel needs so many",
                remedy=f"set working_set to at least {needed} bytes",
            )
        candidate = max(1, min(candidate - 1, int(0.8 * candidate * math.sqrt(limit / needed))))
    return plan(candidate, needed)


def check_blocks(block: object, working_set: object) -> None:
    """Refuse a block and a working set together, and anything that is not a whole number above 0.

    Args:
        block: rows of a tile.
        working_set: bytes that the work may take besides points and output.

    Raises:
        SettingError: if a value is invalid.
    """
    if block is not None and working_set is not None:
        raise SettingError(
            "block and working_set",
            found=f"block={block} and working_set={working_set}",
            rule="at most one of the two, because each determines the other",
            remedy="leave one of them at None",
        )
    for name, value, unit in (("block", block, "row"), ("working_set", working_set, "byte")):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise SettingError(name, found=repr(value), rule=f"a whole number of {unit}s (an int)")
        if value < 1:
            raise SettingError(name, found=value, rule=f"at least 1 {unit}")


def _tile_bytes(kernel: AbstractKernel, x: Array, y: Array | None, block: int) -> int:
    other = x if y is None else y
    a, b = (jax.ShapeDtypeStruct((min(block, len(p)), *p.shape[1:]), p.dtype) for p in (x, other))
    tile = a.shape[0] * b.shape[0] * a.dtype.itemsize
    held = _held(cross_tile, kernel, a, b) + 2 * tile  # the tile and its transpose
    return _KEPT * (held if y is not None else max(held, _held(diagonal_tile, kernel, a) + tile))


def _held(tile: Callable[..., Any], kernel: AbstractKernel, *points: jax.ShapeDtypeStruct) -> int:
    """Bytes of the arguments and temporary arrays of the compiled function `tile`, without its result. They are cached.

    The number comes from a compilation, which takes seconds and about 100 MiB. If the caller has made a plan, the cache
    saves `gram` this compilation.
    """
    leaves, structure = jax.tree.flatten(kernel)
    told = tuple((leaf.shape, leaf.dtype) if eqx.is_array(leaf) else leaf for leaf in leaves)
    settings = (jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision)  # pyright: ignore[reportAttributeAccessIssue]
    key = (tile, structure, told, settings, *((each.shape, each.dtype) for each in points))
    try:
        known = _KNOWN.get(key)
    except TypeError:  # a leaf that cannot be hashed
        return _compiled_bytes(tile, kernel, *points)
    if known is None:
        while len(_KNOWN) >= _MOST:
            _KNOWN.pop(next(iter(_KNOWN)))
        known = _KNOWN[key] = _compiled_bytes(tile, kernel, *points)
    return known


def _compiled_bytes(tile: Callable[..., Any], kernel: AbstractKernel, *points: jax.ShapeDtypeStruct) -> int:
    arrays, rest = eqx.partition(kernel, eqx.is_array)
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), arrays)
    traced: Any = jax.jit(lambda leaves, *given: tile(eqx.combine(leaves, rest), *given))
    found = traced.lower(shapes, *points).compile().memory_analysis()
    # Not every backend reports memory. In this case, the number is an upper limit: no kernel of this library stores
    # more than ten arrays of all pairs.
    if found is None:
        return 10 * points[0].shape[0] * points[-1].shape[0] * points[0].dtype.itemsize
    return int(found.temp_size_in_bytes + found.argument_size_in_bytes)
