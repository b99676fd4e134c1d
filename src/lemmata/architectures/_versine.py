"""The versine 1 - |c| of a correlation c.

The versine determines small angles, which are lost if c is rounded near 1 or -1.

A correlation within eps of 1 determines its angle up to sqrt(eps). Near 1, the versine is half of the squared angle,
and determines the angle up to eps. So if a layer has a formula for the versine that does not cancel, states store the
versine together with the covariances. The sign of c is the sign of the covariance.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.kernels import squared_distances

from ._correlation import angle_and_bow, half_angle, safe_sqrt

# For up to _FEW_COORDINATES coordinates, or up to _FEW_NUMBERS entries in all, the differences of all pairs cost no
# more than repairing the near pairs, or compiling the repair.
_FEW_COORDINATES, _FEW_NUMBERS = 8, 2**20
# below this number, 1 - |c| has lost more than two digits and is computed from differences of the normalised points
NEAR = 1e-2


def input_versines(
    x: Float[Array, "n d"],
    y: Float[Array, "m d"],
    nngp: Float[Array, "n m"],
    xx: Float[Array, "n 1"],
    yy: Float[Array, "1 m"],
    own: bool = False,
) -> Float[Array, "n m"]:
    """Return the versine 1 - |cos| of the angle between points, or 1 if a point is 0.

    A small value loses digits, and is computed again as |x/|x| -+ y/|y||² / 2. This second computation is called the
    repair.

    Args:
        x: points, one in each row.
        y: other points, one in each row.
        nngp: <x, y> / d.
        xx: |x|² / d.
        yy: |y|² / d.
        own: whether y and x are the same points. If so, the diagonal is set to 0, and needs no repair.
    """
    return _input_versines(own, x, y, nngp, xx, yy)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _input_versines(own: bool, x: Array, y: Array, nngp: Array, xx: Array, yy: Array) -> Float[Array, "n m"]:
    units = lambda: (_unit(x, xx), _unit(y, yy.T))
    if x.shape[1] <= _FEW_COORDINATES or 1 in (len(x), len(y)) or len(x) * y.size <= _FEW_NUMBERS:
        left, right = units()
        found = 0.5 * jnp.sum((left[:, None, :] - sign_of(nngp)[:, :, None] * right[None, :, :]) ** 2, axis=-1)
    else:
        found = _repaired(units, _cosine(nngp, xx, yy), own)
    return jnp.where((xx > 0) & (yy > 0), _settled(jnp.minimum(found, 1.0)), 1.0)


def far_versines(nngp: Float[Array, "n m"], xx: Float[Array, "n 1"], yy: Float[Array, "1 m"]) -> Float[Array, "n m"]:
    """Return `input_versines` for points other than 0, without the repair, which takes long to compile.

    The value is NaN for a versine that needs the repair.

    Args:
        nngp: <x, y> / d.
        xx: |x|² / d.
        yy: |y|² / d.
    """
    found = 1.0 - jnp.abs(_cosine(nngp, xx, yy))
    return jnp.where(found < NEAR, jnp.nan, found)


@_input_versines.defjvp
def _input_versines_jvp(own, primals, tangents):
    (x, y, nngp, xx, yy), (_, _, dnngp, dxx, dyy) = primals, tangents
    found = _input_versines(own, x, y, nngp, xx, yy)
    scale, safe = safe_sqrt(xx) * safe_sqrt(yy), lambda values: jnp.where(values > 0, values, 1.0)
    slope = 0.5 * (1.0 - found) * (dxx / safe(xx) + dyy / safe(yy)) - sign_of(nngp) * dnngp / safe(scale)
    return found, jnp.where(scale > 0, slope, 0.0)


def sign_of(nngp: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the sign of a covariance, or 1 at 0. So sign * (1 - versine) is the correlation, and has derivatives."""
    return jnp.where(nngp < 0, -1.0, 1.0).astype(nngp.dtype)


def _unit(x: Float[Array, "n d"], square: Float[Array, "n 1"]) -> Float[Array, "n d"]:
    norm = safe_sqrt(square) * math.sqrt(x.shape[1])
    return x / jnp.where(norm > 0, norm, 1.0)


