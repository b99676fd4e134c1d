"""Narrow networks: if no layer has more units than inputs, every level set is unbounded.

This theory describes the level sets of networks of any depth. It assumes layers that are no wider than the input. It
does not explain approximation in the mean, for which thin strips do not matter.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.approximation._bends import Layer, bends

ABOUT = {
    "tool": "approximation theory",
    "architecture": "dense network",
    "object": "function class",
    "BumpOfOneMoreUnit": {"object": "construction"},
}


class NarrowNetwork(eqx.Module):
    """A network of two inputs and narrow layers with a linear output, and the corners of a rectangle."""

    layers: tuple[Layer, ...]
    output: Float[np.ndarray, " width"]
    low: Float[np.ndarray, " 2"]
    high: Float[np.ndarray, " 2"]

    def at(self, x: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, " n"]:
        """The values of the network at points x."""
        for layer in self.layers:
            x = x @ layer.weights.T + layer.biases
            x = np.where(x > 0, layer.above, layer.below) * x
        return x @ self.output


class NarrowNetworks(Population[NarrowNetwork]):
    """Random layers whose biases put kinks among the inputs, and random rectangles on which the output varies."""

    settings = Space(
        depth=Integer(4, 1, 12, "hidden layers", corners=(2, 8)),
        activation=Choice("relu", ("relu", "leaky relu"), "activation of the hidden layers"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NarrowNetwork:
        rng = generator_of(key)
        below = 0.0 if setting["activation"] == "relu" else 0.2
        while True:
            low, inputs, layers = rng.normal(size=2), rng.normal(size=(64, 2)), []
            for _ in range(setting["depth"]):
                weights = rng.normal(size=(2, 2))
                image = inputs @ weights.T
                biases = -np.quantile(image, rng.uniform(0.0, 0.5), axis=0)
                layers.append(Layer(weights, biases, below))
                inputs = np.where(image + biases > 0, 1.0, below) * (image + biases)
            found = NarrowNetwork(tuple(layers), rng.normal(size=2), low, low + rng.uniform(0.5, 3.0, 2))
            if _boundary(found) > 1e-3 * np.abs(found.at(inputs)).max():
                return found

    def hypotheses(self, problem: NarrowNetwork) -> list[Hypothesis]:
        widest = max(len(layer.biases) for layer in problem.layers)
        return [
            Hypothesis(
                "units in the widest layer",
                widest,
                "<=",
                len(problem.low),
                "with one more unit, bounded level sets exist",
            ),
            Hypothesis("range on the rectangle", _boundary(problem), ">", 0.0, "f is not constant"),
        ]


def _inside(problem: NarrowNetwork) -> float:
    """Return the largest minus the smallest value on a grid of 121 x 121 points in the rectangle."""
    sides = np.linspace(problem.low, problem.high, 121).T
    return float(np.ptp(problem.at(np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2))))


def _boundary(problem: NarrowNetwork) -> float:
    """Return the largest minus the smallest value at the corners of the rectangle and at the kinks on its sides."""
    (a, b), (c, d) = problem.low, problem.high
    corners = np.array([(a, b), (c, b), (c, d), (a, d)])
    values = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        places = bends(problem.layers, start, end - start, 0.0, 1.0).ends
        values.append(problem.at(start + places[:, None] * (end - start)))
    return float(np.ptp(np.concatenate(values)))


class SkinnyNetworks(Claim[NarrowNetwork]):
    """Let f be a ReLU network on R^d, of any depth, with at most d units in each hidden layer. By a theorem of Johnson,
    no level set of f then has a bounded component. So on every rectangle, the difference between the largest and the
    smallest value of f is at most

        the same difference on the boundary of the rectangle.

    The trials use d = 2.
    """

    title = "ReLU networks that are no wider than their input have level sets without bounded components"
    source = Source("johnson2019", note="main result on level sets, as seen on rectangles")
    population = NarrowNetworks()
    relation = AtMost()
    control = Control("0.95 of it", lambda values, problem: 0.95 * values)
    controls = "the range of a narrow network inside a region"
    unexplained = "errors in the mean, for which narrow networks are universal"
    trivial = "without the theorem, values on the boundary do not bound values inside"
    traced = False

    def predict(self, problem: NarrowNetwork) -> Array:
        return jnp.asarray(_boundary(problem))

    def measure(self, problem: NarrowNetwork, key: Key[Array, ""]) -> Array:
        """Return the largest minus the smallest value of f on a grid in the rectangle."""
        return jnp.asarray(_inside(problem))

    def condition(self, problem: NarrowNetwork) -> Array:
        """Bound the rounding errors: a small range of outputs is a difference of large, rounded values."""
        corners = np.array([problem.low, problem.high])
        return jnp.asarray(1e3 * (1 + np.abs(problem.at(corners)).max() / _boundary(problem)))


_RAYS = jnp.array([[0.0], [0.25], [1.0]])


class BumpToBuild(eqx.Module):
    """The centre and height of a bump, and an offset from the centre, in units of the height. The bump is measured
    along this offset.
    """

    centre: Float[Array, " d"]
    height: Float[Array, ""]
    offset: Float[Array, " d"]


class BumpOfOneMoreUnit(Claim[BumpToBuild]):
    """Let p be a point of R^d, and let h > 0. Some ReLU network with at most d + 1 units in each hidden layer computes
    the bump with the centre p and the height h,

        max(0, h - max_i |x_i - p_i|)

    at all inputs x with |x_i - p_i| <= 100 h for all i. At values above 0, the level sets of the bump are bounded.
    Networks with at most d units per layer have no bounded level sets. So one more unit per layer is enough for a bump.
    """

    # Layers keep the coordinates that are still needed positive. In turn, each coordinate u becomes |u| = 2 relu(u) - u
    # with the additional unit. Then the running maximum m of absolute values becomes max(m, |u|) = relu(m - |u|) + |u|.

    title = "A ReLU network with one more unit per layer than inputs can compute a bump"
    source = Source("johnson2019", note="main result: the limit on the width is sharp")
    stated = Kind.OWN
    population = Drawn(
        BumpToBuild,
        positive("height"),
        d=dimension(3, 1, 16, corners=(2, 6)),
        centre=normal("d"),
        height=log_uniform(0.5, 4.0),
        offset=normal("d"),
    )
    relation = Equal(block=1)
    control = Control("a pyramid that is 5 % higher", lambda value, problem: value + 0.05 * problem.height)
    controls = "a bounded level set"
    unexplained = "bumps of other shapes"

    def predict(self, problem: BumpToBuild) -> Array:
        return problem.height * jax.nn.relu(1 - jnp.abs(_RAYS * problem.offset).max(axis=1))

    def measure(self, problem: BumpToBuild, key: Key[Array, ""]) -> Array:
        """Compute the network layer by layer; no layer has more than d + 1 units."""
        far = 100 * problem.height

        def network(x: Array) -> Array:
            kept = jax.nn.relu(x - problem.centre + far)
            largest = jnp.asarray(0.0)
            for i in range(len(x)):
                positive = jax.nn.relu(kept[i] - far)
                size = 2 * positive - (kept[i] - far)
                largest = jax.nn.relu(largest - size) + size
            return jax.nn.relu(problem.height - largest)

        return jax.vmap(network)(problem.centre + problem.height * _RAYS * problem.offset)

    def condition(self, problem: BumpToBuild) -> Array:
        """Bound the rounding errors. The network subtracts coordinates of size |p| + 100 h."""
        return 4 * (100 + jnp.abs(problem.centre).max() / problem.height)
