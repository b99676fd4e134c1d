"""Compute, for each training row, the output of a model that has not seen the row, by one Newton step.

Let theta be a stationary point of (1/n) sum_i loss(f_i, y_i) + (delta/2) |theta|². Here f_i are the outputs at row i,
y_i is the target, n is the number of rows and delta is the decay. Let J_i be the Jacobian of the outputs at row i, p_i
the predictions, and Lambda_i the Hessian of the loss with respect to the outputs. Let H = sum J_i' Lambda_i J_i + n
delta be the Gauss-Newton curvature. To first order in the row, the parameters without row i are theta + H^-1 J_i' (p_i
- y_i). Let S_i = J_i H^-1 J_i'. If the row's own curvature is removed from H, the output of the model without row i at
this row is

    f_i + S_i (1 - Lambda_i S_i)^-1 (p_i - y_i).

For squared loss and a linear model, this output is exact.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg
from jaxtyping import Float

from lemmata.core import all_blas_threads
from lemmata.errors import MemoryPlanError, SolverError

from ._compressed import MOST, compress, form_error, solved
from ._contract import AbstractModel, batches
from ._factors import Factor, factors, gram_of, is_factored, joined
from ._once import is_known, once
from ._polish import objective_of, polished_copy, polishing_passes, vectors_bytes
from ._task import Task
from ._trained import Trained

_BYTES = 6 * 2**30
_BLOCK = 2**28
_COPIES = 5
EXACT = 3000
"""The exact curvature is used if there are at most this number of outputs on all rows, or of parameters."""
_WALKED = 16
_Step = Callable[[int, np.ndarray], np.ndarray]  # for a row and weights w of its outputs, H^-1 J_i' w
_FREE = 1e4  # the prior variance of a parameter without decay, divided by that of a parameter with decay


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """For each training row, the output of a model that has not seen this row.

    Args:
        outputs: the outputs (n, C). Row i has the outputs at row i of the model without row i.
        leverage: the largest eigenvalue of Lambda_i^1/2 S_i Lambda_i^1/2 in each row, below 1.
        dimension: the effective dimension tr M (M + n delta)^-1 of the Gauss-Newton matrix M = sum J_i' Lambda_i J_i.
            If the curvature is restricted to a span of rows, the effective dimension is too large by at most 3.
        movement: |J H^-1 g| / |f|, where g is the gradient of the objective times n. This movement is the change of the
            outputs in one more Newton step, relative to their size. At a stationary point, the movement is 0. If units
            have kinks (as ReLU has), descent may not reach a gradient of 0. Then a small movement still shows that the
            outputs are close to those of the minimiser. The length of the gradient does not show this.
        error: the largest relative error of the curvature as a quadratic form, if the curvature is restricted to a
            span.
        bend: the median over a few rows of |f(theta_i; x_i) - moved_i| / |moved_i - f_i|. Here theta_i are the
            parameters after the step for row i, and moved_i are the outputs there by linearisation. This number is 0 if
            the model is linear in its parameters.
    """

    outputs: Float[np.ndarray, "n C"]
    leverage: Float[np.ndarray, " n"]
    dimension: float
    movement: float
    error: float = 0.0
    bend: float = 0.0


def leave_one_out(
    model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"], task: Task, decay: float
) -> LeftOut:
    """Return the leave-one-out outputs of a trained model, by one Newton step per row.

    Args:
        model: the model at a stationary point; `movement` in the result measures whether it is one.
        x: the training rows.
        y: the targets of the rows, in the form that the loss needs (see `Task.encode`).
        task: the meaning of the outputs, with the loss.
        decay: delta in mean loss + (delta/2) |theta|². A decay of 0 is allowed only if rows alone determine the weights
            (see `rows_fix_weights`).

    Raises:
        MemoryPlanError: if the matrices for n C outputs and P parameters do not fit into memory.
        SolverError: if the leverage of a row is 1 up to rounding errors. Then no other row determines the output at
            this row.
    """
    f = model.outputs(x)
    n = len(f)
    slope = task.slopes(f, y)
    kept = 1.0 if model.decayed is None else model.decayed
    gradient = model.vjp(slope, x) + n * decay * kept * model.theta
    curvature = task.curvatures(f, y)
    shifted = decay == 0 and task.is_classification and f.shape[1] > 2
    ridge = _faint_ridge(model, x, curvature) if shifted else n * decay
    spread, step, error, step_of = _influence(model, x, curvature, ridge, gradient)
    root = roots(curvature)
    inner = root @ spread @ root
    shares, vectors = np.linalg.eigh((inner + inner.transpose(0, 2, 1)) / 2)
    if shares.max() > 1 - 1e-9:
        row = int(shares.max(1).argmax())
        raise SolverError(
            f"row {row}, counted from 0",
            found="leverage 1",
            rule="a leverage below 1, because other rows or the decay must constrain every output",
        )
    # S (1 - Lambda S)^-1 = S + S R (1 - R S R)^-1 R S, where R is the square root of Lambda. The right side is
    # symmetric and allows a singular Lambda.
    middle = (vectors / (1 - shares[:, None, :])) @ vectors.transpose(0, 2, 1)
    pushed = spread + spread @ root @ middle @ root @ spread
    moved = f + np.einsum("iab,ib->ia", pushed, slope)
    movement = float(np.linalg.norm(step) / max(float(np.linalg.norm(f)), 1e-300))
    dual = slope + np.einsum("iab,ib->ia", root @ middle @ root @ spread, slope)  # (1 - Lambda S)^-1 (p - y)
    return LeftOut(moved, shares.max(1), float(shares.sum()), movement, error, _bend(model, x, f, moved, dual, step_of))


def _faint_ridge(model: AbstractModel, x: np.ndarray, curvature: Float[np.ndarray, "n C C"]) -> float:
    """Return 1e-8 times the mean curvature of a random direction, as a faint ridge.

    With more than two classes, all logits may move by the same number, which changes no probability. Without a decay,
    the curvature is 0 along these directions. The ridge makes the curvature positive. Products with Lambda remove the
    effect of the ridge along these directions.
    """
    v = prior_of(model) * np.random.default_rng(18).normal(size=len(model.theta))
    pushed = model.jvp(v, x)
    return 1e-8 * float(np.einsum("ia,iab,ib", pushed, curvature, pushed)) / len(v)


def _bend(
    model: AbstractModel, x: np.ndarray, f: Float[np.ndarray, "n C"], moved: Float[np.ndarray, "n C"],
    dual: Float[np.ndarray, "n C"], step_of: _Step,
) -> float:  # fmt: skip
    """Return the value of `LeftOut.bend`. Each row costs about one product with J'."""
    found = []
    for row in np.random.default_rng(17).permutation(len(f))[:_WALKED]:
        there = model.at(model.theta + step_of(int(row), dual[row])).outputs(x[row : row + 1])[0]
        length = float(np.linalg.norm(moved[row] - f[row]))
        if length > 1e-9 * max(float(np.linalg.norm(f[row])), 1e-300):
            found.append(float(np.linalg.norm(there - moved[row])) / length)
    return float(np.median(found)) if found else 0.0


