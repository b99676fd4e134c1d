"""Gram matrices in few shapes, so that little is compiled."""

import math
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.kernels import RBF, AbstractKernel, gram

BLOCK = 2048


def padded_gram(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], columns: int | None = None
) -> Float[np.ndarray, "n columns"]:
    """The kernel between all rows and the first `columns` of them, all by default.

    Computed for round numbers of rows and columns, so that few shapes are compiled.
    """
    n = len(x) if columns is None else columns
    if isinstance(kernel, RBF):
        return _gaussian(kernel, x, x[:n])
    rows = jnp.asarray(np.concatenate([x, np.repeat(x[:1], _round(len(x)) - len(x), axis=0)]))
    matrix = gram(kernel, rows) if n == len(x) else gram(kernel, rows, rows[: _round(n)])
    return np.asarray(matrix)[: len(x), :n]


def blocks_of(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "p d"]
) -> Iterator[tuple[slice, Float[np.ndarray, "b p"]]]:
    """The kernel between blocks of at most 2,048 rows and the centres; every block is computed in one shape."""
    z = jnp.asarray(np.concatenate([centres, np.repeat(centres[:1], _round(len(centres)) - len(centres), axis=0)]))
    for start in range(0, len(x), BLOCK):
        place = slice(start, min(start + BLOCK, len(x)))
        if isinstance(kernel, RBF):
            yield place, _gaussian(kernel, x[place], centres)
            continue
        missing = BLOCK - (place.stop - place.start)
        rows = jnp.asarray(np.concatenate([x[place], np.repeat(x[:1], missing, axis=0)]))
        yield place, np.asarray(gram(kernel, rows, z))[: place.stop - place.start, : len(centres)]


def _gaussian(kernel: RBF, a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """A matter of distances: nothing to compile."""
    apart = np.maximum((a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T, 0.0)
    return np.exp(apart / (-2 * float(kernel.lengthscale) ** 2))


def _round(n: int) -> int:
    """64, 256, 1024, and then multiples of 512."""
    return next((size for size in (64, 256, 1024) if n <= size), 512 * math.ceil(n / 512))
