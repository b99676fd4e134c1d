"""Models of scikit-learn estimators, rebuilt in JAX from coefficients, and models of which only outputs are known."""

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.errors import DataError, SettingError

from ._contract import AbstractModel, linked, row_by_row
from ._jax import jax_model
from ._losses import Loss

_ACTIVATIONS = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "identity": lambda x: x,
}
_LINEAR = {"LogisticRegression", "LogisticRegressionCV", "LinearRegression", "Ridge", "RidgeCV", "Lasso", "ElasticNet"}
_LINEAR |= {"SGDRegressor"}
_OTHER_LOSSES = {"HuberRegressor", "PoissonRegressor"}
"""Linear models with losses of their own. The outputs of PoissonRegressor are logarithms of means."""
_PERCEPTRONS = {"MLPClassifier", "MLPRegressor"}


@dataclasses.dataclass(frozen=True)
class BlackBox(AbstractModel):
    """A model of which only outputs are known. Products with derivatives raise SettingError.

    Args:
        call: a function from rows to outputs (n, C) or (n,).
        given: a function from rows to the form in which the user's own function takes them, such as a data frame.
    """

    call: Callable[[np.ndarray], Any] = dataclasses.field(repr=False)
    given: Callable[[np.ndarray], Any] = dataclasses.field(repr=False, default=lambda x: x, kw_only=True)

    def called(self, x: np.ndarray) -> Any:
        """Return the result of `call` on a copy of the rows, because the user's own function may write to its input."""
        return self.call(np.array(x))

    def _outputs(self, x: np.ndarray) -> np.ndarray:
        found = self.called(x)
        found = np.asarray(row_by_row(found) if isinstance(found, Mapping) else found)
        _refuse_texts(found)
        found = np.asarray(found, float).reshape(len(found), -1)
        return linked(found, self.link)

    def _saved_bytes(self, x: np.ndarray) -> int:
        return 0

    def _vocabulary(self, x: np.ndarray) -> tuple[int, ...]:
        return np.shape(self.called(x))

    def _none(self) -> np.ndarray:
        remedy = "use only checks that need no derivatives"
        raise SettingError("derivatives", found=f"none of a {self.kind}", rule="a differentiable model", remedy=remedy)

    def _jacobian(self, x: np.ndarray) -> np.ndarray:
        return self._none()

    def _jvp(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._none()

    def _vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._none()

    def _hvp(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> np.ndarray:
        return self._none()

    def _documents_gauss_newton(self, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._none()

    def _loss_slope(self, x: np.ndarray, y: np.ndarray, loss: str | Loss) -> tuple[float, np.ndarray]:
        return 0.0, self._none()

    def _input_vjp(self, u: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._none()


def as_given(model: AbstractModel, x: np.ndarray) -> Any:
    """Return rows in the form that the user's own function accepts.

    The result is a frame if the user's rows are a frame with categories or texts, and an array otherwise.

    Args:
        model: a model that `read_trained` has read.
        x: rows as arrays of numbers, as `read_trained` stores them.
    """
    return model.given(x) if isinstance(model, BlackBox) else x


def estimator_model(estimator: Any) -> AbstractModel:
    """Return a model of a fitted estimator, with one output per class, as logits if the estimator has them.

    For linear models and perceptrons with two classes, the two outputs are minus and plus half of the decision
    function. The softmax of these outputs gives the probabilities. In linear models, the intercept is not decayed, as
    in scikit-learn.

    Raises:
        SettingError: if the estimator is not fitted, or does not learn targets, or is a pipeline; pass the last step of
            a pipeline instead.
    """
    name = type(estimator).__name__
    _refuse_without_targets(estimator, name)
    if hasattr(estimator, "steps"):
        remedy = "pass the last step, pipeline[-1], together with the rows pipeline[:-1].transform(x)"
        raise SettingError(
            "model",
            found="a Pipeline",
            rule="the last step of a pipeline, together with the rows that this step receives",
            remedy=remedy,
        )
    if isinstance(getattr(estimator, "classes_", None), list):
        remedy = "examine one target at a time, for example model.estimators_[0]"
        raise SettingError("model", found=f"a {name} of several targets", rule="one class per row", remedy=remedy)
    if name in _LINEAR | _PERCEPTRONS | _OTHER_LOSSES and not (
        hasattr(estimator, "coef_") or hasattr(estimator, "coefs_")
    ):
        raise SettingError("model", found=f"a {name} without coefficients", rule="fitted", remedy="model.fit(x, y)")
    if name in _LINEAR | _OTHER_LOSSES or _of_log_loss(estimator, name):
        return _linear(estimator, name)
    inner = getattr(estimator, "regressor_", None)
    ends = _ends(getattr(estimator, "transformer_", None))
    if type(inner).__name__ in _LINEAR and ends is not None:
        return _linear(inner, type(inner).__name__, lambda f: jnp.clip(f, *map(jnp.asarray, ends)))
    if name in _PERCEPTRONS:
        return _perceptron(estimator, name)
    call = _asked(_seen(estimator, name), name)
    known = {
        "predict_proba": "probabilities",
        "decision_function": "scores",
        "classes_": "classes",
        "predict": "scores",
    }
    tells = next(own for method, own in known.items() if hasattr(estimator, method))
    return BlackBox(f"scikit-learn {name}", np.zeros(0), (), call=call, tells=tells)


def _refuse_texts(outputs: np.ndarray) -> None:
    """Raise DataError if a model returns texts, such as the names of classes."""
    texts = outputs.dtype.kind in "US" or (outputs.dtype.kind == "O" and any(isinstance(v, str) for v in outputs.flat))
    if texts:
        remedy = (
            "pass the estimator, or its predict_proba, instead of predict. If there are no probabilities, pass "
            "lambda x: (np.asarray(predict(x))[:, None] == np.unique(y)).astype(float)"
        )
        rule = "numbers: target values, or one probability, score or logit for each class"
        raise DataError("outputs", found=f"texts, for example {str(outputs.flat[0])[:40]!r}", rule=rule, remedy=remedy)


def _refuse_without_targets(estimator: Any, name: str) -> None:
    """Raise SettingError for an estimator that does not learn targets, such as a clusterer."""
    from sklearn.base import ClusterMixin, DensityMixin, OutlierMixin  # the user's estimator brings it

    kinds = {ClusterMixin: "a clusterer", OutlierMixin: "an outlier detector", DensityMixin: "a density estimator"}
    for kind, words in kinds.items():
        if isinstance(estimator, kind):
            remedy = (
                "pass a model that was fitted to the targets. If this estimator predicts the targets all the same, "
                "pass a function that maps a batch to the predictions"
            )
            raise SettingError("model", found=f"{name}, {words}", rule="a classifier or a regressor", remedy=remedy)


def _of_log_loss(estimator: Any, name: str) -> bool:
    """Return whether the estimator minimises the log loss of two classes with one linear logit."""
    return (
        name == "SGDClassifier"
        and estimator.loss == "log_loss"
        and np.shape(getattr(estimator, "coef_", ()))[:1] == (1,)
    )


def with_both_classes(model: AbstractModel, x: np.ndarray, y: Any) -> AbstractModel:
    """Return a model that gives the probabilities of both classes if the given function returns only the second.

    A function whose outputs are all exactly 0 or 1 predicts classes and has no probabilities.

    Args:
        model: any model; other kinds are not changed.
        x: the rows.
        y: the targets of the rows.
    """
    targets = np.asarray(y)
    if not isinstance(model, BlackBox) or model.kind != "function" or targets.dtype.kind not in "biuUSO":
        return model
    f = model.outputs(x)
    if f.shape[1] > 1 and f.shape[1] == len(set(targets.ravel().tolist())) and _one_hot(f):
        return dataclasses.replace(model, tells="classes")
    if f.shape[1] != 1 or len(set(targets.ravel().tolist())) != 2 or f.min() < 0 or f.max() > 1:
        return model
    tells = "classes" if len(x) > 1 and np.isin(f, (0, 1)).all() else model.tells

    def both(x: np.ndarray) -> np.ndarray:
        second = np.asarray(model.call(x), float).ravel()
        return np.stack([1 - second, second], axis=1)

    return dataclasses.replace(model, call=both, tells=tells)


def _seen(estimator: Any, name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function for the outputs that an estimator can give.

    The outputs are class probabilities, or else class scores, or else classes as 1 and 0. For a regression, they are
    values.
    """
    classes = getattr(estimator, "classes_", None)
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba
    if not hasattr(estimator, "predict"):
        raise SettingError("model", found=f"a {name}", rule="an estimator that predicts")
    if classes is None:
        return estimator.predict
    if hasattr(estimator, "decision_function"):
        score = lambda x: np.asarray(estimator.decision_function(x), float).reshape(len(x), -1)
        return lambda x: score(x) if len(classes) > 2 else score(x) * np.array([-0.5, 0.5])
    return lambda x: (np.asarray(estimator.predict(x))[:, None] == np.asarray(classes)).astype(float)


def _asked(call: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    """Return the same call of an estimator, which raises SettingError if the estimator is not fitted.

    scikit-learn warns if an estimator was fitted to a frame and gets an array. The columns are already in the right
    order, so this warning is suppressed.
    """

    def asked(x: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                return call(x)
        except Exception as error:
            if type(error).__name__ != "NotFittedError":
                raise
            raise SettingError("model", found=f"a {name} that is not fitted", rule="a fitted estimator",
                               remedy="call model.fit(x, y) on the training rows first") from error  # fmt: skip

    return asked


def _one_hot(f: np.ndarray) -> bool:
    return bool(np.isin(f, (0, 1)).all() and (f.sum(1) == 1).all())


def _ends(transformer: Any) -> tuple[Any, Any] | None:
    """Return the least and the greatest prediction if the transformer only clips predictions to an interval, or None.

    `lemmata study` saves linear regression models in this form.
    """
    if transformer is None or getattr(transformer, "inverse_func", None) is not np.clip or transformer.func is not None:
        return None
    known = transformer.inv_kw_args or {}
    return (known["a_min"], known["a_max"]) if set(known) == {"a_min", "a_max"} else None


def _linear(estimator: Any, name: str, kept: Callable[[Any], Any] = lambda f: f) -> AbstractModel:
    weights = np.atleast_2d(np.asarray(estimator.coef_, float))
    bias = np.broadcast_to(np.asarray(estimator.intercept_, float), len(weights))
    both = _both_signs(estimator, len(weights))
    if not estimator.fit_intercept:
        f = lambda own, x: kept(both(x @ own["weights"].T))
        return jax_model(f, {"weights": jnp.asarray(weights)}, f"scikit-learn {name}")
    params = {"bias": jnp.asarray(bias), "weights": jnp.asarray(weights)}
    f = lambda own, x: kept(both(x @ own["weights"].T + own["bias"]))
    return jax_model(f, params, f"scikit-learn {name}", {"bias": False, "weights": True})


def _perceptron(estimator: Any, name: str) -> AbstractModel:
    params = [(jnp.asarray(w), jnp.asarray(b)) for w, b in zip(estimator.coefs_, estimator.intercepts_, strict=True)]
    activation = _ACTIVATIONS[estimator.activation]
    both = _both_signs(estimator, params[-1][1].size)

    def f(own: Any, x: Any) -> Any:
        for weights, bias in own[:-1]:
            x = activation(x @ weights + bias)
        return both(x @ own[-1][0] + own[-1][1])

    return jax_model(f, params, f"scikit-learn {name}", [(True, False)] * len(params))


def _both_signs(estimator: Any, outputs: int) -> Callable[[Any], Any]:
    """Return a map that turns the column f of logits of two classes into (-f/2, f/2) and keeps other outputs."""
    if outputs == 1 and len(getattr(estimator, "classes_", ())) == 2:
        return lambda f: jnp.concatenate([-f, f], axis=1) / 2
    return lambda f: f
