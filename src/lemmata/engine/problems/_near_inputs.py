"""Inputs that are equal or near, at which kernels of ReLU, exponential and softmax units are moved most."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._conditions import in_unit_ball
from ._random_units import DELTA, RandomUnits, unit_rows
from ._softmax_parameters import logit_bound

_EQUAL = 0.75  # the share of problems with equal inputs


class NearInputs(Population[RandomUnits]):
    """Inputs on the unit sphere, equal in three quarters of the problems, independent in the others.

    Args:
        sigma: the default standard deviation of the weights.
        least: the smallest.
        most: the largest.
    """

    sigma: float = 1.0
    least: float = 1.0
    most: float = 1.0

    def settings(self) -> Space:
        """Sizes, the scale of the weights and the radius."""
        space = Space(
            n=Integer(2, 2, 16, "inputs", corners=(2, 3)),
            d=Integer(4, 1, 64, "dimension of the inputs"),
            m=Integer(4096, 256, 65536, "units", corners=(4096, 8192)),
            sigma=Real(self.sigma, self.least, self.most, "standard deviation of the weights"),
            R=Real(0.0099, 1e-6, 0.00999, "how far a unit may move", corners=(0.0095, 0.0099)),
        )
        likely = lambda s: s["n"] ** 2 * math.exp(-s["m"] * s["R"] / 10) <= DELTA
        return space.where(f"n² exp(-m R/10) is at most {DELTA:g}", likely)

    def sample(self, setting: dict, key: Key[Array, ""]) -> RandomUnits:
        """A coin, and uniform inputs."""
        coin, points = jax.random.split(key)
        x = unit_rows(points, setting["n"], setting["d"])
        x = jnp.where(jax.random.bernoulli(coin, _EQUAL), x[:1], x)
        return RandomUnits(x, 1, setting["m"], setting["sigma"], setting["R"])

    def hypotheses(self, problem: RandomUnits) -> list[Hypothesis]:
        """Inputs in the unit ball, and a probability that is not 0."""
        n, failure = len(problem.x), len(problem.x) ** 2 * jnp.exp(-problem.width * problem.radius / 10)
        return [
            in_unit_ball(problem.x, why="|<v, x>| is bounded by |v|"),
            Hypothesis("n² exp(-m R/10) is at most delta", failure, "<=", DELTA, f"the probability at n = {n}"),
        ]


class EqualInput(eqx.Module):
    """Many inputs that are equal, of length 1: the logits of the units are N(0, sigma²)."""

    sigma: Float[Array, ""]


class EqualInputs(Population[EqualInput]):
    """Logits of a standard deviation between a setting and five quarters of it."""

    def settings(self) -> Space:
        """The smallest standard deviation."""
        return Space(sigma=Real(0.4, 0.2, 0.6, "smallest standard deviation of the weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> EqualInput:
        """A random standard deviation."""
        return EqualInput(setting["sigma"] * (1 + jax.random.uniform(key) / 4))

    def hypotheses(self, problem: EqualInput) -> list[Hypothesis]:
        """Exponentials that average out."""
        spread = jnp.exp(4 * problem.sigma**2)
        return [Hypothesis("exponentials average over the units", spread, "<=", 16.0, "the relative second moment")]


class WidthSizes(eqx.Module):
    """Sizes in Theorem 4.2.

    Args:
        sigma: standard deviation of the weights.
        count: n k.
        delta: failure probability.
    """

    sigma: float = eqx.field(static=True)
    count: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=DELTA)

    @property
    def bound(self) -> float:
        """B."""
        return logit_bound(self.count, 1, self.sigma, self.delta)


class WidthsOfTheorem(Population[WidthSizes]):
    """A random standard deviation of the weights and a random number of entries n k."""

    def settings(self) -> Space:
        """The largest of either."""
        return Space(
            n=Integer(1000, 100, 10000, "largest n k"),
            sigma=Real(0.2, 0.1, 1.0, "largest standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> WidthSizes:
        """Between half of a setting and all of it."""
        first, second = (float(u) for u in jax.random.uniform(key, (2,), minval=0.5))
        return WidthSizes(setting["sigma"] * first, int(setting["n"] * second))

    def hypotheses(self, problem: WidthSizes) -> list[Hypothesis]:
        """A bound B that depends on n."""
        return [Hypothesis("B is above 1", problem.bound, ">", 1.0, "below, exp(B) does not depend on n")]
