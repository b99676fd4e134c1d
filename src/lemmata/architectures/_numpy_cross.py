"""Kernels of plain dense networks, by NumPy. For up to a few million entries, NumPy is faster than compiling."""

from collections.abc import Callable
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ._bends import BentLayer, Rows, bent_layers
from ._layer import AbstractLayer
from ._numpy_smooth import SURE, Moments, is_erf, recursion

_NEAR = 1e-2
"""If a cosine is this near to 1 or -1, the angle is computed from the difference of the normalised points."""
_EPS = float(np.finfo(float).eps)
_SNAP = (8.0 * _EPS) ** 2
"""If the versine (1 - cosine) of an angle is at most this, it is a rounding error, and the angle is set to 0."""
_TILE = 128
"""The largest number of rows, and of columns, of a tile. Arrays of this size fit into the processor's cache."""

Matrix = Float[np.ndarray, "n m"]


class Tile(NamedTuple):
    """A tile of pairs of points: their cosines (as sign and 1 - modulus), and further numbers of each point.

    Attributes:
        obtuse: 1.0 where the cosine is negative, else 0.0. A product with this array takes a quarter of the time of
            `where`.
        versine: 1 - |cosine|, which is 1 if a point is 0.
        one: the k numbers that `Recipe.side` computes for each point of the rows, (k, n, 1).
        other: the k numbers that `Recipe.side` computes for each point of the columns, (k, m).
    """

    obtuse: Matrix
    versine: Matrix
    one: Float[np.ndarray, "k n 1"]
    other: Float[np.ndarray, "k m"]


class Recipe(NamedTuple):
    """The rule by which a kernel is computed from angles and variances |x|² / d.

    Attributes:
        side: a function from the variances (n,) of points to all numbers (k, n) that a tile needs of these points.
        tile: a function from a tile to the kernel of its pairs.
    """

    side: Callable[[np.ndarray], np.ndarray]
    tile: Callable[[Tile], Matrix]


def numpy_network_cross(
    network: AbstractLayer, face: str, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point"]
) -> Matrix | None:
    """Return one of the two kernels of a network for all pairs of rows. Return None for networks not named below.

    The values equal those of `push` of every layer up to rounding. The networks are stacks of `Dense` layers with bends
    between them (`bent_layers`) or with `Erf`.

    Args:
        network: any network.
        face: "nngp" or "ntk".
        x: rows in float64.
        y: other rows, in float64.
    """
    if not (x.ndim == y.ndim == 2 and x.shape[1] == y.shape[1] > 0 and x.dtype == y.dtype == np.float64):
        return None
    recipe = _recipe(network, face, x.shape[1])
    if recipe is None:
        return None
    (left, one), (right, other) = _units(x), _units(y)
    one, other = recipe.side(one), recipe.side(other)
    found = np.empty((len(x), len(y)))
    mirrored = np.shares_memory(x[:1], y[:1]) and np.array_equal(x[: len(y)], y)
    for j in range(0, len(y), _TILE):
        for i in range(j if mirrored else 0, len(x), _TILE):
            rows, columns = slice(i, i + _TILE), slice(j, j + _TILE)
            own = recipe.tile(Tile(*_versines(left[rows], right[columns]), one[:, rows, None], other[:, columns]))
            found[rows, columns] = own
            if mirrored and j < i < len(y):
                found[columns, rows] = own.T[:, : len(y) - i]
    return found


def _recipe(network: AbstractLayer, face: str, fan_in: int) -> Recipe | None:
    """Return the recipe of a network, or None if `numpy_network_cross` does not name such a network."""
    if (layers := bent_layers(network, fan_in)) is not None:
        return Recipe(lambda variance: _rows(layers, variance), lambda at: _by_bends(layers, face, at))
    if is_erf(network):
        return Recipe(lambda variance: variance[None], lambda at: _by_erf(network, face, fan_in, at))
    return None


