"""Kernel ridge regression by conjugate gradients."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError, SolverError

from ._checks import check_at_least, check_targets
from ._operators import KernelOperator, MatrixOperator, as_operator, refuse_curvature

Product = Callable[[Float[Array, "n k"]], Float[Array, "n k"]]

_TOLERANCES = {8: 1e-8, 4: 2e-4}  # for numbers of 8 and 4 bytes; about the square root of their eps
_ROUNDING = 16.0  # the multiple of n eps |K| by which a product with K may be wrong, as for eigenvalues in spectra


class Iterations(eqx.Module):
    """The iterative solution of kernel ridge regression, and its cost.

    Args:
        coefficients: the coefficients alpha with (K + ridge I) alpha = y up to `residual`.
        ridge: the ridge on the diagonal of K.
        iterations: the number of products with K; one product serves all columns of y.
        residuals: the relative residual |(K + ridge I) alpha - y| / |y| of the worst column of y, before the first step
            and after each step.
        residual: the maximum over columns of |(K + ridge I) alpha - y| / |y|, recomputed at the end.
    """

    coefficients: Float[Array, "n *k"]
    ridge: Float[Array, ""]
    iterations: int = eqx.field(static=True)
    residuals: np.ndarray
    residual: Float[Array, ""]


class _State(eqx.Module):
    alpha: Float[Array, "n k"]
    residual: Float[Array, "n k"]
    direction: Float[Array, "n k"]
    product: Float[Array, " k"]  # <residual, preconditioned residual>


def conjugate_gradients(
    matrix: Float[Array, "n columns"] | Float[np.ndarray, "n columns"] | MatrixOperator | KernelOperator | Product,
    y: Float[Array, "rows *k"] | Float[np.ndarray, "rows *k"],
    ridge: float | Float[Array, ""],
    *,
    tolerance: float | None = None,
    preconditioner: Product | None = None,
    most: int = 1000,
) -> Iterations:
    """Solve (K + ridge I) alpha = y by conjugate gradients, until |(K + ridge I) alpha - y| <= tolerance |y|.

    Only products with K are computed. Let A = K + ridge I, and let e be the error of the coefficients after i steps, in
    the norm |e|_A² = e^T A e. This norm is at most 2 ((sqrt(c) - 1)/(sqrt(c) + 1))^i times its value at the start.
    Here, c is the condition number of A, or of P^-1 A with a preconditioner P. Columns of y are solved side by side,
    each with its own steps. If the residual of the recursion is small but the true residual is not, the iteration
    starts again from the true residual.

    Args:
        matrix: the matrix K, an operator such as `KernelOperator(kernel, x)`, or any function v -> K v of (n, k)
            arrays.
        y: targets, one row for each point.
        ridge: the ridge on the diagonal, at least 0.
        tolerance: the largest allowed relative residual |(K + ridge I) alpha - y| / |y| of a column of y. None means
            1e-8 if y has type float64, and 2e-4 if y has type float32. These values are about the square root of the
            rounding error.
        preconditioner: a function v -> P^-1 v with P positive definite, such as `Preconditioner(...)`.
        most: the largest number of iterations.

    Raises:
        SolverError: if the tolerance was not reached; the message states the residual that was reached, and why the
            iteration ended.
        NotPositiveDefiniteError: if a direction of negative curvature shows that K is not positive semidefinite.
        SettingError: for a negative ridge, a tolerance or limit that is not positive, or a K that is neither a matrix
            nor a function.
        ShapeError: if K is not square and symmetric up to rounding; if the shapes of K, y and the preconditioner do not
            fit each other; if one of them is empty.
        DataError: for entries that are not finite.
        PrecisionError: for arrays in half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import conjugate_gradients
        >>> found = conjugate_gradients(jnp.diag(jnp.array([1.0, 3.0])), jnp.array([2.0, 4.0]), 1.0)
        >>> [round(float(value), 12) for value in found.coefficients], found.iterations
        ([1.0, 1.0], 2)
    """
    operator = matrix if callable(matrix) else as_operator(matrix)
    check_targets(y, len(operator) if isinstance(operator, MatrixOperator | KernelOperator) else len(y))
    check_at_least("ridge", ridge, 0.0)
    scaled, exponents = _of_size_1(y)
    kind = jnp.result_type(scaled, float)
    shape, flat = y.shape, jnp.asarray(scaled, kind)
    tolerance = _TOLERANCES[kind.itemsize] if tolerance is None else tolerance
    if not (tolerance > 0 and most >= 1):
        raise SettingError(
            "tolerance and most",
            found=f"tolerance={tolerance} and most={most}",
            rule="a tolerance above 0, and a value of `most` that is at least 1",
        )
    multiply = _fitting("the product with K", operator)
    solve = _fitting("the preconditioner", preconditioner) if preconditioner else _same
    ridge = jnp.asarray(ridge, kind)
    size = jnp.linalg.norm(flat, axis=0)
    size = jnp.where(size > 0, size, 1.0)
    relative = lambda residual: float(jnp.max(jnp.linalg.norm(residual, axis=0) / size))
    state = _start(solve, jnp.zeros_like(flat), flat)
    history, largest, restarted, done = [relative(flat)], 0.0, np.inf, 0
    while history[-1] > tolerance:
        if done == most:
            raise _unfinished(
                tolerance, history, f"the limit of {most} iterations", "allow more iterations, or use a preconditioner"
            )
        product = multiply(state.direction)
        curvature, norm = _curvatures(state, product)
        largest, done = max(largest, norm), done + 1
        floor = _ROUNDING * len(flat) * float(jnp.finfo(kind).eps) * largest
        if not np.isfinite(curvature):
            raise DataError(
                "the product with K",
                found="entries that are not finite",
                rule="finite numbers",
                remedy="check the operator and the targets for NaN and infinite values",
            )
        refuse_curvature(curvature, floor)
        state = _step(solve, state, product + ridge * state.direction)
        history.append(relative(state.residual))
        if not np.isfinite(history[-1]):
            raise _unfinished(
                tolerance, history[:-1], "a singular direction", "use a ridge that is larger than rounding errors"
            )
        if history[-1] <= tolerance:
            missed = flat - multiply(state.alpha) - ridge * state.alpha
            true = history[-1] = relative(missed)
            if true > tolerance:
                if true > restarted / 2:
                    raise _unfinished(tolerance, history, "rounding", "use a larger tolerance or a larger ridge")
                restarted, state = true, _start(solve, state.alpha, missed)
    missed = flat - multiply(state.alpha) - ridge * state.alpha
    alpha = _of_their_size(state.alpha, exponents).reshape(shape)
    return Iterations(alpha, ridge, done, np.asarray(history), jnp.asarray(relative(missed)))


def conjugate_gradient_path(
    multiply: Product, y: Float[Array, "n k"], steps: int, preconditioner: Product | None = None
) -> Float[Array, "s n k"]:
    """Return the iterates alpha_0 = 0, ..., alpha_steps of conjugate gradients on A alpha = y.

    JAX can trace this function.

    Args:
        multiply: a function v -> A v with A positive definite.
        y: right-hand sides, one in each column.
        steps: the number of iterations.
        preconditioner: a function v -> P^-1 v with P positive definite.
    """
    solve = preconditioner or _same
    start = _start(solve, jnp.zeros_like(y), y)

    def iterate(state, _):
        state = _step(solve, state, multiply(state.direction))
        return state, state.alpha

    return jnp.concatenate([start.alpha[None], jax.lax.scan(iterate, start, length=steps)[1]])


def _of_size_1(y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of the targets, each divided by a power of 2 near its largest entry, and the exponents.

    Such a division does not change the steps, and squares of the entries do not overflow or vanish.
    """
    values = np.asarray(y)
    single = values.dtype.kind == "f" and values.dtype.itemsize == 4
    values = values.astype(np.float32 if single else float).reshape(len(values), -1)
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    return np.ldexp(values, -exponents), exponents


