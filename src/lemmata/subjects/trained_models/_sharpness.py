"""The largest eigenvalue of a symmetric operator that is given by its products with NumPy vectors."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from lemmata.errors import SolverError
from lemmata.spectra import ritz_values

_MOST = 400


def largest_eigenvalue(
    product: Callable[[np.ndarray], np.ndarray], start: Float[np.ndarray, " P"], tolerance: float = 1e-3
) -> tuple[float, int]:
    """Return the largest eigenvalue, by Lanczos' three-term recurrence, and the number of products.

    No basis is stored: besides a product, the method keeps three vectors, in the precision of the start. Without a
    basis, new vectors lose their orthogonality to converged eigenvectors, and duplicates of eigenvalues appear. The
    largest eigenvalue is as accurate as with a stored basis (Paige 1976). The method ends if the residual |A x - value
    x| of the largest Ritz pair (value, x) is at most the tolerance times |value|. Then some eigenvalue differs from the
    value by at most the residual.

    Args:
        product: the map v -> A v.
        start: the first vector of Lanczos' method, a random vector that is not 0.
        tolerance: the tolerance of the residual, relative to the value.

    Raises:
        SolverError: if a product is not finite, the start is 0, or 400 products do not suffice.

    >>> scales = np.linspace(0.0, 5.0, 60)
    >>> value, products = largest_eigenvalue(lambda v: scales * v, np.ones(60))
    >>> bool(abs(value - 5.0) < 5e-3), products < 60
    (True, True)
    """
    size = float(np.linalg.norm(start))
    if not (np.isfinite(size) and size > 0):
        raise SolverError("the start of Lanczos' method", found=f"length {size:g}", rule="a direction",
                          remedy="pass a start that is not zero, or leave it out")  # fmt: skip
    now, before, length = start / np.asarray(size, start.dtype), np.zeros_like(start), 0.0
    diagonal, beside, eps = [], [], float(np.finfo(start.dtype).eps)
    for step in range(1, _MOST + 1):
        moved = np.asarray(product(now), start.dtype)
        moved = moved - start.dtype.type(length) * before
        along = float(now @ moved)
        moved -= start.dtype.type(along) * now
        length = float(np.linalg.norm(moved))
        diagonal.append(along)
        beside.append(length)
        if not np.isfinite(along + length):
            raise SolverError("products with the Hessian", found="NaN or infinity", rule="finite ones")
        found = ritz_values(np.array(diagonal), np.array(beside), np.zeros(step), eps)
        if found.whole or found.residuals[0] <= tolerance * abs(found.values[0]):
            return float(found.values[0]), step
        before, now = now, moved / start.dtype.type(length)
    raise SolverError(
        "the largest eigenvalue", found=f"no convergence after {_MOST} products", rule="a residual that falls"
    )
