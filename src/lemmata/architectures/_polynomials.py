"""Polynomials, whose Gaussian moments are finite sums.

At two points x and y, the inputs u and v of an activation phi are Gaussian. A `State` holds their variances xx and yy,
their covariance nngp and their tangent kernel ntk. `push` returns the state of the outputs. Their tangent kernel is ntk
times E[phi' phi'], the mean of phi'(u) phi'(v), where phi' is the derivative of phi.
"""

import math
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._layer import AbstractLayer
from ._moments import Pair, check_finite, push_moments
from ._state import State

_HIGHEST = 64
_COEFFICIENTS = "coefficients of a polynomial"


class Monomial(AbstractLayer):
    r"""The activation phi(u) = u^n with n = `degree`.

    E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance nngp. The formula
    is E[phi phi] = n! S_n(nngp, xx yy) with

        S_n(k, r) = sum_{i <= n/2} n! / ((n - 2i)! (i!)² 4^i) k^(n - 2i) r^i

    (Isserlis' theorem, where i counts the pairs inside each factor), and E[phi' phi'] = n² (n - 1)! S_{n-1}, where
    S_{n-1} has the same arguments.

    Raises:
        SettingError: for a degree that is not an integer from 1 to 64.
    """

    degree: int

    def __check_init__(self):
        check_degree(self.degree, 1)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the power of every coordinate."""
        return x**self.degree

    def push(self, state: State) -> State:
        """Return the moments, by the finite sums of the class."""
        n = self.degree

        def moments(pair):
            values, slopes = (float(math.factorial(m)) * _pairings(m, pair.k, pair.a * pair.b) for m in (n, n - 1))
            return values, n**2 * slopes

        mean = lambda a: math.factorial(n) / (math.factorial(n // 2) * 2 ** (n // 2)) * a ** (n // 2)
        return push_moments(state, moments, None if n % 2 else mean)


class Polynomial(AbstractLayer):
    r"""The activation phi(u) = sum_j c_j u^j with c_j = `coefficients`, in ascending order.

    (The kernel of the same name is `kernels.Polynomial`.) E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v
    of variances xx and yy and covariance nngp.

    In the basis of orthonormal Hermite polynomials of u / sqrt(xx), the coefficients of phi are xx^(i/2) P_i(xx) with

        P_i(a) = sum_m c_{i+2m} (i + 2m)! / (2^m m! sqrt(i!)) a^m,

    so E[phi phi] = sum_i nngp^i P_i(xx) P_i(yy) by Mehler's formula. E[phi' phi'] is the same sum for the coefficients
    of the derivative.

    Args:
        coefficients: from 1 to 65 finite numbers.

    Raises:
        SettingError: without coefficients, for more than 65, or for a coefficient that is not a finite number.
    """

    coefficients: tuple[float, ...]

    def __init__(self, coefficients: Iterable[float]):
        try:
            self.coefficients = tuple(float(value) for value in coefficients)
        except (TypeError, ValueError):
            raise SettingError(_COEFFICIENTS, found=repr(coefficients), rule="a sequence of finite numbers") from None

    def __check_init__(self):
        if not 1 <= len(self.coefficients) <= _HIGHEST + 1:
            rule = f"from 1 to {_HIGHEST + 1} coefficients"
            raise SettingError(_COEFFICIENTS, found=f"{len(self.coefficients)} numbers", rule=rule)
        check_finite(_COEFFICIENTS, *self.coefficients)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the polynomial of every coordinate, by Horner's rule."""
        value = jnp.full_like(x, self.coefficients[-1])
        for coefficient in reversed(self.coefficients[:-1]):
            value = value * x + coefficient
        return value

    def push(self, state: State) -> State:
        """Return the moments, by the finite sums of the class."""
        own = self.coefficients
        slope = tuple(j * coefficient for j, coefficient in enumerate(own))[1:] or (0.0,)
        mean = lambda a: _hermite_part(own, 0, a)
        moments = lambda pair: (_mixed_moment(own, pair), _mixed_moment(slope, pair))
        return push_moments(state, moments, mean if any(own[::2]) else None)


class Hermite(AbstractLayer):
    r"""The activation phi(u) = h_n(u) with n = `degree`, a Hermite polynomial.

    h_n has unit norm under the standard normal distribution. E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and
    v of variances xx and yy and covariance nngp. The formula is E[phi phi] = S_n(nngp, (xx - 1)(yy - 1)) with the S_n
    of `Monomial`. For unit variances, this is nngp^n. For the derivative, E[phi' phi'] = n S_{n-1} at the same
    arguments, since h_n' = sqrt(n) h_{n-1}.

    Raises:
        SettingError: for a degree that is not an integer from 1 to 64.
    """

    degree: int

    def __check_init__(self):
        check_degree(self.degree, 1)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the Hermite polynomial of every coordinate, by the three-term recurrence."""
        last, value = jnp.ones_like(x), x
        for j in range(1, self.degree):
            last, value = value, (x * value - math.sqrt(j) * last) / math.sqrt(j + 1)
        return value

    def push(self, state: State) -> State:
        """Return the moments, by the finite sums of the class."""
        n = self.degree

        def moments(pair):
            rest = (pair.a - 1.0) * (pair.b - 1.0)
            return _pairings(n, pair.k, rest), n * _pairings(n - 1, pair.k, rest)

        share = math.sqrt(math.factorial(n)) / (math.factorial(n // 2) * 2 ** (n // 2))
        return push_moments(state, moments, None if n % 2 else lambda a: share * (a - 1.0) ** (n // 2))


def _pairings(n: int, k: Float[Array, "..."], r: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return S_n(k, r) by Horner's rule in k². The powers of r are computed along the way."""
    square, power = k * k, jnp.ones_like(k)
    total = jnp.ones_like(k)
    for i in range(1, n // 2 + 1):
        power = power * r
        weight = math.factorial(n) / (math.factorial(n - 2 * i) * math.factorial(i) ** 2 * 4**i)
        total = total * square + weight * power
    return total * k if n % 2 else total


def _mixed_moment(coefficients: tuple[float, ...], pair: Pair) -> Float[Array, "..."]:
    """Return E[p(u) p(v)] of a polynomial p for the Gaussian pair (u, v), by Horner's rule in the covariance."""
    total = jnp.zeros_like(pair.k)
    for i in reversed(range(len(coefficients))):
        total = total * pair.k + _hermite_part(coefficients, i, pair.a) * _hermite_part(coefficients, i, pair.b)
    return total


def _hermite_part(coefficients: tuple[float, ...], i: int, a: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return P_i(a) of `Polynomial`, by Horner's rule from the last coefficient that is not 0."""
    weigh = lambda m: math.factorial(i + 2 * m) / (2**m * math.factorial(m) * math.sqrt(math.factorial(i)))
    weights = [weigh(m) * coefficient for m, coefficient in enumerate(coefficients[i::2])]
    used = max((m for m, weight in enumerate(weights) if weight), default=0)
    total = jnp.full_like(a, weights[used])
    for weight in reversed(weights[:used]):
        total = total * a + weight
    return total


def check_degree(degree: int, lowest: int) -> None:
    """Refuse a degree that is not an integer from `lowest` to the highest degree."""
    if isinstance(degree, bool) or not isinstance(degree, int) or not lowest <= degree <= _HIGHEST:
        raise SettingError("degree of a polynomial", found=degree, rule=f"an integer from {lowest} to {_HIGHEST}")