def _of_their_size(alpha: Float[Array, "n k"], exponents: np.ndarray) -> Float[Array, "n k"]:
    """Multiply the columns by powers of 2, to undo the division in `_of_size_1`."""
    found = np.asarray(alpha)
    with np.errstate(over="ignore", under="ignore"):
        found = np.ldexp(found, exponents)
    if not np.all(np.isfinite(found)):
        raise DataError(
            "targets",
            found=f"entries near {2.0 ** min(exponents.max(), 1023):.1g}",
            rule=f"coefficients below {np.finfo(found.dtype).max:.1g}, the largest number of {found.dtype}",
            remedy="divide the targets by their largest entry; the coefficients are then in this unit",
        )
    return jnp.asarray(found)


def _fitting(name: str, function: Any) -> Product:
    """Wrap a function so that values of another shape than the argument raise an error."""

    def apply(v: Float[Array, "n k"]) -> Float[Array, "n k"]:
        rule = f"a function that takes and returns arrays of shape {v.shape} (one row for each row of y)"
        try:
            found = jnp.asarray(function(v))
        except ShapeError as error:
            raise ShapeError(name, found=f"an error about {error}", rule=rule) from error
        except LemmataError:
            raise
        except (TypeError, ValueError) as error:
            raise ShapeError(name, found=f"{type(error).__name__}: {error}", rule=rule) from error
        if found.shape != v.shape:
            raise ShapeError(name, found=f"shape {found.shape}", rule=rule)
        return found

    return apply


