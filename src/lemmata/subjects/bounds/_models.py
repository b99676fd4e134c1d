"""Convert scikit-learn estimators, kernels and Equinox modules to classifiers with Gaussian noise on their weights."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import AbstractKernel, gram

from ._gaussian_rules import GaussianRules, LinearRules, estimator_rules, linear_rules, module_classes, module_rules

_STEPS, _RATE = 400, 3e-3
_AGREE = 0.999


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Training rows, and the indices of the rows on which the prior may depend.

    Args:
        x: the rows.
        labels: the classes 0, 1, ...
        seen: the indices of the prior's rows; empty if the prior does not depend on data.
        classes: the number of classes.
    """

    x: np.ndarray
    labels: Int[np.ndarray, " n"]
    seen: Int[np.ndarray, " s"]
    classes: int


@dataclasses.dataclass(frozen=True, eq=False)
class Fits:
    """Two classifiers (rules) without noise, and the family of noisy rules between both.

    Args:
        rules: the family of noisy rules, with normal weights around a point between both rules.
        first: the rule of the prior's mean, a map from rows to classes.
        last: the rule of the fit to all rows, a map from rows to classes.
    """

    rules: GaussianRules
    first: Callable[[np.ndarray], np.ndarray]
    last: Callable[[np.ndarray], np.ndarray]


def read_model(model: Any, rows: Rows, train: Callable | None, ridge: float) -> Fits:
    """Fit a model to the prior's rows and to all rows, and return both fits with a family of rules with Gaussian noise.

    Args:
        model: a scikit-learn classifier, a pipeline that ends in a classifier, a kernel, or an Equinox module.
        rows: all training rows, and the indices of the rows on which the prior may depend.
        train: a function that trains an Equinox module; by default, Adam on the cross-entropy.
        ridge: the ridge of the kernel ridge regression, if the model is a kernel.

    Raises:
        SettingError: for a model of another kind, or a model whose weights cannot be used.
    """
    if isinstance(model, AbstractKernel):
        return _kernel(model, rows, ridge)
    if isinstance(model, BaseEstimator):
        return _estimator(model, rows)
    if isinstance(model, eqx.Module) and callable(model):
        return _module(model, rows, train or _adam)
    remedy = "pass a scikit-learn classifier, a pipeline that ends in one, a lemmata kernel, or an Equinox module"
    raise SettingError(
        "model", found=type(model).__name__, rule="a model with weights to which noise can be added", remedy=remedy
    )


def _kernel(kernel: AbstractKernel, rows: Rows, ridge: float) -> Fits:
    """Fit kernel ridge regression to class indicators -1 and 1. The covariance of the noise is the kernel."""
    targets = 2.0 * np.eye(rows.classes)[rows.labels] - 1
    if rows.classes == 2:
        targets = targets[:, 1:]
    matrix = np.asarray(gram(kernel, jnp.asarray(rows.x)), float)
    solve = lambda own: np.linalg.solve(matrix[np.ix_(own, own)] + ridge * np.eye(len(own)), targets[own])
    first, last = np.zeros_like(targets), solve(np.arange(len(targets)))
    if len(rows.seen):
        first[rows.seen] = solve(rows.seen)
    difference = last - first
    distance = float(np.sum(difference * (matrix @ difference)))

    def outputs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cross = np.asarray(gram(kernel, jnp.asarray(x), jnp.asarray(rows.x)), float)
        spread = np.sqrt(np.maximum(np.asarray(kernel.diagonal(jnp.asarray(x)), float), 0.0))
        return cross @ first, cross @ last, spread

    decide = lambda position: lambda x: _classes(outputs(x)[position])
    return Fits(LinearRules(max(distance, 0.0), outputs), decide(0), decide(1))


def _estimator(model: Any, rows: Rows) -> Fits:
    transform, final = _prepared(model, rows)
    if not is_classifier(final):
        raise SettingError(
            "model",
            found=type(final).__name__,
            rule="a classifier, because these bounds are about errors of classification",
        )
    seen = rows.seen if len(rows.seen) else np.arange(len(rows.x))
    network = isinstance(final, MLPClassifier)
    if network and not len(rows.seen):
        remedy = "use prior='half', or an Equinox module, whose weights before training are known"
        raise SettingError(
            "prior",
            found="'free'",
            rule="a model with weights before training, which an MLP of scikit-learn does not have",
            remedy=remedy,
        )
    prior = _fresh(final).fit(transform(rows.x[seen]), rows.labels[seen])
    if network:
        after = copy.deepcopy(prior).set_params(warm_start=True).fit(transform(rows.x), rows.labels)
        rules = estimator_rules(prior, after, ("coefs_", "intercepts_"), transform)
        return Fits(rules, lambda x: prior.predict(transform(x)), lambda x: after.predict(transform(x)))
    after = _fresh(final).fit(transform(rows.x), rows.labels)
    last = _linear_weights(after, transform(rows.x), rows)
    first = _linear_weights(prior, transform(rows.x), rows) if len(rows.seen) else np.zeros_like(last)
    rules = linear_rules(first, last, lambda x: _with_one(transform(x)))
    decide = lambda weights: lambda x: _classes(_with_one(transform(x)) @ weights)
    return Fits(rules, decide(first), decide(last))


