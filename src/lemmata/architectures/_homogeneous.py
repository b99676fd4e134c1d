"""Positively homogeneous networks as sequences of steps. The steps compute both kernels as functions of the angle.

The kernels are nngp, the covariance of an output at two inputs, and ntk, the tangent kernel. A step describes one
layer.
"""

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ._activations import LeakyRelu, Relu
from ._dense import Dense
from ._layer import AbstractLayer
from ._parameterization import Parameterization, scales
from ._rectified import ABRelu
from ._serial import Serial

Angles = Float[np.ndarray, " p"]


class Carried(NamedTuple):
    """Both kernels of the first layers of a network, for pairs of inputs of variance |x|²/d = 1 at given angles.

    Attributes:
        variance: the variance E[h(x)²] of the outputs h of these layers, the same for all inputs.
        nngp: E[h(x) h(y)].
        ntk: the tangent kernel of these layers.
        theta: the angle whose cosine is nngp / variance, the correlation of h(x) and h(y).
        fan_in: the number of coordinates of h.
    """

    variance: float
    nngp: Angles
    ntk: Angles
    theta: Angles
    fan_in: int


@runtime_checkable
class Step(Protocol):
    """A hashable description of the change of the kernels by a positively homogeneous layer.

    Attributes:
        bends: whether the layer changes the angle. If so, the step costs as much as an activation's step.
    """

    bends: bool

    def carry(self, at: Carried) -> Carried:
        """Return the kernels after the layer, from the kernels before it."""
        ...


class LinearStep(NamedTuple):
    """A dense layer without bias."""

    weight_std: float
    width: int
    parameterization: Parameterization
    bends = False

    def carry(self, at: Carried) -> Carried:
        """Scale the moments, and add the layer's own gradient to the tangent kernel. The angle does not change."""
        own = scales(self.parameterization, at.fan_in, self.width, self.weight_std, 0.0)
        ntk = own.gradient * at.nngp + own.variance * at.ntk
        return Carried(own.variance * at.variance, own.variance * at.nngp, ntk, at.theta, self.width)


class BendStep(NamedTuple):
    """A map that is linear on each side of 0.

    Attributes:
        slope: the slope below 0.
        above: the slope above 0.
    """

    slope: float
    above: float = 1.0
    bends = True

    def carry(self, at: Carried) -> Carried:
        """Return the kernels after the map, by the arc-cosine kernels of the angle."""
        a, b = self.slope, self.above
        gap = _gap(at.theta, a, b)
        ntk = at.ntk * (0.5 * ((b - a) ** 2 * (1.0 - at.theta / np.pi) + 2.0 * a * b))
        variance = 0.5 * (a * a + b * b) * at.variance
        return Carried(variance, variance * (1.0 - gap), ntk, 2.0 * np.arcsin(np.sqrt(0.5 * gap)), at.fan_in)


Steps = tuple[Step, ...]


@singledispatch
def homogeneous_steps(layer: Any) -> Steps | None:
    """Return the steps of a layer that is known to be positively homogeneous, or None for any other layer.

    To add a layer of your own, register its rule by `homogeneous_steps.register(MyLayer, rule)`. For every pair of
    inputs, `push` of the layer must agree with the rule's `LinearStep`, `BendStep` or other `Step` at the angle of the
    inputs. Subclasses of lemmata's layers give None unless they are registered themselves, since their `push` may
    differ.
    """
    return None


def _register_exactly(kind: type) -> Callable[[Callable[[Any], Steps | None]], None]:
    """Register a rule for the layers of this class, but not for the layers of its subclasses."""

    def register(rule: Callable[[Any], Steps | None]) -> None:
        homogeneous_steps.register(kind, lambda layer: rule(layer) if type(layer) is kind else None)

    return register


@_register_exactly(Serial)
def _(network: Serial) -> Steps | None:
    parts = [homogeneous_steps(layer) for layer in network.layers]
    known = [part for part in parts if part is not None]
    return tuple(step for part in known for step in part) if len(known) == len(parts) else None


@_register_exactly(Dense)
def _(layer: Dense) -> Steps | None:
    if not _plain(layer.weight_std, layer.bias_std, layer.width) or layer.bias_std != 0:
        return None
    return (LinearStep(float(layer.weight_std), layer.width, layer.parameterization),)


@_register_exactly(LeakyRelu)
def _(layer: LeakyRelu) -> Steps | None:
    return (BendStep(layer.slope),) if _plain(layer.slope) else None


@_register_exactly(ABRelu)
def _(layer: ABRelu) -> Steps | None:
    return (BendStep(layer.below, layer.above),) if _plain(layer.below, layer.above) else None


@_register_exactly(Relu)
def _(layer: Relu) -> Steps | None:
    return (BendStep(0.0),)


def _plain(*values: object) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)


def is_homogeneous(network: AbstractLayer) -> bool:
    """Return whether the network is known to be positively homogeneous of degree 1: f(a x) = a f(x) for every a >= 0.

    Then nngp(x, y) and ntk(x, y) are |x| |y| times a function of the angle between x and y. The known layers are
    `Dense` without biases, `Relu`, `LeakyRelu`, `ABRelu`, and `Serial` of these, if their settings are plain finite
    numbers. Layers that are registered with `homogeneous_steps` are known, too. For any other layer, and for subclasses
    of these layers, the result is False.
    """
    return homogeneous_steps(network) is not None


def homogeneous_profile(steps: Steps, fan_in: int, theta: Angles) -> tuple[Angles, Angles]:
    """Return both kernels of inputs of variance |x|²/d = 1 at angles theta.

    The computation is the recursion of `push`, expressed by the angle.

    A state stores the correlation, which determines a small angle theta only up to eps / theta. In this recursion,
    every angle is exact up to a few rounding errors.
    """
    at = Carried(1.0, np.cos(theta), np.zeros_like(theta), theta, fan_in)
    for step in steps:
        at = step.carry(at)
    return at.nngp, at.ntk


def _gap(theta: Float[np.ndarray, " p"], a: float, b: float) -> Float[np.ndarray, " p"]:
    """Return 1 - c for the correlation c after a bend of slopes a (below 0) and b, from the angle before the bend.

    The formula does not cancel at the angles 0 and pi.
    """
    # Let u = theta below pi / 2 and pi - theta above. Then kappa1 is cos u + (sin u - u cos u) / pi below pi / 2, and
    # only the last term of this sum above pi / 2.
    u = np.minimum(theta, np.pi - theta)
    versine, bow = 2.0 * np.sin(0.5 * u) ** 2, (np.sin(u) - u * np.cos(u)) / np.pi
    bend, even = (b - a) ** 2, a * a + b * b
    acute = even * versine - bend * bow
    obtuse = (a + b) ** 2 - 2.0 * a * b * versine - bend * bow
    return np.clip(np.where(theta < 0.5 * np.pi, acute, obtuse) / even, 0.0, 2.0)
