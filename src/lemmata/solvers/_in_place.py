"""Kernel ridge regression with one matrix in memory. The Cholesky factor replaces the Gram matrix."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from scipy.linalg.blas import dsymm  # pyright: ignore[reportAttributeAccessIssue]
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs  # pyright: ignore[reportAttributeAccessIssue]

from lemmata.core import mirror
from lemmata.errors import SolverError

from ._ridge import JITTERS, require_positive_semidefinite

_BLOCK = 512
# the number of rows of the principal submatrix that `judge` factorises
_JUDGED = 1000


class SystemInPlace:
    """Solves (A + ridge I) alpha = y for one ridge after another; the Cholesky factor overwrites half of the matrix A.

    The Cholesky factor L fills the lower triangle of the matrix. Above the diagonal, the entries of A are kept. So
    products with A and factors for other ridges need no second matrix. LAPACK computes the factors, without compilation
    by JAX.

    Args:
        matrix: the whole matrix A, C-contiguous, in float64; it is overwritten.
        upper: whether only the upper triangle of the matrix holds values of A.

    Example:
        >>> import numpy as np
        >>> from lemmata.solvers import SystemInPlace
        >>> system = SystemInPlace(2.0 * np.eye(2))
        >>> system.factorise(2.0)
        0.0
        >>> system.solved(np.array([[4.0], [8.0]])).tolist()
        [[1.0], [2.0]]
    """

    def __init__(self, matrix: Float[np.ndarray, "n columns"], upper: bool = False):
        self._matrix = matrix
        self._diagonal = np.diagonal(matrix).copy()
        self._changed = upper  # whether the lower triangle holds other numbers than A

    @property
    def trace(self) -> float:
        """The trace of A."""
        return float(np.sum(self._diagonal))

    @property
    def columns(self) -> Float[np.ndarray, "n columns"]:
        """The whole matrix A. If A was factorised, the lower triangle is overwritten by the entries of A again."""
        self._restore()
        return self._matrix

    def judge(self, name: str = "the Gram matrix") -> None:
        """Refuse a matrix if the principal submatrix of 1,000 evenly spread rows shows that the matrix is indefinite.

        The eigenvalues of a principal submatrix lie between the smallest and the largest eigenvalue of the matrix, so a
        refused matrix is indefinite. `factorise`, which uses all rows, refuses a matrix that is indefinite by more than
        the ridge.

        Args:
            name: the name of the matrix in the error message.

        Raises:
            NotPositiveDefiniteError: if an eigenvalue is negative by more than rounding; the message gives the smallest
                eigenvalue of the submatrix.
        """
        self._restore()
        rows = np.unique(np.linspace(0, len(self._matrix) - 1, min(_JUDGED, len(self._matrix))).astype(int))
        part = self._matrix[np.ix_(rows, rows)]
        floor = 16 * len(part) * np.finfo(float).eps * float(np.linalg.norm(part))
        if dpotrf(part + floor * np.eye(len(part)), overwrite_a=1, clean=0)[1]:
            require_positive_semidefinite(jnp.asarray(part), name)

    def factorise(self, ridge: float) -> float:
        """Put the Cholesky factor of A + (ridge + jitter) I into the lower triangle, and return the jitter.

        The jitter is 0 if the factorisation succeeds without a jitter. Otherwise, the jitter is the first of eps tr A,
        10 eps tr A, ... 1e5 eps tr A with which the factorisation succeeds.

        Args:
            ridge: the ridge, at least 0.

        Raises:
            NotPositiveDefiniteError: if A has an eigenvalue that is negative by more than rounding.
            SolverError: if the factorisation fails even with the largest jitter.
        """
        unit = float(np.finfo(float).eps) * self.trace
        for jitter in (0.0, *(multiple * unit for multiple in JITTERS)):
            self._restore()
            np.fill_diagonal(self._matrix, self._diagonal + ridge + jitter)
            # The transpose of a C array is a Fortran array, and the transpose's upper triangle is the matrix's lower
            # triangle.
            _, failed = dpotrf(self._matrix.T, lower=0, clean=0, overwrite_a=1)
            self._changed = True
            if not failed:
                return jitter
            if jitter == 0:
                require_positive_semidefinite(jnp.asarray(self.columns))
        raise SolverError(
            "Cholesky factorisation of K + ridge I",
            found=f"a factorisation that fails, even after {JITTERS[-1] * unit:.3g} was added to the diagonal",
            rule="a positive definite matrix",
            remedy="use a ridge that is larger than the rounding errors of K",
        )

    def solved(self, y: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Return (A + (ridge + jitter) I)^-1 y for the ridge and the jitter of the last `factorise`."""
        return dpotrs(self._matrix.T, y, lower=0)[0]

    def product(self, v: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Return the product A v."""
        # The lower triangle of the transpose is the upper triangle of the matrix, where A is kept.
        found = dsymm(1.0, self._matrix.T, v, lower=1)
        return found + (self._diagonal - np.diagonal(self._matrix))[:, None] * v

    def inverse_diagonal(self, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """Return the entries (i, i) of (A + (ridge + jitter) I)^-1 for some rows i, at n² operations for each entry.

        Args:
            rows: the row numbers i.
        """
        units = np.zeros((len(self._matrix), len(rows)), order="F")
        units[rows, np.arange(len(rows))] = 1.0
        solved, _ = dtrtrs(self._matrix.T, units, lower=0, trans=1, overwrite_b=1)
        return np.einsum("ij,ij->j", solved, solved)

    def log_determinant(self) -> float:
        """Return log det (A + (ridge + jitter) I) for the ridge and the jitter of the last `factorise`."""
        return 2 * float(np.sum(np.log(np.diagonal(self._matrix))))

    def factor(self) -> Float[np.ndarray, "n columns"]:
        """Return L in the place of the matrix, with zeros in the upper triangle. Call no other method afterwards."""
        for start in range(0, len(self._matrix), _BLOCK):
            end = start + _BLOCK
            self._matrix[start:end, end:] = 0.0
            self._matrix[start:end, start:end] = np.tril(self._matrix[start:end, start:end])
        return self._matrix

    def _restore(self) -> None:
        if not self._changed:
            return
        mirror(self._matrix)
        np.fill_diagonal(self._matrix, self._diagonal)
        self._changed = False
