"""Claims that hang, raise, give NaN and end their process, beside two that do not; read as a file of a user's own."""

import os
import pathlib

import jax
import jax.numpy as jnp

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space

MARKS = pathlib.Path(__file__).with_name("marks")
"""Here claims count how often they were called: once when their answers are looked at, then once a trial."""


class Numbers(Population):
    """Numbers between 0 and 1."""

    def settings(self):
        return Space(n=Integer(4, 2, 9))

    def sample(self, setting, key):
        return jax.random.uniform(key, (setting["n"],)).mean()

    def hypotheses(self, problem):
        return [Hypothesis("at most 1", problem, "<=", 1.0)]


class AbstractSquares(Claim):
    title = "Squares"
    source = Source("euclid", "Lemma <1>", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Numbers()
    relation = AtMost()
    control = Control("a third of it", lambda value, problem: value / 3)
    trivial = "a number has no bound"
    controls = "a square"
    unexplained = "nothing"
    traced = False

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        return problem**2


class First(AbstractSquares):
    """The square of a number between 0 and 1 is at most the number."""


class Hangs(AbstractSquares):
    """A loop without an end in the fourth trial."""

    def measure(self, problem, key):
        mark = MARKS / "hangs"
        with mark.open("a") as file:
            file.write("x")
        while mark.stat().st_size >= 5:
            (MARKS / "late-1").touch()
        return problem**2


class HangsInside(AbstractSquares):
    """A compiled call without an end."""

    traced = True

    def measure(self, problem, key):
        mark = lambda value: (MARKS / "late-2").touch() or value
        begun = jax.pure_callback(mark, problem, problem, vmap_method="sequential")
        return jax.lax.while_loop(lambda value: value < 2.0, lambda value: value * 1.0, begun)


class Raises(AbstractSquares):
    """An error of two lines in the second trial."""

    def measure(self, problem, key):
        mark = MARKS / "raises"
        with mark.open("a") as file:
            file.write("x")
        if mark.stat().st_size == 3:
            raise ValueError("a matrix\nthat is no matrix")
        return problem**2


class NotANumber(AbstractSquares):
    """NaN where the number is small."""

    traced = True

    def measure(self, problem, key):
        return jnp.where(problem < 0.5, jnp.nan, 0.0)


class Dies(AbstractSquares):
    """Its process ends."""

    def measure(self, problem, key):
        os.kill(os.getpid(), 9)


class Last(AbstractSquares):
    """The square of a number between 0 and 1 is at most the number."""
