"""Elementary facts on which the analysis of softmax networks rests.

These are single steps of the source's proofs: a squared distance, the sum of the shares of a softmax (its entries),
square roots, exponentials and geometric series. They assume arguments near 0, except for the geometric series, which is
used near 1. They do not explain how loose the bounds become when steps are combined and their constants multiply.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.random_units import unit_rows
from lemmata.networks import SoftmaxNetwork

ABOUT = {"tool": "approximation theory", "architecture": "any", "object": "inequality"}

Law = Callable[[Array, float], Array]


class Argument(eqx.Module):
    """The argument of an elementary inequality, and the largest size that it may have."""

    x: Float[Array, ""]
    largest: float = eqx.field(static=True)


class Pair(eqx.Module):
    """Two vectors."""

    u: Float[Array, " n"]
    v: Float[Array, " n"]


class SoftmaxLayer(eqx.Module):
    """A softmax over m units at given inputs x, with the weights W, one column per unit."""

    x: Float[Array, "n d"]
    weight: Float[Array, "d m"]


def either_sign(key: Key[Array, ""], largest: float) -> Array:
    """Draw a number uniformly on [-largest, largest]."""
    return jax.random.uniform(key, minval=-largest, maxval=largest)


def near_zero(key: Key[Array, ""], largest: float) -> Array:
    """Draw ±largest exp(-E) with a random sign, where E is a standard exponential variable, cut off at 8."""
    sign_key, size_key = jax.random.split(key)
    size = jnp.exp(-jnp.minimum(jax.random.exponential(size_key), 8.0))
    return largest * size * jax.random.rademacher(sign_key, ())


def below_one(key: Key[Array, ""], largest: float) -> Array:
    """Draw x uniformly in (0, 0.1), or, in half of the draws, 1 - x log-uniformly between 1 - largest and 0.9."""
    side_key, value_key = jax.random.split(key)
    value, nearest = jax.random.uniform(value_key), 1 - largest
    return jnp.where(jax.random.bernoulli(side_key), 0.1 * value, 1 - 0.9 * (nearest / 0.9) ** value)


class Arguments(Population[Argument]):
    """Numbers x with |x| at most `largest`.

    Args:
        largest: the largest |x| that a user may set.
        law: the function that draws x from a key and `largest`.
    """

    free = ("x",)
    largest: float = 0.1
    law: Law = eqx.field(static=True, default=either_sign)
    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Argument:
        return Argument(self.law(key, self.largest), self.largest)

    def hypotheses(self, problem: Argument) -> list[Hypothesis]:
        return [Hypothesis("the argument is small", jnp.abs(problem.x), "<=", problem.largest, "terms left out")]


class Pairs(Population[Pair]):
    """Pairs of normal vectors, the second scaled to a random length."""

    settings = Space(n=Integer(20, 1, 1000, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Pair:
        """Draw two normal vectors, the second scaled to a random length."""
        u, v = jax.random.normal(key, (2, setting["n"]))
        return Pair(u, jnp.exp(jax.random.normal(key)) * v)

    def hypotheses(self, problem: Pair) -> list[Hypothesis]:
        return []


class SoftmaxLayers(Population[SoftmaxLayer]):
    """Inputs on the unit sphere, and normal weights, by default so large that exponentials of logits overflow."""

    settings = Space(
        n=Integer(8, 1, 100, "inputs"),
        d=Integer(4, 1, 100, "dimension"),
        m=Integer(64, 1, 4096, "units"),
        sigma=Real(30.0, 0.0, 1e4, "standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SoftmaxLayer:
        input_key, weight_key = jax.random.split(key)
        weight = setting["sigma"] * jax.random.normal(weight_key, (setting["d"], setting["m"]))
        return SoftmaxLayer(unit_rows(input_key, setting["n"], setting["d"]), weight)

    def hypotheses(self, problem: SoftmaxLayer) -> list[Hypothesis]:
        return []


class SquaredDistance(Claim[Pair]):
    """Let u and v be two vectors of the same dimension. Then |u - v|² = |u|² - 2 <u, v> + |v|²."""

    title = "The squared distance of two vectors is |u|² - 2 <u, v> + |v|²"
    source = Source("gu2024softmax", "Fact A.3")
    population = Pairs()
    relation = Equal()
    control = Control(
        "the squared distance is |u|² - <u, v> + |v|²", lambda value, problem: value + problem.u @ problem.v
    )
    controls = "the squared distance of two vectors"
    unexplained = "nothing"

    def predict(self, problem: Pair) -> Array:
        return problem.u @ problem.u - 2 * problem.u @ problem.v + problem.v @ problem.v

    def measure(self, problem: Pair, key: Key[Array, ""]) -> Array:
        return jnp.sum((problem.u - problem.v) ** 2)

    def condition(self, problem: Pair) -> Array:
        """The condition number: n products are rounded, and terms cancel if u and v are close; |u - v| may be 0."""
        terms = problem.u @ problem.u + problem.v @ problem.v
        left = jnp.sum((problem.u - problem.v) ** 2)
        return len(problem.u) * terms / jnp.where(left > 0, left, terms + (terms == 0))


class SharesSumToOne(Claim[SoftmaxLayer]):
    """Let S_i = softmax(W' x_i) be the shares of m units at input x_i, where the columns of W are the weights of the
    units. The shares sum to 1: <1, S_i> = 1 for every input x_i.

    The source calls S_i an indicator, but it means the softmax of W'x_i.
    """

    title = "The shares of a softmax sum to 1"
    source = Source("gu2024softmax", "Fact A.4")
    population = SoftmaxLayers()
    relation = Equal()
    control = Control("the shares sum to 1 - 1/m", lambda total, problem: total * (1 - 1 / problem.weight.shape[1]))
    controls = "the sum of the shares"
    unexplained = "nothing"

    def predict(self, problem: SoftmaxLayer) -> Array:
        return jnp.ones(len(problem.x))

    def measure(self, problem: SoftmaxLayer, key: Key[Array, ""]) -> Array:
        network = SoftmaxNetwork(width=2)  # shares follow the shape of the weights
        return network.shares({"weight": problem.weight}, problem.x).sum(axis=1)

    def condition(self, problem: SoftmaxLayer) -> Array:
        """The condition number of a sum of m shares, each of them rounded."""
        return jnp.asarray(problem.weight.shape[1], float)


class SquareRootBelowTangent(Claim[Argument]):
    """Let |x| <= 0.1. Then (1 - x)^(1/2) <= 1 - x/2. In fact this holds for all x <= 1, because a concave function
    lies below its tangent.
    """

    title = "The square root of 1 - x lies below its tangent 1 - x/2"
    source = Source("gu2024softmax", "Fact A.5")
    population = Arguments()
    relation = AtMost()
    control = Control("the square root is at most 1 - x/2 - x²/8", lambda value, problem: value - problem.x**2 / 8)
    controls = "the square root near 1"
    unexplained = "the difference, x²/8 + O(x³)"

    def predict(self, problem: Argument) -> Array:
        return 1 - problem.x / 2

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        return jnp.sqrt(1 - problem.x)

    def trivial(self, problem: Argument) -> Array:
        """The bound max(1, 1 - x), because a square root lies between its argument and 1."""
        return jnp.maximum(1.0, 1 - problem.x)


class ExponentialNearOne(Claim[Argument]):
    """Let |x| <= 0.1. Then |exp(x) - 1| <= 2 |x|. The smallest possible constant in place of 2 is (exp(0.1) - 1) / 0.1
    = 1.052.
    """

    title = "The exponential exp(x) differs from 1 by at most 2 |x| for small x"
    source = Source("gu2024softmax", "Fact A.6")
    population = Arguments()
    relation = AtMost()
    control = Control("the difference is at most |x|", lambda value, problem: value / 2)
    controls = "the change of an exponential"
    unexplained = "the factor 2: 1.052 is enough"

    def predict(self, problem: Argument) -> Array:
        return 2 * jnp.abs(problem.x)

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        return jnp.abs(jnp.expm1(problem.x))

    def trivial(self, problem: Argument) -> Array:
        """The bound exp(0.1) - 1 for every x of the interval, because the exponential increases."""
        return jnp.asarray(math.expm1(problem.largest))


def _half_as_wide(ends: Array, problem: Argument) -> Array:
    centre = jnp.asarray([0.5, -0.5])
    return centre + (ends - centre) / 2


class ExponentialSecondOrder(Claim[Argument]):
    """Let |x| <= 0.01 and h = 0.01. Then exp(x) = 1 + x + theta x², where theta is between (exp(-h) - 1 + h) / h² =
    0.49834 and (exp(h) - 1 - h) / h² = 0.50167. Both ends of this range are attained. The source writes theta as
    Theta(1).
    """

    title = "Near 0, exp(x) is 1 + x + theta x² with theta between 0.49834 and 0.50167"
    source = Source("gu2024softmax", "Fact A.8", note="with the range of Theta(1)")
    population = Arguments(largest=0.01, law=near_zero)
    relation = AtMost()
    control = Control("theta differs from 1/2 by half as much", _half_as_wide)
    controls = "the remainder of an exponential after the linear term"
    unexplained = "nothing: the range is exact"
    reading = "Theta(1) is the range of theta on [-0.01, 0.01]"

    def hypotheses(self, problem: Argument) -> list[Hypothesis]:
        return [Hypothesis("the argument is not 0", jnp.abs(problem.x), ">", 0.0, "theta is a quotient by x²")]

    def predict(self, problem: Argument) -> Array:
        """The largest theta and minus the smallest theta, from the series sum_k h^k / (k + 2)!."""
        ends = [sum(h**k / math.factorial(k + 2) for k in range(8)) for h in (problem.largest, -problem.largest)]
        return jnp.asarray([ends[0], -ends[1]])

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        """The values theta and -theta."""
        theta = (jnp.expm1(problem.x) - problem.x) / problem.x**2
        return jnp.stack([theta, -theta])

    def condition(self, problem: Argument) -> Array:
        """The condition number: exp(x) - 1 and x are of size |x|, but their difference is of size x²/2."""
        return 2 / jnp.abs(problem.x)

    def trivial(self, problem: Argument) -> Array:
        """The bound from Lagrange's remainder, in which theta = exp(s)/2 for some |s| <= |x|."""
        return jnp.asarray([math.exp(problem.largest), -math.exp(-problem.largest)]) / 2


class GeometricSeries(Claim[Argument]):
    """Let |x| < 1. Then sum_{i >= 0} x^i = 1 / (1 - x).

    The source states this as an upper bound for x in (0, 0.1), and then uses it in equation 10 for x just below 1. The
    statement is also true for these x. Half of the sampled x are in the range that is stated, and half in the range
    that is used, up to 0.999.
    """

    title = "The geometric series of x sums to 1 / (1 - x)"
    source = Source("gu2024softmax", "Fact A.7", "(10)", note="on the range that (10) uses")
    population = Arguments(largest=0.999, law=below_one)  # nearer to 1 the terms after 2^16 are above rounding
    relation = Equal()
    control = Control("the series sums to x / (1 - x)", lambda value, problem: problem.x * value)
    controls = "the sum of errors that shrink by a constant factor"
    unexplained = "nothing"

    def predict(self, problem: Argument) -> Array:
        return 1 / (1 - problem.x)

    def measure(self, problem: Argument, key: Key[Array, ""]) -> Array:
        """The sum of 2^16 terms, by doubling: 2k terms sum to (1 + x^k) times the sum of the first k."""
        total, power = jnp.ones(()), problem.x
        for _ in range(16):
            total, power = total * (1 + power), power * power
        return total

    def condition(self, problem: Argument) -> Array:
        """The condition number of the sum: repeated squaring gives x^k a relative error that grows in proportion to k.

        In the sum, this error has the weight k x^k, which is at most 1/(1 - |x|).
        """
        return 1 / (1 - jnp.abs(problem.x))