def _same(v: Float[Array, "n k"]) -> Float[Array, "n k"]:
    return v


def _start(solve: Product, alpha: Float[Array, "n k"], residual: Float[Array, "n k"]) -> _State:
    direction = solve(residual)
    return _State(alpha, residual, direction, jnp.sum(residual * direction, axis=0))


def _step(solve: Product, state: _State, product: Float[Array, "n k"]) -> _State:
    state = _descend(state, product)
    return _turn(state, solve(state.residual))


@jax.jit
def _descend(state: _State, product: Float[Array, "n k"]) -> _State:
    curvature = jnp.sum(state.direction * product, axis=0)
    at_rest = state.product == 0  # a column that is solved exactly has no direction left
    length = jnp.where(at_rest, 0.0, state.product / jnp.where(at_rest, 1.0, curvature))
    alpha, residual = state.alpha + length * state.direction, state.residual - length * product
    return _State(alpha, residual, state.direction, state.product)


@jax.jit
def _turn(state: _State, direction: Float[Array, "n k"]) -> _State:
    product = jnp.sum(state.residual * direction, axis=0)
    ratio = jnp.where(state.product == 0, 0.0, product / jnp.where(state.product == 0, 1.0, state.product))
    return _State(state.alpha, state.residual, direction + ratio * state.direction, product)


def _curvatures(state: _State, product: Float[Array, "n k"]) -> tuple[float, float]:
    """Return the smallest v^T K v / |v|² and the largest |K v| / |v| over the columns v of the direction."""
    squares = jnp.sum(state.direction**2, axis=0)
    squares = jnp.where(squares > 0, squares, 1.0)
    curvature = jnp.min(jnp.sum(state.direction * product, axis=0) / squares)
    unit = jnp.max(jnp.abs(product))  # so that a square does not overflow or vanish
    unit = jnp.where(unit > 0, unit, 1.0)
    return float(curvature), float(unit * jnp.max(jnp.linalg.norm(product / unit, axis=0) / jnp.sqrt(squares)))


def _unfinished(tolerance: float, history: list[float], why: str, remedy: str) -> SolverError:
    found = f"a relative residual of {history[-1]:.3g} after {len(history) - 1} iterations, stopped by {why}"
    return SolverError(
        "conjugate gradients", found=found, rule=f"a relative residual of at most {tolerance:.3g}", remedy=remedy
    )
