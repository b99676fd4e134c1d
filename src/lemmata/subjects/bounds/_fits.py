"""Learners that can be fitted repeatedly: estimators with `fit` and `predict`, and functions fit(x, y)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from lemmata.core import answer_of
from lemmata.errors import DataError, SettingError, ShapeError

_LEAST = 16
Fit = Callable[[np.ndarray, np.ndarray], Callable[[np.ndarray], np.ndarray]]


def as_fit(fit: Any) -> Fit:
    """Return a function (rows, labels) -> predict, from an estimator with `fit` and `predict` or from a function.

    Args:
        fit: an estimator, which is cloned for every call, or a function fit(x, y). This function must return a function
            of rows or an object with `predict`.

    Raises:
        SettingError: if `fit` is neither an estimator nor a function. The returned functions raise this error if
            fitting or predicting fails.
    """
    if hasattr(fit, "fit") and hasattr(fit, "predict") and not isinstance(fit, type):
        fresh: Callable[[], Any] = lambda: clone(fit, safe=False)
        return lambda x, y: _checked(_fitted(fresh().fit, x, y).predict)
    if callable(fit) and not isinstance(fit, type):
        return lambda x, y: _checked(_predict_of(_fitted(fit, x, y)))
    remedy = "pass LogisticRegression(), for example, or a function fit(x, y) that returns a function of rows"
    raise SettingError("fit", found=repr(fit), rule="an estimator or a function", remedy=remedy)


def _fitted(fit: Any, x: np.ndarray, y: np.ndarray) -> Any:
    rule = f"a learner of rows of shape {x.shape} with classes {', '.join(map(str, np.unique(y)[:4]))}"
    return answer_of("fit", fit, x, y, rule=rule, remedy="call fit on x and y to see the error")


def _predict_of(fitted: Any) -> Any:
    predict = getattr(fitted, "predict", fitted)
    if not callable(predict):
        rule = "a function of rows, or an object with a method predict"
        raise SettingError("value that fit(x, y) returns", found=type(fitted).__name__, rule=rule)
    return predict


def _checked(predict: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], np.ndarray]:
    def checked(x: np.ndarray) -> np.ndarray:
        found = np.asarray(answer_of("the fitted learner", predict, x, rule=f"predictions for rows of shape {x.shape}"))
        if found.shape == (len(x), 1):
            found = found[:, 0]
        if found.shape != (len(x),):
            raise ShapeError(
                "predictions", found=f"shape {found.shape}", rule=f"one prediction for each of the {len(x)} rows"
            )
        return found

    return checked


def check_enough(n: int) -> None:
    """Raise an error for fewer than 16 rows.

    If a random labelling has only one class, it must be drawn again. With 16 rows and two classes, this happens on
    average in one draw of 2^15.

    Args:
        n: the number of rows whose labels are drawn at random.

    Raises:
        DataError: for fewer than 16 rows.
    """
    if n < _LEAST:
        raise DataError(
            "x",
            found=f"{n} rows",
            rule=f"at least {_LEAST} rows",
            remedy="use more rows; rademacher with family='l2' also accepts fewer",
        )
