"""Interpolation of images between pixels: nearest pixels, bilinear and cubic interpolation, and errors in decibels."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from lemmata.core import check_numbers, check_whole, known
from lemmata.errors import DataError, SettingError, ShapeError

_OVERSHOOT = 1.0  # margin beyond [0, 1]; cubic interpolation exceeds the range by less than 0.3


def pixel_centres(height: int, width: int) -> Float[np.ndarray, "pixels 2"]:
    """Return the positions ((i + 1/2)/height, (j + 1/2)/width) of all pixels in the unit square, row by row.

    Args:
        height: the number of rows of pixels.
        width: the number of columns of pixels.

    Raises:
        SettingError: for values that are not whole numbers of at least 1.
    """
    check_whole("height", height, 1, "pixels")
    check_whole("width", width, 1, "pixels")
    rows, columns = (np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)


def corners(
    positions: Float[Array, "m 2"], shape: tuple[int, int]
) -> tuple[Int[Array, "m 4 2"], Float[Array, "m 4 2"], Float[Array, "m 4"]]:
    """Return the four pixels around each position, the position relative to each pixel, and the pixels' weights.

    Relative positions are in pixels. The weight of a corner (a surrounding pixel) is the area of the rectangle between
    the position and the opposite corner. Beyond the outermost centres of pixels, corners coincide.
    """
    places = positions * jnp.asarray(shape, positions.dtype) - 0.5
    # In compiled code, `places` may be rounded differently for the index and for the share. At the centre of a pixel,
    # where floor jumps, the index and the share would then belong to different pixels. The added term prevents this.
    low = jnp.floor(places + 16 * max(shape) * jnp.finfo(places.dtype).eps)
    offsets = jnp.asarray([[0, 0], [0, 1], [1, 0], [1, 1]])
    fraction = (places - low)[:, None]
    shares = jnp.prod(jnp.where(offsets == 1, fraction, 1 - fraction), axis=-1)
    index = jnp.clip(low[:, None].astype(int) + offsets, 0, jnp.asarray(shape) - 1)
    return index, places[:, None] - index.astype(places.dtype), shares


def bilinear(image: Float[Array, "h w channels"], positions: Float[Array, "m 2"]) -> Float[Array, "m channels"]:
    """Interpolate bilinearly between centres of pixels. Beyond the outermost centres, repeat the outermost pixels.

    >>> import jax.numpy as jnp
    >>> from lemmata.subjects.operators import bilinear
    >>> bilinear(jnp.array([[[0.0], [1.0]]]), jnp.array([[0.5, 0.25], [0.5, 0.375], [0.5, 1.0]])).tolist()
    [[0.0], [0.25], [1.0]]

    Args:
        image: values at pixels.
        positions: positions in the unit square, as (row, column).

    Raises:
        ShapeError: if an array has another shape.
        DataError: for entries that are not finite, and for positions outside the unit square.
    """
    check_image("image", image, channels=None)
    check_positions("positions", positions)
    index, _, shares = corners(positions, (image.shape[0], image.shape[1]))
    return jnp.einsum("mk,mkc->mc", shares, image[index[..., 0], index[..., 1]])


def resize(image: Real[np.ndarray, "h w channels"], shape: tuple[int, int]) -> Real[np.ndarray, "h2 w2 channels"]:
    """Resize by cubic interpolation ("bicubic"), with smoothing if the number of pixels becomes smaller.

    The kernel is Keys' kernel with a = -1/2. If the number of pixels becomes smaller, the kernel is widened by the
    ratio. At the borders, the weights are normalised to sum 1. Results overshoot beside edges in the image. If the
    values are whole numbers, such as bytes, results are rounded and clipped to the range of their type.

    >>> import numpy as np
    >>> from lemmata.subjects.operators import resize
    >>> resize(np.ones((6, 4, 3)), (3, 8)).shape
    (3, 8, 3)

    Args:
        image: values at pixels.
        shape: the numbers of rows and columns of the result.

    Raises:
        ShapeError: if the image is not an array of rows, columns and channels.
        SettingError: for a shape that is not two whole numbers of at least 1.
        DataError: for entries that are not finite, and for booleans.
    """
    check_image("image", image, channels=None)
    if np.shape(shape) != (2,):
        raise SettingError("shape", found=repr(shape), rule="two whole numbers, for rows and columns")
    for name, count in zip(("rows", "columns"), shape, strict=True):
        check_whole(f"shape, {name}", count, 1, name)
    dtype = np.asarray(image).dtype
    if dtype.kind == "b":
        raise DataError("image", found="boolean values", rule="numbers", remedy="convert it with image.astype(float)")
    rows, columns = (cubic_weights(old, new) for old, new in zip(image.shape[:2], shape, strict=True))
    found = weighted(rows, columns, np.asarray(image))
    if dtype.kind in "iu":
        found = np.clip(np.rint(found), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return found.astype(dtype)


def weighted(
    rows: Float[np.ndarray, "h2 h"], columns: Float[np.ndarray, "w2 w"], image: Real[np.ndarray, "h w channels"]
) -> Float[np.ndarray, "h2 w2 channels"]:
    """Return weighted sums over the rows and columns of an image."""
    return columns @ np.tensordot(rows, image, 1)


def cubic_weights(old: int, new: int) -> Float[np.ndarray, "new old"]:
    """Return the weight of each of `old` pixels in a line for each of `new` pixels (see `resize`)."""
    widening = max(old / new, 1.0)
    places = (np.arange(new) + 0.5) * old / new - 0.5
    t = np.abs(places[:, None] - np.arange(old)) / widening
    near, far = 1.5 * t**3 - 2.5 * t**2 + 1, -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2
    weights = np.where(t <= 1, near, np.where(t < 2, far, 0.0))
    return weights / weights.sum(axis=1, keepdims=True)


def peak_signal_to_noise(
    image: Float[np.ndarray | Array, "h w channels"],
    reference: Float[np.ndarray | Array, "h2 w2 channels2"],
    *,
    border: int = 0,
) -> float:
    """Return -10 log10 of the mean squared error of values in [0, 1], in decibels; infinite for equal images.

    The mean is over all pixels inside the border and all channels.

    >>> import numpy as np
    >>> from lemmata.subjects.operators import peak_signal_to_noise
    >>> peak_signal_to_noise(np.full((2, 2, 3), 0.6), np.full((2, 2, 3), 0.5)).__round__(6)
    20.0

    Args:
        image: the image that is compared with the reference.
        reference: the image that is taken as correct.
        border: the number of pixels at each edge that are left out of the mean.

    Raises:
        ShapeError: if the two shapes differ, or if the border leaves no pixels.
        SettingError: for a border that is not a whole number of at least 0.
        DataError: for entries that are not finite, and for a reference of whole numbers or with values outside [-1, 2].
    """
    check_numbers("image", image)
    check_colours("reference", reference)
    check_whole("border", border, 0, "pixels")
    if np.ndim(reference) < 2 or np.shape(image) != np.shape(reference) or 2 * border >= min(np.shape(image)[:2]):
        found = f"{np.shape(image)} and {np.shape(reference)}, border {border}"
        raise ShapeError("images", found=found, rule="the same shape for both, with pixels inside the border")
    inside = slice(border, -border or None)
    error = np.mean((np.asarray(image, float) - np.asarray(reference, float))[inside, inside] ** 2)
    return float(np.inf if error == 0 else -10 * np.log10(error))


def check_image(name: str, image: Real[np.ndarray | Array, "..."], channels: int | None = 3) -> None:
    """Raise an error if a value is not an image (an array with axes for rows, columns and channels)."""
    check_numbers(name, image)
    if np.ndim(image) != 3 or channels not in (None, np.shape(image)[2]):
        rule = "(rows, columns, channels)" if channels is None else f"(rows, columns, {channels})"
        raise ShapeError(name, found=f"shape {np.shape(image)}", rule=rule)


def check_colours(name: str, image: Real[np.ndarray | Array, "..."]) -> None:
    """Raise an error for whole numbers and for values outside [-1, 2], because interpolation may overshoot [0, 1]."""
    check_numbers(name, image)
    values, rule, remedy = known(image), "numbers in [0, 1]", "image / 255 for bytes"
    if not jnp.issubdtype(jnp.result_type(image), jnp.floating):
        raise DataError(name, found=f"entries of type {jnp.result_type(image)}", rule=rule, remedy=f"use {remedy}")
    if values is not None and not (values.min() >= -_OVERSHOOT and values.max() <= 1 + _OVERSHOOT):
        raise DataError(
            name, found=f"values from {values.min():.3g} to {values.max():.3g}", rule=rule, remedy=f"use {remedy}"
        )


def check_positions(name: str, positions: Float[np.ndarray | Array, "..."]) -> None:
    """Raise an error if values are not rows of two coordinates in the unit square.

    For values traced by JAX, only the shape is checked.
    """
    check_numbers(name, positions)
    if np.ndim(positions) != 2 or np.shape(positions)[1] != 2:
        raise ShapeError(name, found=f"shape {np.shape(positions)}", rule="shape (m, 2), one row for each position")
    values = known(positions)
    if values is not None and not np.all((values >= 0) & (values <= 1)):
        found = f"{values.min():.3g} to {values.max():.3g}"
        raise DataError(name, found=found, rule="numbers between 0 and 1, as shares of height and width")
