"""Checkpoints: what the way of a training says about where it leads.

This theory controls the error on new rows of a model whose training goes on after all training rows are right. It asks
for earlier parameters and a decay that training obeys; it leaves unexplained how long the way is.
"""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._grokking_models import GrokkingModels
from lemmata.subjects.trained_models._trained_networks import stationary

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._outputs import held_rows
from ._polish import objective_of, polished_copy
from .leaving_out import measured_share, predicted_share

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_LEVEL = 0.97
_NEAR = 0.3


@functools.lru_cache(maxsize=1)  # hypotheses and prediction of one gauge ask for the same copy
def memorised(problem: Trained) -> Trained | None:
    """The first checkpoint that gets every training row right, with the rows; None where no checkpoint does."""
    for model in problem.checkpoints:
        if not problem.task.errors(model.outputs(problem.x), problem.y).any():
            return dataclasses.replace(problem, model=model, checkpoints=())
    return None


def _length(problem: Trained) -> float:
    return float(np.linalg.norm(problem.model.theta.astype(float)))


def memorising(problem: Trained) -> list[Hypothesis]:
    """That the training rows are right at a checkpoint, and that the weights grow shorter from there."""
    early = memorised(problem)
    known = Hypothesis("a checkpoint predicts every training row correctly", float(early is not None), ">=", 1.0)
    if early is None:
        return [known]
    ratio = _length(problem) / max(_length(early), 1e-300)
    return [known, Hypothesis("length of the weights, divided by their length at the checkpoint", ratio, "<", 1.0,
                              "decay still shrinks the weights after the checkpoint")]  # fmt: skip


def _share_of_held(problem: Trained, model: Trained) -> Array:
    """Wrong classes on held-out rows that are no copies of training rows, of a model of the same history."""
    x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
    wrong = problem.task.errors(model.model.outputs(x), y)
    return jnp.asarray(measured_share(int(wrong.sum()), len(wrong)))


def _foretold(wrong: np.ndarray, new: int) -> Array:
    """The share among new rows that leaving out implies, as of half as many independent rows.

    Errors at two rows left out of a model that fits all of them are not independent: what ties i to j ties j to i, and
    a sum over ordered pairs has twice the variance.
    """
    low, _, high = predicted_share(float(round(wrong.sum() / 2)), float(len(wrong) // 2), new, _LEVEL)
    return jnp.asarray([low, wrong.mean(), high])


class LaterErrorFromMemorisingCheckpoint(AbstractGauge):
    """A training with decay goes on after all its training rows are right, and its weights grow shorter. A copy of the
    first checkpoint at which the rows are right is brought to a stationary point of the same objective; one Newton step
    of leaving each of n rows out there gives a share of wrong classes. The central 97 % of the beta-binomial law that
    this share implies as of n/2 independent rows (what ties row i to j ties j to i) hold the error of the last model on
    rows that it has not seen, in at least nine of ten trainings: where that error is still to fall long after the
    training error, and where it will never fall.
    """

    title = "Later error from a checkpoint that has memorised"
    source = Source("power2022grokking", note="generalisation long after the rows are right; foretold by leaving out")
    stated = Kind.OWN
    population = GrokkingModels()
    relation = Estimate()
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "the final held-out error of training that already predicts its rows correctly"
    unexplained = "how long it takes; training that ends in another basin than descent from the checkpoint"
    traced = False

    def passes(self, problem: Trained) -> float:
        return 2 * leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = memorising(problem)
        early = memorised(problem)
        if early is None:
            return found
        if objective_of(problem).decay > 0:
            name = "relative distance of the last model from its converged copy"
            why = "else training has not converged"
            found.append(Hypothesis(name, polished_copy(problem).moved, "<=", _NEAR, why))
        return [*found, *stationary(early)]

    def predict(self, problem: Trained) -> Array:
        early = memorised(problem)
        assert early is not None
        wrong = problem.task.errors(rows_left_out(early).outputs, problem.y)
        new = 0 if problem.held is None else int(fresh_rows(problem).sum())
        return _foretold(wrong, new or len(wrong))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The last model on held-out rows that are not duplicates of training rows."""
        return _share_of_held(problem, problem)

    def trivial(self, problem: Trained) -> Array:
        """The share that always guessing the most frequent class gets wrong."""
        return jnp.asarray(1 - problem.y.mean(0).max())
