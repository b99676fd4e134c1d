"""Apply scikit-learn's or the user's own scores to given predictions. Compute the contribution of each row."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from ._ranked import mean_precision

PARTS, FINE = 5, 40
"""The numbers of parts of the held-out rows that are left out in turn to estimate the variance of a score.

This is done for a score that is not a mean over rows. Each part costs a call of scikit-learn. `PARTS` parts are enough
if there are many splits, because their mean variance is accurate. `FINE` is for a single measurement on all rows.
"""
RANKED = "average_precision"
"""The scorer whose value is too high if a class has few rows."""
_EVERY_CLASS = {
    "d2_brier_score": ("predict_proba",),
    "d2_log_loss_score": ("predict_proba",),
    "top_k_accuracy": ("decision_function", "predict_proba"),
}
"""Scorers that must be told all classes if a class has no row, and the methods that give them predictions."""
_OF_PAIRS = ("roc_auc_ovo", "roc_auc_ovo_weighted", "roc_auc_ovr_weighted")
"""Scorers that are not defined if one of several classes has no row."""
UNSCORED = "its predictions cannot be scored: "
BEYOND = 1e-9
"""A score is not a measure of error if it exceeds the score of perfect predictions by more than this."""


class _Numbers(RegressorMixin, BaseEstimator):
    """An estimator that returns given numbers as predictions. Its inputs are row numbers."""

    def __init__(self, outputs: np.ndarray):
        self.outputs = outputs

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.outputs


class _Labels(ClassifierMixin, BaseEstimator):
    """An estimator that returns given classes as predictions, without probabilities."""

    def __init__(self, outputs: np.ndarray, classes: np.ndarray):
        self.outputs, self.classes_ = outputs, classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.classes_[self.outputs.argmax(axis=1)]

    def decision_function(self, x: np.ndarray) -> np.ndarray:
        return self.outputs[:, 1] - self.outputs[:, 0] if self.outputs.shape[1] == 2 else self.outputs


class _Chances(_Labels):
    """An estimator that returns given classes and probabilities as predictions."""

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return self.outputs / self.outputs.sum(axis=1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class Scored:
    """The loss of predictions under a scorer, and the contribution of each row to the loss.

    Call this object with targets and outputs. The result is an array over the m rows whose mean is the loss. The
    variance of this array divided by m estimates the variance of the loss by the jackknife. The jackknife leaves out a
    fifth of the rows (or groups) at a time. Leaving out fifths is also valid for medians, but leaving out single rows
    is not (Shao and Wu 1989). The loss is nan if all rows have the same class. For a scorer of `_OF_PAIRS`, it is
    also nan if a class has no row.

    Args:
        scorer: a name that scikit-learn's `get_scorer` accepts, a function of true and predicted targets, or a scorer
            object, which is called as `scorer(estimator, x, y)`.
        task: "regression" or "classification".
        perfect: the score of perfect predictions.
        sign: 1 if larger scores are better, and -1 if smaller scores are better.
        probable: whether the scorer needs probabilities as outputs.
        several: the name of the scorer for three or more classes; None if `scorer` is also used there.
        labels: the labels of the classes that the scorer gets, in increasing order; empty for 0, 1, ...
        order: for each label, the number of its column in the targets.
        shares: the share of each class in the table, which average precision needs (`mean_precision`).
    """

    scorer: Any
    task: str
    perfect: float = 1.0
    sign: float = 1.0
    probable: bool = False
    several: str | None = None
    labels: tuple[Any, ...] = ()
    order: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()

    def __call__(
        self,
        y: Float[np.ndarray, "m k"],
        output: Float[np.ndarray, "m k"],
        spread: float,
        members: np.ndarray | None = None,
        parts: int = PARTS,
    ) -> Float[np.ndarray, " m"]:
        """Return the contribution of each row to the loss.

        Args:
            y: the targets.
            output: the predictions: numbers, scores of classes or probabilities.
            spread: not used; it is here because all losses take it.
            members: the groups of the rows; None without groups.
            parts: the number of parts that are left out in turn.
        """
        return influences(lambda rows: self.loss(y[rows], output[rows]), len(y), members, parts)

    def loss(self, y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"]) -> float:
        """Return the distance of the score from the score of perfect predictions.

        Raises:
            ValueError: if the score is better than the score of perfect predictions.
        """
        present = (y.sum(axis=0) > 0).sum()
        if self.task == "classification" and present < (y.shape[1] if self.scorer in _OF_PAIRS else 2):
            return math.nan
        found = self.sign * (self.perfect - self.score(y, output))
        if found < -BEYOND * max(1.0, abs(self.perfect)):
            raise ValueError(
                f"predictions have the score {self.score(y, output):.6g}, which is better than the score "
                f"of perfect predictions ({self.perfect:.6g})"
            )
        return max(found, 0.0)

    def score(self, y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"]) -> float:
        """Return the scorer's score; for average precision, return the value of `mean_precision`."""
        rows = np.arange(len(y))
        if self.task == "regression":
            truth, said = (part[:, 0] if part.shape[1] == 1 else part for part in (y, output))
            return float(self._asked(_Numbers(said), rows, truth))
        order = list(self.order) or list(range(y.shape[1]))
        if self.scorer == RANKED:
            return mean_precision(y[:, order], output[:, order], self.shares)
        labels = np.asarray(self.labels) if self.labels else np.arange(len(order))
        kind = _Chances if self.probable else _Labels
        return float(self._asked(kind(output[:, order], labels), rows, labels[y[:, order].argmax(axis=1)]))

    def _asked(self, estimator: Any, rows: np.ndarray, truth: np.ndarray) -> Any:
        try:
            return self._scored(estimator, rows, truth)
        except ValueError as error:
            raise ValueError(f"{UNSCORED}{error}") from None

    def _scored(self, estimator: Any, rows: np.ndarray, truth: np.ndarray) -> Any:
        if isinstance(self.scorer, str):
            classes = getattr(estimator, "classes_", ())
            if self.scorer in _EVERY_CLASS and len(classes) > 2:
                return _of_every_class(self.scorer, len(classes))(estimator, rows, truth)
            two = self.several is None or len(classes) == 2
            return _named(self.scorer if two else str(self.several))(estimator, rows, truth)
        if takes_estimator(self.scorer):
            return self.scorer(estimator, rows, truth)
        return self.scorer(truth, estimator.predict(rows))


