"""Depth separation: shallow networks are far from the iterated tent map, which a deep network computes exactly.

This theory bounds the error of every network of given widths near a function that a deeper network computes. The tent
map rises linearly from 0 at 0 to 1 at 1/2, and falls to 0 at 1. It assumes one input and ReLU units. It does not
explain functions without regular oscillations.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "combinatorics", "architecture": "dense network", "object": "function class"}

_STEPS = 200
_GRID = 256
_FINE = 4096


class ShallowStarts(eqx.Module):
    """The k-fold tent map, and weights of networks with two hidden layers, from several random starts.

    Args:
        kinks: the points of [0, 1] at which the units of the first layer begin.
        slopes: the weights of the first layer.
        inner, shift: the weights and biases of the second layer.
        outer: the weights of the output.
    """

    kinks: Float[Array, "starts w"]
    slopes: Float[Array, "starts w"]
    inner: Float[Array, "starts w w"]
    shift: Float[Array, "starts w"]
    outer: Float[Array, "starts w"]
    k: int = eqx.field(static=True)

    @property
    def pieces(self) -> int:
        """The largest number of affine pieces of a network with these widths."""
        return (self.kinks.shape[1] + 1) ** 2

    def target(self, x: Array) -> Array:
        """Return the k-fold tent map m^(k)(x), by its definition."""
        for _ in range(self.k):
            x = jnp.where(x <= 0.5, 2 * x, 2 - 2 * x)
        return x


class ShallowNetworks(Population[ShallowStarts]):
    """Networks with normal weights, and kinks that are uniform on [0, 1]."""

    settings = Space(
        k=Integer(5, 4, 6, "iterates of the tent map"),
        width=Integer(2, 1, 3, "units in each of two hidden layers"),
        starts=Integer(4, 1, 50, "starts of training"),
    ).where("the bound is positive", lambda s: 9 * (s["width"] + 1) ** 2 < 2 ** (s["k"] + 3))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ShallowStarts:
        keys, shape = jax.random.split(key, 5), (setting["starts"], setting["width"])
        return ShallowStarts(
            jax.random.uniform(keys[0], shape),
            4 * jax.random.normal(keys[1], shape),
            jax.random.normal(keys[2], (*shape, shape[1])),
            jax.random.normal(keys[3], shape),
            jax.random.normal(keys[4], shape),
            setting["k"],
        )

    def hypotheses(self, problem: ShallowStarts) -> list[Hypothesis]:
        return [Hypothesis("pieces", problem.pieces, "<", 2.0**problem.k, "the target itself has 2^k pieces")]


class ShallowNetworksMissTriangles(Claim[ShallowStarts]):
    """The tent map rises linearly from 0 at 0 to 1 at 1/2, and falls to 0 at 1. Let m^(k) be its k-fold composition
    with itself, which a network with 3k units in 2k hidden layers computes. Every ReLU network g with hidden layers of
    widths w_1, ..., w_L satisfies

        int_0^1 |m^(k)(x) - g(x)| dx >= 1/4 - (9/32) (w_1 + 1) ... (w_L + 1)/2^k.

    So a network of L layers needs, in order of magnitude, at least L 2^(k/L) units for an error below 1/8. The test
    trains networks with two hidden layers to minimise this error, from several starts.
    """

    title = "Shallow ReLU networks with few units miss a constant share of the triangles of an iterated tent map"
    source = Source("emergence2026", "Theorem 3.9", note="for given widths, with explicit constants")
    population = ShallowNetworks()
    relation = AtLeast()
    control = Control(
        "the error is at least 1/4, which is the error of the constant 1/2",
        lambda error, problem: jnp.full_like(error, 0.25),
    )
    controls = "the error of a trained shallow network near a deep network"
    unexplained = "the error at the end of training, which is above the error of the best network"
    trivial = 0.0

    def predict(self, problem: ShallowStarts) -> Array:
        return jnp.asarray(1 / 4 - 9 / 32 * problem.pieces / 2**problem.k)

    def measure(self, problem: ShallowStarts, key: Key[Array, ""]) -> Array:
        """Train every start with Adam on a coarse grid, and return the least error on a fine grid."""

        def error(weights: tuple, points: int) -> Array:
            x = (jnp.arange(points) + 0.5) / points
            kinks, slopes, inner, shift, outer, level = weights
            hidden = jax.nn.relu((x[:, None] - kinks) * slopes)
            output = jax.nn.relu(hidden @ inner.T + shift) @ outer + level
            return jnp.mean(jnp.abs(output - problem.target(x)))

        def step(state: tuple, i: Array) -> tuple[tuple, None]:
            weights, mean, square = state
            slope = jax.grad(error)(weights, _GRID)
            mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, slope)
            square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g**2, square, slope)
            rate = 0.03 * (1 - i / _STEPS)
            move = lambda w, m, s: w - rate * m / (1 - 0.9 ** (i + 1)) / (jnp.sqrt(s / (1 - 0.99 ** (i + 1))) + 1e-8)
            return (jax.tree.map(move, weights, mean, square), mean, square), None

        def trained(*weights: Array) -> Array:
            start = (*weights, jnp.asarray(0.5))
            zeros = jax.tree.map(jnp.zeros_like, start)
            return error(jax.lax.scan(step, (start, zeros, zeros), jnp.arange(float(_STEPS)))[0][0], _FINE)

        errors = jax.vmap(trained)(problem.kinks, problem.slopes, problem.inner, problem.shift, problem.outer)
        return errors.min()
