"""Fit a scikit-learn estimator to some rows, and compute its outputs for other rows."""

import dataclasses
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.errors import LemmataError, SolverError, line_of, shortened

from ._validation import Groups


class PredictionError(SolverError):
    """Raised if an estimator does not return one usable prediction for each row."""


def fault_of(error: BaseException) -> str:
    """Return the error in one line. An error of another library is preceded by the name of its class."""
    text = str(error) if isinstance(error, LemmataError) else line_of(error)
    return textwrap.shorten(text.strip().partition("\n")[0], 300, placeholder=" ...")


@dataclasses.dataclass(frozen=True)
class Fit:
    """A model's outputs for held-out rows.

    Args:
        outputs: the predictions (m, k), which are numbers in the target's units, or one score for each class.
        chances: the probabilities of the classes (m, k); None in regression.
        learns: whether the model learned anything. A kernel machine has learned nothing if the largest ridge is the
            best of the ridges that were tried, because predictions with this ridge are about the mean.
        certain: whether the model predicts classes without probabilities, so that `chances` are 0 and 1.
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
    """Fit a scikit-learn estimator to the first rows, and return its outputs for the other rows.

    Raises:
        PredictionError: if the estimator does not return one number, or one of the classes, for each other row.
    """
    n, classes = len(y), y.shape[1]
    if task == "regression":
        return Fit(np.stack([numbers_of(fit_to(make(), x[:n], column), x[n:]) for column in y.T], axis=1))
    labels = y.argmax(axis=1)
    if len(np.unique(labels)) == 1:
        sure = np.repeat(y[:1], len(x) - n, axis=0)
        return Fit(sure, sure)
    estimator = fit_to(make(), x[:n], labels)
    names = list(range(classes))
    if not hasattr(estimator, "predict_proba"):
        sure = np.eye(classes)[places_of(estimator, x[n:], names)]
        return Fit(_scores(estimator, x[n:], classes) if hasattr(estimator, "decision_function") else sure, sure,
                   certain=True)  # fmt: skip
    probable = chances_of(estimator, x[n:], names)
    return Fit(probable, probable)


def fit_to(estimator: Any, x: Any, y: Any) -> Any:
    """Fit the estimator and return it, even if its `fit` returns nothing."""
    found = estimator.fit(x, y)
    return estimator if found is None else found


def numbers_of(estimator: Any, x: Any) -> Float[np.ndarray, " m"]:
    """Return the predicted number of each row. Predictions may have the shape (rows,) or (rows, 1).

    Raises:
        PredictionError: if the estimator does not return one number for each row.
    """
    found = _one_each(estimator.predict(x), len(x))
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError) as error:
        odd = shortened(repr(found.tolist()[0]))
        raise PredictionError(f"predict returned {odd}, which is not a number") from error


def places_of(estimator: Any, x: Any, names: list[Any]) -> list[int]:
    """Return, for each row, the position of the predicted class among these classes.

    Raises:
        PredictionError: if the estimator does not return one of these classes for each row.
    """
    place = {name: j for j, name in enumerate(names)}
    found = _one_each(estimator.predict(x), len(x)).tolist()
    if odd := [own for own in found if own not in place]:
        raise _unknown("predict", odd[0], names)
    return [place[own] for own in found]


def chances_of(estimator: Any, x: Any, names: list[Any]) -> Float[np.ndarray, "m k"]:
    """Return the probabilities of these classes for each row; 0 for a class that is not in `classes_`.

    Raises:
        PredictionError: if the estimator has no `classes_`, has an unknown class, or does not return one probability
            for each row and each of its classes.
    """
    if not hasattr(estimator, "classes_"):
        raise PredictionError("it has predict_proba, but fit does not set classes_, the classes of its columns")
    place, own = {name: j for j, name in enumerate(names)}, np.asarray(estimator.classes_).tolist()
    odd = [name for name in own if name not in place]
    if odd:
        raise _unknown("classes_", odd[0], names)
    found, expected = np.asarray(estimator.predict_proba(x)), (len(x), len(own))
    if found.shape != expected:
        raise PredictionError(f"predict_proba returned an array of shape {found.shape}, but {expected} is needed")
    chances = np.zeros((len(x), len(names)))
    chances[:, [place[name] for name in own]] = found
    return chances


def _one_each(predictions: Any, rows: int) -> np.ndarray:
    """Return the predictions as an array with one entry for each row. One column is accepted."""
    found = np.asarray(predictions)
    if found.shape not in ((rows,), (rows, 1)):
        what = f"{found.size} predictions" if found.ndim == 1 else f"an array of shape {found.shape}"
        raise PredictionError(f"predict returned {what} for {rows} rows; it must return one for each row")
    return found.reshape(-1)


def _unknown(method: str, odd: Any, names: list[Any]) -> PredictionError:
    known = ", ".join(shortened(repr(name), 30) for name in names[:5]) + (", ..." if len(names) > 5 else "")
    return PredictionError(
        f"{method} returned {shortened(repr(odd), 60)}, which is not a class of the target ({known})"
    )


def _scores(estimator: Any, x: np.ndarray, classes: int) -> Float[np.ndarray, "m k"]:
    """Return an estimator's score for each class, not probabilities. Unseen classes get less than any other score."""
    found = np.asarray(estimator.decision_function(x), float)
    seen = np.asarray(estimator.classes_, int)
    scores = np.stack([-found, found], axis=1) if found.ndim == 1 else found
    whole = np.full((len(x), classes), scores.min() - 1.0)
    whole[:, seen] = scores
    return whole


def side_by_side(fit: Fitted, x: np.ndarray, y: np.ndarray, task: str, groups: Groups) -> Fit:
    """Fit a separate model for each target column, and return the outputs side by side."""
    parts = [fit(x, y[:, [j]], task, groups).outputs for j in range(y.shape[1])]
    return Fit(np.concatenate(parts, axis=1))
