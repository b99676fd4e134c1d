"""Decide which models may be best, and which may be as good as the best."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from ._outlook import SAME, Candidate, grounded
from ._question import Question
from ._row_losses import wrong

FULL = 0.75
"""A size counts as full if it is at least this share of all rows, or of the largest size of any model."""
SURELY = 0.05
"""A model is worse than the best model if a paired test of the two losses on common splits has at most this p-value."""
COMMON = 0.5
"""The paired test uses sizes of at least this share of the largest size at which the model was measured."""
TIED = 2.0
"""Two classifiers count as equally good if their errors differ by at most this number of rows."""


def beats_guessing(item: Candidate, question: Question) -> bool:
    """Whether the model significantly beats guessing, the best prediction that is the same for every row.

    The model must learn (`Measured.learns`), must be expected to beat guessing with all rows, and must not have broken
    down in any split. On independent rows, model and guessing are compared row by row: the upper end (95 %) of the mean
    difference of their losses must be below 0. If a row has a large loss both for the model and for guessing, most of
    it cancels in the difference. So a few such rows do not decide. For numbers, it is also enough if the whole interval
    of the model's loss is below the loss of guessing. With groups or an order, the loss at the largest measured size
    must be below the loss of guessing by more than a standard error. If rows are ordered in time, model and guessing
    are also compared stretch by stretch, so that a few lucky stretches are not enough.
    """
    losses = item.losses
    if not may_beat_guessing(item, question) or item.measured.wild is not None:
        return False
    by_itself = bool(losses.mean[-1] + losses.se[-1] < question.guessing)
    if question.in_time or not math.isfinite(losses.gain):
        return by_itself and not losses.gain >= 0
    apart = question.unit.task == "regression" and item.expected(item.reach).upper < question.guessing
    return losses.gain < 0 or apart


def may_beat_guessing(item: Candidate, question: Question) -> bool:
    """Whether the model learns, and is expected to be better than guessing with all rows."""
    able = item.measured.learns and len(item.losses.sizes) > 0
    return able and item.expected(question.total).value < question.guessing


def eligible(candidates: Sequence[Candidate], question: Question) -> list[Candidate]:
    """Return the models that may be best. If no model significantly beats guessing, return none.

    Otherwise, all models that are expected to beat guessing may be best. A model whose fit broke down in a split may be
    best only if this happened to all of these models.

    The reason: the gain over guessing varies least for models that predict nearly like guessing, so a small gain of
    such a model is already significant. If only significant models could be best, these cautious models would be
    preferred.
    """
    able = [item for item in candidates if may_beat_guessing(item, question)]
    able = [item for item in able if item.measured.wild is None] or able
    return grounded(able) if any(beats_guessing(item, question) for item in able) else []


def _as_good(item: Candidate, best: Candidate, at: float | int, able: bool) -> bool:
    """Whether a model may be as good as the best.

    Models that were tested on the same rows share most of their sampling error. So such a model may be as good if its
    expected loss is within the interval of the best model. A model that was tested on fewer rows has an additional
    sampling error. Such a model may be as good, even if it is expected to be no better than guessing. For classes, a
    model also counts as equally good if it is wrong in at most two rows more than the best model. A model is not as
    good if its whole interval lies above the best model's value, or if the best model significantly beats it on common
    splits.
    """
    if not (item.measured.learns and len(item.losses.sizes)):
        return False
    own, first = item.expected(at), best.expected(at)
    margin, fewer = first.upper - first.value, item.losses.rows < SAME * best.losses.rows
    if fewer:
        margin = math.hypot(margin, own.value - own.lower)
    held = min(item.losses.rows, best.losses.rows)
    tied = item.unit.rows is wrong and math.isfinite(held) and own.value <= first.value + TIED / held
    near = own.value <= first.value + margin and own.lower <= first.value and not _beaten(item, best)
    return bool((fewer or able) and (tied or near))


def _beaten(item: Candidate, best: Candidate) -> bool:
    """Whether the best model has the smaller loss on every common split, and a t-test of the log ratios is significant.

    This comparison is made only for a model that was tested on fewer rows than the best model. The interval of such a
    model is so wide that a comparison on common splits is more informative.
    """
    if item.losses.rows >= SAME * best.losses.rows or not (item.losses.paired and best.losses.paired):
        return False
    n, own = item.losses.sizes[-1], item.losses.paired[-1]
    tables = [table for m, table in zip(best.losses.sizes, best.losses.paired, strict=False) if COMMON * n <= m <= n]
    if not tables or (common := min(len(own), len(tables[-1]))) < 3:
        return False
    pair = np.array([own[:common], tables[-1][:common]])
    if not (np.isfinite(pair).all() and (pair > 0).all() and (pair[0] > pair[1]).all()):
        return False
    apart = np.log(pair[0] / pair[1])
    return bool(apart.mean() > stats.t.ppf(1 - SURELY, common - 1) * apart.std(ddof=1) / math.sqrt(common))


def near_best(best: Candidate, question: Question, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the models that may be as good as the best; models that may beat guessing come first."""
    at = question.total if best.reach >= FULL * question.total else best.reach
    able = eligible(candidates, question)
    names = {item.measured.model.name for item in able}
    near = [item for item in able if item.measured.model.name != best.measured.model.name]
    near = [item for item in near if _as_good(item, best, at, True)]
    rest = [item for item in candidates if item.measured.model.name not in names]
    return near + [item for item in rest if _as_good(item, best, at, False)]
