"""Galerkin attention: the integral of a low-rank kernel over points, at a cost linear in the number of points."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.core import check_numbers, check_whole
from lemmata.errors import SettingError, ShapeError

from ._affine import Affine, affine

_EPS = 1e-5


class GalerkinAttention(eqx.Module):
    """The parameters of Galerkin attention with h heads of d channels each, which makes c = h d channels.

    Args:
        query, key, value: affine maps of c channels to c channels. Head a has the channels from a d to (a + 1) d - 1.
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
        SettingError: if the number of heads does not divide the width, or if a head would have a single channel.
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
    """Return x plus Q (K'V) / n for each head, with queries Q at x, and normalised keys K and values V at n points.

    By default, the n points y are the rows of x. The rows of Q, K and V at a point are q, k and v. For each head, Q
    (K'V) / n is the mean over the n points of (q(x)·k(y)) v(y). This mean estimates the integral of a kernel of rank d
    against v. The matrix K'V is d x d, so m points cost m c² operations, and the cost is not proportional to m². The
    layer norm of a head is (k - mean)/(std + 1e-5) over its d channels, with the unbiased standard deviation. A scale
    and a shift follow. If the rows of x are permuted, the rows of the result are permuted in the same way. The value at
    a point depends on all points in the mean. If you pass the points of the mean as `over`, the value does not depend
    on the other rows of x.

    Source: Wei and Zhang (2023), after Cao (2021).

    Args:
        x: channels at the m points where the result is wanted.
        params: the parameters of the attention, for c channels.
        over: channels at the n points of the mean; by default x.
        normed: whether keys and values are normalised; without normalisation, the added term is cubic in the channels.

    Raises:
        ShapeError: if x or `over` has a different number of channels than the parameters.
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
