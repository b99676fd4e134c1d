"""Sum the normal equations of least squares on centres over blocks of rows, and whiten them by a Cholesky factor.

Let z be the centres, x_i the points, y_i the targets, and L the lower Cholesky factor of K(z, z) + jitter I. To whiten
the equations means to use the features f_i = L^-1 K(z, x_i) in place of K(z, x_i).
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg.blas import dtrsm  # pyright: ignore[reportAttributeAccessIssue]
from scipy.linalg.lapack import dtrtri  # pyright: ignore[reportAttributeAccessIssue]

from lemmata.core import mirror
from lemmata.kernels import AbstractKernel

from ._kernel_rows import TILE, KernelRows, on_host

# the number of steps of power iteration for the largest or the smallest eigenvalue
POWERS = 30
# the number of strips of columns of a symmetric product, and the least number of columns of a strip; narrow strips
# compute few needless entries, and wide strips are fast
_STRIPS, _STRIP = 8, 128


@jax.jit
def largest_of_inverse(factor: Float[Array, "p p"]) -> Float[Array, ""]:
    """Estimate the largest eigenvalue of (L L^T)^-1 from below, by 30 steps of power iteration.

    Args:
        factor: the lower triangular Cholesky factor L.
    """
    return largest(lambda u: jax.scipy.linalg.cho_solve((factor, True), u), len(factor))


def largest(product: Any, size: int) -> Float[Array, ""]:
    """Return the length |A u| for the unit vector u after 30 steps of power iteration with A, from a random start.

    Args:
        product: the function u -> A u.
        size: the number of entries of u.
    """
    start = jax.random.normal(jax.random.key(0), (size,), jnp.float64)
    unit = jax.lax.fori_loop(0, POWERS, lambda _, u: (w := product(u)) / jnp.linalg.norm(w), start)
    return jnp.linalg.norm(product(unit))


def normal_equations(
    kernel: AbstractKernel,
    factor: Any,
    z: Any,
    x: Any,
    y: Any,
    rows: int,
    *,
    last: bool,
) -> tuple[Any, Any]:
    """Sum W = sum_i f_i f_i^T and v = sum_i f_i y_i with f_i = L^-1 K(z, x_i) over blocks of rows, in float64.

    If the finished sums are whitened instead of every row, they cost half as much, but |L^-1|² multiplies their
    rounding errors (see `moved_by_rounding`).

    Args:
        kernel: the kernel K.
        factor: the Cholesky factor L.
        z: the centres.
        x: the points.
        y: the targets.
        rows: the number of rows of a block.
        last: whether the sums are computed with K(z, x_i) in place of f_i, and are whitened at the end.
    """
    sums = summed_blocks(kernel, None if last else factor, z, x, y, rows)
    return whitened(*sums, factor if last else None)


def summed_blocks(
    kernel: AbstractKernel,
    factor: Any,
    z: Any,
    x: Any,
    y: Any,
    rows: int,
) -> tuple[Any, Any]:
    """Return sums of f_i f_i^T and f_i y_i over blocks of rows. f_i = L^-1 K(z, x_i), or K(z, x_i) without a factor.

    If all arrays are in this machine's memory, BLAS computes the sums (`summed_rows`), and only the lower triangle of
    the sum of f_i f_i^T has meaning.

    Args:
        kernel: the kernel K.
        factor: the Cholesky factor L, or None.
        z: the centres.
        x: the points.
        y: the targets.
        rows: the number of rows of a block.
    """
    if all(map(on_host, (z, x, y, factor))):
        own = KernelRows(kernel, z, len(x))
        return summed_rows(own, None if factor is None else np.asarray(factor), np.asarray(x), np.asarray(y), rows)
    square, product = 0.0, 0.0
    for start in range(0, len(x), rows):
        # the last block starts earlier to have the size of the other blocks, so one compilation is enough
        first = min(start, len(x) - rows)
        features = kernel_block(kernel, x[first : first + rows], z)[start - first : rows].T
        if factor is not None:
            features = jax.scipy.linalg.solve_triangular(factor, features, lower=True)
        square, product = square + features @ features.T, product + features @ y[start : first + rows]
    return square, product


def summed_rows(
    kernel: KernelRows,
    factor: Float[np.ndarray, "p p"] | None,
    x: Float[np.ndarray, "n *shape"],
    y: Float[np.ndarray, "n k"],
    rows: int,
    roots: Float[np.ndarray, " n"] | None = None,
) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "p k"]]:
    """Return the sums of `summed_blocks`, computed by BLAS and LAPACK in place.

    The next block is computed while the current block is added.

    Only the lower triangle of the sum of f_i f_i^T has meaning, and little else of this sum is computed. The triangle
    is computed in strips of columns, by NumPy's matrix product. (BLAS has a function that computes only one triangle.
    But SciPy's version of this function holds the lock of the interpreter, so no thread could compute the next block.)

    Args:
        kernel: the function K(., z).
        factor: the Cholesky factor L, C-contiguous, or None.
        x: the points.
        y: the targets, times the square roots of the weights.
        rows: the number of rows of a block.
        roots: the square roots of the weights of f_i; None means 1 for each row.
    """
    size = len(kernel)
    upper, product = np.zeros((size, size)), np.zeros((size, y.shape[1]))
    width = max(_STRIP, -(-size // _STRIPS))
    with ThreadPoolExecutor(1) as ahead:
        following = ahead.submit(kernel, x[:rows])
        for start in range(0, len(x), rows):
            part, features = slice(start, start + rows), following.result()
            if start + rows < len(x):
                following = ahead.submit(kernel, x[start + rows : start + 2 * rows])
            if roots is not None:
                features *= roots[part, None]
            features = features.T
            if factor is not None:
                features = whitened_rows(factor, features)
            for first in range(0, size, width):
                upper[first : first + width, first:] += features[first : first + width] @ features[first:].T
            product += features @ y[part]
    return upper.T, product


def whitened_rows(factor: Float[np.ndarray, "p p"], features: Float[np.ndarray, "p n"]) -> Float[np.ndarray, "p n"]:
    """Return L^-1 f. The result overwrites f if f is Fortran-contiguous.

    Args:
        factor: the Cholesky factor L, C-contiguous.
        features: the matrix f = K(z, x), one column for each point.
    """
    return dtrsm(1.0, factor.T, features, lower=0, trans_a=1, overwrite_b=1)


def whitened(square: Any, product: Any, factor: Float[Array | np.ndarray, "p p"] | None) -> tuple[Any, Any]:
    """Return the sums, multiplied by L^-1, and `square` also by L^-T. Without a factor, no sum is multiplied.

    The returned sum of f_i f_i^T is symmetric.

    Args:
        square: the sum of f_i f_i^T, of which only the lower triangle has meaning. An array in this machine's memory
            may be overwritten.
        product: the sum of f_i y_i.
        factor: the Cholesky factor L, or None.
    """
    if all(map(on_host, (square, product))):
        square = np.asfortranarray(square)
        mirror(square.T)
        if factor is not None:
            lower = np.ascontiguousarray(factor)
            square = dtrsm(1.0, lower.T, whitened_rows(lower, square), side=1, lower=0, overwrite_b=1)
            mirror(square.T)
            product = whitened_rows(lower, np.asarray(product))
        return square, product
    if factor is not None:
        square = _solved(factor, _solved(factor, square).T)
        product = _solved(factor, product)
    return _symmetric(square), product


def moved_by_rounding(
    factor: Float[Array | np.ndarray, "p p"],
    square: Float[Array | np.ndarray, "p p"],
    y: Float[Array | np.ndarray, "n k"],
    alpha: Float[Array | np.ndarray, "p k"],
    ridge: float | Float[Array, ""],
) -> float:
    """Estimate how far rounding moves the fit on the training points if only the sums over all rows are whitened.

    The estimate is a share of |y|.

    Let s_j = |K(z_j, x)| for the centres z_j and the points x. The entries of K_zn K_nz have rounding errors of a few
    eps s_j s_l. The entries of K_zn y have rounding errors of a few eps s_j |y|. These errors are assumed to be
    independent. Let G² = sum_j s_j² |L^-1 e_j|², with unit vectors e_j. Together, the errors change the equation (W +
    ridge) b = v for the whitened coefficients b = L^T alpha by a vector e with |e| = eps G (|s alpha| + |y|). This
    error moves the fit W^1/2 b by at most |e| / (2 sqrt(ridge)). With eps itself, this estimate may be too small: for
    RBF and Matern kernels with 300 and 1000 centres and ridges from 1e-4 to 1, the fit moved by 0.1 to 3 times the
    estimate. So eight times eps is used in the place of eps.

    Args:
        factor: the Cholesky factor L.
        square: the sum W of f_i f_i^T.
        y: the targets.
        alpha: the coefficients of the fit sum_j K(., z_j) alpha_j.
        ridge: the ridge, above 0.
    """
    lower = np.asarray(factor)
    sizes = np.sqrt(np.einsum("ij,ij->i", lower @ np.asarray(square), lower))[:, None]
    inverse = dtrtri(lower, lower=1)[0]
    amplified = float(np.linalg.norm(inverse * sizes[:, 0]))
    size, eps = float(np.linalg.norm(y)), float(np.finfo(float).eps)
    moved = 8 * eps * amplified * (float(np.linalg.norm(sizes * np.asarray(alpha))) + size) / (2 * float(ridge) ** 0.5)
    return moved / (size or 1.0)


@eqx.filter_jit
def kernel_block(kernel: AbstractKernel, x: Array, z: Array) -> Float[Array, "rows p"]:
    """Return K(x, z), followed by fewer than `tiles` meaningless rows, because the loop needs tiles of equal size."""
    tiles = -(-len(x) // TILE)
    padded = jnp.pad(x, [(0, -len(x) % tiles), *((0, 0) for _ in x.shape[1:])], mode="edge")
    parts = padded.reshape(tiles, -1, *x.shape[1:])
    return jax.lax.map(lambda part: kernel.cross(part, z).astype(jnp.float64), parts).reshape(len(padded), len(z))


def _solved(factor: Any, right: Any) -> Any:
    return jax.scipy.linalg.solve_triangular(factor, right, lower=True)


@jax.jit
def _symmetric(square: Float[Array, "p p"]) -> Float[Array, "p p"]:
    return jnp.tril(square) + jnp.tril(square, -1).T
