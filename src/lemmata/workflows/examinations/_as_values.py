"""Find outputs that were read in the wrong way: names of classes as values, and shares of classes as logits."""

import numpy as np

from lemmata.subjects.trained_models import AS_VALUES, Trained, held_outputs, training_outputs
from lemmata.workflows.records.examinations import Finding

_MOST = 20  # the most different targets that may be the numbers of classes
_SHOWN = 5
_ALIKE = 1e-2  # the largest relative deviation of the sums of rows, for shares that were rounded
_ROWS, _SPREAD = 20, 0.5  # the fewest rows, and the least range of outputs, for probabilities of single classes


def classes_as_values(trained: Trained) -> list[Finding]:
    """Return a finding if targets and outputs look like numbers of classes, but were read as values.

    There is a finding under three conditions. First, the targets are whole numbers with at most 20 different values,
    each of which occurs at least five times on average. Second, every output is exactly one of these values, as if the
    model named a class, and at least two different values occur among the outputs. Third, neither the user nor the
    estimator has stated a loss.

    Args:
        trained: the model with its rows.
    """
    if trained.task.why != AS_VALUES or trained.y.shape[1] != 1:
        return []
    values = np.unique(trained.y)
    few = 2 <= len(values) <= min(_MOST, len(trained.y) // 5)
    if not (few and (values == np.round(values)).all()):
        return []
    f = training_outputs(trained)
    f = f if trained.held is None else np.concatenate([f, held_outputs(trained)])
    if f.shape[1] != 1 or len(np.unique(f)) < 2 or not np.isin(f, values).all():
        return []
    shown = ", ".join(f"{value:.0f}" for value in values[:_SHOWN]) + (" and others" if len(values) > _SHOWN else "")
    text = (
        f"lemmata read the targets {shown} as values, so the error is a squared distance. But every output is "
        "exactly one of these values, so the targets may be classes. If they are classes, pass the estimator, its "
        "predict_proba, or one output for each class. If your model only names classes, return a 1 at the named "
        'class and 0 elsewhere. If the targets are values, state loss="squared".'
    )
    return [Finding(text, ["training rows"])]


def shares_as_logits(trained: Trained) -> list[Finding]:
    """Return a finding if outputs look like probabilities in another form, but were read as logits.

    There is a finding in two cases. First, no output is negative, and the outputs of all rows have the same sum, such
    as 100. Second, all outputs of at least twenty rows are between 0 and 1, as if each class had its own probability.
    Logits rarely have these properties. The form matters for losses and confidences. The share of wrong classes does
    not depend on it.

    Args:
        trained: the model with its rows.
    """
    if not trained.task.is_classification or trained.task.outputs != "logits" or trained.y.shape[1] < 2:
        return []
    f = training_outputs(trained)
    f = f if trained.held is None else np.concatenate([f, held_outputs(trained)])
    sums = f.sum(1)
    usual = float(np.median(sums))
    if not (f.min() >= 0 and usual > 0):
        return []
    if np.abs(sums / usual - 1).max() <= _ALIKE and abs(usual - 1) > _ALIKE:
        told = f"But no output is negative, and the outputs of each row add up to {usual:.4g}, so they"
        remedy = f"divide them by {usual:.4g}"
    elif f.max() <= 1 and len(f) >= _ROWS and np.ptp(f) > _SPREAD:
        told, remedy = "But all outputs are between 0 and 1, so they", "divide the outputs of each row by their sum"
    else:
        return []
    text = (
        f"lemmata read the outputs as logits. {told} may be probabilities in another form. If they are, {remedy}. "
        "The errors then stay the same, but all losses and confidences change."
    )
    return [Finding(text, ["training rows"])]
