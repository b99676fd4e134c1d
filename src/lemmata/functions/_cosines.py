"""The class of sums of cosines with given frequencies and bounded amplitudes."""

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from ._classes import AbstractFunction, AbstractFunctionClass, uniform_from_normal


class Cosines(AbstractFunctionClass):
    """Sums f(x) = sum_j a_j cos(<omega_j, x> + theta_j) with |a_j| <= sizes_j and any phases theta_j.

    The Barron parameter of the class is C_F = sum_j sizes_j (1 + |omega_j|).

    Args:
        atoms: the frequencies omega_j, one in each row; none may be the negative of another.
        sizes: the largest amplitudes sizes_j, one for each frequency.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]

    @property
    def dimension(self) -> int:
        """The dimension d of x."""
        return self.atoms.shape[1]

    def moment(self) -> Float[Array, ""]:
        """The moment sum_j sizes_j |omega_j|."""
        return jnp.sum(self.sizes * jnp.linalg.norm(self.atoms, axis=1))

    def offset(self) -> Float[Array, ""]:
        """The supremum of |f(0)|, which is sum_j sizes_j."""
        return jnp.sum(self.sizes)

    @property
    def columns(self) -> int:
        """The number of normal numbers from which one frequency is computed, which is 1."""
        return 1

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (2, m) of the normal numbers that one function takes."""
        return 2, len(self.sizes)

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Draw atoms with probability proportional to sizes_j |omega_j|, with a random sign."""
        uniform = uniform_from_normal(normal[:, 0])
        weight = jnp.cumsum(self.sizes * jnp.linalg.norm(self.atoms, axis=1))
        scaled = uniform * weight[-1] * 2
        index = jnp.searchsorted(weight, scaled % weight[-1], side="right")
        return jnp.where(scaled < weight[-1], 1.0, -1.0)[:, None] * self.atoms[jnp.minimum(index, len(weight) - 1)]

    def function(self, normal: Float[Array, "k e"]) -> "CosineSum":
        """Draw a function: the amplitudes are uniform in their ranges, and the phases are uniform."""
        uniform = uniform_from_normal(normal)
        return CosineSum(self.atoms, self.sizes, self.sizes * (2 * uniform[0] - 1), 2 * jnp.pi * uniform[1])


class CosineSum(AbstractFunction):
    """The function sum_j a_j cos(<omega_j, x> + theta_j).

    Args:
        atoms: the frequencies omega_j, one in each row.
        sizes: the bounds of |a_j|.
        amplitudes: the amplitudes a_j.
        phases: the phases theta_j.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]
    amplitudes: Float[Array, " m"]
    phases: Float[Array, " m"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The value of the function at each row of x."""
        return jnp.cos(x @ self.atoms.T + self.phases) @ self.amplitudes

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """The spectrum divided by its bound: a_j exp(i theta_j) / sizes_j at omega_j, and the conjugate at -omega_j."""
        inner = omega @ self.atoms.T
        index = jnp.argmin(jnp.sum(self.atoms**2, axis=1) - 2 * jnp.abs(inner), axis=1)
        sign = jnp.sign(jnp.take_along_axis(inner, index[:, None], axis=1)[:, 0])
        return (self.amplitudes / self.sizes)[index] * jnp.exp(1j * sign * self.phases[index])
