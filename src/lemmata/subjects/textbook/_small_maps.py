"""Random small differentiable maps: networks with two hidden layers, and invertible coupling layers."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key, Num

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of


class SmallNetwork(eqx.Module):
    """A network with two hidden layers of tanh units, and rows x with targets y. The loss is half the squared error."""

    layers: tuple[Float[np.ndarray, "..."], ...]
    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]

    def loss(self, layers: tuple[Num[np.ndarray, "..."], ...]) -> complex:
        """Return the loss at the given weight matrices, which may be complex."""
        u = self.x
        for w in layers[:-1]:
            u = np.tanh(u @ w)
        error = (u @ layers[-1])[:, 0] - self.y
        return complex(error @ error / 2)


class SmallNetworks(Population[SmallNetwork]):
    """Networks with normal weights of variance 2.25/fan-in, and normal rows and targets."""

    settings = Space(
        d=Integer(3, 1, 10, "inputs"),
        width=Integer(4, 1, 16, "units in each hidden layer"),
        n=Integer(5, 1, 40, "rows"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmallNetwork:
        rng, d, m, n = generator_of(key), setting["d"], setting["width"], setting["n"]
        shapes = ((d, m), (m, m), (m, 1))
        layers = tuple(rng.standard_normal(shape) * 1.5 / np.sqrt(shape[0]) for shape in shapes)
        return SmallNetwork(layers, rng.standard_normal((n, d)), rng.standard_normal(n))

    def hypotheses(self, problem: SmallNetwork) -> list[Hypothesis]:
        largest = max(np.abs(w).max() for w in problem.layers)
        return [Hypothesis("largest weight", largest, "<", np.inf, "the loss is differentiable")]


class CouplingFlow(eqx.Module):
    """Two coupling layers. In the first layer, the first half of the coordinates u determines a scale and a shift of
    the second half. In the second layer, the second half determines a scale and a shift of the first half.

    Args:
        scales: the matrix S of each layer; the logarithms of the scales are tanh(S u).
        shifts: the matrix T of each layer; the shifts are T u.
        point: the point at which the density is evaluated.
    """

    scales: Float[np.ndarray, "2 h h"]
    shifts: Float[np.ndarray, "2 h h"]
    point: Float[np.ndarray, " d"]

    def undo(self, y: Num[np.ndarray, " d"]) -> tuple[Num[np.ndarray, " d"], np.number]:
        """Return the point that the layers map to y, and the sum of the logarithms of the scales of both layers."""
        first, second = np.split(y, 2)
        outer = np.tanh(self.scales[1] @ second)
        first = (first - self.shifts[1] @ second) * np.exp(-outer)
        inner = np.tanh(self.scales[0] @ first)
        second = (second - self.shifts[0] @ first) * np.exp(-inner)
        return np.concatenate([first, second]), outer.sum() + inner.sum()


class CouplingFlows(Population[CouplingFlow]):
    """Coupling flows with normal matrices, and normal points."""

    settings = Space(half=Integer(2, 1, 8, "half of the dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> CouplingFlow:
        rng, h = generator_of(key), setting["half"]
        scales, shifts = rng.standard_normal((2, 2, h, h)) / np.sqrt(2)
        return CouplingFlow(scales, shifts, rng.standard_normal(2 * h))

    def hypotheses(self, problem: CouplingFlow) -> list[Hypothesis]:
        size = np.abs(problem.undo(problem.point)[0]).max()
        return [Hypothesis("largest coordinate of the base point", size, "<", 1e3, "the density is finite")]
