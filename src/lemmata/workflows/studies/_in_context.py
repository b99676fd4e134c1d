"""Run an in-context transformer on a user's table, and compare it with other methods on the same rows."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.linear_model import Lasso, Ridge

from lemmata.core import available_bytes
from lemmata.engine.claims import Hypothesis
from lemmata.errors import DataError, MemoryPlanError, SettingError
from lemmata.estimators import KernelRegressor
from lemmata.functions import GaussianBumps, barron_parameter, required_features
from lemmata.networks import InContextTransformer, construct_transformer, temperature_asked
from lemmata.solvers import lasso_objective

from ._data import Dataset

_SMALLEST, _LARGEST = 1e-6, 1e6
"""Bounds of width and sharpness, within which float64 can hold the squares of all frequencies and thresholds."""
_MOST_LAYERS = 10**6
_SHOWN_EXAMPLES, _SHOWN_COEFFICIENTS, _SHOWN_LAYERS = 60, 24, 48


def run_in_context(
    dataset: Dataset,
    *,
    features: int = 256,
    layers: int = 401,
    penalty: float = 3e-3,
    sharpness: float = 4.0,
    width: float = 0.5,
    held_out: float = 0.25,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
) -> dict[str, Any]:
    """Run the transformer, plain and with momentum, the Lasso on the same features, and two ridge regressions.

    The two are kernel and linear ridge regression. Rows are split at random into a prompt of examples and queries.
    Inputs are divided by the largest norm of a row. The result is a dictionary of settings, errors, paths, conditions
    and notes.

    Args:
        dataset: a table with one numeric target.
        features: n, the number of features.
        layers: L, the odd number of layers.
        penalty: the penalty of the Lasso, for targets of variance 1.
        sharpness: the slope of the features.
        width: the width of the Gaussian bumps that form the function class, in the unit ball.
        held_out: the share of the rows that become queries.
        seed: the seed of the split and of the features.
        progress: a function that is called with the stage, the finished amount and the total amount.

    Raises:
        DataError: if the task is classification, or there are several targets.
        SettingError: if the share leaves no query or fewer than 2 examples, or a setting is out of bounds.
        MemoryPlanError: if the features do not fit into memory.
    """
    if dataset.task != "regression" or dataset.y.shape[1] != 1:
        raise DataError(f"target {dataset.target!r}", found=f"a {dataset.task} task", rule="one numeric target",
                        remedy="use --task regression, or choose another --target")  # fmt: skip
    _check_numbers(width, sharpness, penalty, layers)
    order = np.random.default_rng(seed).permutation(len(dataset.x))
    queries = int(held_out * len(order)) if 0 < held_out < 1 else 0
    if queries < 1 or len(order) - queries < 2:
        raise SettingError(
            "--held-out", found=held_out, rule="between 0 and 1, with at least one query and two examples"
        )
    # The memory of the features of all rows, the coefficients of a block of queries, and the path of one query.
    largest = 8 * (features + 1) * (2 * len(order) + 6 * queries + layers)
    if largest > available_bytes() // 2:
        raise MemoryPlanError("the transformer", found=f"{largest / 2**30:.2f} GiB for {features} features",
                              rule="at most half of the free memory", remedy="use fewer --features")  # fmt: skip
    scale = float(np.linalg.norm(dataset.x, axis=1).max()) or 1.0
    x, y = jnp.asarray(dataset.x[order] / scale), jnp.asarray(dataset.y[order, 0])
    split = (x[queries:], y[queries:], x[:queries], y[:queries])
    functions = GaussianBumps(x.shape[1], 1 / width)
    build = lambda accelerated: construct_transformer(
        functions, features, layers, examples=len(order) - queries, key=jax.random.key(seed), penalty=penalty,
        sharpness=sharpness, accelerated=accelerated,
    )  # fmt: skip
    models = {"with momentum": build(True), "plain": build(False)}
    rows, paths = [], {}
    for done, (name, model) in enumerate(models.items()):
        progress("Running the transformer", done, len(models))
        row, paths[name] = _pass(model, name, *split)
        rows.append(row)
    progress("Fitting the others", 0, 1)
    rows += _others(models["plain"], *split)
    return {
        "name": dataset.name, "target": dataset.target, "examples": len(order) - queries, "queries": queries,
        "columns": x.shape[1], "features": features, "layers": layers, "penalty": penalty, "scale": scale,
        "seed": seed, "width_of_stream": {name: model.width for name, model in models.items()},
        "barron_parameter": float(barron_parameter(functions)), "rows": rows, "paths": paths,
        "hypotheses": [_record(condition) for condition in theorem_hypotheses(models["plain"], functions, x)],
        "notes": [*dataset.notes, *_notes(models, rows)],
    }  # fmt: skip


def _check_numbers(width: float, sharpness: float, penalty: float, layers: int) -> None:
    """Raise an error if width, sharpness, penalty or the number of layers is out of its bounds."""
    positive = f"positive and finite, from {_SMALLEST:g} to {_LARGEST:g}"
    near = "choose a value near 1, because inputs lie in the unit ball"
    for name, value in (("--width", width), ("--sharpness", sharpness)):
        if not _SMALLEST <= value <= _LARGEST:
            raise SettingError(f"{name} is out of bounds", found=value, rule=positive, remedy=near)
    if not 0 <= penalty <= _LARGEST:
        raise SettingError("--penalty is out of bounds", found=penalty,
                           rule=f"finite, at least 0 and at most {_LARGEST:g}",
                           remedy="choose a value below 2, because from 2 on all coefficients are 0")  # fmt: skip
    if not 3 <= layers <= _MOST_LAYERS:
        raise SettingError("--layers is out of bounds", found=layers,
                           rule=f"at least 3 (the first layer, and two layers for each step) and at most "
                                f"{_MOST_LAYERS:,}",
                           remedy="401 is the default")  # fmt: skip


def theorem_hypotheses(
    model: InContextTransformer, functions: GaussianBumps, x: Float[Array, "N d"]
) -> list[Hypothesis]:
    """Return the hypotheses of Theorem 1 of Li et al. (2025) for a table and the assumed function class.

    Two of the hypotheses cannot be tested on data.

    Args:
        model: the transformer.
        functions: the function class of the transformer.
        x: the scaled inputs of the transformer.
    """
    examples, number = model.examples, len(model.features.thresholds)
    precision = min(1.0, math.sqrt(math.log(examples) / examples) + number / model.layers)
    cover = required_features(functions, precision, x.shape[1])
    asked = temperature_asked(number, model.layers, examples, barron_parameter(functions))
    return [
        Hypothesis("inputs lie in the unit ball", jnp.linalg.norm(x, axis=1).max(), "<=", 1.0),
        Hypothesis(
            "number of features is at least log |N_epsilon|",
            number,
            ">=",
            cover,
            f"N_epsilon covers the function class to within epsilon {precision:.2g}",
        ),
        Hypothesis(
            "temperature of attention is at least that of Lemma 7",
            model.temperature,
            ">=",
            asked,
            "far smaller temperatures are enough",
        ),
        Hypothesis.unchecked(
            "the target belongs to the function class of the theorem", "the data cannot show this, so it is assumed"
        ),
        Hypothesis.unchecked("noise is sub-Gaussian", "the data cannot show whether this holds"),
    ]


def _record(condition: Hypothesis) -> dict[str, Any]:
    return {
        "name": condition.name, "value": float(condition.value), "relation": condition.relation,
        "threshold": float(condition.threshold), "margin": float(condition.margin), "why": condition.why,
        "holds": bool(condition.holds) if condition.checkable else None,
    }  # fmt: skip


def _pass(model: InContextTransformer, name: str, x, y, queries, wanted) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the test error of a transformer, and the path of the first query along the layers.

    The path gives, for some layers, the Lasso coefficients rho, their error and Lasso objective, and their outputs for
    some examples. The first result also contains the objective and the number of nonzero coefficients at the last
    layer.
    """
    found = model(x, y, queries)
    rho, _ = model.path(x, y, queries[:1])
    rho = rho[:, :, 0]
    features = model.features(x)
    steps = np.unique(np.geomspace(1, model.iterations, min(_SHOWN_LAYERS, model.iterations)).astype(int)) - 1
    errors = jnp.mean((rho[steps] @ model.features(queries).T - wanted) ** 2, axis=1)
    largest = np.argsort(-np.abs(np.asarray(rho[-1])))[:_SHOWN_COEFFICIENTS]
    shown = np.argsort(np.asarray(y))[np.linspace(0, len(y) - 1, min(_SHOWN_EXAMPLES, len(y))).astype(int)]
    row = {
        "model": f"transformer, {name}", "error": float(jnp.mean((found - wanted) ** 2)),
        "objective": float(lasso_objective(features, y, model.penalty, rho[-1])),
        "coefficients": int((rho[-1] != 0).sum()),
    }  # fmt: skip
    path = {
        "layers": (2 * steps + 3).tolist(), "error": errors.tolist(),
        "objective": lasso_objective(features, y, model.penalty, rho[steps]).tolist(),
        "rho": np.asarray(rho[steps][:, largest]).tolist(), "numbers": largest.tolist(),
        "targets": np.asarray(y)[shown].tolist(), "scores": np.asarray(rho[steps] @ features[shown].T).tolist(),
    }  # fmt: skip
    return row, path


