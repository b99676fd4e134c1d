"""Two estimates of the held-out error that use all rows: generalised cross-validation and leave-one-out."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.core import known
from lemmata.errors import PrecisionError

from ._alignment import target_power
from ._eigensystem import Spectrum, check_ridge


def gcv(spectrum: Spectrum, y: Float[Array, "n *k"], ridge: float | Float[Array, ""]) -> Float[Array, ""]:
    """Generalised cross-validation, n |(A + ridge)^-1 y|² / [tr (A + ridge)^-1]² (Golub, Heath and Wahba 1979).

    The result is a squared error, summed over outputs and averaged over n rows. With ridge = 0, the limit ridge -> 0 is
    used.

    Args:
        spectrum: the eigensystem of the Gram matrix A.
        y: targets, one row for each point.
        ridge: the ridge on the diagonal of A, at least 0.

    Raises:
        PrecisionError: if the square overflows or vanishes, because the targets are too large or too small.
    """
    check_ridge(ridge)
    weights = shrinkage(spectrum, ridge)
    scaled, exponent = _of_size_1(y)
    error = len(y) * jnp.sum(target_power(spectrum, scaled) * weights**2) / jnp.sum(weights) ** 2
    return _in_squared_units(error, exponent)


def leave_one_out(spectrum: Spectrum, y: Float[Array, "n *k"], ridge: float | Float[Array, ""]) -> Float[Array, ""]:
    """The leave-one-out squared error of kernel ridge regression in closed form.

    The residual of row i from a fit to the other n - 1 rows is [(A + ridge)^-1 y]_i / [(A + ridge)^-1]_ii. The square
    of this residual is summed over outputs and averaged over rows. With ridge = 0, the limit ridge -> 0 is used.

    Args:
        spectrum: the eigensystem of the Gram matrix A.
        y: targets, one row for each point.
        ridge: the ridge on the diagonal of A, at least 0.

    Raises:
        PrecisionError: if the square overflows or vanishes, because the targets are too large or too small.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import leave_one_out, spectrum
        >>> float(leave_one_out(spectrum(jnp.eye(3)), jnp.ones(3), 0.5))  # uncorrelated rows tell nothing: |y|² / n
        1.0
    """
    check_ridge(ridge)
    scaled, exponent = _of_size_1(y.reshape(len(y), -1))
    error = _leave_one_out(spectrum, scaled, jnp.asarray(ridge, spectrum.eigenvalues.dtype))
    return _in_squared_units(error, exponent)


def _of_size_1(y: Float[Array, "n *k"]) -> tuple[Float[Array, "n *k"], Int[Array, ""]]:
    """Return the targets divided, without rounding, by a power of 2 near their largest entry, and the exponent."""
    y = jnp.asarray(y, jnp.result_type(y, float))
    exponent = jnp.frexp(jax.lax.stop_gradient(jnp.max(jnp.abs(y))))[1]
    return jnp.ldexp(y, -exponent), exponent


def _in_squared_units(error: Float[Array, ""], exponent: Int[Array, ""]) -> Float[Array, ""]:
    """Multiply a squared error by the square of 2^exponent, to undo the division in `_of_size_1`.

    Unless the error is traced, a result that overflows or vanishes is refused.
    """
    found = jnp.ldexp(error, 2 * exponent)
    values = known(found)
    if values is not None and (np.isinf(values) or (values == 0) != (np.asarray(error) == 0)):
        raise PrecisionError(
            "squared error",
            found=f"about 1e{round(np.log10(float(error)) + 2 * float(exponent) * np.log10(2))}",
            rule=f"a number of {found.dtype}",
            remedy="divide the targets by their standard deviation; the error is then a fraction of their variance",
        )
    return found


@jax.jit
def _leave_one_out(spectrum: Spectrum, y: Float[Array, "n k"], ridge: Float[Array, ""]) -> Float[Array, ""]:
    vectors = spectrum.eigenvectors
    weights = shrinkage(spectrum, ridge)
    coefficients = vectors @ (weights[:, None] * (vectors.T @ y))
    inverse = (vectors**2) @ weights
    # If ridge = 0 and the unit vector of row i is orthogonal to the null space, the residual of row i depends only on
    # the positive modes.
    values = spectrum.resolved
    positive = jnp.where(values > 0, 1 / jnp.where(values > 0, values, 1.0), 0.0)
    singular = (ridge <= 0) & (values[-1] <= 0)
    lost = singular & (inverse <= len(y) * jnp.finfo(inverse.dtype).eps)
    coefficients = jnp.where(lost[:, None], vectors @ (positive[:, None] * (vectors.T @ y)), coefficients)
    inverse = jnp.where(lost, (vectors**2) @ positive, inverse)
    return jnp.mean(jnp.sum((coefficients / inverse[:, None]) ** 2, axis=1))


def shrinkage(spectrum: Spectrum, ridge: float | Float[Array, ""]) -> Float[Array, " n"]:
    """Return 1 / (a_i + ridge) up to a common factor. For ridge 0 and a singular matrix: 1 for null modes, else 0."""
    values = spectrum.resolved
    singular = (ridge <= 0) & (values[-1] <= 0)
    inverse = 1 / jnp.where(values + ridge > 0, values + ridge, 1.0)
    return jnp.where(singular, (values <= 0).astype(values.dtype), inverse)
