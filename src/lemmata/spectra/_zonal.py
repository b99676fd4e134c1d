"""The spectrum of the kernel exp(beta <x, y>) on the unit sphere, by degree of spherical harmonics."""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_whole, known, require_float64
from lemmata.errors import SettingError

_PAD = 256  # the recurrence begins this many degrees above the last degree; this is enough up to beta = 1500


class SphereSpectrum(eqx.Module):
    """Eigenvalues of a zonal kernel for uniform points on the unit sphere, by degree, with multiplicities.

    Args:
        log_eigenvalues: the logarithms log lambda_k, k = 0, 1, ..., for the integral operator.
        log_multiplicities: the logarithms log N_k, where N_k is the number of independent harmonics of degree k.
    """

    log_eigenvalues: Float[Array, " K"]
    log_multiplicities: Float[Array, " K"]

    @property
    def eigenvalues(self) -> Float[Array, " K"]:
        """The eigenvalues lambda_k; values outside the range of float64 become infinite or 0."""
        return jnp.exp(self.log_eigenvalues)

    @property
    def multiplicities(self) -> Float[Array, " K"]:
        """The multiplicities N_k. These dimensions are exact whole numbers as long as float64 can store them."""
        counts = jnp.exp(self.log_multiplicities)
        return jnp.where(counts < 2.0**50, jnp.round(counts), counts)

    def effective_dimension(self, log_ridge: float | Float[Array, ""]) -> Float[Array, ""]:
        """Return sum_k N_k lambda_k / (lambda_k + ridge), over the degrees of this spectrum.

        Args:
            log_ridge: the logarithm of the ridge, so that ridges below the smallest float are possible.
        """
        shares = jax.nn.log_sigmoid(self.log_eigenvalues - log_ridge)
        return jnp.sum(jnp.exp(self.log_multiplicities + shares))


def exponential_sphere_spectrum(beta: float | Float[Array, ""], dimension: int, degrees: int) -> SphereSpectrum:
    """The spectrum of exp(beta <x, y>) on the unit sphere of R^p, degrees 0 to K.

    By the Funk-Hecke formula

        lambda_k = Gamma(p/2) (2/beta)^(p/2 - 1) I_(k + p/2 - 1)(beta),
        N_k = C(k + p - 1, p - 1) - C(k + p - 3, p - 1),     sum_k N_k lambda_k = exp(beta),

    where I is the modified Bessel function. All numbers are computed as logarithms. I_0 or I_1/2, scaled by exp(-beta),
    is multiplied by ratios I_(a+1)/I_a. The ratios come from their backward recurrence, which is stable for every beta.
    JAX can trace beta. The result is then exact to rounding for beta up to 1500.

    Args:
        beta: the inverse temperature, above 0.
        dimension: the dimension p, at least 2.
        degrees: the last degree K.

    Raises:
        SettingError: for a dimension below 2, a negative number of degrees, or a beta that is not positive and finite.
        PrecisionError: if float64 is off.

    Example:
        >>> from lemmata.spectra import exponential_sphere_spectrum
        >>> found = exponential_sphere_spectrum(1.0, 3, 20)
        >>> found.multiplicities[:4].tolist()
        [1.0, 3.0, 5.0, 7.0]
        >>> round(float(found.multiplicities @ found.eigenvalues), 12)
        2.718281828459
    """
    require_float64("the spectrum of a kernel on the sphere")
    check_whole("the dimension of the sphere's space", dimension, 2, "coordinates")
    check_whole("the last degree", degrees, 0, "degrees")
    number = known(beta)
    if number is not None and not 0 < number < math.inf:
        raise SettingError("beta", found=beta, rule="a finite number above 0")
    pad = _PAD if number is None else max(_PAD, int(6 * float(number) ** 0.5) + 32)
    base, climb = 0.5 * (dimension % 2), (dimension - 2) // 2
    logs = _log_bessel(jnp.asarray(beta, float), base, climb + degrees, pad)[climb:]
    scale = math.lgamma(dimension / 2) + (dimension / 2 - 1) * jnp.log(2 / jnp.asarray(beta, float))
    return SphereSpectrum(scale + logs, jnp.asarray(_log_multiplicities(dimension, degrees)))


@partial(jax.jit, static_argnums=(1, 2, 3))
def _log_bessel(beta: Float[Array, ""], base: float, steps: int, pad: int) -> Float[Array, " K"]:
    """Logarithms of I_a(beta) for a = base, base + 1, ..., base + steps, where base is 0 or 1/2."""
    start = (
        jnp.log(jax.scipy.special.i0e(beta)) + beta
        if base == 0
        else 0.5 * jnp.log(1 / (2 * jnp.pi * beta)) + beta + jnp.log(-jnp.expm1(-2 * beta))
    )
    # r_a = I_(a+1)/I_a satisfies 1/r_a = 2 (a + 1)/beta + r_(a+1); an error of r_(a+1) shrinks by r_a² < 1 at each step
    # down. The recurrence begins between Amos' bounds, beta / (a + c + sqrt((a + c)² + beta²)) with c near 1.
    top = base + steps + pad
    first = beta / (top + 1 + jnp.sqrt((top + 1) ** 2 + beta**2))
    orders = jnp.asarray(base + np.arange(steps + pad)[::-1])

    def down(ratio: Array, order: Array) -> tuple[Array, Array]:
        below = 1 / (2 * (order + 1) / beta + ratio)
        return below, below

    ratios = jax.lax.scan(down, first, orders)[1][::-1][:steps]
    return start + jnp.concatenate([jnp.zeros(1), jnp.cumsum(jnp.log(ratios))])


def _log_multiplicities(dimension: int, degrees: int) -> Float[np.ndarray, " K"]:
    counts = [1] + [
        math.comb(k + dimension - 1, dimension - 1) - math.comb(k + dimension - 3, dimension - 1)
        for k in range(1, degrees + 1)
    ]
    return np.array([math.log(count) for count in counts])
