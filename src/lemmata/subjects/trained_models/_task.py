"""The task of a model: classes, values or documents, and the meaning of its outputs."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp, softmax

from lemmata.core import array_of, plain_labels
from lemmata.errors import DataError, ShapeError

from ._contract import AbstractModel
from ._losses import Loss, StatedLoss, loss_kind, loss_words

COUNTS = "logarithms of means"
"""The meaning of the outputs of a model that predicts counts."""
AS_VALUES = "as the targets are values"
"""The reason for squared loss if no loss is stated."""
_ROUNDING = 1e-3
_CLIPPED = 0.2  # how far rounded or clipped probabilities of a row may be from the sum 1
_BEYOND = 1.5  # distance from 1/2; values that are fitted to the targets 0 and 1 are nearer to 1/2


class TargetError(DataError):
    """The target of a row cannot be used.

    Args:
        target: the unusable target, in words.
        row_name: the kind of the row: "row" for a training row, "held-out row" or "corrected row".
        row: the position of the row, counted from 0.
        found, rule, remedy: see `lemmata.errors.LemmataError`.
        name: the name of the row, such as its line in a file. By default, the position is the name.
    """

    def __init__(
        self, target: str, row_name: str, row: int, *, found: object = None, rule: str | None = None,
        remedy: str | None = None, name: str | None = None,
    ):  # fmt: skip
        place = f"{row}, counted from 0" if name is None else name
        super().__init__(f"{target} in {row_name} {place}", found=found, rule=rule, remedy=remedy)
        self.target, self.row_name, self.row = target, row_name, row

    def named(self, name: str) -> "TargetError":
        """Return the same error with another name of the row."""
        told = {"found": self.found, "rule": self.rule, "remedy": self.remedy}
        return TargetError(self.target, self.row_name, self.row, **told, name=name)

    def __reduce__(self) -> tuple[type, tuple[Any, ...], dict[str, Any]]:
        return DataError, (self.what,), self.__dict__


@dataclasses.dataclass(frozen=True)
class Task:
    """The meaning of a model's outputs and targets.

    Args:
        loss: the loss of the training. "softmax" is log sum exp f - f_y for classes. "squared" is |f - y|²/2 for
            values. "documents" is for language models, whose one output f is the loss of a document. Any other loss is
            a `Loss`.
        outputs: the meaning of the model's outputs. The outputs are "logits", "probabilities", "values", "losses of
            documents", "logarithms of means" of counts, "scores" of classes, or "classes". For scores, the largest
            score gives the class, but no score is a probability.
        labels: the class of each output; empty for values.
        why: the reason why the training loss is taken to be `loss`, in words.
    """

    loss: str | Loss
    outputs: str
    labels: tuple[Any, ...] = ()
    why: str = dataclasses.field(default="", compare=False)

    @property
    def is_classification(self) -> bool:
        """Whether targets are classes."""
        return self.loss == "softmax" or bool(self.labels) or (isinstance(self.loss, Loss) and self.loss.kind == "log")

    @property
    def is_counted(self) -> bool:
        """Whether outputs are logarithms of predicted counts."""
        return self.outputs == COUNTS

    @property
    def is_language(self) -> bool:
        """Whether rows are documents, which are their own targets."""
        return self.loss == "documents"

    @property
    def name(self) -> str:
        """The name of the task: classification, regression or language."""
        return "classification" if self.is_classification else "language" if self.is_language else "regression"

    @property
    def loss_kind(self) -> str:
        """The kind of the loss: "log", "weighted log", "squared", "huber", "poisson", "documents" or "other"."""
        return loss_kind(self.loss)

    @property
    def loss_known(self) -> bool:
        """Whether lemmata knows the derivatives of the training loss."""
        return self.loss_kind != "other"

    @property
    def loss_told(self) -> str:
        """The training loss and the reason for this loss, as in "log loss, as the targets are classes"."""
        words = loss_words(self.loss)
        weights = self.loss.weights if isinstance(self.loss, Loss) else ()
        if weights:
            words += " " + ", ".join(f"{label}: {own:.3g}" for label, own in zip(self.labels, weights, strict=True))
        return f"{words}, {self.why}" if self.why else words

    @property
    def scored(self) -> bool:
        """Whether outputs rank the classes. If False, outputs only show the predicted class."""
        return self.outputs != "classes"

    @property
    def probable(self) -> bool:
        """Whether outputs are logits or probabilities, which show the certainty of a class."""
        return self.outputs in ("logits", "probabilities")

    def means(self, f: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "n C"]:
        """Return the predictions: probabilities of classes, means of counts, or the outputs themselves."""
        if self.is_counted:
            return np.exp(f)
        return softmax(f, axis=1) if self.is_classification else f

    def slopes(self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "n C"]:
        """Return the gradients of the training loss with respect to the outputs.

        The gradients are p - y for log loss with probabilities p, and f - y for squared loss.

        Raises:
            LossError: if the kind of the loss is "other".
        """
        return self.loss.slopes(f, y) if isinstance(self.loss, Loss) else self.means(f) - y

    def error_slopes(self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "n C"]:
        """Return the gradients of the reported losses (see `losses`) with respect to the outputs."""
        away = self.means(f) - y
        return away * np.exp(f) if self.is_counted else away

    def losses(self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
        """Return the reported loss of each row: unweighted log loss, |m - y|²/2 for means m, or a document's loss."""
        if self.is_classification:
            return np.asarray(logsumexp(f, axis=1)) - (y * f).sum(1)
        if self.is_language:
            return f[:, 0]
        return ((self.means(f) - y) ** 2).sum(1) / 2

    def errors(self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
        """Return each row's error: wrong class (1) or right (0), |m - y|² for values, nats per token for documents."""
        if self.is_classification:
            return (f.argmax(1) != y.argmax(1)).astype(float)
        if self.is_language:
            return f[:, 0] / y[:, 0]
        return ((self.means(f) - y) ** 2).sum(1)

    def curvatures(
        self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"] | None = None
    ) -> Float[np.ndarray, "n C C"]:
        """Return the Hessians of the loss with respect to the outputs.

        The Hessians are diag p - p p' for log loss, the identity for squared loss, and 0 for documents, whose outputs
        are their losses. A `Loss` computes its own Hessians.

        Args:
            f: the outputs.
            y: the targets, on which the Hessian of a `Loss` may depend.
        """
        if isinstance(self.loss, Loss):
            assert y is not None
            return self.loss.curvatures(f, y)
        if self.is_language:
            return np.zeros((*f.shape, f.shape[1]))
        if not self.is_classification:
            return np.broadcast_to(np.eye(f.shape[1]), (*f.shape, f.shape[1]))
        p = self.means(f)
        return p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])

    def encode(self, y: Any, row_name: str = "row") -> Float[np.ndarray, "n C"]:
        """Return targets in the form that the loss needs: one-hot rows, values, or numbers of tokens that count.

        Args:
            y: the targets as the user has them; for a language model, the documents.
            row_name: the name of a row in error messages.

        Raises:
            DataError: if a class has no output, or a value is not finite. The message gives the first row with this
                problem.
        """
        y = plain_labels(array_of("y", y))
        if y.dtype.kind == "c":
            raise DataError("y", found=f"entries of type {y.dtype}", rule="real numbers or classes")
        if self.is_language:
            return (y[:, 1:] >= 0).sum(1, keepdims=True).astype(float)
        if not self.is_classification:
            try:
                values = np.asarray(y, float).reshape(len(y), -1)
            except (TypeError, ValueError) as error:
                raise DataError(f"targets of {row_name}s", found=f"{y.dtype}", rule="numbers",
                                remedy="pass the targets that the model was trained on") from error  # fmt: skip
            if not np.isfinite(values).all():
                row = int(np.flatnonzero(~np.isfinite(values).all(1))[0])
                raise TargetError("target", row_name, row, found=f"{values[row]}", rule="finite values")
            return values
        if y.ndim == 2 and y.shape[1] == len(self.labels) > 1:
            if not _one_hot(y):
                raise DataError(
                    f"targets of {row_name}s",
                    found="columns",
                    rule="in each row a 1 in one column, and 0 in the other columns",
                )
            return np.asarray(y, float)
        known = {label: k for k, label in enumerate(self.labels)}
        own = [known.get(label) for label in y.ravel().tolist()]
        if None in own:
            row = own.index(None)
            what, rule = f"class {y.ravel().tolist()[row]!r}", "a class of the model"
            raise TargetError(what, row_name, row, rule=rule, remedy=self._unknown_class_remedy(row_name))
        return np.eye(len(known))[np.asarray(own, int)]

    def _unknown_class_remedy(self, row_name: str) -> str:
        """Return the remedy for rows of a class that is none of the classes of the outputs."""
        shown = ", ".join(map(str, self.labels[:12])) + (" and others" if len(self.labels) > 12 else "")
        if row_name == "held-out row":
            return (
                "leave out the held-out rows of such classes, and count these rows as errors of the model. If the "
                f"outputs stand for other classes than {shown}, state their classes with labels=(...)"
            )
        return (
            f"if the outputs stand for other classes than {shown}, state the class of each output with labels=(...). "
            "Otherwise leave out the rows of such classes"
        )


