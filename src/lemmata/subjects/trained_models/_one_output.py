"""One output for two classes: a logit, or a probability, and not a value."""

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
    """A model of one output for two classes, as a model of two outputs -f/2 and f/2. f is the second class's logit.

    If log loss is stated, the output is a logit. It is a probability instead if all outputs are in [0, 1] and are
    linear in no layer of parameters. Without a statement, the same holds for targets that are words, Booleans or two
    whole numbers and a model with derivatives. For the targets 0.0 and 1.0, the output is read as a logit if its
    logistic function is nearer to the targets, in squares, than the output. It is read as a probability if outputs in
    [0, 1] are linear in no layer.

    Args:
        model: any; a model with several outputs, or for values, is not changed.
        x: training rows.
        y: their targets.
        labels: the two classes, as stated.
        stated: the loss, as stated.

    Returns: The model, its labels, and the reason for this reading; empty if it is unchanged.

    Raises:
        ShapeError: log loss of one output for more than two classes.
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
            "outputs", found=f"1 for {len(labels or classes)} classes", rule="one for each class under log loss"
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
    """Whether outputs are linear in no layer, as for a logistic function. It is also True if only outputs are known."""
    return isinstance(model, BlackBox) or not model.differentiable or not linear_layers(model, x).any()
