"""The risk of the transformer in context: the bound of Theorem 1, its parameter choices, and what is measured.

This theory controls the mean squared error of the constructed transformer by sqrt(log N/N) + n/L + log|cover|/n, up to
a constant and C_F (C_F + sigma); it assumes a class of finite C_F and inputs in the unit ball. It leaves unexplained
why the risk is so much smaller: with the constant 1 the bound exceeds the risk of predicting 0 on most classes until N
is of the order of C_F^4 over the square of the target error.
"""

import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Real, Source, Space
from lemmata.functions import Cosines, CosineSum, barron_parameter, features_of, log_pair_cover
from lemmata.networks import InContextTransformer
from lemmata.problems._prompts import FAMILY, Prompt, sampled_prompt
from lemmata.problems._proximal_runs import bounded
from lemmata.problems._sampled import draws, points_in_ball

from ._risks import Choices as Choices
from ._risks import Risks as Risks
from ._risks import measured_risks as measured_risks
from ._risks import parameter_choices as parameter_choices
from ._risks import penalty_of_theory as penalty_of_theory
from ._risks import theorem_risk as theorem_risk


class RiskBelowTheBound(Claim[Prompt]):
    """With the hidden constant 1 the risk is at most (sqrt(log N/N) + n/L) C_F (C_F + sigma) + C_F² log|cover|/n.

    log |cover| is d log(1 + 4/epsilon) + log(1 + 2/epsilon), which bounds every cover of pairs of an input and a value
    (23), with epsilon = sqrt(log N/N) + n/L; the penalty is a hundredth of (58a). At these sizes the bound is hundreds
    of times the risk, and beyond that of predicting 0.
    """

    title = "The risk is below the bound of Theorem 1"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="with the constant 1")
    relation = AtMost()
    label = "upper"
    controls = "the mean squared error of the transformer's predictions"
    unexplained = "why the risk is so much smaller"
    problem = Prompt
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, the class and the noise."""
        n, examples, steps = Integer(16, 2, 64, "features"), Integer(32, 4, 128, "examples"), Integer(40, 1, 400, "T")
        noise = Real(0.1, 0.0, 1.0, "standard deviation of the noise")
        return Space(n=n, N=examples, T=steps, family=FAMILY, sigma=noise)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt with 8 queries."""
        sizes = {"n": setting["n"], "examples": setting["N"], "queries": 8, "layers": 2 * setting["T"] + 1}
        drawn = sampled_prompt(key, family=setting["family"], sigma=setting["sigma"], **sizes)
        penalty = penalty_of_theory(barron_parameter(drawn.functions), drawn.sigma, 0.0, **_sizes(drawn), constant=0.01)
        return dataclasses.replace(drawn, model=dataclasses.replace(drawn.model, penalty=penalty))

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """Bounded features and a finite C_F."""
        cost = barron_parameter(problem.functions)
        return [bounded(problem.prompt), Hypothesis("C_F is finite", cost, "<", jnp.inf, "Theorem 1")]

    def predict(self, problem: Prompt) -> Array:
        """The bound."""
        sizes = _sizes(problem)
        order = math.sqrt(math.log(sizes["examples"]) / sizes["examples"]) + sizes["number"] / sizes["layers"]
        cover = log_pair_cover(problem.x.shape[1], order)
        return theorem_risk(barron_parameter(problem.functions), problem.sigma, cover, **sizes)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The mean over the queries."""
        found = problem.model(problem.x, problem.y, problem.queries)
        return jnp.mean((found - problem.function(problem.queries)) ** 2)

    def trivial(self, problem: Prompt) -> Array:
        """The risk of predicting 0."""
        return jnp.mean(problem.function(problem.queries) ** 2)

    def control(self) -> Control:
        """A small constant."""
        return Control("the constant is 1/1000", lambda bound, problem: bound / 1000)


def _sizes(problem: Prompt) -> dict[str, int]:
    """N, L and n of a prompt's transformer."""
    number = len(problem.model.features.thresholds)
    return {"examples": len(problem.y), "layers": problem.model.layers, "number": number}


class RiskAtTheChoices(Claim[Prompt]):
    """With D - d = C_F² log|cover|/error, N = C_F² (C_F + sigma)²/error², L = (D - d) C_F (C_F + sigma)/error and the
    penalty (58a), all hidden constants 1, the risk is at most the target error.

    The class is one slow cosine in one dimension, whose C_F is small enough for a target below the size of f.
    """

    title = "The sizes of the theorem reach the target error"
    source = Source("li2025incontext", "(25a)", "(25b)", "(25c)")
    relation = AtMost()
    label = "upper"
    controls = "the mean squared error of the transformer's predictions"
    unexplained = "why fewer examples, features and layers do as well"
    problem = Prompt
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """The target, the frequency and the noise."""
        error, frequency = Real(0.2, 0.1, 10.0, "target error"), Real(0.25, 0.01, 2.0, "|omega|")
        return Space(error=error, frequency=frequency, sigma=Real(0.1, 0.0, 1.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A cosine of amplitude 1 and any phase."""
        cost, noise = 1 + setting["frequency"], setting["sigma"]
        inverse = cost * (cost + noise) / setting["error"]
        cover = log_pair_cover(1, 1 / inverse)
        number, examples, layers = parameter_choices(setting["error"], cost, noise, cover)
        functions = Cosines(jnp.full((1, 1), setting["frequency"]), jnp.ones(1))
        phase, omega, points, normal = draws(key, (1,), (number, 2), (examples + 16, 2), (examples,))
        angle = 2 * jnp.pi * jax.scipy.stats.norm.cdf(phase)
        function = CosineSum(functions.atoms, functions.sizes, jnp.ones(1), angle)
        penalty = penalty_of_theory(cost, noise, 0.0, examples=examples, layers=layers, number=number)
        model = InContextTransformer(
            features_of(functions, omega, 16.0), penalty, jnp.asarray(1 / (2 * (number + 1)), float),
            jnp.asarray(1e4), layers, examples,
        )  # fmt: skip
        x = points_in_ball(points)
        return Prompt(functions, function, model, x[:examples], noise * normal, x[examples:], jnp.asarray(noise, float))

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """Bounded features."""
        return [bounded(problem.prompt)]

    def predict(self, problem: Prompt) -> Array:
        """The target, from the number of examples."""
        cost = barron_parameter(problem.functions)
        return cost * (cost + problem.sigma) / jnp.sqrt(len(problem.y))

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The mean over 16 queries."""
        found = problem.model(problem.x, problem.y, problem.queries)
        return jnp.mean((found - problem.function(problem.queries)) ** 2)

    def trivial(self, problem: Prompt) -> Array:
        """The risk of predicting 0."""
        return jnp.mean(problem.function(problem.queries) ** 2)

    def control(self) -> Control:
        """A smaller target with the same sizes."""
        return Control("a quarter of the target is reached", lambda error, problem: error / 4)
