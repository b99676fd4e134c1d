"""The losses of trained models, each defined once. JAX computes their derivatives with respect to the outputs.

Log loss without weights or smoothing, and squared loss, have the names "softmax" and "squared" and closed formulas.
"""

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError

GRAMMAR = (
    '"log", "squared", "huber WIDTH", "poisson", "quantile SHARE" or "other", or a mapping of classes to weights. You '
    'can append ", smoothed by SHARE" and ", weights CLASS=WEIGHT ..." or ", weights balanced" to "log"'
)
"""The ways in which a user can state a loss."""
_NUMBER = r"(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+)"
_HUBER = re.compile(rf"huber\s*\(?\s*{_NUMBER}\s*\)?")
_QUANTILE = re.compile(rf"quantile\s*\(?\s*{_NUMBER}\s*\)?")
_SMOOTHED = re.compile(rf"smoothed by {_NUMBER}")
_PLAIN = {"softmax": "log loss", "squared": "squared loss", "documents": "log loss of each token"}


LOG, WEIGHTED, SQUARED, HUBER, POISSON = "log", "weighted log", "squared", "huber", "poisson"
"""The kinds of losses that checks distinguish."""
_KINDS = {
    LOG: "log loss",
    WEIGHTED: "log loss with class weights or smoothed labels",
    SQUARED: "squared loss",
    HUBER: "Huber's loss",
    POISSON: "Poisson loss",
}


class LossError(SettingError):
    """The model was trained with a loss whose derivatives lemmata cannot compute."""


@dataclasses.dataclass(frozen=True)
class Loss:
    """The loss of a row, as a function of its outputs f and its target y.

    log: sum_c q_c (log sum_k exp f_k - f_c) where q_c = w_c ((1 - s) y_c + s/C) and y is one-hot. The sum is the log
    loss of C classes with a weight w_c for each class and labels smoothed by the share s, as in
    `torch.nn.CrossEntropyLoss`. huber: sum_c h(f_c - y_c), where h(r) = r²/2 up to the width d and d |r| - d²/2 beyond.
    poisson: sum_c exp f_c - y_c f_c, which is minus the log likelihood of counts y with means exp f, up to a constant.
    other: a loss that cannot be stated. Its values and derivatives raise LossError.

    Args:
        kind: "log", "huber", "poisson" or "other".
        width: the width d of Huber's loss.
        smoothing: the share s, from 0 to below 1.
        weights: the weights w, one for each class. If empty, all weights are 1.
        said: the name of a loss of the kind "other", in the user's words.
        quantile: q, if a loss of the kind "other" makes the outputs q quantiles of the target, as pinball loss does.
        ordering: whether a loss of the kind "other" makes the outputs only order the rows, as Cox's likelihood does.
    """

    kind: str
    width: float = 1.0
    smoothing: float = 0.0
    weights: tuple[float, ...] = ()
    said: str = ""
    quantile: float | None = None
    ordering: bool = False

    @property
    def name(self) -> str:
        """The loss in words."""
        if self.kind != "log":
            return {"huber": f"Huber's loss of width {self.width:.4g}", "poisson": "Poisson loss"}.get(
                self.kind, self.said
            )
        with_weights = " with class weights" if self.weights else ""
        smoothed = f" of labels smoothed by {self.smoothing:g}" if self.smoothing else ""
        return f"log loss{smoothed}{with_weights}"

    def of_row(self, f: Float[Array, " C"], y: Float[Array, " C"]) -> Float[Array, ""]:
        """Return the loss of one row.

        Raises:
            LossError: if the kind is "other".
        """
        if self.kind == "log":
            q = (1 - self.smoothing) * y + self.smoothing / len(f)
            q = q * jnp.asarray(self.weights, f.dtype) if self.weights else q
            return jnp.sum(q) * jax.nn.logsumexp(f) - jnp.sum(q * f)
        if self.kind == "huber":
            size = jnp.abs(f - y)
            return jnp.sum(jnp.where(size <= self.width, (f - y) ** 2 / 2, self.width * size - self.width**2 / 2))
        if self.kind == "poisson":
            return jnp.sum(jnp.exp(f) - y * f)
        rule = "a loss whose derivatives lemmata knows"
        remedy = f"if the loss is one of these, state it with loss= or --loss: {GRAMMAR}"
        raise LossError("the training loss", found=self.said, rule=rule, remedy=remedy)

    def of_rows(self, f: Float[Array, "n C"], y: Float[Array, "n C"]) -> Float[Array, " n"]:
        """Return the losses of rows."""
        return jax.vmap(self.of_row)(f, y)

    def slopes(self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "n C"]:
        """Return the gradient of each row's loss with respect to its outputs."""
        return np.asarray(_derivatives(self, 1)(jnp.asarray(f), jnp.asarray(y)))

    def curvatures(self, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "n C C"]:
        """Return the Hessian of each row's loss with respect to its outputs.

        The Hessian is positive semidefinite, because all losses in this class are convex.
        """
        return np.asarray(_derivatives(self, 2)(jnp.asarray(f), jnp.asarray(y)))


