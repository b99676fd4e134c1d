"""Outputs at some training rows of models that have not seen these rows, if no Gram matrix fits in memory.

Let theta be a stationary point of (1/n) sum_j l_j + (delta/2) |theta|², where l_j is the loss of row j. There are n
rows, and delta is the decay. To first order in the row, the parameters without row i are theta + d. Here d solves
(sum_{j != i} G_j + n delta) d = J_i'(p_i - y_i). J_i is the Jacobian of the outputs f_i, p_i are the predictions, y_i
is the target, and G_j = J_j' Lambda_j J_j is the Gauss-Newton matrix of row j. The output at the row is then f_i + J_i
d. `leave_one_out` computes the same outputs from a matrix of all rows and outputs. The functions in this file need only
products with J.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from lemmata.errors import SettingError

from ._leave_one_out import prior_of
from ._losses import Loss
from ._polish import Objective

STEPS = 30


@dataclasses.dataclass(frozen=True)
class SampledRows:
    """The outputs of rows that were left out.

    Args:
        rows: the indices, among the training rows, of the rows that were left out.
        outputs: the outputs at each row of the model without this row.
        movement: |J H^-1 g| / |f| over all rows, where H is the curvature and g is the gradient of the objective times
            n. This movement is the change of the outputs in one more Newton step, relative to their size.
        residual: the largest |A d - b| / |b| at the end of conjugate gradients, over all solved systems A d = b.
        products: the number of products with the curvature of all rows.
    """

    rows: Int[np.ndarray, " k"]
    outputs: Float[np.ndarray, "k C"]
    movement: float
    residual: float
    products: int


def leave_sampled_rows_out(
    objective: Objective, rows: Int[np.ndarray, " k"], steps: int = STEPS, tolerance: float = 1e-2
) -> SampledRows:
    """Return the outputs at some rows of models that have not seen them, one Newton step from a stationary point.

    The computation stores five vectors of parameters and the outputs of all rows. Each product is one forward and one
    backward pass of all rows.

    Args:
        objective: an objective for classes or values, with a decay above 0, at a stationary point. `movement` in the
            result measures the distance from a stationary point. If only some parameters decay, the other parameters
            are treated as if they had 1/10000 of this decay.
        rows: the indices of training rows.
        steps: the largest number of conjugate gradient steps, for each row and for the movement. Each step is a product
            with all rows.
        tolerance: the tolerance of the residual, relative to the right-hand side.

    Raises:
        SettingError: if there is no decay, or for documents, whose logits are not outputs of the model.

    >>> from lemmata.subjects.trained_models import read_model, read_task
    >>> x, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), np.array([0.0, 1.5, 1.5, 3.0])
    >>> model = read_model((lambda w, x: x @ w, np.linalg.solve(x.T @ x + 0.4 * np.eye(2), x.T @ y)))
    >>> task = read_task(model, x, y)
    >>> found = leave_sampled_rows_out(Objective(model, x, task.encode(y), task, 0.1), np.array([3]), tolerance=1e-9)
    >>> rest = np.linalg.solve(x[:3].T @ x[:3] + 0.4 * np.eye(2), x[:3].T @ y[:3])
    >>> bool(abs(found.outputs[0, 0] - x[3] @ rest) < 1e-9)
    True
    """
    model, x, task = objective.model, objective.x, objective.task
    if task.is_language:
        raise SettingError(
            "rows left out", found="documents", rule="rows with classes or values", remedy="use leave_rows_out"
        )
    if not objective.decay > 0:
        raise SettingError(
            "decay",
            found=f"{objective.decay:g}",
            rule="a decay above 0; without decay, the rows do not determine every direction of the weights",
        )
    f = model.outputs(x)
    prior, curved = _own(prior_of(model), model.theta), _curvature(f, objective)
    ridge = np.asarray(len(x) * objective.decay, model.theta.dtype)
    slope, products = task.slopes(f, objective.y), 0

    def product(v: np.ndarray, without: int | None = None) -> np.ndarray:
        nonlocal products
        products += 1
        bent = curved(model.jvp(prior * v, x))
        if without is not None:
            bent[without] = 0.0
        return prior * model.vjp(bent, x) + ridge * v

    kept = 1 if model.decayed is None else model.decayed
    gradient = prior * (model.vjp(slope, x) + ridge * kept * model.theta)
    step, worst = conjugate_gradients(product, gradient, steps, tolerance)
    movement = float(np.linalg.norm(model.jvp(prior * step, x)) / max(float(np.linalg.norm(f)), 1e-300))
    outputs = np.empty((len(rows), f.shape[1]))
    for place, row in enumerate(np.asarray(rows).tolist()):
        own = slice(row, row + 1)
        slope_of_row = prior * model.vjp(slope[own], x[own])
        d, left = conjugate_gradients(functools.partial(product, without=row), slope_of_row, steps, tolerance)
        outputs[place] = f[row] + model.jvp(prior * d, x[own])[0]
        worst = max(worst, left)
    return SampledRows(np.asarray(rows), outputs, movement, worst, products)


def _own(array: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.asarray(array, theta.dtype)


def _curvature(f: Float[np.ndarray, "n C"], objective: Objective) -> Callable[[np.ndarray], np.ndarray]:
    """Return a map that multiplies by the Hessians of all losses with respect to the outputs, and returns a new array.

    For log loss and squared loss, the Hessians are not formed.
    """
    task = objective.task
    if isinstance(task.loss, Loss):
        curvature = task.curvatures(f, objective.y)
        return lambda u: np.einsum("iab,ib->ia", curvature, u)
    if not task.is_classification:
        return lambda u: u.copy()
    p = softmax(f, axis=1)
    return lambda u: p * (u - (p * u).sum(1, keepdims=True))


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], b: np.ndarray, steps: int, tolerance: float
) -> tuple[np.ndarray, float]:
    """Solve A d = b for a positive definite A. Return d and |A d - b| / |b|, which is 0 for b = 0.

    Args:
        product: the map v -> A v.
        b: the right-hand side.
        steps: the largest number of steps.
        tolerance: the tolerance of the residual, relative to b.
    """
    d, left, size = np.zeros_like(b), b.copy(), float(b @ b)
    way, square = b.copy(), size
    for _ in range(steps):
        if square <= tolerance**2 * size:
            break
        bent = product(way)
        length = np.asarray(square / float(way @ bent), b.dtype)
        d += length * way
        left -= length * bent
        before, square = square, float(left @ left)
        way = left + np.asarray(square / before, b.dtype) * way
    return d, float(np.sqrt(square / size)) if size else 0.0
