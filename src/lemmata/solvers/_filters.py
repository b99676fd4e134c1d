"""Spectral algorithms: regression by a filter, a function of the eigenvalues of a Gram matrix."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import require_float64
from lemmata.errors import ShapeError
from lemmata.spectra import Spectrum

from ._checks import check_at_least, check_numbers, check_spectrum, check_targets
from ._modes import cross_modes
from ._modes import flow_filter as _flow


def ridge_filter(values: Float[Array, " n"], ridge: float | Float[Array, ""]) -> Float[Array, " n"]:
    """Return the filter of kernel ridge regression, 1 / (a + ridge).

    Args:
        values: eigenvalues a, not negative.
        ridge: the ridge, above 0.
    """
    return 1 / (values + ridge)


def flow_filter(values: Float[Array, " n"], time: float | Float[Array, ""]) -> Float[Array, " n"]:
    """Return the filter of kernel gradient flow up to a time, (1 - exp(-a time)) / a, which is `time` at a = 0.

    Args:
        values: eigenvalues a, not negative.
        time: the time, at least 0.
    """
    return _flow(values, jnp.asarray(time, values.dtype))


def truncation_filter(values: Float[Array, " n"], least: float | Float[Array, ""]) -> Float[Array, " n"]:
    """Return the filter of principal components regression: 1/a for eigenvalues a >= least, 0 for smaller eigenvalues.

    Args:
        values: eigenvalues a, not negative.
        least: the smallest eigenvalue that is kept, above 0.
    """
    kept = values >= least
    return jnp.where(kept, 1 / jnp.where(kept, values, 1.0), 0.0)


def spectral_algorithm(
    spectrum: Spectrum,
    y: Float[Array, "rows *k"],
    filtered: Float[Array, " n"] | Float[np.ndarray, " n"],
    cross: Float[Array, "t columns"],
) -> Float[Array, "t *k"]:
    """Return K_cross U diag(phi) U' y: regression with a filter phi of the eigenvalues a of K = U diag(a) U'.

    If the labels are +-1, the sign of the prediction is the predicted label.

    Args:
        spectrum: the eigensystem of the training Gram matrix K.
        y: targets, one row for each point.
        filtered: the values phi(a_i) from `ridge_filter`, `flow_filter`, `truncation_filter` or another function.
        cross: the kernel matrix K_cross between the points of the predictions and the training points.

    Raises:
        ShapeError: if y, the filter or cross do not fit the spectrum.
        SettingError: for a filter that is negative or not finite, or a matrix in place of its eigensystem.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import ridge_filter, spectral_algorithm
        >>> from lemmata.spectra import spectrum
        >>> system = spectrum(jnp.eye(2))
        >>> print(spectral_algorithm(system, jnp.array([2.0, 4.0]), ridge_filter(system.eigenvalues, 3.0), jnp.eye(2)))
        [0.5 1. ]
    """
    require_float64("a spectral algorithm")
    check_spectrum(spectrum)
    n = len(spectrum.eigenvalues)
    check_targets(y, n)
    check_targets(filtered, n, "filter")
    check_at_least("filter", filtered, 0.0)
    if cross.ndim != 2 or cross.shape[1] != n:
        raise ShapeError("cross matrix", found=f"shape {cross.shape}", rule=f"{n} columns, one for each training row")
    check_numbers("cross matrix", cross)
    modes = spectrum.eigenvectors.T @ y.reshape(n, -1)
    return (cross_modes(spectrum, cross) @ (jnp.asarray(filtered)[:, None] * modes)).reshape(len(cross), *y.shape[1:])
