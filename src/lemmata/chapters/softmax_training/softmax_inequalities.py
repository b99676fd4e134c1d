"""Elementary facts that the analysis of softmax networks rests on.

This theory controls single steps of the later sections: a squared distance, the sum of the shares of a softmax, square
roots, exponentials and geometric series. It assumes arguments near 0, except where a series is used near 1. It leaves
unexplained how loose the steps are together: constants multiply.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space
from lemmata.networks import SoftmaxNetwork

from ._units import unit_rows


class Argument(eqx.Module):
    """The argument of an elementary inequality, and how large it may be."""

    x: Float[Array, ""]
    largest: float = eqx.field(static=True)


class Pair(eqx.Module):
    """Two vectors."""

    u: Float[Array, " n"]
    v: Float[Array, " n"]


class Softmax(eqx.Module):
    """A softmax over m units at given inputs.

    Args:
        x: inputs.
        weight: W, a column a unit.
    """

    x: Float[Array, "n d"]
    weight: Float[Array, "d m"]


class SquaredDistance(Claim[Pair]):
    """|u - v|² = |u|² - 2 <u, v> + |v|²."""

    title = "The square of a distance"
    source = Source("gu2024softmax", "Fact A.3")
    relation = Equal()
    label = "identity"
    controls = "the squared distance of two vectors"
    unexplained = "nothing"
    problem = Pair
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """The dimension."""
        return Space(n=Integer(20, 1, 1000, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Pair:
        """Standard normal vectors of random lengths."""
        u, v = jax.random.normal(key, (2, setting["n"]))
        return Pair(u, jnp.exp(jax.random.normal(key)) * v)

    def hypotheses(self, problem: Pair) -> list[Hypothesis]:
        """Any two vectors."""
        return []

    def predict(self, problem: Pair) -> Array:
        """The three terms."""
        return problem.u @ problem.u - 2 * problem.u @ problem.v + problem.v @ problem.v

    def measure(self, problem: Pair, key: Key[Array, ""]) -> Array:
        """The sum of squared differences."""
        return jnp.sum((problem.u - problem.v) ** 2)

    def condition(self, problem: Pair) -> Array:
        """Rounding of n products, and what cancels where the vectors are close; equal ones have |u - v| = 0."""
        terms = problem.u @ problem.u + problem.v @ problem.v
        left = jnp.sum((problem.u - problem.v) ** 2)
        return len(problem.u) * terms / jnp.where(left > 0, left, terms + (terms == 0))

    def control(self) -> Control:
        """The cross term once."""
        return Control("|u|² - <u, v> + |v|²", lambda value, problem: value + problem.u @ problem.v)


class SharesSumToOne(Claim[Softmax]):
    """The shares of a softmax sum to 1: <1, S_i> = 1 for every input x_i.

    The source calls S_i an indicator, which it is not; it means the softmax of W'x_i.
    """

    title = "The shares of a softmax sum to 1"
    source = Source("gu2024softmax", "Fact A.4")
    relation = Equal()
    label = "identity"
    controls = "the sum of the shares"
    unexplained = "nothing"
    problem = Softmax
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, and the scale of the logits."""
        return Space(
            n=Integer(8, 1, 100, "inputs"),
            d=Integer(4, 1, 100, "dimension"),
            m=Integer(64, 1, 4096, "units"),
            sigma=Real(30.0, 0.0, 1e4, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Softmax:
        """Inputs on the unit sphere and normal weights, large ones by default: the exponentials alone overflow."""
        input_key, weight_key = jax.random.split(key)
        weight = setting["sigma"] * jax.random.normal(weight_key, (setting["d"], setting["m"]))
        return Softmax(unit_rows(input_key, setting["n"], setting["d"]), weight)

    def hypotheses(self, problem: Softmax) -> list[Hypothesis]:
        """Any inputs and weights."""
        return []

    def predict(self, problem: Softmax) -> Array:
        """1 for every input."""
        return jnp.ones(len(problem.x))

    def measure(self, problem: Softmax, key: Key[Array, ""]) -> Array:
        """The sum of the network's shares."""
        network = SoftmaxNetwork(width=2)  # shares follow the shape of the weights
        return network.shares({"weight": problem.weight}, problem.x).sum(axis=1)

    def condition(self, problem: Softmax) -> Array:
        """A sum of m shares, each rounded."""
        return jnp.asarray(problem.weight.shape[1], float)

    def control(self) -> Control:
        """One unit forgotten."""
        return Control("the shares sum to 1 - 1/m", lambda total, problem: total * (1 - 1 / problem.weight.shape[1]))


class AbstractArgument(Claim[Argument]):
    """An elementary inequality in one number x with |x| <= `largest`, of either sign."""

    label = "upper"
    relation = AtMost()
    problem = Argument
    trials = 256
    batch = 256
    largest = 0.1

    def sample(self, setting: dict, key: Key[Array, ""]) -> Argument:
        """Uniform on the interval."""
        return Argument(jax.random.uniform(key, minval=-self.largest, maxval=self.largest), self.largest)

    def hypotheses(self, problem: Argument) -> list[Hypothesis]:
        """A small argument."""
        return [Hypothesis("the argument is small", jnp.abs(problem.x), "<=", problem.largest, "terms left out")]


class SquareRootBelowTangent(AbstractArgument):
    """(1 - x)^(1/2) <= 1 - x/2 for |x| <= 0.1 (in fact for all x <= 1: a concave function lies below its tangent)."""

    title = "A square root lies below its tangent"
    source = Source("gu2024softmax", "Fact A.5")
    controls = "the square root near 1"
    unexplained = "the difference, x²/8 + O(x³)"

    def predict(self, problem: Argument) -> Array:
        """The tangent."""
        return 1 - problem.x / 2

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        """The square root."""
        return jnp.sqrt(1 - problem.x)

    def trivial(self, problem: Argument) -> Array:
        """A square root lies between its argument and 1."""
        return jnp.maximum(1.0, 1 - problem.x)

    def control(self) -> Control:
        """The next term too, which is below the root for negative x."""
        return Control("at most 1 - x/2 - x²/8", lambda value, problem: value - problem.x**2 / 8)


class ExponentialNearOne(AbstractArgument):
    """|exp(x) - 1| <= 2 |x| for |x| <= 0.1. The least constant is (exp(0.1) - 1) / 0.1 = 1.052."""

    title = "An exponential near 1"
    source = Source("gu2024softmax", "Fact A.6")
    controls = "the change of an exponential"
    unexplained = "the factor 2: 1.052 is enough"

    def predict(self, problem: Argument) -> Array:
        """2 |x|."""
        return 2 * jnp.abs(problem.x)

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        """|exp(x) - 1|."""
        return jnp.abs(jnp.expm1(problem.x))

    def trivial(self, problem: Argument) -> Array:
        """The exponential increases: exp(0.1) - 1 for every x of the interval."""
        return jnp.asarray(math.expm1(problem.largest))

    def control(self) -> Control:
        """Close to the least constant."""
        return Control("at most 1.04 |x|", lambda value, problem: 0.52 * value)


class ExponentialSecondOrder(AbstractArgument):
    """exp(x) = 1 + x + theta x² for |x| <= 0.01 with theta between (exp(-h) - 1 + h) / h² = 0.49834 and
    (exp(h) - 1 - h) / h² = 0.50167, h = 0.01: what the source writes as Theta(1). Both ends are attained.
    """

    title = "The second order of an exponential"
    source = Source("gu2024softmax", "Fact A.8", note="with the range of Theta(1)")
    controls = "the remainder of an exponential after the linear term"
    unexplained = "nothing: the range is exact"
    largest = 0.01

    def sample(self, setting: dict, key: Key[Array, ""]) -> Argument:
        """Of size 0.01 exp(-E), E standard exponential but at most 8, with either sign."""
        sign_key, size_key = jax.random.split(key)
        size = jnp.exp(-jnp.minimum(jax.random.exponential(size_key), 8.0))
        return Argument(self.largest * size * jax.random.rademacher(sign_key, ()), self.largest)

    def hypotheses(self, problem: Argument) -> list[Hypothesis]:
        """A small argument, but not 0."""
        return [
            *super().hypotheses(problem),
            Hypothesis("the argument is not 0", jnp.abs(problem.x), ">", 0.0, "theta is a quotient by x²"),
        ]

    def predict(self, problem: Argument) -> Array:
        """The largest theta, and minus the smallest, by the series sum_k h^k / (k + 2)!."""
        ends = [sum(h**k / math.factorial(k + 2) for k in range(8)) for h in (problem.largest, -problem.largest)]
        return jnp.asarray([ends[0], -ends[1]])

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        """theta and minus theta."""
        theta = (jnp.expm1(problem.x) - problem.x) / problem.x**2
        return jnp.stack([theta, -theta])

    def condition(self, problem: Argument) -> Array:
        """exp(x) - 1 and x are of size |x|, their difference of size x²/2."""
        return 2 / jnp.abs(problem.x)

    def trivial(self, problem: Argument) -> Array:
        """Lagrange's remainder: theta = exp(s)/2 for some |s| <= |x|."""
        return jnp.asarray([math.exp(problem.largest), -math.exp(-problem.largest)]) / 2

    def control(self) -> Control:
        """A range half as wide."""
        half = lambda ends, problem: jnp.asarray([0.5, -0.5]) + (ends - jnp.asarray([0.5, -0.5])) / 2
        return Control("theta differs from 1/2 by half as much", half)


class GeometricSeries(Claim[Argument]):
    """sum_{i >= 0} x^i = 1 / (1 - x) for |x| < 1.

    The source states it as an upper bound for x in (0, 0.1) and then uses it, in equation 10, at x = 1 - m eta lambda/4
    just below 1; it is true there as well. Half of the sampled x are as printed, half as used, up to 0.999.
    """

    title = "The geometric series"
    source = Source("gu2024softmax", "Fact A.7", "(10)", note="on the range that (10) uses")
    relation = Equal()
    label = "identity"
    controls = "the sum of errors that shrink by a constant factor"
    unexplained = "nothing"
    problem = Argument
    trials = 128
    batch = 32

    def sample(self, setting: dict, key: Key[Array, ""]) -> Argument:
        """In (0, 0.1), or with 1 - x log-uniform between 0.001 and 0.9."""
        side_key, value_key = jax.random.split(key)
        value = jax.random.uniform(value_key)
        far = 1 - 0.9 * (0.001 / 0.9) ** value
        return Argument(jnp.where(jax.random.bernoulli(side_key), 0.1 * value, far), 0.999)

    def hypotheses(self, problem: Argument) -> list[Hypothesis]:
        """A convergent series, and one that the terms that are summed exhaust."""
        why = "the terms after the first 2^16 must be below rounding"
        return [Hypothesis("|x| is below 1", jnp.abs(problem.x), "<=", problem.largest, why)]

    def predict(self, problem: Argument) -> Array:
        """1 / (1 - x)."""
        return 1 / (1 - problem.x)

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        """The sum of 2^16 terms, by doubling: the first 2k terms are 1 + x^k times the first k."""
        total, power = jnp.ones(()), problem.x
        for _ in range(16):
            total, power = total * (1 + power), power * power
        return total

    def condition(self, problem: Argument) -> Array:
        """The rounding of x^k grows by squaring; it counts by its share k x^k of the sum, at most 1/(1 - |x|)."""
        return 1 / (1 - jnp.abs(problem.x))

    def control(self) -> Control:
        """Without the first term."""
        return Control("x / (1 - x)", lambda value, problem: problem.x * value)
