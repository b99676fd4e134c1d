"""Classes of functions with any known bound on their Fourier spectrum. A random walk draws the frequencies."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Key

from lemmata.errors import SettingError

from ._classes import AbstractFunction, AbstractFunctionClass
from ._spectral_moment import spectral_moment

Spectrum = Callable[[Float[Array, "n d"]], Float[Array, " n"]]


class BoundedSpectrum(AbstractFunctionClass):
    """Functions f whose Fourier spectrum F_f has |F_f| <= F_sup for a given F_sup, as made by `bounded_spectrum`.

    Each frequency is the end of its own Metropolis random walk. The walk starts at a normal vector, and the density of
    its position tends to a multiple of |omega| F_sup(omega). After enough steps, the end hardly depends on the start,
    and is as good as an exact draw. If F_sup has heavy tails or separated modes, the walk needs more steps.

    Args:
        bound: F_sup, an even function with one value for each row.
        original: the inverse transform of F_sup, the integral of cos(<omega, x>) F_sup(omega), with one value for each
            row.
        dimension: the dimension d of x.
        mass: the integral of |omega| F_sup.
        scale: the standard deviation of a step, and of the start, in each coordinate.
        steps: the number of steps of a walk.
        bumps: the number k of translates of the inverse transform in a function that is drawn from the class.
    """

    bound: Spectrum = eqx.field(static=True)
    original: Spectrum = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    mass: Float[Array, ""]
    scale: Float[Array, ""]
    steps: int = eqx.field(static=True, default=64)
    bumps: int = eqx.field(static=True, default=3)

    def __check_init__(self):
        if self.dimension < 1 or self.steps < 1:
            raise SettingError(
                "dimension and steps", found=(self.dimension, self.steps), rule="two whole numbers of at least 1"
            )

    def moment(self) -> Float[Array, ""]:
        """The moment: `mass`, the integral of |omega| F_sup."""
        return jnp.asarray(self.mass, float)

    def offset(self) -> Float[Array, ""]:
        """The supremum of |f(0)|, which is the integral of F_sup."""
        return self.original(jnp.zeros((1, self.dimension)))[0]

    @property
    def columns(self) -> int:
        """The number steps * (d + 1) of normal numbers that one frequency takes."""
        return self.steps * (self.dimension + 1)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (bumps, d + 2) of the normal numbers that one function takes."""
        return self.bumps, self.dimension + 2

    def frequencies(self, normal: Float[Array, "n e"]) -> Float[Array, "n d"]:
        """The frequencies at which the random walks end."""
        blocks = jnp.moveaxis(normal.reshape(len(normal), self.steps, self.dimension + 1), 1, 0)
        density = lambda omega: jnp.linalg.norm(omega, axis=1) * self.bound(omega)

        def step(state: tuple[Array, Array], block: Array) -> tuple[tuple[Array, Array], None]:
            omega, now = state
            proposed = omega + self.scale * block[:, :-1]
            then = density(proposed)
            moves = then > jax.scipy.stats.norm.cdf(block[:, -1]) * now
            return (jnp.where(moves[:, None], proposed, omega), jnp.where(moves, then, now)), None

        start = self.scale * blocks[0, :, :-1]
        return jax.lax.scan(step, (start, density(start)), blocks[1:])[0][0]

    def function(self, normal: Float[Array, "k e"]) -> "TranslateSum":
        """A sum of translates of `original`, with centres uniform in the unit ball, and weights with sum |q_k| = 1."""
        radius = jax.scipy.stats.norm.cdf(normal[:, :1]) ** (1 / self.dimension)
        way = normal[:, 2:] / jnp.linalg.norm(normal[:, 2:], axis=1, keepdims=True)
        return TranslateSum(self.original, radius * way, normal[:, 1] / jnp.abs(normal[:, 1]).sum())


class TranslateSum(AbstractFunction):
    """The function sum_k q_k f_0(x - c_k), where f_0 is the inverse transform of the bound.

    Args:
        original: f_0, the inverse transform of F_sup.
        centres: the shifts c_k, one in each row.
        weights: the weights q_k.
    """

    original: Spectrum = eqx.field(static=True)
    centres: Float[Array, "k d"]
    weights: Float[Array, " k"]

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The value of the function at each row of x."""
        apart = (x[:, None, :] - self.centres).reshape(-1, x.shape[1])
        return self.original(apart).reshape(len(x), -1) @ self.weights

    def ratio(self, omega: Float[Array, "s d"]) -> Complex[Array, " s"]:
        """The ratio of the spectrum to its bound, sum_k q_k exp(-i <omega, c_k>)."""
        return jnp.exp(-1j * omega @ self.centres.T) @ self.weights.astype(complex)


def bounded_spectrum(
    bound: Spectrum, original: Spectrum, dimension: int, *, key: Key[Array, ""], steps: int = 64
) -> BoundedSpectrum:
    """Return the class of functions with a spectral bound F_sup. Its moment is computed by stratified sampling.

    The standard deviation of a step of the walk is 2.4 / dimension times the median length of the frequencies.

    Args:
        bound: F_sup, an even function with one value for each row.
        original: the inverse transform of F_sup, with one value for each row.
        dimension: the dimension d of x.
        key: the random key of the frequencies from which the moment is computed.
        steps: the number of steps of a walk that draws a frequency.

    Raises:
        SettingError: for an infinite moment, or if `original` at 0 differs from the integral of the bound.
    """
    found = spectral_moment(bound, dimension, key)
    total = spectral_moment(lambda omega: bound(omega) / jnp.linalg.norm(omega, axis=1), dimension, key)
    value = float(original(jnp.zeros((1, dimension)))[0])
    allowed = 8 * total.standard_error + total.truncation + 1e-3 * total.value
    if not abs(value - total.value) <= allowed:
        raise SettingError(
            "value of the original at 0", found=f"{value:.6g}", rule=f"{total.value:.6g}, the integral of the bound",
            remedy="use the convention f(x) = integral of exp(i <omega, x>) F(omega), without a factor 2 pi",
        )  # fmt: skip
    scale = jnp.asarray(2.4 * found.median / dimension)
    return BoundedSpectrum(bound, original, dimension, jnp.asarray(found.value), scale, steps)
