"""Compute sets of classes, or intervals, that contain the target of a new row with a stated probability.

The method is split conformal prediction. Held-out rows without duplicates are halved at random. Each row has a score,
and the limit is the k-th smallest of the m scores of one half, where k = ceil((m + 1) level). If all rows come from one
distribution, a new score is at most the limit with probability between `level` and `level` + 1/(m + 1). The coverage,
which is the share of scores up to the limit, is measured on the other half.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lemmata.answers import share_interval
from lemmata.subjects.trained_models import Trained, held_outputs, held_rows
from lemmata.subjects.trained_models.probabilities import halves
from lemmata.workflows.records.examinations import GaugeInterval, PredictionSets

LEVEL = 0.9
FEWEST = 25
"""The least number of rows in a half of the held-out rows. With so many rows, the limit is not the largest score."""
_SURE = 0.95


class RowSets(NamedTuple):
    """The sets of held-out rows. The limit for each set comes from the half that does not contain the row.

    Args:
        summary: the part that the record of the examination stores, from the half of the rows on which the coverage is
            measured.
        members: for each row, a mask of the classes in its set; None for values.
        reach: half the width of each row's interval of values; NaN for classes.
    """

    summary: PredictionSets
    members: Bool[np.ndarray, "m C"] | None
    reach: Float[np.ndarray, " m"]


def prediction_sets(trained: Trained) -> RowSets | None:
    """Return 90 % sets for every held-out row; None if there are too few rows, no probabilities, or several values.

    For classes with probabilities p_k, the score is 1 - p_k of the right class. A set contains the predicted class and
    all classes with p_k >= 1 - limit. For one value f, the score is |y - f|, and the interval is f +- limit. Every set
    contains the predicted class. So if a model is right in more than 90 % of rows, its sets contain the target in more
    than 90 % of rows.

    Args:
        trained: a model with its rows.
    """
    task = trained.task
    if trained.held is None or task.is_language or not (task.probable if task.is_classification else True):
        return None
    f, y = held_outputs(trained), held_rows(trained)[1]
    own, other = halves(trained)
    if len(own) < FEWEST or (not task.is_classification and f.shape[1] != 1) or not np.isfinite(f).all():
        return None
    means = task.means(f)
    scores = 1 - (means * y).sum(1) if task.is_classification else np.abs(y - means)[:, 0]
    limits = np.full(len(f), _limit(scores[own]))
    limits[own] = _limit(scores[other])
    members = None
    held = scores <= limits
    if task.is_classification:
        members = (means >= 1 - limits[:, None]) | (means >= means.max(1, keepdims=True))
        held = (members & (y > 0)).any(1)
    sizes = 2 * limits if members is None else members.sum(1).astype(float)
    low, high = share_interval(float(held[other].sum()), float((~held[other]).sum()), _SURE)
    share = GaugeInterval(float(held[other].mean()), low, high, _SURE)
    summary = PredictionSets(
        LEVEL, len(own), len(other), share, float(sizes[other].mean()), _trivial(trained, y, own),
        None if members is None else float((sizes[other] == 1).mean()),
    )  # fmt: skip
    return RowSets(summary, members, limits if members is None else np.full(len(f), np.nan))


def _limit(scores: Float[np.ndarray, " m"]) -> float:
    """Return the ceil((m + 1) level)-th smallest score, where m is the number of scores."""
    return float(np.sort(scores)[int(np.ceil((len(scores) + 1) * LEVEL)) - 1])


def _trivial(trained: Trained, y: Float[np.ndarray, "m C"], half: np.ndarray) -> float:
    """Return the size of a set without a model: the fewest classes with 90 % of rows, or an interval at the mean."""
    if trained.task.is_classification:
        shares = np.sort(trained.y.mean(0))[::-1]
        return float(np.searchsorted(np.cumsum(shares), LEVEL - 1e-12) + 1)
    return 2 * _limit(np.abs(y[half, 0] - trained.y.mean()))