@functools.lru_cache(maxsize=64)
def _derivatives(loss: Loss, order: int) -> Callable[[Array, Array], Array]:
    derivative = jax.grad if order == 1 else jax.hessian
    return jax.jit(jax.vmap(derivative(loss.of_row)))


def loss_kind(loss: "str | Loss") -> str:
    """Return the kind of a loss, which is "other" if the loss cannot be stated."""
    if isinstance(loss, Loss):
        return WEIGHTED if loss.kind == "log" else loss.kind
    return {"softmax": LOG, "squared": SQUARED}.get(loss, loss)


def kinds_told(kinds: tuple[str, ...]) -> str:
    """Return kinds of losses in words: "log loss and squared loss"."""
    *first, last = (_KINDS[own] for own in kinds)
    return f"{', '.join(first)} and {last}" if first else last


def loss_words(loss: "str | Loss") -> str:
    """Return a loss in words, for example "log loss"."""
    return loss.name if isinstance(loss, Loss) else _PLAIN[loss]


@dataclasses.dataclass(frozen=True)
class StatedLoss:
    """A loss as the user or an estimator stated it, before the classes of the model are known.

    Args:
        kind: "log", "squared", "huber", "poisson" or "other".
        width: the width d of Huber's loss, see `Loss`.
        smoothing: the share by which labels are smoothed.
        weights: the weights of classes, by their names. "balanced" gives a class with r of the n rows the weight n /
            (C r), where C is the number of classes. None means no weights.
        said: the user's words for a loss of the kind "other".
        origin: the origin of the statement, in words.
        quantile: the quantile that the outputs estimate, see `Loss`.
        ordering: whether the outputs only order the rows, see `Loss`.
    """

    kind: str
    width: float = 1.0
    smoothing: float = 0.0
    weights: tuple[tuple[Any, Any], ...] | str | None = None
    said: str = "another loss"
    origin: str = "as stated"
    quantile: float | None = None
    ordering: bool = False

    def of_task(self, labels: tuple[Any, ...], counts: Float[np.ndarray, " C"] | None = None) -> str | Loss:
        """Return the loss for these classes. Log loss without weights and smoothing becomes "softmax".

        Args:
            labels: the classes in the order of the outputs; empty for values.
            counts: the number of training rows of each class, for balanced weights.

        Raises:
            SettingError: if a weight is for a class that the model does not have.
        """
        if self.kind == "squared":
            return "squared"
        if self.kind != "log":
            return Loss(self.kind, self.width, said=self.said, quantile=self.quantile, ordering=self.ordering)
        weights = self._weights(labels, counts)
        if all(own == 1 for own in weights):
            weights = ()
        return Loss("log", smoothing=self.smoothing, weights=weights) if weights or self.smoothing else "softmax"

    def _weights(self, labels: tuple[Any, ...], counts: Float[np.ndarray, " C"] | None) -> tuple[float, ...]:
        if self.weights is None or not labels:
            return ()
        if self.weights == "balanced":
            assert counts is not None
            return tuple(float(counts.sum() / (len(labels) * own)) if own else 1.0 for own in counts)
        told = {str(label): float(weight) for label, weight in self.weights if not isinstance(self.weights, str)}
        for label in told:
            if label not in map(str, labels):
                shown = ", ".join(map(str, labels[:12]))
                raise SettingError(
                    "weights of classes", found=f"one of {label!r}", rule=f"classes of the model: {shown}"
                )
        return tuple(told.get(str(label), 1.0) for label in labels)


