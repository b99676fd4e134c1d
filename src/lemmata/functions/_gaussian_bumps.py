"""The class of sums of Gaussian bumps of a given width."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from lemmata.errors import SettingError

from ._classes import AbstractFunction, AbstractFunctionClass, uniform_from_normal


class GaussianBumps(AbstractFunctionClass):
    """Functions f(x) = size sum_k q_k exp(-scale² |x - c_k|²/2) with sum |q_k| <= 1 and any centres c_k.

    The bound F_sup of the Fourier spectrum is size times the normal density with variance scale² in each coordinate.
    The Barron parameter is C_F = size (1 + scale sqrt(2) Gamma((d+1)/2) / Gamma(d/2)).

    Args:
        dimension: the dimension d of x.
        scale: one over the width of a bump.
        size: the largest value of a function.
        bumps: the number of bumps of a function that is drawn from the class.
    """

    dimension: int = eqx.field(static=True)
    scale: Float[Array, ""] | float = 2.0
    size: Float[Array, ""] | float = 1.0
    bumps: int = eqx.field(static=True, default=3)

    def __check_init__(self):
        if self.dimension < 1:
            raise SettingError("dimension", found=self.dimension, rule="at least 1")
        for name, value in {"scale": self.scale, "size": self.size}.items():
            if isinstance(value, int | float) and not value > 0:
                raise SettingError(f"{name} of the bumps", found=value, rule="a positive number")

    def moment(self) -> Float[Array, ""]:
        """The moment: `size` times the mean length of a normal vector of standard deviation `scale`."""
        half = self.dimension / 2
        mean = math.sqrt(2) * math.exp(math.lgamma(half + 0.5) - math.lgamma(half))
        return jnp.asarray(self.size * self.scale * mean, float)

    def offset(self) -> Float[Array, ""]:
        """The supremum of |f(0)|, which is `size`."""
        return jnp.asarray(self.size, float)

    @property
    def columns(self) -> int:
        """The number 2 d + 1 of normal numbers that one frequency takes."""
        return 2 * self.dimension + 1

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (bumps, d + 2) of the normal numbers that one function takes."""
        return self.bumps, self.dimension + 2

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Frequencies of uniform direction, of `scale` times the length of a standard normal vector in R^(d + 1)."""
        way, length = normal[:, : self.dimension], jnp.linalg.norm(normal[:, self.dimension :], axis=1, keepdims=True)
        return self.scale * length * way / jnp.linalg.norm(way, axis=1, keepdims=True)

    def function(self, normal: Float[Array, "k e"]) -> "BumpSum":
        """A sum of bumps with centres uniform in the unit ball, and weights that sum to 1 in absolute value."""
        radius = uniform_from_normal(normal[:, :1]) ** (1 / self.dimension)
        way = normal[:, 2:] / jnp.linalg.norm(normal[:, 2:], axis=1, keepdims=True)
        weights = normal[:, 1] / jnp.abs(normal[:, 1]).sum()
        return BumpSum(radius * way, weights, jnp.asarray(self.scale, float), jnp.asarray(self.size, float))


class BumpSum(AbstractFunction):
    """The function size sum_k q_k exp(-scale² |x - c_k|²/2).

    Args:
        centres: the centres c_k, one in each row.
        weights: the weights q_k.
        scale: one over the width of a bump.
        size: the factor of the sum.
    """

    centres: Float[Array, "k d"]
    weights: Float[Array, " k"]
    scale: Float[Array, ""]
    size: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The value of the function at each row of x."""
        squares = jnp.sum((x[:, None, :] - self.centres) ** 2, axis=2)
        return self.size * jnp.exp(-(self.scale**2) * squares / 2) @ self.weights

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """The ratio of the spectrum to its bound, sum_k q_k exp(-i <omega, c_k>)."""
        return jnp.exp(-1j * omega @ self.centres.T) @ self.weights.astype(complex)
