"""Statements on norms, true and false, that a search is tried on."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Source,
    Space,
)

BOOK = Source(
    "hardy1934", "Theorem", entry="@book{hardy1934, author={Hardy, G. H. and Littlewood, J. E. and P{\\'o}lya, G.}, "
    "title={Inequalities}, publisher={Cambridge University Press}, year={1934}}",
)  # fmt: skip


class Vector(eqx.Module):
    """Numbers in a row."""

    x: Float[Array, " d"]


class Vectors(Population[Vector]):
    """Normal vectors whose largest entry is bounded."""

    free: ClassVar[tuple[str, ...]] = ("x",)
    largest: float = 10.0

    def settings(self) -> Space:
        return Space(d=Integer(8, 1, 64, "entries"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Vector:
        return Vector(jax.random.normal(key, (setting["d"],)))

    def hypotheses(self, problem: Vector) -> list[Hypothesis]:
        return [
            Hypothesis("the largest entry is bounded", jnp.abs(problem.x).max(), "<=", self.largest, "a box"),
            Hypothesis("the vector is not zero", jnp.abs(problem.x).max(), ">=", 1e-3, "else all norms are 0"),
        ]


class AbstractNorms(Claim[Vector]):
    """What statements on norms have in common."""

    title = "Norms of a vector"
    source = BOOK
    population = Vectors()
    control = Control("half of it", lambda value, problem: value / 2)
    controls = "the sum of absolute values"
    unexplained = "nothing"
    trivial = "norms have no bound of their own"

    def measure(self, problem: Vector, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.x).sum()


class SumBelowRoot(AbstractNorms):
    """The sum of absolute values is at most sqrt(d) |x|."""

    relation = AtMost()

    def predict(self, problem: Vector) -> Array:
        return jnp.sqrt(problem.x.size) * jnp.linalg.norm(problem.x)


class SumBelowTooLittle(AbstractNorms):
    """The sum of absolute values is at most 0.99 sqrt(d) |x|, d at least 2: false, and normal vectors hide it."""

    relation = AtMost()

    def hypotheses(self, problem: Vector) -> list[Hypothesis]:
        return [Hypothesis("at least two entries", float(problem.x.size), ">=", 2.0)]

    def predict(self, problem: Vector) -> Array:
        return 0.99 * jnp.sqrt(problem.x.size) * jnp.linalg.norm(problem.x)


class SumAboveNorm(AbstractNorms):
    """The sum of absolute values is at least |x|."""

    relation = AtLeast()

    def predict(self, problem: Vector) -> Array:
        return jnp.linalg.norm(problem.x)


class SumAboveTooMuch(AbstractNorms):
    """The sum of absolute values is at least 1.01 |x|: false where one entry stands alone."""

    relation = AtLeast()
    traced = False

    def hypotheses(self, problem: Vector) -> list[Hypothesis]:
        return [Hypothesis("at least three entries", float(problem.x.size), ">=", 3.0)]

    def predict(self, problem: Vector) -> Array:
        return jnp.asarray(1.01 * np.linalg.norm(np.asarray(problem.x)))


class CancelledSum(AbstractNorms):
    """The sum of absolute values is what is left of it beside 10^12: true, and rounding says that it is not."""

    relation = Equal()

    def predict(self, problem: Vector) -> Array:
        large = 1e12 * (problem.x[0] / problem.x[0])  # a compiler sees through a constant
        return (jnp.abs(problem.x).sum() + large) - large


class SumBelowBox(AbstractNorms):
    """The sum of absolute values is at most 10 d: what the box says."""

    relation = AtMost()

    def predict(self, problem: Vector) -> Array:
        return jnp.asarray(10.0 * problem.x.size)


class SumIsTheMean(AbstractNorms):
    """The expected sum of absolute values of d independent normal numbers is 0.9 d: it is sqrt(2/pi) d."""

    relation = EqualInMean(resolution=0.02, over="problems")
    trials = 400

    def predict(self, problem: Vector) -> Array:
        return jnp.asarray(0.9 * problem.x.size)


class EntryBelowThree(AbstractNorms):
    """The first entry is at most 3 in modulus with probability 0.9: 1.645 is enough."""

    relation = AtMost(delta=0.1)

    def predict(self, problem: Vector) -> Array:
        return jnp.asarray(3.0)

    def measure(self, problem: Vector, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.x[0])


class SumBelowItself(AbstractNorms):
    """The sum of absolute values less itself is at most 1e-30: true, and in float64 it is what rounding leaves."""

    relation = AtMost()

    def condition(self, problem: Vector) -> Array:
        return jnp.asarray(1e17)

    def predict(self, problem: Vector) -> Array:
        return jnp.asarray(1e-30)

    def measure(self, problem: Vector, key: Key[Array, ""]) -> Array:
        total = jnp.abs(problem.x).sum()
        return jnp.abs((total + 1e6) - 1e6 - total)


class LargestBelowBox(AbstractNorms):
    """The largest modulus is at most 10: its hypothesis, which holds up to rounding of 1e-12."""

    relation = AtMost()

    def predict(self, problem: Vector) -> Array:
        return jnp.asarray(10.0)

    def measure(self, problem: Vector, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.x).max()
