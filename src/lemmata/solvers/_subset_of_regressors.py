"""Kernel ridge regression in the span of K(., z) for given centres z, solved directly ("subset of regressors")."""

import contextlib
import functools
import math
import pathlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from lemmata.core import check_executor, check_whole, known, require_float64
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError, SolverError
from lemmata.kernels import AbstractKernel, gram

from ._centres_plan import CentresPlan, centres_plan
from ._checks import check_at_least, check_numbers, check_targets
from ._host_solution import host_solutions, penalty_factor
from ._kernel_rows import centred_product, on_host
from ._normal_equations import largest, largest_of_inverse, moved_by_rounding, normal_equations
from ._ridge import factored
from ._shared_equations import shared_normal_equations


class CentredRidge(eqx.Module):
    """A function sum_j K(., z_j) alpha_j on centres z, found by a direct solution, with its accuracy.

    If several ridges were requested, `ridge`, `coefficients`, `shift`, `residual`, `condition` and `error` have a
    leading axis with one entry for each ridge.

    Args:
        kernel: the kernel K.
        centres: the centres z.
        coefficients: the coefficients alpha, one row for each centre, in float64.
        ridge: the ridge, or several ridges.
        jitter: the amount that was added to the diagonal of K(z, z) in the penalty.
        shift: the amount that was added to the ridge of the whitened system besides the requested ridge. The shift is 0
            if the system has a Cholesky factor without a shift.
        residual: the relative residual |(W + ridge I) b - v| / |v| of the whitened system (W, b and v are defined in
            `subset_of_regressors`), without the shift.
        condition: an estimate, from below, of the condition number of W + (ridge + shift) I by 30 steps of power
            iteration.
        error: the mean squared error |K_nz alpha - y|² / n on the training points, summed over outputs. The error is
            computed from the accumulated matrices. The rounding error of this number is about 1e-16 times the mean
            square of y times the condition number.
        plan: the memory plan by which the solution was computed.
    """

    kernel: AbstractKernel
    centres: Float[Array, "p d"]
    coefficients: Float[Array, "..."]
    ridge: Float[Array, "*s"]
    jitter: Float[Array, ""]
    shift: Float[Array, "*s"]
    residual: Float[Array, "*s"]
    condition: Float[Array, "*s"]
    error: Float[Array, "*s"]
    plan: CentresPlan = eqx.field(static=True)

    def __call__(self, x: Float[Array, "t d"]) -> Float[Array, "..."]:
        """Return predictions (t, *k), or (s, t, *k) for s ridges, computed in blocks of points."""
        if self.ridge.ndim == 0:
            return centred_product(self.kernel, x, self.centres, self.coefficients)
        # One pass over the kernel's blocks serves all ridges.
        columns = jnp.moveaxis(self.coefficients, 0, 1)
        found = centred_product(self.kernel, x, self.centres, columns.reshape(len(columns), -1))
        return jnp.moveaxis(found.reshape(len(x), *columns.shape[1:]), 1, 0)


