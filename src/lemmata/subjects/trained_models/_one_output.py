"""Models with one output for two classes. This output is a logit or a probability, and not a value."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from lemmata.errors import ShapeError

from ._contract import AbstractModel
from ._estimators import BlackBox
from ._linear_layers import linear_layers
from ._losses import StatedLoss

ONE_LOGIT, ONE_PROBABILITY = "one logit", "one probability"


def with_two_outputs(
    model: AbstractModel, x: np.ndarray, y: Any, labels: tuple[Any, ...] | None, stated: StatedLoss | None
) -> tuple[AbstractModel, tuple[Any, ...] | None, str]:
    """Turn a model with one output for two classes into a model with two outputs, -f/2 and f/2.

    Here f is the logit of the second class. Suppose that the user or the estimator has stated log loss. The output is
    then read as a probability if all outputs are in [0, 1] and are not linear in any layer of parameters. Otherwise,
    the output is read as a logit. Without a stated loss, the model must have derivatives and the targets must have two
    values. If the targets are words, Booleans or whole numbers, the rule is the same. If the targets are 0.0 and 1.0,
    outputs in [0, 1] are probabilities if they are not linear in any layer, and otherwise values. Outputs beyond [0, 1]
    are compared with the targets: they are logits if their logistic function has the smaller squared distance, and
    otherwise values.

    Args:
        model: any model. A model with several outputs, or with outputs that are values, is not changed.
        x: the training rows.
        y: the targets of the rows.
        labels: the two classes, as the user stated them; None if the user did not.
        stated: the training loss, as the user or the estimator stated it; None if it is not known.

    Returns:
        The model, its labels, and the reason for this reading, in words. The reason is empty if the model is unchanged.

    Raises:
        ShapeError: if log loss is stated for one output and more than two classes.
    """
    targets = np.asarray(y)
    if model.link != "identity" or targets.dtype.kind not in "biufUSO" or targets.shape[:1] != (len(x),):
        return model, labels, ""
    if targets.size != len(targets) or (stated is not None and stated.kind != "log"):
        return model, labels, ""
    f = model.outputs(x)
    if f.shape[1] != 1 or not np.isfinite(f).all():
        return model, labels, ""
    classes = tuple(sorted(set(targets.ravel().tolist()), key=lambda own: (str(type(own)), own)))
    if stated is not None and len(labels or classes) > 2:
        raise ShapeError(
            "outputs",
            found=f"one output for {len(labels or classes)} classes",
            rule="one output for each class, because log loss is stated",
            remedy='return one output for each class. If the targets are values, state loss="squared"',
        )
    link = _link(model, x, f[:, 0], targets.ravel(), classes, stated)
    if link == "identity":
        return model, labels, ""
    if labels is None:
        whole = set(classes) <= {0, 1}
        labels = (0, 1) if whole and not isinstance(classes[0], bool) else classes
    why = (
        f"as one output for two classes is read as the {'logit' if link == ONE_LOGIT else 'probability'} of the second"
    )
    return dataclasses.replace(model, link=link), labels, why


def _link(
    model: AbstractModel, x: np.ndarray, f: Float[np.ndarray, " n"], y: np.ndarray, classes: tuple[Any, ...],
    stated: StatedLoss | None,
) -> str:  # fmt: skip
    inside = bool(f.min() >= 0 and f.max() <= 1)
    if stated is not None:
        return ONE_PROBABILITY if inside and _bent(model, x) else ONE_LOGIT
    if not model.differentiable or len(classes) != 2:
        return "identity"
    if y.dtype.kind != "f":
        return ONE_PROBABILITY if inside and _bent(model, x) else ONE_LOGIT
    if classes != (0.0, 1.0):
        return "identity"
    if inside:
        return ONE_PROBABILITY if _bent(model, x) else "identity"
    return ONE_LOGIT if ((expit(f) - y) ** 2).mean() < ((f - y) ** 2).mean() else "identity"


def _bent(model: AbstractModel, x: np.ndarray) -> bool:
    """Return True if outputs are linear in no layer, as after a logistic function, or if only outputs are known."""
    return isinstance(model, BlackBox) or not model.differentiable or not linear_layers(model, x).any()
