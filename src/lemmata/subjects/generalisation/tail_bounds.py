"""Two tail bounds: for sums of bounded variables, and for quadratic forms in bounded variables.

This theory bounds the distance of a sum or a form from its expectation. Lemmas A.9 and A.10 are those of gu2024softmax.
It assumes independent bounded variables and nothing about their distributions. It does not explain the constants,
because it replaces variances by squared ranges.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space

ABOUT = {"tool": "concentration", "architecture": "any", "object": "inequality"}


class BoundedVariables(eqx.Module):
    """Independent variables x_i with two values, alpha_i and the larger beta_i, and the probability of beta_i."""

    low: Float[Array, " n"]
    high: Float[Array, " n"]
    chance: Float[Array, " n"]


class TwoValues(Population[BoundedVariables]):
    """Variables whose ranges have lognormal length. The larger value has a probability between 0.3 and 0.7."""

    settings = Space(n=Integer(64, 1, 1000, "variables"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> BoundedVariables:
        centre, length = jax.random.normal(key, (2, setting["n"]))
        chance = jax.random.uniform(jax.random.fold_in(key, 1), (setting["n"],), minval=0.3, maxval=0.7)
        return BoundedVariables(centre, centre + jnp.exp(length), chance)

    def hypotheses(self, problem: BoundedVariables) -> list[Hypothesis]:
        shortest = (problem.high - problem.low).min()
        return [Hypothesis("beta_i is at least alpha_i", shortest, ">=", 0.0, "x_i lies between alpha_i and beta_i")]


class QuadraticForm(eqx.Module):
    """The form x'Ax of a matrix A and independent x_i. Each x_i is a random sign times K/2 with probability 1/4, and
    times K otherwise.
    """

    matrix: Float[Array, "n n"]
    bound: float


class SemicircleForms(Population[QuadraticForm]):
    """Forms with a symmetric normal matrix, whose eigenvalues have a semicircle distribution."""

    settings = Space(n=Integer(256, 2, 1000, "variables"), K=Real(1.0, 1e-3, 1e3, "bound of the variables"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> QuadraticForm:
        normal = jax.random.normal(key, (setting["n"], setting["n"]))
        return QuadraticForm((normal + normal.T) / math.sqrt(2), setting["K"])

    def hypotheses(self, problem: QuadraticForm) -> list[Hypothesis]:
        """Check that the bound K is positive. The variables are independent and have mean 0 by construction."""
        return [Hypothesis("K is positive", problem.bound, ">", 0.0, "the bound of the variables")]


_DELTA = 0.1
# Derived beside `hanson_wright_radius`.
HANSON_WRIGHT = 1 / 37


def hoeffding_distance(ranges: Float[Array, " n"], delta: float) -> Float[Array, ""]:
    """Return t = sqrt(log(2/delta) sum_i (beta_i - alpha_i)² / 2), at which the probability in Lemma A.9 is delta.

    Args:
        ranges: the lengths beta_i - alpha_i of the ranges.
        delta: the probability of a larger distance.
    """
    return jnp.sqrt(math.log(2 / delta) / 2 * jnp.sum(ranges**2))


def operator_norm(matrix: Float[Array, "n n"]) -> float:
    """Return |A|, the root of the largest eigenvalue of A'A, computed outside of JAX's tracing."""
    dense = np.asarray(matrix, float)
    return math.sqrt(max(np.linalg.eigvalsh(dense.T @ dense)[-1], 0.0))


def hanson_wright_radius(frobenius: float, norm: float, bound: float, delta: float) -> float:
    """Return t = K² max(|A|_F sqrt(s), |A| s) with s = log(2/delta) / c, at which the probability in Lemma A.10 is
    delta.

    Args:
        frobenius: the Frobenius norm of A.
        norm: the operator norm of A.
        bound: K, the bound on the variables.
        delta: the probability of a larger distance.
    """
    # The constant c, for K = 1. Write x'Ax - E x'Ax = P + Q, where P = sum_i a_ii (x_i² - E x_i²) and Q contains the
    # other terms. P: x_i² is in an interval of length 1, so log E exp(s P) <= s² sum_i a_ii² / 8 (Hoeffding's lemma).
    # Q: decoupling gives E exp(s Q) <= E exp(4 s x'Oy), with y an independent copy of x and O the off-diagonal part.
    # Variables in [-1, 1] with mean 0 satisfy log E exp(s x_i) <= s²/2, as do standard normal ones. So normal variables
    # may replace first x, then y: E exp(s Q) <= E exp(4 s g'Oh) = prod_i (1 - 16 s² o_i²)^(-1/2), where o_i are the
    # singular values. If 16 s² o_i² <= 1/5 this is at most exp(8 k s² |O|_F²), k = 5 log(5/4) < 1.1158, -log(1-u)/u
    # being increasing. Use Hölder's inequality with exponents 65 for P and 65/64 for Q, and |A|_F² = sum_i a_ii² +
    # |O|_F². Then log E exp(s (P + Q)) <= L s² |A|_F² with L = (65/8) k < 9.066, if (65/64) 4 |s| |O| <= sqrt(1/5). As
    # |O| <= 2 |A|, this holds for |s| <= 1 / (M |A|), M = (65/8) sqrt(5) < 18.17. Chernoff's bound with s = min(t / (2
    # L |A|_F²), 1 / (M |A|)) is exp(-min(t² / (4 L |A|_F²), t / (2 M |A|))). Since 4 L < 36.3 and 2 M < 36.4, c = 1/37.
    # The other tail gives the factor 2.
    size = math.log(2 / delta) / HANSON_WRIGHT
    return bound**2 * max(frobenius * math.sqrt(size), norm * size)


class HoeffdingSum(Claim[BoundedVariables]):
    """Let n independent variables x_i lie in [alpha_i, beta_i], and let t > 0, a condition that the source omits. The
    sum of the x_i differs from its expectation by more than t with probability at most 2 exp(-2 t² / sum_i (beta_i -
    alpha_i)²). So, with probability at least 1 - delta, the distance of the sum from its expectation is at most

        sqrt( log(2/delta) sum_i (beta_i - alpha_i)² / 2 ).

    Variables that take only the values alpha_i and beta_i are the extreme case.
    """

    title = "Hoeffding's inequality for variables with ranges of different lengths"
    source = Source("gu2024softmax", "Lemma A.9")
    population = TwoValues()
    relation = AtMost(delta=_DELTA)
    # Half of it is about 1.2 standard deviations.
    control = Control("the distance is at most half of the bound", lambda distance, problem: distance / 2)
    controls = "the distance of a sum of bounded variables from its expectation"
    unexplained = "sums of variables whose variance is far below their squared range"
    trials = 512

    def predict(self, problem: BoundedVariables) -> Array:
        return hoeffding_distance(problem.high - problem.low, _DELTA)

    def measure(self, problem: BoundedVariables, key: Key[Array, ""]) -> Array:
        """Return the distance of one drawn sum from its expectation."""
        drawn = jnp.where(jax.random.bernoulli(key, problem.chance), problem.high, problem.low)
        return jnp.abs(jnp.sum(drawn - problem.low - problem.chance * (problem.high - problem.low)))

    def trivial(self, problem: BoundedVariables) -> Array:
        """Return the sum of the ranges, because the sum and its expectation lie between sum alpha_i and sum beta_i."""
        return jnp.sum(problem.high - problem.low)


class HansonWright(Claim[QuadraticForm]):
    """Let n independent variables x_i have mean 0 and |x_i| <= K. Let A be any n x n matrix with Frobenius norm |A|_F
    and operator norm |A|. Then x'Ax differs from its expectation by more than t with probability at most

        2 exp( -c min( t² / (K^4 |A|_F²), t / (K² |A|) ) ),   c = 1/37.

    The source has an unnamed constant c > 0. A comment in `hanson_wright_radius` derives that c = 1/37 is valid.
    """

    title = "The Hanson-Wright inequality with an explicit constant"
    source = Source("gu2024softmax", "Lemma A.10", note="with c = 1/37")
    population = SemicircleForms()
    relation = AtMost(delta=_DELTA)
    control = Control(
        "the distance is at most a twelfth of the radius",
        lambda radius, problem: radius / 12,
        loose="the radius is about ten standard deviations, so no similar statement can be refuted",
    )
    controls = "the distance of a quadratic form in bounded variables from its expectation"
    unexplained = "the best constant, which a normal limit would put at 1/4 for t small compared with |A|_F²/|A|"
    reading = "the trials take c = 1/37 for the unnamed constant c of the source"
    traced = False

    def predict(self, problem: QuadraticForm) -> Array:
        frobenius = float(jnp.linalg.norm(problem.matrix))
        return jnp.asarray(hanson_wright_radius(frobenius, operator_norm(problem.matrix), problem.bound, _DELTA))

    def measure(self, problem: QuadraticForm, key: Key[Array, ""]) -> Array:
        """Return the distance of one drawn form from its expectation. Here E x_i² = K² (3/4 + 1/4 1/4)."""
        sign_key, size_key = jax.random.split(key)
        n = len(problem.matrix)
        size = jnp.where(jax.random.bernoulli(size_key, 0.75, (n,)), 1.0, 0.5)
        x = problem.bound * size * jax.random.rademacher(sign_key, (n,))
        return jnp.abs(x @ problem.matrix @ x - problem.bound**2 * 13 / 16 * jnp.trace(problem.matrix))

    def trivial(self, problem: QuadraticForm) -> Array:
        """Return 2 n K² |A|, because both |x'Ax| and |E x'Ax| are at most n K² |A|."""
        return jnp.asarray(2 * len(problem.matrix) * problem.bound**2 * operator_norm(problem.matrix))