_named = functools.cache(get_scorer)


@functools.cache
def _of_every_class(name: str, classes: int) -> Any:
    """Return scikit-learn's scorer of this name for rows in which some of the classes 0, 1, ... do not occur."""
    return make_scorer(_named(name)._score_func, response_method=_EVERY_CLASS[name], labels=np.arange(classes))


def takes_estimator(scorer: Callable[..., Any]) -> bool:
    """Whether this is a scorer object of scikit-learn instead of a function of true and predicted targets.

    >>> from sklearn.metrics import fbeta_score, make_scorer, max_error
    >>> takes_estimator(make_scorer(fbeta_score, beta=2)), takes_estimator(max_error)
    (True, False)
    """
    return hasattr(scorer, "_score_func") or type(scorer).__name__ == "_PassthroughScorer"


def influences(
    loss: Callable[[np.ndarray], float], rows: int, members: np.ndarray | None, parts: int = PARTS
) -> Float[np.ndarray, " m"]:
    """Return an array over m rows.

    The mean of the array is the loss, and its variance divided by m is the loss's jackknife variance.

    Let G parts be left out one at a time, and let L_g be the loss without part g. The jackknife's variance is (G - 1)
    times the mean of (L_g - mean L)². So in the array each row (or group) of part g deviates by -sqrt(m (G - 1)) (L_g -
    mean L) from the loss, where m is the number of rows (or groups).

    Args:
        loss: a function from a mask to the loss of the rows that the mask keeps.
        rows: the number of rows.
        members: the group of each row, or None. No group is cut into several parts.
        parts: G, the number of parts.

    >>> values = np.random.default_rng(0).normal(size=400)
    >>> found = influences(lambda kept: values[kept].mean(), 400, None)
    >>> bool(abs(found.mean() - values.mean()) < 1e-12), bool(0.3 < found.var() / values.var() < 3)
    (True, True)
    """
    whole = loss(np.ones(rows, bool))
    units = np.arange(rows) if members is None else np.unique(members, return_inverse=True)[1]
    count = int(units.max()) + 1
    parts = min(parts, count)
    if parts < 2 or not math.isfinite(whole):
        return np.full(rows, whole)
    part = (np.random.default_rng(0).permutation(count) % parts)[units]
    without = np.array([loss(part != g) for g in range(parts)])
    apart = np.nan_to_num(without - np.nanmean(without) if np.isfinite(without).any() else np.zeros(parts))
    found = whole - math.sqrt(count * (parts - 1)) * apart[part]
    return found - found.mean() + whole


def increasing(labels: np.ndarray | None) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the classes in increasing order, as in scikit-learn, and the position of each class in `labels`.

    >>> increasing(np.array(["b", "a"])), increasing(None)
    ((('a', 'b'), (1, 0)), ((), ()))
    """
    found = [] if labels is None else labels.tolist()
    order = sorted(range(len(found)), key=found.__getitem__)
    return tuple(found[i] for i in order), tuple(order)


@functools.cache
def scorer_tasks() -> dict[str, str]:
    """Return the names of scikit-learn's scorers for predictions of numbers or classes, each with its task.

    Scorers of clusterings and of rows with several labels are left out. The positive likelihood ratio is also left out,
    because it has no best value.

    >>> scorer_tasks()["neg_max_error"], scorer_tasks()["f1_macro"], "rand_score" in scorer_tasks()
    ('regression', 'classification', False)
    """
    found = {}
    for name in get_scorer_names():
        module = _named(name)._score_func.__module__
        if "cluster" in module or name.endswith("_samples") or name == "positive_likelihood_ratio":
            continue
        found[name] = "regression" if module.endswith("_regression") else "classification"
    return found
