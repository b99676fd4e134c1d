"""Test problems with random labels, and with empirical means that deviate from their expectations.

The distributions are small, so expectations are exact sums.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class PowerDraws(eqx.Module):
    """A number of rows, drawn from the distribution on [0, 1] whose distribution function is x^power."""

    power: Float[Array, ""]
    rows: int = eqx.field(static=True)


class FiniteLaw(eqx.Module):
    """Three kinds of rows with known probabilities, the values of functions on each kind, and a number N of rows."""

    probabilities: Float[Array, "3"]
    values: Float[Array, "functions 3"]
    rows: int = eqx.field(static=True)


class RareKinds(Population[FiniteLaw]):
    """One frequent kind of row and two rare kinds. In half of the problems, all functions are 0 on the frequent
    kind.
    """

    free = ("probabilities", "values")
    settings = Space(rows=Integer(4, 1, 6, "rows", corners=(3, 5)), functions=Integer(6, 1, 50, "functions"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FiniteLaw:
        rare_key, value_key, zero_key = jax.random.split(key, 3)
        rare = 0.001 * 300.0 ** jax.random.uniform(rare_key, (2,))
        values = jax.random.uniform(value_key, (setting["functions"], 3), minval=-1.0)
        common = jnp.where(jax.random.uniform(zero_key) < 0.5, 0.0, values[:, :1])
        values = jnp.concatenate([common, values[:, 1:]], axis=1)
        return FiniteLaw(jnp.concatenate([1 - rare.sum(keepdims=True), rare]), values, setting["rows"])

    def hypotheses(self, problem: FiniteLaw) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the smallest probability", problem.probabilities.min(), ">=", 0.0, "probabilities must not be negative"
            ),
            Hypothesis(
                "the sum of probabilities", problem.probabilities.sum(), "==", 1.0, "probabilities must sum to 1"
            ),
        ]


class SignClass(eqx.Module):
    """Classifiers with answers -1 and 1 on n rows."""

    answers: Float[Array, "classifiers n"]


class SignClasses(Population[SignClass]):
    """Classes of classifiers: random signs in half of the problems, and thresholds on a line in the other half."""

    settings = Space(rows=Integer(9, 1, 12, "rows", corners=(6, 11)), classifiers=Integer(12, 1, 500, "classifiers"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignClass:
        n, count = setting["rows"], setting["classifiers"]
        kind_key, sign_key, place_key = jax.random.split(key, 3)
        signs = jax.random.rademacher(sign_key, (count, n), float)
        places = jax.random.randint(place_key, (count, 1), 0, n + 1)
        thresholds = jnp.where(jnp.arange(n) < places, -1.0, 1.0)
        return SignClass(jnp.where(jax.random.uniform(kind_key) < 0.5, signs, thresholds))

    def hypotheses(self, problem: SignClass) -> list[Hypothesis]:
        return [
            Hypothesis(
                "answers are signs", jnp.abs(jnp.abs(problem.answers) - 1).max(), "==", 0.0, "the loss is zero-one"
            )
        ]


class Lunch(eqx.Module):
    """A learner that predicts labels on 2 m points by a weighted vote. The learner is trained on m draws with
    replacement.

    At point j, the prediction is the sign of sum_i c_i votes_ji y_i + bias_j. Point i has the label y_i and was drawn
    c_i times.

    Args:
        votes: entry (j, i) is the weight of the label of point i in the vote at point j.
        bias: the constant term of the vote at each point.
    """

    votes: Float[Array, "points points"]
    bias: Float[Array, " points"]


class Learners(Population[Lunch]):
    """Learners with random votes. With probability `consistent`, the label of a drawn point decides the vote at this
    point.

    Args:
        half: the default m, half of the number of points.
        most: the largest m in an extra setting.
        consistent: the probability that the label of every drawn point decides the vote at this point.
    """

    half: int = eqx.field(static=True, default=3)
    most: int = eqx.field(static=True, default=4)
    consistent: float = eqx.field(static=True, default=0.5)

    def settings(self) -> Space:
        return Space(half=Integer(self.half, 1, self.most, "draws, half of the points"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Lunch:
        m = setting["half"]
        vote_key, bias_key, kind_key = jax.random.split(key, 3)
        votes, bias = jax.random.normal(vote_key, (2 * m, 2 * m)), jax.random.normal(bias_key, (2 * m,))
        outvotes = m * jnp.abs(votes).sum() + jnp.abs(bias).sum()
        own = jnp.where(jax.random.uniform(kind_key) < self.consistent, outvotes, 0.0)
        return Lunch(votes + own * jnp.eye(2 * m), bias)

    def hypotheses(self, problem: Lunch) -> list[Hypothesis]:
        found = [
            Hypothesis("the number of points is even", len(problem.bias) % 2, "==", 0, "m of the 2 m points are drawn")
        ]
        if self.consistent == 1.0:
            votes, own = jnp.abs(problem.votes), jnp.diag(problem.votes)
            most = len(problem.bias) // 2 * (votes.sum(axis=1) - jnp.abs(own)) + jnp.abs(problem.bias)
            found.append(
                Hypothesis("a seen label outvotes others", (own - most).min(), ">", 0.0, "the learner is consistent")
            )
        return found
