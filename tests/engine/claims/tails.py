"""Statements on which rare events, heavy tails and differences between problems once gave wrong verdicts."""

import jax
import jax.numpy as jnp

from lemmata.engine.claims import Control, EqualInMean, Limit, Order, Rate, Witness
from tests.engine.claims.synthetic import RUNGS, Synthetic


class RareMean(Synthetic):
    """The mean of 1e5, seen with probability 1e-5, and of `base` else is 1 + base."""

    relation = EqualInMean(resolution=0.1)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 256
    base: float = 0.0
    said: float = 1.0

    def predict(self, problem):
        return self.said

    def measure(self, problem, key):
        return self.base + 1e5 * (jax.random.uniform(key) < 1e-5)


class RareShare(Synthetic):
    """The share of 4,096 draws with an event of probability 1e-6."""

    relation = EqualInMean(resolution=0.1)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 32

    def predict(self, problem):
        return 1e-6

    def measure(self, problem, key):
        return jnp.mean(jax.random.uniform(key, (4096,)) < 1e-6)


class Deterministic(Synthetic):
    """The measurement is the problem itself, and draws nothing."""

    relation = EqualInMean(resolution=0.1)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 32

    def predict(self, problem):
        return problem * (1 + self.shift)

    def measure(self, problem, key):
        return problem


def _sign(problem):
    return jnp.where(jnp.floor(1e6 * problem) % 2 == 0, 1.0, -1.0)


class SlopesThatDiffer(Synthetic):
    """n^-1 on average, n^-1.6 on half of the problems and n^-0.4 on the other."""

    relation = Rate("n", RUNGS)
    control = Control("exponent off by 0.5", lambda value, problem: value - 0.5)
    trials = 2000
    predict = -1.0

    def measure(self, problem, key):
        noise = jnp.exp(0.05 * jax.random.normal(key, (len(RUNGS),)))
        return problem * jnp.asarray(RUNGS) ** (-1 + 0.6 * _sign(problem)) * noise


class ExactSlopesThatDiffer(SlopesThatDiffer):
    """The same without noise."""

    def measure(self, problem, key):
        return problem * jnp.asarray(RUNGS) ** (-1 + 0.6 * _sign(problem))


class SlopesMeasuredTwice(SlopesThatDiffer):
    """The same with noise, each problem measured twice."""

    relation = Rate("n", RUNGS, replicates=2)
    trials = 256


class LimitsThatDiffer(Synthetic):
    """1.6 on half of the problems and 0.4 on the other, against 1."""

    relation = Limit("n", RUNGS)
    control = Control("half of it", lambda value, problem: value / 2)
    trials = 2000
    predict = 1.0

    def measure(self, problem, key):
        return 1 + 0.6 * _sign(problem) + 0.05 * jax.random.normal(key, (len(RUNGS),))


class OrdersThatDiffer(Synthetic):
    """Rising by 1.5 a step on half of the problems, falling by 1 on the other."""

    relation = Order("n", (1.0, 2.0, 3.0))
    trials = 256
    predict = 1.0

    def measure(self, problem, key):
        return (0.25 + 1.25 * _sign(problem)) * jnp.arange(3.0) + 0.01 * jax.random.normal(key, (3,))


class StepsWithinRounding(OrdersThatDiffer):
    """1, 1 + 1e-15 and 1 + 2e-15."""

    def measure(self, problem, key):
        return 1 + 1e-15 * jnp.arange(3.0)


class SuccessOfTheProblem(Synthetic):
    """Always on half of the problems and never on the other, stated with probability 1/2."""

    relation = Witness(probability=0.5)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 400

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        return problem * (1 + 0.2 * _sign(problem)) + 0 * jax.random.uniform(key)
