"""Measure the effect of single rows on a model: descend from a stationary point with all rows to one without a row."""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from ._contract import AbstractModel
from ._leave_one_out import leaving_out_passes
from ._once import is_known, once
from ._polish import Objective, objective_of, polish, polished_copy, step_passes
from ._trained import Trained

SHOWN = 8
DESCENT_STEPS = 100
_TOLERANCE = 3e-2


@dataclasses.dataclass(frozen=True)
class RowEffects:
    """The growth of the loss of each given row if the model is trained to a stationary point without this row.

    Args:
        rows: the indices of these rows among the training rows.
        effects: for each of these rows, the loss of the row without it minus its loss with it.
    """

    rows: Int[np.ndarray, " k"]
    effects: Float[np.ndarray, " k"]


def shown_rows(trained: Trained) -> Int[np.ndarray, " k"]:
    """Return the eight training rows of largest loss, and eight other rows at random."""
    losses = trained.task.losses(polished_copy(trained).model.outputs(trained.x), trained.y)
    order = np.argsort(-losses, kind="stable")
    others = np.random.default_rng([trained.seed, 11]).choice(order[SHOWN:], SHOWN, replace=False)
    return np.concatenate([order[:SHOWN], others])


def whole_and_without(trained: Trained, rows: Int[np.ndarray, " k"]) -> Iterator[AbstractModel]:
    """Yield the model at a stationary point with all rows, and then the model without each of the given rows in turn.

    The objective without row i keeps the whole decay: the sum of the other losses + n (delta/2) |theta|², with n rows
    and the decay delta. The model with all rows is trained to a stationary point by the same descent. So errors of the
    descent mostly cancel in the difference of the two models.
    """
    n, decay, task = len(trained.x), objective_of(trained).decay, trained.task
    tolerance = _TOLERANCE / n
    whole = polish(
        Objective(polished_copy(trained).model, trained.x, trained.y, task, decay), DESCENT_STEPS, tolerance
    ).model
    yield whole
    for row in rows:
        rest = np.arange(n) != row
        objective = Objective(whole, trained.x[rest], trained.y[rest], task, decay * n / (n - 1))
        yield polish(objective, DESCENT_STEPS, tolerance).model


@once
def row_effects(trained: Trained) -> RowEffects:
    """Return the effects of the rows that `shown_rows` returns."""
    shown = shown_rows(trained)
    whole, *others = whole_and_without(trained, shown)
    x, y = trained.x[shown], trained.y[shown]
    before = trained.task.losses(whole.outputs(x), y)
    after = np.diagonal([trained.task.losses(model.outputs(x), y) for model in others])
    return RowEffects(shown, after - before)


def row_effects_passes(trained: Trained) -> float:
    """Return the remaining cost of `row_effects`, in gradients of all rows, including the cost of leaving rows out."""
    double = 8.0 / trained.model.theta.itemsize
    own = 0.0 if is_known(row_effects, trained) else double * step_passes(trained) * (2.0 * SHOWN + 1) * DESCENT_STEPS
    return own + leaving_out_passes(trained)
