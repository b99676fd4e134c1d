"""Layers of convolutional deep kernel machines: maps from Gram matrices to Gram matrices."""

from typing import Literal, get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, known, whole
from lemmata.errors import DataError, SettingError, ShapeError

from ._checks import check_factor, check_number, check_semidefinite
from ._conv_grams import ConvolutionalGrams, check_grams, window_mean, windows
from ._rectify import rectify

Norm = Literal["global", "image", "location", "local"]
"""The sites over which `normalise_grams` averages variances."""


def convolve_grams(
    grams: ConvolutionalGrams, mixing: Float[Array, "k l q p"], *, stride: int = 1
) -> ConvolutionalGrams:
    """Apply a convolution with infinitely many channels, with inducing points before and after it.

    Inducing points are not on a grid, so a convolution cannot act on them. Each of the q new inducing points is a patch
    made of the p old inducing points. At place d of the window, this patch holds the sum of the old inducing points
    with the weights C_d = mixing[d]. If the convolution has independent normal weights of variance 1/(k² channels),
    covariances after the convolution are means over places d of the window,

        K_ii' = mean C_d K_ii C_d',   K_ti' = mean K_(t + d)i C_d',   k_t' = mean k_(t + d),

    with zeros outside of images. The formula for K_ti' is an ordinary convolution of the array K_ti; covariances of
    two sites are not needed.

    Args:
        grams: the covariances before the convolution.
        mixing: the weights C, one matrix C_d for each place d of the k x k window, where k is odd.
        stride: 1 keeps every site, 2 keeps every second site starting with the first, and so on.

    Raises:
        ShapeError: for wrong shapes.
        SettingError: for an even window, or a stride that is not a whole number of at least 1.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import convolve_grams, patch_grams
        >>> grams = patch_grams(jnp.ones((1, 2, 2, 1)), 3 * jnp.ones((1, 1, 1, 1)))
        >>> behind = convolve_grams(grams, jnp.ones((3, 3, 1, 1)))
        >>> behind.inducing.tolist(), bool(jnp.allclose(behind.variance, 4 / 9))
        ([[9.0]], True)
    """
    check_grams(grams)
    if mixing.ndim != 4 or mixing.shape[0] != mixing.shape[1] or mixing.shape[3] != len(grams.inducing):
        rule = f"two equal axes of the window, the new inducing points, and {len(grams.inducing)} old ones"
        raise ShapeError("mixing", found=f"shape {mixing.shape}", rule=rule)
    check_numbers("mixing", mixing)
    if whole("stride", stride) < 1:
        raise SettingError("stride", found=stride, rule="a whole number that is at least 1")
    size = mixing.shape[0]
    flat = mixing.reshape(size**2, *mixing.shape[2:])
    inducing = jnp.einsum("dqp,drp->qr", flat @ grams.inducing, flat) / size**2
    cross = jnp.zeros(())
    for y, x, moved in windows(grams.cross, size):
        cross = cross + moved[:, ::stride, ::stride] @ mixing[y, x].T
    variance = window_mean(grams.variance, size)[:, ::stride, ::stride]
    return ConvolutionalGrams(inducing, cross / size**2, variance)


def rectify_grams(
    grams: ConvolutionalGrams, *, weight: float | Float[Array, ""] = 1.0, bias: float | Float[Array, ""] = 0.0
) -> ConvolutionalGrams:
    """Apply a ReLU to normal features u, v: each covariance becomes bias + weight 2 E max(0, u) max(0, v).

    Variances do not change if weight = 1 and bias = 0.

    Args:
        grams: the covariances before the ReLU.
        weight: the factor of all covariances, at least 0.
        bias: the number that is added to all covariances, at least 0.

    Raises:
        ShapeError, DataError: for arrays that are not valid Gram matrices.
        SettingError: for a weight or bias out of its range.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import ConvolutionalGrams, rectify_grams
        >>> grams = ConvolutionalGrams(jnp.eye(1), jnp.zeros((1, 1, 1, 1)), jnp.ones((1, 1, 1)))
        >>> round(float(rectify_grams(grams).cross[0, 0, 0, 0] * jnp.pi), 6)
        1.0
    """
    check_grams(grams)
    check_number("weight", weight)
    check_number("bias", bias)
    own = jnp.diagonal(grams.inducing)
    inducing = rectify(grams.inducing, own[:, None], own)
    cross = rectify(grams.cross, grams.variance[..., None], own)
    return ConvolutionalGrams(*(bias + weight * part for part in (inducing, cross, grams.variance)))


