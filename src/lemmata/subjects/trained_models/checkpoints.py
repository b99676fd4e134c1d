"""Checkpoints: what the earlier checkpoints of a training show about its end.

The theory predicts the error on new rows of a model whose training goes on after it predicts all training rows
correctly. It needs the parameters at earlier times of the training, and a decay that was used in training. It does not
say how long the training takes.
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


@functools.lru_cache(maxsize=1)  # hypotheses and prediction of one check need the same copy
def memorised(problem: Trained) -> Trained | None:
    """The first checkpoint that predicts every training row correctly, with its rows. None if no checkpoint does."""
    for model in problem.checkpoints:
        if not problem.task.errors(model.outputs(problem.x), problem.y).any():
            return dataclasses.replace(problem, model=model, checkpoints=())
    return None


def _length(problem: Trained) -> float:
    return float(np.linalg.norm(problem.model.theta.astype(float)))


def memorising(problem: Trained) -> list[Hypothesis]:
    """The conditions that a checkpoint predicts all training rows correctly and that the weights shrink afterwards."""
    early = memorised(problem)
    known = Hypothesis("a checkpoint predicts every training row correctly", float(early is not None), ">=", 1.0)
    if early is None:
        return [known]
    ratio = _length(problem) / max(_length(early), 1e-300)
    return [known, Hypothesis("length of the weights, relative to the checkpoint", ratio, "<", 1.0,
                              "otherwise decay no longer shortens the weights")]  # fmt: skip


def _share_of_held(problem: Trained, model: Trained) -> Array:
    """The share of held-out rows without duplicates for which one model of this history predicts a wrong class."""
    x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
    wrong = problem.task.errors(model.model.outputs(x), y)
    return jnp.asarray(measured_share(int(wrong.sum()), len(wrong)))


def _foretold(wrong: np.ndarray, new: int) -> Array:
    """Predict the share of wrong new rows from n left-out rows, which count as n/2 independent rows.

    Leave out one row at a time. The errors at two left-out rows i and j are not independent: the error at i depends on
    j as much as the error at j depends on i. The sum of all errors is a sum of such effects over ordered pairs (i, j),
    in which equal effects occur twice. So this sum has twice the variance that independent effects would give.
    """
    low, _, high = predicted_share(float(round(wrong.sum() / 2)), float(len(wrong) // 2), new, _LEVEL)
    return jnp.asarray([low, wrong.mean(), high])


class LaterErrorFromMemorisingCheckpoint(AbstractGauge):
    """Suppose that training with weight decay goes on after the model is right on all n training rows. Suppose also
    that the length of the weights then falls. Take the first checkpoint at which all training rows are right, and bring
    a copy of this checkpoint to a stationary point of the training objective. From this point, leave each row out by
    one Newton step. The share of rows whose class is then wrong implies a beta-binomial distribution for the number of
    wrong new rows. This share counts as if it came from n/2 independent rows, because any two rows influence the
    predictions for each other. In at least nine of ten trainings, the central 97 % of this distribution contain the
    error of the last model on unseen rows. This holds whether the error on unseen rows falls long after the training
    error or never falls.
    """

    title = "Later held-out error in training with weight decay, predicted from a checkpoint that fits all rows"
    source = Source(
        "power2022grokking",
        note=(
            "generalisation long after all training rows are predicted correctly; here predicted by leaving rows out"
        ),
    )
    stated = Kind.OWN
    population = GrokkingModels()
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the held-out error at the end of training, predicted when the model already fits its rows"
    unexplained = (
        "how long training takes to reach this error; training that leaves the basin in which descent from the "
        "checkpoint ends"
    )
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
            name = "relative distance between the last model and its converged copy"
            why = "otherwise training has not yet converged"
            found.append(Hypothesis(name, polished_copy(problem).moved, "<=", _NEAR, why))
        return [*found, *stationary(early)]

    def predict(self, problem: Trained) -> Array:
        early = memorised(problem)
        assert early is not None
        wrong = problem.task.errors(rows_left_out(early).outputs, problem.y)
        new = 0 if problem.held is None else int(fresh_rows(problem).sum())
        return _foretold(wrong, new or len(wrong))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the last model on held-out rows that are not duplicates of training rows."""
        return _share_of_held(problem, problem)

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return jnp.asarray(1 - problem.y.mean(0).max())
