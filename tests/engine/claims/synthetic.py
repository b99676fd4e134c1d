"""Claims of known truth: each class is a family of statements that `shift` makes true (0) or false."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Limit,
    Order,
    Population,
    Rate,
    Source,
    Space,
    Witness,
)


class Numbers(Population[jax.Array]):
    """A number uniform on [1, 3]."""

    least: float = 0.0

    def settings(self):
        return Space(n=Integer(40, 2, 1000))

    def sample(self, setting, key):
        return jax.random.uniform(key, (), minval=1.0, maxval=3.0)

    def hypotheses(self, problem):
        return [Hypothesis("positive", problem, ">", self.least)]


class Synthetic(Claim):
    """A statement about one random number."""

    shift: float = 0.0
    heavy: bool = False
    title = "Synthetic"
    source = Source("hoeffding1963", "test")
    population = Numbers()
    control = Control("wrong sign", lambda value, problem: -value, loose="a sign")
    controls = "a random number"
    unexplained = "nothing"
    trivial = "a number has no bound"


class TightBound(Synthetic):
    """Exceeded with probability exactly 0.05 * (1 + shift)."""

    relation = AtMost(delta=0.05)
    trials = 400

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        return jnp.where(jax.random.uniform(key) < 0.05 * (1 + self.shift), 2.0, 0.5) * problem


class SureBound(Synthetic):
    """A maximum of uniform numbers is at most problem * (1 - shift)."""

    relation = AtMost()
    control = Control("two thirds of it", lambda value, problem: value / 1.5)

    def predict(self, problem):
        return problem * (1 - self.shift)

    def measure(self, problem, key):
        return problem * jax.random.uniform(key, (40,)).max()


class SureFloor(Synthetic):
    """A minimum of uniform numbers on [1, 2] is at least (1 + shift) times the problem."""

    relation = AtLeast()
    control = Control("at least 1.1", lambda value, problem: 1.1 * value)

    def predict(self, problem):
        return (1 + self.shift) * problem

    def measure(self, problem, key):
        return problem * (1 + jax.random.uniform(key, (40,)).min())


class SkewedMean(Synthetic):
    """The mean of a lognormal or exponential factor is 1 + shift."""

    relation = EqualInMean(resolution=0.1)
    control = Control("twice as much", lambda value, problem: 2 * value)
    trials = 2000

    def predict(self, problem):
        return problem * (1 + self.shift)

    def measure(self, problem, key):
        normal = jnp.exp(0.8 * jax.random.normal(key) - 0.32)
        return problem * (normal if self.heavy else jax.random.exponential(key))


class Identity(Synthetic):
    """sin² + cos² = 1 + shift."""

    relation = Equal()

    def predict(self, problem):
        return jnp.ones(3) * (1 + self.shift)

    def measure(self, problem, key):
        return jnp.full(3, jnp.sin(problem) ** 2 + jnp.cos(problem) ** 2)


RUNGS = tuple(float(2**k) for k in range(5, 11))


class AbstractPowerLaw(Synthetic):
    """A noisy error C n^(-1/2)."""

    control = Control("exponent off by 0.5", lambda value, problem: value - 0.5)
    trials = 64

    def measure(self, problem, key):
        return problem * jnp.asarray(RUNGS) ** -0.5 * jnp.exp(0.3 * jax.random.normal(key, (len(RUNGS),)))


class PowerLaw(AbstractPowerLaw):
    """A noisy error that is C n^(-1/2 + shift)."""

    relation = Rate("n", RUNGS)

    def predict(self, problem):
        return jnp.asarray(-0.5 + self.shift)


class UpperPowerLaw(AbstractPowerLaw):
    """An error that is O(n^(-0.4 + shift)), and is n^(-1/2)."""

    relation = Rate("n", RUNGS, upper=True)

    def predict(self, problem):
        return jnp.asarray(-0.4 + self.shift)


class Convergent(Synthetic):
    """problem * (1 + 1/n) + noise tends to problem * (1 + shift)."""

    relation = Limit("n", RUNGS)
    control = Control("half of it", lambda value, problem: value / 2)
    trials = 100

    def predict(self, problem):
        return problem * (1 + self.shift)

    def measure(self, problem, key):
        rungs = jnp.asarray(RUNGS)
        return problem * (1 + 1 / rungs + 0.1 * jax.random.normal(key, rungs.shape))


class Falling(Synthetic):
    """A sequence that falls; the sign says so."""

    relation = Order("n", RUNGS)
    trials = 60

    def predict(self, problem):
        return jnp.asarray(-1.0 + self.shift)

    def measure(self, problem, key):
        return problem * jnp.asarray(RUNGS) ** -0.5 * jnp.exp(0.1 * jax.random.normal(key, (len(RUNGS),)))


class Existence(Synthetic):
    """A construction that attains problem * (1 + shift) with probability 0.5."""

    relation = Witness(probability=0.4)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 400

    def predict(self, problem):
        return problem * (1 + self.shift)

    def measure(self, problem, key):
        return problem * (1.0 + 0.2 * jnp.sign(jax.random.normal(key)))


class Plain(Synthetic):
    """The mean of numbers drawn by numpy is 0.5, outside JAX."""

    traced: ClassVar[bool] = False
    relation = EqualInMean(resolution=0.15)
    control = Control("half as much again", lambda value, problem: 1.5 * value)
    trials = 60

    def predict(self, problem):
        return 0.5

    def measure(self, problem, key):
        return np.random.default_rng(np.asarray(jax.random.key_data(key))).uniform(size=50).mean()


TRUE = (
    TightBound(),
    SureBound(),
    SureFloor(),
    SkewedMean(),
    SkewedMean(heavy=True),
    Identity(),
    PowerLaw(),
    UpperPowerLaw(),
    Convergent(),
    Falling(),
    Existence(),
    Plain(),
)
BROKEN = (
    ("three times the failure probability", TightBound(shift=2.0)),
    ("constant halved", SureBound(shift=0.5)),
    ("floor raised", SureFloor(shift=0.1)),
    ("constant halved", SkewedMean(shift=-0.5)),
    ("constant halved", SkewedMean(shift=-0.5, heavy=True)),
    ("mean off by a fifth", SkewedMean(shift=0.2)),
    ("identity off by 1e-12", Identity(shift=1e-12)),
    ("exponent off by 0.5", PowerLaw(shift=0.5)),
    ("exponent off by -0.5", PowerLaw(shift=-0.5)),
    ("exponent off by -0.5", UpperPowerLaw(shift=-0.5)),
    ("limit halved", Convergent(shift=-0.5)),
    ("wrong sign", Falling(shift=2.0)),
    ("value raised", Existence(shift=0.5)),
)
