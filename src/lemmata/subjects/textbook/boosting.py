"""AdaBoost: classifiers that are slightly better than chance, weighted so that their training error vanishes.

The theory bounds the training error after every round by the weighted errors of the rules (the classifiers that it
combines). The theory does not bound the error on new rows. The theory does not treat rows with wrong labels, whose
weights grow in every round.
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
    """Let e_1, ..., e_t be the weighted errors of the rules that AdaBoost (adaptive boosting) chooses in its first t
    rounds. After every round t, the fraction of training rows that the combined rule misclassifies is at most

        product of 2 sqrt(e_s (1 - e_s))   (Freund and Schapire),

    where the product is over the rounds s = 1, ..., t.
    """

    title = "The training error of AdaBoost is at most the product of 2 sqrt(e (1 - e)) over the weighted errors e"
    source = _SOURCE
    population = BoostedRuns()
    relation = AtMost()
    control = Control(
        "the training error is at most a third of the bound",
        lambda bound, problem: bound / 3,
        loose="after some rounds all training rows are classified correctly, while the bound is far above 0",
    )
    controls = "the training error after every round"
    unexplained = "the error on new rows"
    traced = False

    def predict(self, problem: BoostedRun) -> Array:
        return jnp.asarray(np.cumprod(2 * np.sqrt(problem.errors * (1 - problem.errors))))

    def measure(self, problem: BoostedRun, key: Key[Array, ""]) -> Array:
        """The fraction of rows for which the rules' weighted vote differs in sign from the class, after each round."""
        return jnp.asarray((problem.margins <= 0).mean(axis=1))

    def trivial(self, problem: BoostedRun) -> Array:
        """Return the fraction 1, that is, all rows."""
        return jnp.ones(len(problem.errors))


class ExponentialLossOfBoosting(Claim[BoostedRun]):
    """Let h_s be the rule that AdaBoost (adaptive boosting) chooses in round s. Let e_s be the weighted error of this
    rule, and a_s = 1/2 log((1 - e_s)/e_s) the weight of this rule. Let x_i be training row i, and y_i its class, -1 or
    1. After every round, the mean of exp(-y_i sum of a_s h_s(x_i)) over the training rows is

        product of 2 sqrt(e_s (1 - e_s)).

    The sum and the product are over the rounds so far.
    """

    title = "The mean exponential loss of AdaBoost is a product over the rounds"
    source = _SOURCE
    population = BoostedRuns()
    relation = Equal()
    control = Control(
        "the mean is the product of exp(-2 (1/2 - e)²)",
        lambda loss, problem: jnp.asarray(np.cumprod(np.exp(-2 * (0.5 - problem.errors) ** 2))),
    )
    controls = "the loss that AdaBoost minimises step by step"
    unexplained = "other losses, for which the step has no closed form"
    traced = False

    def predict(self, problem: BoostedRun) -> Array:
        return jnp.asarray(np.cumprod(2 * np.sqrt(problem.errors * (1 - problem.errors))))

    def measure(self, problem: BoostedRun, key: Key[Array, ""]) -> Array:
        """The mean exponential loss over the rows, after each round."""
        return jnp.asarray(np.exp(-problem.margins).mean(axis=1))

    def condition(self, problem: BoostedRun) -> Array:
        """Return the condition number of weights that are multiplied round after round."""
        return jnp.asarray(10.0 * problem.votes.size)


class SmallMarginsOfBoosting(Claim[BoostedRun]):
    """Let e_s be the weighted error of the rule that AdaBoost (adaptive boosting) chooses in round s. Each training row
    has the class -1 or 1. The margin of a row is its class times the weighted vote of the rules, divided by the sum of
    the weights of the rules. After t rounds, the fraction of training rows with a margin of at most m = 0.1 is at most

        product of 2 sqrt(e_s^(1 - m) (1 - e_s)^(1 + m))   (Schapire and others),

    where the product is over the rounds s = 1, ..., t.
    """

    title = "In AdaBoost, the fraction of training rows with a small margin is at most a product over the rounds"
    source = _SOURCE
    population = BoostedRuns()
    relation = AtMost()
    control = Control("the fraction is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "how large the margins of training rows are"
    unexplained = "the error on new rows"
    traced = False

    def predict(self, problem: BoostedRun) -> Array:
        e = problem.errors
        return jnp.asarray(np.cumprod(2 * np.sqrt(e ** (1 - _MARGIN) * (1 - e) ** (1 + _MARGIN))))

    def measure(self, problem: BoostedRun, key: Key[Array, ""]) -> Array:
        """The fraction of rows with a small margin, after each round."""
        return jnp.asarray((problem.margins <= _MARGIN * np.cumsum(problem.weights)[:, None]).mean(axis=1))

    def trivial(self, problem: BoostedRun) -> Array:
        """Return the fraction 1, that is, all rows."""
        return jnp.ones(len(problem.errors))
