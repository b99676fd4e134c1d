"""The effect of each training row on the loss of held-out rows, from one linear system.

Let theta be a stationary point of sum_j l_j + (n delta/2) |theta|², where l_j is the loss of row j. There are n
training rows, and delta is the decay. To first order in the row, the parameters without row i are theta + A^-1 grad
l_i. Here A is the Gauss-Newton matrix plus n delta. The mean held-out loss L then grows by <A^-1 grad L, grad l_i>. For
all rows together, this takes one linear system and one product with the Jacobian.
"""

import numpy as np
from jaxtyping import Float

from ._leave_one_out import leaving_out_passes, rows_left_out
from ._once import is_known, once
from ._outputs import held_rows
from ._polish import objective_of, polished_copy
from ._sampled_rows import STEPS, conjugate_gradients
from ._trained import Trained

_STEPS, _TOLERANCE = 2 * STEPS, 1e-4
_FREE = 1e-4  # the decay assumed for a parameter without decay, divided by the decay of the others


@once
def held_influence(trained: Trained) -> Float[np.ndarray, " n"]:
    """Return the growth of the mean held-out loss without each training row. Below 0, the row raises this loss.

    For a single output, the factor 1/(1 - h), with the leverage h of the row, removes the row from the curvature. For a
    linear model with squared loss, the result is then the exact derivative of the held-out loss along the change of the
    weights that retraining causes. For other models, the result is an
    approximation of first order: it keeps the Gauss-Newton matrix of all rows, at the trained weights.

    Raises:
        SettingError: if there are no held-out rows.
    """
    model, task, decay = polished_copy(trained).model, trained.task, objective_of(trained).decay
    held, targets = held_rows(trained)
    slope = task.error_slopes(model.outputs(held), targets) / len(held)
    ridge = len(trained.x) * decay * (1.0 if model.decayed is None else np.where(model.decayed, 1.0, _FREE))
    product = lambda v: model.gauss_newton(v, trained.x, task.loss, trained.y) + ridge * v
    v, _ = conjugate_gradients(product, model.vjp(slope, held), _STEPS, _TOLERANCE)
    own = task.slopes(model.outputs(trained.x), trained.y)
    effects = (model.jvp(v, trained.x) * own).sum(1)
    return effects / (1 - rows_left_out(trained).leverage) if own.shape[1] == 1 else effects


def held_influence_passes(trained: Trained) -> float:
    """Return the remaining cost of `held_influence`, in gradients of all training rows; 0 if the result is known."""
    double = 8.0 / trained.model.theta.itemsize
    own = 0.0 if is_known(held_influence, trained) else double * (2.0 * _STEPS + 3.0)
    return own + leaving_out_passes(trained)
