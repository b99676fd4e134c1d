"""Statements that once came out supported, and must not: one class for each hole that the engine had."""

import jax
import jax.numpy as jnp

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Real,
    Space,
)
from tests.engine.claims.synthetic import RUNGS, Convergent, Existence, Numbers, SkewedMean, SureBound, Synthetic


class Undefined(SureBound):
    """A hypothesis that is NaN in half of the problems, in which the bound is violated."""

    def hypotheses(self, problem):
        return [Hypothesis("known", jnp.where(problem > 2.0, jnp.nan, problem), ">", 0.0)]

    def measure(self, problem, key):
        return jnp.where(problem > 2.0, 2.0, 0.5) * problem


class Infinite(SureBound):
    """An infinite bound."""

    control = Control("a tenth", lambda value, problem: problem / 10)

    def predict(self, problem):
        return jnp.inf

    def trivial(self, problem):
        return 2 * problem


class InfiniteMean(SkewedMean):
    """An infinite expectation."""

    def predict(self, problem):
        return jnp.inf


class Vacuous(SureBound):
    """A bound of three components, of which two are above what everybody knows."""

    control = Control("a hundredth of it", lambda value, problem: value / 100, loose="it is loose")

    def predict(self, problem):
        return jnp.stack([problem, 9 * problem, 9 * problem])

    def measure(self, problem, key):
        return jnp.full(3, 0.9) * problem * jax.random.uniform(key)

    def trivial(self, problem):
        return 2 * problem


class BeyondTheTheorem(SureBound):
    """A bound that is tried where its hypothesis is false; with a shift it fails there."""

    def hypotheses(self, problem):
        return [Hypothesis.violated("the width is above 1e20", "tried at 128")]


class OneComponentWrong(Synthetic):
    """An identity of which one component is wrong by a factor 3, beside one of size 1e16."""

    relation = Equal()

    def predict(self, problem):
        return jnp.stack([problem, 1e16 * problem])

    def measure(self, problem, key):
        return jnp.stack([3 * problem, 1e16 * problem])


class Heterogeneous(SkewedMean):
    """Every problem is off by a half, up or down, and on average by nothing."""

    trials = 256

    def measure(self, problem, key):
        sign = jnp.where(jnp.floor(1e6 * problem) % 2 == 0, 1.0, -1.0)
        return problem * (1 + 0.5 * sign) * (1 + 0.1 * jax.random.normal(key))


class Plateau(Convergent):
    """A sequence that stops at a quarter of its first gap, far from the limit."""

    trials = 400

    def measure(self, problem, key):
        rungs = jnp.asarray(RUNGS)
        return problem * (1.15 + 0.45 * rungs[0] / rungs + 0.1 * jax.random.normal(key, rungs.shape))


class RareSuccess(Existence):
    """A construction that succeeds once in 50 trials, stated to succeed in 2 of 5."""

    def measure(self, problem, key):
        return problem * jnp.where(jax.random.uniform(key) < 0.02, 1.2, 0.8)


class WrongAtSmallSizes(SureBound):
    """A bound that holds at n = 40 and above, and fails below."""

    class Sizes(Population[tuple]):
        """A number and the size."""

        def settings(self):
            return Space(n=Integer(40, 2, 1000))

        def sample(self, setting, key):
            return (jax.random.uniform(key, (), minval=1.0, maxval=3.0), jnp.asarray(float(setting["n"])))

        def hypotheses(self, problem):
            return []

    population = Sizes()

    def predict(self, problem):
        return problem[0]

    def measure(self, problem, key):
        return problem[0] * jnp.where(problem[1] < 40, 2.0, jax.random.uniform(key, (40,)).max())


class FarControl(SureBound):
    """A control that any nonsense refutes."""

    control = Control("a thousandth of it", lambda value, problem: value / 1000)


class RareControl(Synthetic):
    """A control that one trial in a hundred refutes."""

    relation = AtMost()
    control = Control("two thirds", lambda value, problem: value / 1.5)
    trials = 400

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        return jnp.where(jax.random.uniform(key) < 0.02, 0.9, 0.5) * problem


class OneComponentOfThree(Synthetic):
    """A control that touches one component of three."""

    relation = AtMost()
    control = Control("half of the first", lambda value, problem: value.at[0].divide(2))

    def predict(self, problem):
        return jnp.full(3, problem)

    def measure(self, problem, key):
        return jnp.full(3, problem * jax.random.uniform(key, (40,)).max())


class Selective(SureBound):
    """A hypothesis that a quarter of the sampled problems fail."""

    population = Numbers(least=1.5)


class NoTrivial(SureBound):
    """A bound that does not say what everybody knows."""

    trivial = ""


class CoarseMean(SkewedMean):
    """A mean whose resolution is wider than half of the way to its control."""

    relation = EqualInMean(resolution=0.4)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 2000


class PinnedNumbers(Population[jax.Array]):
    """Numbers of which a verification sees one setting alone, although a range of them is declared."""

    pinned: str = "size"

    def settings(self):
        corners = dict.fromkeys(("size", "scale"))
        corners |= {"size": {"size": (3, 3)}, "scale": {"scale": (3.0, 3.0)}}.get(self.pinned, {})
        law = Choice("even", ("even", "odd"), "law", ("odd",) if self.pinned == "law" else ())
        return Space(
            size=Integer(4, 1, 64, "size", corners=corners["size"]),
            scale=Real(4.0, 1.0, 64.0, "scale", corners=corners["scale"]),
            law=law,
        )

    def sample(self, setting, key):
        return 1 + jax.random.uniform(key)

    def hypotheses(self, problem):
        return []


class OneSize(Population[jax.Array]):
    """Numbers of one size: nothing else is declared, so nothing is pinned."""

    settings = Space(size=Integer(4, 4, 4, "size", corners=(4, 4)), law=Choice("even", ("even",), "law", ("even",)))

    def sample(self, setting, key):
        return 1 + jax.random.uniform(key)

    def hypotheses(self, problem):
        return []


def on(numbers):
    """A bound on the numbers of a population."""

    class Bound(SureBound):
        """A bound that always holds."""

        population = numbers

    return Bound()
