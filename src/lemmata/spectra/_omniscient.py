"""The learning curve of kernel ridge regression for a data distribution whose eigensystem is known."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import require_float64
from lemmata.errors import SettingError

from ._eigensystem import check_ridge
from ._regularisation import population_regularisation


class OmniscientCurve(eqx.Module):
    """The omniscient (eigenlearning) estimate of a learning curve, which needs the data distribution's eigensystem.

    Args:
        sizes: numbers n of training rows.
        error: the expected held-out squared error, including noise, summed over outputs.
        kappa: the effective regularisation, a root defined in `omniscient_curve`.
        learnability: the fraction sum_i L_i v_i² / sum_i v_i² of the target's power that is learned (L_i and v_i as in
            `omniscient_curve`).
        overfitting: the overfitting coefficient n / (n - sum_i L_i²), a factor of the error in `omniscient_curve`.
    """

    sizes: Float[Array, " s"]
    error: Float[Array, " s"]
    kappa: Float[Array, " s"]
    learnability: Float[Array, " s"]
    overfitting: Float[Array, " s"]


def omniscient_curve(
    eigenvalues: Float[Array, " m"],
    coefficients: Float[Array, "m *k"],
    noise: float | Float[Array, ""],
    sizes: Sequence[int] | Sequence[float] | Float[Array, " s"] | np.ndarray,
    ridge: float | Float[Array, ""],
) -> OmniscientCurve:
    """The predicted learning curve of kernel ridge regression on n independent rows (Simon et al. 2023).

    Let kappa be the root of sum_i lambda_i / (lambda_i + kappa) + ridge / kappa = n, and let L_i = lambda_i / (lambda_i
    + kappa) be the learnabilities. The expected held-out squared error is

        n / (n - sum_i L_i²) * ( sum_i (1 - L_i)² v_i² + noise ).

    With ridge = 0, this error diverges if n is the rank, the number of positive eigenvalues (double descent).

    Args:
        eigenvalues: the eigenvalues lambda_i of the kernel operator over the data distribution, sum lambda_i = E K(x,
            x).
        coefficients: the coefficients v_i of the target f in the normalised eigenfunctions, sum v_i² = E f(x)².
        noise: the variance of the noise in the targets, summed over outputs.
        sizes: numbers of training rows, at least 1.
        ridge: the ridge on the diagonal of the Gram matrix of the n training rows, at least 0.

    Raises:
        SettingError: for a size below 1 or a negative ridge.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import omniscient_curve
        >>> curve = omniscient_curve(jnp.ones(4), jnp.zeros(4), 1.0, [8], 0.0)
        >>> float(curve.error[0])  # least squares with 4 features on 8 rows: n / (n - 4)
        2.0
    """
    require_float64("a predicted learning curve")
    check_ridge(ridge)
    sizes = np.asarray(sizes, float)
    if sizes.size == 0 or not sizes.min() >= 1:
        raise SettingError("sizes", found=sizes.tolist(), rule="at least one size, and each size at least 1")
    power = jnp.sum(coefficients.reshape(len(coefficients), -1) ** 2, axis=1)
    return _curve(eigenvalues, power, jnp.asarray(noise, float), jnp.asarray(sizes), jnp.asarray(ridge, float))


@jax.jit
def _curve(values, power, noise, sizes, ridge):
    kappa = jax.vmap(lambda n: population_regularisation(values, n, ridge))(sizes)
    total = jnp.sum(power)

    def point(n, kappa):
        learned = jnp.where(values > 0, values / jnp.where(values > 0, values + kappa, 1.0), 0.0)
        # n - sum L² is computed without cancellation: n - sum L = ridge / kappa, and sum L - sum L² = sum L (1 - L)
        lost = jnp.where(values > 0, kappa / jnp.where(values > 0, values + kappa, 1.0), 1.0)
        spare = jnp.where(kappa > 0, ridge / jnp.where(kappa > 0, kappa, 1.0), n - jnp.sum(values > 0))
        overfitting = n / (spare + jnp.sum(learned * lost))
        error = jnp.sum(lost**2 * power) + noise
        # At n = rank without a ridge, the overfitting coefficient is infinite. If target and noise are 0, the error is
        # 0.
        error = jnp.where(error > 0, overfitting * error, 0.0)
        return error, jnp.sum(learned * power) / jnp.where(total > 0, total, 1.0), overfitting

    error, learnability, overfitting = jax.vmap(point)(sizes, kappa)
    return OmniscientCurve(sizes, error, kappa, learnability, overfitting)
