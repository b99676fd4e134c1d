"""Fit a scikit-learn estimator to some rows, and compute its outputs for other rows."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from ._validation import Groups


@dataclasses.dataclass(frozen=True)
class Fit:
    """A model's outputs for held-out rows.

    Args:
        outputs: the predictions (m, k), which are numbers in the target's units, or one score for each class.
        chances: the probabilities of the classes (m, k); None in regression.
        learns: False for a kernel whose best ridge is the largest one, because it then predicts the mean.
        certain: whether the model only gives classes, so that its probabilities are 0 and 1.
    """

    outputs: Float[np.ndarray, "m k"]
    chances: Float[np.ndarray, "m k"] | None = None
    learns: bool = True
    certain: bool = False

    def some(self, rows: slice) -> "Fit":
        """Return the outputs for some of the rows."""
        chances = None if self.chances is None else self.chances[rows]
        return dataclasses.replace(self, outputs=self.outputs[rows], chances=chances)


Fitted = Callable[[np.ndarray, np.ndarray, str, Groups], Fit]


def fit_estimator(make: Callable[[], Any], x: Any, y: np.ndarray, task: str) -> Fit:
    """Fit a scikit-learn estimator to the first rows, and return its outputs for the other rows."""
    n, classes = len(y), y.shape[1]
    if task == "regression":
        columns = [make().fit(x[:n], column).predict(x[n:]) for column in y.T]
        return Fit(np.stack(columns, axis=1).astype(float))
    labels = y.argmax(axis=1)
    if len(np.unique(labels)) == 1:
        sure = np.repeat(y[:1], len(x) - n, axis=0)
        return Fit(sure, sure)
    estimator = make()
    estimator.fit(x[:n], labels)
    if not hasattr(estimator, "predict_proba"):
        sure = np.eye(classes)[np.asarray(estimator.predict(x[n:]), int)]
        return Fit(_scores(estimator, x[n:], classes) if hasattr(estimator, "decision_function") else sure, sure,
                   certain=True)  # fmt: skip
    probable = np.zeros((len(x) - n, classes))
    probable[:, np.asarray(estimator.classes_, int)] = estimator.predict_proba(x[n:])
    return Fit(probable, probable)


def _scores(estimator: Any, x: np.ndarray, classes: int) -> Float[np.ndarray, "m k"]:
    """Return an estimator's scores for each class, without probabilities. Unseen classes come last."""
    found = np.asarray(estimator.decision_function(x), float)
    seen = np.asarray(estimator.classes_, int)
    scores = np.stack([-found, found], axis=1) if found.ndim == 1 else found
    whole = np.full((len(x), classes), scores.min() - 1.0)
    whole[:, seen] = scores
    return whole


def side_by_side(fit: Fitted, x: np.ndarray, y: np.ndarray, task: str, groups: Groups) -> Fit:
    """Fit a separate model for each column of numbers."""
    parts = [fit(x, y[:, [j]], task, groups).outputs for j in range(y.shape[1])]
    return Fit(np.concatenate(parts, axis=1))
