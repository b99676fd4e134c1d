"""The bracket: an interval for the error on new rows, from training rows alone, far from a stationary point.

The theory gives an interval for the error on new rows of models that stopped early. It needs a stated decay, and rows
that are not duplicates of each other. It does not say where in the interval the error is.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._fresh_rows import copies_of, fresh_rows
from ._gauge import AbstractGauge
from ._gauss_newton import rows_left_out_at_evidence
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._outputs import training_outputs
from ._polish import changed_by_polishing, objective_of, polished_copy
from .leaving_out import HeldOutErrorFromTrainingRows, predicted_share

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_TIED = 0.97
_FEWEST = 20


class HeldOutErrorBracket(AbstractGauge):
    """Let a model with parameters theta be trained on n rows, with mean log loss plus a decay of the weights as its
    objective. Suppose that training stopped before a stationary point. Then leaving rows out by Newton steps does not
    give one reliable error. The model has not learned enough from each row, so a Newton step from its weights
    exaggerates the effect of leaving a row out. As estimates of the error on new rows, the error on training rows is
    too small and the leave-one-out error is too large.

    The leave-one-out error is too large even if the Newton step replaces the decay by a damping delta chosen as
    follows. Let lambda_i be the eigenvalues of the Gauss-Newton matrix. Choose the delta that maximises Laplace's
    evidence at the current weights,

        -(n delta/2) |theta|² - (1/2) sum_i log(1 + lambda_i/(n delta)).

    At smaller dampings the leave-one-out error is even larger. The error on training rows and the leave-one-out error
    each imply a beta-binomial distribution for the share of wrong classes among new rows. Take the central 97 % of each
    distribution. In at least nine of ten models, this share lies between the lower limit from the error on training
    rows and the upper limit from the leave-one-out error.
    """

    title = "An interval for the held-out error of a model that stopped training early, from training rows"
    source = Source("mackay1992evidence", note="the evidence, which gives the damping for one end of the interval")
    stated = Kind.OWN
    population = TrainedNetworks(decay=0.002, noise=0.3, rows=50, hidden=8, widths=(6, 10), steps=50)
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error on new rows of a model that is not at a stationary point"
    unexplained = "where in the interval the error lies; rows from another distribution"
    traced = False
    shared = (polished_copy, rows_left_out)

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem) + 6.0 * problem.y.shape[1]

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """Return the conditions on the model.

        One is that the model is too far from a stationary point to leave rows out.
        """
        found = [
            Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0),
            Hypothesis(
                "the decay of the weights",
                objective_of(problem).decay,
                ">",
                0.0,
                "without decay no stationary point is known",
            ),
            Hypothesis("training rows", float(len(problem.x)), ">=", float(_FEWEST), "fewer rows show too little"),
        ]
        if not all(bool(own.holds) for own in found):
            return found
        copies = Hypothesis(
            "share of training rows with a duplicate",
            copies_of(problem).share,
            "<=",
            0.01,
            "if only one of two duplicates is left out, the other duplicate still shows its target",
        )
        why = (
            "in units of the allowed distance; a model at an allowed distance has a converged copy, which gives a "
            "single number"
        )
        return [
            *found,
            copies,
            Hypothesis("how far the model is from a stationary point", distance(problem), ">", 1.0, why),
        ]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(bracket(problem))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on held-out rows that are not duplicates of training rows."""
        return HeldOutErrorFromTrainingRows().measure(problem, key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return jnp.asarray(1 - problem.y.mean(0).max())


def distance(problem: Trained) -> float:
    """The larger of two ratios, each of a change to its limit.

    One change is that of the outputs by a Newton step. The other change is that of the predictions if a copy of the
    model is trained to a stationary point.

    Args:
        problem: the model with its rows.
    """
    return max(rows_left_out(problem).movement / 0.4, changed_by_polishing(problem) / 0.1)


def bracket(problem: Trained) -> np.ndarray:
    """Return the low end, the middle and the high end of the interval for the share of wrong new rows.

    Args:
        problem: the model with its rows.
    """
    held = 0 if problem.held is None else int(fresh_rows(problem).sum())
    new, errors = held or len(problem.x), problem.task.errors
    shares = [errors(f, problem.y) for f in (training_outputs(problem), rows_left_out_at_evidence(problem).outputs)]
    low, high = sorted(
        (predicted_share(float(own.sum()), float(len(own)), new, _TIED) for own in shares), key=lambda own: own[1]
    )
    return np.array([low[0], (low[1] + high[1]) / 2, high[2]])
