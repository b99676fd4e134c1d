"""Gradient boosting and random forests, adapted to the number of rows."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._estimators import Fit, fit_estimator, side_by_side
from ._validation import Groups, parted, validating

FULL_FOREST, LEAST_TREES, LEAF_OF_MANY = 3000, 25, 3
"""Up to `FULL_FOREST` rows, a forest has 100 trees, as in scikit-learn.

With more rows, a forest has fewer trees, but at least `LEAST_TREES`. In regression, each leaf then has at least
`LEAF_OF_MANY` rows.
"""
STOPPED_EARLY, ROUNDS = 2000, 1000
"""From `STOPPED_EARLY` rows on, boosting ends if the loss on a held-back tenth stops falling, or after 1000 rounds."""


def sized(make: Callable[[int], Any], x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Fit the estimator that `make` returns for the number of training rows; return its outputs for the other rows."""
    return fit_estimator(functools.partial(make, len(y)), x, y, task)


def boosting(kind: Any, n: int) -> Any:
    """Return an unfitted gradient boosting estimator for n rows."""
    if n < STOPPED_EARLY:
        return kind(random_state=0, early_stopping=False)
    return kind(random_state=0, max_iter=ROUNDS, early_stopping=True, n_iter_no_change=20)


def boosting_of(kind: Any, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Any:
    """Return an unfitted gradient boosting estimator for these rows.

    With many rows in groups, the number of rounds is chosen by early stopping on groups that are left out.

    Args:
        kind: scikit-learn's class for numbers or for classes.
        x: the encoded rows.
        y: one column of numbers, or the classes as one-hot columns.
        task: "regression" or "classification".
        groups: the group of each row, or None.
    """
    made = boosting(kind, len(y))
    if len(y) < STOPPED_EARLY or not parted(groups):
        return made
    last, told = validating(len(y), groups), y[:, 0] if task == "regression" else y.argmax(axis=1)
    if task == "classification":
        last &= np.isin(told, told[~last])  # boosting cannot predict a class without training rows
    if not last.any():
        return boosting(kind, len(y))
    shown = made.fit(x[~last], told[~last], X_val=x[last], y_val=told[last])
    return kind(random_state=0, max_iter=max(1, shown.n_iter_), early_stopping=False)


def boosted(kind: Any, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Fit the estimator of `boosting_of` to the training rows, and return its outputs for the other rows.

    Each target column has its own model.
    """
    n = len(y)
    if task == "regression" and y.shape[1] > 1:
        return side_by_side(functools.partial(boosted, kind), x, y, task, groups)
    return fit_estimator(lambda: boosting_of(kind, x[:n], y, task, groups), x, y, task)


def boosting_price(n: int, d: int, k: int) -> float:
    """Estimate how many seconds a fit to n rows of d columns and k outputs takes."""
    rounds = 100 if n < STOPPED_EARLY else 300
    return rounds * k * (4e-9 * n * d + 1e-3)


def _trees(n: int) -> int:
    return 100 if n <= FULL_FOREST else max(LEAST_TREES, 100 * FULL_FOREST // n)


def forest(kind: Any, leaf: int, n: int) -> Any:
    """Return an unfitted random forest for n rows."""
    many = n > FULL_FOREST
    return kind(_trees(n), random_state=0, min_samples_leaf=leaf if many else 1, n_jobs=2 if many else None)


def forest_price(classes: bool, n: int, d: int, k: int) -> float:
    """Estimate how many seconds a fit to n rows of d columns and k outputs takes."""
    return 0.12 + 5.5e-8 * _trees(n) * n * math.log2(max(n, 2)) * (math.sqrt(d) + k / 4 if classes else d * k)
