"""Grokking: which error a model that has only memorised its rows will reach, if removing a row has a large effect.

The theory covers a training that goes on after the model predicts its rows correctly, and learns other features then.
It predicts the later error. It needs a checkpoint that predicts all training rows correctly, and a decay. It leaves
open when the features appear.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Objective, Trained, polish
from lemmata.subjects.trained_models._grokking_models import GrokkingModels

from ._fresh_rows import copies_of, fresh_rows
from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_passes
from ._polish import changed_by_polishing, objective_of, polished_copy, vectors_bytes
from .checkpoints import LaterErrorFromMemorisingCheckpoint, memorised, memorising
from .leaving_out import LIMITS, predicted_share
from .sampled_rows import worth

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_ROWS = 32
_STEPS = 200
_TOLERANCE = 1e-2
_RESIDUAL = 0.05
_CHANGED = 0.1


def refitted(problem: Trained) -> Int[np.ndarray, " k"]:
    """The positions of the 32 random training rows that are left out, one at a time."""
    return np.sort(np.random.default_rng([problem.seed, 23]).permutation(len(problem.x))[:_ROWS])


@functools.lru_cache(maxsize=1)
def errors_of_refits(early: Trained) -> Float[np.ndarray, " k"]:
    """Whether each sampled row is wrong in a copy of the model that was trained by descent without this row.

    Args:
        early: a checkpoint that predicts all training rows correctly, with its rows.
    """
    n, model, found = len(early.x), polished_copy(early).model, []
    for row in refitted(early).tolist():
        rest = np.delete(np.arange(n), row)
        decay = objective_of(early).decay * n / (n - 1)  # the decay in the sum over rows stays the same
        own = polish(Objective(model, early.x[rest], early.y[rest], early.task, decay), _STEPS, _TOLERANCE).model
        found.append(early.task.errors(own.outputs(early.x[row : row + 1]), early.y[row : row + 1])[0])
    return np.array(found)


class LaterErrorFromRefittedRows(AbstractGauge):
    """Suppose that training with weight decay goes on after the model is right on all n training rows. Suppose also
    that the length of the weights then falls. Take the first checkpoint at which all training rows are right, and bring
    a copy of this checkpoint to a stationary point of the training objective. Choose 32 of the n rows, and for each of
    them run descent from the stationary point without this row. Let e be the share of these 32 rows that are then
    wrong, and let c be the error of always predicting the most frequent class. The share e counts as if it came from
    32/(1 + (32/n) e/c) independent rows, and implies a beta-binomial distribution for the number of wrong new rows. In
    at least nine of ten trainings, the central 97 % of this distribution contain the error of the last model on unseen
    rows. If the leverages of the rows are small, one Newton step per row gives the same result as descent. If the
    network has learned features, the leverages are not small, and Newton steps predict too small an error.
    """

    title = "Later held-out error in training with weight decay, predicted by descents that each leave one row out"
    source = Source(
        "power2022grokking",
        note="generalisation long after all training rows are predicted correctly; here predicted by refits",
    )
    stated = Kind.OWN
    population = GrokkingModels()
    relation = Estimate()
    level = 0.97
    ends = LIMITS
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the held-out error at the end of training, including the effect of features that are learned late"
    unexplained = (
        "how long training takes to reach this error; training that leaves the basin in which descent from the "
        "checkpoint ends"
    )
    traced = False
    trials = 320

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem) + 1.1 * _STEPS * _ROWS

    def bytes(self, problem: Trained) -> int:
        return 2 * vectors_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found, early = memorising(problem), memorised(problem)
        if early is None:
            return found
        decay = objective_of(early).decay
        found.append(
            Hypothesis(
                "the decay of the weights", decay, ">", 0.0, "without decay, nothing determines where training ends"
            )
        )
        if not decay > 0:
            return found
        changed = changed_by_polishing(early)
        return [
            *found,
            Hypothesis("relative distance between the last model and its converged copy", polished_copy(problem).moved,
                       "<=", 0.3, "otherwise training has not yet converged"),
            Hypothesis("residual of the converged copy of the checkpoint", polished_copy(early).residual, "<=",
                       _RESIDUAL, "the descents that each leave one row out start at this copy"),
            Hypothesis("share of predictions on training rows that differ in the converged copy", changed, "<=",
                       _CHANGED, "otherwise the converged copy no longer predicts its training rows correctly"),
            Hypothesis("share of training rows with a duplicate", copies_of(problem).share, "<=", 0.01,
                       "if only one of two duplicates is left out, the other duplicate still shows its target"),
        ]  # fmt: skip

    def predict(self, problem: Trained) -> Array:
        early = memorised(problem)
        assert early is not None
        wrong = errors_of_refits(early)
        new = (0 if problem.held is None else int(fresh_rows(problem).sum())) or len(problem.x)
        rows = worth(len(wrong), len(problem.x), float(wrong.mean()), float(1 - problem.y.mean(0).max()))
        return jnp.asarray(predicted_share(float(wrong.mean() * rows), rows, new, self.level))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the last model on held-out rows that are not duplicates of training rows."""
        return LaterErrorFromMemorisingCheckpoint().measure(problem, key)

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return jnp.asarray(1 - problem.y.mean(0).max())
