"""Units of a network whose incoming and outgoing weights can be rescaled without changing the function."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from ._contract import AbstractModel

_ROWS = 32
_ROUNDING = 1e-7


@dataclasses.dataclass(frozen=True, eq=False)
class Rescaling:
    """A layer of units with positively homogeneous activations, found by its rescaling symmetry.

    Multiplying the incoming weights of unit k by c > 0 and dividing its outgoing weights by c changes no output.

    Args:
        names: the names of the incoming array, of the biases (empty if there are none), and of the outgoing array.
        units: for each parameter, k + 1 if it is incoming to unit k, -(k + 1) if it is outgoing from unit k, and 0
            otherwise.
    """

    names: tuple[str, str, str]
    units: Int[np.ndarray, " P"]

    def charges(self, theta: Float[np.ndarray, " P"]) -> Float[np.ndarray, " k"]:
        """Return |incoming weights|² - |outgoing weights|² for each unit.

        The derivative of the loss along the rescaling of unit k is <D theta, grad> = 0. Here D is diagonal, with 1 at
        incoming weights, -1 at outgoing weights and 0 elsewhere. Gradient flow moves theta along -grad, so theta^T D
        theta does not change.
        """
        return np.bincount(np.abs(self.units), np.sign(self.units) * theta**2)[1:]

    def sizes(self, theta: Float[np.ndarray, " P"]) -> Float[np.ndarray, "2 k"]:
        """Return |incoming weights|² and |outgoing weights|² for each unit."""
        count = int(np.abs(self.units).max()) + 1
        parts = ((sign * self.units).clip(0) for sign in (1, -1))
        return np.stack([np.bincount(part, theta**2 * (part > 0), count)[1:] for part in parts])


def find_rescalings(model: AbstractModel, x: np.ndarray) -> list[Rescaling]:
    """Return every layer of units of a model whose rescaling changes no output.

    Names and the order of axes are not used. For each axis of each array, the product J v with the Jacobian J is
    computed on a few rows. Here v equals the array with each slice along the axis multiplied by one random number. In
    all other arrays, v is 0. All axes of one length use the same numbers. A pair of axes (in, out), with or without
    biases of the same length, is a layer of units if J v_in + J v_biases = J v_out.

    Args:
        model: a model with derivatives.
        x: the rows, of which the first 32 are used.
    """
    double, rows = model.in_double(), x[:_ROWS]
    scale = float(np.linalg.norm(double.outputs(rows)))
    pushed = {}
    for place, layer in enumerate(double.layers):
        for axis, length in enumerate(layer.shape):
            if length > 1:
                pushed[place, axis] = double.jvp(_along(double, place, axis), rows)
    found, known = [], set()  # without biases, in and out cannot be distinguished, so one order is enough
    arrays = [key for key in pushed if len(double.layers[key[0]].shape) > 1]
    for a in arrays:
        for b in arrays:
            if a[0] == b[0] or _length(double, a) != _length(double, b) or (b, a) in known:
                continue
            alone = [key for key in pushed if len(double.layers[key[0]].shape) == 1]
            own = [None, *(key for key in alone if _length(double, key) == _length(double, a))]
            for c in own:
                into = pushed[a] + (pushed[c] if c else 0.0)
                if np.linalg.norm(into) > 1e-6 * scale and _equal(into, pushed[b]):
                    found.append(_rescaling(double, a, c, b))
                    known.add((a, b))
                    break
    return found


def _equal(into: np.ndarray, out: np.ndarray) -> bool:
    return bool(np.linalg.norm(into - out) <= _ROUNDING * np.linalg.norm(into))


def _length(model: AbstractModel, key: tuple[int, int]) -> int:
    return model.layers[key[0]].shape[key[1]]


def _start(model: AbstractModel, place: int) -> int:
    return sum(layer.size for layer in model.layers[:place])


def _along(model: AbstractModel, place: int, axis: int) -> Float[np.ndarray, " P"]:
    """Return the parameters of one array, with its slices along an axis times random numbers. All others are 0."""
    layer, begin, v = model.layers[place], _start(model, place), np.zeros(len(model.theta))
    numbers = np.random.default_rng(layer.shape[axis]).normal(size=layer.shape[axis])
    own = model.theta[begin : begin + layer.size].reshape(layer.shape)
    v[begin : begin + layer.size] = (np.moveaxis(np.moveaxis(own, axis, -1) * numbers, -1, axis)).ravel()
    return v


def _rescaling(model: AbstractModel, a: tuple[int, int], c: tuple[int, int] | None, b: tuple[int, int]) -> Rescaling:
    units = np.zeros(len(model.theta), int)
    for key, sign in ((a, 1), (c, 1), (b, -1)):
        if key is None:
            continue
        shape, begin = model.layers[key[0]].shape, _start(model, key[0])
        own = np.moveaxis(
            np.broadcast_to(np.arange(1, shape[key[1]] + 1), (*_others(shape, key[1]), shape[key[1]])), -1, key[1]
        )
        units[begin : begin + own.size] = sign * own.ravel()
    name = lambda key: "" if key is None else model.layers[key[0]].name
    return Rescaling((name(a), name(c), name(b)), units)


def _others(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return tuple(length for place, length in enumerate(shape) if place != axis)