def planned_bytes(rows: int, outputs: int, parameters: int, factored: bool = False) -> int:
    """Return the bytes for leaving rows out: for the smaller Gram matrix, its copies and a block of the Jacobian.

    Args:
        rows: the number of rows of data.
        outputs: the number of outputs of a row.
        parameters: the number of parameters of the model.
        factored: whether the model's Jacobian has factors. Then only some columns of a large Gram matrix are needed.

    Raises:
        MemoryPlanError: if more than 6 GiB are needed.
    """
    wide = rows * outputs
    small = min(wide, parameters)
    size = 8 * (_COPIES * small**2 + rows * outputs**2) + 2 * min(8 * wide * parameters, _BLOCK)
    if factored and small > EXACT:
        size = 8 * (_COPIES * wide * min(MOST, small) + 2 * MOST**2)
    if size > _BYTES:
        found = f"{size / 2**30:.1f} GiB for {wide} outputs and {parameters} parameters"
        raise MemoryPlanError("leaving one out", found=found, rule="at most 6 GiB", remedy="pass fewer training rows")
    return size


def _influence(
    model: AbstractModel, x: np.ndarray, curvature: Float[np.ndarray, "n C C"], ridge: float,
    gradient: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, "n C C"], Float[np.ndarray, " nC"], float, _Step]:  # fmt: skip
    """Return J_i H^-1 J_i' for all rows, J H^-1 gradient, the error of H, and the map from (i, w) to H^-1 J_i' w.

    Here H = J' Lambda J + ridge. The smaller of the two Gram matrices is used. If both are large and the Jacobian has
    factors, the span of the rows that dominate H is used. None of these methods stores the whole Jacobian. The methods
    use blocks of rows, factors, or blocks of parameters.
    """
    (n, width), size = curvature.shape[:2], len(model.theta)
    found = factors(model, x, prior_of(model)) if min(size, n * width) > EXACT else None
    planned_bytes(n, width, size, found is not None)
    if found is not None:
        with all_blas_threads():
            return _within_span(model, x, joined(found), curvature, ridge, gradient)
    return (_by_outputs if size > n * width else _by_parameters)(model, x, curvature, ridge, gradient)


