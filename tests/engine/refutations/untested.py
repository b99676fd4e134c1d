"""Claims on which a search has nothing to say, and claims that Ctrl-C cuts short."""

import contextlib
import signal
import sys

import jax
import jax.numpy as jnp

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Hypothesis, Integer, Population, Source, Space


class Means(Population):
    """The mean of n uniform numbers."""

    def settings(self):
        return Space(n=Integer(4, 2, 60))

    def sample(self, setting, key):
        return jax.random.uniform(key, (setting["n"],)).mean()

    def hypotheses(self, problem):
        return [Hypothesis("at most 1", problem, "<=", 1.0)]


class Nowhere(Means):
    """None of them is above 2."""

    def hypotheses(self, problem):
        return [Hypothesis("above 2", problem, ">=", 2.0)]


class AbstractMeans(Claim):
    title = "Means"
    source = Source("euclid", "I.1", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Means()
    relation = AtMost()
    control = Control("a third", lambda value, problem: value / 3)
    trivial = "a number has no bound"
    controls, unexplained, trials = "a mean", "nothing", 3
    traced = False

    def predict(self, problem):
        return jnp.asarray(1.0)


class Holds(AbstractMeans):
    """A mean of numbers below 1 is at most 1."""

    def measure(self, problem, key):
        return problem


class Fails(AbstractMeans):
    """A mean of numbers below 1 is never below -1, as this says."""

    def measure(self, problem, key):
        return problem + 2.0


class Raises(AbstractMeans):
    """The measurement raises an error."""

    def measure(self, problem, key):
        raise ValueError("no measurement")


class Leaves(AbstractMeans):
    """The measurement ends the program."""

    def measure(self, problem, key):
        sys.exit(0)


class NotANumber(AbstractMeans):
    """The measurement is NaN."""

    traced = True

    def measure(self, problem, key):
        return problem * jnp.nan


class NotANumberOften(NotANumber):
    """The measurement is NaN, of a statement with a probability."""

    relation = AtMost(delta=0.1)


class MeanRaises(Raises):
    """The measurement of a mean raises an error."""

    relation = EqualInMean(0.05)


class Misfits(AbstractMeans):
    """The measurement is a number and the prediction is two."""

    def predict(self, problem):
        return jnp.ones(2)

    def measure(self, problem, key):
        return problem + 2.0


class TracedMisfits(Misfits):
    """The same of a claim that is JAX."""

    traced = True


class Outside(AbstractMeans):
    """No problem satisfies the hypotheses."""

    population = Nowhere()

    def measure(self, problem, key):
        return problem


class CutShort(AbstractMeans):
    """A measurement during which Ctrl-C comes, after so many others."""

    after = 10**9
    done = 0

    def measure(self, problem, key):
        type(self).done += 1
        if type(self).done > self.after:
            raise KeyboardInterrupt
        return problem


class Catches(AbstractMeans):
    """A measurement during which Ctrl-C comes, and which catches it."""

    done = 0

    def measure(self, problem, key):
        type(self).done += 1
        if type(self).done == 3:
            with contextlib.suppress(BaseException):
                signal.raise_signal(signal.SIGINT)
        return problem


class OftenCatches(Catches):
    """The same of a statement with a probability."""

    relation = AtMost(delta=0.1)


class OftenCutShort(CutShort):
    """The same of a statement with a probability."""

    relation = AtMost(delta=0.1)


class MeanCutShort(CutShort):
    """The same of a mean."""

    relation = EqualInMean(0.6)
