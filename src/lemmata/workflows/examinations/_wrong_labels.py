"""Estimate how many labels look wrong, and name the rows whose labels to check.

The labels are judged by leaving training rows out, by held-out rows, or by a random forest.
"""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.subjects.trained_models import (
    HELD_OUT,
    LabelDoubts,
    Trained,
    fresh_rows,
    held_outputs,
    held_rows,
    label_doubts,
    once,
    rows_left_out,
    temperature,
)
from lemmata.workflows.records.examinations import Finding, Gauge

from ._confidence import excludes
from ._forest_doubts import ForestDoubts, forest_doubts
from ._row_names import PLACES, Names, RowNames

_EVIDENCE = 5.0  # the least gain of log likelihood; fewer than 1 in 1000 sets of right labels exceed it by chance
_FIXED = 0.45
"""The largest allowed median leverage, where leverage is the share of its own prediction that a row determines.

With a larger leverage, the prediction without a row comes from a long Newton step, which is inexact. If half of the
rows have a larger leverage, as in networks that memorise labels, such predictions also contradict right labels.
"""
_DOUBTED = 0.01  # the least share of wrong labels; rows between two classes give smaller shares with right labels
_FEWEST = 100
_OF_FOREST = 6.0, 0.03
"""The limits for a forest: the least evidence against a label, and the least share of wrong labels.

These limits are stricter than those for the model. The probabilities of a forest are less exact, so that overlapping
classes give more evidence against labels that are right.
"""
_FIRST = 8
_LONG = 0.8  # a large leverage; in recurrent networks, all right labels that were doubted had a leverage above 0.9
_NEARLY = 0.8  # the least share of suspicious rows in one class to blame this class
_SPOKE = ("agrees", "disagrees", "unscored")


def wrong_labels(trained: Trained, left_out: Gauge | None, names: RowNames = PLACES) -> Finding | None:
    """Return a finding that labels look wrong; None if the rows do not show this.

    Each training row is judged by the output of the model without this row. If a model has memorised its labels, its
    training rows may not show wrong labels. Such a model may also contradict right labels, because a Newton step away
    from a memorised row is long. The held-out rows still show wrong labels. If neither training nor held-out rows give
    a result, a random forest on all rows is used, whose errors differ from the model's errors.

    Args:
        trained: the model with its rows. The model must not guess, because a guessing model contradicts every label.
        left_out: the check of the error from training rows alone.
        names: the names of rows.
    """
    own, held = of_training_rows(trained, left_out), of_held_rows(trained)
    if own is not None and stands(own) and counted(trained):
        look = _rows(
            np.arange(len(own.wrong)), own, ". Look at training rows", names.training, suspicion(trained, left_out)[0]
        )
        share = f"About {_share(own)} of the training labels look wrong ({_ends(own)})"
        text = f"{share}, because the other rows contradict them{look}."
        if held is not None and stands(held):
            text += f" Of the held-out labels, about {_share(held)} look wrong."
        return Finding(text, [] if left_out is None else [left_out.name])
    if held is None or not stands(held):
        return _by_forest(trained, names)
    shown = _rows(
        np.flatnonzero(fresh_rows(trained)), held, ". The labels are least probable in held-out rows", names.held
    )
    blamed = _one_class(trained, held)
    text = (
        f"About {_share(held)} of the held-out labels look wrong ({_ends(held)}). This share is estimated from the "
        f"model's probabilities of held-out rows{shown}. "
    )
    if blamed is not None:
        text += (
            f"Nearly all of these rows have class {blamed}. Either their labels are wrong, or the model has not "
            "learned this class"
        )
        return Finding(text + ".", [HELD_OUT])
    text += "Training labels from the same source are probably wrong equally often"
    if own is not None:
        doubted = suspicion(trained, left_out)[0]
        first = names.training.told(np.argsort(-doubted, kind="stable")[:_FIRST])
        text += ". Here lemmata cannot count wrong training labels by leaving rows out"
        text += f". Look first at training rows {first}"
    return Finding(text + ".", [HELD_OUT])


def of_training_rows(trained: Trained, left_out: Gauge | None) -> LabelDoubts | None:
    """Return estimates of wrong training labels, judged by the other rows; None if leaving rows out has no result.

    Args:
        trained: the model with its rows.
        left_out: the check of the error from training rows alone.
    """
    if left_out is None or left_out.status not in _SPOKE or not trained.task.is_classification:
        return None
    return label_doubts(rows_left_out(trained).outputs, trained.y)


@once
def of_held_rows(trained: Trained) -> LabelDoubts | None:
    """Return estimates of wrong labels of held-out rows without duplicates, judged by the model.

    The result is None for too few rows, and if the model gives the own class of a row the probability 0. No temperature
    can repair such an error, so the model's own errors would count as wrong labels.

    Args:
        trained: the model with its rows.
    """
    if trained.held is None or not trained.task.probable:
        return None
    new = fresh_rows(trained)
    f, y = held_outputs(trained)[new], trained.held[1][new]
    return None if len(f) < _FEWEST or excludes(f, y) else label_doubts(f, y)


