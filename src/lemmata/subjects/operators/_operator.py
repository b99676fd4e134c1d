"""A neural operator from an image to colours at any coordinates. Its output is added to bilinear interpolation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.core import check_whole, known
from lemmata.errors import SettingError

from ._affine import Affine, affine
from ._galerkin import GalerkinAttention, galerkin_attention, galerkin_weights
from ._interpolation import bilinear, check_colours, check_image, check_positions, corners, pixel_centres


class KernelBlock(eqx.Module):
    """The map x -> x + W2 gelu(W1 a), where a is x plus Galerkin attention at x, as `galerkin_attention` returns.

    Args:
        attention: the parameters of the attention. If `attention` is None, a is x, and points do not interact.
        inner, outer: W1 and W2 with their biases.
    """

    attention: GalerkinAttention | None
    inner: Affine
    outer: Affine

    def __call__(self, x: Float[Array, "m c"], over: Float[Array, "n c"] | None = None) -> Float[Array, "m c"]:
        """Apply the block at the points x. The mean in the attention is over x, or over the points `over`."""
        seen = x if self.attention is None else galerkin_attention(x, self.attention, over=over)
        return self.outer(jax.nn.gelu(self.inner(seen))) + x


class SuperResolutionOperator(eqx.Module):
    """A super-resolution neural operator: bilinear interpolation plus a learned term, at any coordinates of an image.

    Three 3 x 3 convolutions with repeated edges make features at the pixels. The features at a position consist of
    three parts: the features of each of the four surrounding pixels times its bilinear weight, the coordinates relative
    to these pixels, and the size of an output pixel. Coordinates and size are in pixels of the image. An affine map
    takes these 4 (channels + 2) + 2 numbers to `width` channels. Blocks of Galerkin attention over the positions
    follow. Two affine maps, the head, then produce colours, which are added to bilinear interpolation. The head's last
    map starts at 0. So the operator before training is bilinear interpolation at any scale.

    The mean in the attention is over all positions of a call. So colours at a position depend on the other positions of
    the call. If n positions are drawn at random, the colours vary by the order of 1/sqrt(n). If you pass `over`, the
    mean is over the positions in `over`, and colours do not depend on the other positions.

    Source: Wei and Zhang (2023), whose encoder has 64 channels and 32 convolutions, and whose two blocks have width 256
    and 16 heads.

    Args:
        key: the source of randomness for the initial weights.
        channels: the number of channels of the encoder.
        width: the number of channels of the blocks.
        heads: the number of attention heads in each block.
        blocks: the number of blocks of Galerkin attention.
        attention: whether attention is used. Without attention, colours at a position depend only on the features at
            this position, as in LIIF (local implicit image functions).
        dtype: the type of all parameters; training in single precision is faster than in double precision.

    Raises:
        SettingError: if the number of heads does not divide the width or leaves one channel per head, or for counts
            below 1.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.operators import SuperResolutionOperator, bilinear
        >>> model = SuperResolutionOperator(jax.random.key(0), channels=8, width=16, heads=4)
        >>> image, places = jnp.arange(48.0).reshape(4, 4, 3) / 48, jnp.array([[0.3, 0.6], [0.5, 0.5]])
        >>> bool(jnp.allclose(model(image, places, (0.5, 0.5)), bilinear(image, places)))
        True
    """

    encoder: tuple[Affine, Affine, Affine]
    lift: Affine
    blocks: tuple[KernelBlock, ...]
    head: tuple[Affine, Affine]

    def __init__(
        self,
        key: Key[Array, ""],
        *,
        channels: int = 16,
        width: int = 32,
        heads: int = 4,
        blocks: int = 1,
        attention: bool = True,
        dtype=float,
    ):
        check_whole("channels", channels, 1, "channels")
        check_whole("blocks", blocks, 1, "blocks")
        keys = iter(jax.random.split(key, 5 + 3 * blocks))
        make = lambda inputs, outputs, scale=1.0: affine(next(keys), inputs, outputs, scale=scale, dtype=dtype)
        self.encoder = (make(27, channels), make(9 * channels, channels), make(9 * channels, channels))
        self.lift = make(4 * (channels + 2) + 2, width)
        self.blocks = tuple(
            KernelBlock(
                galerkin_weights(next(keys), width, heads, dtype=dtype) if attention else None,
                make(width, width),
                make(width, width, 0.5),
            )
            for _ in range(blocks)
        )
        self.head = (make(width, width), jax.tree.map(jnp.zeros_like, affine(key, width, 3, dtype=dtype)))

    def features(self, image: Float[Array, "h w 3"]) -> Float[Array, "h w channels"]:
        """Return the encoder's features of an image whose values are in [0, 1]."""
        first, inner, outer = self.encoder
        x = _convolve(2 * image - 1, first)
        return x + _convolve(jax.nn.gelu(_convolve(x, inner)), outer)

    def __call__(
        self,
        image: Float[Array, "h w channels"],
        positions: Float[Array, "m 2"],
        cell: tuple[float, float] | Float[Array, "2"],
        *,
        over: Float[Array, "n 2"] | None = None,
    ) -> Float[Array, "m 3"]:
        """Return the colours at positions.

        Args:
            image: the image, with values in [0, 1].
            positions: positions in the unit square, as (row, column).
            cell: the height and width of an output pixel, in pixels of the image; for a scale s, both are 1/s.
            over: the positions in the mean of the attention; by default, the requested positions.

        Raises:
            ShapeError: if an array has another shape.
            SettingError: for a cell that is not two numbers above 0.
            DataError: for entries that are not finite, for an image of whole numbers or with values outside [-1, 2],
                and for positions outside the unit square.
        """
        check_image("image", image)
        check_colours("image", image)
        _check_cell(cell)
        for name, places in (("positions", positions), ("over", positions if over is None else over)):
            check_positions(name, places)
        features = self.features(image)
        x = self._lifted(features, positions, cell)
        y = None if over is None else self._lifted(features, over, cell)
        for block in self.blocks:
            x, y = block(x, y), None if y is None else block(y)
        hidden, colours = self.head
        return colours(jax.nn.gelu(hidden(x))) + bilinear(image, positions)

    def _lifted(
        self, features: Float[Array, "h w channels"], positions: Float[Array, "m 2"], cell
    ) -> Float[Array, "m width"]:
        index, relative, shares = corners(positions, (features.shape[0], features.shape[1]))
        near = features[index[..., 0], index[..., 1]] * shares[..., None]
        rows = jnp.concatenate([near, relative], axis=-1).reshape(len(positions), -1)
        size = jnp.broadcast_to(jnp.asarray(cell, rows.dtype), (len(rows), 2))
        return self.lift(jnp.concatenate([rows, size], axis=1))


