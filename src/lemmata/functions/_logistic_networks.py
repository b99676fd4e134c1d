"""The class of two-layer networks of logistic units with given input weights."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from ._classes import AbstractFunction, AbstractFunctionClass, uniform_from_normal


class LogisticNetworks(AbstractFunctionClass):
    """Functions f(x) = sum_j r_j sigma(<a_j, x>) with |r_j| <= sizes_j, where sigma is the logistic function.

    The bound F_sup of the spectrum is concentrated on the lines through 0 and the a_j. The Barron parameter is C_F =
    sum_j sizes_j (|a_j| + 2) / 4 (li2025incontext, section 2.3).

    Args:
        atoms: the vectors a_j, one in each row, no two of them on one line through 0.
        sizes: the largest |r_j|.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]

    @property
    def dimension(self) -> int:
        """The dimension d of x."""
        return self.atoms.shape[1]

    def moment(self) -> Float[Array, ""]:
        """The moment sum_j sizes_j |a_j| / 4."""
        return jnp.sum(self.sizes * jnp.linalg.norm(self.atoms, axis=1)) / 4

    def offset(self) -> Float[Array, ""]:
        """The supremum of |f(0)|, which is sum_j sizes_j / 2."""
        return jnp.sum(self.sizes) / 2

    @property
    def columns(self) -> int:
        """The number of normal numbers that one frequency takes, which is 3."""
        return 3

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (1, m) of the normal numbers that one function takes."""
        return 1, len(self.sizes)

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Draw frequencies: choose line j with probability proportional to sizes_j |a_j|.

        The frequency is u a_j, where u has the density 2 u / sinh(pi u).

        The characteristic function of that density is sech²(t/2), so u is the mean of two hyperbolic secant variables
        (2/pi) log tan(pi U/2).
        """
        uniform = uniform_from_normal(normal)
        weight = jnp.cumsum(self.sizes * jnp.linalg.norm(self.atoms, axis=1))
        index = jnp.minimum(jnp.searchsorted(weight, uniform[:, 0] * weight[-1], side="right"), len(weight) - 1)
        u = jnp.sum(jnp.log(jnp.tan(jnp.pi * uniform[:, 1:] / 2)), axis=1) / jnp.pi
        return u[:, None] * self.atoms[index]

    def function(self, normal: Float[Array, "k e"]) -> "LogisticSum":
        """A function with coefficients uniform in their ranges."""
        return LogisticSum(self.atoms, self.sizes, (2 * uniform_from_normal(normal[0]) - 1) * self.sizes)


class LogisticSum(AbstractFunction):
    """The function sum_j r_j sigma(<a_j, x>), where sigma is the logistic function.

    Args:
        atoms: the vectors a_j, one in each row.
        sizes: the bounds of |r_j|.
        coefficients: the coefficients r_j.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]
    coefficients: Float[Array, " m"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The value of the function at each row of x."""
        return jax.nn.sigmoid(x @ self.atoms.T) @ self.coefficients

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """The ratio of the spectrum to its bound, -i sign(u) r_j / sizes_j at u a_j."""
        inner = omega @ self.atoms.T / jnp.linalg.norm(self.atoms, axis=1)
        index = jnp.argmax(jnp.abs(inner), axis=1)
        sign = jnp.sign(jnp.take_along_axis(inner, index[:, None], axis=1)[:, 0])
        return -1j * sign * (self.coefficients / self.sizes)[index]
