"""Interval bounds of networks: when they are exact, and how fast they become loose.

This theory bounds the outputs of a network on a box of inputs, layer by layer and for each coordinate separately. It
ignores that coordinates depend on each other. The bounds are nevertheless exact if no weight is negative. With weights
of random signs, each further layer makes the bounds looser by a factor of the square root of its width.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Rate, Source
from lemmata.subjects.robustness import Ball, ReluNetwork, interval_bounds
from lemmata.subjects.robustness._relu_boxes import LINEAR_CHAINS, LinearChain, ReluBox, ReluBoxes

ABOUT = {"tool": "linear algebra", "architecture": "dense network", "object": "inequality"}


def _output_bounds(problem: ReluBox, share: float = 1.0) -> Array:
    network = ReluNetwork(tuple(map(np.asarray, problem.weights)), tuple(map(np.asarray, problem.biases)))
    low, high = interval_bounds(network, Ball(np.asarray(problem.center), share * float(problem.radius)))[-1]
    return jnp.asarray([low[0], high[0]])


class IntervalsExactWhereMonotone(Claim[ReluBox]):
    """Let no weight of a ReLU network be negative, and take all inputs x' with |x'_i - x_i| <= eps for every coordinate
    i. Interval arithmetic is then exact: its bounds are the smallest and the largest output over these inputs. The
    corners x - eps and x + eps attain the two bounds.
    """

    title = "Interval bounds are exact for networks with non-negative weights"
    source = Source("gowal2018", note="main result, the propagation of intervals, for networks for which it is exact")
    population = ReluBoxes(hidden=3, monotone=1.0)
    relation = Equal()
    control = Control("the range is that of a box with 0.95 eps", lambda value, problem: _output_bounds(problem, 0.95))
    controls = "the outputs of a network on a box"
    unexplained = "weights of both signs, for which the worst corners of two units differ"
    traced = False  # the bounds are NumPy's
    condition = 10000.0  # sums of products with one term for each unit, which may cancel against a bias

    def predict(self, problem: ReluBox) -> Array:
        return _output_bounds(problem)

    def measure(self, problem: ReluBox, key: Key[Array, ""]) -> Array:
        """Return the least and the largest output at the two corners and at random points of the box."""
        inside = np.asarray(jax.random.uniform(key, (64, len(problem.center)), minval=-1.0))
        moves = np.concatenate([inside, -np.ones_like(inside[:1]), np.ones_like(inside[:1])])
        x = np.asarray(problem.center) + float(problem.radius) * moves
        for position, (weight, bias) in enumerate(zip(problem.weights, problem.biases, strict=True)):
            x = (np.maximum(x, 0.0) if position else x) @ np.asarray(weight).T + np.asarray(bias)
        return jnp.asarray([x.min(), x.max()])


def _looseness(key: Key[Array, ""], sizes: list[int]) -> Array:
    """Return the width of the interval bounds of random linear layers divided by the width of the exact range.

    Both widths are summed over outputs.
    """
    keys = jax.random.split(key, len(sizes) - 1)
    matrices = [jax.random.normal(own, (sizes[k + 1], sizes[k])) for k, own in enumerate(keys)]
    whole, apart = matrices[0], jnp.abs(matrices[0])
    for matrix in matrices[1:]:
        whole, apart = matrix @ whole, jnp.abs(matrix) @ apart
    return apart.sum() / jnp.abs(whole).sum()


class LoosenessPerLayer(Claim[LinearChain]):
    """Compose linear layers with independent normal weights and large hidden widths m_1, ..., m_H. On a box of inputs,
    apply interval arithmetic layer by layer. Sum the widths of the final intervals over all outputs, and sum the widths
    of the exact ranges. On average, the first sum is larger than the second by the factor

        prod_l sqrt(2 m_l / pi).

    The exact ranges follow from the product of all weight matrices.
    """

    title = "Each random linear layer of width m widens interval bounds by the factor sqrt(2 m / pi)"
    source = Source(
        "moore1966", note="main result, the wrapping effect; the constant for normal weights is derived here"
    )
    population = LINEAR_CHAINS
    # the mean length of a normal row of m entries is sqrt(m)(1 - 1/(4m)): a factor 1 + 1/(4m) a layer
    relation = EqualInMean(margin=0.03, resolution=0.03)
    control = Control(
        "the factor of each layer is the square root of its width",
        lambda ratio, problem: float(problem.width) ** (problem.hidden / 2),
    )
    controls = "the looseness of interval bounds at random weights"
    unexplained = "ReLUs between the layers, and trained weights, for which the factor is smaller"
    trials = 32

    def predict(self, problem: LinearChain) -> Array:
        return jnp.asarray((2 * problem.width / jnp.pi) ** (problem.hidden / 2))

    def measure(self, problem: LinearChain, key: Key[Array, ""]) -> Array:
        return _looseness(key, [problem.inputs, *[problem.width] * problem.hidden, problem.inputs])


class LoosenessOfWidth(Claim[LinearChain]):
    """Let a linear network have one hidden layer of m units, with independent normal weights. The interval bounds of
    this network are wider than the exact range of the outputs by a factor that grows like m^(1/2).
    """

    title = "A random hidden layer loosens interval bounds like the square root of its width"
    source = LoosenessPerLayer.source
    population = LINEAR_CHAINS
    relation = Rate("width", (32.0, 128.0, 512.0), margin=0.02, resolution=0.03)
    control = Control("the looseness does not depend on the width", lambda exponent, problem: exponent - 0.5)
    controls = "the looseness of interval bounds at random weights"
    unexplained = "the constant, which has a claim of its own"
    trials = 32
    predict = 0.5

    def measure_at(self, problem: LinearChain, key: Key[Array, ""], width: float) -> Array:
        return _looseness(key, [problem.inputs, int(width), problem.inputs])