def suspicion(trained: Trained, left_out: Gauge | None) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " m"]]:
    """Return how strongly models that were fitted without a row contradict its label, for training and held-out rows.

    The suspicion of a row is one minus the mean of two probabilities of the row's own class. The examined model gives
    the first probability; for a training row, the model without this row is used. The second probability comes from the
    trees of a random forest that were fitted without the row. Two different models rank wrong labels better than one
    model. If only one of the two models has judged a row, only its probability counts.

    Args:
        trained: the model with its rows.
        left_out: the check of the error from training rows alone.

    Returns:
        A number between 0 and 1 for each training row and each held-out row; NaN if no model has judged the row.
    """
    n, forest = len(trained.x), forest_doubts(trained)
    m = 0 if trained.held is None else len(trained.held[1])
    by_model, by_forest = np.full(n + m, np.nan), np.full(n + m, np.nan)
    own, held = of_training_rows(trained, left_out), of_held_rows(trained)
    if own is not None:
        by_model[:n] = own.own
    if held is not None:
        by_model[n + np.flatnonzero(fresh_rows(trained))] = held.own
    if forest is not None:
        by_forest[forest.places] = forest.doubts.own
    judged = np.stack([by_model, by_forest])
    known = np.isfinite(judged).sum(0)
    found = 1 - np.nansum(judged, axis=0) / np.where(known, known, np.nan)
    return found[:n], found[n:]


def _by_forest(trained: Trained, names: RowNames) -> Finding | None:
    """Return a finding that a random forest contradicts labels of training and held-out rows.

    The result is None if the forest does not show wrong labels, has more errors on held-out rows than the model, or
    contradicts nearly only labels of one class.
    """
    found = forest_doubts(trained)
    evidence, doubted = _OF_FOREST
    if found is None or found.doubts.evidence < evidence or found.doubts.low < doubted:
        return None
    accused, n = found.doubts.wrong > 0.5, len(trained.x)
    if trained.held is not None and _model_is_better(trained, found):
        return None
    if accused.any() and found.y[accused].mean(0).max() >= _NEARLY:
        return None  # the forest cannot judge rows of a single class
    of = "training labels" if trained.held is None else "training and held-out labels"
    text = (
        f"About {_share(found.doubts)} of the {of} look wrong ({_ends(found.doubts)}). This share is estimated from "
        "the votes of a random forest. Each row is judged only by the trees that were trained without this row"
    )
    seen = found.places < n
    own = dataclasses.replace(found.doubts, wrong=np.where(seen, found.doubts.wrong, 0.0))
    text += _rows(found.places, own, ". Look at training rows", names.training)
    return Finding(f"{text}. The examined model does not show these wrong labels.", ["training rows"])


def _model_is_better(trained: Trained, found: ForestDoubts) -> bool:
    """Whether the model predicts held-out labels better than the forest. The forest then cannot judge the labels.

    The forest may judge if two conditions hold. Its errors exceed the model's errors by at most one standard error. If
    the model gives probabilities, the forest with its estimated share of wrong labels also has a smaller log loss on
    the held-out labels than the model without wrong labels. The logits of the model are divided by the temperature of
    least log loss.
    """
    unseen = found.places >= len(trained.x)
    rows = found.places[unseen] - len(trained.x)
    f, y = held_outputs(trained)[rows], held_rows(trained)[1][rows]
    more = found.errors[unseen] - trained.task.errors(f, y)
    if len(more) > 1 and more.mean() > more.std(ddof=1) / len(more) ** 0.5:
        return True
    if of_held_rows(trained) is None or not len(rows):
        return False
    own, share = found.doubts.own[unseen], found.doubts.share
    of_forest = -np.log((1 - share) * own + share * (1 - own) / (found.classes - 1))
    return float(trained.task.losses(f / temperature(f, y), y).mean()) <= float(of_forest.mean())


def _one_class(trained: Trained, doubts: LabelDoubts) -> Any:
    """Return the class of nearly all suspicious held-out rows, if fewer than 40 % of all rows have it, or else None."""
    y = held_rows(trained)[1][fresh_rows(trained)]
    accused = y[doubts.wrong > 0.5].mean(0) if (doubts.wrong > 0.5).any() else y.mean(0)
    k = int(accused.argmax())
    return trained.task.labels[k] if accused[k] >= _NEARLY and y[:, k].mean() < _NEARLY / 2 else None


def counted(trained: Trained) -> bool:
    """Whether leaving training rows out can show the number of wrong labels.

    The Newton step that leaves out a row of leverage h has a relative error of about h. If h is near 1, the step may
    give the row's own class any probability, even 0, whether the label is right or wrong. So three conditions must
    hold. First, half of the rows hardly determine their own outputs. Second, no left-out row has probability 0 for its
    own class. Third, the rows with a leverage below 0.8 alone also show wrong labels.
    """
    without = rows_left_out(trained)
    if float(np.median(without.leverage)) > _FIXED or excludes(without.outputs, trained.y):
        return False
    short = without.leverage < _LONG
    return bool(short.any()) and stands(label_doubts(without.outputs[short], trained.y[short]))


def stands(doubts: LabelDoubts) -> bool:
    """Whether the estimates show that some labels are wrong."""
    return doubts.evidence >= _EVIDENCE and doubts.low >= _DOUBTED


def _share(doubts: LabelDoubts) -> str:
    return f"{100 * doubts.share:.2g} %"


def _ends(doubts: LabelDoubts) -> str:
    part = f", estimated from {doubts.fitted:,} of them" if doubts.fitted < len(doubts.wrong) else ""
    return f"{100 * doubts.low:.2g} to {100 * doubts.high:.2g} %{part}"


def _rows(places: np.ndarray, doubts: LabelDoubts, words: str, names: Names, first: np.ndarray | None = None) -> str:
    """Return the given words and the rows whose labels are more likely wrong than right; empty without such rows.

    Rows with large entries of `first` come first. If `first` is None, the probability of a wrong label is used.
    """
    order = np.argsort(-(doubts.wrong if first is None else first), kind="stable")
    found = places[order[doubts.wrong[order] > 0.5]]
    return f"{words} {names.told(found)}" if len(found) else ""
