"""Galerkin attention: an integral over points of a low-rank kernel, at a cost linear in the number of points."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.core import check_numbers, check_whole
from lemmata.errors import SettingError, ShapeError

from ._affine import Affine, affine

_EPS = 1e-5


class GalerkinAttention(eqx.Module):
    """The parameters of Galerkin attention with h heads of d channels each, so c = h d channels in all.

    Args:
        query, key, value: affine maps of c channels to c channels. Head a has channels a d to (a + 1) d.
        key_scale, key_shift, value_scale, value_shift: scales and shifts of the layer norms of keys and of values, for
            each head.
    """

    query: Affine
    key: Affine
    value: Affine
    key_scale: Float[Array, "h d"]
    key_shift: Float[Array, "h d"]
    value_scale: Float[Array, "h d"]
    value_shift: Float[Array, "h d"]


def galerkin_weights(
    key: Key[Array, ""], width: int, heads: int, *, scale: float = 1.0, dtype=float
) -> GalerkinAttention:
    """Return initial parameters: normal maps of variance scale²/width, and layer norms of scale 1 and shift 0.

    Args:
        key: the source of randomness for the maps.
        width: the number of channels c.
        heads: the number of heads h, which divides c and leaves at least two channels per head.
        scale: the scale of the maps.
        dtype: the type of all parameters.

    Raises:
        SettingError: for heads that do not divide the width, or leave a head with one channel.
    """
    check_whole("heads", heads, 1, "heads")
    check_whole("width", width, 2, "channels")
    if width % heads or width // heads < 2:
        rule = (
            "a width that is a multiple of the heads and gives each head at least two channels, "
            "because the norm of one channel is 0"
        )
        raise SettingError("heads", found=f"{heads} heads for {width} channels", rule=rule)
    q, k, v = (affine(own, width, width, scale=scale, dtype=dtype) for own in jax.random.split(key, 3))
    ones, zeros = (jnp.full((heads, width // heads), value, q.weight.dtype) for value in (1.0, 0.0))
    return GalerkinAttention(q, k, v, ones, zeros, ones, zeros)


def galerkin_attention(
    x: Float[Array, "m c"],
    params: GalerkinAttention,
    *,
    over: Float[Array, "n c"] | None = None,
    normed: bool = True,
) -> Float[Array, "m c"]:
    """Return x plus Q (K'V) / n, head by head. Queries q come from x, and normed keys k and values v come from n
    points, by default from x.

    Each head's term is the mean over the n points of (q(x)·k(y)) v(y). This estimates the integral of a kernel of rank
    d against v. K'V is d x d, so m points cost m c² operations instead of m². A layer norm is taken over the d channels
    of a head: (k - mean)/(std + 1e-5) with the unbiased standard deviation, followed by scale and shift. Points have no
    order: if the rows of x are permuted, the rows of the result are, too. The value at a point depends on all points in
    the mean. If you pass the points of the mean as `over`, the value does not depend on the other rows of x.

    Source: Wei and Zhang (2023), after Cao (2021).

    Args:
        x: channels at the points where the sum is wanted.
        params: the parameters of the attention, for c channels.
        over: channels at the points of the mean.
        normed: whether keys and values are normalised; if not, the term is a cubic form of the channels.

    Raises:
        ShapeError: if x or `over` has other channels than the parameters.
        DataError: for entries that are not finite.

    Example:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.operators import galerkin_attention, galerkin_weights
        >>> params = galerkin_weights(jax.random.key(0), 8, 2)
        >>> x = jax.random.normal(jax.random.key(1), (5, 8))
        >>> turned = galerkin_attention(x[::-1], params)
        >>> bool(jnp.allclose(turned[::-1], galerkin_attention(x, params), atol=1e-4))
        True
    """
    width = len(params.query.bias)
    mean_over = x if over is None else over
    for name, points in (("x", x), ("over", mean_over)):
        check_numbers(name, points)
        if jnp.ndim(points) != 2 or points.shape[1] != width:
            raise ShapeError(name, found=f"shape {jnp.shape(points)}", rule=f"shape (points, {width}), like params")
    split = lambda own, points: own(points).reshape(len(points), *params.key_scale.shape)
    q, k, v = split(params.query, x), split(params.key, mean_over), split(params.value, mean_over)
    if normed:
        k = _layer_norm(k) * params.key_scale + params.key_shift
        v = _layer_norm(v) * params.value_scale + params.value_shift
    moments = jnp.einsum("nhd,nhe->hde", k, v) / len(mean_over)
    return x + jnp.einsum("mhd,hde->mhe", q, moments).reshape(len(x), width)


def _layer_norm(x: Float[Array, "n h d"]) -> Float[Array, "n h d"]:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (jnp.std(x, axis=-1, keepdims=True, ddof=1) + _EPS)
