"""Compute the common part of two views of every point: its contrastive matrix, its kernel form and its eigenvectors."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known, require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel, gram

# eigenvalues of a stored matrix are accurate to a modest multiple of n eps of the largest, as in `lemmata.spectra`
_ROUNDING = 16.0


def check_views(x: Array, views: Array) -> None:
    """Raise an error for views with different numbers or shapes of points."""
    if x.ndim != 2 or x.shape != views.shape:
        raise ShapeError(
            "points x and their views",
            found=f"shapes {x.shape} and {views.shape}",
            rule="the same shape (n, m) for both, with the view of a point in the same row",
        )
    check_numbers("points x", x)
    check_numbers("views", views)


def contrastive_matrix(x: Float[Array, "n m"], views: Float[Array, "n m"]) -> Float[Array, "m m"]:
    """Return Gamma = sum_i (x_i x_i'^T + x_i' x_i^T)/(2n), the symmetrised cross-covariance of views x_i, x_i'.

    The eigenvalues of Gamma may be negative, along directions in which the views disagree.

    Args:
        x: the n points, one in each row.
        views: another view of each point, in the same rows.

    Raises:
        ShapeError: if the arrays have different shapes.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import contrastive_matrix
        >>> contrastive_matrix(jnp.array([[1.0, 2.0]]), jnp.array([[1.0, -2.0]])).tolist()
        [[1.0, 0.0], [0.0, -4.0]]
    """
    check_views(x, views)
    product = x.T @ views / len(x)
    return (product + product.T) / 2


class _Root(eqx.Module):
    """The Gram matrix K = Q diag(a) Q' of all 2n views, as Q, a^(1/2) and a^(-1/2). For entries of a that are rounding
    errors, both powers are 0.
    """

    vectors: Float[Array, "N N"]
    root: Float[Array, " N"]
    inverse: Float[Array, " N"]


def root_of_views(matrix: Float[Array, "N N"]) -> _Root:
    """Return the square root of the Gram matrix of all views, and the inverse of this root.

    Args:
        matrix: the Gram matrix K on x_1, ..., x_n, x_1', ..., x_n'.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    kept = values > _ROUNDING * len(values) * jnp.finfo(values.dtype).eps * values[-1]
    root = jnp.sqrt(jnp.where(kept, values, 1.0))
    return _Root(vectors, jnp.where(kept, root, 0.0), jnp.where(kept, 1 / root, 0.0))


def swapped_in(root: _Root) -> Float[Array, "N N"]:
    """Return K^(1/2) P K^(1/2)/(2n) in the eigenbasis of K, where P swaps the two views of every point.

    Args:
        root: the result of `root_of_views`.
    """
    swapped = root.vectors.T @ jnp.roll(root.vectors, len(root.root) // 2, axis=0)
    matrix = root.root[:, None] * swapped * root.root / len(root.root)
    return (matrix + matrix.T) / 2


def contrastive_gram(kernel: AbstractKernel, x: Float[Array, "n m"], views: Float[Array, "n m"]) -> Float[Array, "N N"]:
    """Return K_Gamma = K^(1/2) P K^(1/2)/(2n), where K is the Gram matrix of all 2n views. P swaps the two views of
    every point.

    The eigenvalues of K_Gamma are the eigenvalues of the contrastive matrix Gamma in the kernel's feature space (see
    `contrastive_matrix`), and zeros.

    Args:
        kernel: the kernel K.
        x: the n points, one in each row.
        views: another view of each point, in the same rows.

    Raises:
        ShapeError: if the arrays have different shapes.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import contrastive_gram
        >>> from lemmata.kernels import Linear
        >>> jax.config.update("jax_enable_x64", True)
        >>> x, views = jnp.array([[1.0, 2.0]]), jnp.array([[1.0, -2.0]])
        >>> jnp.linalg.eigvalsh(contrastive_gram(Linear(), x, views)).round(9).tolist()
        [-4.0, 1.0]
    """
    require_float64("the root of a Gram matrix")
    check_views(x, views)
    root = root_of_views(gram(kernel, jnp.concatenate([x, views])))
    return root.vectors @ swapped_in(root) @ root.vectors.T


def leading_modes(matrix: Float[Array, "m m"], dimension: int) -> tuple[Float[Array, " d"], Float[Array, "m d"]]:
    """Return the d largest eigenvalues, descending, and their eigenvectors as columns with a positive largest entry.

    Args:
        matrix: a symmetric matrix, which may have negative eigenvalues.
        dimension: the number d of eigenvalues.

    Raises:
        SettingError: if fewer than d eigenvalues are above rounding errors; the message states how many there are.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    seen = known(values)
    if seen is not None:
        positive = int((seen > _ROUNDING * len(seen) * jnp.finfo(values.dtype).eps * abs(seen).max()).sum())
        if dimension > positive:
            raise SettingError(
                "dimension",
                found=dimension,
                rule=f"at most {positive}, the number of positive eigenvalues, because other modes are never learned",
                remedy="use a smaller dimension, or more pairs of views",
            )
    values, vectors = values[::-1][:dimension], vectors[:, ::-1][:, :dimension]
    largest = jnp.take_along_axis(vectors, jnp.argmax(jnp.abs(vectors), axis=0)[None], axis=0)
    return values, vectors * jnp.where(largest < 0, -1.0, 1.0)
