"""The Gram map of ReLU features, from the Gram matrix of one layer to the covariance of the next layer."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.architectures import Relu, State
from lemmata.core import require_float64

from ._checks import check_covariances


def rectify(
    cross: Float[Array, "..."], left: float | Float[Array, "..."], right: float | Float[Array, "..."]
) -> Float[Array, "..."]:
    """Return 2 E[max(u, 0) max(v, 0)] for normal u, v of mean 0, variances `left`, `right` and covariance `cross`.

    With theta = arccos(cross / sqrt(left right)), clamped to [0, pi], the result is

        sqrt(left right) [sin theta + (pi - theta) cos theta] / pi,

    the arc-cosine kernel of degree 1 (Cho and Saul, 2009). The result is twice the kernel of
    `lemmata.architectures.Relu`, so variances do not change. The derivatives of the result are finite everywhere, even
    at the diagonal, where theta is 0. The derivative with respect to `cross` is (pi - theta)/pi. The derivative with
    respect to `left` is sqrt(left right) sin(theta) / (2 pi left).

    Args:
        cross: the covariances, of any shape that broadcasts with the variances.
        left: the variances of u, not negative; for a matrix of covariances, a column with one variance for each row.
        right: the variances of v; for a matrix, a row with one variance for each column.

    Raises:
        DataError: for entries that are not finite, negative variances, and |cross| above sqrt(left right) by more than
            rounding. Traced numbers are not checked.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import rectify
        >>> [round(float(rectify(jnp.asarray(c), 4.0, 1.0)), 6) for c in (2.0, 0.0, -2.0)]
        [2.0, 0.63662, 0.0]
    """
    require_float64("the Gram map of ReLU features")
    check_covariances(cross, left, right)
    return _rectified(*jnp.broadcast_arrays(*(jnp.asarray(value, float) for value in (cross, left, right))))


@jax.custom_jvp
def _rectified(cross: Array, left: Array, right: Array) -> Array:
    return _moments(cross, left, right)[0]


def _moments(cross: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """Return 2 E[phi(u) phi(v)] for phi = ReLU and normal u, v, and its derivative with respect to `cross`.

    The derivative is 2 E[phi'(u) phi'(v)].
    """
    after = Relu().push(State(cross, jnp.ones_like(cross), left, right, 1))
    return 2.0 * after.nngp, 2.0 * after.ntk


@_rectified.defjvp
def _rectified_jvp(primals, tangents):
    # Clamping the correlation would lose the derivative at the diagonal, so the derivative is written out here. The map
    # is homogeneous of degree 1, so value - cross * slope = sqrt(left right) sin(theta) / pi is shared by the
    # variances.
    cross, left, right = primals
    value, slope = _moments(cross, left, right)
    half = 0.5 * (value - cross * slope)
    own = sum(half * dv / jnp.where(v > 0, v, jnp.inf) for v, dv in zip(primals[1:], tangents[1:], strict=True))
    return value, slope * tangents[0] + own
