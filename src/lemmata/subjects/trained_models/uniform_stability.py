"""Uniform stability: how far a convex model can move if one training row is removed.

The theory bounds the change of the loss at any row. It needs outputs that are linear in the parameters, a convex loss
and a decay of every parameter. The outputs of networks are not linear in the parameters, so it does not apply to
networks.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from lemmata.engine.claims import AtMost, Control, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained, whole_and_without
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes
from ._linear_layers import linear_parameters
from ._losses import LOG, SQUARED
from ._outputs import held_rows
from ._polish import objective_of, polished_copy

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "generalisation"}

_REMOVED = 4
_STEPS = 100


def convex(problem: Trained) -> list[Hypothesis]:
    """The hypothesis that the objective is convex. The decay makes it strongly convex in every parameter."""
    model = problem.model
    linear = float(linear_parameters(problem).mean())
    kept = 1.0 if model.decayed is None else float(model.decayed.mean())
    return [
        Hypothesis("share of parameters in which the outputs are linear", linear, ">=", 1.0,
                   "in other parameters, the objective is not convex; this is the case in a network"),
        Hypothesis("share of parameters that decay", kept, ">=", 1.0,
                   "without decay nothing determines the other parameters"),
    ]  # fmt: skip


def largest_gradient(problem: Trained) -> float:
    """kappa: the largest spectral norm of the Jacobian of the outputs at any training or held-out row."""
    rows = problem.x if problem.held is None else np.concatenate([problem.x, problem.held[0]])
    return max(float(np.linalg.norm(problem.model.jacobian(rows[i : i + 1])[0], 2)) for i in range(len(rows)))


def removed_rows(problem: Trained) -> Int[np.ndarray, " k"]:
    """The four training rows whose losses have the largest gradients, and four other random training rows."""
    model, x = polished_copy(problem).model, problem.x
    slope = problem.task.slopes(model.outputs(x), problem.y)
    pulls = np.array([np.linalg.norm(model.vjp(slope[i : i + 1], x[i : i + 1])) for i in range(len(x))])
    order = np.argsort(-pulls, kind="stable")
    few = min(_REMOVED, len(x) - _REMOVED)
    others = np.random.default_rng([problem.seed, 14]).choice(order[_REMOVED:], few, replace=False)
    return np.concatenate([order[:_REMOVED], others])


class ConvexModelsAreStable(AbstractGauge):
    """Let the outputs of a model be linear in its parameters theta, and let theta minimise the mean of n losses plus
    (delta/2) |theta|², where delta is the decay. Let kappa be the largest spectral norm of the Jacobian of the outputs
    at any training or held-out row. Remove one training row: its loss is left out of the sum, which is still divided by
    n. The new minimum changes the log loss at any training or held-out row by at most

        2 kappa² / (n delta),

    because the gradient of the log loss with respect to the outputs is at most sqrt 2. For the squared loss |f - y|²/2
    of outputs f and targets y, let the residuals f - y on all these rows have lengths of at most R. The change is then
    at most R² (1 + k) k, where k = kappa² / (n delta).
    """

    title = "A bound on the change of the loss when one training row of a convex model is removed"
    source = Source(
        "bousquet2002", "Theorem 22", note=("here with the constant of log loss, and with a bound along the whole move")
    )
    stated = Kind.OWN
    population = TrainedNetworks(rows=120, decay=1.0, hidden=0, widths=(0, 0))
    relation = AtMost()
    control = Control(
        "an eighth of this bound",
        lambda bound, problem: bound / 8,
        loose=(
            "the gradient has length sqrt 2 only at rows where the model is sure and wrong, and other rows reduce "
            "the change: the bound is 5 to 15 times too large"
        ),
    )
    controls = "the change of the loss at any row after one training row is removed"
    losses = (LOG, SQUARED)
    unexplained = (
        "models that are not linear in their parameters; rows that agree with other rows, whose removal changes far "
        "less"
    )
    traced = False

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem) + (2.0 * _REMOVED + 1) * _STEPS

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = convex(problem)
        if all(bool(own.holds) for own in found) and not objective_of(problem).decay > 0:
            found = [
                *found,
                Hypothesis("the decay of the weights", 0.0, ">", 0.0, "without decay nothing determines the weights"),
            ]
        return [*found, *stationary(problem)] if all(bool(own.holds) for own in found) else found

    def predict(self, problem: Trained) -> Array:
        k = largest_gradient(problem) ** 2 / (len(problem.x) * objective_of(problem).decay)
        if problem.task.is_classification:
            return jnp.asarray(2 * k)
        model, x, y = polished_copy(problem).model, problem.x, problem.y
        squares = problem.task.errors(model.outputs(x), y)
        if problem.held is not None:
            squares = np.concatenate([squares, problem.task.errors(model.outputs(problem.held[0]), problem.held[1])])
        return jnp.asarray(squares.max() * (1 + k) * k)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Descend without each of eight training rows. Return the largest change at any training or held-out row."""
        whole, *others = whole_and_without(problem, removed_rows(problem))
        x, y = (np.concatenate(pair) for pair in zip((problem.x, problem.y), held_rows(problem), strict=True))
        before = problem.task.losses(whole.outputs(x), y)
        changes = [np.abs(problem.task.losses(model.outputs(x), y) - before).max() for model in others]
        return jnp.asarray(max(changes))

    def trivial(self, problem: Trained) -> Array:
        """The log loss of guessing. For real-valued targets, half of the largest squared target."""
        if problem.task.is_classification:
            return jnp.asarray(np.log(problem.y.shape[1]))
        return jnp.asarray((problem.y**2).sum(1).max() / 2)
