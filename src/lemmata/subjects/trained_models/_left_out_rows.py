"""Losses of single rows in models that have not seen these rows, computed by products with the Gauss-Newton matrix.

Let theta be a stationary point of (1/n) sum_j l_j + (delta/2) |theta|², where l_j is the loss of row j. There are n
rows, and delta is the decay. To first order in the row, the model without row i has the weights theta + d. Here d
solves (sum_{j != i} G_j + n delta) d = grad l_i, and G_j is the Gauss-Newton matrix of row j. Conjugate gradients find
d from products with the matrices of the other rows, and the loss of row i is evaluated at theta + d.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from ._once import is_known, once
from ._polish import Objective, objective_of, polished_copy, polishing_passes
from ._sampled_rows import STEPS, conjugate_gradients
from ._trained import Trained

_SAMPLED = 32


@dataclasses.dataclass(frozen=True)
class LeftOutRows:
    """The losses of rows that were left out.

    Args:
        rows: the indices, among the training rows, of the rows that were left out.
        losses: the loss of each row in the model without this row.
        seen: the loss of each row in the model with this row.
        residual: the largest |A d - g| / |g| over these rows at the end of conjugate gradients. For each row, A is the
            Gauss-Newton matrix of the objective without the row, and g is the gradient of the row's loss. The solution
            d of A d = g is the change of the parameters.
    """

    rows: Int[np.ndarray, " k"]
    losses: Float[np.ndarray, " k"]
    seen: Float[np.ndarray, " k"]
    residual: float


def leave_rows_out(
    objective: Objective, rows: Int[np.ndarray, " k"], steps: int = STEPS, tolerance: float = 1e-2
) -> LeftOutRows:
    """Return, for each given row, the loss of this row in a model that has not seen the row.

    The model that has not seen a row is approximated. Its parameters are obtained from the parameters of the given
    model by one step of Newton's method on the objective without the row. The Hessian of this objective is replaced by
    its Gauss-Newton matrix. The given model must be at a stationary point of the objective of all rows.

    Args:
        objective: the training objective of all rows, with the model at a stationary point.
        rows: the indices of training rows.
        steps: the largest number of conjugate gradient steps for each row; each step costs a product with the
            Gauss-Newton matrix of all other rows.
        tolerance: the residual |A d - g| / |g| at which conjugate gradients stop (see `LeftOutRows`).

    >>> from lemmata.subjects.trained_models import read_model, read_task
    >>> x, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), np.array([0.0, 1.5, 1.5, 3.0])
    >>> model = read_model((lambda w, x: x @ w, np.linalg.lstsq(x.T @ x + 0.4 * np.eye(2), x.T @ y)[0]))
    >>> task = read_task(model, x, y)
    >>> found = leave_rows_out(Objective(model, x, task.encode(y), task, 0.1), np.array([3]), tolerance=1e-9)
    >>> rest = np.linalg.solve(x[:3].T @ x[:3] + 0.4 * np.eye(2), x[:3].T @ y[:3])
    >>> bool(abs(found.losses[0] - (x[3] @ rest - y[3]) ** 2 / 2) < 1e-9)
    True
    """
    losses, seen, residual = [], [], 0.0
    for row in rows:
        own = slice(int(row), int(row) + 1)
        value, slope = objective.model.loss_slope(objective.x[own], objective.y[own], objective.task.loss)
        d, left = _step(objective, own, slope, steps, tolerance)
        losses.append(_loss(objective, own, d))
        seen.append(value)
        residual = max(residual, left)
    return LeftOutRows(np.asarray(rows), np.array(losses), np.array(seen), residual)


def _loss(objective: Objective, own: slice, d: np.ndarray) -> float:
    moved = objective.model.at(objective.model.theta + d)
    return float(objective.task.losses(moved.outputs(objective.x[own]), objective.y[own])[0])


def _step(objective: Objective, own: slice, g: np.ndarray, steps: int, tolerance: float) -> tuple[np.ndarray, float]:
    """Solve A d = g by conjugate gradients. Return d and the residual |A d - g| / |g|.

    A is the Gauss-Newton matrix of the objective without the row `own`, and g is the gradient of this row's loss.
    """
    loss, model = objective.task.loss, objective.model
    others, targets = (np.delete(part, own, axis=0) for part in (objective.x, objective.y))
    ridge = np.asarray(len(objective.x) * objective.decay, g.dtype)
    kept = 1 if model.decayed is None else model.decayed

    def product(v: np.ndarray) -> np.ndarray:
        return model.gauss_newton(v, others, loss, targets) + ridge * kept * v

    return conjugate_gradients(product, g, steps, tolerance)


@once
def sampled_rows_left_out(trained: Trained) -> LeftOutRows:
    """Return the losses of at most 32 training rows in models that have not seen these rows, by matrix products."""
    n = len(trained.x)
    rows = np.sort(np.random.default_rng([trained.seed, 13]).permutation(n)[:_SAMPLED])
    return leave_rows_out(dataclasses.replace(objective_of(trained), model=polished_copy(trained).model), rows)


def leaving_rows_out_passes(trained: Trained) -> float:
    """Return the expected remaining cost of `sampled_rows_left_out`, in gradients of all rows. Stored rows cost 0."""
    known = is_known(sampled_rows_left_out, trained)
    products = 0.0 if known else 2.0 * STEPS * min(_SAMPLED, len(trained.x))
    return products + polishing_passes(trained)
