"""Tangent kernels of plain dense networks by NumPy: for few rows, a compilation costs more than the matrix."""

from typing import Any

import numpy as np
from jaxtyping import Float

from ._activations import Erf
from ._dense import Dense
from ._homogeneous import Steps, homogeneous_profile, homogeneous_steps
from ._kernels import TangentKernel
from ._layer import AbstractLayer
from ._serial import Serial

_NEAR = 1e-2
"""If a cosine is within this of 1 or -1, its angle is taken from the difference of the normalised points."""
_SNAP = (8.0 * np.finfo(float).eps) ** 2
"""Versines up to this are rounding: the angle is 0."""
_TILE = 128
"""Rows and columns of a tile: the arrays of its recursion stay in the cache."""


def cross_on_host(
    kernel: Any, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "n m"] | None:
    """The tangent kernel between all rows by NumPy; None for networks other than those below.

    The values are those of `kernel.cross`, to rounding. Known networks are the positively homogeneous ones
    (`is_homogeneous`), and stacks of `Dense` layers without biases and of `Erf`.

    Args:
        kernel: any kernel.
        x: rows in float64.
        y: other rows.

    >>> import numpy as np
    >>> from lemmata.architectures import TangentKernel, cross_on_host, relu_network
    >>> cross_on_host(TangentKernel(relu_network(depth=3)), np.ones((1, 2)), np.ones((1, 2))).round(6).tolist()
    [[4.0]]
    """
    if type(kernel) is not TangentKernel:
        return None
    steps, layers = homogeneous_steps(kernel.network), _erf_layers(kernel.network)
    if steps is None and layers is None:
        return None
    found = np.empty((len(x), len(y)))
    mirrored = np.shares_memory(x[:1], y[:1]) and np.array_equal(x[: len(y)], y)
    for j in range(0, len(y), _TILE):
        for i in range(j if mirrored else 0, len(x), _TILE):
            rows, columns = slice(i, i + _TILE), slice(j, j + _TILE)
            left, right = x[rows], y[columns]
            own = _homogeneous(steps, left, right) if steps is not None else _by_erf(layers or [], left, right)
            found[rows, columns] = own
            if mirrored and j < i < len(y):
                found[j : j + len(right), rows] = own.T[:, : len(y) - i]
    return found


def _homogeneous(steps: Steps, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    """|x| |y| / d times the profile in the angle."""
    obtuse, versine, one, other = _versines(x, y)
    half = 2.0 * np.arcsin(np.sqrt(0.5 * versine))
    angles = np.where(obtuse, np.pi - half, half)
    profile = homogeneous_profile(steps, x.shape[1], angles.ravel())[1]
    return np.outer(one, other / x.shape[1]) * profile.reshape(angles.shape)


def _versines(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Whether the cosine of the angle between points is negative, 1 - its modulus (1 at a point 0), and the norms."""
    one, other = (np.sqrt((points**2).sum(axis=1)) for points in (x, y))
    left, right = x / np.where(one > 0, one, 1.0)[:, None], y / np.where(other > 0, other, 1.0)[:, None]
    c = left @ right.T
    versine = 1.0 - np.abs(c)
    i, j = np.nonzero(versine < _NEAR)
    if len(i):
        apart = left[i] - np.where(c[i, j] < 0, -1.0, 1.0)[:, None] * right[j]
        versine[i, j] = 0.5 * (apart**2).sum(axis=1)
    return c < 0, np.where(versine > _SNAP, np.minimum(versine, 1.0), 0.0), one, other


def _erf_layers(network: AbstractLayer) -> list[Dense | Erf] | None:
    """The layers of a stack of dense layers without biases and of error functions; None for any other network."""
    if type(network) is not Serial:
        return None
    plain = lambda layer: isinstance(layer.weight_std, int | float) and layer.bias_std == 0
    known = [layer for layer in network.layers if type(layer) is Erf or (type(layer) is Dense and plain(layer))]
    return known if len(known) == len(network.layers) else None


def _by_erf(layers: list[Dense | Erf], x: np.ndarray, y: np.ndarray) -> Float[np.ndarray, "n m"]:
    """The recursion of `Dense.push` and `Erf.push`."""
    width, tangent = x.shape[1], np.zeros((len(x), len(y)))
    _, versine, one, other = _versines(x, y)
    nngp, one, other = x @ y.T / width, one[:, None] ** 2 / width, other**2 / width
    for layer in layers:
        if isinstance(layer, Dense):
            own = layer.scales(width)
            tangent = own.gradient * nngp + own.variance * tangent
            nngp, one, other = (own.variance * moment for moment in (nngp, one, other))
            width = layer.width
            continue
        a, b = 1.0 / (1.0 + 2.0 * one), 1.0 / (1.0 + 2.0 * other)
        p, q, root = 2.0 * one * a, 2.0 * other * b, np.sqrt(a) * np.sqrt(b)
        rest = a + p * b + p * q * (versine * (2.0 - versine))  # 1 - rho², without cancellation
        tangent *= (4.0 / np.pi) * root / np.sqrt(rest)
        nngp = (2.0 / np.pi) * np.arctan2(2.0 * nngp * root, np.sqrt(rest))
        one, other = ((2.0 / np.pi) * np.arctan2(r, np.sqrt(s * (1.0 + r))) for r, s in ((p, a), (q, b)))
        scale = np.sqrt(one) * np.sqrt(other)
        versine = 1.0 - np.minimum(np.abs(nngp) / np.where(scale > 0, scale, 1.0), 1.0)
    return tangent
