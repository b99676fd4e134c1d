"""Convert networks to functions from a batch of inputs to class scores."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.architectures import Serial
from lemmata.errors import SettingError


def scores_of(network: Any, params: Any = None) -> tuple[Callable[[np.ndarray], np.ndarray], bool]:
    """Return a function from a batch of inputs to class scores or classes, and whether an input may have several axes.

    Args:
        network: a module of PyTorch, Flax or Equinox, a `Serial` with its `params`, or a fitted classifier with
            `predict`. The network may also be a function of a batch of vectors.
        params: the parameters of a `Serial`, or the variables of a linen module.

    Raises:
        SettingError: if the object has another type, or a PyTorch module is in training mode.
    """
    own: Any = network
    kinds = {f"{cls.__module__}.{cls.__name__}" for cls in type(network).__mro__}
    if "torch.nn.modules.module.Module" in kinds:
        return _of_torch(network), True
    if isinstance(network, Serial):
        return lambda x: np.asarray(jax.vmap(lambda one: network.apply(params, one))(jnp.asarray(x))), True
    if isinstance(network, eqx.Module) and callable(network):
        still = eqx.nn.inference_mode(network)
        return lambda x: np.asarray(jax.vmap(still)(jnp.asarray(x))), True  # pyright: ignore[reportArgumentType]
    if "flax.linen.module.Module" in kinds:
        if not isinstance(params, Mapping) or not params:
            remedy = "smooth(network, x, sigma, params=network.init(key, batch))"
            raise SettingError(
                "params", found=type(params).__name__, rule="the variables of the module", remedy=f"call {remedy}"
            )
        variables = params if "params" in params else {"params": params}
        return lambda x: np.asarray(own.apply(variables, jnp.asarray(x))), True
    if "flax.nnx.module.Module" in kinds:
        return lambda x: np.asarray(own(jnp.asarray(x))), True
    if callable(network):
        return own, False
    if hasattr(network, "predict") and hasattr(network, "classes_"):
        classes = np.asarray(own.classes_)
        return lambda x: np.searchsorted(classes, own.predict(x)), False
    rule = "a function of a batch, a module of PyTorch, Flax or Equinox, or a fitted classifier"
    raise SettingError("f", found=f"a {type(network).__name__}", rule=rule)


def _of_torch(module: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that calls a module in evaluation mode, in the precision of its parameters."""
    import torch  # the user's module needs torch  # pyright: ignore[reportMissingImports]

    if any(_trains(own) for own in module.modules()):
        remedy = "module.eval()"
        raise SettingError(
            "f", found="layers in training mode", rule="a network in evaluation mode", remedy=f"call {remedy} first"
        )
    dtype = next((own.dtype for own in module.parameters()), torch.float64)

    def call(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return module(torch.from_numpy(x).to(dtype)).double().numpy()

    return call


def _trains(layer: Any) -> bool:
    """Return whether a layer is in training mode and has other outputs in this mode."""
    import torch  # pyright: ignore[reportMissingImports]

    kinds = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
    return isinstance(layer, kinds) and layer.training
