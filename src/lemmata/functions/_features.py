"""Universal features: random ramps drawn for a class of functions, and the coefficients that represent a function.

The class has a bound F_sup on the Fourier spectrum of its functions, and the moment is the integral of |omega|
F_sup(omega) (see `AbstractFunctionClass`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from ._classes import AbstractFunction, AbstractFunctionClass


def ramp(z: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """The ramp phi(z) = relu(z + 1/2) - relu(z - 1/2), which rises from 0 to 1 (li2025incontext, equation 26).

    Args:
        z: any array.
    """
    return jnp.clip(z + 0.5, 0.0, 1.0)


class UniversalFeatures(eqx.Module):
    """Features x -> (phi(tau (<u_i, x> - t_i)))_i and 1, with u_i = omega_i / |omega_i| (li2025incontext, 29 and 33).

    phi is the `ramp`. The numbers are those of equations.

    Args:
        omega: the frequencies omega_i, one in each row.
        thresholds: the thresholds t_i.
        sharpness: the factor tau, which is the slope of the ramps.
    """

    omega: Float[Array, "n d"]
    thresholds: Float[Array, " n"]
    sharpness: Float[Array, ""]

    @property
    def directions(self) -> Float[Array, "n d"]:
        """The unit vectors u_i, one in each row."""
        return self.omega / jnp.linalg.norm(self.omega, axis=1, keepdims=True)

    def __call__(self, x: Float[Array, "m d"]) -> Float[Array, "m p"]:
        """The matrix Phi of p = n + 1 columns: the n ramps, and a last column of ones."""
        ramps = ramp(self.sharpness * (x @ self.directions.T - self.thresholds))
        return jnp.concatenate([ramps, jnp.ones((len(x), 1), ramps.dtype)], axis=1)


def sample_features(
    key: Key[Array, ""], functions: AbstractFunctionClass, number: int, sharpness: float | Array
) -> UniversalFeatures:
    """Draw n features: t uniform on [-2, 1], omega from the density |omega| F_sup / moment (li2025incontext, 79).

    Args:
        key: the random key.
        functions: the class for which the features are drawn.
        number: the number n of features.
        sharpness: the factor tau of the ramps.
    """
    return features_of(functions, jax.random.normal(key, (number, functions.columns + 1)), sharpness)


def features_of(
    functions: AbstractFunctionClass, normal: Float[Array, "n e"], sharpness: float | Array
) -> UniversalFeatures:
    """Compute features from standard normal numbers. Each feature needs `functions.columns` + 1 numbers.

    Args:
        functions: the class for which the features are drawn.
        normal: independent standard normal numbers, with one row for each feature.
        sharpness: the factor tau of the ramps.
    """
    omega, thresholds = functions.frequencies(normal[:, 1:]), 3 * jax.scipy.stats.norm.cdf(normal[:, 0]) - 2
    return UniversalFeatures(omega, thresholds, jnp.asarray(sharpness, omega.dtype))


def step_density(t: Float[Array, "*s"], length: Float[Array, "*#s"], theta: Float[Array, "*#s"]) -> Float[Array, "*s"]:
    """The density gamma of steps 1(t < z) that add up to g(z) = (cos(length z + theta) - cos(theta)) / length.

    For z in [-1, 1], g(z) is the integral of gamma over t < z. On [-1, 1], gamma = g'. On an interval of length |g(-1)|
    below -1, gamma is the sign of g(-1), and elsewhere it is 0 (li2025incontext, equation 82). The density satisfies
    |gamma| <= 1.

    Args:
        t: thresholds in [-2, 1].
        length: the length |omega| of the frequency.
        theta: the phase at this frequency.
    """
    first = (jnp.cos(theta - length) - jnp.cos(theta)) / length
    below = jnp.where(t >= -1 - jnp.abs(first), jnp.sign(first), 0.0)
    return jnp.where(t >= -1, -jnp.sin(length * t + theta), below)


def representing_coefficients(
    functions: AbstractFunctionClass, features: UniversalFeatures, function: AbstractFunction
) -> Float[Array, " p"]:
    """The coefficients rho*_i = gamma(t_i) |ratio(omega_i)| 3 moment / n of f, and f(0) for the constant feature 1.

    With these coefficients, the n features approximate the function f of the class. Here, gamma is the `step_density`
    for the length |omega_i| and the phase of the ratio. Source: li2025incontext, equations 35 and 80.

    Args:
        functions: the class that the features were drawn for.
        features: the n features, with their frequencies omega_i and thresholds t_i.
        function: the function f of the class that the features approximate.
    """
    ratio = function.ratio(features.omega)
    density = step_density(features.thresholds, jnp.linalg.norm(features.omega, axis=1), jnp.angle(ratio))
    ramps = 3 * functions.moment() * density * jnp.abs(ratio) / len(features.thresholds)
    return jnp.append(ramps, function(jnp.zeros((1, features.omega.shape[1]), features.omega.dtype)))
