"""Compute Gram and cross matrices: whole, in tiles that fit into the cache, or under a plan if they are large."""

import functools
from functools import partial

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from lemmata.core import free_bytes, known
from lemmata.errors import MemoryPlanError

from ._base import AbstractKernel, Compose
from ._filled import filled
from ._plan import GramPlan, check_blocks, gram_plan, size
from ._points import UNKNOWN, checked_problem, entries
from ._tiles import checked_finite, checked_symmetric, symmetrised, tile_of

# A matrix with at most the first number of bytes is always computed without a plan. A matrix with more than the second
# number of bytes never is. Between the two numbers, a matrix is computed without a plan if four times its memory is
# free.
_SMALL, _LARGE = 2**26, 2**30
# The largest number of entries of a matrix of vectors that is computed as a whole.
_AT_ONCE = 2**20
# The largest number of tiles of a matrix of fields (points with several axes) that is computed as a whole.
_FEW_TILES = 16


def gram(
    kernel: AbstractKernel,
    x: Float[Array, "n *shape"],
    y: Float[Array, "m *shape"] | None = None,
    *,
    block: int | None = None,
    working_set: int | None = None,
) -> Float[Array, "n m"]:
    """The Gram matrix K(x_i, x_j), or the cross matrix K(x_i, y_j) if `y` is given.

    The Gram matrix is exactly symmetric. If it is computed in tiles, only the tiles on and above the diagonal are
    computed. On a CPU, a large matrix is computed in tiles that fit into the cache. A matrix is large if it has more
    than 2^20 entries, the points are vectors, and the work for one point is small (`AbstractKernel.cheap_points`). With
    `block` or `working_set`, tiles are square. The peak of memory is then the sum of three parts: the output, the
    working set, and about 100 MiB for one compilation. Plans do not count these 100 MiB. Unless `block` is given or the
    points are traced, a matrix above 1 GiB has a plan (`gram_plan`). The plan is printed to standard error. If the plan
    does not fit into free memory, an error is raised before anything is computed.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        y: other points; `None` means `x` itself.
        block: rows of a tile.
        working_set: bytes that the work may take besides points and output. For a matrix above 1 GiB, `None` means 256
            MiB.

    Raises:
        ShapeError: if x and y are not rows of points of the same shape, or the kernel does not return one number for
            each pair.
        DataError: for points in float16 or complex numbers, and for a number that is not finite; the message names its
            row.
        SettingError: if both block and working set are given, or one of them is not a whole number above 0. This error
            is also raised if the kernel is not a kernel of lemmata, or an entry is not finite. This error is also
            raised if K(x, y) and K(y, x) differ by more than rounding. With tiles, only the diagonal tiles are checked
            for symmetry.
        MemoryPlanError: if the matrix does not fit; the message states the plan.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear, gram
        >>> gram(Linear(), jnp.eye(3), working_set=10_000).tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x, y, is_known = checked_problem(kernel, x, y)
    other = x if y is None else y
    check_blocks(block, working_set)
    if 0 in (len(x), len(other)):
        return jnp.zeros((len(x), len(other)), x.dtype)
    plan = None
    if working_set is not None or (block is None and is_known and _is_large(x, other)):
        plan = gram_plan(kernel, x, y, working_set=working_set)
        _refuse_too_large(plan, x)
        plan.announce()
        block = plan.block
    if block is not None:
        return _tiled(kernel, x, y, block)
    if is_known and (matrix := _in_cached_tiles(kernel, x, y)) is not None:
        return matrix
    matrix = entries(kernel.cross, x, other)
    given = y is not None or kernel.exactly_symmetric
    return checked_finite(matrix) if given else checked_symmetric(x, *symmetrised(matrix))


def _in_cached_tiles(kernel: AbstractKernel, x: Array, y: Array | None) -> Array | None:
    """The matrix, computed in tiles that stay in the processor's cache; None if tiles would not be faster."""
    points = [jnp.asarray(each) for each in ((x,) if y is None else (x, y))]
    places = {device for each in points for device in each.devices()}
    pairs = len(points[0]) * len(points[-1])
    if (x.ndim == 2 and pairs <= _AT_ONCE) or len(places) > 1 or next(iter(places)).platform != "cpu":
        return None
    maps, mapped = [], kernel
    while isinstance(mapped, Compose):
        maps, mapped = [*maps, jax.vmap(mapped.transform)], mapped.kernel
    through_maps = lambda points: functools.reduce(lambda points, own: own(points), maps, points)
    try:
        images = jax.eval_shape(through_maps, points[0])
    except (TypeError, ValueError):  # the computation of the whole matrix raises this error again, with an explanation
        return None
    rows = mapped.tile_rows(images.shape)
    if rows is None or any(known(leaf) is None for leaf in jax.tree.leaves(kernel)):
        return None
    if x.ndim > 2 and pairs <= _FEW_TILES * rows**2:
        return None
    points = [through_maps(each) for each in points]  # every point is mapped once
    if any(known(each) is None for each in points):
        return None
    try:
        matrix = filled(mapped, points[0], None if y is None else points[1])
    except UNKNOWN:  # the kernel contains a traced value that is not among its leaves
        return None
    return jax.device_put(matrix, next(iter(places)) if points[0].committed else None, may_alias=True)


def _tiled(kernel: AbstractKernel, x: Array, y: Array | None, block: int) -> Array:
    other = x if y is None else y
    dtype = entries(partial(jax.eval_shape, kernel.cross), x[:1], other[:1]).dtype
    tile = tile_of(kernel, x, y, block)
    rows, columns = (range(0, len(points), block) for points in (x, other))
    matrix = jnp.zeros((len(x), len(other)), dtype)
    for i, row in enumerate(rows):
        for j in range(i if y is None else 0, len(columns)):
            values = tile(i, j)
            matrix = _place(matrix, values, row, columns[j])
            if y is None and i < j:
                matrix = _place(matrix, values.T, columns[j], row)
            # Without this wait, JAX would start further tiles, and these would add to the working set.
            jax.block_until_ready(matrix)
            del values
    return matrix


def _is_large(x: Array, y: Array) -> bool:
    needed = len(x) * len(y) * x.dtype.itemsize
    return needed > _SMALL and (needed > _LARGE or 4 * needed > free_bytes(x))


def _refuse_too_large(plan: GramPlan, x: Array) -> None:
    free = free_bytes(x)
    if not plan.fits(free):
        raise MemoryPlanError(
            "Gram matrix",
            found=str(plan),
            rule=f"at most the {size(free)} that are free",
            remedy="use gram_on_disk(kernel, x, path=...), fewer points, or float32",
        )


@partial(jax.jit, donate_argnums=0)
def _place(
    matrix: Float[Array, "n m"], tile: Float[Array, "a b"], row: Int[ArrayLike, ""], column: Int[ArrayLike, ""]
) -> Float[Array, "n m"]:
    # The matrix is donated, so the tile is written into it. Outside jit, `.at[].set` would copy the whole matrix each
    # time.
    return jax.lax.dynamic_update_slice(matrix, tile, (row, column))
