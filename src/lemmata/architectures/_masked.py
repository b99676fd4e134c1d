"""Fields of variable size: each point includes a mask of its filled positions."""

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.errors import SettingError, ShapeError

from ._embedding import token_points
from ._fields import field_shape
from ._layer import AbstractLayer, Shape, with_channels
from ._reading import Reading, check_points, reading
from ._state import State


class Masked(AbstractLayer):
    r"""A network for fields with empty positions.

    An example is sequences of different lengths, padded to one length.

    Points have an additional last channel, the mask. The mask is 1 at filled positions and 0 at empty positions. The
    other channels of an empty position are ignored. At empty positions, convolutions and windows read zeros, and
    `Flatten` writes zeros. `Attention` does not use empty positions as keys. Pooling over all positions only includes
    filled positions. After a window with `"VALID"` padding, a position is filled if its whole window was filled. With
    `"SAME"` padding and strides 1, a position is filled if it was filled before. So a padded sequence has the same
    kernels as the sequence without padding, unless the network has a Flatten, whose output has a fixed length.

    Masked must be the outermost layer. `padded` turns sequences into such points. If the network begins with an
    Embedding, a field has one channel for the tokens and one for the mask.

    Args:
        network: the network for all channels except the last.

    `push` raises SettingError if this layer is inside another network. `push` also raises this error for windows that
    depend on the length of a sequence: `"CIRCULAR"` padding, or `"SAME"` with strides above 1. The kernels raise
    SettingError for a point without any filled position.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Conv, Dense, GlobalAveragePool, Masked, NNGPKernel, Relu, Serial, padded
        >>> network = Serial([Conv(8, 3), Relu(), GlobalAveragePool(), Dense(1)])
        >>> x = padded([jnp.ones((2, 4)), jnp.ones((5, 4))])
        >>> x.shape
        (2, 5, 5)
        >>> masked, alone = NNGPKernel(Masked(network)), NNGPKernel(network)
        >>> bool(abs(masked.diagonal(x)[0] - alone.diagonal(jnp.ones((1, 2, 4)))[0]) < 1e-6)
        True
    """

    network: AbstractLayer
    whole = True

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[Any, Shape]:
        """Return the network's parameters, drawn for points without the mask channel."""
        *sites, c = field_shape("Masked", fan_in)
        if c < 2:
            raise ShapeError("input of Masked", found=f"{c} channel", rule="at least one channel besides the mask")
        self._check_tokens(c - 1)
        tokens = self.network.token_count() is not None
        return self.network.init(key, tuple(sites) if tokens else with_channels(fan_in, c - 1), dtype=dtype)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Return the output of the network, computed on the filled positions only."""
        field_shape("Masked", x.shape)
        values, mask = split_mask(x)
        self._check_tokens(values.shape[-1])
        return self.network.apply_masked(
            params, values if self.network.token_count() is None else values[..., 0], mask
        )[0]

    def push(self, state: State) -> State:
        """Return the moments of the network's output, given the masks of both inputs."""
        if state.grid.mask_x is None:
            name = type(self).__name__
            raise SettingError(
                f"input of {name}",
                found="a state without masks",
                rule=f"masked points as input, which requires that {name} is the outermost layer of the network",
                remedy=f"use NNGPKernel({name}(network)) on points whose last channel is the mask",
            )
        return self.network.push(state)

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether the network needs the moments of all pairs of positions."""
        return self.network.needs_pairs(pairs)

    def check(self, x: Float[Array, "n *sites c"]) -> None:
        """Refuse masks with entries other than 0 and 1, points without a filled position, and unknown tokens.

        Under a transformation of JAX, values are not known yet, and no error is raised.
        """
        _check_masks(x)
        count = self.network.token_count()
        if count is not None:
            self._check_tokens(x.shape[-1] - 1)
            token_points(split_mask(x)[0][..., 0], count)

    def _check_tokens(self, c: int) -> None:
        if c != 1 and self.network.token_count() is not None:
            rule = "two channels, the tokens and the mask, because the network begins with an Embedding"
            raise ShapeError("points of Masked", found=f"{c} channels besides the mask", rule=rule)


def split_mask(x: Float[Array, "*batch c"]) -> tuple[Float[Array, "*batch d"], Bool[Array, "*batch"]]:
    """Return the channels except the last, with 0 at empty positions, and the mask of filled positions."""
    mask = x[..., -1] > 0.5
    return jnp.where(mask[..., None], x[..., :-1], 0.0), mask


@reading.register
def _(network: Masked, x: Array) -> Reading:
    values, mask = split_mask(x)
    count = network.network.token_count()
    return Reading(values if count is None else token_points(values[..., 0], count), mask, count is not None)


@check_points.register
def _(network: Masked, x: Array) -> None:
    network.check(x)


def _check_masks(x: Float[Array, "n *sites c"]) -> None:
    if jnp.ndim(x) < 3 or x.shape[-1] < 2:
        rule = "fields of shape (n, *sites, channels) whose last channel is the mask"
        raise ShapeError("points of Masked", found=f"shape {x.shape}", rule=rule)
    try:
        mask = np.asarray(x[..., -1]).reshape(len(x), math.prod(x.shape[1:-1]))
    except jax.errors.TracerArrayConversionError:
        return
    if not np.isin(mask, (0.0, 1.0)).all():
        found, rule = (
            "values other than 0 and 1",
            "a last channel that is 1 at each position of the sequence and 0 elsewhere",
        )
        raise SettingError("mask", found=found, rule=rule, remedy="make the points with padded(sequences)")
    empty = np.flatnonzero(~mask.any(axis=1))
    if empty.size:
        raise SettingError(
            "mask",
            found=f"a mask that is 0 at every position of point {empty[0]}",
            rule="a mask that is 1 at one position or more",
        )


def padded(sequences: Sequence[Float[Array, "_ *c"]]) -> Float[Array, "n longest c_and_mask"]:
    """Turn sequences of different lengths into points of `Masked`.

    The points have zeros after the end of each sequence, and the mask is their last channel.

    Args:
        sequences: matrices (length, channels), or vectors of tokens (length,).

    Raises:
        ShapeError: if the sequences have different numbers of channels, or one of them is empty.
    """
    sequences = [sequence[:, None] if jnp.ndim(sequence) == 1 else sequence for sequence in sequences]
    shapes = [jnp.shape(sequence) for sequence in sequences]
    if not shapes or any(len(shape) != 2 or shape[1:] != shapes[0][1:] or shape[0] < 1 for shape in shapes):
        rule = "shapes (length, channels) with the same number of channels and at least one position"
        raise ShapeError("sequences", found=f"shapes {shapes}", rule=rule)
    longest = max(length for length, _ in shapes)
    masked = (jnp.concatenate([sequence, jnp.ones((len(sequence), 1))], axis=1) for sequence in sequences)
    return jnp.stack([jnp.pad(rows, ((0, longest - len(rows)), (0, 0))) for rows in masked])
