"""Models and rows inside other objects: hyperparameter searches, training states, scripts and loaders of batches."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from lemmata.errors import SettingError

from ._boosted import boosted
from ._keras import keras_module

_ARRAYS = "x and y as arrays"


def bare_model(model: Any) -> Any:
    """Return the model inside an object that contains a model, as the same function of a row.

    Other models are returned unchanged.

    A scikit-learn search contains its best estimator. A Booster of XGBoost becomes a function of an array. A Keras
    model on PyTorch becomes a PyTorch module. A Flax `TrainState` contains a function and its parameters. A pair
    (module, state) of Equinox contains a module that is called with a row and a state. The state does not change.

    Args:
        model: the model, or an object that contains it.

    Raises:
        SettingError: if the object contains no model, or a model whose derivatives cannot be computed. The message
            gives an alternative.
    """
    if _is(model, "sklearn.model_selection._search"):
        if not hasattr(model, "best_estimator_"):
            raise SettingError("model", found=f"a {type(model).__name__} without a best estimator",
                               rule="a fitted model", remedy="fit it with refit=True")  # fmt: skip
        return bare_model(model.best_estimator_)
    if _is(model, "torch.jit._script"):
        raise SettingError("model", found="a torch.jit script, whose parameters lemmata cannot vary",
                           rule="the module itself", remedy="pass the nn.Module that was scripted")  # fmt: skip
    if _is(model, "xgboost.core") and hasattr(model, "save_config"):
        return boosted(model)
    if _is(model, "xgboost.core"):
        raise SettingError("model", found=f"a {type(model).__name__} of XGBoost",
                           rule="a Booster, an estimator or a function",
                           remedy="pass the Booster, or lambda x: booster.predict(xgboost.DMatrix(x))")  # fmt: skip
    if _is(model, "keras.src.models.model"):
        if _is(model, "torch.nn.modules.module"):
            return keras_module(model)
        remedy = (
            "on JAX: weights = [v.value for v in model.trainable_variables]; rest = [v.value for v in "
            "model.non_trainable_variables]; pass (lambda own, x: model.stateless_call(own, rest, x)[0], weights). "
            "On TensorFlow, pass lambda x: model.predict(x, verbose=0); lemmata then sees only the outputs"
        )
        raise SettingError("model", found="a Keras model", rule="a function and its parameters", remedy=remedy)
    if _is(model, "flax.training.train_state"):
        others = {"batch_stats": model.batch_stats} if getattr(model, "batch_stats", None) else {}
        return lambda own, x: model.apply_fn({"params": own, **others}, x), model.params
    if isinstance(model, tuple) and len(model) == 2 and isinstance(model[1], eqx.nn.State):
        return _of_state(*model)
    return model


def bare_rows(x: Any, y: Any = None) -> tuple[Any, Any]:
    """Return arrays of rows and targets from a PyTorch loader or dataset. Other rows and targets do not change.

    Rows are in the order of the dataset, even if the loader shuffles.

    Args:
        x: rows, or a loader of pairs (row, target).
        y: the targets, or None if the loader contains the targets.

    Raises:
        SettingError: if rows are in a dictionary, or if `y` is None and the dataset does not return pairs.
    """
    if isinstance(x, Mapping):
        names = ", ".join(map(str, x))
        raise SettingError("x", found=f"a dictionary of {names}", rule="one array of rows",
                           remedy="join the arrays, and split the joined array in a wrapper of the model")  # fmt: skip
    if not _is(x, "torch.utils.data.dataloader", "torch.utils.data.dataset"):
        return x, y
    rows = getattr(x, "dataset", x)
    if not hasattr(rows, "__getitem__") or not hasattr(rows, "__len__"):
        found = f"a {type(x).__name__} without indices or without a length"
        raise SettingError("x", found=found, rule=_ARRAYS, remedy="join all batches of one pass with np.concatenate")
    items = [rows[place] for place in range(len(rows))]
    pairs = all(isinstance(item, tuple | list) and len(item) == 2 for item in items)
    if not pairs and y is None:
        raise SettingError("x", found=f"a {type(x).__name__} that yields no pairs", rule="pairs (row, target)",
                           remedy=f"pass {_ARRAYS}")  # fmt: skip
    stacked = [np.stack([np.asarray(item[k] if pairs else item) for item in items]) for k in range(2 if pairs else 1)]
    return stacked[0], stacked[1] if y is None else y


def _of_state(module: Any, state: Any) -> tuple[Any, Any]:
    """Return a function f(params, x) of a batch x, with the module's predictions at this state, and the parameters."""
    params, rest = eqx.partition(eqx.nn.inference_mode(module), eqx.is_inexact_array)

    def f(own: Any, x: Any) -> Any:
        called = eqx.combine(own, rest)
        return jax.vmap(lambda row: called(row, state)[0])(x)

    return f, params


def _is(value: Any, *modules: str) -> bool:
    return any(cls.__module__ in modules for cls in type(value).__mro__)