def read_task(
    model: AbstractModel, x: np.ndarray, y: Any, labels: tuple[Any, ...] | None = None, stated: StatedLoss | None = None
) -> Task:
    """Infer the task of a model from its outputs on rows and from the targets of the rows.

    Whole numbers, words and Booleans are classes, and fractions are values. Whole numbers for a single output are
    values, too. Outputs between 0 and 1 whose rows have about the sum 1 are probabilities: they may have been rounded
    or clipped, so a row is divided by its sum. Other outputs for classes are logits, unless the model only predicts or
    ranks classes (see `tells` in `AbstractModel`).

    Args:
        model: the model.
        x: the rows.
        y: the targets of the rows; one-hot rows are classes.
        labels: the class of each output in order. By default, 0, 1, ... for whole numbers, and otherwise the sorted
            classes.
        stated: the training loss, if it is known.

    Raises:
        ShapeError: if the number of targets differs from the number of rows, or the number of outputs from the number
            of classes.
    """
    y = plain_labels(array_of("y", y))
    if y.shape[:1] != (len(x),):
        raise ShapeError(
            "y", found=f"{len(y) if y.ndim else 'no'} targets", rule=f"one target for each of the {len(x)} rows"
        )
    _check_targets(y)
    f = model.outputs(x[: model.batch])
    wide = y.ndim == 2 and y.shape[1] > 1
    one_hot = wide and _one_hot(y)
    values = stated is not None and stated.kind in ("squared", "huber", "poisson")
    if wide and not one_hot and not (values and y.dtype.kind == "f"):
        _check_columns(y, f)
    whole = y.dtype.kind in "biuUSO" or (y.dtype.kind == "f" and f.shape[1] > 1 and bool(np.all(y == np.round(y))))
    whole = whole and not wide
    if f.shape[1] == 1 and not values and _two_classes(y, f):
        remedy = (
            'state loss="log" or loss="squared". You can also replace the single logit by two logits, plus and minus '
            "half of it. For squared loss, you can also pass the targets as floating-point values"
        )
        raise ShapeError("outputs", found="1 for 2 classes", rule="one output for each class", remedy=remedy)
    if values or (not one_hot and (not whole or (f.shape[1] == 1 and y.dtype.kind in "iuf"))):
        if y.reshape(len(y), -1).shape[1] != f.shape[1]:
            values_told = "one target value" if y.size == len(y) else f"{y.size // len(y)} target values"
            found = f"{f.shape[1]} outputs for {values_told} in each row"
            remedy = _fitting_remedy(f.shape[1], stated, values)
            raise ShapeError("outputs", found=found, rule="as many outputs as values", remedy=remedy)
        return _of_values(model, y, stated)
    if labels is None:
        labels = (
            tuple(range(f.shape[1])) if one_hot or y.dtype.kind in "biuf" else tuple(sorted(set(y.ravel().tolist())))
        )
    if len(labels) != f.shape[1]:
        remedy = "if some classes do not occur in y, pass labels=(...) with the class of each output, in order"
        if f.shape[1] == 1:
            remedy = 'if the targets are values that the single output predicts, state loss="squared"'
        raise ShapeError(
            "outputs", found=f"{f.shape[1]} for {len(labels)} classes", rule="one output for each class", remedy=remedy
        )
    with np.errstate(invalid="ignore"):  # the examination reports outputs that are not finite
        sums = f.min() >= 0 and f.max() <= 1 + _ROUNDING and np.abs(f.sum(1) - 1).max() <= _CLIPPED
    outputs = "logits" if model.tells == "probabilities" else model.tells
    outputs = "probabilities" if sums and model.tells != "classes" else outputs
    return _of_classes(model, y, outputs, labels, stated)