def read_loss(loss: Any) -> StatedLoss | None:
    """Return the loss that the user stated, or None if `loss` is None.

    Args:
        loss: the loss, in a form that the text `GRAMMAR` lists.

    Raises:
        SettingError: if the loss is stated in any other form.

    >>> read_loss("huber 1.35").width, read_loss("log, smoothed by 0.1").smoothing
    (1.35, 0.1)
    >>> read_loss("quantile 0.9").quantile
    0.9
    >>> read_loss({"rare": 5.0}).weights
    (('rare', 5.0),)
    """
    if loss is None or isinstance(loss, StatedLoss):
        return loss
    if isinstance(loss, Mapping):
        return StatedLoss("log", weights=_checked(tuple(loss.items())))
    if not isinstance(loss, str):
        raise SettingError("loss", found=f"a {type(loss).__name__}", rule=GRAMMAR)
    first, *others = [part.strip() for part in loss.lower().split(",")]
    own = _named(first, loss)
    for part, given in zip(others, loss.split(",")[1:], strict=True):
        smoothed = _SMOOTHED.fullmatch(part)
        if own.kind != "log" or not (smoothed or part.startswith("weights ")):
            raise SettingError("loss", found=repr(loss), rule=GRAMMAR)
        if smoothed:
            own = dataclasses.replace(own, smoothing=_share(float(smoothed[1])))
        else:
            own = dataclasses.replace(own, weights=_read_weights(given.strip()[len("weights ") :], loss))
    return own


def _named(word: str, loss: str) -> StatedLoss:
    name = word.removesuffix(" loss")
    huber = _HUBER.fullmatch(name)
    if huber and float(huber[1]) > 0:
        return StatedLoss("huber", float(huber[1]))
    if name in ("log", "squared", "poisson", "other"):
        return StatedLoss(name)
    share = _QUANTILE.fullmatch(name)
    if share and 0 < float(share[1]) < 1:
        return StatedLoss("other", said=f"quantile loss at {share[1]}", quantile=float(share[1]))
    remedy = (
        ("write, for example, huber 1.35 if the loss is linear for residuals above 1.35") if name == "huber" else None
    )
    raise SettingError("loss", found=repr(loss), rule=GRAMMAR, remedy=remedy)


def _share(value: float) -> float:
    if not value < 1:
        raise SettingError("the share by which labels are smoothed", found=f"{value:g}", rule="from 0 to below 1")
    return value


def _read_weights(words: str, loss: str) -> tuple[tuple[str, float], ...] | str:
    if words.strip() == "balanced":
        return "balanced"
    pairs = [word.rpartition("=") for word in words.split()]
    try:
        return _checked(tuple((name, float(value)) for name, _, value in pairs))
    except ValueError:
        raise SettingError("loss", found=repr(loss), rule=GRAMMAR) from None


def _checked(pairs: tuple[tuple[Any, Any], ...]) -> tuple[tuple[Any, float], ...]:
    for label, weight in pairs:
        known = isinstance(weight, int | float | np.number) and not isinstance(weight, bool)
        if not (known and np.isfinite(weight) and weight > 0):
            raise SettingError(f"weight of class {label!r}", found=repr(weight), rule="a finite number above 0")
    return tuple((label, float(weight)) for label, weight in pairs)
