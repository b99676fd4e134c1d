"""Random functions on the cube, and their sensitivity to noise that flips coordinates."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space
from lemmata.engine.problems.variables import dimension
from lemmata.functions import cube

LEAF_DEPTH = 3


class NoisyFunction(eqx.Module):
    """A function on {-1, 1}^d with values -1 and 1, and the rate at which noise flips coordinates.

    Args:
        values: the values of the function at the points of `cube(d)`.
        eta: the probability that a coordinate changes its sign.
    """

    values: Float[Array, " points"]
    eta: Float[Array, ""]

    @property
    def inputs(self) -> int:
        """The number of coordinates d."""
        return len(self.values).bit_length() - 1


def log_binomial(n: Array, k: Array) -> Array:
    """Return the logarithm of the binomial coefficient C(n, k)."""
    lgamma = jax.scipy.special.gammaln
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0)


def flipping(values: Float[Array, " points"], eta: Float[Array, ""]) -> Float[Array, " points"]:
    """Return E f(y) at each point x, where y is x with each sign flipped with probability eta."""
    points = jnp.arange(len(values))

    def flip(mean: Array, bit: Array) -> tuple[Array, None]:
        return (1 - eta) * mean + eta * mean[points ^ bit], None

    return jax.lax.scan(flip, values, 2 ** jnp.arange(len(values).bit_length() - 1))[0]


def changed_by_flips(values: Float[Array, " points"], eta: Float[Array, ""]) -> Float[Array, ""]:
    """Return the probability that f(x) and f(y) differ, computed without cancellation at small eta."""
    return jnp.mean(jnp.where(values > 0, flipping((values < 0).astype(float), eta), 0.0)) * 2


def flip_rates(values: Float[Array, " points"]) -> Float[Array, " d"]:
    """Return, for each coordinate, the share of points at which f changes if this coordinate is flipped."""
    points = jnp.arange(len(values))
    return jax.lax.map(
        lambda bit: jnp.mean(values != values[points ^ bit]), 2 ** jnp.arange(len(values).bit_length() - 1)
    )


def halfspace(weights: Float[Array, " d"], threshold: Float[Array, ""]) -> Float[Array, " points"]:
    """Return the sign of <w, x> - t at all points x of the cube, with 1 as the sign of 0."""
    return jnp.where(cube(len(weights)) @ weights >= threshold, 1.0, -1.0)


def random_weights(key: Key[Array, ""], d: int) -> Float[Array, " d"]:
    """Draw positive weights, which are half-normal, equal, or geometric with a ratio between 0.45 and 1."""
    size_key, kind_key, rate_key = jax.random.split(key, 3)
    kind = jax.random.randint(kind_key, (), 0, 3)
    geometric = jax.random.uniform(rate_key, minval=0.45, maxval=1.0) ** jnp.arange(d)
    drawn = jnp.abs(jax.random.normal(size_key, (d,)))
    return jnp.select([kind == 0, kind == 1], [drawn, jnp.ones(d)], geometric)


def random_halfspace(key: Key[Array, ""], d: int) -> Float[Array, " points"]:
    """Draw a halfspace with random signs of the weights, and with threshold 0 in half of the cases."""
    weight_key, sign_key, threshold_key, zero_key = jax.random.split(key, 4)
    weights = random_weights(weight_key, d) * jax.random.rademacher(sign_key, (d,), float)
    threshold = 0.7 * jnp.linalg.norm(weights) * jax.random.normal(threshold_key)
    return halfspace(weights, jnp.where(jax.random.bernoulli(zero_key), 0.0, threshold))


def random_tree(key: Key[Array, ""], d: int) -> Float[Array, " points"]:
    """Draw a decision tree of depth 3 with a random coordinate at each node and a random sign at each leaf."""
    node_key, leaf_key = jax.random.split(key)
    nodes = jax.random.randint(node_key, (2**LEAF_DEPTH,), 0, d)
    points, at = cube(d), jnp.ones(2**d, int)
    for _ in range(LEAF_DEPTH):
        goes = jnp.take_along_axis(points, nodes[at][:, None], axis=1)[:, 0] > 0
        at = 2 * at + goes
    return jax.random.rademacher(leaf_key, (2**LEAF_DEPTH,), float)[at - 2**LEAF_DEPTH]


def parity_of_size(d: int, size: Array) -> Float[Array, " points"]:
    """Return the product of the first `size` coordinates at each point of the cube."""
    return jnp.prod(jnp.where(jnp.arange(d) < size, cube(d), 1.0), axis=1)


def random_table(key: Key[Array, ""], d: int) -> Float[Array, " points"]:
    """Draw independent values -1 or 1. The probability of -1 is itself drawn uniformly between 0.1 and 0.5."""
    share_key, value_key = jax.random.split(key)
    share = jax.random.uniform(share_key, minval=0.1, maxval=0.5)
    return jnp.where(jax.random.bernoulli(value_key, share, (2**d,)), -1.0, 1.0)


class NoisyFunctions(Population[NoisyFunction]):
    """Halfspaces, decision trees, random tables and parities, in equal shares, with log-uniform noise rates.

    Args:
        inputs: the default number d of inputs.
        least: the smallest noise rate eta that is drawn.
    """

    inputs: int = eqx.field(static=True, default=8)
    least: float = eqx.field(static=True, default=0.01)

    def settings(self) -> Space:
        return Space(d=dimension(self.inputs, 4, 12, corners=(self.inputs - 2, self.inputs + 1)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFunction:
        d = setting["d"]
        own, rate_key, kind_key, size_key = jax.random.split(key, 4)
        size = jax.random.randint(size_key, (), 1, d + 1)
        kinds = jnp.stack(
            [random_halfspace(own, d), random_tree(own, d), random_table(own, d), parity_of_size(d, size)]
        )
        eta = self.least * (0.5 / self.least) ** jax.random.uniform(rate_key)
        return NoisyFunction(kinds[jax.random.randint(kind_key, (), 0, 4)], eta)

    def hypotheses(self, problem: NoisyFunction) -> list[Hypothesis]:
        return [two_values(problem), noise_rate(problem)]


def two_values(problem: NoisyFunction) -> Hypothesis:
    """Return the hypothesis that all values of f are -1 or 1."""
    gap = jnp.max(jnp.abs(jnp.abs(problem.values) - 1))
    return Hypothesis("the largest distance of |f| from 1", gap, "==", 0.0, "the values are labels")


def noise_rate(problem: NoisyFunction) -> Hypothesis:
    """Return the hypothesis that the noise rate is at most 1/2."""
    return Hypothesis(
        "the noise rate",
        problem.eta,
        "<=",
        0.5,
        "above 1/2, noise equals a flip of all signs with a smaller noise rate",
    )