def _fitting_remedy(outputs: int, stated: StatedLoss | None, values: bool) -> str:
    """Return the remedy for a model whose number of outputs is not the number of values in each row."""
    if values and stated is not None:
        told = f"the {stated.kind} loss needs one output for each value; if the targets are classes, state"
        return f'{told} loss="log"'
    if outputs > 1:
        told = f"if the {outputs} outputs belong to classes, pass the classes as whole numbers or texts"
        return f"{told}; otherwise pass a function of one output, such as lambda x: model.predict(x)[:, [0]]"
    return "pass the columns of targets that the model predicts"


def _of_values(model: AbstractModel, y: np.ndarray, stated: StatedLoss | None) -> Task:
    """Return the task for values, with squared loss unless another loss is stated."""
    if stated is None:
        return Task("squared", "values", why=AS_VALUES)
    if stated.kind == "log":
        raise DataError("targets", found="values", rule="classes, under log loss", remedy='loss="squared"')
    loss = stated.of_task(())
    if stated.kind != "poisson":
        return Task(loss, "values", why=stated.origin)
    if y.dtype.kind not in "biuf" or not (np.asarray(y, float) >= 0).all():
        raise DataError("targets", found="some below 0", rule="at least 0, under Poisson loss")
    return Task(loss, COUNTS if model.differentiable else "values", why=stated.origin)


