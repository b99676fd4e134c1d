"""Outputs at some training rows of models that have not seen them, by products if no dual matrix fits.

Consider a stationary point of (1/n) sum_j l_j + (delta/2) |theta|². To first order in the row, the model without row i
is theta + d with (sum_{j != i} G_j + n delta) d = J_i'(p_i - y_i). Here G_j = J_j' Lambda_j J_j is the Gauss-Newton
matrix of row j. Its output at the row is f_i + J_i d, which is what `leave_one_out` has from a matrix of all rows and
outputs.
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
    """Outputs of rows left out.

    Args:
        rows: their places.
        outputs: of each in the model without it.
        movement: |J H^-1 g| / |f| over all rows, where g is the gradient of the objective times n. It is how far a
            Newton step would still move the outputs, relative to their size.
        residual: the largest |A d - b| / |b| at which conjugate gradients ended.
        products: with the curvature of all rows.
    """

    rows: Int[np.ndarray, " k"]
    outputs: Float[np.ndarray, "k C"]
    movement: float
    residual: float
    products: int


def leave_sampled_rows_out(
    objective: Objective, rows: Int[np.ndarray, " k"], steps: int = STEPS, tolerance: float = 1e-2
) -> SampledRows:
    """The outputs at some rows of models that have not seen them, one Newton step from a stationary point.

    Holds five vectors of parameters and the outputs of all rows; each product passes all rows forwards and back.

    Args:
        objective: of classes or values, at a stationary point, which `movement` of the answer measures; its decay above
            0. If only some parameters decay, the others are treated as decaying by a ten-thousandth of it.
        rows: places of training rows.
        steps: of conjugate gradients, at most, for each row and for the movement: a product with all rows each.
        tolerance: of the residual, relative to the right-hand side.

    Raises:
        SettingError: without a decay, or for documents, whose logits are not outputs of the model.

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
            "decay", found=f"{objective.decay:g}", rule="above 0; without decay, nothing determines every direction"
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
    """A map that multiplies by the Hessians of the losses in the outputs, for all rows. The result is a new array.
    Plain losses need no such matrix.
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
    """A d = b for a positive definite A: d, and |A d - b| / |b|, which is 0 for b = 0.

    Args:
        product: v -> A v.
        b: the right-hand side.
        steps: at most.
        tolerance: of the residual, relative to b.
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
