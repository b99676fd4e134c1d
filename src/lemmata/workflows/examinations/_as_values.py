"""Find targets and outputs that look like classes, although they were read as real values."""

import numpy as np

from lemmata.subjects.trained_models import AS_VALUES, Trained, held_outputs, training_outputs
from lemmata.workflows.records.examinations import Finding

_MOST = 20  # the most different targets that may be the numbers of classes
_SHOWN = 5


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
        f"lemmata read the targets {shown} as values, so the error is a squared distance. Every output is exactly one "
        "of these values, so they may be classes. If they are, pass the estimator, its predict_proba, or one output "
        "for each class. A model that only names classes can return zeros with a 1 at the class. If they are values, "
        'state loss="squared".'
    )
    return [Finding(text, ["training rows"])]