def _prepared(model: Any, rows: Rows) -> tuple[Callable[[np.ndarray], np.ndarray], Any]:
    """Return the classifier, and the pipeline's steps before it as a function, fitted only to the prior's rows."""
    if not isinstance(model, Pipeline):
        return lambda x: np.array(x, float), model
    if len(model.steps) == 1:
        return lambda x: np.array(x, float), model.steps[-1][1]
    if not len(rows.seen):
        remedy = "use prior='half', or pass the classifier without the steps before it"
        raise SettingError(
            "prior",
            found="'free'",
            rule="a classifier without earlier steps, because these steps are fitted on the rows",
            remedy=remedy,
        )
    before = _fresh(model[:-1]).fit(rows.x[rows.seen], rows.labels[rows.seen])
    return lambda x: np.asarray(before.transform(np.array(x)), float), model.steps[-1][1]


def _linear_weights(fitted: Any, features: Float[np.ndarray, "n p"], rows: Rows) -> Float[np.ndarray, "p1 k"]:
    """Return the weights and intercepts of a linear classifier, after a check that they give its predictions."""
    coefficients = np.atleast_2d(np.asarray(getattr(fitted, "coef_", np.empty(0)), float))
    outputs = 1 if rows.classes == 2 else rows.classes
    kind, remedy = type(fitted).__name__, "a linear classifier, MLPClassifier, a lemmata kernel, or an Equinox module"
    if coefficients.shape != (outputs, features.shape[1]):
        found = f"{kind} with coef_ of shape {coefficients.shape}" if coefficients.size else f"{kind} without coef_"
        raise SettingError(
            "model", found=found, rule=f"coef_ of shape {outputs, features.shape[1]}", remedy=f"pass {remedy}"
        )
    intercepts = np.broadcast_to(np.asarray(getattr(fitted, "intercept_", 0.0), float), (outputs,))
    weights = np.concatenate([coefficients.T, intercepts[None]])
    agree = float(np.mean(_classes(_with_one(features) @ weights) == fitted.predict(features)))
    if agree < _AGREE:
        found = f"{kind}, whose weights agree with predict in {agree:.1%} of the rows"
        raise SettingError(
            "model",
            found=found,
            rule="a model that predicts the class with the largest output",
            remedy=f"pass {remedy}",
        )
    return weights


def _fresh(model: Any) -> Any:
    return clone(model)


def _with_one(features: np.ndarray) -> np.ndarray:
    return np.concatenate([features, np.ones((len(features), 1))], axis=1)


def _classes(outputs: np.ndarray) -> np.ndarray:
    return (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)


def _module(model: eqx.Module, rows: Rows, train: Callable) -> Fits:
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    if not leaves:
        raise SettingError(
            "model", found=f"{type(model).__name__} without weights", rule="a module with arrays that can be trained"
        )
    x = rows.x.astype(leaves[0].dtype)
    shape = jax.eval_shape(model, jax.ShapeDtypeStruct(x.shape[1:], x.dtype)).shape  # type: ignore[arg-type]
    if shape != (rows.classes,) and not (rows.classes == 2 and shape == (1,)):
        raise ShapeError(
            "output of the module", found=f"shape {shape}", rule=f"shape ({rows.classes},), one output for each class"
        )
    first = train(model, x[rows.seen], rows.labels[rows.seen]) if len(rows.seen) else model
    last = train(first, x, rows.labels)
    for name, trained in (("the prior's rows", first), ("all rows", last)):
        after = jax.tree.leaves(eqx.filter(trained, eqx.is_inexact_array))
        if [leaf.shape for leaf in after] != [leaf.shape for leaf in leaves]:
            raise ShapeError(
                f"value that train returns on {name}", rule="a module with weights of the same shapes as before"
            )
        if not all(bool(jnp.isfinite(leaf).all()) for leaf in after):
            remedy = "scale the inputs, or use a smaller learning rate"
            raise DataError(f"weights trained on {name}", found="NaN or infinity", rule="finite weights", remedy=remedy)
    decide = lambda trained: (
        lambda points: np.asarray(module_classes(jax.vmap(trained)(jnp.asarray(points, leaves[0].dtype))))
    )
    return Fits(module_rules(first, last), decide(first), decide(last))


def _adam(model: eqx.Module, x: np.ndarray, labels: np.ndarray) -> eqx.Module:
    """Train with 400 steps of Adam on the cross-entropy of all rows."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    optimiser, points, classes = optax.adam(_RATE), jnp.asarray(x), jnp.asarray(labels)

    def loss(weights: Any) -> Array:
        outputs = jax.vmap(eqx.combine(weights, static))(points)
        if outputs.shape[-1] == 1:
            return optax.sigmoid_binary_cross_entropy(outputs[:, 0], classes.astype(outputs.dtype)).mean()
        return optax.softmax_cross_entropy_with_integer_labels(outputs, classes).mean()

    @jax.jit
    def run(weights: Any) -> Any:
        def step(_, state: Any) -> Any:
            updates, inner = optimiser.update(jax.grad(loss)(state[0]), state[1], state[0])
            return optax.apply_updates(state[0], updates), inner

        return jax.lax.fori_loop(0, _STEPS, step, (weights, optimiser.init(weights)))[0]

    return eqx.combine(run(parameters), static)
