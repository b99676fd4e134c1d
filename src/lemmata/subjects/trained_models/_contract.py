"""The interface to a trained model: its outputs, and products of its first and second derivatives with vectors."""

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.special
from jaxtyping import Bool, Float, Inexact

from lemmata.errors import LemmataError, ShapeError

from ._losses import Loss

BATCH = 2048
"""The default number of rows that pass through a model at once."""
_KEPT = 2**29
SMALLEST = 1e-30
"""Smaller probabilities are replaced by this value, so that their logarithms are finite."""


_READABLE = (
    "call the model yourself with the first two rows. The model must accept a batch of rows as its only argument, "
    "and return one row of numbers for each input row"
)


@dataclasses.dataclass(frozen=True)
class Layer:
    """A parameter array of a model: its name and its shape."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(np.prod(self.shape, dtype=int))


@dataclasses.dataclass(frozen=True)
class AbstractModel(abc.ABC):
    """A function f(theta, x) at its trained parameters theta, with its outputs and products with its derivatives.

    Parameters are one flat vector of P numbers, in the order of `layers`, with each array in C order. An array that is
    used twice is included once. Rows are arrays (n, *row) in the form that the model accepts. Outputs are (n, C):
    logits, probabilities or values. Rows pass in batches. So a product with a derivative stores at most one batch of
    rows and vectors of P numbers, in the model's own precision.

    A row of a language model is a document of tokens, shape (T,). The one output of a document is its loss, the sum of
    -log p(token | earlier tokens) over all tokens except the first. The user's model returns logits of shape (n, T, V).
    The logits are formed for one batch at a time, and are then discarded. A token k that is passed to the model but
    does not count in the loss (padding, a prompt) is stored as -1 - k.

    Args:
        kind: the library of the model, in words.
        theta: the parameters.
        layers: the names and shapes of the parameter arrays.
        decayed: the parameters on which the weight decay of the training acts. By default, all parameters.
        tells: the meaning of outputs for classes. "probabilities" means that outputs are logits or probabilities.
            "scores" means that outputs only rank the classes. "classes" means that outputs are 1 for one class and 0
            for the others.
        link: "identity" if the outputs are the model's own results. "log" if the model returns probabilities. The
            outputs are then their logarithms. "one logit" or "one probability" if the model returns only the logit or
            the probability of the second of two classes. The logit f of this class becomes the outputs -f/2 and f/2.
            "documents" for a language model.
        batch: the number of rows that pass through the model at once, see `rows_at_once`.
    """

    kind: str
    theta: Inexact[np.ndarray, " P"] = dataclasses.field(repr=False)
    layers: tuple[Layer, ...] = dataclasses.field(repr=False)
    decayed: Bool[np.ndarray, " P"] | None = dataclasses.field(repr=False, default=None, kw_only=True)
    tells: str = dataclasses.field(default="probabilities", kw_only=True)
    link: str = dataclasses.field(default="identity", kw_only=True)
    batch: int = dataclasses.field(default=BATCH, kw_only=True)

    @property
    def differentiable(self) -> bool:
        """Whether the model has derivatives with respect to parameters."""
        return len(self.theta) > 0

    def at(self, theta: Inexact[np.ndarray, " P"]) -> "AbstractModel":
        """Return the same function at other parameters. The user's own model does not change."""
        return dataclasses.replace(self, theta=np.asarray(theta, self.theta.dtype))

    def in_double(self) -> "AbstractModel":
        """Return the same function at the same parameters, computed in float64."""
        return dataclasses.replace(self, theta=self.theta.astype(np.float64))

    def split(self, theta: Inexact[np.ndarray, " P"]) -> dict[str, np.ndarray]:
        """Return a vector of parameters as arrays, by the names of the layers."""
        ends = np.cumsum([layer.size for layer in self.layers])
        parts = np.split(theta, ends[:-1])
        return {layer.name: part.reshape(layer.shape) for layer, part in zip(self.layers, parts, strict=True)}

    def outputs(self, x: np.ndarray) -> Float[np.ndarray, "n C"]:
        """Return the outputs f(theta, x_i), one row for each row of x.

        Raises:
            ShapeError: if the model does not accept the rows.
        """
        try:
            found = [self._outputs(self._own(rows)) for rows in self._batches(x)]
            if found and len(found[0]) != min(len(x), self.batch):
                raise ShapeError(
                    "outputs", found=f"{len(found[0])} output rows for {min(len(x), self.batch)} input rows",
                    rule="one row of outputs for each row of x",
                    remedy="wrap the model in a function or module that transposes the outputs",
                )  # fmt: skip
            return np.concatenate(found).astype(float)
        except LemmataError:
            raise
        except Exception as error:  # the user's own function may raise anything
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".rstrip(": ")
            found = f"shape {np.shape(x)[1:]} each"
            rule, remedy = f"rows that the model accepts; it raised {why}", _READABLE
            raise ShapeError("rows", found=found, rule=rule, remedy=remedy) from error

    def jvp(self, v: Inexact[np.ndarray, " P"], x: np.ndarray) -> Float[np.ndarray, "n C"]:
        """Return J v, the derivatives of all outputs along the direction v of theta, where J is the Jacobian."""
        own = self._own(v)
        return np.concatenate([self._jvp(own, self._own(rows)) for rows in self._batches(x)]).astype(float)

    def vjp(self, u: Float[np.ndarray, "n C"], x: np.ndarray) -> Float[np.ndarray, " P"]:
        """Return J' u = sum_i J_i' u_i, the gradient of sum_i <u_i, f(theta, x_i)>."""
        return self._summed(lambda rows, own: self._vjp(self._own(own), self._own(rows)), x, u)

    def linear(
        self, x: np.ndarray
    ) -> tuple[
        Callable[[Inexact[np.ndarray, " P"]], Float[np.ndarray, "n C"]],
        Callable[[Float[np.ndarray, "n C"]], Float[np.ndarray, " P"]],
    ]:
        """Return the maps v -> J v and u -> J' u at these rows, for use with many v and u.

        If the library can store the computation and all rows pass at once, the outputs are computed only once.
        """
        return (lambda v: self.jvp(v, x)), (lambda u: self.vjp(u, x))

    def hvp(
        self, v: Inexact[np.ndarray, " P"], x: np.ndarray, y: Float[np.ndarray, "n C"], loss: str | Loss
    ) -> Float[np.ndarray, " P"]:
        """Return H v, where H is the sum over i of the Hessians of loss(f(theta, x_i), y_i) with respect to theta.

        Args:
            v: the vector, with one entry for each parameter, that the Hessian is multiplied by.
            x: rows.
            y: the targets. For "softmax", they are probabilities of classes (for example, one-hot rows). For
                "squared", they are values.
            loss: "softmax" is log sum exp f - <y, f>, "squared" is |f - y|²/2, and "documents" is the output itself.
                Any other loss is a `Loss` object.
        """
        own = self._own(v)
        return self._summed(lambda rows, targets: self._hvp(own, self._own(rows), self._own(targets), loss), x, y)

    def hessian(
        self, x: np.ndarray, y: Float[np.ndarray, "n C"], loss: str | Loss
    ) -> Callable[[Inexact[np.ndarray, " P"]], Float[np.ndarray, " P"]]:
        """Return the map v -> `hvp(v, x, y, loss)`, for use with many v.

        If the library can store the computation and all rows pass at once, the gradient is computed only once.
        """
        return lambda v: self.hvp(v, x, y, loss)

    def gauss_newton(
        self, v: Inexact[np.ndarray, " P"], x: np.ndarray, loss: str | Loss, y: Float[np.ndarray, "n C"] | None = None
    ) -> Float[np.ndarray, " P"]:
        """Return (sum_i J_i' Lambda_i J_i) v, where Lambda_i is the Hessian of loss i with respect to the outputs.

        Here J_i is the Jacobian of the outputs at row i. The matrix is positive semidefinite, because the losses are
        convex in the outputs. For documents, the outputs in this product are the logits of all tokens that count. If
        the Hessian of a `Loss` depends on the targets, pass the targets as `y`.
        """
        own = self._own(v)
        if loss == "documents":
            return self._summed(lambda rows, _: self._documents_gauss_newton(own, self._own(rows)), x, x)
        pushed = self.jvp(v, x)
        if isinstance(loss, Loss):
            assert y is not None
            pushed = np.einsum("iab,ib->ia", loss.curvatures(self.outputs(x), y), pushed)
        if loss == "softmax":
            p = scipy.special.softmax(self.outputs(x), axis=1)
            pushed = p * pushed - p * (p * pushed).sum(1, keepdims=True)
        return self.vjp(pushed, x)

    def loss_slope(
        self, x: np.ndarray, y: Float[np.ndarray, "n C"], loss: str | Loss
    ) -> tuple[float, Float[np.ndarray, " P"]]:
        """Return the sum of losses and its gradient with respect to theta, in one pass. For `loss`, see `hvp`."""
        total, slope = 0.0, np.zeros_like(self.theta)
        for rows, targets in zip(self._batches(x), self._batches(y), strict=True):
            value, own = self._loss_slope(self._own(rows), self._own(targets), loss)
            total += float(value)
            slope += own
        return total, slope

    def input_vjp(self, u: Float[np.ndarray, "n C"], x: np.ndarray) -> Float[np.ndarray, "n *row"]:
        """Return the gradient of <u_i, f(theta, x_i)> with respect to x_i for each row."""
        parts = [
            self._input_vjp(self._own(weights), self._own(rows))
            for rows, weights in zip(self._batches(x), self._batches(u), strict=True)
        ]
        return np.concatenate(parts).astype(float)

    def jacobian(self, x: np.ndarray) -> Float[np.ndarray, "n C P"]:
        """Return the Jacobian J, which has n C P numbers. Use this method for small models and few rows at a time."""
        return np.concatenate([self._jacobian(self._own(rows)) for rows in batches(x, min(32, self.batch))]).astype(
            float
        )

    def matrix_factors(self, x: np.ndarray) -> dict[str, tuple[Float[np.ndarray, "n b"], Float[np.ndarray, "n C a"]]]:
        """Return, by name, a pair for each parameter matrix that multiplies rows.

        The pair has the inputs of the matrix, and the derivatives of the model's outputs with respect to the products
        of the matrix with these inputs.

        The interface to a library may leave out matrices, and a pair may be wrong. So the function `factors` compares
        each pair with the Jacobian.
        """
        if self.link == "documents":
            return {}
        parts = [self._matrix_factors(self._own(rows)) for rows in self._batches(x)]
        names = [name for name in parts[0] if all(name in part for part in parts)]
        join = lambda name, place: np.concatenate([part[name][place] for part in parts]).astype(float)
        return {name: (join(name, 0), join(name, 1)) for name in names}

    def vocabulary(self, x: np.ndarray) -> tuple[int, ...]:
        """Return the shape of the results of the user's own function for these rows."""
        return self._vocabulary(x)

    def _batches(self, x: np.ndarray) -> Iterator[np.ndarray]:
        return batches(x, self.batch)

    def _own(self, array: np.ndarray) -> np.ndarray:
        """Return floating-point numbers in the model's own precision; whole numbers (tokens) are not changed."""
        array = np.asarray(array)
        return np.asarray(array, self.theta.dtype) if array.dtype.kind == "f" else array

    def _summed(
        self, term: Callable[[np.ndarray, np.ndarray], np.ndarray], x: np.ndarray, u: np.ndarray
    ) -> Float[np.ndarray, " P"]:
        total = np.zeros_like(self.theta)
        for rows, weights in zip(self._batches(x), self._batches(u), strict=True):
            total += term(rows, weights)
        return total

    @abc.abstractmethod
    def _saved_bytes(self, x: np.ndarray) -> int:
        """Return the bytes that a gradient keeps between forward and backward pass, including the parameters."""

    @abc.abstractmethod
    def _vocabulary(self, x: np.ndarray) -> tuple[int, ...]:
        """Return the shape of the results of the user's own function for these rows."""

    @abc.abstractmethod
    def _outputs(self, x: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def _jacobian(self, x: np.ndarray) -> np.ndarray: ...

    def _matrix_factors(self, x: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {}

    @abc.abstractmethod
    def _jvp(self, v: np.ndarray, x: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def _vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def _hvp(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> np.ndarray: ...

    @abc.abstractmethod
    def _documents_gauss_newton(self, v: np.ndarray, x: np.ndarray) -> np.ndarray: ...

    @abc.abstractmethod
    def _loss_slope(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> tuple[float, np.ndarray]: ...

    @abc.abstractmethod
    def _input_vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray: ...


def linked(found: Inexact[np.ndarray, "n _"], link: str) -> Inexact[np.ndarray, "n C"]:
    """Return the outputs that follow from the model's own results, according to its `link`.

    Args:
        found: the model's results for rows.
        link: the link of the model, see `AbstractModel`. For "documents", the results are losses and are not changed.
    """
    if link in ("identity", "documents"):
        return found
    logarithm = lambda p: np.log(np.maximum(p, SMALLEST))
    if link == "log":
        return logarithm(found)
    logit = logarithm(found) - logarithm(1 - found) if link == "one probability" else found
    return np.concatenate([-logit, logit], axis=1) / 2


def rows_at_once(model: AbstractModel, x: np.ndarray) -> int:
    """Return how many rows may pass through a model at once, a power of 2 that is at most 2048.

    The memory that a gradient keeps between its forward and backward pass is measured for one row and for two rows. The
    number of rows is then chosen so that this memory is at most half a GiB, or the number is 1. A product with the
    Hessian keeps about four times as much memory as a gradient.

    Args:
        model: any model.
        x: at least one row.
    """
    if not model.differentiable:
        return BATCH
    for row in (x[:1], x[:1].astype(float)):
        try:
            one, two = (model._saved_bytes(model._own(np.repeat(row, count, axis=0))) for count in (1, 2))
        except Exception:  # the model may not accept this type of row; the user's own function may raise anything
            continue
        fit = int(_KEPT / max(two - one, 1))
        return min(BATCH, 1 << max(fit.bit_length() - 1, 0))
    return BATCH  # `outputs` then raises an error that explains the problem


def batch_of_one(call: Callable[[Any], Any], x: Any, joined: Callable[[Any], Any]) -> Any:
    """Return the output of a model for a batch, with one line for each row.

    A model may drop the axis of a batch with a single row. The row is then passed twice, and the first output is used.

    Args:
        call: the model as a function of a batch.
        x: the batch, with one line for each row.
        joined: a function that concatenates a list of batches.
    """
    found = call(x)
    if len(x) != 1 or not hasattr(found, "shape") or tuple(found.shape[:1]) == (1,):
        return found
    return call(joined([x, x]))[:1]


def row_by_row(found: Any) -> Any:
    """Return the results of a model for a batch with one line of outputs for each row.

    Raises:
        ShapeError: if the model did not return an array whose first axis has one entry for each row.
    """
    if isinstance(found, Mapping | list | tuple) or not hasattr(found, "reshape"):
        raise ShapeError("outputs", found=f"a {type(found).__name__}", rule="one array", remedy=_unwrapping(found))
    return found.reshape(len(found), -1)


def _unwrapping(found: Any) -> str:
    """Return the advice for a user whose model does not return one array. If a name is known, the advice has code."""
    remedy = "wrap the model in a function or module that returns only the logits or values"
    entries: dict[Any, Any] = dict(enumerate(found if isinstance(found, tuple) else ()))
    if isinstance(found, Mapping):
        entries = dict(found)
    arrays = [name for name, entry in entries.items() if hasattr(entry, "reshape")]
    if not arrays:
        return remedy
    name = "logits" if "logits" in arrays else arrays[0]
    if not hasattr(entries[name], "grad_fn"):
        return f"{remedy}, such as lambda x: model(x)[{name!r}]"
    return f"{remedy}, or first call model.register_forward_hook(lambda module, x, found: found[{name!r}])"


def batches(x: np.ndarray, rows: int = BATCH) -> Iterator[np.ndarray]:
    """Return an iterator over the rows in batches."""
    return (x[i : i + rows] for i in range(0, len(x), rows))