def _units(x: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Return the points divided by their norms, and |x|² / d."""
    square = np.einsum("ij,ij->i", x, x)
    norm = np.sqrt(square)
    return x / np.where(norm > 0, norm, 1.0)[:, None], square / x.shape[1]


def _versines(left: np.ndarray, right: np.ndarray) -> tuple[Matrix, Matrix]:
    """Return, for points of norm 1, 1.0 if their cosine is negative (else 0.0), and 1 - the modulus of their cosine."""
    c = left @ right.T
    versine = 1.0 - np.abs(c)
    for sign in (1.0, -1.0) if not versine.min() >= _NEAR else ():
        near = (versine < _NEAR) & ((c < 0) == (sign < 0))
        if near.any():
            exact = 0.5 * _squares(left, sign * right, near)[near]
            versine[near] = np.where(exact > _SNAP, exact, 0.0)
    return (c < 0).astype(float), versine


def _squares(left: np.ndarray, right: np.ndarray, near: np.ndarray) -> Matrix:
    """Return |x - y|² of near pairs, from a product of centred points.

    If the product loses two digits, |x - y|² is computed from the difference.
    """
    centre = right.mean(axis=0)
    a, b = left - centre, right - centre
    sizes = np.einsum("ij,ij->i", a, a)[:, None] + np.einsum("ij,ij->i", b, b)
    squares = sizes - 2.0 * (a @ b.T)
    i, j = np.nonzero(near & ~(squares >= _NEAR * sizes))
    apart = left[i] - right[j]
    squares[i, j] = np.einsum("ij,ij->i", apart, apart)
    return squares


def _by_bends(layers: tuple[BentLayer, ...], face: str, at: Tile) -> Matrix:
    """Return the kernel by the loop of `_bends._loop`, whose docstring has the formulas."""
    (rows, end), (columns, other_end) = ((list(starmap(Rows, side[:-1].reshape(-1, 4, *side[0].shape))), side[-1])
                                         for side in (at.one, at.other))  # fmt: skip
    first, row, column = layers[0], rows[0], columns[0]
    near = at.versine + at.obtuse * (2.0 - 2.0 * at.versine)
    s, weights = _apart(row, column, near)
    t = _own(first, row, column, weights, near) if face == "ntk" else None
    obtuse = at.obtuse * (s > 1.0)
    v = (1.0 - obtuse) * s + obtuse * (_far(row, column) + weights * at.versine)
    # After a bend whose slopes have different signs, or with a slope of 0, no correlation is below 0.
    folds = any(layer.line > 0.0 for layer in layers[1:])
    for number, (layer, row, column) in enumerate(zip(layers[1:], rows[1:], columns[1:], strict=True)):
        if number:
            obtuse = (s > 1.0).astype(float) if folds else None
            v = np.minimum(s, 2.0 - s) if folds else s
        near, slope = _bend(layer, obtuse, v)
        s, weights = _apart(row, column, near)
        if t is not None:
            t *= weights
            t *= slope
            t += _own(layer, row, column, weights, near)
    return end * other_end * (1.0 - s if t is None else t)


def _rows(layers: tuple[BentLayer, ...], variance: Float[np.ndarray, " n"]) -> Float[np.ndarray, "k n"]:
    """Return the four `Rows` of every layer, and the root of the last variance."""
    found: list[np.ndarray] = []
    for layer in layers:
        own = layer.variance * layer.half * variance
        variance = own + layer.bias
        safe = np.where(variance > 0, variance, 1.0)
        weights = np.sqrt(own / safe)
        cosine = np.sqrt(0.5 * (1.0 + weights))
        bias = np.where(variance > 0, np.sqrt(layer.bias_gradient) / np.sqrt(safe), 0.0)
        found += [weights, 0.5 * np.sqrt(layer.bias / safe) / cosine, cosine, bias]
    return np.stack([*found, np.sqrt(variance)])


def _bend(layer: BentLayer, obtuse: np.ndarray | None, v: Matrix) -> tuple[Matrix, Matrix]:
    """Return 1 - the correlation after the bend, and the factor of the tangent kernel divided by `half`.

    Let u be the angle before the bend with 1 - cos u = v, and let c be the correlation after the bend. The bow (sin u -
    u cos u) / pi, which is a part of 1 - c, has an error of a few eps times u. The error of 1 - c is therefore also a
    few eps times u, so the angle with the cosine c has an error of a few eps.
    """
    u = 0.5 * v
    np.sqrt(u, out=u)
    np.arcsin(u, out=u)
    u *= 2.0
    bow = 2.0 - v
    bow *= v
    np.sqrt(bow, out=bow)
    near = 1.0 - v
    near *= u
    bow -= near
    bow *= -layer.share / np.pi
    u *= -layer.share / np.pi
    np.add(v, bow, out=near)
    if obtuse is not None:  # 1 - c is both - line v + bow, and the slope line - u
        np.multiply(v, -1.0 - layer.line, out=bow)
        bow += layer.both
        bow *= obtuse
        near += bow
        np.multiply(u, -2.0, out=bow)
        bow -= layer.share
        bow *= obtuse
        u += bow
    u += layer.share + layer.line
    return np.maximum(near, 0.0, out=near), u


def _apart(row: Any, column: Any, near: Matrix) -> tuple[Matrix, Matrix]:
    """Return 1 - the correlation after a dense layer, from 1 - the correlation before it, and cos alpha cos beta."""
    weights = row.weights * column.weights
    between = row.sine * column.cosine
    between -= row.cosine * column.sine
    between *= between
    between *= 2.0
    between += weights * near
    return between, weights


def _far(row: Any, column: Any) -> Matrix:
    """Return 2 sin²((alpha + beta) / 2), one term of 1 + the correlation after the first layer.

    The angles alpha and beta are those of `_bends.Rows`.
    """
    found = row.sine * column.cosine
    found += row.cosine * column.sine
    found *= found
    found *= 2.0
    return found


def _own(layer: BentLayer, row: Any, column: Any, weights: Matrix, near: Matrix) -> Matrix:
    """Return the term that a dense layer's own parameters add to the tangent kernel."""
    found = 1.0 - near
    found *= weights
    found *= layer.gradient
    if layer.bias_gradient > 0:
        found += row.bias * column.bias
    return found


def _by_erf(network: AbstractLayer, face: str, fan_in: int, at: Tile) -> Matrix:
    one, other = at.one[0], at.other[0]
    nngp = (1.0 - 2.0 * at.obtuse) * (1.0 - at.versine) * (np.sqrt(one) * np.sqrt(other))
    return recursion(network, face, fan_in, Moments(nngp, one, other, at.versine), SURE)
