"""The class of linear functions, approximated by functions whose frequencies have one small length."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from ._classes import AbstractFunction, AbstractFunctionClass


def mean_projection(dimension: int) -> float:
    """The mean Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)) of |u_1| for u uniform on the unit sphere.

    Args:
        dimension: the dimension d.
    """
    return math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)) / math.sqrt(math.pi)


class LinearFunctions(AbstractFunctionClass):
    """Functions f(x) = <a, x> + b with |a| <= slope and |b| <= shift.

    The Barron parameter is C_F = shift + slope / E|u_1|, where u is uniform on the unit sphere.

    Features need a spectrum away from 0, which linear functions do not have. Let u be uniform on the unit sphere. On
    the unit ball, <a, x> is the mean of |a| sign(<u, a>) sin(length <u, x>) / (length E|u_1|) over u, to within length²
    |a| / 6. The same random directions u serve every a. No bound F_sup on the spectra of all linear functions has a
    smaller moment.

    Args:
        dimension: the dimension d of x.
        slope: the largest |a|.
        shift: the largest |b|.
        length: the length of the frequencies; the error of the approximation grows with its square.
    """

    dimension: int = eqx.field(static=True)
    slope: Float[Array, ""] | float = 1.0
    shift: Float[Array, ""] | float = 0.0
    length: float = eqx.field(static=True, default=1e-4)

    def moment(self) -> Float[Array, ""]:
        """The moment slope / E|u_1|, which is about slope sqrt(pi d / 2)."""
        return jnp.asarray(self.slope / mean_projection(self.dimension), float)

    def offset(self) -> Float[Array, ""]:
        """The supremum of |f(0)|, which is `shift`."""
        return jnp.asarray(self.shift, float)

    @property
    def columns(self) -> int:
        """The number d of normal numbers that one frequency takes."""
        return self.dimension

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (1, d + 2) of the normal numbers that one function takes."""
        return 1, self.dimension + 2

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Frequencies uniform on the sphere of radius `length`."""
        return self.length * normal / jnp.linalg.norm(normal, axis=1, keepdims=True)

    def function(self, normal: Float[Array, "k e"]) -> "LinearFunction":
        """Draw a function: the slope a is uniform in its ball, and the value b at 0 is uniform in its interval."""
        radius, level = jax.scipy.stats.norm.cdf(normal[0, :2])
        way = normal[0, 2:] / jnp.linalg.norm(normal[0, 2:])
        a = self.slope * radius ** (1 / self.dimension) * way
        return LinearFunction(a, self.shift * (2 * level - 1), jnp.asarray(self.slope, float))


class LinearFunction(AbstractFunction):
    """The function <a, x> + b.

    Args:
        a: the slope.
        b: the value at 0.
        slope: the largest |a| of the class.
    """

    a: Float[Array, " d"]
    b: Float[Array, ""]
    slope: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The value of the function at each row of x."""
        return x @ self.a + self.b

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """The ratio of the spectrum to its bound, -i sign(<omega, a>) |a| / slope."""
        return -1j * jnp.sign(omega @ self.a) * jnp.linalg.norm(self.a) / self.slope
