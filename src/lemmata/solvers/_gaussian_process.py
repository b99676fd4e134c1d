"""Gaussian-process regression: posterior mean and covariance, and the log evidence (log marginal likelihood)."""

import math

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, require_float64
from lemmata.errors import ShapeError

from ._checks import check_at_least, check_targets
from ._ridge import Solution


class Posterior(eqx.Module):
    """The posterior of a Gaussian process at other points, given noisy values at the training points.

    Args:
        mean: the posterior mean at the other points.
        covariance: the covariance of the noise-free function at these points, equal for all columns of y. If only prior
            variances were given, it is the diagonal of this covariance. Variances that rounding makes negative are 0.
    """

    mean: Float[Array, "t *k"]
    covariance: Float[Array, "t *others"]


def posterior(solution: Solution, cross: Float[Array, "t columns"], prior: Float[Array, "points *others"]) -> Posterior:
    """Return the posterior of f ~ GP(0, K) at other points, given y = f + normal noise of variance `solution.ridge`.

    mean = C (K + noise I)^-1 y and covariance = P - C (K + noise I)^-1 C^T. Here, C is the cross matrix, P is the prior
    covariance of the other points, and noise is the ridge of the solution. With the NNGP kernel, this is the posterior
    of an infinitely wide Bayesian network.

    Args:
        solution: the result of `kernel_ridge(K, y, noise)`.
        cross: K(other points, training points).
        prior: K(other points, other points), or its diagonal for posterior variances only.

    Raises:
        ShapeError: if cross or prior does not fit the solution.
        DataError: for entries that are not finite.
        PrecisionError: for arrays in half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import kernel_ridge, posterior
        >>> found = posterior(kernel_ridge(jnp.eye(1), jnp.array([2.0]), 1.0), jnp.eye(1), jnp.ones(1))
        >>> [round(float(value), 12) for value in (found.mean[0], found.covariance[0])]
        [1.0, 0.5]
    """
    rows = len(solution.factor)
    if cross.shape[1] != rows or prior.shape not in ((len(cross),), (len(cross), len(cross))):
        found = f"cross {cross.shape}, prior {prior.shape}"
        raise ShapeError(
            "matrices of the other points",
            found=found,
            rule=f"shapes (t, {rows}) for cross, and (t, t) or (t,) for prior",
        )
    check_numbers("cross matrix", cross)
    check_numbers("prior covariance", prior)
    half = solve_triangular(solution.factor, cross.T, lower=True)
    mean = cross @ solution.coefficients
    # Rounded variances may be below 0.
    if prior.ndim == 1:
        return Posterior(mean, jnp.maximum(prior - jnp.sum(half**2, axis=0), 0.0))
    covariance, diagonal = prior - half.T @ half, jnp.arange(len(prior))
    variances = jnp.maximum(covariance[diagonal, diagonal], 0.0)
    return Posterior(mean, covariance.at[diagonal, diagonal].set(variances))


def log_evidence(
    K: Float[Array, "n columns"], y: Float[Array, "rows *k"], noise: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Return the log marginal likelihood log p(y) for y ~ N(0, K + noise I), summed over the columns of y.

    The value is -1/2 y^T (K + noise I)^-1 y - 1/2 log det(K + noise I) - n/2 log(2 pi), for n rows. The value is NaN if
    K + noise I is not positive definite. JAX can differentiate the function.

    Args:
        K: the Gram matrix of the points, the prior covariance of the values without noise.
        y: values, one row for each point.
        noise: the variance of the noise, at least 0.

    Raises:
        ShapeError: if K is empty or not square and symmetric up to rounding, or if y has another number of rows.
        SettingError: for a negative noise.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off, or for arrays in half precision.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.solvers import log_evidence
        >>> slope = jax.grad(lambda noise: log_evidence(jnp.eye(1), jnp.array([2.0]), noise))
        >>> float(slope(3.0))  # 0 where the variance is that of the value, 1 + noise = 4
        0.0
    """
    require_float64("log evidence")
    check_gram("the Gram matrix K", K)
    check_targets(y, len(K))
    check_at_least("noise", noise, 0.0)
    values = y.reshape(len(y), -1)
    factor = jnp.linalg.cholesky(K + noise * jnp.eye(len(K), dtype=K.dtype))
    fit = jnp.sum(values * cho_solve((factor, True), values))
    volume = 2 * jnp.sum(jnp.log(jnp.diagonal(factor)))
    return -0.5 * (fit + values.shape[1] * (volume + len(K) * math.log(2 * math.pi)))
