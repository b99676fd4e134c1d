"""The softmax kernel <x, y> exp(sigma² <x, y>) on unit spheres: its eigenvalues, and points on the spheres."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import gammaln

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.random_units import unit_rows
from lemmata.engine.problems.softmax_kernels import KernelPoints

TOP = 40  # the largest degree; for sigma <= 1, the degrees above it contribute less than 1e-60
_TERMS = 30


class SphereKernel(eqx.Module):
    """The kernel t exp(sigma² t), where t = <x, y>, on the unit sphere of R^d.

    Args:
        sigma: standard deviation of the hidden weights.
        d: the dimension.
        n: the number of points that are drawn.
    """

    sigma: Float[Array, ""]
    d: int = eqx.field(static=True)
    n: int = eqx.field(static=True)


def dimensions(d: int, top: int = TOP) -> Float[np.ndarray, " q"]:
    """The dimensions N_q of the spherical harmonics of degrees q = 0, ..., top on the unit sphere of R^d.

    >>> from lemmata.engine.problems.sphere_kernels import dimensions
    >>> [float(round(size)) for size in dimensions(3, 3)]
    [1.0, 3.0, 5.0, 7.0]

    Args:
        d: the dimension, at least 2.
        top: the largest degree of spherical harmonics.
    """
    q = np.arange(1, top + 1)
    if d == 2:
        return np.array([1.0] + [2.0] * top)
    return np.append(1.0, (2 * q + d - 2) / q * np.exp(gammaln(q + d - 2) - gammaln(q) - gammaln(d - 1)))


def log_coefficients(sigma: Float[Array, ""], d: int, top: int = TOP) -> Float[Array, " q"]:
    """The logarithms of the eigenvalues kappa_q, q = 0, ..., top, of t exp(s t) on the sphere of R^d, where s = sigma².

        kappa_q = Gamma(d/2) (2/s)^nu (I_(q+nu+1)(s) + (q/s) I_(q+nu)(s)),   nu = d/2 - 1,

    by the series of the modified Bessel functions I_a: Gamma(a+1) (2/s)^a I_a(s) = sum_j (s²/4)^j / (j! (a+1)_j).

    Args:
        sigma: standard deviation of the hidden weights, positive.
        d: the dimension, at least 2.
        top: the largest degree of spherical harmonics.
    """
    s, nu, q, j = sigma**2, d / 2 - 1, np.arange(top + 1), np.arange(1, _TERMS)

    def series(order: np.ndarray) -> Array:
        factors = (s**2 / 4) / (j * (order[:, None] + j))
        return 1 + jnp.sum(jnp.cumprod(factors, axis=1), axis=1)

    leading = math.lgamma(nu + 1) - gammaln(q + nu + 1) + q * jnp.log(s / 2)
    return leading + jnp.log(s / 2 / (q + nu + 1) * series(q + nu + 1) + q / s * series(q + nu))


def coefficients(sigma: Float[Array, ""], d: int, top: int = TOP) -> Float[Array, " q"]:
    """The eigenvalues kappa_q of `log_coefficients`.

    Args:
        sigma: standard deviation of the hidden weights, positive.
        d: the dimension, at least 2.
        top: the largest degree of spherical harmonics.
    """
    return jnp.exp(log_coefficients(sigma, d, top))


class SphereKernels(Population[SphereKernel]):
    """Kernels on spheres, where the standard deviation sigma is uniform between half of a setting and the setting.

    Args:
        d: the default dimension.
        n: the default number of points.
        most: the largest number of points.
    """

    d: int = 3
    n: int = 8
    most: int = 64

    def settings(self) -> Space:
        return Space(
            d=Integer(self.d, 2, 1024, "dimension"),
            n=Integer(self.n, 3, self.most, "points", corners=(max(3, self.n // 2), self.n)),
            sigma=Real(0.8, 0.2, 1.0, "largest standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereKernel:
        sigma = setting["sigma"] * jax.random.uniform(key, minval=0.5)
        return SphereKernel(sigma, setting["d"], setting["n"])

    def hypotheses(self, problem: SphereKernel) -> list[Hypothesis]:
        return [Hypothesis("weights are random", problem.sigma, ">", 0.0, "at sigma = 0 the kernel is only <x, y>")]


def sigma_is_moderate(problem: KernelPoints) -> Hypothesis:
    """The hypothesis that sigma is at most 1, so that degrees above 40 contribute less than rounding errors.

    Args:
        problem: points and sigma.
    """
    return Hypothesis("sigma is at most 1", problem.sigma, "<=", 1.0, "the series is summed up to degree 40")


class Polygons(Population[KernelPoints]):
    """Equispaced points on the unit circle, rotated by a random angle."""

    settings = Space(
        n=Integer(6, 3, 12, "points", corners=(3, 9)),
        sigma=Real(0.8, 0.2, 1.0, "largest standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        """Draw a random angle and a random standard deviation."""
        turn, scale = jax.random.uniform(key, (2,))
        angles = 2 * jnp.pi * (jnp.arange(setting["n"]) + turn) / setting["n"]
        x = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
        return KernelPoints(x, setting["sigma"] * (1 + scale) / 2)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        return [sigma_is_moderate(problem)]


class SpreadPoints(Population[KernelPoints]):
    """Points on the unit sphere: independent in half of the problems, and spread as far as possible in the other half.

    Spread points are orthonormal if n <= d, and equispaced on a great circle otherwise.
    """

    free = ("x",)
    settings = Space(
        n=Integer(5, 2, 12, "points"),
        d=Integer(2, 2, 32, "dimension", corners=(2, 8)),
        sigma=Real(0.8, 0.2, 1.0, "largest standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        n, d = setting["n"], setting["d"]
        coin, points = jax.random.split(key)
        heads, scale = jax.random.uniform(coin, (2,))
        apart = unit_rows(points, n, d)
        basis = jnp.linalg.qr(jax.random.normal(points, (d, min(n, d))))[0].T
        angles = 2 * jnp.pi * jnp.arange(n) / n
        polygon = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1) @ basis[:2]
        x = jnp.where(heads < 0.5, apart, basis if n <= d else polygon)
        return KernelPoints(x, setting["sigma"] * (1 + scale) / 2)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        off = jnp.abs(jnp.linalg.norm(problem.x, axis=1) - 1).max()
        return [
            Hypothesis("points lie on the unit sphere", off, "<=", 1e-12, "t ranges over inner products of directions"),
            sigma_is_moderate(problem),
        ]
