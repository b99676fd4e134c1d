"""Count the model's predictions for each class of held-out rows, and test how often its probabilities are right."""

import numpy as np

from lemmata.answers import share_interval
from lemmata.subjects.trained_models import Trained, fresh_rows, held_outputs, held_rows
from lemmata.workflows.records.examinations import GaugeInterval, ReliabilityBin

MOST = 30
"""The largest number of classes for which a table of true and predicted classes is stored."""
_BINS, _FEWEST, _LEVEL = 10, 20, 0.95


def confusion(trained: Trained) -> list[list[int]] | None:
    """Return the confusion matrix: held-out rows by their class (rows) and by the predicted class (columns).

    The result is None without held-out rows, and unless there are 2 to 30 classes.

    Args:
        trained: a model with its rows.
    """
    if trained.held is None or not trained.task.is_classification or not 2 <= len(trained.task.labels) <= MOST:
        return None
    named, known = held_outputs(trained).argmax(1), held_rows(trained)[1].argmax(1)
    counts = np.zeros((len(trained.task.labels),) * 2, int)
    np.add.at(counts, (known, named), 1)
    return counts.tolist()


def reliability(trained: Trained) -> list[ReliabilityBin]:
    """Return held-out rows in up to ten bins of equal size, sorted by the probability of the predicted class.

    Rows with low probabilities come first. Duplicates of training rows are left out. Each bin has at least 20 rows.

    Args:
        trained: a model with its rows.
    """
    if trained.held is None or not trained.task.is_classification or not trained.task.probable:
        return []
    new = fresh_rows(trained)
    f, y = held_outputs(trained)[new], held_rows(trained)[1][new]
    sure, right = trained.task.means(f).max(1), 1 - trained.task.errors(f, y)
    bins = min(_BINS, len(f) // _FEWEST)
    found = []
    for part in np.array_split(np.argsort(sure, kind="stable"), bins) if bins else []:
        low, high = share_interval(float(right[part].sum()), float((1 - right[part]).sum()), _LEVEL)
        share = GaugeInterval(float(right[part].mean()), low, high, _LEVEL)
        found.append(ReliabilityBin(len(part), float(sure[part].mean()), share))
    return found
