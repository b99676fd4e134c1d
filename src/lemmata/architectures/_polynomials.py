"""Monomials and Hermite polynomials, whose Gaussian moments are finite sums."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._layer import AbstractLayer
from ._moments import push_moments
from ._state import State

_HIGHEST = 64


class Monomial(AbstractLayer):
    r"""u^n, n = `degree`.

    E[phi phi] = n! S_n(nngp, xx yy) with

        S_n(k, r) = sum_{i <= n/2} n! / ((n - 2i)! (i!)² 4^i) k^(n - 2i) r^i

    (Isserlis' theorem: i pairs inside each factor), and E[phi' phi'] = n² (n - 1)! S_{n-1}.

    Raises:
        SettingError: for a degree that is not an integer from 1 to 64.
    """

    degree: int

    def __check_init__(self):
        _check_degree(self.degree)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The power of every coordinate."""
        return x**self.degree

    def push(self, state: State) -> State:
        """The finite sums above."""
        n = self.degree

        def moments(pair):
            values, slopes = (float(math.factorial(m)) * _pairings(m, pair.k, pair.a * pair.b) for m in (n, n - 1))
            return values, n**2 * slopes

        mean = lambda a: math.factorial(n) / (math.factorial(n // 2) * 2 ** (n // 2)) * a ** (n // 2)
        return push_moments(state, moments, None if n % 2 else mean)


class Hermite(AbstractLayer):
    r"""h_n(u), n = `degree`: the Hermite polynomial of unit norm under the standard normal law.

    E[phi phi] = S_n(nngp, (xx - 1)(yy - 1)) with the S_n of `Monomial`, which is nngp^n for unit variances, and
    E[phi' phi'] = n S_{n-1}, since h_n' = sqrt(n) h_{n-1}.

    Raises:
        SettingError: for a degree that is not an integer from 1 to 64.
    """

    degree: int

    def __check_init__(self):
        _check_degree(self.degree)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The Hermite polynomial of every coordinate, by the three-term recurrence."""
        last, value = jnp.ones_like(x), x
        for j in range(1, self.degree):
            last, value = value, (x * value - math.sqrt(j) * last) / math.sqrt(j + 1)
        return value

    def push(self, state: State) -> State:
        """The finite sums above."""
        n = self.degree

        def moments(pair):
            rest = (pair.a - 1.0) * (pair.b - 1.0)
            return _pairings(n, pair.k, rest), n * _pairings(n - 1, pair.k, rest)

        share = math.sqrt(math.factorial(n)) / (math.factorial(n // 2) * 2 ** (n // 2))
        return push_moments(state, moments, None if n % 2 else lambda a: share * (a - 1.0) ** (n // 2))


def _pairings(n: int, k: Float[Array, "..."], r: Float[Array, "..."]) -> Float[Array, "..."]:
    """S_n(k, r) by Horner's rule in k², for which the powers of r are carried along."""
    square, power = k * k, jnp.ones_like(k)
    total = jnp.ones_like(k)
    for i in range(1, n // 2 + 1):
        power = power * r
        weight = math.factorial(n) / (math.factorial(n - 2 * i) * math.factorial(i) ** 2 * 4**i)
        total = total * square + weight * power
    return total * k if n % 2 else total


def _check_degree(degree: int) -> None:
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= _HIGHEST:
        raise SettingError("degree of a polynomial", found=degree, rule=f"an integer from 1 to {_HIGHEST}")
