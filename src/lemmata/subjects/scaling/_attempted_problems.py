"""Test problems: tasks that a model attempts several times, with known probabilities of success."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive

_LARGEST = 3


class Attempted(eqx.Module):
    """A problem with n attempts (`made`), each right with probability p (`success`).

    Pass@k, the probability that at least one of k attempts (`asked`) is right, is estimated from these n attempts.
    """

    success: Float[Array, ""]
    made: int = eqx.field(static=True)
    asked: int = eqx.field(static=True)


ATTEMPTED_PROBLEMS = Drawn(
    Attempted,
    positive("success", "errors are relative to the success probability"),
    lambda own: Hypothesis("k is at most n", own.asked, "<=", own.made, "the estimator needs k attempts"),
    rules={"k is at most n": lambda setting: setting["asked"] <= setting["made"]},
    success=log_uniform(0.04, 0.2),
    made=Integer(12, 2, 100, "attempts made", corners=(8, 24)),
    asked=Integer(6, 1, 100, "attempts asked about", corners=(4, 8)),
)


class Difficulties(eqx.Module):
    """Problems whose success probabilities follow Beta(a, b).

    Args:
        a: the first parameter: near 0, the density of the success probability p is proportional to p^(a-1).
        b: the second parameter: near 1, the density is proportional to (1-p)^(b-1). A whole number up to 3.
        attempts: the number K of attempts.
    """

    a: Float[Array, ""]
    b: Float[Array, ""]
    attempts: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""], count: int) -> Float[Array, "count"]:
        """Draw the success probabilities of `count` problems.

        Beta(a, b) is the distribution of the product of U_i^(1/(a + i)), i = 0, ..., b - 1, with uniform U_i.
        """
        order = jnp.arange(_LARGEST)
        power = jnp.where(order < self.b, 1 / (self.a + order), 0.0)
        return jnp.prod(jax.random.uniform(key, (count, _LARGEST), minval=1e-300) ** power, axis=1)


class BetaDifficulties(Population[Difficulties]):
    """Beta distributions of success probabilities, by default with a below 1, so that hard problems are common."""

    settings = Space(
        a=Real(0.55, 0.3, 3.0, "exponent of the density near 0, plus 1", corners=(0.5, 0.7)),
        attempts=Integer(4, 2, 1000, "attempts on each problem", corners=(3, 5)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Difficulties:
        return Difficulties(
            jnp.asarray(setting["a"]), jax.random.randint(key, (), 1, _LARGEST + 1).astype(float), setting["attempts"]
        )

    def hypotheses(self, problem: Difficulties) -> list[Hypothesis]:
        return [
            Hypothesis("a is positive", problem.a, ">", 0.0, "otherwise Beta(a, b) is not a distribution"),
            Hypothesis("b is at least 1", problem.b, ">=", 1.0, "difficulties are drawn only for b of at least 1"),
        ]


class Multiplied(eqx.Module):
    """The number of attempts on a problem is multiplied by K, from m to K m."""

    before: Float[Array, ""]
    factor: Float[Array, ""]


class MultipliedAttempts(Population[Multiplied]):
    """Problems with one to four attempts, multiplied by a factor of 3 to 60."""

    settings = Space(most=Integer(60, 4, 10_000, "largest factor"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Multiplied:
        before_key, factor_key = jax.random.split(key)
        before = jax.random.randint(before_key, (), 1, 5).astype(float)
        return Multiplied(before, jax.random.randint(factor_key, (), 3, setting["most"] + 1).astype(float))

    def hypotheses(self, problem: Multiplied) -> list[Hypothesis]:
        return [Hypothesis("attempts are multiplied: K", problem.factor, ">", 1.0, "otherwise there is no gain")]


class SharedBudget(eqx.Module):
    """The probability of success on each of several problems, and a budget of attempts to share among them."""

    success: Float[Array, "problems"]
    budget: int = eqx.field(static=True)


SHARED_BUDGETS = Drawn(
    SharedBudget,
    lambda own: Hypothesis(
        "probabilities are below 1", own.success.max(), "<", 1.0, "otherwise a problem is solved for certain"
    ),
    problems=Integer(8, 4, 20, "problems", corners=(6, 10)),
    success=log_uniform(0.0005, 0.9, "problems"),
    budget=Integer(20, 1, 60, "attempts", corners=(12, 30)),
)
