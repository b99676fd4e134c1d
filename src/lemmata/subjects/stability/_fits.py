"""Check fitting methods (functions of (x, y) that return a predictor), rows and losses."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lemmata.core import answer_of, array_of, check_numbers, plain_labels
from lemmata.errors import DataError, SettingError, ShapeError

Fit = Callable[[Any, Any], Any]
Loss = Callable[[np.ndarray, np.ndarray], ArrayLike]


def _squared(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _summed((predicted - y) ** 2)


def _absolute(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _summed(np.abs(predicted - y))


def _zero_one(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _summed(predicted != y) > 0


def _summed(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), -1).sum(axis=1)


LOSSES: dict[str, Loss] = {"squared": _squared, "absolute": _absolute, "zero-one": _zero_one}


def checked_rows(x: Any, y: Any, names: tuple[str, str] = ("x", "y")) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets as arrays. Raise an error if they have different numbers of rows.

    Args:
        x: the inputs, an array of shape (n, ...). Of a data frame, only the values are used.
        y: the targets, numbers or labels, of shape (n,) or (n, k).
        names: the names of x and y, for messages.

    Raises:
        ShapeError, DataError: if the arrays are not valid.
    """
    inputs, targets = (plain_labels(array_of(name, each)) for name, each in zip(names, (x, y), strict=True))
    targets = targets.astype(int) if targets.dtype.kind == "b" else targets
    for name, values in zip(names, (inputs, targets), strict=True):
        if values.ndim == 0:
            raise ShapeError(name, found="a single value", rule="one row for each example")
        if values.dtype.kind in "fiubc":
            check_numbers(name, values)
    if len(inputs) != len(targets):
        rule = "the same number of rows"
        raise ShapeError(" and ".join(names), found=f"{len(inputs)} and {len(targets)} rows", rule=rule)
    if targets.ndim > 2:
        raise ShapeError(names[1], found=f"shape {targets.shape}", rule="shape (n,) or (n, outputs)")
    return inputs, targets


def checked_loss(loss: str | Loss, y: np.ndarray) -> Loss:
    """Return the loss function of this name, or the given function itself.

    Args:
        loss: "squared", "absolute" or "zero-one", or a function of (predicted, y) that returns one number for each row.
        y: the targets. The targets must be numbers, unless the loss is "zero-one" or a function.

    Raises:
        SettingError: if the name is unknown.
        DataError: if the targets are labels but the loss needs numbers.
    """
    if callable(loss):
        return loss
    if not isinstance(loss, str) or loss not in LOSSES:
        raise SettingError(
            "loss", found=repr(loss), rule=f"one of {', '.join(LOSSES)}, or a function of (predicted, y)"
        )
    if loss != "zero-one" and y.dtype.kind not in "fiub":
        remedy = 'loss="zero-one"'
        raise DataError(
            "y", found=f"entries of type {y.dtype}", rule=f"numbers for the {loss} loss", remedy=f"use {remedy}"
        )
    return LOSSES[loss]


def check_fit(fit: Any, name: str = "fit") -> None:
    """Raise SettingError if `fit` is not a function of (x, y): if it cannot be called, or is a class or a model.

    Args:
        fit: the value that the caller passed.
        name: the name of the argument, for the message.

    Raises:
        SettingError: if `fit` cannot be called, or is a class or a model.
    """
    if callable(fit) and not (isinstance(fit, type) or hasattr(fit, "predict")):
        return
    remedy = "lambda x, y: clone(model).fit(x, y)" if hasattr(fit, "predict") else "fit=lambda x, y: Ridge().fit(x, y)"
    raise SettingError(
        name, found=f"{fit!r}"[:60], rule="a function of (x, y) that returns a fit", remedy=f"pass {remedy}"
    )


def predictor(fit: Fit, x: np.ndarray, y: np.ndarray, name: str = "fit") -> Callable[[np.ndarray], np.ndarray]:
    """Fit to rows, and return a function from inputs to predictions. The predictions have the shape of the targets.

    Args:
        fit: a function of (x, y) that returns an object with a method `predict`, or a function of x.
        x: the training inputs.
        y: the training targets.
        name: the name of the fit, for messages.

    Raises:
        SettingError: if `fit` or the object that it returns raises an error, or if this object cannot predict.
        ShapeError, DataError: if the predictions are not finite, or are not one for each target. The returned function
            raises these errors.
    """
    model = answer_of(name, fit, x, y, rule=f"a function that fits rows of shape {x.shape}")
    predict = getattr(model, "predict", model)
    if not callable(predict):
        found = f"a {type(model).__name__}"
        raise SettingError(f"{name}(x, y)", found=found, rule="an object with a method predict, or a function of x")

    def predicted(inputs: np.ndarray) -> np.ndarray:
        rule = f"predictions for rows of shape {inputs.shape}"
        values = np.asarray(answer_of(f"the model of {name}", predict, inputs, rule=rule))
        wanted = (len(inputs), *y.shape[1:])
        if values.shape != wanted and values.size != np.prod(wanted):
            rule = f"shape {wanted} for {len(inputs)} inputs, like the targets"
            raise ShapeError(f"predictions of {name}", found=f"shape {values.shape}", rule=rule)
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            found = f"{int((~np.isfinite(values)).sum())} predictions that are not finite"
            raise DataError(
                f"predictions of {name}",
                found=found,
                rule="finite numbers",
            )
        return values.reshape(wanted)

    return predicted


def losses_of(loss: Loss, predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the losses as an array with one finite number for each row.

    Args:
        loss: a function of (predicted, y).
        predicted: the predictions.
        y: the targets.

    Raises:
        ShapeError, DataError: if the loss does not return one finite number for each row.
        SettingError: if the loss raises an error.
    """
    values = np.asarray(answer_of("loss", loss, predicted, y, rule="a function of predictions and targets"))
    if values.shape != (len(y),):
        raise ShapeError("losses", found=f"shape {values.shape}", rule=f"shape ({len(y)},), one number for each row")
    check_numbers("losses", values)
    return values.astype(float)
