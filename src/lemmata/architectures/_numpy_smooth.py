"""The recursion over layers of dense networks with Erf or Gelu, in NumPy, for small matrices and short computations.

The recursion maps moments of the inputs through `push` of every layer. An argument `face` is "nngp" for the covariance
of the outputs, or "ntk" for the tangent kernel.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ._activations import Erf, Gelu
from ._dense import Dense
from ._layer import AbstractLayer
from ._serial import parts

_EPS = float(np.finfo(float).eps)
# the largest errors that an inaccurate versine may cause: in `Pair.sure`, and in tables (a tenth of their accuracy)
SURE, _TABLE = 8.0 * math.sqrt(_EPS), 1e-13


class Moments(NamedTuple):
    """Covariances, variances and versines 1 - |c| of pairs, as arrays that broadcast. Here, c is the correlation."""

    nngp: np.ndarray
    one: np.ndarray
    other: np.ndarray
    versine: np.ndarray


def versine_at(theta: np.ndarray) -> np.ndarray:
    """Return 1 - |cos theta| without cancellation."""
    return 2.0 * np.sin(0.5 * np.minimum(theta, np.pi - theta)) ** 2


def numpy_smooth(
    network: AbstractLayer, face: str, fan_in: int, a: np.ndarray, b: np.ndarray, theta: np.ndarray
) -> np.ndarray | None:
    """Return the kernel `face` at variances a and b and angles theta, or NaN where its error may exceed 1e-13.

    The result is None unless every layer is `Dense`, `Erf` or `Gelu`, and all settings of these layers are plain
    numbers.
    """
    if not _is_stack(network, (Erf, Gelu)):
        return None
    nngp = np.sqrt(a) * np.sqrt(b) * np.cos(theta)
    return recursion(network, face, fan_in, Moments(nngp, a, b, versine_at(theta)), _TABLE)


def is_erf(network: AbstractLayer) -> bool:
    """Return whether all layers are `Dense` or `Erf`. If so, `recursion` is exact up to rounding at all variances."""
    return _is_stack(network, (Erf,))


def _is_stack(network: AbstractLayer, activations: tuple[type, ...]) -> bool:
    layers, numbers = parts(network), (int, float)
    for layer in layers:
        if type(layer) is Dense and not (isinstance(layer.weight_std, numbers) and isinstance(layer.bias_std, numbers)):
            return False
    # An activation needs the Gaussian outputs of a dense layer.
    known = all(type(layer) in (Dense, *activations) for layer in layers)
    fits = all(type(before) is Dense for before, layer in pairwise(layers) if type(layer) is not Dense)
    return bool(layers) and type(layers[0]) is Dense and known and fits


def recursion(network: AbstractLayer, face: str, width: int, at: Moments, sure: float) -> np.ndarray:
    """Return the kernel `face` ("nngp" or "ntk"), by the formulas of `push` for all layers in turn.

    A value becomes NaN if an error in a versine may change it by more than `sure`.

    The formulas use the versine 1 - |c| in place of 1 - c², where c is the correlation, because 1 - c² would cancel.
    """
    tangent: Any = np.zeros_like(at.versine)
    lost = 0.0
    for layer in parts(network):
        if isinstance(layer, Dense):
            own, b2 = layer.scales(width), float(layer.bias_std) ** 2
            tangent = own.gradient * at.nngp + own.variance * tangent + (own.bias_multiplier**2 if b2 else 0.0)
            at, width = _dense(at, own.variance, b2), layer.width
            continue
        slope, at = (_erf if isinstance(layer, Erf) else _gelu)(at, lost, sure)
        tangent, lost = tangent * slope, 4.0 * _EPS
    return tangent if face == "ntk" else at.nngp


def _dense(at: Moments, variance: float, b2: float) -> Moments:
    """Return the moments after weights and biases. The versine is a sum of terms of one sign (`versine_of_sum`)."""
    nngp, one, other = (variance * moment for moment in at[:3])
    if not b2:
        return Moments(nngp, one, other, at.versine)
    left, right, negative = one + b2, other + b2, nngp < 0
    p1, p2 = np.sqrt(one / left) * np.sqrt(other / right), b2 / (np.sqrt(left) * np.sqrt(right))
    across = np.sqrt(one / left) * np.sqrt(b2 / right) - np.sqrt(b2 / left) * np.sqrt(other / right)
    base = across * across / (1.0 + p1 + p2)
    near = base + p1 * np.where(negative, 2.0 - at.versine, at.versine)
    far = base + p1 * np.where(negative, at.versine, 2.0 - at.versine) + 2.0 * p2
    return Moments(nngp + b2, left, right, np.where(near > 1.0, far, near))


def _after(at: Moments, nngp: np.ndarray, one: np.ndarray, other: np.ndarray) -> Moments:
    scale = np.sqrt(one) * np.sqrt(other)
    return Moments(nngp, one, other, 1.0 - np.minimum(np.abs(nngp) / np.where(scale > 0, scale, 1.0), 1.0))


def _erf(at: Moments, lost: float, sure: float) -> tuple[np.ndarray, Moments]:
    """Return the factor of the tangent kernel, and the moments, as `Erf.push` does."""
    nngp, one, other, v = at
    a, b = 1.0 / (1.0 + 2.0 * one), 1.0 / (1.0 + 2.0 * other)
    p, q, root = 2.0 * one * a, 2.0 * other * b, np.sqrt(a) * np.sqrt(b)
    rest = a + p * b + p * q * (v * (2.0 - v))  # 1 - rho², without cancellation
    slope = _sure((4.0 / np.pi) * root / np.sqrt(rest), p * q / rest * lost, sure)
    nngp = (2.0 / np.pi) * np.arctan2(2.0 * nngp * root, np.sqrt(rest))
    one, other = ((2.0 / np.pi) * np.arctan2(r, np.sqrt(s * (1.0 + r))) for r, s in ((p, a), (q, b)))
    return slope, _after(at, nngp, one, other)


def _gelu(at: Moments, lost: float, sure: float) -> tuple[np.ndarray, Moments]:
    """Return the factor of the tangent kernel, and the moments, as `Gelu.push` does.

    A moment is NaN if the versine is too inaccurate.
    """

    def moments(k: np.ndarray, one: np.ndarray, other: np.ndarray, v: Any) -> tuple[np.ndarray, np.ndarray]:
        a, b, w = 1.0 / (1.0 + one), 1.0 / (1.0 + other), v * (2.0 - v)
        p, q, rho = one * a, other * b, k * (np.sqrt(a) * np.sqrt(b))
        rest, both = a + p * b + p * q * w, a + b
        root = np.sqrt(rest)
        mean = 0.25 + np.arctan2(rho, root) / (2.0 * np.pi)
        scale, share = np.sqrt(one) * np.sqrt(other), np.sqrt(p) * np.sqrt(q)
        nngp = k * mean + scale * share * (w + (1.0 - v) ** 2 * both) / (2.0 * np.pi * root)
        slope = mean + rho * (both + a * b / rest) / (2.0 * np.pi * root)
        return _sure(nngp, p * q / rest * lost, sure), slope

    (nngp, slope), one, other = moments(*at), *(moments(v, v, v, 0.0)[0] for v in (at.one, at.other))
    return slope, _after(at, nngp, one, other)


def _sure(values: np.ndarray, error: np.ndarray, sure: float) -> np.ndarray:
    """Return the values. A value becomes NaN if its error may exceed the allowed error (`Pair.sure`)."""
    unsure = error > sure
    return np.where(unsure, np.nan, values) if unsure.any() else values
