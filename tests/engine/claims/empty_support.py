"""Statements that are false, or say nothing, and that came out supported: one class for each."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Order,
    Population,
    Rate,
    Space,
    Witness,
)
from tests.engine.claims.synthetic import RUNGS, Numbers, Synthetic

HALF = Control("half of it", lambda value, problem: value / 2)


class AbstractFigures(Synthetic):
    """A number that is at most, or equal to, the number that its subclass states."""

    relation = AtMost()
    control = HALF
    traced = False

    def predict(self, problem):
        return 1.0


class WideCondition(AbstractFigures):
    """An identity that is off by 5 %, with a condition number of 1e13."""

    relation = Equal()
    condition = 1e13

    def measure(self, problem, key):
        return 1.05


class WideComponent(AbstractFigures):
    """Two identities, of which the second is off by a half and has a condition number of 1e14."""

    relation = Equal()
    condition = (1.0, 1e14)

    def predict(self, problem):
        return np.ones(2)

    def measure(self, problem, key):
        return np.array([1.0, 1.5])


class OftenWide(AbstractFigures):
    """A bound whose condition number is 1e15 in three trials of four."""

    def measure(self, problem, key):
        return 0.9

    def condition(self, problem):
        return np.where(problem < 2.5, 1e15, 1.0)


class WideWitness(AbstractFigures):
    """A construction that misses its value by a fifth, with a condition number of 1e14."""

    relation = Witness()
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    condition = 1e14

    def measure(self, problem, key):
        return 0.8


class InfiniteComponent(AbstractFigures):
    """A bound beside one that is infinite."""

    def predict(self, problem):
        return np.array([1.0, np.inf])

    def measure(self, problem, key):
        return np.array([0.9, 1e9])


class VacuousComponent(AbstractFigures):
    """A bound beside one that is a million times what everybody knows."""

    def predict(self, problem):
        return np.array([1.0, 1e6])

    def measure(self, problem, key):
        return np.array([0.9, 0.9])

    def trivial(self, problem):
        return np.array([5.0, 1.0])


class LooseComponent(AbstractFigures):
    """A bound beside one that is loose by 1e24."""

    def predict(self, problem):
        return np.array([1.0, 1e12])

    def measure(self, problem, key):
        return np.array([0.9, 1e-12])


class LooseFloor(LooseComponent):
    """A lower bound beside one that is loose by 1e8."""

    relation = AtLeast()
    control = Control("twice as much", lambda value, problem: 2 * value)

    def measure(self, problem, key):
        return np.array([1.1, 1e20])


class UntouchedComponent(AbstractFigures):
    """A bound of two components, of which the control leaves the second as it is."""

    control = Control("half of the first", lambda value, problem: value * jnp.array([0.5, 1.0]))

    def predict(self, problem):
        return np.ones(2)

    def measure(self, problem, key):
        return np.array([0.9, 0.9])


class SeldomTight(AbstractFigures):
    """A bound that is loose by 1e12 in 98 of 100 trials, with a control that is said to be loose."""

    control = Control("half of it", lambda value, problem: value / 2, loose="it is loose")
    trials = 600

    def measure(self, problem, key):
        return np.where(problem < 1.04, 0.9, 1e-12)


class SeldomWitness(AbstractFigures):
    """A construction that is stated to succeed in one of 20 trials, and does in one of 50."""

    relation = Witness(0.05)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 200

    def measure(self, problem, key):
        return np.where(problem < 1.04, 1.0, 0.5)


class WideMargin(Synthetic):
    """A mean that is 40 % too large, within a margin that a control four times as large nearly meets."""

    relation = EqualInMean(margin=0.45)
    control = Control("four times as much", lambda value, problem: 4 * value)
    trials = 256

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        return 1.4 * problem * (1 + 0.05 * jax.random.normal(key))


class WideLooseMargin(WideMargin):
    """The same with a control that has another sign."""

    control = Control("the other sign", lambda value, problem: -value, loose="a sign")


class Selected(Numbers):
    """Numbers of which a hypothesis may drop half."""

    drops = 0.49


class DroppedViolations(AbstractFigures):
    """A bound that is violated in two trials of five, which a hypothesis drops."""

    population = Selected()

    def hypotheses(self, problem):
        return [Hypothesis("fine", problem, "<=", 2.2)]

    def measure(self, problem, key):
        return np.where(problem > 2.2, 5.0, 0.9)


class Sized(Population[tuple]):
    """A number and the setting."""

    def settings(self):
        return Space(n=Integer(40, 2, 1000))

    def sample(self, setting, key):
        return jax.random.uniform(key), float(setting["n"])

    def hypotheses(self, problem):
        return [Hypothesis("the size is 40", problem[1], "==", 40.0)]


class OneSetting(AbstractFigures):
    """A bound whose hypothesis fails at every setting but one."""

    population = Sized()

    def measure(self, problem, key):
        return 0.5 + 0.5 * problem[0]


class Beyond(AbstractFigures):
    """A bound that is tried where a hypothesis is false; with a shift it fails there."""

    def hypotheses(self, problem):
        return [Hypothesis.violated("the width is above 1e20", "tried at 128")]

    def measure(self, problem, key):
        return 0.9 + self.shift


class BeyondWithoutPower(Beyond):
    """The same with a control that no trial refutes."""

    control = Control("as it is", lambda value, problem: value)


class OneCase(AbstractFigures):
    """A bound on a number that is the same in every trial."""

    def measure(self, problem, key):
        return 0.9


class OneIdentity(OneCase):
    """An identity of numbers that are the same in every trial."""

    relation = Equal()

    def measure(self, problem, key):
        return 1.0


class OneRate(Synthetic):
    """A rate that is the same in every trial."""

    relation = Rate("n", RUNGS)
    control = Control("exponent off by 0.5", lambda value, problem: value - 0.5)
    traced = False
    trials = 8
    predict = -1.0

    def measure(self, problem, key):
        return 1 / np.asarray(RUNGS)


class Kept(eqx.Module):
    """A number and whatever else a sampler put beside it."""

    value: Any
    other: Any


class Keeper(Population[Kept]):
    """Numbers, each with its random key."""

    what: str = "key"

    def settings(self):
        return Space(n=Integer(40, 2, 1000))

    def sample(self, setting, key):
        value = jax.random.uniform(key)
        kept = {"key": key, "raw": jax.random.key_data(key), "measured": 0.9 * value, "none": value.shape}
        return Kept(value, kept[self.what] if self.what in kept else np.random.default_rng(0))

    def hypotheses(self, problem):
        return []


class HoldsKey(Synthetic):
    """A bound on what both sides draw from one key."""

    relation = AtMost()
    control = HALF
    traced = False
    population = Keeper()

    def predict(self, problem):
        return problem.value

    def measure(self, problem, key):
        return 0.9 * problem.value


class HoldsRawKey(HoldsKey):
    """The same with the numbers of the key."""

    population = Keeper("raw")


class HoldsGenerator(HoldsKey):
    """The same with a generator of NumPy."""

    population = Keeper("generator")


class HoldsMeasurement(HoldsKey):
    """The same with the measured number in the problem."""

    population = Keeper("measured")


class HoldsNothing(HoldsKey):
    """The same with nothing amiss."""

    population = Keeper("none")


class Steady(Synthetic):
    """An order along a ladder, for the law of values that are not finite."""

    relation = Order("n", RUNGS)
    traced = False
    trials = 8
    predict = -1.0

    def measure(self, problem, key):
        return 1 / np.asarray(RUNGS)
