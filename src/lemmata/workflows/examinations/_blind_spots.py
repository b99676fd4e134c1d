"""Describe what an examination cannot see: from outputs alone, from the stated loss, and from few large errors."""

import math

from lemmata.subjects.trained_models import (
    Trained,
    fresh_rows,
    held_outputs,
    held_rows,
    is_known,
    loss_words,
    objective_of,
    rows_left_out,
)
from lemmata.subjects.trained_models.leaving_out import MembershipFromTrainingRows
from lemmata.workflows.records.examinations import Gauge

from ._forest_doubts import forest_doubts
from ._gauges import of_claim

_FEWEST = 100
_ROWS, _UNEVEN = 10, 2.5


def loss_attack_measured(trained: Trained, gauges: list[Gauge]) -> bool:
    """Return whether the losses of held-out rows show how well an attacker recognises training rows.

    Args:
        trained: the model with its rows.
        gauges: the results of the checks; empty if no check was run.
    """
    if trained.held is None or not trained.task.is_classification or not trained.task.scored:
        return False
    return of_claim(MembershipFromTrainingRows, gauges) is not None and bool(fresh_rows(trained).sum() >= _FEWEST)


def seen_by_outputs(trained: Trained, gauges: list[Gauge]) -> list[str]:
    """Return a sentence that lemmata sees only the outputs of a model without derivatives.

    The sentence names the checks that are therefore skipped. Even then, a random forest may have judged the training
    labels, and held-out rows may have shown how well an attacker recognises training rows.

    Args:
        trained: the model with its rows.
        gauges: the results of the checks.
    """
    if trained.model.differentiable:
        return []
    classes = trained.task.is_classification
    asked = ["the error that training rows alone predict", "how each training row affects the model"]
    judged = is_known(forest_doubts, trained) and forest_doubts(trained) is not None
    asked += ["which training labels are wrong"] if classes and not judged else []
    asked += ["attacks by gradients"] if classes else []
    attacked = loss_attack_measured(trained, gauges)
    asked += [] if attacked else ["how well an attacker recognises training rows by their loss"]
    asked += ["the curvature of the loss"]
    told = f"{', '.join(asked[:-1])} and {asked[-1]}"
    return [
        f"lemmata sees the outputs of this {trained.model.kind}, but not its derivatives, so it does not examine "
        f"these points: {told}."
    ]


def loss_told(trained: Trained) -> str:
    """Return the training loss and how it is known, in words. If only outputs are known, no loss is needed."""
    if trained.model.differentiable or not isinstance(trained.task.loss, str):
        return trained.task.loss_told
    return "none is needed, because lemmata sees only the outputs"


def loss_read(trained: Trained) -> list[str]:
    """Return a sentence on the training loss that the checks assume, unless it is the usual loss for these targets."""
    task = trained.task
    if not trained.model.differentiable or task.is_language:
        return []
    if not task.loss_known:
        return [
            f"This model was trained with {loss_words(task.loss)}. lemmata does not know the derivatives of this "
            "loss, so it skips every check that needs the training objective."
        ]
    asked = is_known(objective_of, trained) and not is_known(rows_left_out, trained)
    if asked and trained.decay is None and objective_of(trained).decay == 0:
        return [
            (
                f"With {task.loss_told}, the weights imply no decay. There are three possible reasons: there was no "
                "decay, training ended early, or the loss was different. If the loss had class weights or smoothed "
                "labels, state this with --loss, or loss= in Python."
            )
        ]
    if isinstance(task.loss, str) and not task.why.startswith("as one output"):
        return []
    return [f"Loss: {task.loss_told}. If the training loss was different, state it with --loss, or loss= in Python."]


def uneven_errors(trained: Trained) -> str | None:
    """Return a sentence if a held-out row has so much of the squared error that its interval may be too short.

    With normal errors of one output, the largest of n squared errors is about 2 ln n + 1 times their mean. The sentence
    appears if the largest squared error is more than 2.5 times as large as this. Then few rows determine the mean, and
    its interval is too short. For example, in samples of 150 rows from a lognormal distribution, only 74 % of the 95 %
    intervals contain the mean.
    """
    if trained.held is None or trained.task.is_classification or trained.task.is_language:
        return None
    errors = trained.task.errors(held_outputs(trained), held_rows(trained)[1])
    n, total = len(errors), float(errors.sum())
    if n < _ROWS or not (0 < total < math.inf) or errors.max() * n / total <= _UNEVEN * (2 * math.log(n) + 1):
        return None
    return (
        f"One held-out row makes up {100 * errors.max() / total:.2g} % of the squared error of all {n:,} held-out "
        "rows. The mean squared error then varies much from sample to sample, so its interval and the interval of R² "
        "may be too short. Consider the absolute error, or the logarithm of the target."
    )
