"""Layers one after another, and the common fully connected networks."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Key

from lemmata.core import whole
from lemmata.errors import SettingError

from ._activations import Erf, Relu
from ._dense import Dense
from ._layer import AbstractLayer, Shape
from ._parameterization import NetworkParameterization, WidthExponents, by_role
from ._state import State

_DEEPEST = 100_000
"""The largest number of layers of one kind that is built. This number is far above the depths that JAX can compile."""


class Serial(AbstractLayer):
    """The composition of layers, which are applied in order. A composition is also a layer."""

    layers: tuple[AbstractLayer, ...]
    whole = True

    def __init__(self, layers: Sequence[AbstractLayer]):
        if not isinstance(layers, Sequence):
            found, remedy = repr(layers), "Serial([layer])"
            raise SettingError(
                "layers of Serial", found=found, rule="a list of layers", remedy=f"pass a list, as in {remedy}"
            )
        self.layers = tuple(layers)

    def __check_init__(self):
        for position, layer in enumerate(self.layers):
            if not isinstance(layer, AbstractLayer):
                raise SettingError(
                    f"layer {position} of Serial",
                    found=repr(layer),
                    rule="a layer (an AbstractLayer)",
                    remedy="wrap a plain function as Elementwise(fn)",
                )

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[Any, ...], Shape]:
        """Return a tuple of the layers' parameters, drawn with independent keys."""
        params = []
        for layer, layer_key in zip(self.layers, jax.random.split(key, max(1, len(self.layers))), strict=False):
            drawn, fan_in = layer.init(layer_key, fan_in, dtype=dtype)
            params.append(drawn)
        return tuple(params), fan_in

    def apply(self, params: tuple[Any, ...], x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Apply the layers in turn."""
        for layer, own in zip(self.layers, params, strict=True):
            x = layer.apply(own, x)
        return x

    def apply_masked(
        self, params: tuple[Any, ...], x: Float[Array, "..."], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_out"], Bool[Array, "*sites_out"] | None]:
        """Apply the layers in turn. Pass the mask on until a layer returns an output without a mask."""
        visible: Any = mask
        for layer, own in zip(self.layers, params, strict=True):
            x, visible = (layer.apply(own, x), None) if visible is None else layer.apply_masked(own, x, visible)
        return x, visible

    def push(self, state: State) -> State:
        """Apply `push` of each layer in turn."""
        for layer in self.layers:
            state = state.through(layer)
        return state

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed at the inputs, from the last layer back to the first."""
        for layer in reversed(self.layers):
            pairs = layer.needs_pairs(pairs)
        return pairs

    def token_count(self) -> int | None:
        """Return the number of tokens that the first layer reads, or None."""
        return self.layers[0].token_count() if self.layers else None


def parts(network: AbstractLayer) -> list[AbstractLayer]:
    """Return the layers of a network, in order. The layers inside a `Serial` are listed one by one."""
    if type(network) is not Serial:
        return [network]
    return [part for layer in network.layers for part in parts(layer)]


def through_parts(network: AbstractLayer, state: State) -> State:
    """Return the state after `push` of a network. Its `parts` are compiled one by one, and equal parts only once."""
    for part in parts(network):
        state = _through(part, state)
    return state


@eqx.filter_jit
def _through(layer: AbstractLayer, state: State) -> State:
    return state.through(layer)


def check_depth(depth: Any, least: int, parts: str) -> None:
    """Refuse a depth below `least`, or a depth that is so large that its list of layers would fill the memory.

    Args:
        depth: the number of layers (or blocks) that a user asked for.
        least: the smallest allowed depth.
        parts: the name of the layers that the depth counts, for the error message.

    Raises:
        SettingError: for a depth that is no whole number from `least` to 100,000.
    """
    if not least <= whole("depth", depth) <= _DEEPEST:
        raise SettingError("depth", found=depth, rule=f"a whole number of {parts} from {least} to {_DEEPEST:,}")


def fully_connected(
    activation: AbstractLayer,
    depth: int,
    width: int = 1024,
    *,
    weight_std: float = 1.0,
    bias_std: float = 0.0,
    readout_std: float = 1.0,
    outputs: int = 1,
    parameterization: NetworkParameterization = "ntk",
) -> Serial:
    """Return a network of `depth` hidden layers (Dense, activation), followed by a Dense readout.

    Args:
        activation: the nonlinearity after each hidden Dense layer.
        depth: number of hidden layers; 0 is a linear model.
        width: outputs of each hidden layer of the finite network.
        weight_std: standard deviation of the hidden weights.
        bias_std: standard deviation of every bias, including the readout's. With 0, there are no biases.
        readout_std: standard deviation of the readout's weights.
        outputs: outputs of the readout.
        parameterization: the parameterisation of the Dense layers. `"ntk"` and `"standard"` treat all layers alike.
            `"mean-field"`, `"maximal-update"` and any `LayerExponents` treat the first layer, the hidden layers and
            the readout differently.

    Raises:
        SettingError: for a depth below 0 or above 100,000, for exponents without a hidden layer, and for the same
            reasons as `Dense`.
    """
    check_depth(depth, 0, "hidden layers")
    first, rest, last = by_role(parameterization)
    if depth == 0 and isinstance(last, WidthExponents):
        raise SettingError(
            "depth", found=0, rule="at least one hidden layer, because the exponents are powers of its width"
        )
    layer = lambda own: [Dense(width, weight_std, bias_std, own), activation]
    hidden = [layer(rest if position else first) for position in range(depth)]
    return Serial([*itertools.chain(*hidden), Dense(outputs, readout_std, bias_std, last)])


def relu_network(
    depth: int, width: int = 1024, *, weight_std: float = math.sqrt(2.0), bias_std: float = 0.0, outputs: int = 1
) -> Serial:
    """Return a ReLU network. By default, every hidden layer keeps the variance of its inputs.

    With the default weight_std² = 2 and no biases, the output at a point x of d inputs has variance |x|² / d.
    """
    return fully_connected(Relu(), depth, width, weight_std=weight_std, bias_std=bias_std, outputs=outputs)


def erf_network(
    depth: int, width: int = 1024, *, weight_std: float = 1.0, bias_std: float = 0.0, outputs: int = 1
) -> Serial:
    """Return a fully connected network (`fully_connected`) with the error function as activation."""
    return fully_connected(Erf(), depth, width, weight_std=weight_std, bias_std=bias_std, outputs=outputs)