def _within_span(
    model: AbstractModel, x: np.ndarray, found: tuple[Factor, ...], curvature: Float[np.ndarray, "n C C"],
    ridge: float, gradient: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, "n C C"], Float[np.ndarray, " nC"], float, _Step]:  # fmt: skip
    """Leave rows out with the curvature H' that is restricted to a span of rows (see `_compressed`).

    Let V be the rows of J in the basis of the span, and let L L' = H' in this basis. Then S = (J J' - V V')/ridge + V
    (L L')^-1 V'.
    """
    (n, width), root = curvature.shape[:2], roots(curvature)
    span = compress(found, root, ridge)
    error = form_error(span, found, root, ridge)
    if error >= 1:
        told = f"an approximation of the curvature from {len(span.chosen)} rows, with a relative error of {error:.2g}"
        raise MemoryPlanError("leaving one out", found=told, rule="less than 1", remedy="pass fewer training rows")
    along = model.jvp(prior_of(model) ** 2 * gradient, x)  # J g
    rooted = np.einsum("iab,ib->ia", root, along).ravel()[span.chosen]
    first = scipy.linalg.solve_triangular(span.lower, rooted, lower=True)  # g in the basis of the span
    lower = scipy.linalg.cholesky(span.curvature(ridge), lower=True, overwrite_a=True)
    half = solved(lower, span.rows)
    inside = half.T @ scipy.linalg.solve_triangular(lower, first, lower=True)
    step = inside + (along.ravel() - span.rows.T @ first) / ridge
    blocks = [own.reshape(-1, n, width) for own in (half, span.rows)]
    in_span, outside = (own.transpose(1, 2, 0) @ own.transpose(1, 0, 2) for own in blocks)

    def step_of(row: int, weights: np.ndarray) -> np.ndarray:
        """Return (J_i' w - B' V_i w)/ridge + B' (L L')^-1 V_i w, with the basis B = L^-1 R J of the chosen rows."""
        place = slice(row * width, (row + 1) * width)
        known = span.rows[:, place] @ weights
        inner = scipy.linalg.solve_triangular(lower, half[:, place] @ weights, lower=True, trans=1) - known / ridge
        dual = np.zeros(n * width)
        dual[span.chosen] = scipy.linalg.solve_triangular(span.lower, inner, lower=True, trans=1)
        dual = np.einsum("iab,ib->ia", root, dual.reshape(n, width))
        dual[row] += weights / ridge
        return prior_of(model) ** 2 * model.vjp(dual, x)

    return (span.own - outside) / ridge + in_span, step, error, step_of


def prior_of(model: AbstractModel) -> Float[np.ndarray, " P"]:
    """Return the factor of each parameter. After division by these factors, all parameters have the same decay."""
    if model.decayed is None:
        return np.ones(len(model.theta))
    return np.where(model.decayed, 1.0, np.sqrt(_FREE))


