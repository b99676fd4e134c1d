"""Compute Gram matrices from arrays of few shapes, so that JAX compiles few programs."""

import math
from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.kernels import AbstractKernel, Compose, Linear, SoftmaxTangent, numpy_gram, takes_numpy

from ._architectures import Divide

BLOCK, TILE, SMALL_TILE = 2048, 256, 64
"""The numbers of rows of a block, a tile and a small tile. A table of at most 64 rows is one small tile."""


def padded_gram(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], columns: int | None = None
) -> Float[np.ndarray, "n columns"]:
    """Return the kernel between all rows and the first `columns` rows, by default all rows.

    A small matrix is computed by NumPy if NumPy can compute the kernel. A large matrix is computed in tiles of one
    shape, for which the kernel is compiled once. This saves time, because compiling a deep network's kernel costs more
    than evaluating it on thousands of rows. Of two tiles that mirror each other, only one tile is computed.
    """
    n = len(x) if columns is None else columns
    found = _on_host(kernel, x, x if n == len(x) else x[:n], len(x) * n)
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
    kernel: AbstractKernel, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "m d"], entries: int
) -> Float[np.ndarray, "n m"] | None:
    """Return the kernel matrix computed by NumPy; None if JAX is faster for this total number of entries."""
    own = b is a
    if isinstance(kernel, Compose) and isinstance(kernel.transform, Divide):
        a, b, kernel = kernel.transform(a), kernel.transform(b), kernel.kernel
    if isinstance(kernel, Linear):
        return a @ b.T / float(kernel.scale)
    if isinstance(kernel, SoftmaxTangent):
        products = a @ b.T
        return products * np.exp(float(kernel.sigma) ** 2 * products)
    if own:
        return numpy_gram(kernel, a)
    return kernel.numpy_cross(a, b) if takes_numpy(kernel, b, entries) else None


@eqx.filter_jit
def _tile(kernel: AbstractKernel, a: Float[Array, "n d"], b: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """Return a tile of the kernel matrix.

    The tile is compiled as a whole; `gram` would compile each operation by itself.
    """
    return kernel.cross(a, b)


def blocks_of(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "p d"]
) -> Iterator[tuple[slice, Float[np.ndarray, "b p"]]]:
    """Yield blocks of at most 2,048 rows, and the kernel between each block and the centres, computed in one shape."""
    z = _filled(centres, _round(len(centres)))
    for start in range(0, len(x), BLOCK):
        place = slice(start, min(start + BLOCK, len(x)))
        own = centres if x is centres and len(x) <= BLOCK else x[place]
        if (found := _on_host(kernel, own, centres, len(x) * len(centres))) is not None:
            yield place, found
            continue
        rows = _filled(x[place], BLOCK)
        found = np.asarray(_tile(kernel, jnp.asarray(rows), jnp.asarray(z)))
        yield place, found[: place.stop - place.start, : len(centres)]


def _filled(x: Float[np.ndarray, "n d"], rows: int) -> Float[np.ndarray, "rows d"]:
    """Return the rows of x, followed by copies of the first row until there are `rows` of them."""
    return np.concatenate([x, np.repeat(x[:1], rows - len(x), axis=0)])


def _round(n: int) -> int:
    """Return n, rounded up to 64, 256 or 1024, or to a multiple of 512."""
    return next((size for size in (64, 256, 1024) if n <= size), 512 * math.ceil(n / 512))