def _others(model: InContextTransformer, x, y, queries, wanted) -> list[dict[str, Any]]:
    """Return the results of coordinate descent on the same Lasso, and of kernel and linear ridge regression."""
    table, asked = np.asarray(model.features(x)), np.asarray(model.features(queries))
    prompt, target, held = np.asarray(x), np.asarray(y), np.asarray(wanted)
    lasso = Lasso(float(model.penalty) / 2, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(table, target)
    error = lambda found: float(np.mean((found - held) ** 2))
    objective = float(lasso_objective(jnp.asarray(table), y, model.penalty, jnp.asarray(lasso.coef_)))
    return [
        {"model": "Lasso by coordinate descent, same features", "error": error(lasso.predict(asked)),
         "objective": objective, "coefficients": int((lasso.coef_ != 0).sum())},
        {"model": "kernel ridge regression (RBF, ridge 0.1)",
         "error": error(KernelRegressor(ridge=0.1).fit(prompt, target).predict(np.asarray(queries)))},
        {"model": "linear ridge regression",
         "error": error(Ridge(1e-2).fit(prompt, target).predict(np.asarray(queries)))},
    ]  # fmt: skip


def _notes(models: dict[str, InContextTransformer], rows: list[dict[str, Any]]) -> list[str]:
    """Return remarks on the scaling of the data, and on transformers that have not converged."""
    lasso = next(row for row in rows if row["model"].startswith("Lasso"))
    notes = [
        "inputs and target are standardised, and inputs are then scaled into the unit ball; both steps use all rows, "
        "including the queries"
    ]
    for name in models:
        gap = next(row for row in rows if row["model"].endswith(name))["objective"] - lasso["objective"]
        if gap > 0.01 * lasso["objective"]:
            notes.append(f"The transformer {name} has not converged: its objective is {gap:.2g} above the Lasso's. "
                         "Use more layers.")  # fmt: skip
    return notes
