"""Networks of random weights that take one step of gradient descent on one example."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

UNITS = {
    "relu": (2.0, lambda z: np.maximum(z, 0.0), lambda z: 1.0 * (z > 0)),
    "tanh": (1.0, np.tanh, lambda z: 1.0 - np.tanh(z) ** 2),
    "identity": (1.0, lambda z: z, np.ones_like),
}
"""The critical C_W, the activation, its derivative."""


class SteppedNetwork(eqx.Module):
    """A critical network f(x) = W h_L, h_l = s(W_l h_(l-1)), each W sqrt(C_W/fan-in) times its parameters.

    Args:
        x: the input of d coordinates, of length sqrt(d).
        target: what f(x) should be, for every network.
        unit: a name of `UNITS`.
        width: of hidden layers, where a claim lets the depth vary.
    """

    x: Float[np.ndarray, " d"]
    target: float
    unit: str = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def change(
        self, width: int, depth: int, rate: float, networks: int, rng: np.random.Generator
    ) -> Float[np.ndarray, " m"]:
        """|Theta' - Theta|/Theta of each network, Theta' the tangent kernel at x after a step of rate `rate`/Theta."""
        critical = UNITS[self.unit][0]
        sizes = [len(self.x), *[width] * depth]
        weights = [
            rng.standard_normal((networks, fan_out, fan_in)) * np.sqrt(critical / fan_in)
            for fan_in, fan_out in zip(sizes, [*sizes[1:], 1], strict=True)
        ]
        before, after, output = self._passes(weights)
        start = self._tangent(before, after)
        error = rate * (output - self.target) / start
        moved = [
            w - (error * critical / w.shape[2])[:, None, None] * back[:, :, None] * ahead[:, None, :]
            for w, ahead, back in zip(weights, before, after, strict=True)
        ]
        return np.abs(self._tangent(*self._passes(moved)[:2]) / start - 1.0)

    def _passes(self, weights: list[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """What goes into each layer, the derivative in what comes out of it, and the output."""
        _, fn, slope = UNITS[self.unit]
        ahead, gates = [np.broadcast_to(self.x, (len(weights[0]), len(self.x)))], []
        for w in weights[:-1]:
            z = (w @ ahead[-1][:, :, None])[:, :, 0]
            gates.append(slope(z))
            ahead.append(fn(z))
        output = (weights[-1] @ ahead[-1][:, :, None])[:, 0, 0]
        back = [np.ones((len(weights[0]), 1))]
        for w, gate in zip(weights[:0:-1], gates[::-1], strict=True):
            back.append((back[-1][:, None, :] @ w)[:, 0, :] * gate)
        return ahead, back[::-1], output

    def _tangent(self, ahead: list[np.ndarray], back: list[np.ndarray]) -> np.ndarray:
        """Sum over layers of C_W/fan-in times both squared lengths."""
        squares = lambda v: np.sum(v**2, axis=1)
        parts = [squares(a) / a.shape[1] * squares(b) for a, b in zip(ahead, back, strict=True)]
        return UNITS[self.unit][0] * np.sum(parts, axis=0)


class SteppedNetworks(Population[SteppedNetwork]):
    """Inputs of one length, targets of random size.

    Args:
        unit: a name of `UNITS`.
    """

    unit: str = eqx.field(default="tanh", static=True)

    def settings(self) -> Space:
        """Width where the depth varies, and the length of the input."""
        return Space(
            n=Integer(48, 4, 1024, "width", corners=(40, 56)),
            d=Integer(8, 1, 100, "inputs", corners=(6, 10)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteppedNetwork:
        """A direction, and a target between 1.4 and 2.8."""
        drawn = np.asarray(jax.random.normal(key, (setting["d"] + 1,)))
        x = drawn[:-1] * np.sqrt(setting["d"]) / np.linalg.norm(drawn[:-1])
        target = float(np.sqrt(2.0) * (1.0 + 1.0 / (1.0 + drawn[-1] ** 2)))
        return SteppedNetwork(x, target, self.unit, setting["n"])

    def hypotheses(self, problem: SteppedNetwork) -> list[Hypothesis]:
        """An input."""
        return [Hypothesis("the squared length of x", float(problem.x @ problem.x), ">", 0.0, "no gradient at 0")]
