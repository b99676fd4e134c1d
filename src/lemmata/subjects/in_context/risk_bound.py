"""The risk of the in-context transformer: the bound of Theorem 1, its choices of sizes, and the measured risk.

The theory (li2025incontext) bounds the mean squared error of the constructed transformer by a sum of three terms:
sqrt(log N/N), n/L and log|cover|/n. Here N is the number of examples, n the number of features, L the number of layers
and |cover| the size of a cover of all pairs (input, value). Each term has a constant factor, and a factor
C_F (C_F + sigma) or C_F², where C_F is the Barron parameter of the class and sigma the standard deviation of the noise.
The theory assumes a class of finite C_F and inputs in the unit ball. It leaves open why the risk is so much smaller
than the bound. With the constant 1, the bound exceeds the risk of predicting 0 on most classes. To bound the risk by a
target error, N must be at least of the order of C_F^4 divided by the square of this error.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source, Status
from lemmata.engine.problems.prompts import ChosenSizes, Prompt, Prompts, prompt_sizes
from lemmata.engine.problems.theorem_sizes import Choices as Choices
from lemmata.engine.problems.theorem_sizes import parameter_choices as parameter_choices
from lemmata.engine.problems.theorem_sizes import penalty_of_theory as penalty_of_theory
from lemmata.functions import barron_parameter, log_pair_cover

from ._risks import Risks as Risks
from ._risks import measured_risks as measured_risks
from ._risks import theorem_risk as theorem_risk

ABOUT = {"tool": "statistics", "architecture": "transformer in context", "object": "generalisation", "problem": 2}


class AbstractRiskClaim(Claim[Prompt]):
    """Base of claims on the mean squared error of the transformer's predictions at the queries of a prompt."""

    relation = AtMost()
    controls = "the mean squared error of the transformer's predictions"

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        found = problem.model(problem.x, problem.y, problem.queries)
        return jnp.mean((found - problem.function(problem.queries)) ** 2)

    def trivial(self, problem: Prompt) -> Array:
        """Return the smaller of two mean squared errors: of predicting 0, and of predicting the best constant."""
        values = problem.function(problem.queries)
        return jnp.minimum(jnp.mean(values**2), jnp.var(values))


class RiskBelowTheBound(AbstractRiskClaim):
    """Let a transformer of L layers and n random features read N examples of a function f in d dimensions, with noise
    of standard deviation sigma. Its layers solve a Lasso over these features. Let C_F be the Barron parameter of the
    class of f. Let |cover| be the size of a cover of all pairs (input, value). Theorem 1 of the source bounds the mean
    squared error, up to a constant that it does not state. Suppose that this constant is 1. The mean squared error E
    (f(x) - y_hat(x))² of the prediction y_hat is then at most

        (sqrt(log N/N) + n/L) C_F (C_F + sigma) + C_F² log|cover|/n.

    The test replaces log|cover| by its upper bound d log(1 + 4/epsilon) + log(1 + 2/epsilon), where epsilon = sqrt(log
    N/N) + n/L. The penalty of the Lasso is a hundredth of the theory's penalty. At the tested sizes the bound is
    hundreds of times the risk.
    """

    title = "The error of an in-context transformer that solves a Lasso is below its theorem's bound with constant 1"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="with the constant 1")
    population = Prompts(free=("n", "N", "T", "family", "sigma"), T=40, queries=8, of_theory=0.01)
    control = Control(
        "the constant is 1/1000", lambda bound, problem: bound / 1000,
        loose="the bound is hundreds of times the risk, so a control nearer to the bound would not be refuted",
    )  # fmt: skip
    unexplained = "why the risk is so much smaller"
    reading = "the constant hidden in O(.) is 1; the penalty has the constant 1/100"
    expected = Status.VACUOUS

    def predict(self, problem: Prompt) -> Array:
        sizes = prompt_sizes(problem)
        order = math.sqrt(math.log(sizes["examples"]) / sizes["examples"]) + sizes["number"] / sizes["layers"]
        cover = log_pair_cover(problem.x.shape[1], order)
        return theorem_risk(barron_parameter(problem.functions), problem.sigma, cover, **sizes)


class RiskAtTheChoices(AbstractRiskClaim):
    """Let e be a target error, C_F the Barron parameter of the class, and sigma the standard deviation of the noise.
    Let |cover| be the size of a cover of all pairs (input, value). Let a transformer solve a Lasso over features of a
    prompt's examples, with the penalty of the theory. Suppose that all constants that the source does not state are 1.
    Then the transformer has a mean squared error of at most e with n features, N examples and L layers, where

        2 n + 7 = C_F² log|cover|/e,   N = C_F² (C_F + sigma)²/e²,   L = (2 n + 7) C_F (C_F + sigma)/e.

    The test uses a class that consists of one slow cosine in one dimension. In most trials the best constant prediction
    already has a smaller error than e.
    """

    title = "A transformer that solves a Lasso reaches a target error with the features, examples and layers of theory"
    source = Source("li2025incontext", "(25a)", "(25b)", "(25c)")
    population = ChosenSizes()
    control = Control("the error is at most a quarter of the target", lambda error, problem: error / 4)
    unexplained = "why fewer examples, features and layers are also enough"
    reading = "the constants hidden in O(.) are 1"
    expected = Status.VACUOUS

    def predict(self, problem: Prompt) -> Array:
        cost = barron_parameter(problem.functions)
        return cost * (cost + problem.sigma) / jnp.sqrt(len(problem.y))
