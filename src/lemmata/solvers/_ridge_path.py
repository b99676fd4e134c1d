"""Kernel ridge regression at many ridges from one eigensystem."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import require_float64
from lemmata.errors import SettingError
from lemmata.spectra import Spectrum

from ._checks import check_spectrum, check_targets, known


class RidgePath(eqx.Module):
    """The results of kernel ridge regression at several ridges. The first axis of each array belongs to the ridges.

    Args:
        ridges: the ridges, as requested.
        coefficients: the coefficients alpha = (K + ridge I)^-1 y; predictions at test points are K_test alpha.
        residuals: the targets y minus the predictions at the training points, equal to ridge alpha.
        leave_one_out: the target y_i minus the prediction at x_i of a fit to all other rows.
    """

    ridges: Float[Array, " s"]
    coefficients: Float[Array, "s n *k"]
    residuals: Float[Array, "s n *k"]
    leave_one_out: Float[Array, "s n *k"]

    @property
    def best(self) -> Float[Array, ""]:
        """The ridge with the smallest sum of squared leave-one-out residuals."""
        missed = self.leave_one_out.reshape(len(self.ridges), -1)
        # division by a power of 2, so that no square overflows or vanishes
        missed = jnp.ldexp(missed, -jnp.frexp(jnp.max(jnp.abs(missed)))[1])
        return self.ridges[jnp.argmin(jnp.sum(missed**2, axis=1))]


def ridge_path(
    spectrum: Spectrum, y: Float[Array, "rows *k"], ridges: Sequence[float] | Float[Array, " s"] | np.ndarray
) -> RidgePath:
    """Solve kernel ridge regression at many ridges from one eigensystem, with O(n²) operations for each ridge.

    Let K = U diag(a) U^T. Then alpha = U diag(1/(a + ridge)) U^T y. The leave-one-out residual of row i is alpha_i
    divided by sum_j U_ij² / (a_j + ridge). JAX can differentiate the result with respect to y and the ridges.

    Args:
        spectrum: the eigensystem of the Gram matrix.
        y: targets, one row for each point.
        ridges: positive numbers, not divided by n.

    Raises:
        SettingError: without a ridge, or for a ridge that is not positive and finite (use `kernel_ridge` for ridge 0).
            This error is also raised for a matrix in place of its eigensystem.
        ShapeError: if y has another number of rows than the spectrum.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import ridge_path
        >>> from lemmata.spectra import spectrum
        >>> ridge_path(spectrum(jnp.eye(2)), jnp.array([2.0, 4.0]), [1.0, 3.0]).coefficients.tolist()
        [[1.0, 2.0], [0.5, 1.0]]
    """
    require_float64("a path of ridges")
    check_spectrum(spectrum)
    check_targets(y, len(spectrum.eigenvalues))
    given = jnp.asarray(ridges, float)
    numbers = known(given)
    if given.ndim != 1 or given.size == 0 or (numbers is not None and not np.all((numbers > 0) & np.isfinite(numbers))):
        raise SettingError("ridges", found=numbers, rule="a list of positive, finite numbers")
    return _path(spectrum, y, given)


@jax.jit
def _path(spectrum: Spectrum, y: Float[Array, "n *k"], ridges: Float[Array, " s"]) -> RidgePath:
    vectors, flat = spectrum.eigenvectors, y.reshape(len(y), -1)
    modes, squares = vectors.T @ flat, vectors**2

    def at(ridge):
        weights = 1 / (spectrum.eigenvalues + ridge)
        alpha = vectors @ (weights[:, None] * modes)
        return alpha, alpha / (squares @ weights)[:, None]

    alpha, left_out = jax.lax.map(at, ridges)
    shaped = lambda values: values.reshape(len(ridges), *y.shape)
    return RidgePath(ridges, shaped(alpha), shaped(ridges[:, None, None] * alpha), shaped(left_out))
