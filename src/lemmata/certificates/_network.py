"""Networks as the certificates see them: affine maps with max(., 0) between them, in float64."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.architectures import Dense, Relu, Serial
from lemmata.errors import SettingError, ShapeError


@dataclasses.dataclass(frozen=True)
class ReluNetwork:
    """z_1 = W_1 x + b_1, z_k = W_k max(z_{k-1}, 0) + b_k; the outputs are the last z.

    Args:
        weights: W_1, ..., W_L, each of shape (outputs, inputs).
        biases: b_1, ..., b_L.

    >>> net = ReluNetwork((np.array([[1.0, -1.0]]), np.array([[2.0]])), (np.zeros(1), np.zeros(1)))
    >>> net(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    [[4.0], [0.0]]
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __post_init__(self):
        if not self.weights or len(self.weights) != len(self.biases):
            raise ShapeError("network", found=f"{len(self.weights)} weights", rule="as many biases, and at least one")
        before = None
        for position, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            what = f"layer {position} of the network"
            if weight.ndim != 2 or bias.shape != (weight.shape[0],):
                found = f"weight of shape {weight.shape}, bias of shape {bias.shape}"
                raise ShapeError(what, found=found, rule="weight (outputs, inputs) and bias (outputs,)")
            if before is not None and weight.shape[1] != before:
                rule = f"{before} inputs, the outputs of the layer before"
                raise ShapeError(what, found=f"a weight of shape {weight.shape}", rule=rule)
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise SettingError(what, found="a weight that is not finite", rule="weights are finite numbers")
            before = weight.shape[0]

    @property
    def inputs(self) -> int:
        """The number of coordinates of an input."""
        return self.weights[0].shape[1]

    @property
    def outputs(self) -> int:
        """The number of outputs."""
        return self.weights[-1].shape[0]

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """The outputs, one row an input."""
        return self.trace(x)[-1]

    def trace(self, x: Float[np.ndarray, "n d"]) -> list[np.ndarray]:
        """All z of each input."""
        found = [x @ self.weights[0].T + self.biases[0]]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            found.append(np.maximum(found[-1], 0.0) @ weight.T + bias)
        return found

    def gradient(self, x: Float[np.ndarray, "n d"], rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n d"]:
        """The gradient of <row, outputs> by each input; 0 where a unit is at its kink."""
        trace = self.trace(x)
        found = rows @ self.weights[-1]
        for weight, z in zip(self.weights[-2::-1], trace[-2::-1], strict=True):
            found = (found * (z > 0)) @ weight
        return found


def read_network(network: Any, params: Any = None, inputs: int | None = None) -> ReluNetwork:
    """A network that the certificates can bound.

    Args:
        network: a `ReluNetwork`; a list of (weight, bias) of dense layers, with ReLU between them; a `Serial` of
            `Dense` and `Relu` (nested ones, too) with its `params`.
        params: the parameters of a `Serial`, as its `init` returns them.
        inputs: the number of coordinates of an input, for a network that begins with a ReLU.

    Raises:
        SettingError: for a layer that cannot be bounded, which is named, and for anything else.
        ShapeError: where layers do not fit each other.
    """
    if isinstance(network, ReluNetwork):
        return network
    if isinstance(network, Serial):
        if params is None:
            remedy = "certify(network, x, radius, params=params)"
            raise SettingError("params", found="None", rule="the parameters of the Serial", remedy=remedy)
        return _composed(_steps(network, params, "Serial"), inputs)
    is_list = isinstance(network, Sequence) and not isinstance(network, str) and len(network) > 0
    if is_list and all(isinstance(layer, Sequence) and len(layer) == 2 for layer in network):
        pairs = [(np.asarray(weight, float), np.asarray(bias, float)) for weight, bias in network]
        return ReluNetwork(tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs))
    rule = "a list of (weight, bias), or a Serial of Dense and Relu with its params"
    raise SettingError("network", found=f"a {type(network).__name__}", rule=rule)


def _steps(network: Serial, params: Any, path: str) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """(weight, bias) of an affine map, None for a ReLU, in order."""
    found: list[tuple[np.ndarray, np.ndarray] | None] = []
    for position, (layer, own) in enumerate(zip(network.layers, params, strict=True)):
        if isinstance(layer, Serial):
            found += _steps(layer, own, f"{path}.layers[{position}]")
        elif type(layer) is Dense:
            weight = np.asarray(own["weight"], float)
            scales = layer.scales(weight.shape[1])
            bias = np.zeros(len(weight))
            if "bias" in own:
                bias = float(scales.bias_multiplier) * np.asarray(own["bias"], float)
            found.append((float(scales.multiplier) * weight, bias))
        elif type(layer) is Relu:
            found.append(None)
        else:
            what = f"layer {position} of {path}: {type(layer).__name__}"
            raise SettingError(what, rule="layers that can be bounded are Dense and Relu")
    return found


def _composed(steps: list[tuple[np.ndarray, np.ndarray] | None], inputs: int | None) -> ReluNetwork:
    """Affine maps that follow each other as one; the identity before a first ReLU and after a last one."""
    maps: list[tuple[np.ndarray, np.ndarray]] = []
    fresh = True  # the next affine map begins a layer of its own
    for step in steps:
        if step is None:
            if not maps:
                if inputs is None:
                    raise SettingError("network", found="a ReLU first", rule="the number of inputs is known")
                maps.append((np.eye(inputs), np.zeros(inputs)))
            fresh = True
        elif fresh:
            maps.append(step)
            fresh = False
        else:
            weight, bias = maps[-1]
            maps[-1] = (step[0] @ weight, step[0] @ bias + step[1])
    if fresh:
        if not maps:
            raise SettingError("network", found="no layers", rule="at least one dense layer")
        maps.append((np.eye(len(maps[-1][1])), np.zeros(len(maps[-1][1]))))
    return ReluNetwork(tuple(weight for weight, _ in maps), tuple(bias for _, bias in maps))
