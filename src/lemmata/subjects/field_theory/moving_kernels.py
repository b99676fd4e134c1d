"""Moving kernels: the change of the tangent kernel in one step of training, by width and depth.

At infinite width the tangent kernel does not move, and a network learns no representation. This theory gives the
relative change of the tangent kernel in the first step, at finite width n and depth L. The change goes like 1/n for
tanh, and like L for linear networks. The theory does not say whether a network whose kernel has moved predicts better
than one with a fixed kernel. If activations have a kink, the expansion fails: units that a step pushes over the kink
change the kernel by n^(-1/2). Tanh and ReLU are tested at the same rate and the same widths.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Population, Rate, Source, Space
from lemmata.subjects.field_theory.criticality import generator

ABOUT = {"tool": "Gaussian processes", "architecture": "dense network", "object": "training"}

UNITS = {
    "relu": (2.0, lambda z: np.maximum(z, 0.0), lambda z: 1.0 * (z > 0)),
    "tanh": (1.0, np.tanh, lambda z: 1.0 - np.tanh(z) ** 2),
    "identity": (1.0, lambda z: z, np.ones_like),
}
"""For each activation: the critical C_W (weight variance times fan-in), the function and its derivative."""


class SteppedNetwork(eqx.Module):
    """A critical network f(x) = W h_L, h_l = s(W_l h_(l-1)). Each matrix W is sqrt(C_W/fan-in) times its trained
    parameters.

    Args:
        x: the input, with d coordinates and length sqrt(d).
        target: the target of f(x), for every network.
        unit: the name of the activation s, a key of `UNITS`.
        width: the width of hidden layers, for claims that vary the depth.
    """

    x: Float[np.ndarray, " d"]
    target: float
    unit: str = eqx.field(static=True)
    width: int = eqx.field(static=True)

    def change(
        self, width: int, depth: int, rate: float, networks: int, rng: np.random.Generator
    ) -> Float[np.ndarray, " m"]:
        """Return |Theta' - Theta|/Theta for each network, where Theta' is the tangent kernel after a step of rate
        `rate`/Theta.
        """
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
        """Return each layer's inputs, the derivatives with respect to its outputs, and the network's output."""
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
        """Return the tangent kernel: a sum over layers of C_W/fan-in times squared lengths of inputs and slopes."""
        squares = lambda v: np.sum(v**2, axis=1)
        parts = [squares(a) / a.shape[1] * squares(b) for a, b in zip(ahead, back, strict=True)]
        return UNITS[self.unit][0] * np.sum(parts, axis=0)


class SteppedNetworks(Population[SteppedNetwork]):
    """Critical networks with inputs of a fixed length and targets of random size.

    Args:
        unit: the name of the activation s, a key of `UNITS`.
    """

    unit: str = eqx.field(default="tanh", static=True)
    settings = Space(
        n=Integer(48, 32, 128, "width", corners=(40, 56)),
        d=Integer(8, 1, 100, "inputs", corners=(6, 10)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteppedNetwork:
        """Draw an input of random direction, and a target between 1.4 and 2.8."""
        drawn = np.asarray(jax.random.normal(key, (setting["d"] + 1,)))
        x = drawn[:-1] * np.sqrt(setting["d"]) / np.linalg.norm(drawn[:-1])
        target = float(np.sqrt(2.0) * (1.0 + 1.0 / (1.0 + drawn[-1] ** 2)))
        return SteppedNetwork(x, target, self.unit, setting["n"])

    def hypotheses(self, problem: SteppedNetwork) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the squared length of x", float(problem.x @ problem.x), ">", 0.0, "the gradient at the input 0 is 0"
            )
        ]


_KEY = "roberts2022principles"
_WIDTHS = (256.0, 1024.0, 4096.0)
_NETWORKS, _MANY = 8, 64


def typical_change(
    problem: SteppedNetwork, width: int, depth: int, rate: float, networks: int, key: Key[Array, ""]
) -> np.ndarray:
    """Return the geometric mean of |Theta' - Theta|/Theta over networks, because these changes have heavy tails."""
    changes = problem.change(width, depth, rate, networks, generator(key))
    return np.asarray(np.exp(np.mean(np.log(np.maximum(changes, 1e-300)))))


class SmoothKernelMovesByWidth(Claim[SteppedNetwork]):
    """Let a critical network have one hidden layer of n tanh units. Take one step of gradient descent on one example
    with rate 1/Theta, where Theta is the tangent kernel at this example. The typical relative change of the tangent
    kernel is

        C/n,

    where C does not depend on n. The typical change is the geometric mean over networks.
    """

    title = "In one step, the tangent kernel of a tanh network changes like 1/width"
    source = Source(_KEY, "Abstract, representation learning")
    population = SteppedNetworks("tanh")
    # corrections of the relative order n^(-1/2), a sixteenth at 256 and a 64th at 4096, change the slope by 0.017; they
    # may have a constant of up to three
    relation = Rate("n", _WIDTHS, margin=0.05, resolution=0.05)
    traced = False
    trials = 80
    control = Control("the kernel changes like n^(-4/5)", lambda exponent, problem: exponent + 0.2)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant C, and whether the change is useful"
    predict = -1.0

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], n: float) -> np.ndarray:
        return typical_change(problem, int(n), 1, 1.0, _MANY, key)


class KernelMovesByDepth(Claim[SteppedNetwork]):
    """Let a critical linear network have L hidden layers of the same width. Take one step of gradient descent on one
    example with rate 1/(10 Theta), where Theta is the tangent kernel at this example. The typical relative change of
    the tangent kernel is

        C L,

    where C does not depend on L, as long as L is small compared with the width. The typical change is the geometric
    mean over networks.
    """

    title = "In one step, the tangent kernel of a linear network changes in proportion to the depth"
    source = Source(_KEY, "Abstract, representation learning")
    population = SteppedNetworks("identity")
    relation = Rate("L", (2.0, 4.0, 8.0), margin=0.12, resolution=0.2)
    traced = False
    trials = 96
    control = Control("the kernel changes like L^(1/2)", lambda exponent, problem: exponent - 0.5)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant C, and activations with kinks"
    predict = 1.0

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], depth: float) -> np.ndarray:
        return typical_change(problem, problem.width, int(depth), 0.1, 20, key)


class KinkedKernelMovesByRoot(Claim[SteppedNetwork]):
    """Let a critical network have one hidden layer of n ReLU units. Take one step of gradient descent on one example
    with rate 1/Theta, where Theta is the tangent kernel at this example. The typical relative change of the tangent
    kernel is

        C n^(-1/2),

    where C does not depend on n. The typical change is the geometric mean over networks. The reason for the power -1/2
    is that the step moves a fraction of order n^(-1/2) of the units across the kink. Only units that were active cross
    the kink, so their contributions to the change add up instead of cancelling.
    """

    title = "In one step, the tangent kernel of a ReLU network changes like 1/sqrt(width)"
    source = Source(_KEY, "Abstract, representation learning", note="for an activation with a kink")
    population = SteppedNetworks("relu")
    relation = Rate("n", _WIDTHS, margin=0.1, resolution=0.15)
    traced = False
    trials = 80
    control = Control("the kernel changes like n^-1", lambda exponent, problem: exponent - 0.5)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant C, and batches whose examples push a unit in different directions"
    predict = -0.5

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], n: float) -> np.ndarray:
        return typical_change(problem, int(n), 1, 1.0, _NETWORKS, key)
