"""Kernel least squares on centres that are random rows of the points."""

import jax
from jaxtyping import Array, Float, Key

from lemmata.core import check_whole
from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel

from ._checks import check_numbers
from ._subset_of_regressors import CentredRidge, subset_of_regressors


def centred_regression(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    y: Float[Array, "rows *k"],
    centres: int,
    key: Key[Array, ""],
    *,
    ridge: float = 0.0,
    working_set: int | None = None,
) -> CentredRidge:
    """Solve least squares in the span of K(., z) for random rows z of x, directly by `subset_of_regressors`.

    For n points and p centres, the solution takes n p kernel entries, 2 n p² operations, and memory for five p x p
    squares of float64. If x has single precision and the ridge is above 0, the solution takes n p² operations. More
    centres lower the approximation error, because the span grows. Two calls with the same key draw the same centres.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        y: targets, one row for each point.
        centres: the number p of rows that serve as centres, drawn without replacement.
        key: the random key for the choice of the centres.
        ridge: the ridge, at least 0 (not divided by n).
        working_set: bytes for everything besides points and targets. None means the p x p squares plus 256 MiB.

    Raises:
        SettingError: for a number of centres outside 1..n, a negative ridge, or a working set that is not a whole
            number above 0.
        ShapeError, DataError, MemoryPlanError, NotPositiveDefiniteError, SolverError, PrecisionError: for the same
            reasons as `subset_of_regressors`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.kernels import Matern
        >>> from lemmata.solvers import centred_regression
        >>> x = jax.random.normal(jax.random.key(0), (500, 2))
        >>> found = centred_regression(Matern(1.5, 2.0), x, jnp.sin(x[:, 0]), 100, jax.random.key(1))
        >>> bool(jnp.mean((found(x) - jnp.sin(x[:, 0])) ** 2) < 2e-3)
        True
    """
    check_numbers("points x", x)
    check_whole("centres", centres, 1, "rows")
    if centres > len(x):
        raise SettingError("centres", found=centres, rule=f"at most {len(x)}, the number of rows of x")
    z = x[jax.random.permutation(key, len(x))[:centres]]
    return subset_of_regressors(kernel, x, y, z, ridge, working_set=working_set)
