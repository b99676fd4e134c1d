"""Classes of functions with a bounded Fourier spectrum, their Barron parameters, and draws from them.

The theory (Barron, 1993; li2025incontext) measures a class by one number, its Barron parameter C_F = sup |f(0)| +
integral of |omega| F_sup(omega). The theory assumes functions on the unit ball with a Fourier representation. The
theory does not say how to choose a class.

A function of a class is f(x) = f(0) + integral of (cos(<omega, x> + theta(omega)) - cos(theta(omega))) |F_f(omega)|.
Here F_f = ratio(omega) F_sup(omega) has the phase theta, and |ratio| <= 1. The bound F_sup of the spectrum defines the
class. The ratio and f(0) determine the function.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key


class AbstractFunction(eqx.Module):
    """One function of a class: its values, and its spectrum relative to the class's bound."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The value of the function at each row of x."""

    @abc.abstractmethod
    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """The ratio F_f(omega) / F_sup(omega) of the spectrum to its bound, of modulus at most 1."""


class AbstractFunctionClass(eqx.Module):
    """Functions whose Fourier spectrum F_f is bounded by a function F_sup, |F_f| <= F_sup."""

    @abc.abstractmethod
    def moment(self) -> Float[Array, ""]:
        """The moment: the integral of |omega| F_sup(omega), which is the Barron parameter without sup |f(0)|."""

    @abc.abstractmethod
    def offset(self) -> Float[Array, ""]:
        """The supremum of |f(0)| over the class."""

    @property
    @abc.abstractmethod
    def columns(self) -> int:
        """The number of standard normal numbers from which one random frequency is computed."""

    @abc.abstractmethod
    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Frequencies with density |omega| F_sup(omega) / moment, one for each row of `columns` normal numbers."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape of the array of normal numbers from which one random function is computed."""

    @abc.abstractmethod
    def function(self, normal: Float[Array, "k e"]) -> AbstractFunction:
        """A random function of the class, computed from normal numbers of the shape `shape`."""


def draw_frequencies(key: Key[Array, ""], functions: AbstractFunctionClass, number: int) -> Float[Array, "n d"]:
    """Draw independent frequencies from the density |omega| F_sup(omega) / moment.

    Args:
        key: the random key.
        functions: the class of functions.
        number: the number of frequencies.
    """
    return functions.frequencies(jax.random.normal(key, (number, functions.columns)))


def draw_function(key: Key[Array, ""], functions: AbstractFunctionClass) -> AbstractFunction:
    """Draw a random function of the class.

    Args:
        key: the random key.
        functions: the class of functions.
    """
    return functions.function(jax.random.normal(key, functions.shape))


def uniform_from_normal(normal: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Convert normal numbers to uniform numbers in (0, 1).

    Args:
        normal: independent standard normal numbers.
    """
    inside = jax.scipy.stats.norm.cdf(normal)
    return jnp.clip(inside, jnp.finfo(inside.dtype).tiny, 1 - jnp.finfo(inside.dtype).eps)


def barron_parameter(functions: AbstractFunctionClass) -> Float[Array, ""]:
    """Return C_F = sup |f(0)| + integral of |omega| F_sup(omega) (li2025incontext, equation 19), which may be infinite.

    Args:
        functions: the class of functions.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.functions import Cosines, barron_parameter
        >>> float(barron_parameter(Cosines(jnp.array([[3.0, 4.0]]), jnp.array([2.0]))))
        12.0
    """
    return functions.offset() + functions.moment()
