"""Least squares on a number of centres: directly where the squares of the centres are small, by EigenPro beyond."""

import jax
from jaxtyping import Array, Float, Key

from lemmata.core import check_whole
from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel

from ._centres_plan import squares
from ._checks import check_at_least, check_numbers
from ._eigenpro import CentredSolution, eigenpro
from ._subset_of_regressors import CentredRidge, subset_of_regressors

WORKING_SET = 800 * 2**20
"""Bytes that the squares of a direct solution may take where the caller says nothing: up to 4,579 centres."""


def centred_regression(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    y: Float[Array, "rows *k"],
    centres: int,
    key: Key[Array, ""],
    *,
    ridge: float = 0.0,
    epochs: int = 200,
    working_set: int | None = None,
) -> CentredRidge | CentredSolution:
    """Least squares over the span of K(., z) for random rows z, by the solver that suits the number of centres.

    Where the five p x p squares of float64 that `subset_of_regressors` holds fit in the working set, or where a ridge
    is asked for, it is that solver, which is exact; beyond it is `eigenpro`, which knows no ridge and stops when
    a direct solution on a few rows finds nothing more. Either answer is a function of points with `centres` and
    `coefficients`, and the same key gives the same centres.

    The direct solution costs some 9/4 p operations for each of the n p entries of the kernel, EigenPro one evaluation
    of the kernel an epoch: the first grows with p, the second does not. On one core, with an RBF kernel in 50
    dimensions, an entry took 119, 172 and 323 ns at p = 1000, 2000 and 4000, and 22 ns an epoch. So the two cost the
    same at about 4,300 centres for 16 epochs, which EigenPro needs there to come near the direct solution's error, and
    at about 800 for 5, which stop short of it. The default working set lies at the first of the two crossings.

    Args:
        kernel: the kernel K.
        x: points.
        y: targets, one row a point.
        centres: p, how many rows serve as centres.
        key: randomness: centres, and the order of EigenPro's rows.
        ridge: the ridge, at least 0 (not divided by n); above 0 the solution is direct.
        epochs: passes over the data, at most, where it is EigenPro.
        working_set: bytes that the squares of a direct solution may take; None is 800 MiB, up to 4,579 centres.

    Raises:
        SettingError: for a number of centres outside 1..n, a negative ridge, or a working set that is not a whole
            number above 0, and for the same reasons as the chosen solver.
        ShapeError, DataError, MemoryPlanError, NotPositiveDefiniteError, SolverError, PrecisionError: for the same
            reasons as the chosen solver.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.kernels import Matern
        >>> from lemmata.solvers import centred_regression
        >>> x = jax.random.normal(jax.random.key(0), (500, 2))
        >>> direct = centred_regression(Matern(1.5, 2.0), x, jnp.sin(x[:, 0]), 100, jax.random.key(1))
        >>> stepwise = centred_regression(Matern(1.5, 2.0), x, jnp.sin(x[:, 0]), 100, jax.random.key(1), working_set=1)
        >>> type(direct).__name__, type(stepwise).__name__
        ('CentredRidge', 'CentredSolution')
    """
    check_numbers("points x", x)
    check_at_least("ridge", ridge, 0.0)
    limit = WORKING_SET if working_set is None else working_set
    check_whole("working_set", limit, 1)
    check_whole("centres", centres, 1, "rows")
    if centres > len(x):
        raise SettingError("centres", found=centres, rule=f"at most {len(x)}, the number of rows of x")
    if ridge == 0 and squares(centres) > limit:
        return eigenpro(kernel, x, y, centres, key, epochs=epochs)
    return subset_of_regressors(kernel, x, y, chosen_rows(x, centres, key), ridge)


def chosen_rows(x: Float[Array, "n d"], centres: int, key: Key[Array, ""]) -> Float[Array, "p d"]:
    """Rows of x drawn without replacement, the ones that `eigenpro` takes for the same key.

    Args:
        x: points.
        centres: how many.
        key: randomness.
    """
    return x[jax.random.permutation(jax.random.fold_in(key, 0), len(x))[:centres]]
