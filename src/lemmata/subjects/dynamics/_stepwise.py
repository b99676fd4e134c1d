"""Self-supervised learning with a linear model: the time at which each mode is learned, and the loss between these
times.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import check_numbers, check_whole, known, require_float64
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._contrast import contrastive_gram, contrastive_matrix, leading_modes


class StepwisePrediction(eqx.Module):
    """The course of training of f = W x on the loss |W Gamma W' - I|², from a small start that is aligned with Gamma.

    Gamma is the contrastive matrix of the data. A start is aligned if W(0) = U diag(s) V', where the columns of V are
    the leading eigenvectors of Gamma and U is orthogonal. Gradient flow then keeps U and V, and each mode (eigenvector)
    follows its own logistic curve. The eigenvalue of the embeddings' cross-correlation W Gamma W' along mode j is

        size_j(t) = 1 / (1 + (1/(s_j² gamma_j) - 1) exp(-8 gamma_j t)),

    which reaches 1/2 at the step time tau_j = ln(1/(s_j² gamma_j) - 1) / (8 gamma_j). The loss is sum_j (1 - size_j)².
    If the steps are well separated, the loss is d - j between steps j and j + 1.

    Args:
        eigenvalues: the leading eigenvalues gamma_1 >= ... >= gamma_d > 0 of Gamma.
        start: s_1, ..., s_d, the sizes of the modes at time 0.
    """

    eigenvalues: Float[Array, " d"]
    start: Float[Array, " d"]

    @property
    def times(self) -> Float[Array, " d"]:
        """The step times, in the time of the flow dW/dt = -gradient of the loss."""
        return jnp.log(1 / (self.start**2 * self.eigenvalues) - 1) / (8 * self.eigenvalues)

    @property
    def plateaus(self) -> Float[Array, " steps"]:
        """The losses d, d - 1, ..., 0 before the first step, between steps, and after the last step."""
        d = len(self.eigenvalues)
        return jnp.arange(d, -1.0, -1.0)

    def sizes(self, times: Float[ArrayLike, "*t"]) -> Float[Array, "*t d"]:
        """Return the eigenvalues of the embeddings' cross-correlation at given times, one for each mode."""
        return jax.nn.sigmoid(8 * self.eigenvalues * (jnp.asarray(times)[..., None] - self.times))

    def loss(self, times: Float[ArrayLike, "*t"]) -> Float[Array, "*t"]:
        """Return the loss at given times."""
        return jnp.sum((1 - self.sizes(times)) ** 2, axis=-1)


def aligned_start(weights: Float[Array, "d m"], vectors: Float[Array, "m k"]) -> Float[Array, " k"]:
    """Return the sizes s_1, ..., s_k of the modes v_1, ..., v_k in a small start W, the fastest mode first.

    Modes are eigenvectors of the contrastive matrix Gamma, and modes of larger eigenvalues are faster. While W is
    small, mode j grows along W v_j. Once faster modes are learned, training removes the part of W v_j along their
    outputs. So s_j is the length of the part of W v_j that is orthogonal to W v_1, ..., W v_{j-1}. This length is the
    j-th diagonal entry of R in the QR factorisation of W V (Simon et al., 2023, for small starts).

    Args:
        weights: the weights W, with one row for each of d outputs.
        vectors: at most d eigenvectors of Gamma as columns, in descending order of their eigenvalues.

    Raises:
        ShapeError: if weights and vectors do not fit each other.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import aligned_start
        >>> aligned_start(jnp.array([[3.0, 5.0], [0.0, 2.0]]), jnp.eye(2)).tolist()
        [3.0, 2.0]
    """
    if weights.shape[1] != vectors.shape[0] or vectors.shape[1] > weights.shape[0]:
        raise ShapeError(
            "weights W and vectors V",
            found=f"shapes {weights.shape} and {vectors.shape}",
            rule="shapes (d, m) and (m, k), with k at most d",
        )
    return _left_over(weights @ vectors)


@jax.jit
def _left_over(columns: Float[Array, "d k"]) -> Float[Array, " k"]:
    """Orthogonalise columns by Gram-Schmidt, and return the length of the part of each column that is orthogonal to the
    previous columns.
    """
    lengths = []
    for _ in range(columns.shape[1]):
        length = jnp.linalg.norm(columns[:, 0])
        unit = columns[:, 0] / length
        columns = columns[:, 1:] - jnp.outer(unit, unit @ columns[:, 1:])
        lengths.append(length)
    return jnp.stack(lengths)


def stepwise_times(
    x: Float[Array, "n m"],
    views: Float[Array, "n m"],
    dimension: int,
    start: float | Float[Array, "d m"] | Float[Array, ""],
    kernel: AbstractKernel | None = None,
) -> StepwisePrediction:
    """Predict when a linear or kernel model learns each dimension of its embedding from pairs of views.

    For a linear model, Gamma = sum_i (x_i x_i'^T + x_i' x_i^T)/(2n). With a kernel, Gamma has the eigenvalues of
    `contrastive_gram`. Let C be the cross-correlation of the embeddings. The model follows the gradient flow of the
    loss |C - I|² with rate 1 for all weights. For a very wide network, use its tangent kernel.

    Args:
        x: n points.
        views: another view of each point, in the same order.
        dimension: d, the number of outputs of the model.
        start: the size s of every mode at time 0. Without a kernel, `start` may also be the weights W(0) of the model;
            `aligned_start` then gives the sizes.
        kernel: K, or None for the linear model.

    Raises:
        SettingError: for a dimension below 1 or above the number of positive eigenvalues, or a start that is not
            positive. A start with s_j² gamma_j above 1/2 also raises the error, because the mode would then be learned
            before time 0.
        ShapeError: if x and views differ in shape, or the weights do not fit x.
        DataError: if an entry is not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import stepwise_times
        >>> jax.config.update("jax_enable_x64", True)
        >>> x = jnp.diag(jnp.array([4.0, 2.0]))
        >>> found = stepwise_times(x, x, 2, 1e-4)
        >>> found.eigenvalues.tolist(), found.times.round(3).tolist()
        ([8.0, 2.0], [0.255, 1.108])
    """
    require_float64("the times of small starts")
    check_whole("dimension", dimension, 1, "outputs")
    sizes = jnp.asarray(start, float)
    check_numbers("start", sizes)
    if kernel is not None and sizes.ndim:
        raise SettingError(
            "start",
            found=f"shape {sizes.shape}",
            rule="one number if a kernel is given",
            remedy="set kernel=None to start from weights",
        )
    matrix = contrastive_matrix(x, views) if kernel is None else contrastive_gram(kernel, x, views)
    values, vectors = leading_modes(matrix, dimension)
    if sizes.ndim == 2 and sizes.shape[0] != dimension:
        raise ShapeError("start", found=f"shape {sizes.shape}", rule=f"weights with {dimension} outputs")
    sizes = aligned_start(sizes, vectors) if sizes.ndim == 2 else jnp.broadcast_to(sizes, (dimension,))
    seen = known(sizes**2 * values)
    if seen is not None and not ((seen > 0) & (seen <= 0.5)).all():
        raise SettingError(
            "start",
            found=f"s² gamma from {seen.min():.3g} to {seen.max():.3g}",
            rule="s² gamma above 0 and at most 1/2, which is half of the final size of a mode",
            remedy="use a smaller start",
        )
    return StepwisePrediction(values, sizes)
