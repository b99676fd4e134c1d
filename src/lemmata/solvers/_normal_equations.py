"""The normal equations of least squares on centres, summed over blocks of rows and whitened by the centres' factor."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from lemmata.kernels import AbstractKernel

# Rows of the kernel that are computed at once, inside a block: their intermediate arrays stay in the cache. An entry of
# an RBF kernel in ten dimensions took 10.6 ns in such tiles, and 17.7 ns in one of 8192 rows (1000 centres, float64).
TILE = 256
# Steps of power iteration for an end of a spectrum.
_POWERS = 30


@jax.jit
def largest_of_inverse(factor: Float[Array, "p p"]) -> Float[Array, ""]:
    """The largest eigenvalue of (L L^T)^-1, as 30 steps of power iteration find it, from below.

    Args:
        factor: L, lower triangular.
    """
    return largest(lambda u: jax.scipy.linalg.cho_solve((factor, True), u), len(factor))


def largest(product: Any, size: int) -> Float[Array, ""]:
    """The largest |A u| over the steps u of power iteration with A, 30 of them from a random start.

    Args:
        product: u -> A u.
        size: entries of u.
    """
    start = jax.random.normal(jax.random.key(0), (size,), jnp.float64)
    unit = jax.lax.fori_loop(0, _POWERS, lambda _, u: (w := product(u)) / jnp.linalg.norm(w), start)
    return jnp.linalg.norm(product(unit))


def normal_equations(
    kernel: AbstractKernel,
    factor: Float[Array, "p p"],
    z: Float[Array, "p d"],
    x: Float[Array, "n d"],
    y: Float[Array, "n k"],
    rows: int,
    *,
    last: bool,
) -> tuple[Float[Array, "p p"], Float[Array, "p k"]]:
    """W = sum_i f_i f_i^T and v = sum_i f_i y_i with f_i = L^-1 K(z, x_i), from blocks of rows; sums in float64.

    Whitened last, sums cost half as much, and |L^-1|² multiplies their rounding: `moved_by_rounding`.

    Args:
        kernel: the kernel K.
        factor: L.
        z: centres.
        x: points.
        y: targets.
        rows: of a block.
        last: whether K(z, x_i) is summed as it stands, and whitened at the end.
    """
    sums = summed_blocks(kernel, None if last else factor, z, x, y, rows)
    return whitened(*sums, factor if last else None)


def summed_blocks(
    kernel: AbstractKernel,
    factor: Float[Array, "p p"] | None,
    z: Float[Array, "p d"],
    x: Float[Array, "n d"],
    y: Float[Array, "n k"],
    rows: int,
) -> tuple[Any, Any]:
    """The sums of f_i f_i^T and f_i y_i over blocks of rows, with f_i = L^-1 K(z, x_i), or K(z, x_i) without a factor.

    Kernel entries are computed by JAX. On the processor sums are NumPy's: a product of a matrix with its own transpose
    costs half of one, which XLA does not see. The next block is computed while one is added.

    Args:
        kernel: the kernel K.
        factor: L, or None.
        z: centres.
        x: points.
        y: targets.
        rows: of a block.
    """
    square, product, following = 0.0, 0.0, kernel_block(kernel, x[:rows], z)
    buffer = None  # fresh memory for every block's square costs as much as a tenth of the square
    for start in range(0, len(x), rows):
        first = min(start, len(x) - rows)  # the last block goes back to the size of the others: one compilation
        block, host = following, _on_host(following)
        if start + rows < len(x):
            begin = min(start + rows, len(x) - rows)
            following = kernel_block(kernel, x[begin : begin + rows], z)
        features = (np.asarray(block) if host else block)[start - first : rows].T
        if factor is not None:
            features = _solved(factor, features, host)
        if host and buffer is not None:
            square += np.matmul(features, features.T, out=buffer)
        else:
            square = square + features @ features.T
            buffer = np.empty_like(square) if host else None
        product = product + features @ y[start : first + rows]
    return square, product


def whitened(
    square: Any, product: Any, factor: Float[Array, "p p"] | None
) -> tuple[Float[Array, "p p"], Float[Array, "p k"]]:
    """L^-1 times the sums (times L^-T, the square), which stay as they are without a factor; the square symmetric.

    Args:
        square: the sum of f_i f_i^T.
        product: the sum of f_i y_i.
        factor: L, or None.
    """
    if factor is not None:
        host = _on_host(square)
        square = _solved(factor, _solved(factor, square, host).T, host)
        product = _solved(factor, product, host)
    return _symmetric(jnp.asarray(square)), jnp.asarray(product)


@jax.jit
def moved_by_rounding(
    factor: Float[Array, "p p"],
    square: Float[Array, "p p"],
    y: Float[Array, "n k"],
    alpha: Float[Array, "p k"],
    ridge: Float[Array, ""],
) -> Float[Array, ""]:
    """How far rounding of sums that were whitened last may move the fit on the training points, as a share of |y|.

    Sums of K_zn K_nz and K_zn y have errors of some eps s_j s_l and eps s_j |y| with s_j = |K(z_j, x)|, taken for
    independent. With G² = sum_j s_j² |L^-1 e_j|² they amount to eps G (|s alpha| + |y|) in (W + ridge) b = v; and
    e there moves the fit W^1/2 b by at most |e| / (2 sqrt(ridge)). Eight eps are allowed for: on RBF and Matern kernels
    of 300 and 1000 centres and ridges from 1e-4 to 1 the fit moved by 0.1 to 3 times the estimate with one.

    Args:
        factor: L.
        square: W.
        y: targets.
        alpha: coefficients of the kernel.
        ridge: the ridge, above 0.
    """
    sizes = jnp.sqrt(jnp.sum((factor @ square) * factor, axis=1))[:, None]
    inverse = jax.scipy.linalg.solve_triangular(factor, jnp.eye(len(factor)), lower=True)
    amplified = jnp.sqrt(jnp.sum((inverse * sizes[:, 0]) ** 2))
    size, eps = jnp.linalg.norm(y), jnp.finfo(jnp.float64).eps
    moved = 8 * eps * amplified * (jnp.linalg.norm(sizes * alpha) + size) / (2 * jnp.sqrt(ridge))
    return moved / jnp.where(size > 0, size, 1.0)


@eqx.filter_jit
def kernel_block(kernel: AbstractKernel, x: Array, z: Array) -> Float[Array, "rows p"]:
    """K(x, z), and below it fewer rows than there are tiles, of no meaning: equal tiles make one loop."""
    tiles = -(-len(x) // TILE)
    padded = jnp.pad(x, [(0, -len(x) % tiles), *((0, 0) for _ in x.shape[1:])], mode="edge")
    parts = padded.reshape(tiles, -1, *x.shape[1:])
    return jax.lax.map(lambda part: kernel.cross(part, z).astype(jnp.float64), parts).reshape(len(padded), len(z))


def _on_host(array: Any) -> bool:
    """Whether the numbers lie in this machine's memory, and not on a device or in a trace."""
    try:
        return not isinstance(array, jax.Array) or all(device.platform == "cpu" for device in array.devices())
    except jax.errors.ConcretizationTypeError:
        return False


def _solved(factor: Array, right: Any, host: bool) -> Any:
    if not host:
        return jax.scipy.linalg.solve_triangular(factor, right, lower=True)
    return scipy.linalg.solve_triangular(np.asarray(factor), right, lower=True, check_finite=False)


@jax.jit
def _symmetric(square: Float[Array, "p p"]) -> Float[Array, "p p"]:
    return jnp.tril(square) + jnp.tril(square, -1).T