def subset_of_regressors(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    y: Float[Array, "rows *k"],
    centres: Float[Array, "p columns"],
    ridge: float | Sequence[float] | Float[Array, "*s"] | np.ndarray,
    *,
    block: int | None = None,
    working_set: int | None = None,
    tolerance: float = 0.0,
    executor: Executor | None = None,
    tasks: int = 16,
    folder: str | pathlib.Path | None = None,
) -> CentredRidge:
    """Minimise |K_nz alpha - y|² + ridge alpha^T (K_zz + jitter I) alpha for centres z, over blocks of rows.

    Let L L^T = K_zz + jitter I and b = L^T alpha. Then the problem is ridge regression on the rows L^-1 K(z, x_i),
    which are called whitened. The sums W = sum_i L^-1 K(z, x_i) K(x_i, z) L^-T and v = sum_i L^-1 K(z, x_i) y_i are
    accumulated over blocks of rows. Then (W + ridge I) b = v is solved by one Cholesky factorisation for each ridge.
    Kernel blocks are computed in the dtype of x; K_zz, sums and factorisations are always in float64. The jitter is 16
    eps tr K_zz, with the eps of the type of x. This jitter is above the rounding error of K_zz. If K_zz + jitter I has
    no Cholesky factor, the jitter grows as in `kernel_ridge`. A ridge of 0 gives least squares on the span of the
    centres. If all training points are centres, this is kernel ridge regression, up to the jitter.

    Whitening the finished sum K_zn K_nz costs half as much as whitening the rows. But whitening last loses digits,
    because |L^-1|² multiplies the rounding errors of the sum. So only the sums are whitened if every ridge is
    above 0 and the loss of accuracy does not matter. In single precision, the loss does not matter, because the kernel
    entries have larger errors. In double precision, `tolerance` limits how far the loss may move the fit. If the fit
    moves further than the tolerance, or no Cholesky factor exists, the whitened rows are summed in a second pass.

    Cost: n p kernel entries, 2 n p² operations (n p² if only the sums are whitened), and p³/3 operations for each
    ridge. Memory: five p x p squares of float64 and one block, as `centres_plan` reports; no n x p matrix is formed.

    With an `executor`, each worker sums a run of blocks. The calling process adds these sums in the order of the rows.
    So the answer does not depend on which worker computed which sum. The answer differs from the answer without an
    executor only by rounding. Points, factor and sums pass through files of a folder. If the caller names the folder,
    the sums of an interrupted call stay there, and the same call continues with the missing runs. Only complete sums
    are kept.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        y: targets, one row for each point.
        centres: the centres z, points with the same number of columns as x.
        ridge: the ridge, at least 0 (not divided by n), or several ridges. All ridges use the same accumulated
            matrices.
        block: the number of rows of K_nz that are computed at once. With None, this number is computed from the working
            set.
        working_set: bytes for everything besides points and targets. None means the p x p squares plus 256 MiB.
        tolerance: how far rounding of the sums may move the fit on x, as a share of |y|. With 0, every block of float64
            is whitened. With 1e-4, the time is halved. A squared error that is 1 % of the squared targets then changes
            by less than 1/400 of itself.
        executor: any `concurrent.futures.Executor`, such as that of a Dask client (`client.get_executor()`); with None,
            this process computes the sums.
        tasks: with an executor, the largest number of runs of blocks. Each run writes a p x p matrix of float64.
        folder: a folder that all workers can read under the same path. None means a folder on this machine.

    Raises:
        SettingError: for a negative ridge or tolerance, no ridge, or a matrix of ridges. This error is also raised if
            both block and working set are given, if one of these or tasks is not a whole number above 0, or if the
            executor has another type.
        ShapeError: if x, y and centres do not fit or are empty.
        DataError: for entries that are not finite, or if the disk is full or the folder is not writable.
        MemoryPlanError: if the plan does not fit into the working set or into free memory; the message states its
            bytes.
        NotPositiveDefiniteError: if the kernel is not positive semidefinite on the centres.
        SolverError: if the factorisation fails even with the largest jitter, if the executor died, or if a worker did
            not answer.
        PrecisionError: if float64 is off. With float64 on, float32 blocks are still computed in float32.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.kernels import RBF
        >>> from lemmata.solvers import subset_of_regressors
        >>> x = jax.random.normal(jax.random.key(0), (500, 2))
        >>> found = subset_of_regressors(RBF(2.0), x, jnp.sin(x[:, 0]), x[:100], 1e-6)
        >>> bool(jnp.mean((found(x) - jnp.sin(x[:, 0])) ** 2) < 1e-8)
        True
        >>> path = subset_of_regressors(RBF(2.0), x, jnp.sin(x[:, 0]), x[:100], jnp.array([1e-6, 1.0]))
        >>> path(x).shape
        (2, 500)
    """
    require_float64("least squares on centres")
    ridges = _checked(x, y, centres, ridge)
    check_at_least("tolerance", tolerance, 0.0)
    check_executor(executor)
    check_whole("tasks", tasks, 1)
    plan = centres_plan(
        kernel, x, centres, outputs=math.prod(y.shape[1:]), ridges=ridges.size, block=block, working_set=working_set
    )
    plan.require(x)
    z, eps = jnp.asarray(centres).astype(x.dtype), float(jnp.finfo(x.dtype).eps)
    host = all(map(on_host, (x, y, centres, *jax.tree.leaves((kernel, ridges)))))
    numbers: Any = np if host else jnp
    flat = numbers.asarray(y, np.float64).reshape(len(x), -1)
    factor: Any
    if host:
        factor, jitter = penalty_factor(kernel, np.asarray(centres, np.float64), eps)
    else:
        factor, jitter = _penalty(kernel, centres, eps, flat.shape[1])
    sums = functools.partial(normal_equations, kernel, factor, z, x, flat, plan.block)
    if executor is not None:
        sums = shared_normal_equations(kernel, factor, z, x, flat, plan.block, executor, tasks, folder)
    if host:
        allowed = math.inf if x.dtype != np.float64 else tolerance
        parts = host_solutions(sums, np.asarray(factor), flat, np.asarray(ridges).reshape(-1), allowed)
    else:
        parts = _found(sums, factor, x, flat, ridges.reshape(-1), tolerance)
    alpha, shift, residual, condition, gain = (numbers.stack(part) for part in zip(*parts, strict=True))
    error = (numbers.sum(flat**2) - gain) / len(x)
    alpha = jnp.asarray(alpha.reshape(*ridges.shape, len(centres), *y.shape[1:]))
    shift, residual, condition, error = (
        jnp.asarray(part.reshape(ridges.shape)) for part in (shift, residual, condition, error)
    )
    return CentredRidge(kernel, z, alpha, ridges, jnp.asarray(jitter), shift, residual, condition, error, plan)


