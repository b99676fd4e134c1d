"""The reader of the user's trained model: a JAX function, an estimator, or an Equinox, Flax or PyTorch module."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import equinox as eqx
import jax
import numpy as np

from lemmata.errors import SettingError
from lemmata.networks import equinox_function, flax_function

from ._contract import AbstractModel
from ._estimators import BlackBox, estimator_model
from ._jax import jax_model
from ._torch import torch_model
from ._wrapped import bare_model

_RULE = (
    "(f, params) with f(params, x) on a batch; an Equinox, Flax or PyTorch module; a fitted scikit-learn estimator; "
    "or a function of a batch"
)


def read_model(model: Any) -> AbstractModel:
    """Return a trained model as an `AbstractModel`.

    Args:
        model: one of these: (f, params), where f is a JAX function of a pytree and a batch of rows; an `equinox.Module`
            that is called with one row; (module, variables) or `module.bind(variables)`, a Flax linen module called
            with a batch; a Flax `nnx.Module`, called with a batch; a `torch.nn.Module`, called with a batch; a fitted
            estimator of scikit-learn (linear models and multi-layer perceptrons have derivatives, all others only
            outputs); or a function of a batch that gives only outputs: probabilities or logits (n, C), or values. If an
            object contains one of these models, the model is taken out of the object (see `bare_model`).

    Raises:
        SettingError: if the model is none of these.
        PrecisionError: if parameters for JAX are in half precision, or in float64 while JAX computes in float32.

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> model = read_model((lambda w, x: x @ w, jnp.ones((3, 2))))
    >>> model.outputs(np.ones((4, 3), np.float32)).shape, len(model.theta)
    ((4, 2), 6)
    """
    if isinstance(model, AbstractModel):
        return model
    model = bare_model(model)
    if isinstance(model, tuple):
        return _pair_model(*model) if len(model) == 2 else _refuse(model)
    if isinstance(model, eqx.Module):
        f, params = equinox_function(model)
        return jax_model(lambda own, x: jax.vmap(lambda row: f(own, row))(x), params, "Equinox")
    if _is(model, "flax.linen.module"):
        if model.scope is None:
            remedy = "pass (module, variables), or module.bind(variables)"
            raise SettingError("module", found="a Flax module without its variables", rule=_RULE, remedy=remedy)
        own, variables = model.unbind()
        f, params = flax_function(own, variables)
        return jax_model(f, params, "Flax")
    if _is(model, "flax.nnx.module"):
        return _nnx_model(model)
    if _is(model, "torch.nn.modules.module"):
        return torch_model(model)
    if _is(model, "sklearn.base"):
        return estimator_model(model)
    if callable(model) and not isinstance(model, type):
        return BlackBox("function", np.zeros(0), (), call=model)
    return _refuse(model)


def _refuse(model: Any) -> AbstractModel:
    found, remedy = f"an object of type {type(model).__name__}", "pass the trained model itself"
    if isinstance(model, Mapping):
        remedy = "load these parameters into the model, for example with model.load_state_dict(...), and pass the model"
    elif isinstance(model, type):
        found, remedy = (
            f"the class {model.__name__}",
            f"create an instance, {model.__name__}(...), train this instance, and pass it",
        )
        if _is_class(model, "sklearn.base"):
            remedy = f"fit an instance, and pass the fitted instance: {model.__name__}().fit(x, y)"
    elif isinstance(model, str | bytes | PurePath):
        found = f"{str(model)[:60]!r}, an object of type {type(model).__name__}"
        remedy = "load the model from its file first, for example with joblib.load(...), and pass the model"
    elif isinstance(model, list | tuple):
        remedy = "pass one model; if there are several, pass a function of a batch that combines their outputs"
    raise SettingError("model", found=found, rule=_RULE, remedy=remedy)


def _pair_model(first: Any, params: Any) -> AbstractModel:
    if _is(first, "flax.linen.module"):
        f, own = flax_function(first, params)
        return jax_model(f, own, "Flax")
    return jax_model(first, params) if callable(first) else _refuse((first, params))


def _is(model: Any, module: str) -> bool:
    return _is_class(type(model), module)


def _is_class(own: type, module: str) -> bool:
    return any(cls.__module__ == module for cls in own.__mro__)


def _nnx_model(module: Any) -> AbstractModel:
    from flax import nnx  # a user's module brings it

    graph, params, rest = nnx.split(module, nnx.Param, ...)
    pure = nnx.to_pure_dict(params)

    def f(own: Any, x: Any) -> Any:
        state, others = (jax.tree.map(lambda leaf: leaf, part) for part in (params, rest))  # copies for the call
        nnx.replace_by_pure_dict(state, own)
        return nnx.merge(graph, state, others)(x)

    return jax_model(f, pure, "Flax")
