"""Finite width: how far the tangent kernel of a randomly drawn network is from its limit.

This theory is about the tangent kernel of a network with one hidden layer, at initialisation. The kernel is a mean over
m hidden units and approaches its limit at the rate m^(-1/2). The theory assumes independent units. The module
`lazy_training` treats the change of the kernel in training, and the subpackage `softmax_training` treats the softmax
network.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import TangentKernel, relu_network
from lemmata.engine.claims import Claim, Control, Hypothesis, Rate, Source
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.rows import Rows
from lemmata.engine.problems.variables import dimension, rows
from lemmata.kernels import gram
from lemmata.subjects.tangent._drawn_networks import relative_distance

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "kernel"}

_WIDTHS = (256.0, 512.0, 1024.0, 2048.0, 4096.0)


def relu_tangent_gram(
    x: Float[Array, "n d"], weights: Float[Array, "m d"], readout: Float[Array, " m"]
) -> Float[Array, "n n"]:
    """Return the tangent kernel of f(x) = m^(-1/2) sum_r a_r phi(sqrt(2/d) <w_r, x>), where phi is the ReLU.

    At points x and y it is (1/m) sum_r phi(u_r) phi(v_r) + (2/d) <x, y> (1/m) sum_r a_r² 1[u_r > 0] 1[v_r > 0]. The two
    terms come from the gradients with respect to a and w. Here u_r = sqrt(2/d) <w_r, x> and v_r = sqrt(2/d) <w_r, y>.

    Args:
        x: the points, one per row.
        weights: the hidden weights, one row w_r for each unit.
        readout: the output weights a_r.
    """
    hidden = math.sqrt(2 / x.shape[1]) * x @ weights.T
    active, ramp = (hidden > 0).astype(x.dtype), jnp.maximum(hidden, 0)
    return (ramp @ ramp.T + 2 / x.shape[1] * (x @ x.T) * ((active * readout**2) @ active.T)) / len(weights)


def _networks(weights: Float[Array, "m d"], readout: Float[Array, " m"]) -> list[tuple[Array, Array]]:
    """Cut the drawn units into independent networks, one for each tested width."""
    cuts = [sum(map(int, _WIDTHS[:k])) for k in range(1, len(_WIDTHS))]
    return list(zip(jnp.split(weights, cuts), jnp.split(readout, cuts), strict=True))


@jax.jit
def _relu_deviations(problem: Rows, key: Key[Array, ""]) -> Array:
    limit = gram(TangentKernel(relu_network(depth=1)), problem.x)
    drawn = jax.random.normal(key, (int(sum(_WIDTHS)), problem.x.shape[1] + 1), problem.x.dtype)
    networks = _networks(drawn[:, 1:], drawn[:, 0])
    return jnp.stack([relative_distance(relu_tangent_gram(problem.x, *network), limit) for network in networks])


def _first_inputs(problem: object) -> Rows | None:
    """Return the first 16 training inputs of a regression."""
    return Rows(problem.x[:16]) if isinstance(problem, Regression) else None


def _some_input(problem: Rows) -> Hypothesis:
    """Require that some input is not 0, so that the kernel is not 0; without biases, it scales with |x| |y|."""
    largest = jnp.linalg.norm(problem.x, axis=1).max()
    return Hypothesis("some input is not 0", largest, ">", 0.0, "the kernel of the zero input is 0")


class ReluTangentWidth(Claim[Rows]):
    """Consider a ReLU network with one hidden layer of m units in the NTK parameterisation. Compare the tangent kernel
    at a random draw of the weights with its limit for m -> infinity. The root mean square difference over pairs of
    points is

        C m^(-1/2),

    where C does not depend on m. On your data, the first 16 inputs are used.
    """

    title = "The ReLU tangent kernel at width m approaches its limit of infinite width like m^(-1/2)"
    source = Source("jacot2018", "Theorem 1", note="a mean of m independent terms has the rate m^(-1/2)")
    population = Drawn(
        Rows, _some_input, pose=_first_inputs, n=rows(12, high=32), d=dimension(4, low=2), x=normal("n", "d")
    )
    # The mean square is exactly C²/m, a mean over independent units. The heavy tails of the terms leave a relative 1/m
    # at m = 256. This changes the slope of the root's mean logarithm by less than 0.01.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.01, resolution=0.1)
    control = Control("the kernel converges as 1/m", lambda exponent, problem: 2 * exponent)
    controls = "the tangent kernel of a network that has not been trained"
    unexplained = "the constant, and what training does to the kernel"
    trials = 192
    predict = -0.5

    def measure(self, problem: Rows, key: Key[Array, ""]) -> Array:
        return _relu_deviations(problem, key)
