"""Check targets, settings and eigensystems before a solver starts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import check_numbers as check_numbers
from lemmata.core import known as known
from lemmata.errors import SettingError, ShapeError
from lemmata.spectra import Spectrum


def check_targets(y: ArrayLike, rows: int, name: str = "targets") -> None:
    """Refuse targets that are not finite, or whose number of rows differs from the number of points.

    Args:
        y: the targets, one row for each point.
        rows: the number of points.
        name: the name of the targets, for the error message.
    """
    shape = np.shape(y)
    if len(shape) == 0 or shape[0] != rows:
        found = f"{shape[0]} rows" if shape else "a single number"
        raise ShapeError(name, found=found, rule=f"one row for each of the {rows} points")
    check_numbers(name, y)


def check_at_least(name: str, value: float | ArrayLike, smallest: int | float) -> None:
    """Refuse a number that is NaN, infinite, or below the smallest allowed number; accept a number traced by JAX."""
    number = known(value)
    if number is not None and not (np.all(number >= smallest) and np.all(np.isfinite(number))):
        raise SettingError(name, found=number.tolist(), rule=f"a finite number of at least {smallest:g}")


def check_spectrum(spectrum: Any) -> None:
    """Refuse anything that is not an eigensystem, in particular the matrix itself."""
    if not isinstance(spectrum, Spectrum):
        matrix = isinstance(spectrum, jax.Array | np.ndarray)
        raise SettingError(
            "spectrum",
            found=f"an array of shape {jnp.shape(spectrum)}" if matrix else f"a {type(spectrum).__name__}",
            rule="the eigensystem of a Gram matrix K",
            remedy="compute it with lemmata.spectra.spectrum(K)",
        )


def paired(K: Float[Array, "t n *k"]) -> Float[Array, "rows columns"]:
    """Reshape a kernel (t, n, k, k) of all pairs of k outputs to a matrix (t k, n k). A matrix is returned unchanged.

    Rows and columns of the matrix are ordered by point, then by output.
    """
    if K.ndim == 2:
        return K
    if K.ndim != 4 or K.shape[2] != K.shape[3]:
        raise ShapeError(
            "kernel", found=f"shape {K.shape}", rule="shape (n, m), or (n, m, k, k) for all pairs of k outputs"
        )
    return jnp.transpose(K, (0, 2, 1, 3)).reshape(K.shape[0] * K.shape[2], K.shape[1] * K.shape[3])
