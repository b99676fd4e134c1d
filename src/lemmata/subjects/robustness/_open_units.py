"""A network on a ball as a function of its open units: the units that may be active or inactive on the ball.

All other units are affine or 0 on the ball. Let z_k be the inputs of the open units of layer k, and r_k = max(z_k, 0).
Then z_k = M_k [1, x, r_1, ..., r_(k-1)] with a matrix M_k, because the maps between open units are affine on the ball.
The relaxations are the same as in `_relaxation`, but need only a fraction of its operations.
"""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float

from ._network import ReluNetwork
from ._relaxation import Ball, Bounds, adaptive_slopes, lines

# Number of steps of gradient ascent for the bounds of hidden units.
_STEPS = 30
# the largest allowed number of entries of all M_k, relative to the number of weights; this ratio is large if many
# layers have many open units
_LARGEST = 4


@dataclasses.dataclass(frozen=True)
class OpenNetwork:
    """A network on a ball, as a function of its open units.

    Attributes:
        maps: the matrix M_k of each hidden layer, of shape (units, 1 + d + open units of the layers before it).
        last: the matrix that maps [1, x, r_1, ..., r_H] to the outputs.
        bounds: the bounds of the open units of each layer.
    """

    maps: list[np.ndarray]
    last: np.ndarray
    bounds: Bounds

    @property
    def inputs(self) -> int:
        """The number of coordinates of an input."""
        return (self.maps[0] if self.maps else self.last).shape[1] - 1

    def __call__(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """Return the outputs at inputs in the ball."""
        return self._units(x) @ self.last.T

    def gradient(self, x: Float[np.ndarray, "n d"], rows: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of <row, outputs> at each input in the ball. A ReLU has the derivative 0 at 0."""
        units, found = self._units(x), rows @ self.last
        for matrix in reversed(self.maps):
            start = matrix.shape[1]
            part = slice(start, start + len(matrix))
            found[:, :start] += (found[:, part] * (units[:, part] > 0)) @ matrix
        return found[:, 1 : 1 + self.inputs]

    def _units(self, x: np.ndarray) -> np.ndarray:
        found = np.ones((len(x), self.last.shape[1]))
        found[:, 1 : 1 + x.shape[1]] = x
        for matrix in self.maps:
            start = matrix.shape[1]
            found[:, start : start + len(matrix)] = np.maximum(found[:, :start] @ matrix.T, 0.0)
        return found

    def optimised(
        self, ball: Ball, rows: Float[np.ndarray, "r units"], steps: int
    ) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r d"]]:
        """Return lower bounds, with optimised slopes, on linear functions of [1, x, r_1, ..., r_k].

        Also return the inputs x at which the linear relaxations are least.

        The method is that of `lemmata.subjects.robustness._relaxation.optimised`.

        Args:
            ball: the inputs.
            rows: the coefficients of the linear functions.
            steps: the number of steps of ascent.
        """
        first = 1 + self.inputs
        depth = next(k for k in range(len(self.maps) + 1) if self._start(k) == rows.shape[1])
        bounds, count = self.bounds[:depth], rows.shape[1] - first
        slopes = np.tile(np.concatenate([np.zeros(0), *adaptive_slopes(bounds)]), (len(rows), 1))
        free = np.concatenate([np.zeros(0, bool), *((low < 0) & (high > 0) for low, high in bounds)])
        best, where = np.full(len(rows), -np.inf), np.tile(ball.center, (len(rows), 1))
        mean, square = np.zeros((len(rows), count)), np.zeros((len(rows), count))
        for step in range(steps + 1):
            starts = [self._start(k) - first for k in range(depth + 1)]
            chords = lines(bounds, [slopes[:, a:b] for a, b in itertools.pairwise(starts)])
            found = self._backward(rows, chords)
            value = ball.least(found[:, 1:first]) + found[:, 0]
            points = ball.argmin(found[:, 1:first])
            better = value > best
            best, where = np.where(better, value, best), np.where(better[:, None], points, where)
            if step == steps or not free.any():
                break
            gradient = np.where(free, self._gradients(found, chords, points), 0.0)
            mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
            size = np.sqrt(square / (1 - 0.99 ** (step + 1))) + 1e-12
            slopes = np.clip(slopes + 0.3 * 0.94**step * mean / (1 - 0.9 ** (step + 1)) / size, 0.0, 1.0)
        return best, where

    def _start(self, layer: int) -> int:
        """Return the first column of a layer's open units."""
        return self.maps[layer].shape[1] if layer < len(self.maps) else self.last.shape[1]

    def _backward(self, rows: np.ndarray, chords: list) -> np.ndarray:
        """Return, in the first columns, the coefficients of [1, x] in the relaxation. The other columns contain the
        coefficient of each open unit before the unit is replaced by a line.
        """
        found = rows.copy()
        for matrix, (below, above, constant) in zip(self.maps[: len(chords)][::-1], chords[::-1], strict=True):
            start = matrix.shape[1]
            own = found[:, start : start + len(matrix)]
            down = np.minimum(own, 0.0)
            found[:, :start] += ((own - down) * below + down * above) @ matrix
            found[:, 0] += down @ constant
        return found

    def _gradients(self, found: np.ndarray, chords: list, points: np.ndarray) -> np.ndarray:
        """Return the derivatives of the bounds with respect to the slopes of all units.

        A derivative is max(coefficient, 0) z, where z is the unit's input in the relaxation at the minimiser.
        """
        first = 1 + points.shape[1]
        units = np.ones(found.shape)
        units[:, 1:first] = points
        gradients = np.maximum(found[:, first:], 0.0)
        for matrix, (below, above, constant) in zip(self.maps, chords, strict=False):
            start, end = matrix.shape[1], matrix.shape[1] + len(matrix)
            z = units[:, :start] @ matrix.T
            gradients[:, start - first : end - first] *= z
            units[:, start:end] = np.where(found[:, start:end] > 0, below * z, above * z + constant)
        return gradients


def open_network(network: ReluNetwork, bounds: Bounds) -> OpenNetwork | None:
    """Return the network on the ball as a function of its open units. Return None if the matrices would be too large.

    Args:
        network: the network.
        bounds: the bounds of the hidden units.
    """
    counts = [int(((low < 0) & (high > 0)).sum()) for low, high in bounds]
    columns = 1 + network.inputs + np.concatenate([[0], np.cumsum(counts)]).astype(int)
    numbers = sum(len(bias) * int(width) for bias, width in zip(network.biases, columns, strict=True))
    if numbers > _LARGEST * sum(weight.size for weight in network.weights) + 2**20:
        return None
    state = np.eye(1 + network.inputs)[1:]
    maps, kept = [], []
    for (low, high), weight, bias in zip(bounds, network.weights, network.biases, strict=False):
        z = weight @ state
        z[:, 0] += bias
        free, on = (low < 0) & (high > 0), low >= 0
        maps.append(z[free])
        kept.append((low[free], high[free]))
        state = np.zeros((len(bias), z.shape[1] + len(maps[-1])))
        state[on, : z.shape[1]] = z[on]
        state[np.flatnonzero(free), z.shape[1] + np.arange(len(maps[-1]))] = 1.0
    last = network.weights[-1] @ state
    last[:, 0] += network.biases[-1]
    return OpenNetwork(maps, last, kept)


def tightened_bounds(network: ReluNetwork, ball: Ball, bounds: Bounds) -> Bounds:
    """Return tighter bounds of the hidden units, computed layer by layer with optimised slopes for the open units.

    Args:
        network: the network.
        ball: the inputs.
        bounds: valid bounds of the hidden units.
    """
    found = list(bounds)
    for layer in range(1, len(bounds)):
        net = open_network(network, found)
        if net is None:
            return found
        rows = net.maps[layer]
        if not len(rows):
            continue
        both = net.optimised(ball, np.concatenate([rows, -rows]), _STEPS)[0]
        low, high = (part.copy() for part in found[layer])
        free = (low < 0) & (high > 0)
        low[free] = np.maximum(low[free], both[: len(rows)])
        high[free] = np.minimum(high[free], -both[len(rows) :])
        found[layer] = (low, high)
    return found
