"""The embedding that a linear or kernel model has learned at the end of self-supervised training from a small
start.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_whole, require_float64
from lemmata.kernels import AbstractKernel, gram

from ._contrast import check_views, contrastive_matrix, leading_modes, root_of_views, swapped_in


def terminal_weights(
    x: Float[Array, "n m"], views: Float[Array, "n m"], dimension: int
) -> tuple[Float[Array, "d m"], Float[Array, " d"]]:
    """Return W = diag(gamma^(-1/2)) V' and gamma, from the d leading eigenvectors V and eigenvalues gamma of Gamma.

    Gamma is `contrastive_matrix(x, views)`. From a small start, a linear model's training ends at a rotation of W. The
    loss |W Gamma W' - I|² of W is 0. Of all weights with loss 0, W has the least norm, |W|² = sum_j 1/gamma_j.

    Args:
        x: n points.
        views: another view of each point, in the same order.
        dimension: d, the number of outputs of the model.

    Raises:
        SettingError: for a dimension below 1 or above the number of positive eigenvalues.
        ShapeError: if the views are not of the same shape.
        DataError: if an entry is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import terminal_weights
        >>> x = jnp.diag(jnp.array([4.0, 2.0]))
        >>> weights, eigenvalues = terminal_weights(x, x, 1)
        >>> weights.round(6).tolist(), eigenvalues.tolist()
        ([[0.353553, 0.0]], [8.0])
    """
    check_whole("dimension", dimension, 1, "outputs")
    values, vectors = leading_modes(contrastive_matrix(x, views), dimension)
    return vectors.T / jnp.sqrt(values)[:, None], values


class TerminalEmbedding(eqx.Module):
    """The embedding f(z) = A' [K(z, x_1), ..., K(z, x_n), K(z, x_1'), ..., K(z, x_n')] at which training ends.

    Args:
        kernel: the kernel K.
        points: all 2n views, first x_1, ..., x_n, then x_1', ..., x_n'.
        coefficients: the matrix A, with one column for each output.
        eigenvalues: gamma_1 >= ... >= gamma_d, the eigenvalues of the learned modes.
    """

    kernel: AbstractKernel
    points: Float[Array, "N m"]
    coefficients: Float[Array, "N d"]
    eigenvalues: Float[Array, " d"]

    def __call__(self, z: Float[Array, "p m"]) -> Float[Array, "p d"]:
        """Return the embeddings of points, one in each row."""
        return gram(self.kernel, z, self.points) @ self.coefficients


def terminal_embedding(
    kernel: AbstractKernel, x: Float[Array, "n m"], views: Float[Array, "n m"], dimension: int
) -> TerminalEmbedding:
    """Return the embedding of least norm whose cross-correlation between views is the identity, in closed form.

    Let K be the kernel on all 2n views, and let P swap the two views of every point. Let gamma and B be the d leading
    eigenvalues and eigenvectors of K^(1/2) P K^(1/2)/(2n). Then

        f(z) = diag(gamma^(-1/2)) B' K^(-1/2) [K(z, x_1), ..., K(z, x_n')],

    up to a rotation. If the views equal the points, f is whitened kernel PCA without centring.

    Args:
        kernel: K; for a very wide network, its tangent kernel.
        x: n points.
        views: another view of each point, in the same order.
        dimension: d, the number of outputs.

    Raises:
        SettingError: for a dimension below 1 or above the number of positive eigenvalues.
        ShapeError: if the views are not of the same shape.
        DataError: if an entry is not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import terminal_embedding
        >>> from lemmata.kernels import RBF
        >>> jax.config.update("jax_enable_x64", True)
        >>> x = jax.random.normal(jax.random.key(0), (30, 2))
        >>> views = x + 0.1 * jax.random.normal(jax.random.key(1), (30, 2))
        >>> f = terminal_embedding(RBF(1.0), x, views, 3)
        >>> between = f(x).T @ f(views) / 30
        >>> bool(jnp.allclose((between + between.T) / 2, jnp.eye(3), atol=1e-9))
        True
    """
    require_float64("the root of a Gram matrix")
    check_whole("dimension", dimension, 1, "outputs")
    check_views(x, views)
    points = jnp.concatenate([x, views])
    root = root_of_views(gram(kernel, points))
    values, modes = leading_modes(swapped_in(root), dimension)
    coefficients = root.vectors @ (root.inverse[:, None] * modes) / jnp.sqrt(values)
    largest = jnp.take_along_axis(coefficients, jnp.argmax(jnp.abs(coefficients), axis=0)[None], axis=0)
    return TerminalEmbedding(kernel, points, coefficients * jnp.where(largest < 0, -1.0, 1.0), values)
