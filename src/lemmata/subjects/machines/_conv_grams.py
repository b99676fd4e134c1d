"""The covariances that each layer of a convolutional deep kernel machine passes to the next layer. Covariances of two
different sites (positions in images) are left out.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers
from lemmata.errors import SettingError, ShapeError

from ._checks import check_number, check_variances


class ConvolutionalGrams(NamedTuple):
    """Covariances of a layer's features at p inducing points and at the sites of n images of size h x w.

    Inducing points represent the sites, but are not on a grid. Covariances of two different sites (positions in images)
    are never computed. For n h w sites, all pairs would need (n h w)² numbers instead of p² + n h w (p + 1).

    Attributes:
        inducing: K_ii, the covariances of inducing points with each other.
        cross: K_ti, the covariance of each site t with each inducing point.
        variance: k_t, the variance of each site t.
    """

    inducing: Float[Array, "p p"]
    cross: Float[Array, "n h w p"]
    variance: Float[Array, "n h w"]


def check_grams(grams: ConvolutionalGrams) -> None:
    """Raise an error if the three arrays do not fit each other.

    Args:
        grams: the covariances of a layer.

    Raises:
        ShapeError: if the inducing Gram matrix is not square and symmetric, or another matrix does not fit its shape.
        DataError: for entries that are not finite, and for negative variances.
    """
    check_gram("inducing", grams.inducing)
    if grams.cross.ndim != 4 or grams.cross.shape[3] != len(grams.inducing):
        rule = f"axes for images, two axes of positions, and {len(grams.inducing)} inducing points"
        raise ShapeError("cross", found=f"shape {grams.cross.shape}", rule=rule)
    if grams.variance.shape != grams.cross.shape[:3]:
        rule = f"shape {grams.cross.shape[:3]}, like the first axes of cross"
        raise ShapeError("variance", found=f"shape {grams.variance.shape}", rule=rule)
    check_numbers("cross", grams.cross)
    check_numbers("variance", grams.variance)
    check_variances("variance", grams.variance, grams.inducing)


def patch_grams(
    images: Float[Array, "n h w c"], patches: Float[Array, "p k l e"], *, bias: float | Float[Array, ""] = 0.0
) -> ConvolutionalGrams:
    """Return the covariances of the patches around the sites of images, and of p inducing patches.

    The covariance of patches x and z is `bias` plus the mean of the product x z over the k² places and c channels.
    Images are padded with zeros, so every site has a patch.

    Args:
        images: n images with c channels.
        patches: the inducing patches of size k x k, where k is odd.
        bias: the number that is added to every covariance, at least 0.

    Raises:
        ShapeError: for wrong shapes.
        SettingError: if k is even, or for a bias out of its range.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import patch_grams
        >>> grams = patch_grams(jnp.ones((1, 2, 2, 1)), 3 * jnp.ones((1, 1, 1, 1)))
        >>> grams.inducing.tolist(), grams.cross[0, 0, 0].tolist(), grams.variance.tolist()
        ([[9.0]], [3.0], [[[1.0, 1.0], [1.0, 1.0]]])
    """
    if images.ndim != 4:
        raise ShapeError("images", found=f"shape {images.shape}", rule="shape (images, height, width, channels)")
    if patches.ndim != 4 or patches.shape[1] != patches.shape[2] or patches.shape[3] != images.shape[3]:
        rule = f"patches with two equal axes of positions and {images.shape[3]} channels"
        raise ShapeError("patches", found=f"shape {patches.shape}", rule=rule)
    check_numbers("images", images)
    check_numbers("patches", patches)
    check_number("bias", bias)
    count, size = len(patches), patches.shape[1]
    flat = patches.reshape(count, -1)
    entries = flat.shape[1]
    inducing = flat @ flat.T / entries
    cross = jnp.zeros(())
    for y, x, moved in windows(images, size):
        cross = cross + moved @ patches[:, y, x].T
    variance = window_mean(jnp.mean(images**2, axis=3), size)
    return ConvolutionalGrams(inducing + bias, cross / entries + bias, variance + bias)


def windows(values: Float[Array, "n h w *c"], size: int) -> list[tuple[int, int, Float[Array, "n h w *c"]]]:
    """For each place (y, x) in a window of odd size, return y, x and a value for every site.

    This value is the value at the place (y, x) of the window around the site. Values outside of images are 0.

    Args:
        values: the values of sites.
        size: the size of the window.

    Raises:
        SettingError: for an even size.
    """
    if size % 2 == 0:
        raise SettingError("size of the window", found=size, rule="an odd number, so that the window has a middle")
    around, (height, width) = size // 2, values.shape[1:3]
    padded = jnp.pad(values, [(0, 0), (around, around), (around, around)] + [(0, 0)] * (values.ndim - 3))
    return [(y, x, padded[:, y : y + height, x : x + width]) for y in range(size) for x in range(size)]


def window_mean(values: Float[Array, "n h w"], size: int) -> Float[Array, "n h w"]:
    """Return the mean over the window around each site, with zeros outside of images.

    Args:
        values: the values of sites.
        size: the size of the window, which is odd.
    """
    return sum((moved for _, _, moved in windows(values, size)), start=jnp.zeros(())) / size**2
