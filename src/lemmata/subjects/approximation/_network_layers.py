"""Convert sequential networks of lemmata, Equinox and PyTorch into affine maps and units with a kink at 0."""

import copy
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.architectures import AbstractLayer, Dense, LeakyRelu, Relu, Serial
from lemmata.core import numbers_of
from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError, shortened

from ._bends import Layer

# Affine maps and slopes are computed from outputs of layers, which may have single precision.
_EXACT = 1e-4
_LARGEST = 200_000_000
_SIZES = np.array([1e-3, 0.03, 0.3, 1.0, 5.0, 40.0])

Points = Callable[[np.ndarray], np.ndarray]


class Step(NamedTuple):
    """A named layer as a function of a batch of points. The step also contains the layer's weights and biases, or its
    slopes, if they are known.
    """

    name: str
    function: Points
    affine: tuple[np.ndarray, np.ndarray] | None = None
    slopes: tuple[float, float] | None = None


class Reading(NamedTuple):
    """A step (a layer of the network), the shape of its inputs, and either its weights and biases or its slopes below
    and above 0.
    """

    step: Step
    shape: tuple[int, ...]
    affine: tuple[np.ndarray, np.ndarray] | None
    slopes: Any

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs at flattened points, computed from the weights or slopes."""
        if self.affine is not None:
            return x @ self.affine[0].T + self.affine[1]
        return np.where(x > 0, self.slopes[1], self.slopes[0]) * x


class PiecewiseLinear(NamedTuple):
    """A network as layers of units and a last affine map, and the affine map or slopes found for each network layer."""

    layers: tuple[Layer, ...]
    weights: Float[np.ndarray, "out n"]
    biases: Float[np.ndarray, " out"]
    readings: tuple[Reading, ...] = ()

    def check(self, x: Float[np.ndarray, "points n"]) -> None:
        """Raise an error if a layer's outputs at these points differ from the outputs of the affine map or slopes that
        were found for the layer. An example is a ReLU that is cut off at 100.

        Args:
            x: flattened inputs, one row each.

        Raises:
            SettingError: if the outputs of a layer differ; the message names the layer.
        """
        for reading in self.readings:
            after = reading(x)
            if reading.step.affine is None and reading.step.slopes is None:
                found = reading.step.function(x.reshape(-1, *reading.shape)).reshape(len(x), -1)
                # in single precision, rounding errors are proportional to the largest terms, and numbers below 1e-38
                # become 0
                scale = np.abs(x) if reading.affine is None else np.abs(x) @ np.abs(reading.affine[0]).T
                if not (np.abs(found - after) <= _EXACT * scale + _EXACT * np.abs(after) + 1e-30).all():
                    raise _another(reading.step)
            x = after


def piecewise_linear_layers(network: Any, params: Any, shape: tuple[int, ...]) -> PiecewiseLinear:
    """Return the layers of a network on inputs of this shape.

    Args:
        network: a `Serial` of lemmata, an `eqx.nn.MLP` or `eqx.nn.Sequential`, or a `torch.nn.Sequential`.
        params: the parameters of a `Serial`.
        shape: the shape of one input.

    Raises:
        SettingError: for other networks, and for layers that are neither affine maps nor units that bend only at 0.
        DataError, PrecisionError: for weights that are not finite, or of half precision.
        ShapeError: if the network does not take inputs of this shape.
    """
    size = int(np.prod(shape))
    weights, biases, layers, readings = np.eye(size), np.zeros(size), [], []
    for step in _steps(network, params):
        affine, slopes, after = _read(step, shape)
        readings.append(Reading(step, shape, affine, slopes))
        shape = after
        numbers = affine if affine is not None else slopes
        if numbers is not None and not all(np.isfinite(own).all() for own in numbers):
            remedy = "check the training of the network"
            raise DataError(_named(step), found="weights that are not finite", rule="finite numbers", remedy=remedy)
        if affine is not None:
            weights, biases = affine[0] @ weights, affine[0] @ biases + affine[1]
        elif slopes is not None:
            layers.append(Layer(weights, biases, *slopes))
            weights, biases = np.eye(len(biases)), np.zeros(len(biases))
        else:
            raise _another(step)
    return PiecewiseLinear(tuple(layers), weights, biases, tuple(readings))


def _named(step: Step) -> str:
    return f"layer {step.name} of the network"


def _another(step: Step) -> SettingError:
    remedy = "pass a network of affine layers and ReLU, LeakyReLU, PReLU or abs, without its last activation"
    rule = "an affine layer, or an activation with two slopes and a kink at 0"
    return SettingError(_named(step), found="another function", rule=rule, remedy=remedy)


def _read(step: Step, shape: tuple[int, ...]) -> tuple[Any, Any, tuple[int, ...]]:
    """Return (weights, biases) or None, the slopes or None, and the shape of one output.

    Weights and slopes are None if the step is neither an affine map nor an activation with two slopes.
    """
    size, what = int(np.prod(shape)), _named(step)
    if step.slopes is not None:
        return None, step.slopes, shape
    if step.affine is not None and shape == step.affine[0].shape[1:]:
        return step.affine, None, step.affine[1].shape
    try:
        after = step.function(np.zeros((1, *shape))).shape[1:]
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError) as error:
        found, why = f"inputs of shape {shape}", " ".join(str(error).split())
        remedy = f"pass one input of the shape that the network takes (message of the layer: {shortened(why)})"
        raise ShapeError(what, found=found, rule="inputs of the shape that the layer takes", remedy=remedy) from error
    if size * np.prod(after) > _LARGEST:
        raise SettingError(
            what,
            found=f"{size} inputs and outputs of shape {after}",
            rule=f"{_LARGEST:.0e} weights",
            remedy="pass a smaller network, or smaller inputs",
        )
    flat = lambda x: step.function(x.reshape(-1, *shape)).reshape(len(x), -1)
    affine = _affine(flat, size)
    return affine, None if affine is not None else _slopes(flat, size), after


def _affine(function: Points, size: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return weights and biases if the function is affine at random points, and None otherwise. The test uses that an
    affine function maps the mean of points to the mean of their values.
    """
    bias = function(np.zeros((1, size)))
    trial = np.random.default_rng(0).normal(size=(4, size)) * np.array([[0.1], [1.0], [5.0], [20.0]])
    there, middle = function(trial), function((trial[:1] + trial[1:]) / 2)
    scale = np.abs(there).max() + np.abs(bias).max() + 1e-30
    if not np.isfinite(scale):
        return there, bias  # the caller raises an error because these values are not finite
    if np.abs(middle - (there[:1] + there[1:]) / 2).max() > _EXACT * scale:
        return None
    return (function(np.eye(size)) - bias).T, bias[0]


