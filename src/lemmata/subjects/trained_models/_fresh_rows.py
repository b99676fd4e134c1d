"""The duplicate rows in the data of a trained model, and the held-out rows that do not duplicate training rows."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Int

from lemmata.engine.claims import Hypothesis

from ._copies import Copies, find_copies
from ._document_copies import find_document_copies
from ._once import answers, name_of, once
from ._outputs import held_outputs
from ._trained import Trained

HELD_OUT = "held-out rows"
"""The name of the hypothesis that there are enough held-out rows."""
_ENOUGH = 100.0


@once
def copies_of(trained: Trained) -> Copies:
    """Return the training rows and held-out rows that duplicate a training row."""
    find = find_document_copies if trained.task.is_language else find_copies
    return find(trained.x, None if trained.held is None else trained.held[0])


@once
def without_held_rows(trained: Trained) -> Trained:
    """Return the same model without held-out rows.

    The new object has no stored results yet (see `share_answers`).
    """
    return dataclasses.replace(trained, held=None)


def share_answers(known: Trained, other: Trained) -> None:
    """Copy the stored results of `known` that do not depend on held-out rows to `other`.

    The two models differ only in their held-out rows.
    """
    for name, answer in answers(known).items():
        if name not in {name_of(own) for own in (copies_of, fresh_rows, held_outputs, without_held_rows)}:
            vars(other).setdefault(name, answer)


def contradicting_copies(trained: Trained) -> Int[np.ndarray, " k"]:
    """Return the indices of training rows that equal another training row and have a different target.

    For documents, the result is empty.
    """
    places = np.flatnonzero(copies_of(trained).within)
    if trained.task.is_language or not len(places):
        return np.zeros(0, int)
    rows = np.unique(trained.x[places].reshape(len(places), -1), axis=0, return_inverse=True)[1].ravel()
    targets = np.unique(trained.y[places], axis=0, return_inverse=True)[1].ravel()
    pairs = np.unique(np.stack([rows, targets], axis=1), axis=0)
    several = np.bincount(pairs[:, 0]) > 1
    return places[several[rows]]


@once
def fresh_rows(trained: Trained) -> Bool[np.ndarray, " m"]:
    """Return which held-out rows are not duplicates of training rows.

    Statements about unseen rows are measured on the rows that are not duplicates.
    """
    return ~copies_of(trained).held


def enough_held_out(rows: int) -> Hypothesis:
    """Require enough held-out rows for a measurement, not counting duplicates of training rows."""
    return Hypothesis(HELD_OUT, float(rows), ">=", _ENOUGH, "with fewer rows, a measurement is too uncertain")
