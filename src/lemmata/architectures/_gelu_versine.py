"""The versine 1 - |c| of a correlation c after GELU, in a form that stays accurate for nearly parallel inputs."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._correlation import quadrant_angle, safe_sqrt
from ._moments import Pair


def after_gelu(pair: Pair, nngp: Float[Array, "..."], xx: Float[Array, "..."], yy: Float[Array, "..."]):
    r"""Return 1 - |c| for the correlation c of GELU's outputs, from the moments of its inputs and of its outputs.

    `pair` holds the moments of the inputs: the covariance k, the variances a and b, and the versine v. The moments
    nngp, xx and yy are those of the outputs.

    Let F(a, b, v) = E[phi phi] for GELU phi, S = sqrt(a b) and w = v (2 - v). For a covariance of at least 0,

        1 - c = [F(a, b, 0) - F(a, b, v)] / sqrt(xx yy) + [1 - F(a, b, 0) / sqrt(xx yy)].

    Every term of the first difference has the factor v. The docstring of `Gelu` gives F. Let A = 1 + a, B = 1 + b, rho
    = k / sqrt(A B), r = sqrt(1 - rho²) and m = 1/A + 1/B, and let r0 and rho0 be the values of r and rho at v = 0:

        F(a, b, 0) - F(a, b, v) = S v / 4 + S (v arcsin rho + arcsin rho0 - arcsin rho) / (2 pi)
                                  + S rho0 w (m rho0² / (r0 (r + r0)) - 1 + m) / (2 pi r).

    For the second difference, F(a, b, 0) = S (1 - lack) / 2, where `_lack` computes lack for the standard deviations
    sqrt(a) and sqrt(b). For ReLU, lack is 0, so only the difference of GELU from ReLU is subtracted. If the covariance
    is below 0, the outputs are nearly parallel or opposite only if GELU is nearly linear at the inputs. In this case,
    the cancellation is harmless.
    """
    rho, rest, one, other, _ = pair.widened(1.0)
    arc = quadrant_angle(rho, jnp.sqrt(rest))
    rho, arc = (jnp.where(pair.k < 0, -value, value) for value in (rho, arc))
    p, q = safe_sqrt(pair.a), safe_sqrt(pair.b)
    w, m = pair.v * (2.0 - pair.v), one + other
    rho0 = jnp.sqrt(one) * p * (jnp.sqrt(other) * q)
    r, r0 = jnp.sqrt(rest), jnp.sqrt(one + one * pair.a * other)
    across = rho0 * r + r0 * rho
    turn = quadrant_angle(rho0 * rho0 * w / jnp.where(across > 0, across, 1.0), rho0 * rho + r0 * r)
    lost = rho0 * w / r * (m * rho0 * rho0 / (r0 * (r + r0)) - 1.0 + m)
    angle = 0.25 * pair.v + (pair.v * arc + turn + lost) / (2.0 * math.pi)
    lacks = _lack(p, p), _lack(q, q), _lack(p, q)
    root = jnp.sqrt((1.0 - lacks[0]) * (1.0 - lacks[1]))
    gap = 2.0 * lacks[2] - lacks[0] - lacks[1] + lacks[0] * lacks[1] - lacks[2] * lacks[2]
    rounding = gap <= 8.0 * jnp.finfo(gap.dtype).eps * lacks[2]
    gap = gap - jax.lax.stop_gradient(jnp.where(rounding, gap, 0.0))
    near = gap / (root * (root + 1.0 - lacks[2])) + 2.0 * angle / root
    scale = safe_sqrt(xx) * safe_sqrt(yy)
    positive = scale > 0
    far = 1.0 - jnp.abs(nngp) / jnp.where(positive, scale, 1.0)
    return jnp.where(positive, jnp.clip(jnp.where(pair.k < 0, far, near), 0.0, 1.0), 1.0)


def _lack(p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return 1 - 2 E[phi(p z) phi(q z)] / (p q) = [arctan x - x / (1 + x²) - S / (D A B)] / pi for GELU phi.

    Here, z is standard normal, S = p q, D² = 1 + p² + q², A B = D² + S² and x = D / S.
    """
    s, square = p * q, 1.0 + p * p + q * q
    d = jnp.sqrt(square)
    x = d / jnp.where(s > 0, s, 1.0)
    small = jnp.where((s > 0) & (x < 0.4), x, 0.0)
    series = jnp.zeros_like(x)
    for n in range(18 if x.dtype == jnp.float64 else 8, 0, -1):
        series = 2.0 * n / (2.0 * n + 1.0) - series * small * small
    series = series * small**3
    whole = square + s * s
    root = jnp.sqrt(whole)
    plain = quadrant_angle(d / root, s / root) - d * s / whole
    return (jnp.where(small > 0, series, plain) - s / (d * whole)) / math.pi