def _slopes(function: Points, size: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the slopes below and above 0, or None if the function mixes coordinates or has kinks away from 0."""
    one = np.ones((1, size))
    below, above = -function(-one), function(one)
    if above.shape != one.shape:
        return None
    points = np.random.default_rng(1).normal(size=(3, size))
    points = np.concatenate([points, np.outer(np.append(-_SIZES, _SIZES), one)])
    expected = np.where(points > 0, above, below) * points
    apart = np.abs(function(points) - expected)
    return (below[0], above[0]) if (apart <= _EXACT * np.abs(points)).all() else None


def _steps(network: Any, params: Any) -> Iterator[Step]:
    torch: Any = sys.modules.get("torch")
    if params is not None and not isinstance(network, AbstractLayer):
        found = f"parameters for a {type(network).__name__}"
        raise SettingError(
            "params", found=found, rule="None, except for lemmata's own networks", remedy="leave out params"
        )
    if isinstance(network, AbstractLayer):
        if params is None:
            remedy = "pass params=network.init(key, inputs)[0]"
            raise SettingError("params", found="None", rule="the parameters of a lemmata network", remedy=remedy)
        yield from _lemmata(network, params)
    elif isinstance(network, eqx.nn.MLP | eqx.nn.Sequential):
        _full_precision(str(leaf.dtype) for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))
        yield from _equinox(network)
    elif torch is not None and isinstance(network, torch.nn.Sequential):
        _full_precision(str(own.dtype).removeprefix("torch.") for own in network.parameters())
        yield from _torch(torch, _doubled(network))
    else:
        rule = "a Serial of lemmata, an equinox.nn.MLP or Sequential, or a torch.nn.Sequential"
        remedy = "pass one of these networks, including its layers"
        raise SettingError("network", found=type(network).__name__, rule=rule, remedy=remedy)


def _full_precision(types: Iterator[str]) -> None:
    half = next((own for own in types if own not in ("float32", "float64")), None)
    if half is not None:
        remedy = "convert the network to float32"
        raise PrecisionError("network", found=f"weights of type {half}", rule="float32 or float64", remedy=remedy)


def _lemmata(layer: AbstractLayer, params: Any) -> Iterator[Step]:
    function = lambda x: np.asarray(layer.apply(params, jnp.asarray(x)), float)
    if isinstance(layer, Serial):
        if not isinstance(params, tuple | list) or len(params) != len(layer.layers):
            found = f"{len(params)} entries" if isinstance(params, tuple | list) else f"a {type(params).__name__}"
            rule = f"one entry for each of {len(layer.layers)} layers of a Serial"
            raise SettingError("params", found=found, rule=rule, remedy="pass params=network.init(key, inputs)[0]")
        for own, its in zip(layer.layers, params, strict=True):
            yield from _lemmata(own, its)
    elif isinstance(layer, Relu | LeakyRelu):
        below = float(layer.slope) if isinstance(layer, LeakyRelu) else 0.0
        yield Step(type(layer).__name__, function, slopes=(below, 1.0))
    elif isinstance(layer, Dense):
        if not isinstance(params, dict) or "weight" not in params or np.ndim(params["weight"]) != 2:
            remedy = "pass params=network.init(key, inputs)[0]"
            rule = "a dictionary with the matrix 'weight' for each Dense"
            raise SettingError("params", found=shortened(repr(params), 60), rule=rule, remedy=remedy)
        weights = np.asarray(params["weight"], float)
        scales = layer.scales(weights.shape[1])
        biases = np.asarray(params["bias"], float) if "bias" in params else np.zeros(len(weights))
        affine = float(scales.multiplier) * weights, float(scales.bias_multiplier) * biases
        yield Step("Dense", function, affine=affine)
    else:
        yield Step(type(layer).__name__, function)


def _equinox(module: Any) -> Iterator[Step]:
    if isinstance(module, eqx.nn.Sequential):
        yield from itertools.chain(*map(_equinox, module.layers))
    elif isinstance(module, eqx.nn.MLP):
        for number, layer in enumerate(module.layers):
            yield from _equinox(layer)
            if number < len(module.layers) - 1:
                # the activation of an MLP has its own parameters for each layer and unit
                own = jax.tree.map(lambda leaf, at=number: leaf[at] if eqx.is_array(leaf) else leaf, module.activation)
                yield from _activation(f"activation {number}", own, lambda x, own=own: _each(own, x))
        last = module.final_activation
        whole = last if module.out_size == "scalar" else lambda x: _each(last, x)
        yield from _activation("final activation", last, whole)
    elif isinstance(module, eqx.nn.Linear):
        weights = np.asarray(module.weight, float)
        biases = np.zeros(len(weights)) if module.bias is None else np.asarray(module.bias, float)
        yield Step("Linear", _mapped(module), affine=(weights, biases.reshape(-1)))
    elif isinstance(module, eqx.nn.Lambda):
        yield from _activation("Lambda", module.fn, module)
    else:
        if isinstance(module, eqx.nn.Dropout) and module.p and not module.inference:
            found, rule = "dropout in training mode", "layers whose outputs do not change from call to call"
            remedy = "pass equinox.nn.inference_mode(network)"
            raise SettingError("network", found=found, rule=rule, remedy=remedy)
        yield Step(type(module).__name__, _mapped(module))


def _activation(name: str, own: Any, whole: Callable[..., Any]) -> Iterator[Step]:
    """Yield nothing if the activation is the identity, which returns its argument. Otherwise yield one step."""
    given = object()
    try:
        if own(given) is given:
            return
    # a function of arrays may raise any error for this object; it is then not the identity
    except Exception:
        pass
    yield Step(name, _mapped(whole), slopes=(0.0, 1.0) if own is jax.nn.relu else None)


def _each(activation: Any, x: Any) -> Any:
    return eqx.filter_vmap(lambda own, value: own(value))(activation, x)


def _mapped(function: Callable[..., Any]) -> Points:
    return lambda x: np.asarray(jax.vmap(function)(jnp.asarray(x)), float)


def _doubled(network: Any) -> Any:
    """Return a copy of the network in double precision. Weights are computed as differences of outputs, and large
    biases would cause rounding errors in single precision.
    """
    try:
        return copy.deepcopy(network).double()
    except RuntimeError:  # PyTorch cannot copy parameters that it computes from others
        return network


def _torch(torch: Any, network: Any) -> Iterator[Step]:
    for module in network.modules():
        name, fixed = type(module).__name__, getattr(module, "running_mean", 0) is not None
        if (module.training and any(word in name for word in ("Dropout", "Norm", "RReLU"))) or not fixed:
            found, rule = (
                "dropout or normalisation in training mode",
                "layers whose outputs do not change from call to call",
            )
            remedy = "call network.eval() first" if fixed else f"replace {name}, which has no running means"
            raise SettingError("network", found=found, rule=rule, remedy=remedy)
    like = next(iter(network.parameters()), torch.zeros(()))

    def function(module: Any) -> Points:
        def at(x: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                found = module(torch.tensor(x).to(like))  # a copy, because a layer may change its input in place
            if not isinstance(found, torch.Tensor):
                raise TypeError(f"{type(module).__name__} returns a {type(found).__name__}")
            return found.detach().cpu().double().numpy()

        return at

    # named_children would leave out a module that is used twice
    names = [name for name, _ in network.named_modules(remove_duplicate=False) if name and "." not in name]
    for name, module in zip(names, network, strict=True):
        if isinstance(module, torch.nn.Sequential):
            yield from _torch(torch, module)
        else:
            yield Step(f"{name} ({type(module).__name__})", function(module))


def checked_input(name: str, x: Any) -> Float[np.ndarray, "..."]:
    """Return one input as an array of float64.

    Args:
        name: the name of the argument, for messages.
        x: the numbers of the input.
    """
    found = numbers_of(name, x)
    if found.ndim == 0:
        remedy = "pass a list of numbers, for example [1.0]"
        raise ShapeError(name, found="a single number", rule="one input of the network", remedy=remedy)
    return found.astype(float)
