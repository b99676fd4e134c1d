"""Labels that a random forest contradicts, whatever the examined model predicts."""

import dataclasses
import warnings

import numpy as np
from jaxtyping import Float, Int

from lemmata.subjects.trained_models import LabelDoubts, Trained, copies_of, fresh_rows, held_rows, label_doubts, once

_TREES, _LEAF = 100, 8
_MOST_ROWS, _MOST_COLUMNS = 2000, 1000
_FEWEST, _FEWEST_OF_A_CLASS = 100, 30
_LEAST = 1e-4  # share of votes, because a forest excludes no class
_LARGEST = 1e30  # what a tree takes in single precision


@dataclasses.dataclass(frozen=True)
class ForestDoubts:
    """A forest's judgement of the labels of training and held-out rows.

    Args:
        doubts: the doubts over the rows that the forest has judged.
        places: the positions of these rows. Positions from the number of training rows on are held-out rows.
        y: the labels of these rows, as one-hot rows.
        errors: 1 if the forest names another class, else 0.
    """

    doubts: LabelDoubts
    places: Int[np.ndarray, " k"]
    y: Float[np.ndarray, "k C"]
    errors: Float[np.ndarray, " k"]


@once
def forest_doubts(trained: Trained) -> ForestDoubts | None:
    """Estimate how many labels a random forest contradicts. Each row is judged by trees that have not seen it.

    A model that has learned wrong labels by heart contradicts only few of them, and may contradict as many right
    labels by its own errors. A forest with at least eight rows per leaf does not learn wrong labels. The forest is
    grown on training and held-out rows together: at most 2,000 rows and 1,000 columns, drawn by the seed. Rows with a
    duplicate and classes of fewer than 30 rows are left out.

    Args:
        trained: the model with its rows; the model itself is not used.

    Returns:
        The doubts. None for values, for documents, and if fewer than 100 rows of two classes are left.
    """
    from sklearn.ensemble import RandomForestClassifier  # nothing else in this file depends on it

    if not trained.task.is_classification:
        return None
    places, x, y = _rows(trained)
    usual = y.sum(0) >= _FEWEST_OF_A_CLASS
    kept = (y @ usual) > 0
    places, x, y = places[kept], x[kept], y[kept]
    if len(x) < _FEWEST or usual.sum() < 2:
        return None
    forest = RandomForestClassifier(_TREES, min_samples_leaf=_LEAF, oob_score=True, random_state=trained.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings about rows that every tree has seen, which do not count
        forest.fit(x, y.argmax(1))
    votes = np.asarray(forest.oob_decision_function_)
    judged = np.isfinite(votes).all(1) & (votes.sum(1) > 0)
    own = y[judged][:, forest.classes_]
    errors = (votes[judged].argmax(1) != own.argmax(1)).astype(float)
    doubts = label_doubts(np.log(np.maximum(votes[judged], _LEAST)), own)
    return ForestDoubts(doubts, places[judged], y[judged], errors)


def _rows(trained: Trained) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, inputs and labels of rows without duplicates, as many as the forest uses."""
    places, x, y = np.flatnonzero(~copies_of(trained).within), trained.x, trained.y
    if trained.held is not None:
        held_x, held_y = held_rows(trained)
        places = np.concatenate([places, len(x) + np.flatnonzero(fresh_rows(trained))])
        x, y = np.concatenate([x, held_x]), np.concatenate([y, held_y])
    rng = np.random.default_rng([trained.seed, 23])
    places = np.sort(rng.permutation(places)[:_MOST_ROWS])
    flat = x.reshape(len(x), -1)
    columns = np.sort(rng.permutation(flat.shape[1])[:_MOST_COLUMNS])
    cells = np.clip(np.asarray(flat[places][:, columns], float), -_LARGEST, _LARGEST)
    return places, cells.astype(np.float32), y[places]
