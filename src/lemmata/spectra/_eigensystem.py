"""The eigensystem of a Gram matrix, the effective dimension and the condition number."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_gram, require_float64
from lemmata.errors import NotPositiveDefiniteError, SettingError

# A symmetric eigensolver returns the eigenvalues of the stored matrix with an error of a modest multiple of n eps
# lambda_max. The entries of the stored matrix contain the rounding of the kernel itself. The factor 16 covers both
# errors.
_ROUNDING = 16.0


class Spectrum(eqx.Module):
    """Eigenvalues and eigenvectors of a Gram matrix A = U diag(a) U^T, largest first.

    Args:
        eigenvalues: the eigenvalues a_1 >= ... >= a_n >= 0 of the Gram matrix itself (not divided by n).
        eigenvectors: the matrix U, with one eigenvector in each column.
        floor: the rounding error 16 n eps a_1; eigenvalues at or below this number cannot be distinguished from zero.
        most_negative: the smallest computed eigenvalue, before negative eigenvalues are set to zero.
        clipped: the number of negative eigenvalues that were set to zero.
    """

    eigenvalues: Float[Array, " n"]
    eigenvectors: Float[Array, "n n"]
    floor: Float[Array, ""]
    most_negative: Float[Array, ""]
    clipped: int = eqx.field(static=True, default=0)

    @property
    def resolved(self) -> Float[Array, " n"]:
        """The eigenvalues. Eigenvalues at or below the rounding error `floor` are set to exactly zero."""
        return jnp.where(self.eigenvalues > self.floor, self.eigenvalues, 0.0)

    @property
    def rank(self) -> int:
        """The numerical rank: the number of eigenvalues above the rounding error."""
        return int(jnp.sum(self.eigenvalues > self.floor))


def spectrum(matrix: Float[Array, "rows columns"] | Float[np.ndarray, "rows columns"]) -> Spectrum:
    """The eigensystem of a symmetric positive semidefinite matrix, largest eigenvalue first.

    Eigenvalues in [-floor, 0) with floor = 16 n eps a_1 are rounding errors. Such eigenvalues are set to zero and
    counted in `clipped`.

    Args:
        matrix: a Gram matrix.

    Raises:
        ShapeError: if the matrix is empty or not square and symmetric up to rounding.
        DataError: for entries that are not finite.
        NotPositiveDefiniteError: if an eigenvalue is negative by more than rounding; the message states the smallest
            one.
        PrecisionError: if float64 is off, or for a matrix in half precision or of whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import spectrum
        >>> spectrum(jnp.diag(jnp.array([1.0, 3.0]))).eigenvalues.tolist()
        [3.0, 1.0]
    """
    require_float64("the eigensystem of a Gram matrix")
    check_gram("the matrix", matrix)
    values, vectors = _eigensystem(matrix)
    n, size = len(values), float(jnp.max(jnp.abs(values)))
    eps = float(jnp.finfo(values.dtype).eps)
    floor, smallest = _ROUNDING * n * eps * size, float(values[-1])
    if not smallest >= -floor:
        raise NotPositiveDefiniteError(
            "the matrix is not positive semidefinite",
            found=f"smallest eigenvalue {smallest:.6g}",
            rule=(
                f"at least {-floor:.3g}, which is -16 n eps times the largest eigenvalue (n rows, machine epsilon eps)"
            ),
            remedy="check that the kernel is positive semidefinite and that the points are finite",
        )
    clipped = int(jnp.sum(values < 0))
    values = jnp.maximum(values, 0.0)
    return Spectrum(values, vectors, jnp.asarray(floor), jnp.asarray(smallest), clipped)


@jax.jit
def _eigensystem(matrix):
    values, vectors = jnp.linalg.eigh((matrix + matrix.T) / 2)
    return values[::-1], vectors[:, ::-1]


def effective_dimension(spectrum: Spectrum, ridge: float | Float[Array, ""]) -> Float[Array, ""]:
    """The effective dimension tr A (A + ridge I)^-1 = sum_i a_i / (a_i + ridge) (degrees of freedom of the smoother).

    With ridge = 0, the effective dimension is the numerical rank.

    Args:
        spectrum: the eigensystem of the Gram matrix A.
        ridge: the ridge on the diagonal of A, at least 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import effective_dimension, spectrum
        >>> float(effective_dimension(spectrum(jnp.eye(4)), 1.0))
        2.0
    """
    check_ridge(ridge)
    values = spectrum.resolved
    return jnp.sum(jnp.where(values > 0, values / jnp.where(values > 0, values + ridge, 1.0), 0.0))


def condition_number(spectrum: Spectrum) -> Float[Array, ""]:
    """The condition number a_1 / a_n; infinite if the smallest eigenvalue is at the rounding error.

    Args:
        spectrum: the eigensystem of the Gram matrix.
    """
    smallest = spectrum.eigenvalues[-1]
    resolved = smallest > spectrum.floor
    return jnp.where(resolved, spectrum.eigenvalues[0] / jnp.where(resolved, smallest, 1.0), jnp.inf)


def check_ridge(ridge: float | Float[Array, ""]) -> None:
    """Raise SettingError for a ridge that is negative or not finite. A ridge traced by JAX is not checked."""
    if isinstance(ridge, int | float) and not 0 <= ridge < float("inf"):
        raise SettingError("ridge", found=ridge, rule="a finite number that is not negative")