def _cosine(nngp: Array, xx: Array, yy: Array) -> Array:
    one, other = (1.0 / jnp.sqrt(jnp.where(value > 0, value, 1.0)) for value in (xx, yy))
    return nngp * one * other


def _repaired(units: Callable[[], tuple[Array, Array]], c: Float[Array, "n m"], own: bool) -> Float[Array, "n m"]:
    """Return 1 - |c| for cosines c.

    Where 1 - |c| loses digits, the versine is computed from the points of norm 1 instead.
    """
    found = asked = 1.0 - jnp.abs(c)
    if own:  # the diagonal is 0
        diagonal = jnp.eye(len(c), dtype=bool)
        found, asked = jnp.where(diagonal, 0.0, found), jnp.where(diagonal, 1.0, found)

    def repairs() -> Array:
        left, right = units()

        def repair(found: Array, sign: Array) -> tuple[Array, None]:
            wrong = (asked < NEAR) & (sign_of(c) == sign)
            exact = lambda: jnp.where(wrong, 0.5 * squared_distances(left, sign * right), found)
            return jax.lax.cond(jnp.any(wrong), exact, lambda: found), None

        return jax.lax.scan(repair, found, jnp.array([1.0, -1.0], c.dtype))[0]

    return jax.lax.cond(jnp.min(asked) < NEAR, repairs, lambda: found)


def _settled(versine: Array) -> Array:
    """Return the versine, or 0 if the angle is only a rounding error.

    Sums over two equal points may have different orders. A derivative of the angle would then divide by a tiny sine.
    """
    return jnp.where(versine > (8.0 * jnp.finfo(versine.dtype).eps) ** 2, versine, 0.0)