def _checked(
    x: Array, y: Array, centres: Array, ridge: float | Sequence[float] | Array | np.ndarray
) -> Float[Array, "*s"]:
    """Check all arguments, and return the ridges in float64."""
    check_numbers("points x", x)
    check_numbers("centres", centres)
    check_targets(y, len(x))
    if centres.shape[1:] != x.shape[1:]:
        raise ShapeError(
            "centres",
            found=f"shape {centres.shape}",
            rule=f"centres must have {x.shape[1]} columns, because x has {x.shape[1]} columns",
        )
    ridges = jnp.asarray(ridge, jnp.float64)
    check_at_least("ridge", ridges, 0.0)
    if ridges.ndim > 1 or not ridges.size:
        raise SettingError(
            "ridge", found=f"an array of shape {ridges.shape}", rule="one number, or a one-dimensional array of numbers"
        )
    return ridges


def _penalty(
    kernel: AbstractKernel, z: Array, eps: float, outputs: int
) -> tuple[Float[Array, "p p"], Float[Array, ""]]:
    """Return the lower Cholesky factor of K_zz + jitter I, and the jitter."""
    matrix = gram(kernel, z.astype(jnp.float64))
    # `nothing` has the shape of the targets in later calls of `factored`, so only one compilation is needed
    nothing = jnp.zeros((len(z), outputs))
    solved = factored(matrix, nothing, 16 * eps * jnp.trace(matrix))
    return solved.factor, solved.ridge + solved.jitter


def _found(
    sums: Callable[..., Any], factor: Array, x: Array, y: Array, ridges: Array, tolerance: float
) -> list[tuple[Array, ...]]:
    """Return the result of `_solved` for each ridge.

    The sums are whitened at the end if this is allowed and accurate enough.
    """
    single = x.dtype != jnp.float64
    traced = any(known(part) is None for part in (factor[0, 0], x[0, 0], y[0, 0], ridges))
    if not traced and (single or tolerance > 0) and bool(jnp.all(ridges > 0)):
        square, product = sums(last=True)
        with contextlib.suppress(NotPositiveDefiniteError, SolverError):
            parts = [_solved(square, product, factor, value) for value in ridges]
            if all(
                float(shift) == 0 and (single or moved_by_rounding(factor, square, y, alpha, value) <= tolerance)
                for value, (alpha, shift, *_) in zip(ridges, parts, strict=True)
            ):
                return parts
        del square, product
    square, product = sums(last=False)
    return [_solved(square, product, factor, value) for value in ridges]


def _solved(square: Array, product: Array, factor: Array, ridge: Array) -> tuple[Array, ...]:
    """Return alpha, shift, residual, condition, and |y|² minus the sum of squared errors."""
    solved = factored(square, product, ridge)
    b = solved.coefficients
    alpha = solve_triangular(factor, b, lower=True, trans=1)
    gain = jnp.sum(b * (2 * product - square @ b))
    condition = _condition(square, solved.factor, ridge + solved.jitter)
    return alpha, solved.jitter, solved.residual, condition, gain


@jax.jit
def _condition(square: Array, factor: Array, ridge: Array) -> Float[Array, ""]:
    asked = largest(lambda u: square @ u + ridge * u, len(square))
    return asked * largest_of_inverse(factor)
