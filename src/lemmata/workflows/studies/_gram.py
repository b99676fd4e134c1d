"""Gram matrices in few shapes, so that little is compiled."""

import math
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.kernels import RBF, AbstractKernel, gram

BLOCK, TILE = 2048, 256


def padded_gram(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], columns: int | None = None
) -> Float[np.ndarray, "n columns"]:
    """The kernel between all rows and the first `columns` of them, all by default.

    Of some columns it is computed in tiles of one shape, which is compiled once: to compile the map of a deep network
    costs more than to evaluate it on thousands of rows. Of all columns it is computed for a round number of rows.
    """
    n = len(x) if columns is None else columns
    if isinstance(kernel, RBF):
        return _gaussian(kernel, x, x[:n])
    if n == len(x):
        return np.asarray(gram(kernel, jnp.asarray(_filled(x, _round(n)))))[:n, :n]
    rows = jnp.asarray(_filled(x, TILE * math.ceil(len(x) / TILE)))
    tiles = [rows[start : start + TILE] for start in range(0, len(rows), TILE)]
    matrix = np.empty((len(rows), TILE * math.ceil(n / TILE)))
    for j in range(math.ceil(n / TILE)):
        for i, tile in enumerate(tiles):
            matrix[TILE * i : TILE * (i + 1), TILE * j : TILE * (j + 1)] = gram(kernel, tile, tiles[j])
    return matrix[: len(x), :n]


def blocks_of(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "p d"]
) -> Iterator[tuple[slice, Float[np.ndarray, "b p"]]]:
    """The kernel between blocks of at most 2,048 rows and the centres; every block is computed in one shape."""
    z = jnp.asarray(_filled(centres, _round(len(centres))))
    for start in range(0, len(x), BLOCK):
        place = slice(start, min(start + BLOCK, len(x)))
        if isinstance(kernel, RBF):
            yield place, _gaussian(kernel, x[place], centres)
            continue
        rows = jnp.asarray(_filled(x[place], BLOCK))
        yield place, np.asarray(gram(kernel, rows, z))[: place.stop - place.start, : len(centres)]


def _filled(x: Float[np.ndarray, "n d"], rows: int) -> Float[np.ndarray, "rows d"]:
    """The rows, and the first of them again and again until there are so many."""
    return np.concatenate([x, np.repeat(x[:1], rows - len(x), axis=0)])


def _gaussian(kernel: RBF, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """A matter of distances: nothing to compile."""
    apart = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0.0)
    return np.exp(apart / (-2 * float(kernel.lengthscale) ** 2))


def _round(n: int) -> int:
    """64, 256, 1024, and then multiples of 512."""
    return next((size for size in (64, 256, 1024) if n <= size), 512 * math.ceil(n / 512))
