"""Gram matrices in few shapes, so that little is compiled."""

import math
from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.architectures import TangentKernel, cross_on_host
from lemmata.kernels import RBF, AbstractKernel, Compose, Linear, SoftmaxTangent

from ._architectures import Divide

BLOCK, TILE, SMALL_TILE = 2048, 256, 64
"""Rows of a block and of a tile; tables of at most 64 rows are one small tile."""
FEW = 2**22
"""Entries of a matrix up to which NumPy computes the kernels of networks that it knows."""


def padded_gram(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], columns: int | None = None
) -> Float[np.ndarray, "n columns"]:
    """The kernel between all rows and the first `columns` of them, all by default.

    A small matrix is computed by NumPy, if NumPy can compute the kernel. A large one is computed in tiles of one shape,
    which is compiled once, because compiling a deep network's kernel costs more than evaluating it on thousands of
    rows. Of tiles that mirror each other one is computed.
    """
    n = len(x) if columns is None else columns
    found = _on_host(kernel, x, x[:n])
    if found is not None:
        return found
    size = SMALL_TILE if len(x) <= SMALL_TILE else TILE
    rows = _filled(x, size * math.ceil(len(x) / size))
    tiles = [jnp.asarray(rows[start : start + size]) for start in range(0, len(rows), size)]
    matrix = np.empty((len(rows), size * math.ceil(n / size)))
    place = [slice(size * i, size * (i + 1)) for i in range(len(tiles))]
    for j in range(math.ceil(n / size)):
        for i in range(j, len(tiles)):
            matrix[place[i], place[j]] = _tile(kernel, tiles[i], tiles[j])
            if size * i < matrix.shape[1]:
                matrix[place[j], place[i]] = matrix[place[i], place[j]].T
    return matrix[: len(x), :n]


def _on_host(
    kernel: AbstractKernel, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "n m"] | None:
    """The kernel by NumPy, with nothing to compile: of products and distances always, of networks in small matrices."""
    if isinstance(kernel, Compose) and isinstance(kernel.transform, Divide):
        a, b, kernel = kernel.transform(a), kernel.transform(b), kernel.kernel
    if isinstance(kernel, RBF):
        return _gaussian(kernel, a, b)
    if isinstance(kernel, Linear):
        return a @ b.T / float(kernel.scale)
    if isinstance(kernel, SoftmaxTangent):
        products = a @ b.T
        return products * np.exp(float(kernel.sigma) ** 2 * products)
    return cross_on_host(kernel, a, b) if len(a) * len(b) <= FEW else None


@eqx.filter_jit
def _tile(kernel: AbstractKernel, a: Float[Array, "n d"], b: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """Compiled as a whole, because `gram` compiles each of its operations separately."""
    return kernel.cross(a, b)


def blocks_of(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "p d"]
) -> Iterator[tuple[slice, Float[np.ndarray, "b p"]]]:
    """The kernel between blocks of at most 2,048 rows and the centres; every block is computed in one shape."""
    z = _filled(centres, _round(len(centres)))
    for start in range(0, len(x), BLOCK):
        place = slice(start, min(start + BLOCK, len(x)))
        if not isinstance(kernel, TangentKernel) and (found := _on_host(kernel, x[place], centres)) is not None:
            yield place, found
            continue
        rows = _filled(x[place], BLOCK)
        found = np.asarray(_tile(kernel, jnp.asarray(rows), jnp.asarray(z)))
        yield place, found[: place.stop - place.start, : len(centres)]


def _filled(x: Float[np.ndarray, "n d"], rows: int) -> Float[np.ndarray, "rows d"]:
    """The rows, and the first of them again and again until there are so many."""
    return np.concatenate([x, np.repeat(x[:1], rows - len(x), axis=0)])


def _gaussian(kernel: RBF, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """Computed from distances, without compilation."""
    apart = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0.0)
    return np.exp(apart / (-2 * float(kernel.lengthscale) ** 2))


def _round(n: int) -> int:
    """64, 256, 1024, and then multiples of 512."""
    return next((size for size in (64, 256, 1024) if n <= size), 512 * math.ceil(n / 512))
