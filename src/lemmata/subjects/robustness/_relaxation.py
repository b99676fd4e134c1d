"""Linear relaxations of ReLU networks on a ball: intervals, CROWN, and optimised slopes.

Let `row` be a vector with one entry for each output. Each relaxation gives a lower bound on the smallest value of <row,
outputs> over inputs x' with |x' - x| <= radius. A unit max(z, 0) with pre-activation bounds l < 0 < u satisfies alpha z
<= max(z, 0) <= u (z - l)/(u - l) for every slope alpha in [0, 1] (Zhang et al., 2018; Xu et al., 2021). Backward
substitution turns <row, outputs> into a linear function of x, whose minimum over a ball follows from the dual norm.
"""

import dataclasses

import numpy as np
from jaxtyping import Float

from ._network import ReluNetwork

NORMS = ("linf", "l2")


@dataclasses.dataclass(frozen=True)
class Ball:
    """The inputs within `radius` of `center` in "linf" or "l2". In "linf", each coordinate may have its own radius."""

    center: np.ndarray
    radius: float | np.ndarray
    norm: str = "linf"

    def least(self, rows: Float[np.ndarray, "r d"]) -> Float[np.ndarray, " r"]:
        """Return, for each row, the smallest <row, x'> for x' in the ball, by the dual norm."""
        if isinstance(self.radius, np.ndarray):
            return rows @ self.center - np.abs(rows) @ self.radius
        size = np.abs(rows).sum(axis=1) if self.norm == "linf" else np.linalg.norm(rows, axis=1)
        return rows @ self.center - self.radius * size

    def argmin(self, rows: Float[np.ndarray, "r d"]) -> Float[np.ndarray, "r d"]:
        """Return, for each row, a point x' of the ball at which <row, x'> is smallest."""
        if self.norm == "linf":
            return self.center - self.radius * np.sign(rows)
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        return self.center - self.radius * rows / np.where(size > 0, size, 1.0)

    def project(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return, for each point, the nearest point of the ball."""
        moved = points - self.center
        if self.norm == "linf":
            return self.center + np.clip(moved, -self.radius, self.radius)
        size = np.linalg.norm(moved, axis=1, keepdims=True)
        return self.center + moved * np.minimum(1.0, self.radius / np.where(size > 0, size, 1.0))


Bounds = list[tuple[np.ndarray, np.ndarray]]
"""Lower and upper bounds of each hidden layer's pre-activations."""


def interval_bounds(network: ReluNetwork, ball: Ball) -> Bounds:
    """Return bounds of all pre-activations z by interval arithmetic, layer by layer, and of the outputs (Gowal et al.,
    2018).
    """
    weight, bias = network.weights[0], network.biases[0]
    found = [(ball.least(weight) + bias, -ball.least(-weight) + bias)]
    for weight, bias in zip(network.weights[1:], network.biases[1:], strict=True):
        found.append(_through(weight, bias, *found[-1]))
    return found


def _through(weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    middle, half = weight @ (low + high) / 2 + bias, np.abs(weight) @ (high - low) / 2
    return middle - half, middle + half


def pre_activation_bounds(network: ReluNetwork, ball: Ball) -> Bounds:
    """Return bounds of all hidden pre-activations z, by the better of intervals and CROWN, layer by layer."""
    weight, bias = network.weights[0], network.biases[0]
    found = [(ball.least(weight) + bias, -ball.least(-weight) + bias)]
    for position in range(1, len(network.weights) - 1):
        weight, bias = network.weights[position], network.biases[position]
        low, high = _through(weight, bias, *found[-1])
        part = ReluNetwork(network.weights[: position + 1], network.biases[: position + 1])
        rows = np.eye(len(bias))
        both = crown(part, ball, found, np.concatenate([rows, -rows]))
        found.append((np.maximum(low, both[: len(bias)]), np.minimum(high, -both[len(bias) :])))
    return found if len(network.weights) > 1 else []


def interval(network: ReluNetwork, ball: Ball, bounds: Bounds, rows: Float[np.ndarray, "r k"]) -> np.ndarray:
    """Return, for each row, the smallest <row, outputs> if the units of the last hidden layer may take any values
    within their bounds.
    """
    if not bounds:
        return ball.least(rows @ network.weights[0]) + rows @ network.biases[0]
    weight, bias = rows @ network.weights[-1], rows @ network.biases[-1]
    return _through(weight, bias, *bounds[-1])[0]


def adaptive_slopes(bounds: Bounds) -> list[np.ndarray]:
    """Return CROWN's slopes of the lower lines: 1 if u > -l, and 0 otherwise, for pre-activation bounds l and u.

    These slopes minimise the area of a unit's relaxation.
    """
    return [(high > -low).astype(float) for low, high in bounds]


@dataclasses.dataclass(frozen=True)
class _Backward:
    """The result of backward substitution: a linear function of the input for each row.

    The result also holds the coefficients of the hidden units before they are replaced by lines.
    """

    rows: np.ndarray
    offset: np.ndarray
    signs: list[np.ndarray]

    def value(self, ball: Ball) -> np.ndarray:
        return ball.least(self.rows) + self.offset


def lines(bounds: Bounds, slopes: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the lines that bound the units of each layer: slopes of lower lines, slopes and offsets of upper lines.

    Args:
        bounds: the bounds of the units.
        slopes: the slopes of the lower lines of open units, which are units with bounds of both signs.
    """
    found = []
    for (low, high), slope in zip(bounds, slopes, strict=True):
        open_ = (low < 0) & (high > 0)
        above = np.where(open_, high / np.where(open_, high - low, 1.0), (low >= 0).astype(float))
        below = np.where(open_, slope, (low >= 0).astype(float))
        found.append((below, above, np.where(open_, -above * low, 0.0)))
    return found


def _backward(network: ReluNetwork, bounds: Bounds, rows: np.ndarray, slopes: list[np.ndarray]) -> _Backward:
    offset, signs = rows @ network.biases[-1], []
    rows = rows @ network.weights[-1]
    chords = lines(bounds, slopes)
    for position in range(len(bounds) - 1, -1, -1):
        below, above, constant = chords[position]
        signs.insert(0, rows)
        down = np.minimum(rows, 0.0)
        offset = offset + down @ constant
        rows = np.maximum(rows, 0.0) * below + down * above
        offset, rows = offset + rows @ network.biases[position], rows @ network.weights[position]
    return _Backward(rows, offset, signs)


def crown(
    network: ReluNetwork,
    ball: Ball,
    bounds: Bounds,
    rows: Float[np.ndarray, "r k"],
    slopes: list[np.ndarray] | None = None,
) -> Float[np.ndarray, " r"]:
    """Return, for each row, a lower bound on <row, outputs> by CROWN. The slopes of lower lines have shape (units,) or
    (rows, units) for each layer; by default, they are CROWN's slopes.
    """
    return _backward(network, bounds, rows, adaptive_slopes(bounds) if slopes is None else slopes).value(ball)


def optimised(
    network: ReluNetwork, ball: Ball, bounds: Bounds, rows: Float[np.ndarray, "r k"], steps: int = 40
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r d"]]:
    """Return, for each row, the best lower bound over `steps` steps of projected ascent in the slopes, and a minimiser.

    The ascent starts at CROWN's slopes. Every choice of slopes gives a valid bound, so stopping early only makes the
    bound less tight. The derivative of the bound with respect to a slope is max(row, 0) z, where z is the
    pre-activation in the relaxation at the minimiser. This formula holds because a small change of slopes changes
    neither the chosen lines nor the minimiser.
    """
    slopes = [np.tile(slope, (len(rows), 1)) for slope in adaptive_slopes(bounds)]
    best, where = np.full(len(rows), -np.inf), np.tile(ball.center, (len(rows), 1))
    first, second = [np.zeros_like(s) for s in slopes], [np.zeros_like(s) for s in slopes]
    for step in range(steps + 1):
        found = _backward(network, bounds, rows, slopes)
        value, points = found.value(ball), ball.argmin(found.rows)
        better = value > best
        best, where = np.where(better, value, best), np.where(better[:, None], points, where)
        if step == steps or not bounds:
            break
        rate = 0.3 * 0.94**step
        for position, gradient in enumerate(_slope_gradients(network, bounds, slopes, found, points)):
            first[position] = 0.9 * first[position] + 0.1 * gradient
            second[position] = 0.99 * second[position] + 0.01 * gradient**2
            mean = first[position] / (1 - 0.9 ** (step + 1))
            size = np.sqrt(second[position] / (1 - 0.99 ** (step + 1))) + 1e-12
            slopes[position] = np.clip(slopes[position] + rate * mean / size, 0.0, 1.0)
    return best, where


def _slope_gradients(
    network: ReluNetwork, bounds: Bounds, slopes: list[np.ndarray], found: _Backward, points: np.ndarray
) -> list[np.ndarray]:
    gradients, a = [], points
    for position, (below, above, constant) in enumerate(lines(bounds, slopes)):
        low, high = bounds[position]
        z = a @ network.weights[position].T + network.biases[position]
        sign = found.signs[position]
        gradients.append(np.where((low < 0) & (high > 0), np.maximum(sign, 0.0) * z, 0.0))
        a = np.where(sign > 0, below * z, above * z + constant)
    return gradients