def angle_of(nngp: Float[Array, "..."], versine: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the angle in [0, pi] that belongs to a covariance and its versine."""
    half = half_angle(0.5 * versine)
    return jnp.where(nngp < 0, math.pi - half, half)


def after_bend(
    nngp: Float[Array, "..."], versine: Float[Array, "..."], a: float | Array, b: float | Array = 1.0
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "..."]]:
    """Return E[phi' phi'], and the correlation and the versine of the outputs.

    The activation phi has slope a below 0 and slope b above 0.

    Let u = min(theta, pi - theta), vers = 1 - cos u and bow = (sin u - u cos u) / pi. The correlation c is 1 - vers +
    (b - a)² bow / (a² + b²) for theta below pi/2, and [(b - a)² bow - 2 a b cos u] / (a² + b²) above it. The
    correlation is the arc-cosine kernel of degree 1, with its terms collected so that 1 - c and 1 + c do not cancel.
    """
    obtuse = nngp < 0
    kappa0, bow = arcs(obtuse, versine)
    even, bend = a * a + b * b, (b - a) ** 2
    share, line = (bend / even) * bow, 2.0 * a * b / even
    near = versine - share  # 1 - c
    if isinstance(line, float) and line == 0.0:  # a single line, whose outputs have no negative correlation
        return (0.5 * bend) * kappa0, jnp.where(obtuse, share, 1.0 - near), jnp.where(obtuse, 1.0 - share, near)
    c = jnp.where(obtuse, share - line * (1.0 - versine), 1.0 - near)
    above = (a + b) ** 2 / even - line * versine - share  # 1 - c and, in the next line, 1 + c of an obtuse angle
    below = bend / even + line * versine + share
    slope = 0.5 * (bend * kappa0 + 2.0 * a * b)
    return slope, c, jnp.where(obtuse, jnp.where(c < 0, below, above), near)


@jax.custom_jvp
def arcs(obtuse: Bool[Array, "..."], versine: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return kappa0 = (pi - theta) / pi, and bow = (sin u - u cos u) / pi with u = min(theta, pi - theta).

    At u = 0, kappa0 has a kink along every line of inputs. There, its derivative is set to 0, the mean of the two
    one-sided derivatives.
    """
    u, bow = angle_and_bow(versine)
    return jnp.where(obtuse, u, math.pi - u) / math.pi, bow


@arcs.defjvp
def _arcs_jvp(primals, tangents):
    (obtuse, versine), (_, dv) = primals, tangents
    kappa0, bow = arcs(obtuse, versine)
    sine = safe_sqrt(versine * (2.0 - versine))
    slope = jnp.where(sine > 0, 1.0 / jnp.where(sine > 0, math.pi * sine, 1.0), 0.0)
    by_angle = jnp.where(obtuse, kappa0, 1.0 - kappa0)  # u / pi
    return (kappa0, bow), (jnp.where(obtuse, slope, -slope) * dv, by_angle * dv)


class Term(NamedTuple):
    """The covariance, versine and variances at x and y of one term in a sum of two terms, such as weights and bias."""

    nngp: Float[Array, "..."] | float
    versine: Float[Array, "..."] | float
    xx: Float[Array, "..."] | float
    yy: Float[Array, "..."] | float


def versine_of_sum(one: Term, other: Term) -> Float[Array, "..."]:
    """Return the versine of a sum of two terms. The product of the terms must have mean 0.

    Let term i have the standard deviations r_i (at x) and q_i (at y), in units of those of the sum. Let P_i = r_i q_i,
    let c_i be the correlation of term i, and c the correlation of the sum. Then

        1 -+ c = (1 - P_1 - P_2) + P_1 (1 -+ c_1) + P_2 (1 -+ c_2), where 1 - P_1 - P_2 = (r_1 q_2 - r_2 q_1)² / (1 +
        P_1 + P_2),

    since both the r_i² and the q_i² sum to 1. No term is negative.
    """
    roots = lambda part, rest: tuple(safe_sqrt(jnp.asarray(value)) for value in (part, rest, part + rest))
    (r1, r2, left), (q1, q2, right) = roots(one.xx, other.xx), roots(one.yy, other.yy)
    left, right = (jnp.where(root > 0, root, 1.0) for root in (left, right))
    r1, r2, q1, q2 = r1 / left, r2 / left, q1 / right, q2 / right
    p1, p2, across = r1 * q1, r2 * q2, _apart(r1 * q2, r2 * q1)
    base = across * across / (1.0 + p1 + p2)
    ends = []
    for sign in (1.0, -1.0):
        apart = (jnp.where(sign * term.nngp < 0, 2.0 - term.versine, term.versine) for term in (one, other))
        ends.append(base + sum(p * v for p, v in zip((p1, p2), apart, strict=True)))
    return jnp.where(one.nngp + other.nngp < 0, ends[1], ends[0])


def _apart(one: Array, other: Array) -> Array:
    """Return the difference of two numbers of the same sign.

    The result is 0 if it is only a rounding error, so that the angle of equal points stays 0.
    """
    difference = one - other
    return jnp.where(jnp.abs(difference) > 8.0 * jnp.finfo(difference.dtype).eps * one, difference, 0.0)


def versine_of_patches(
    term: Term,
    xx: Float[Array, "..."],
    yy: Float[Array, "..."],
    shown: tuple[Sequence[Float[Array, "..."]], Sequence[Float[Array, "..."]]],
    total: Callable[[Float[Array, "..."]], Float[Array, "..."]],
) -> Float[Array, "..."]:
    """Return the versine after a mean over the places of a window, computed as in `versine_of_sum`.

    Let place o have the standard deviations r_o (at x) and q_o (at y), in units of those of the whole window, and the
    correlation c_o. Then 1 -+ c is sum_o (r_o - q_o)² / 2 + sum_o r_o q_o (1 -+ c_o).

    Args:
        term: the moments before the mean.
        xx: the new variances of x, sums over places.
        yy: the new variances of y.
        shown: the variances of x, and of y, at every place.
        total: the sum of values of pairs over the places.
    """
    safe = lambda root: jnp.where(root > 0, root, 1.0)
    one, other = safe(safe_sqrt(xx)), safe(safe_sqrt(yy))
    base = sum(_apart(safe_sqrt(a) / one, safe_sqrt(b) / other) ** 2 for a, b in zip(*shown, strict=True))
    scale = safe_sqrt(jnp.asarray(term.xx)) * safe_sqrt(jnp.asarray(term.yy))
    apart = [jnp.where(sign * term.nngp < 0, 2.0 - term.versine, term.versine) for sign in (1.0, -1.0)]
    near, far = (0.5 * base + total(scale * v) / (one * other) for v in apart)
    return jnp.where((xx > 0) & (yy > 0), jnp.minimum(near, far), 1.0)