def _of_classes(
    model: AbstractModel, y: np.ndarray, outputs: str, labels: tuple[Any, ...], stated: StatedLoss | None
) -> Task:
    """Return the task for classes, with log loss. Weights and smoothing are as stated."""
    plain = Task("softmax", outputs, labels, "as the targets are classes")
    if stated is None:
        return plain
    if stated.kind in ("huber", "poisson", "squared"):
        raise DataError("targets", found="classes", rule=f"values, because the {stated.kind} loss was stated")
    balanced = stated.weights == "balanced"
    loss = stated.of_task(labels, plain.encode(y).sum(0) if balanced else None)
    return Task(loss, outputs, labels, stated.origin)


def _one_hot(y: np.ndarray) -> bool:
    """Return whether each row has a single 1 and zeros."""
    return y.dtype.kind in "biuf" and bool(np.isin(y, (0, 1)).all() and (y.sum(1) == 1).all())


def _two_classes(y: np.ndarray, f: Float[np.ndarray, "n 1"]) -> bool:
    """Return whether targets are two classes: words, whole numbers, or 0.0 and 1.0 if some output is far from both."""
    found = set(y.ravel().tolist())
    if y.dtype.kind == "f":
        return found == {0.0, 1.0} and bool(np.abs(f - 0.5).max() > _BEYOND)
    return y.dtype.kind in "biuUSO" and len(found) == 2


def _check_columns(y: np.ndarray, f: Float[np.ndarray, "n C"]) -> None:
    """Raise DataError if columns of targets are several classes of a row, or shares of classes, and not values."""
    if y.dtype.kind not in "biuf":
        raise DataError(
            "targets", found=f"{y.shape[1]} columns of {y.dtype}", rule="one class for each row, or numbers"
        )
    if np.isin(y, (0, 1)).all():
        remedy = (
            "examine one class k at a time, with the targets y[:, k] and the two logits [-f[:, k], f[:, k]] / 2. Or "
            'state loss="squared" with floating-point targets'
        )
        raise DataError("targets", found="rows with several classes or none", rule="one class per row", remedy=remedy)
    shares = bool((y >= 0).all() and np.abs(y.sum(1) - 1).max() < _ROUNDING)
    if shares and not (np.abs(f.sum(1) - 1).max() < _ROUNDING and f.min() >= 0):
        remedy = "y.argmax(1)"
        raise DataError("targets", found="shares of classes", rule="one class per row", remedy=remedy)


def _check_targets(y: np.ndarray) -> None:
    """Raise DataError if a target is missing or not finite, or if some targets are words and others are numbers."""
    if y.ndim > 2:
        raise ShapeError(
            "targets", found=f"shape {y.shape}", rule="one class for each row, or one row of values",
            remedy="for segmentation, make one row for each pixel, with the features around this pixel",
        )  # fmt: skip
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y.reshape(len(y), -1)).all(1)
    elif y.dtype.kind == "O":
        missing = np.array([own is None or own != own for own in y.ravel().tolist()]).reshape(len(y), -1).any(1)
        kinds = {isinstance(own, str) for own in y.ravel().tolist() if own is not None}
        if len(kinds) > 1:
            raise DataError("targets", found="words and numbers", rule="only words or only numbers")
    elif y.dtype.kind in "biuUS":
        return
    else:
        raise DataError("targets", found=f"type {y.dtype}", rule="classes or values")
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise TargetError("target", "row", row, found=f"{y[row]}", rule="a finite target in every row")


def class_counts(y: Float[np.ndarray, "n C"]) -> Int[np.ndarray, " C"]:
    """Return the number of rows of each class."""
    return np.bincount(y.argmax(1), minlength=y.shape[1])