def _by_parameters(
    model: AbstractModel, x: np.ndarray, curvature: Float[np.ndarray, "n C C"], ridge: float,
    gradient: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, "n C C"], Float[np.ndarray, " nC"], float, _Step]:  # fmt: skip
    """Leave rows out by the Cholesky factor of the P x P matrix H.

    One pass over the rows computes the factor, and a second pass computes the results.
    """
    (n, width), size, prior = curvature.shape[:2], len(model.theta), prior_of(model)
    few = max(_BLOCK // (8 * width * size), 1)
    parts = [slice(i, min(i + few, n)) for i in range(0, n, few)]
    jacobian = lambda part: model.jacobian(x[part]) * prior
    whole = jacobian(slice(None)) if len(parts) == 1 else None
    hessian, root = np.zeros((size, size)), roots(curvature)
    for part in parts:
        own = jacobian(part) if whole is None else whole
        weighted = np.einsum("iab,ibp->iap", root[part], own).reshape(-1, size)
        hessian += weighted.T @ weighted
    hessian[np.diag_indices_from(hessian)] += ridge
    lower = scipy.linalg.cholesky(hessian, lower=True)
    along = scipy.linalg.solve_triangular(lower, gradient * prior, lower=True)
    spread, step = np.empty_like(root), np.empty((n, width))
    for part in parts:
        own = jacobian(part) if whole is None else whole
        half = scipy.linalg.solve_triangular(lower, own.reshape(-1, size).T, lower=True).T.reshape(own.shape)
        spread[part] = np.einsum("iap,ibp->iab", half, half, optimize=True)
        step[part] = half @ along

    def step_of(row: int, weights: np.ndarray) -> np.ndarray:
        return prior * scipy.linalg.cho_solve((lower, True), prior * model.vjp(weights[None], x[row : row + 1]))

    return spread, step.ravel(), 0.0, step_of


def _by_outputs(
    model: AbstractModel, x: np.ndarray, curvature: Float[np.ndarray, "n C C"], ridge: float,
    gradient: Float[np.ndarray, " P"],
) -> tuple[Float[np.ndarray, "n C C"], Float[np.ndarray, " nC"], float, _Step]:  # fmt: skip
    """Leave rows out by the matrix K = J J' of size n C, without a matrix of size P.

    With the square root R of Lambda, H^-1 = (1 - J' R (R K R + ridge)^-1 R J)/ridge.
    """
    (n, width), root, prior = curvature.shape[:2], roots(curvature), prior_of(model)
    gram = output_gram(model, x, width)
    along = model.jvp(prior**2 * gradient, x).ravel()
    gram = gram.reshape(n, width, n, width)
    weighted = (root @ gram.reshape(n, width, -1)).reshape(n * width, -1)  # R K
    both = (weighted.reshape(n * width, n, width).transpose(1, 0, 2) @ root).transpose(1, 0, 2).reshape(n * width, -1)
    both[np.diag_indices_from(both)] += ridge
    lower = scipy.linalg.cholesky(both, lower=True)
    half = scipy.linalg.solve_triangular(lower, weighted, lower=True)
    rooted = np.einsum("iab,ib->ia", root, along.reshape(n, width)).ravel()
    step = (along - half.T @ scipy.linalg.solve_triangular(lower, rooted, lower=True)) / ridge
    half = half.T.reshape(n, width, -1)
    own = gram[np.arange(n), :, np.arange(n), :]

    def step_of(row: int, weights: np.ndarray) -> np.ndarray:
        dual = scipy.linalg.solve_triangular(lower, weights @ half[row], lower=True, trans=1)
        dual = -np.einsum("iab,ib->ia", root, dual.reshape(n, width))
        dual[row] += weights
        return prior**2 * model.vjp(dual, x) / ridge

    return (own - np.einsum("iap,ibp->iab", half, half, optimize=True)) / ridge, step, 0.0, step_of


def output_gram(model: AbstractModel, x: np.ndarray, width: int) -> Float[np.ndarray, "nC nC"]:
    """Return J J' for the Jacobian J of all outputs, with columns multiplied by `prior_of`. No array has P columns.

    If the model is a dense network, factors are used. Otherwise, the matrix is summed over blocks of parameters.

    Args:
        model: a model with derivatives.
        x: the rows.
        width: the number of outputs of a row.
    """
    prior = prior_of(model)
    found = factors(model, x, prior)
    if found is not None:
        return gram_of(found)
    gram = np.zeros((len(x) * width, len(x) * width))
    for part, block in _blocks(model, x, width):
        own = block * prior[part]
        gram += own @ own.T
    return gram


def _blocks(model: AbstractModel, x: np.ndarray, width: int) -> Iterator[tuple[slice, Float[np.ndarray, "nC B"]]]:
    """Yield blocks of columns of the Jacobian. For each block, the derivatives of all rows are computed again."""
    n, size = len(x), len(model.theta)
    columns = max(_BLOCK // (8 * n * width), 1)
    few = max(min(_BLOCK // (8 * width * size), n), 1)
    for start in range(0, size, columns):
        part = slice(start, min(start + columns, size))
        rows = (model.jacobian(own)[:, :, part] for own in batches(x, few))
        yield part, np.concatenate(list(rows)).reshape(n * width, -1)


def roots(curvature: Float[np.ndarray, "n C C"]) -> Float[np.ndarray, "n C C"]:
    """Return the symmetric square root of each matrix."""
    values, vectors = np.linalg.eigh(curvature)
    return (vectors * np.sqrt(np.maximum(values, 0))[:, None, :]) @ vectors.transpose(0, 2, 1)


@once
def rows_left_out(trained: Trained) -> LeftOut:
    """Return, for each training row, the output of a model that has not seen the row, from `polished_copy`."""
    model, decay = polished_copy(trained).model, objective_of(trained).decay
    return leave_one_out(model, trained.x, trained.y, trained.task, decay)


def leaving_out_passes(trained: Trained) -> float:
    """Return the expected remaining cost of `rows_left_out`, in gradients of all rows. Stored results cost 0."""
    return polishing_passes(trained) + (0.0 if is_known(rows_left_out, trained) else 2.0 * trained.y.shape[1])


def leaving_out_bytes(trained: Trained) -> int:
    """Return the bytes that `rows_left_out` needs at once, including the vectors that `polish` keeps.

    Raises:
        MemoryPlanError: if leaving rows out needs more than 6 GiB.
    """
    n, outputs, parameters = len(trained.x), trained.y.shape[1], len(trained.model.theta)
    return planned_bytes(n, outputs, parameters, is_factored(trained)) + vectors_bytes(trained)
