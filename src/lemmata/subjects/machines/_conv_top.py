"""The top of a convolutional deep kernel machine: a Gaussian process over whole images, and its posterior."""

from typing import Literal, NamedTuple, get_args

import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers
from lemmata.errors import SettingError, ShapeError

from ._checks import check_number, check_variances
from ._conv_grams import ConvolutionalGrams, check_grams
from ._conv_layers import root

Residuals = Literal["independent", "dependent", "dropped"]
"""How `pool_grams` treats the variance of sites that inducing points do not explain."""


class PooledGrams(NamedTuple):
    """Covariances of p inducing points and n images, whose features are means over the images' sites.

    Attributes:
        inducing: K_ii, the covariances of inducing points with each other.
        cross: K_ti, the covariances of image t with the inducing points.
        variance: k_t, the variance of image t.
    """

    inducing: Float[Array, "p p"]
    cross: Float[Array, "n p"]
    variance: Float[Array, " n"]


def pool_grams(grams: ConvolutionalGrams, *, residuals: Residuals = "independent", jitter: float = 0.0) -> PooledGrams:
    """Apply global average pooling: an image's feature becomes the mean of the features of its S sites (positions).

    The covariance of this feature with inducing points is the mean m of K_ti over sites t. The variance of this feature
    is the mean covariance over all pairs of sites, which the machine does not store. Inducing points explain the part m
    K_ii^-1 m' of this variance. Let r be the mean over sites of k_t - K_ti K_ii^-1 K_it. If the residuals of different
    sites are independent, the unexplained part is r/S ("independent", as in the published code). For residuals that may
    depend on each other in any way, the unexplained part is at most r ("dependent").

    Args:
        grams: the covariances of the last layer.
        residuals: "independent" adds r/S to the explained variance, "dependent" adds r, and "dropped" adds nothing.
        jitter: as in `replace_gram`.

    Raises:
        ShapeError, DataError: for arrays that are not valid Gram matrices.
        SettingError: for an unknown word, or a jitter out of its range.
        NotPositiveDefiniteError: if K_ii cannot be inverted.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import ConvolutionalGrams, pool_grams
        >>> grams = ConvolutionalGrams(jnp.eye(1), jnp.full((1, 1, 2, 1), 0.5), jnp.ones((1, 1, 2)))
        >>> [pool_grams(grams, residuals=word).variance.tolist() for word in ("dropped", "independent", "dependent")]
        [[0.25], [0.625], [1.0]]
    """
    check_grams(grams)
    if residuals not in get_args(Residuals):
        raise SettingError("residuals", found=repr(residuals), rule=f"one of {', '.join(get_args(Residuals))}")
    factor, count = root(grams.inducing, jitter), len(grams.inducing)
    cross = jnp.mean(grams.cross, axis=(1, 2))
    explained = jnp.sum(solve_triangular(factor, cross.T, lower=True) ** 2, axis=0)
    if residuals == "dropped":
        return PooledGrams(grams.inducing, cross, explained)
    of_sites = jnp.sum(solve_triangular(factor, grams.cross.reshape(-1, count).T, lower=True) ** 2, axis=0)
    rest = jnp.mean(grams.variance - of_sites.reshape(grams.variance.shape), axis=(1, 2))
    sites = grams.variance.shape[1] * grams.variance.shape[2]
    return PooledGrams(grams.inducing, cross, explained + (rest / sites if residuals == "independent" else rest))


class InducedPosterior(NamedTuple):
    """The posterior of a Gaussian process with inducing points, given labels with normal noise.

    Attributes:
        bound: Titsias's lower bound on the log density of the targets, summed over the columns of the targets.
        weights: the weights w. The outputs at a new image t are K_ti w.
    """

    bound: Float[Array, ""]
    weights: Float[Array, "p k"]


def induced_posterior(
    top: PooledGrams, targets: Float[Array, "n k"], noise: float | Float[Array, ""], *, jitter: float = 0.0
) -> InducedPosterior:
    """Return the best inducing-point posterior for a Gaussian likelihood, in closed form.

    Let Q = K_ti K_ii^-1 K_it for the p inducing points i and the n images t. For each column y of the targets, the
    bound on the log density is

        log N(y; 0, Q + noise I) - (sum of k_t - tr Q) / (2 noise),

    and the weights are (noise K_ii + K_it K_ti)^-1 K_it y. The computation takes n p² operations.

    Args:
        top: the covariances of images.
        targets: one column per output.
        noise: the variance of the noise, above 0.
        jitter: as in `replace_gram`.

    Raises:
        ShapeError: if there is not one row of targets for each image, or the covariances do not fit each other.
        DataError: for entries that are not finite, and for negative variances.
        SettingError: for a noise or jitter out of its range.
        NotPositiveDefiniteError: if K_ii cannot be inverted.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import PooledGrams, induced_posterior
        >>> top = PooledGrams(jnp.eye(1), jnp.ones((2, 1)), jnp.ones(2))
        >>> round(float(induced_posterior(top, jnp.ones((2, 1)), 1.0).weights[0, 0]), 4)
        0.6667
    """
    _check_top(top)
    check_number("noise", noise, zero=False)
    if targets.ndim != 2 or len(targets) != len(top.cross):
        raise ShapeError(
            "targets", found=f"shape {targets.shape}", rule=f"{len(top.cross)} rows, with one column for each output"
        )
    check_numbers("targets", targets)
    n, columns = targets.shape
    factor = root(top.inducing, jitter)
    half = solve_triangular(factor, top.cross.T, lower=True)
    inner = jnp.linalg.cholesky(noise * jnp.eye(len(half)) + half @ half.T)
    told = solve_triangular(inner, half @ targets, lower=True)
    log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(inner))) + (n - len(half)) * jnp.log(noise)
    misfit = (jnp.sum(targets**2) - jnp.sum(told**2)) / noise
    rest = jnp.sum(top.variance) - jnp.sum(half**2)
    bound = -0.5 * (columns * (n * jnp.log(2 * jnp.pi) + log_det + rest / noise) + misfit)
    weights = solve_triangular(factor.T, cho_solve((inner, True), half @ targets), lower=False)
    return InducedPosterior(bound, weights)


def _check_top(top: PooledGrams) -> None:
    check_gram("inducing", top.inducing)
    if top.cross.ndim != 2 or top.cross.shape[1] != len(top.inducing):
        raise ShapeError(
            "cross",
            found=f"shape {top.cross.shape}",
            rule=f"shape (images, {len(top.inducing)}), one column for each inducing point",
        )
    if top.variance.shape != top.cross.shape[:1]:
        raise ShapeError(
            "variance",
            found=f"shape {top.variance.shape}",
            rule=f"shape {top.cross.shape[:1]}, one number for each image",
        )
    check_numbers("cross", top.cross)
    check_numbers("variance", top.variance)
    check_variances("variance", top.variance, top.inducing)
