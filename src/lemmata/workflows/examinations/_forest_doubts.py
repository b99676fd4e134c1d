"""Find labels that a random forest contradicts, whatever the examined model predicts."""

import dataclasses
import warnings

import numpy as np
from jaxtyping import Float, Int

from lemmata.subjects.trained_models import LabelDoubts, Trained, copies_of, fresh_rows, held_rows, label_doubts, once

_TREES, _LEAF = 100, 8
_MOST_ROWS, _MOST_COLUMNS = 2000, 1000
_FEWEST, _FEWEST_OF_A_CLASS = 100, 30
_LEAST = 1e-4  # the least share of votes for a class, so that no class is excluded
_LARGEST = 1e30  # the largest input, because trees take single precision


@dataclasses.dataclass(frozen=True)
class ForestDoubts:
    """The estimates of a random forest on the labels of training and held-out rows.

    Args:
        doubts: the estimates for the rows that the forest has judged.
        places: the positions of these rows. Positions from the number of training rows on are held-out rows.
        y: the labels of these rows, as one-hot rows.
        errors: for each of these rows, 1 if the forest predicts another class than the label, else 0.
        classes: the number of classes to which the forest was fitted.
    """

    doubts: LabelDoubts
    places: Int[np.ndarray, " k"]
    y: Float[np.ndarray, "k C"]
    errors: Float[np.ndarray, " k"]
    classes: int


@once
def forest_doubts(trained: Trained) -> ForestDoubts | None:
    """Estimate how many labels a random forest contradicts. Each row is judged only by trees fitted without this row.

    A model that has memorised wrong labels contradicts only few of them, and may contradict equally many right labels
    by its own errors. A forest with at least eight rows per leaf does not memorise wrong labels. The forest is fitted
    to training and held-out rows together: at most 2,000 rows and 1,000 columns, drawn by the seed. Rows with a
    duplicate and classes of fewer than 30 rows are left out.

    Args:
        trained: the model with its rows; the model itself is not used.

    Returns:
        The estimates; None for values, for documents, and if fewer than 100 rows or fewer than two classes are left.
    """
    from sklearn.ensemble import RandomForestClassifier  # imported here because only this function needs it

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
        warnings.simplefilter("ignore")  # warnings about rows that all trees are fitted to; these rows are not judged
        forest.fit(x, y.argmax(1))
    votes = np.asarray(forest.oob_decision_function_)
    judged = np.isfinite(votes).all(1) & (votes.sum(1) > 0)
    own = y[judged][:, forest.classes_]
    errors = (votes[judged].argmax(1) != own.argmax(1)).astype(float)
    doubts = label_doubts(np.log(np.maximum(votes[judged], _LEAST)), own)
    return ForestDoubts(doubts, places[judged], y[judged], errors, own.shape[1])


def _rows(trained: Trained) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the positions, inputs and labels of the rows that the forest uses, which have no duplicates."""
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
