"""A claim in ordinary Python whose trials take a moment each, and a process that judges it."""

import time
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Population, Source, Space
from lemmata.engine.ledger import recorded_trials

MOMENT = 0.002


class Numbers(Population[float]):
    """Numbers between 0 and 1."""

    def settings(self) -> Space:
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> float:
        return float(np.random.default_rng(np.asarray(jax.random.key_data(key))).random())

    def hypotheses(self, problem: float) -> list[Hypothesis]:
        return [Hypothesis("it is a probability", problem, "<=", 1.0)]


class SquareIsSmaller(Claim[float]):
    """The square of a number between 0 and 1 is at most the number."""

    title = "Squares"
    source = Source("euclid", entry="@book{euclid, author={Euclid}, title={Elements}, year={1956}}")
    population = Numbers()
    relation = AtMost()
    control = Control("a third of it", lambda value, problem: value / 3)
    traced = False

    def predict(self, problem: float) -> Any:
        return problem

    def measure(self, problem: float, key: Key[Array, ""]) -> Any:
        time.sleep(MOMENT)
        return problem**2


def judge(path: str, trials: int) -> None:
    """What a process does until it is killed."""
    jax.config.update("jax_enable_x64", True)
    recorded_trials(path, 1, SquareIsSmaller(), {}, trials, 0)