def super_resolve(
    model: SuperResolutionOperator, image: Float[np.ndarray | Array, "h w channels"], scale: float | int
) -> Float[np.ndarray, "rows columns 3"]:
    """Return an image with `scale` times as many rows and columns. These numbers are rounded.

    The mean in each attention of the operator is over all pixels of the new image.

    Args:
        model: the super-resolution operator.
        image: the image, with values in [0, 1].
        scale: the scale, at least 1. Scales that are not whole numbers or were not used in training are allowed.

    Raises:
        SettingError: for a scale below 1.
        ShapeError: if the image is not valid.
        DataError: for entries that are not finite, for whole numbers, and for values outside [-1, 2].
    """
    if not 1 <= scale < np.inf:
        raise SettingError(
            "scale",
            found=scale,
            rule="a number of at least 1, because the operator adds pixels",
            remedy="resize the image to get fewer pixels",
        )
    check_image("image", image)
    check_colours("image", image)
    rows, columns = (round(side * scale) for side in image.shape[:2])
    given = jnp.asarray(image, model.lift.bias.dtype)
    places = jnp.asarray(pixel_centres(rows, columns), given.dtype)
    cell = jnp.asarray([image.shape[0] / rows, image.shape[1] / columns], given.dtype)
    return np.asarray(_called(model, given, places, cell)).reshape(rows, columns, 3)


@eqx.filter_jit
def _called(model: SuperResolutionOperator, image: Array, places: Array, cell: Array) -> Array:
    return model(image, places, cell)


def _convolve(x: Float[Array, "h w inputs"], weights: Affine) -> Float[Array, "h w outputs"]:
    """Apply a 3 x 3 convolution as one matrix product with the nine shifted images side by side."""
    h, w, _ = x.shape
    wide = jnp.pad(x, ((1, 1), (1, 1), (0, 0)), mode="edge")
    return weights(jnp.concatenate([wide[i : i + h, j : j + w] for i in range(3) for j in range(3)], axis=-1))


def _check_cell(cell: tuple[float, float] | Float[Array, "2"]) -> None:
    values = known(jnp.asarray(cell))
    if values is not None and not (values.shape == (2,) and np.all((values > 0) & (values < np.inf))):
        rule = "two numbers above 0, the height and width of an output pixel, in pixels of the image"
        raise SettingError("cell", found=values.tolist(), rule=rule, remedy="pass (1/scale, 1/scale)")
