"""`push` for activations whose moments are known functions of the covariance and the two variances."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._correlation import safe_sqrt
from ._state import Means, State, versine_of


class Pair(NamedTuple):
    """The moments of two Gaussian variables: covariance k, variances a and b, and versine v = 1 - |k| / sqrt(a b).

    `lost` is the possible error of the versine. `lost` is 0 if the state stores the versine, and otherwise 4 eps, where
    eps is the machine epsilon.
    """

    k: Float[Array, "..."]
    a: Float[Array, "..."]
    b: Float[Array, "..."]
    v: Float[Array, "..."]
    lost: float = 0.0

    def square_of_difference(self) -> Float[Array, "..."]:
        """Return a + b - 2k, computed as (sqrt a - sqrt b)² + 2 sqrt(a b) v, which does not cancel."""
        one, other = safe_sqrt(self.a), safe_sqrt(self.b)
        # A root has no derivative at 0. But there, the plain sum does not cancel.
        plain = self.a + self.b - 2.0 * self.k
        apart = jnp.where(self.k < 0, 2.0 - self.v, self.v)
        return jnp.where((self.a > 0) & (self.b > 0), (one - other) ** 2 + 2.0 * one * other * apart, plain)

    def opposite(self) -> "Pair":
        """Return the pair with the sign of one variable changed."""
        return self._replace(k=-self.k)

    def sure(self, values: Float[Array, "..."], slope: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the values. A value is NaN if `slope` times the possible error of the versine exceeds 8 sqrt(eps).

        `slope` is the derivative of the values with respect to the versine, divided by their size at equal points.
        """
        if not self.lost:
            return values
        return jnp.where(slope * self.lost > 8.0 * math.sqrt(jnp.finfo(values.dtype).eps), jnp.nan, values)

    def widened(self, factor: float | Array) -> "Widened":
        """Return the correlation of the pair after independent noise of variance 1 / `factor` is added to both.

        In units of the variance of the noise, the variances of the pair are `factor` times a and b.
        """
        a, b = factor * self.a, factor * self.b
        one, other = 1.0 / (1.0 + a), 1.0 / (1.0 + b)
        p, q = a * one, b * other
        rest = one + p * other + p * q * (self.v * (2.0 - self.v))
        return Widened(factor * self.k * (jnp.sqrt(one) * jnp.sqrt(other)), rest, one, other, p * q / rest)


class Widened(NamedTuple):
    """The correlation rho = k / sqrt(A B) with A = 1 + a and B = 1 + b, after noise of variance 1 is added to a pair.

    k is the covariance of the pair, and a and b are its variances, all in units of the variance of the noise. The other
    attributes are computed without cancellation or overflow.

    Attributes:
        rho: the correlation after the noise is added.
        rest: 1 - rho², as the sum 1/A + a/A 1/B + ab/(A B) (1 - c²) of positive terms. Here, c is the correlation of
            the pair.
        one: 1/A, the share of the noise in the variance A.
        other: 1/B, the share of the noise in the variance B.
        slope: the largest relative derivative of 1 / sqrt(rest) with respect to the versine.
    """

    rho: Float[Array, "..."]
    rest: Float[Array, "..."]
    one: Float[Array, "..."]
    other: Float[Array, "..."]
    slope: Float[Array, "..."]


def push_moments(
    state: State, moments: Callable[[Pair], tuple[Any, Any]], mean: Callable[[Any], Any] | None = None
) -> State:
    """Return the state after an activation phi, from a function moments(pair) -> (E[phi phi], E[phi' phi']).

    `mean` is a function from a variance to E[phi]. `mean` is None if phi is odd.
    """
    law = state.law.activated(odd=mean is None)
    # If the versine is not stored, `versine_of` replaces a correlation within 4 eps of 1 by 1.
    lost = 0.0 if state.versine is not None else 4.0 * float(jnp.finfo(state.nngp.dtype).eps)
    nngp, dot = moments(Pair(state.nngp, state.xx, state.yy, versine_of(state), lost))
    xx, yy = (moments(Pair(v, v, v, jnp.zeros_like(v)))[0] for v in (state.xx, state.yy))
    means = None if mean is None else Means(mean(state.xx), mean(state.yy))
    return state.replace(nngp=nngp, ntk=state.ntk * dot, xx=xx, yy=yy, law=law, means=means)


def check_finite(name: str, *values: float) -> None:
    """Refuse a setting that has an infinite number, or a value that is not a number."""
    try:
        fine = all(math.isfinite(value) for value in values)
    except jax.errors.ConcretizationTypeError:
        raise
    except (TypeError, OverflowError):  # a text, None, or a whole number above 1e308
        fine = False
    if not fine:
        raise SettingError(name, found=values, rule="finite numbers")
