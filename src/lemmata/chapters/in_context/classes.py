"""Classes of functions with a bounded Fourier spectrum: their Barron parameter, and how to draw from them.

This theory controls what a class costs by one number, C_F = sup |f(0)| + integral of |omega| F_sup(omega). It assumes
functions on the unit ball with a Fourier representation; it leaves unexplained how a class should be chosen.

A function of a class is f(x) = f(0) + integral of (cos(<omega, x> + theta(omega)) - cos(theta(omega))) |F_f(omega)|,
with F_f = ratio(omega) F_sup(omega), |ratio| <= 1: a class is what its spectrum bound says, and ratio and f(0) choose
the function.
"""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.errors import SettingError


class AbstractFunction(eqx.Module):
    """One function of a class: its values, and its spectrum relative to the class's bound."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """f at each row."""

    @abc.abstractmethod
    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """F_f(omega) / F_sup(omega), of modulus at most 1."""


class AbstractFunctionClass(eqx.Module):
    """Functions whose spectrum is bounded by F_sup."""

    @abc.abstractmethod
    def moment(self) -> Float[Array, ""]:
        """The integral of |omega| F_sup(omega): C_F without sup |f(0)|."""

    @abc.abstractmethod
    def offset(self) -> Float[Array, ""]:
        """sup |f(0)| over the class."""

    @property
    @abc.abstractmethod
    def columns(self) -> int:
        """How many standard normal numbers one frequency takes."""

    @abc.abstractmethod
    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Frequencies of the density |omega| F_sup(omega) / moment, one for each row of `columns` normal numbers."""

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape of the normal numbers that one function takes."""

    @abc.abstractmethod
    def function(self, normal: Float[Array, "k e"]) -> AbstractFunction:
        """A random function of the class from normal numbers of `shape`."""


def draw_frequencies(key: Key[Array, ""], functions: AbstractFunctionClass, number: int) -> Float[Array, "n d"]:
    """Independent frequencies of the density |omega| F_sup(omega) / moment.

    Args:
        key: randomness.
        functions: the class.
        number: how many.
    """
    return functions.frequencies(jax.random.normal(key, (number, functions.columns)))


def draw_function(key: Key[Array, ""], functions: AbstractFunctionClass) -> AbstractFunction:
    """A random function of the class.

    Args:
        key: randomness.
        functions: the class.
    """
    return functions.function(jax.random.normal(key, functions.shape))


def _uniform(normal: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Uniform numbers in (0, 1) from normal ones."""
    inside = jax.scipy.stats.norm.cdf(normal)
    return jnp.clip(inside, jnp.finfo(inside.dtype).tiny, 1 - jnp.finfo(inside.dtype).eps)


def barron_parameter(functions: AbstractFunctionClass) -> Float[Array, ""]:
    """C_F = sup |f(0)| + integral of |omega| F_sup(omega) (li2025incontext, equation 19); infinity where it diverges.

    Args:
        functions: the class.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.chapters.in_context.classes import Cosines, barron_parameter
        >>> float(barron_parameter(Cosines(jnp.array([[3.0, 4.0]]), jnp.array([2.0]))))
        12.0
    """
    return functions.offset() + functions.moment()


