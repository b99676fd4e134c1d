"""How the risk in context scales: with examples, layers and features, each alone and all together.

This theory controls the orders of the three terms of Theorem 1, sqrt(log N/N), n/L and log|cover|/n; they are upper
bounds, which slower decay alone refutes. It assumes that the other terms are small; it leaves unexplained why the
risk falls faster.
"""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Choice, Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.functions import barron_parameter, log_pair_cover
from lemmata.networks import forward_steps
from lemmata.problems._prompts import FAMILY, Prompt, sampled_prompt
from lemmata.problems._proximal_runs import bounded
from lemmata.solvers import accelerated_proximal_gradient

from .risk_bound import penalty_of_theory, theorem_risk

_EXAMPLES = (14.0, 42.0, 126.0)
_LAYERS = (65.0, 129.0, 257.0, 513.0)
_NUMBERS = (7.0, 21.0, 63.0)
_SCALES = (1.0, 2**0.75, 2**1.5)


class AbstractRiskClaim(Claim[Prompt]):
    """Statements about the orders of the terms of the theorem, each where the others are small."""

    label = "rate"
    controls = "the mean squared error of the transformer's predictions"
    unexplained = "why the risk falls faster than the bound"
    problem = Prompt
    trials = 128
    batch = 64

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """Bounded features, inputs in the ball, a finite C_F."""
        cost, length = barron_parameter(problem.functions), jnp.linalg.norm(problem.x, axis=1).max()
        return [
            bounded(problem.prompt),
            Hypothesis("inputs lie in the unit ball", length, "<=", 1.0, "the features cover it"),
            Hypothesis("C_F is finite", cost, "<", jnp.inf, "Theorem 1"),
        ]

    def predict(self, problem: Prompt) -> Array:
        """The exponent."""
        return jnp.zeros(())


def predictions(problem: Prompt, examples: int, number: int, **changes: Any) -> Float[Array, "t m"]:
    """Predictions of the transformer at the queries after each step, from the first examples and features.

    Args:
        problem: a prompt of the largest sizes.
        examples: N.
        number: n.
        changes: other fields of the transformer.
    """
    chosen = jnp.append(jnp.arange(number), len(problem.model.features.thresholds))
    prompt, asked = problem.prompt[:examples, chosen], problem.model.features(problem.queries)[:, chosen]
    step = jnp.asarray(1 / (2 * (number + 1)), float)
    model = dataclasses.replace(problem.model, examples=examples, step=step, **changes)
    return forward_steps(model, prompt, problem.y[:examples], asked)[1]


def _errors(problem: Prompt, found: Float[Array, "*t m"]) -> Float[Array, "*t"]:
    """Mean squared difference from the function at the queries."""
    return jnp.mean((found - problem.function(problem.queries)) ** 2, axis=-1)


class RiskAgainstExamples(AbstractRiskClaim):
    """With features and layers enough, the risk falls at least like sqrt(log N/N) in the number of examples: the risk
    over sqrt(log N/N) does not grow. The penalty is a hundredth of lambda = (h/C_F)^(1/3) e^(2/3) + h (C_F + sigma).
    """

    title = "The risk falls like sqrt(log N/N)"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="the order in N")
    relation = Rate("N", _EXAMPLES, upper=True)

    def settings(self) -> Space:
        """Sizes, the class and the noise."""
        noise = Real(0.5, 0.1, 10.0, "standard deviation of the noise")
        family = Choice("networks", FAMILY.options, FAMILY.meaning)
        return Space(n=Integer(16, 2, 64, "features"), T=Integer(100, 1, 400, "steps"), family=family, sigma=noise)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt of the largest size with 8 queries."""
        sizes = {"n": setting["n"], "examples": int(_EXAMPLES[-1]), "queries": 8, "layers": 2 * setting["T"] + 1}
        return sampled_prompt(key, family=setting["family"], sigma=setting["sigma"], **sizes)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The risk over sqrt(log N/N) for each N."""
        found, number, cost = [], problem.prompt.shape[1] - 1, barron_parameter(problem.functions)
        for size in map(int, _EXAMPLES):
            sizes = {"examples": size, "layers": problem.model.layers, "number": number}
            penalty = penalty_of_theory(cost, problem.sigma, 0.0, **sizes, constant=0.01)
            predicted = predictions(problem, size, number, penalty=penalty)[-1]
            found.append(_errors(problem, predicted) / math.sqrt(math.log(size) / size))
        return jnp.stack(found)

    def control(self) -> Control:
        """What a parametric rate without noise would be."""
        return Control("like (log N/N)^(1/2)/N", lambda exponent, problem: exponent - 1)


