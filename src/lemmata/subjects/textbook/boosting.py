"""Boosting: rules that are a little better than a coin, weighted so that their training error vanishes.

The theory controls the training error after every round by the errors of the rules; it leaves open the error on new
rows, and rows that are labelled wrongly, which gain weight in every round.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.textbook._textbook_rows import BoostedRun, BoostedRuns

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}

_SOURCE = Source("younes2024introduction", "Abstract, boosting")
_MARGIN = 0.1


class BoostingLowersTrainingError(Claim[BoostedRun]):
    """After t rounds of adaptive boosting by rules of weighted errors e_1, ..., e_t the share of wrong training rows is
    at most

        product of 2 sqrt(e_s (1 - e_s))   (Freund and Schapire),

    at every round.
    """

    title = "The training error of boosting"
    source = _SOURCE
    population = BoostedRuns()
    relation = AtMost()
    control = Control(
        "a third of it",
        lambda bound, problem: bound / 3,
        loose="after some rounds all training rows are right, and the bound is far above 0",
    )
    controls = "the training error after every round"
    unexplained = "the error on new rows"
    traced = False

    def predict(self, problem: BoostedRun) -> Array:
        return jnp.asarray(np.cumprod(2 * np.sqrt(problem.errors * (1 - problem.errors))))

    def measure(self, problem: BoostedRun, key: Key[Array, ""]) -> Array:
        """Rows on which the weighted votes are not on the side of the class."""
        return jnp.asarray((problem.margins <= 0).mean(axis=1))

    def trivial(self, problem: BoostedRun) -> Array:
        """All of them."""
        return jnp.ones(len(problem.errors))


class ExponentialLossOfBoosting(Claim[BoostedRun]):
    """After every round of adaptive boosting by rules h_s of weighted errors e_s, weighted by
    a_s = 1/2 log((1 - e_s)/e_s), the mean of exp(-y_i sum of a_s h_s(x_i)) over the training rows is

        product of 2 sqrt(e_s (1 - e_s)).
    """

    title = "The exponential loss of boosting"
    source = _SOURCE
    population = BoostedRuns()
    relation = Equal()
    control = Control(
        "the product of exp(-2 (1/2 - e)²)",
        lambda loss, problem: jnp.asarray(np.cumprod(np.exp(-2 * (0.5 - problem.errors) ** 2))),
    )
    controls = "the loss that boosting descends on"
    unexplained = "other losses, which have no closed step"
    traced = False

    def predict(self, problem: BoostedRun) -> Array:
        return jnp.asarray(np.cumprod(2 * np.sqrt(problem.errors * (1 - problem.errors))))

    def measure(self, problem: BoostedRun, key: Key[Array, ""]) -> Array:
        """Over the rows."""
        return jnp.asarray(np.exp(-problem.margins).mean(axis=1))

    def condition(self, problem: BoostedRun) -> Array:
        """Weights are multiplied round after round."""
        return jnp.asarray(10.0 * problem.votes.size)


class SmallMarginsOfBoosting(Claim[BoostedRun]):
    """After t rounds of adaptive boosting the share of training rows whose margin, the class times the weighted votes
    over the sum of the weights, is at most m = 0.1 is at most

        product of 2 sqrt(e_s^(1 - m) (1 - e_s)^(1 + m))   (Schapire and others).
    """

    title = "Small margins of boosting"
    source = _SOURCE
    population = BoostedRuns()
    relation = AtMost()
    control = Control("a quarter of it", lambda bound, problem: bound / 4)
    controls = "how sure the weighted votes are on training rows"
    unexplained = "the error on new rows"
    traced = False

    def predict(self, problem: BoostedRun) -> Array:
        e = problem.errors
        return jnp.asarray(np.cumprod(2 * np.sqrt(e ** (1 - _MARGIN) * (1 - e) ** (1 + _MARGIN))))

    def measure(self, problem: BoostedRun, key: Key[Array, ""]) -> Array:
        """Of all rounds."""
        return jnp.asarray((problem.margins <= _MARGIN * np.cumsum(problem.weights)[:, None]).mean(axis=1))

    def trivial(self, problem: BoostedRun) -> Array:
        """All of them."""
        return jnp.ones(len(problem.errors))
