"""Deep ReLU networks for squares and products, whose error falls exponentially in the number of units.

This theory describes the error of an explicit network, and compares this error with the error of the best single layer
with the same number of units. It assumes that the weights are chosen by hand. It does not explain whether training
finds such weights.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive

ABOUT = {"tool": "approximation theory", "architecture": "dense network", "object": "construction"}


class SquareToFit(eqx.Module):
    """The bound `largest` on the absolute value of inputs, and how many times the tent function is applied."""

    largest: Float[Array, ""]
    tents: int = eqx.field(static=True)


def deep_square(t: Float[Array, "..."], tents: int) -> Float[Array, "..."]:
    """Return t - sum_s g_s(t)/4^s for t in [0, 1], where g_s is the tent of three ReLU units applied s times. The tent
    is the function min(2t, 2 - 2t).
    """

    def tent(x: Array) -> Array:
        return 2 * jax.nn.relu(x) - 4 * jax.nn.relu(x - 0.5) + 2 * jax.nn.relu(x - 1)

    total, folded = t, t
    for s in range(1, tents + 1):
        folded = tent(folded)
        total = total - folded / 4**s
    return total


class DeepSquare(Claim[SquareToFit]):
    """Let g_s be the tent function min(2x, 2 - 2x) on [0, 1] applied s times, and let f_m(x) = x - sum_{s=1}^m
    g_s(x)/4^s. Let M > 0. The network M² f_m(x/M) consists of 3m ReLU units in m layers. On [0, M], it is at least x².
    As an approximation of x², its largest error is

        M² 4^-(m+1).

    By contrast, the largest error of the best network of one layer with 3m units is M²/(8 (3m + 1)²), which falls only
    like m^-2.
    """

    # The network is Yarotsky's (yarotsky2017). f_m interpolates x² between the multiples of 2^-m. One layer of N - 1
    # hinges has N pieces. A piece of length h has at least the error h²/8 for x², which equal pieces attain.

    title = "The error of a deep ReLU network for x² is exponentially small in its depth"
    source = Source("emergence2026", "Figure 2.24", note="for the function x², with explicit constants")
    stated = Kind.OWN
    population = Drawn(
        SquareToFit,
        positive("largest"),
        tents=Integer(5, 1, 9, "number of tents applied in a row", corners=(3, 7)),
        largest=log_uniform(0.1, 10.0),
    )
    relation = Equal()
    control = Control("three quarters of the predicted errors", lambda errors, problem: 0.75 * errors)
    controls = "the largest error of a deep network for x², with its sign, and the error of the best single layer"
    unexplained = "what training finds"

    def predict(self, problem: SquareToFit) -> Array:
        m = problem.tents
        return problem.largest**2 * jnp.array([4.0 ** -(m + 1), 4.0 ** -(m + 1), 1 / (8 * (3 * m + 1) ** 2)])

    def measure(self, problem: SquareToFit, key: Key[Array, ""]) -> Array:
        """Return the largest error and the range of errors on a dyadic grid. Also return the least error of one layer
        with as many units.
        """
        m, pieces = problem.tents, 3 * problem.tents + 1
        x = jnp.linspace(0.0, 1.0, 2 ** (m + 3) + 1)
        error = deep_square(x, m) - x**2
        x = jnp.linspace(0.0, 1.0, 4 * pieces + 1)
        hinges = jnp.arange(1, pieces) / pieces
        layer = x / pieces - 1 / (8 * pieces**2) + jax.nn.relu(x[:, None] - hinges).sum(axis=1) * 2 / pieces
        shallow = jnp.abs(layer - x**2).max()
        return problem.largest**2 * jnp.stack([error.max(), error.max() - error.min(), shallow])

    def condition(self, problem: SquareToFit) -> Array:
        """Bound the rounding errors. The error is a difference of numbers of size 1."""
        return jnp.asarray(4.0 ** (problem.tents + 1) + 40 * problem.tents**3)


class DeepProduct(Claim[SquareToFit]):
    """Let g_s be the tent function min(2t, 2 - 2t) applied s times. On [0, 1], the deep ReLU network f_m(t) = t -
    sum_{s=1}^m g_s(t)/4^s approximates t² with an error of at most 4^-(m+1). Let |x| and |y| be at most M. The network

        P(x, y) = 2M² (f_m(|x + y|/(2M)) - f_m(|x|/(2M)) - f_m(|y|/(2M)))

    satisfies xy - M² 4^-m <= P(x, y) <= xy. Both bounds are attained, and the lower bound is attained at x = y = M
    2^-m. The sum of the largest errors of the three values of f_m would only give the weaker bound 1.5 M² 4^-m on the
    error.
    """

    # Let h = 2^-m and phi(u) = u(1 - u) for u mod 1. Then f_m(t) = t² + h² phi(t/h). The function phi is even, concave
    # on [0, 1] and 0 at both ends. So it is subadditive, and phi(u) + phi(v) - phi(u + v) <= 1/2.

    title = "The error of a deep ReLU network for products xy is one-sided and exponentially small in the depth"
    source = Source("emergence2026", "Figure 2.24", note="for products of two numbers, with the sharp constant")
    stated = Kind.OWN
    population = Drawn(
        SquareToFit,
        positive("largest"),
        tents=Integer(3, 1, 6, "number of tents applied in a row", corners=(2, 5)),
        largest=log_uniform(0.1, 10.0),
    )
    relation = Equal()
    control = Control("0.95 times the error", lambda errors, problem: 0.95 * errors)
    controls = "the largest error of a deep network for products, with its sign"
    unexplained = "what training finds"

    def predict(self, problem: SquareToFit) -> Array:
        return problem.largest**2 * 4.0**-problem.tents * jnp.ones(2)

    def measure(self, problem: SquareToFit, key: Key[Array, ""]) -> Array:
        """Return the largest error and the range of errors on a grid with four points in each piece."""
        size, m = problem.largest, problem.tents
        x = size * jnp.linspace(-1.0, 1.0, 2 ** (m + 3) + 1)
        square = lambda t: deep_square(jnp.abs(t) / (2 * size), m)
        product = 2 * size**2 * (square(x[:, None] + x) - square(x[:, None]) - square(x))
        error = x[:, None] * x - product
        return jnp.stack([error.max(), error.max() - error.min()])

    def condition(self, problem: SquareToFit) -> Array:
        """Bound the rounding errors. The error is a difference of numbers of size M²."""
        return jnp.asarray(8 * 4.0**problem.tents)