class Cosines(AbstractFunctionClass):
    """f(x) = sum_j a_j cos(<omega_j, x> + theta_j) with |a_j| <= sizes_j: C_F = sum_j sizes_j (1 + |omega_j|).

    Args:
        atoms: omega_j, one a row, none the negative of another.
        sizes: the largest amplitudes.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]

    @property
    def dimension(self) -> int:
        """d."""
        return self.atoms.shape[1]

    def moment(self) -> Float[Array, ""]:
        """sum_j sizes_j |omega_j|."""
        return jnp.sum(self.sizes * jnp.linalg.norm(self.atoms, axis=1))

    def offset(self) -> Float[Array, ""]:
        """sum_j sizes_j."""
        return jnp.sum(self.sizes)

    @property
    def columns(self) -> int:
        """1."""
        return 1

    @property
    def shape(self) -> tuple[int, int]:
        """(2, m)."""
        return 2, len(self.sizes)

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """Atoms with probability proportional to sizes_j |omega_j|, with either sign."""
        uniform = _uniform(normal[:, 0])
        weight = jnp.cumsum(self.sizes * jnp.linalg.norm(self.atoms, axis=1))
        scaled = uniform * weight[-1] * 2
        index = jnp.searchsorted(weight, scaled % weight[-1], side="right")
        return jnp.where(scaled < weight[-1], 1.0, -1.0)[:, None] * self.atoms[jnp.minimum(index, len(weight) - 1)]

    def function(self, normal: Float[Array, "k e"]) -> "CosineSum":
        """Amplitudes uniform in their ranges and uniform phases."""
        uniform = _uniform(normal)
        return CosineSum(self.atoms, self.sizes, self.sizes * (2 * uniform[0] - 1), 2 * jnp.pi * uniform[1])


class CosineSum(AbstractFunction):
    """sum_j a_j cos(<omega_j, x> + theta_j).

    Args:
        atoms: omega_j.
        sizes: bounds of |a_j|.
        amplitudes: a_j.
        phases: theta_j.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]
    amplitudes: Float[Array, " m"]
    phases: Float[Array, " m"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """f at each row."""
        return jnp.cos(x @ self.atoms.T + self.phases) @ self.amplitudes

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """a_j exp(i theta_j) / sizes_j at omega_j, its conjugate at -omega_j."""
        inner = omega @ self.atoms.T
        index = jnp.argmin(jnp.sum(self.atoms**2, axis=1) - 2 * jnp.abs(inner), axis=1)
        sign = jnp.sign(jnp.take_along_axis(inner, index[:, None], axis=1)[:, 0])
        return (self.amplitudes / self.sizes)[index] * jnp.exp(1j * sign * self.phases[index])


class GaussianBumps(AbstractFunctionClass):
    """f(x) = size sum_k q_k exp(-scale² |x - c_k|²/2) with sum |q_k| <= 1 and any centres.

    F_sup is size times the normal density of variance scale²:
    C_F = size (1 + scale sqrt(2) Gamma((d+1)/2) / Gamma(d/2)).

    Args:
        dimension: d.
        scale: one over the width of a bump.
        size: the largest value of a function.
        bumps: how many bumps a drawn function has.
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
                raise SettingError(f"{name} of the bumps", found=value, rule="positive")

    def moment(self) -> Float[Array, ""]:
        """size times the mean length of a normal vector of standard deviation scale."""
        half = self.dimension / 2
        mean = math.sqrt(2) * math.exp(math.lgamma(half + 0.5) - math.lgamma(half))
        return jnp.asarray(self.size * self.scale * mean, float)

    def offset(self) -> Float[Array, ""]:
        """size."""
        return jnp.asarray(self.size, float)

    @property
    def columns(self) -> int:
        """2 d + 1."""
        return 2 * self.dimension + 1

    @property
    def shape(self) -> tuple[int, int]:
        """(bumps, d + 2)."""
        return self.bumps, self.dimension + 2

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """A uniform direction times scale times the length of a normal vector of d + 1 entries."""
        way, length = normal[:, : self.dimension], jnp.linalg.norm(normal[:, self.dimension :], axis=1, keepdims=True)
        return self.scale * length * way / jnp.linalg.norm(way, axis=1, keepdims=True)

    def function(self, normal: Float[Array, "k e"]) -> "BumpSum":
        """Centres uniform in the ball, weights that sum to 1 in absolute value."""
        radius = _uniform(normal[:, :1]) ** (1 / self.dimension)
        way = normal[:, 2:] / jnp.linalg.norm(normal[:, 2:], axis=1, keepdims=True)
        weights = normal[:, 1] / jnp.abs(normal[:, 1]).sum()
        return BumpSum(radius * way, weights, jnp.asarray(self.scale, float), jnp.asarray(self.size, float))


class BumpSum(AbstractFunction):
    """size sum_k q_k exp(-scale² |x - c_k|²/2).

    Args:
        centres: c_k.
        weights: q_k.
        scale: one over the width.
        size: the factor.
    """

    centres: Float[Array, "k d"]
    weights: Float[Array, " k"]
    scale: Float[Array, ""]
    size: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """f at each row."""
        squares = jnp.sum((x[:, None, :] - self.centres) ** 2, axis=2)
        return self.size * jnp.exp(-(self.scale**2) * squares / 2) @ self.weights

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """sum_k q_k exp(-i <omega, c_k>)."""
        return jnp.exp(-1j * omega @ self.centres.T) @ self.weights.astype(complex)


class LogisticNetworks(AbstractFunctionClass):
    """f(x) = sum_j r_j sigma(<a_j, x>) with |r_j| <= sizes_j, sigma the logistic function.

    F_sup lies on the lines through the a_j; C_F = sum_j sizes_j (|a_j| + 2) / 4 (li2025incontext, section 2.3).

    Args:
        atoms: a_j, one a row, no two on one line.
        sizes: the largest |r_j|.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]

    @property
    def dimension(self) -> int:
        """d."""
        return self.atoms.shape[1]

    def moment(self) -> Float[Array, ""]:
        """sum_j sizes_j |a_j| / 4."""
        return jnp.sum(self.sizes * jnp.linalg.norm(self.atoms, axis=1)) / 4

    def offset(self) -> Float[Array, ""]:
        """sum_j sizes_j / 2."""
        return jnp.sum(self.sizes) / 2

    @property
    def columns(self) -> int:
        """3."""
        return 3

    @property
    def shape(self) -> tuple[int, int]:
        """(1, m)."""
        return 1, len(self.sizes)

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """A line with probability proportional to sizes_j |a_j|, and u a_j on it with the density 2 u / sinh(pi u).

        The characteristic function of that density is sech²(t/2), so u is the mean of two hyperbolic secant variables
        (2/pi) log tan(pi U/2).
        """
        uniform = _uniform(normal)
        weight = jnp.cumsum(self.sizes * jnp.linalg.norm(self.atoms, axis=1))
        index = jnp.minimum(jnp.searchsorted(weight, uniform[:, 0] * weight[-1], side="right"), len(weight) - 1)
        u = jnp.sum(jnp.log(jnp.tan(jnp.pi * uniform[:, 1:] / 2)), axis=1) / jnp.pi
        return u[:, None] * self.atoms[index]

    def function(self, normal: Float[Array, "k e"]) -> "LogisticSum":
        """Coefficients uniform in their ranges."""
        return LogisticSum(self.atoms, self.sizes, (2 * _uniform(normal[0]) - 1) * self.sizes)


class LogisticSum(AbstractFunction):
    """sum_j r_j sigma(<a_j, x>).

    Args:
        atoms: a_j.
        sizes: bounds of |r_j|.
        coefficients: r_j.
    """

    atoms: Float[Array, "m d"]
    sizes: Float[Array, " m"]
    coefficients: Float[Array, " m"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """f at each row."""
        return jax.nn.sigmoid(x @ self.atoms.T) @ self.coefficients

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """-i sign(u) r_j / sizes_j at u a_j."""
        inner = omega @ self.atoms.T / jnp.linalg.norm(self.atoms, axis=1)
        index = jnp.argmax(jnp.abs(inner), axis=1)
        sign = jnp.sign(jnp.take_along_axis(inner, index[:, None], axis=1)[:, 0])
        return -1j * sign * (self.coefficients / self.sizes)[index]