def replace_gram(grams: ConvolutionalGrams, learned: Float[Array, "q r"], *, jitter: float = 0.0) -> ConvolutionalGrams:
    """Replace the Gram matrix of the inducing points by a matrix G, and change the covariances of the sites
    accordingly.

        G_ti = K_ti K_ii^-1 G,   g_t = k_t - K_ti K_ii^-1 K_it + G_ti G^-1 G_it.

    The part of a site's variance that inducing points do not explain, k_t - K_ti K_ii^-1 K_it, does not depend on G.
    With G = K_ii, nothing changes.

    Args:
        grams: the covariances of the prior.
        learned: the matrix G, positive definite.
        jitter: a number of at least 0. This number times the mean of the diagonal of K_ii is added to the diagonal
            when K_ii is inverted.

    Raises:
        ShapeError: for a wrong shape, and for a G that is not symmetric.
        DataError: for entries that are not finite.
        NotPositiveDefiniteError: if K_ii cannot be inverted, or an eigenvalue of G is below 0.
        SettingError: for a jitter out of its range.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import ConvolutionalGrams, replace_gram
        >>> grams = ConvolutionalGrams(jnp.eye(1), jnp.full((1, 1, 1, 1), 0.5), jnp.ones((1, 1, 1)))
        >>> behind = replace_gram(grams, 3 * jnp.eye(1))
        >>> behind.cross.tolist(), behind.variance.tolist()
        ([[[[1.5]]]], [[[1.5]]])
    """
    check_grams(grams)
    if learned.shape != grams.inducing.shape:
        raise ShapeError("learned", found=f"shape {learned.shape}", rule=f"shape {grams.inducing.shape}, like inducing")
    check_gram("learned", learned)
    check_semidefinite("learned", learned)
    weights = site_weights(grams, jitter)
    cross = weights @ learned
    variance = grams.variance + jnp.sum((cross - grams.cross) * weights, axis=-1)
    return ConvolutionalGrams(learned, cross, variance)


def root(inducing: Float[Array, "p p"], jitter: float = 0.0) -> Float[Array, "p p"]:
    """Return the Cholesky factor of K + jitter * (mean of the diagonal of K) * I.

    The result is NaN if K is traced and the factor does not exist.

    Args:
        inducing: the matrix K.
        jitter: a number of at least 0.

    Raises:
        NotPositiveDefiniteError: if there is no Cholesky factor.
        SettingError: for a jitter out of its range.
    """
    check_number("jitter", jitter)
    factor = jnp.linalg.cholesky(inducing + jitter * jnp.mean(jnp.diagonal(inducing)) * jnp.eye(len(inducing)))
    check_factor("the Gram matrix of inducing points", factor)
    return factor


def site_weights(grams: ConvolutionalGrams, jitter: float = 0.0) -> Float[Array, "n h w p"]:
    """Return K_ti K_ii^-1, the weights of the best linear prediction of a site's feature.

    The prediction uses the features of the inducing points.

    Args:
        grams: the covariances of a layer.
        jitter: as in `replace_gram`.
    """
    rows = grams.cross.reshape(-1, len(grams.inducing))
    found = jax.scipy.linalg.cho_solve((root(grams.inducing, jitter), True), rows.T)
    return found.T.reshape(grams.cross.shape)


def normalise_grams(grams: ConvolutionalGrams, over: Norm = "image") -> ConvolutionalGrams:
    """Divide covariances by norms, as batch normalisation divides features by their sizes. Let a be the norm of an
    inducing point, and b the norm of a site. Then K_ii is divided by a a' for the two inducing points, K_ti by a b, and
    k_t by b².

    Correlations do not change, since every covariance is divided by the norms of its two points.

    Args:
        grams: the covariances that are divided.
        over: the way to compute the squared norms. With "global", b² is the mean of k_t over all sites. With "image",
            b² is the mean over the sites of one image. With "location", b² is the mean over all images at a site. In
            these three cases, a² is the mean of the diagonal of K_ii. With "local", a² and b² are each point's own
            variance. With "image" and "local", the result for an image does not depend on the other images of the
            batch.

    Raises:
        ShapeError, DataError: for arrays that are not valid Gram matrices.
        DataError: for a norm of 0, for example of a black image.
        SettingError: for an unknown word.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import ConvolutionalGrams, normalise_grams
        >>> grams = ConvolutionalGrams(4 * jnp.eye(1), jnp.full((1, 1, 1, 1), 3.0), jnp.full((1, 1, 1), 9.0))
        >>> normalise_grams(grams, "local").cross.tolist()
        [[[[0.5]]]]
    """
    check_grams(grams)
    axes = {"global": (0, 1, 2), "image": (1, 2), "location": (0,), "local": ()}
    if not isinstance(over, str) or over not in axes:
        raise SettingError("over", found=repr(over), rule=f"one of {', '.join(get_args(Norm))}")
    site = jnp.sqrt(jnp.mean(grams.variance, axis=axes[over], keepdims=True))
    own = jnp.diagonal(grams.inducing)
    point = jnp.sqrt(own if over == "local" else jnp.full_like(own, own.mean()))
    for what, norms in (("sites", site), ("inducing points", point)):
        values = known(norms)
        if values is not None and not (values > 0).all():
            raise DataError(
                f"norms of {what}",
                found=f"0 for {(~(values > 0)).sum()} of {values.size}",
                rule="norms above 0",
                remedy="leave out black images, or set a bias above 0 in patch_grams",
            )
    cross = grams.cross / (site[..., None] * point)
    return ConvolutionalGrams(grams.inducing / jnp.outer(point, point), cross, grams.variance / site**2)