class RiskAgainstLayers(AbstractRiskClaim):
    """What a finite depth adds to the predictions, E (y_L - y_infinity)², falls at least like 1/L, where y_infinity are
    the predictions of the Lasso that the layers solve.
    """

    title = "What a finite depth adds to the risk falls like 1/L"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="the order in L")
    relation = Rate("L", _LAYERS, upper=True)
    trials = 64

    def settings(self) -> Space:
        """Sizes, the class and the noise."""
        return Space(n=Integer(16, 2, 64, "features"), N=Integer(64, 4, 128, "examples"), family=FAMILY)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt for the deepest transformer with 4 queries."""
        sizes = {"n": setting["n"], "examples": setting["N"], "queries": 4, "layers": int(_LAYERS[-1])}
        return sampled_prompt(key, family=setting["family"], **sizes)

    def predict(self, problem: Prompt) -> Array:
        """The exponent."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The difference from the Lasso's predictions, which 4000 accelerated steps find, for each L."""
        found = predictions(problem, len(problem.y), problem.prompt.shape[1] - 1)
        known = (problem.prompt, problem.y, problem.model.penalty, problem.model.step)
        lasso = problem.model.features(problem.queries) @ accelerated_proximal_gradient(*known, 4000)[-1]
        after = (jnp.asarray(_LAYERS).astype(int) - 1) // 2 - 1
        return jnp.mean((found[after] - lasso) ** 2, axis=1)

    def control(self) -> Control:
        """Far faster."""
        return Control("like L^-4", lambda exponent, problem: exponent - 3)


class RiskAgainstFeatures(AbstractRiskClaim):
    """Where examples have no noise and layers are enough, the risk falls at least like 1/n in the number of universal
    features. The transformer is the one with momentum, so that 100 steps are enough.
    """

    title = "The risk falls like 1/n in the number of features"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="the order in n")
    relation = Rate("n", _NUMBERS, upper=True)

    def settings(self) -> Space:
        """Sizes and the class."""
        family = Choice("networks", FAMILY.options, FAMILY.meaning)
        return Space(N=Integer(96, 64, 256, "examples"), T=Integer(100, 50, 400, "steps"), family=family)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt for the largest number of features, with hardly any penalty, and 8 queries."""
        return sampled_prompt(
            key, family=setting["family"], n=int(_NUMBERS[-1]), examples=setting["N"], queries=8, sigma=0.0,
            layers=2 * setting["T"] + 1, penalty=1e-4, accelerated=True,
        )  # fmt: skip

    def predict(self, problem: Prompt) -> Array:
        """The exponent."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The risk for each n."""
        found = [predictions(problem, len(problem.y), int(number))[-1] for number in _NUMBERS]
        return _errors(problem, jnp.stack(found))

    def control(self) -> Control:
        """Twice the order."""
        return Control("like 1/n²", lambda exponent, problem: exponent - 1)


class RiskAlongTheChoices(AbstractRiskClaim):
    """With N ~ s², n ~ s and L ~ s² examples, features and layers, as (25) has them for an error of 1/s, the risk falls
    at least like the bound of Theorem 1: risk over bound does not grow with s.
    """

    title = "The risk falls like the bound as all sizes grow"
    source = Source("li2025incontext", "Theorem 1", "(24)", "(66)", note="with the choices (25)")
    relation = Rate("s", _SCALES, upper=True)

    def settings(self) -> Space:
        """The class and the noise."""
        family = Choice("networks", FAMILY.options, FAMILY.meaning)
        return Space(family=family, sigma=Real(0.3, 0.0, 10.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt of the largest sizes with 8 queries."""
        examples, number, layers = _sizes(_SCALES[-1])
        return sampled_prompt(
            key, family=setting["family"], n=number, examples=examples, queries=8, sigma=setting["sigma"],
            layers=layers,
        )  # fmt: skip

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The risk over the bound for each s, with a hundredth of the penalty of the theory."""
        found, cost, noise = [], barron_parameter(problem.functions), problem.sigma
        for scale in _SCALES:
            examples, number, layers = _sizes(scale)
            sizes = {"examples": examples, "layers": layers, "number": number}
            cover = log_pair_cover(problem.x.shape[1], 1 / scale)
            penalty = penalty_of_theory(cost, noise, 0.0, **sizes, constant=0.01)
            predicted = predictions(problem, examples, number, layers=layers, penalty=penalty)[-1]
            found.append(_errors(problem, predicted) / theorem_risk(cost, noise, cover, **sizes))
        return jnp.stack(found)

    def control(self) -> Control:
        """The cube of the bound."""
        return Control("like the bound over s²", lambda exponent, problem: exponent - 2)


def _sizes(scale: float) -> tuple[int, int, int]:
    """N = 16 s², n = 8 s, L = 32 s² + 1."""
    return round(16 * scale**2), round(8 * scale), 2 * round(16 * scale**2) + 1
