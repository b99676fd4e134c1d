"""Convert networks of lemmata, Equinox, Flax and PyTorch into affine maps and ReLUs."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.architectures import AveragePool, Dense, Flatten, GlobalAveragePool, Patches, Relu, Serial
from lemmata.errors import LemmataError, SettingError, ShapeError

from ._graph import RULE
from ._inputs import as_weights, check_vector
from ._network import ReluNetwork
from ._torch_reading import read_module
from ._tracing import read_function

_OWN = (Patches, Flatten, AveragePool, GlobalAveragePool)
_EQUINOX = (eqx.nn.Conv1d, eqx.nn.Conv2d, eqx.nn.Conv3d, eqx.nn.AvgPool1d, eqx.nn.AvgPool2d, eqx.nn.AvgPool3d)
_NNX = frozenset(("Linear", "Conv", "BatchNorm", "Dropout"))


@dataclasses.dataclass(frozen=True)
class _Affine:
    """A layer that is affine in its input.

    The layer is given by a matrix and bias (`pair`), or by functions of a batch of inputs.

    `whole` is the function of the layer. `linear` is the function of the layer without its bias, which maps each unit
    vector to a column of the matrix.
    """

    pair: tuple[np.ndarray, np.ndarray] | None = None
    linear: Callable[[np.ndarray], np.ndarray] | None = None
    whole: Callable[[np.ndarray], np.ndarray] | None = None


_Step = _Affine | None  # None is a ReLU


def read_network(network: Any, params: Any = None, shape: tuple[int, ...] | None = None) -> ReluNetwork:
    """Return a network as a `ReluNetwork`, the form that certificates can bound.

    Args:
        network: a `ReluNetwork`; a list of (weight, bias) of dense layers, with ReLU between them; a `Serial` with its
            `params`; a `torch.nn.Sequential`; an `eqx.nn.Sequential` or `eqx.nn.MLP`; another module of Equinox or
            PyTorch that can be traced; or a module of Flax that takes a batch of inputs. A Flax module is a linen
            module, with its variables as `params`, or an nnx module. Sequential modules may be nested.
        params: the parameters of a `Serial` or the variables of a linen module, as its `init` returns them.
        shape: the shape of one input. The shape is needed if the network is traced, begins with a ReLU, or takes inputs
            such as images.

    Raises:
        SettingError: if a layer cannot be bounded (the message names the layer), or the object has another type.
        ShapeError: if the layers do not fit each other or the input.
    """
    if isinstance(network, ReluNetwork):
        return _of_vectors(network, shape)
    if isinstance(network, Serial):
        if params is None:
            remedy = "certify(network, x, radius, params=params)"
            raise SettingError("params", found="None", rule="the parameters of the Serial", remedy=f"call {remedy}")
        return _composed(_serial_steps(network, params, "Serial"), shape)
    if isinstance(network, eqx.Module) and not type(network).__module__.startswith("equinox.") and callable(network):
        if shape is None:
            raise SettingError(
                "shape",
                found="None",
                rule=f"the shape of an input of {type(network).__name__}",
                remedy="pass shape=, such as shape=(3, 32, 32)",
            )
        return read_function(jax.vmap(network), shape, type(network).__name__)
    if isinstance(network, eqx.Module):
        return _composed(_equinox_steps(network, type(network).__name__), shape)
    kinds = {f"{cls.__module__}.{cls.__name__}" for cls in type(network).__mro__}
    if "torch.nn.modules.module.Module" in kinds:
        if shape is None:
            raise SettingError(
                "shape",
                found="None",
                rule=f"the shape of an input of {type(network).__name__}",
                remedy="pass shape=, such as shape=(3, 32, 32)",
            )
        return read_module(network, shape)
    if kinds & {"flax.linen.module.Module", "flax.nnx.module.Module"}:
        return _of_flax(network, params, shape)
    is_list = isinstance(network, Sequence) and not isinstance(network, str) and len(network) > 0
    if is_list and all(isinstance(layer, Sequence) and len(layer) == 2 for layer in network):
        pairs = [tuple(as_weights(f"layer {k} of the network", own) for own in pair) for k, pair in enumerate(network)]
        return _of_vectors(ReluNetwork(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)), shape)
    rule = "a list of (weight, bias), a Serial with its params, a Sequential of PyTorch or Equinox, or a module of Flax"
    raise SettingError("network", found=f"a {type(network).__name__}", rule=rule)


def _of_vectors(network: ReluNetwork, shape: tuple[int, ...] | None) -> ReluNetwork:
    if shape is not None:
        check_vector(np.zeros(shape))
    return network


def _of_flax(network: Any, params: Any, shape: tuple[int, ...] | None) -> ReluNetwork:
    """Return the `ReluNetwork` of a Flax module."""
    name = type(network).__name__
    if shape is None:
        raise SettingError(
            "shape",
            found="None",
            rule=f"the shape of an input of {name}",
            remedy="pass shape=, such as shape=(3, 32, 32)",
        )
    if not hasattr(network, "apply"):
        from flax import nnx  # the user's module needs flax

        # the traced computation does not contain the names of the layers
        own = [(".".join(map(str, path)), type(part)) for path, part in nnx.iter_modules(network)]
        layers = [(path, kind.__name__) for path, kind in own if kind.__module__.startswith("flax.nnx.nn.")]
        others = [f"{path}: {kind}" for path, kind in layers if kind not in _NNX]
        return read_function(network, shape, f"{name} ({', '.join(others)})" if others else name)
    if not isinstance(params, Mapping) or not params:
        remedy = "certify(network, x, radius, params=network.init(key, batch))"
        raise SettingError(
            "params", found=type(params).__name__, rule=f"the variables of {name}", remedy=f"call {remedy}"
        )
    variables = params if "params" in params else {"params": params}
    return read_function(lambda x: network.apply(variables, x), shape, name)


def _refused(path: str, layer: Any, why: str = "") -> SettingError:
    return SettingError(f"layer {path}: {type(layer).__name__}", found=why or None, rule=RULE)


def _serial_steps(network: Serial, params: Any, path: str) -> list[_Step]:
    found: list[_Step] = []
    for position, (layer, own) in enumerate(zip(network.layers, params, strict=True)):
        where = f"{path}.layers[{position}]"
        if isinstance(layer, Serial):
            found += _serial_steps(layer, own, where)
        elif type(layer) is Relu:
            found.append(None)
        elif type(layer) is Dense or type(layer) in _OWN:
            still = {**own, "bias": jnp.zeros_like(own["bias"])} if isinstance(own, dict) and "bias" in own else own
            calls = [_batched(lambda x, layer=layer, own=kind: layer.apply(own, x)) for kind in (still, own)]
            found.append(_Affine(_dense_pair(layer, own, where) if type(layer) is Dense else None, *calls))
        else:
            raise _refused(where, layer)
    return found


def _dense_pair(layer: Dense, own: Any, path: str) -> tuple[np.ndarray, np.ndarray]:
    weight = as_weights(path, own["weight"])
    scales = layer.scales(weight.shape[1])
    bias = np.zeros(len(weight))
    if "bias" in own:
        bias = float(scales.bias_multiplier) * as_weights(path, own["bias"])
    return float(scales.multiplier) * weight, bias


def _batched(call: Callable[[Any], Any]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: as_weights("outputs of a layer", jax.vmap(call)(jnp.asarray(x)))


def _equinox_steps(layer: Any, path: str) -> list[_Step]:
    if type(layer) is eqx.nn.Sequential:
        return [step for k, own in enumerate(layer.layers) for step in _equinox_steps(own, f"{path}.layers[{k}]")]
    if type(layer) is eqx.nn.MLP:
        if layer.activation is not jax.nn.relu:
            raise _refused(f"{path}.activation", layer.activation)
        final = layer.final_activation
        # the default of Equinox is an identity function in the module equinox.nn._mlp
        if not (isinstance(final, eqx.nn.Identity) or getattr(final, "__module__", "") == "equinox.nn._mlp"):
            raise _refused(f"{path}.final_activation", final)
        found: list[_Step] = []
        for position, own in enumerate(layer.layers):
            found += [None] * (position > 0) + _equinox_steps(own, f"{path}.layers[{position}]")
        return found
    if type(layer) is eqx.nn.Lambda and layer.fn is jax.nn.relu:
        return [None]
    if type(layer) is eqx.nn.Linear:
        weight = as_weights(path, layer.weight)
        bias = np.zeros(len(weight)) if layer.bias is None else as_weights(path, layer.bias)
        return [_Affine((weight, bias))]
    if type(layer) is eqx.nn.Identity:
        return []
    if type(layer) in _EQUINOX:
        still = layer
        if getattr(layer, "bias", None) is not None:
            bias: Any = lambda own: own.bias
            still = eqx.tree_at(bias, layer, jnp.zeros_like(bias(layer)))
        return [_Affine(None, _batched(still), _batched(layer))]
    if type(layer) is eqx.nn.Lambda and layer.fn is jnp.ravel:
        return [_Affine(None, _batched(jnp.ravel), _batched(jnp.ravel))]
    raise _refused(path, getattr(layer, "fn", layer))


def _matrix(step: _Affine, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return the matrix and bias of a layer for flattened inputs of this shape, and the shape of the outputs."""
    size = math.prod(shape)
    if step.pair is not None and len(shape) == 1:
        weight, bias = step.pair
        if weight.shape[1] != size:
            raise ShapeError(
                "x", found=f"{size} coordinates", rule=f"{weight.shape[1]} coordinates, the input of the network"
            )
        return weight, bias, bias.shape
    if step.linear is None or step.whole is None:
        raise ShapeError(
            "x", found=f"shape {shape}", rule="a single input of shape (d,), because the first layer is dense"
        )
    try:
        columns = step.linear(np.eye(size).reshape(size, *shape))
        bias = step.whole(np.zeros((1, *shape)))[0]
    except LemmataError:
        raise
    except (TypeError, ValueError, RuntimeError, IndexError, AssertionError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ShapeError("x", found=f"shape {shape}", rule=f"an input that the network can read ({why})") from error
    return columns.reshape(size, -1).T, bias.ravel(), bias.shape


def _composed(steps: list[_Step], shape: tuple[int, ...] | None) -> ReluNetwork:
    """Return the network of these steps, which are affine maps and ReLUs. Consecutive affine maps become one map. If
    the steps begin or end with a ReLU, an identity map is added there.
    """
    if shape is None:
        pairs = [step.pair for step in steps if step is not None][:1]
        if not pairs or pairs[0] is None:
            raise SettingError(
                "shape",
                found="None",
                rule="the shape of an input, because the first layer does not determine it",
                remedy="pass shape=, such as shape=(3, 32, 32)",
            )
        shape = (pairs[0][0].shape[1],)
    maps: list[tuple[np.ndarray, np.ndarray]] = []
    fresh = True  # the next affine map begins a new layer
    for step in steps:
        if step is None:
            if not maps:
                maps.append((np.eye(math.prod(shape)), np.zeros(math.prod(shape))))
            fresh = True
            continue
        weight, bias, shape = _matrix(step, shape)
        if fresh:
            maps.append((weight, bias))
            fresh = False
        else:
            maps[-1] = (weight @ maps[-1][0], weight @ maps[-1][1] + bias)
    if len(shape) != 1:
        raise ShapeError(
            "outputs of the network", found=f"shape {shape}", rule="shape (classes,), one number for each class"
        )
    if fresh:
        if not maps:
            raise SettingError("network", found="no layers", rule="at least one dense layer")
        maps.append((np.eye(len(maps[-1][1])), np.zeros(len(maps[-1][1]))))
    return ReluNetwork(tuple(weight for weight, _ in maps), tuple(bias for _, bias in maps))
