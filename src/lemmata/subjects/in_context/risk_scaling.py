"""How the risk in context scales with the numbers of examples, layers and features, each alone and all together.

The theory gives the orders of the three terms of Theorem 1 of li2025incontext: sqrt(log N/N), n/L and log|cover|/n,
with N examples, n features and L layers. Here |cover| is the size of a cover of all pairs (input, value). These orders
are upper bounds, so only a slower decay refutes them. For each term, the theory assumes that the other terms are small.
It leaves open why the risk falls faster than these orders.
"""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Rate, Source
from lemmata.engine.problems.prompts import Prompt, Prompts
from lemmata.engine.problems.theorem_sizes import penalty_of_theory
from lemmata.functions import barron_parameter, log_pair_cover
from lemmata.networks import forward_steps
from lemmata.solvers import accelerated_proximal_gradient

from .risk_bound import theorem_risk

ABOUT = {"tool": "statistics", "architecture": "transformer in context", "object": "generalisation"}

_EXAMPLES = (14.0, 42.0, 126.0)
_LAYERS = (65.0, 129.0, 257.0, 513.0)
_NUMBERS = (7.0, 21.0, 63.0)
_SCALES = (1.0, 2**0.75, 2**1.5)


def predictions(problem: Prompt, examples: int, number: int, **changes: Any) -> Float[Array, "t m"]:
    """Return the transformer's predictions at the queries after each step, from the first examples and features.

    Args:
        problem: a prompt of the largest sizes.
        examples: how many of the examples are used, N.
        number: how many of the features are used, n.
        changes: values for other fields of the transformer.
    """
    chosen = jnp.append(jnp.arange(number), len(problem.model.features.thresholds))
    prompt, asked = problem.prompt[:examples, chosen], problem.model.features(problem.queries)[:, chosen]
    step = jnp.asarray(1 / (2 * (number + 1)), float)
    model = dataclasses.replace(problem.model, examples=examples, step=step, **changes)
    return forward_steps(model, prompt, problem.y[:examples], asked)[1]


def _errors(problem: Prompt, found: Float[Array, "*t m"]) -> Float[Array, "*t"]:
    """Return the mean squared difference of predictions from the function at the queries."""
    return jnp.mean((found - problem.function(problem.queries)) ** 2, axis=-1)


def _sizes(scale: float) -> tuple[int, int, int]:
    """Return the sizes N = 16 s², n = 8 s and L = 32 s² + 1 for the scale s."""
    return round(16 * scale**2), round(8 * scale), 2 * round(16 * scale**2) + 1


class AbstractRiskClaim(Claim[Prompt]):
    """Base of claims on the order of one term of the theorem, if the other terms are small."""

    controls = "the mean squared error of the transformer's predictions"
    unexplained = "why the risk falls faster than the bound"
    trials = 128


class RiskAgainstExamples(AbstractRiskClaim):
    """Let the layers of a transformer solve a Lasso over features of a prompt's examples. Let the transformer have
    enough features and layers, and a hundredth of the theory's penalty. Its mean squared error in context falls at
    least like sqrt(log N/N) in the number N of examples. So the risk divided by sqrt(log N/N) does not grow.
    """

    title = "The risk of a transformer that solves a Lasso falls at least like sqrt(log N/N) in its N examples"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="the order in N")
    population = Prompts(
        free=("n", "T", "family", "sigma"), N=int(_EXAMPLES[-1]), T=100, family="networks", sigma=0.5, queries=8
    )
    relation = Rate("N", _EXAMPLES, upper=True)
    control = Control("the risk falls like (log N/N)^(1/2)/sqrt(N)", lambda exponent, problem: exponent - 0.5)
    predict = 0.0

    def measure_at(self, problem: Prompt, key: Key[Array, ""], rung: float) -> Array:
        size, number, cost = int(rung), problem.prompt.shape[1] - 1, barron_parameter(problem.functions)
        sizes = {"examples": size, "layers": problem.model.layers, "number": number}
        penalty = penalty_of_theory(cost, problem.sigma, 0.0, **sizes, constant=0.01)
        predicted = predictions(problem, size, number, penalty=penalty)[-1]
        return _errors(problem, predicted) / math.sqrt(math.log(size) / size)


class RiskAgainstLayers(AbstractRiskClaim):
    """The layers of a transformer take steps of proximal gradient on a Lasso over features of a prompt's examples. Let
    y_L be the predictions of this transformer with L layers, and let y_infinity be the predictions of the Lasso. The
    error that is due to the finite number L of layers falls at least like 1/L,

        E (y_L - y_infinity)² = O(1/L),

    where E is the mean over queries.
    """

    title = "The error that a finite depth L adds to a transformer built for the Lasso falls at least like 1/L"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="the order in L")
    population = Prompts(N=64, T=(int(_LAYERS[-1]) - 1) // 2, queries=4)
    relation = Rate("L", _LAYERS, upper=True)
    control = Control(
        "the added error falls like 1/L²",
        lambda exponent, problem: exponent - 1,
        loose="single prompts converge linearly, so the mean slope is near -1.4",
    )
    trials = 64
    predict = -1.0

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return, for each L, the difference from the Lasso's predictions, which 4000 accelerated steps find."""
        found = predictions(problem, len(problem.y), problem.prompt.shape[1] - 1)
        known = (problem.prompt, problem.y, problem.model.penalty, problem.model.step)
        lasso = problem.model.features(problem.queries) @ accelerated_proximal_gradient(*known, 4000)[-1]
        after = (jnp.asarray(_LAYERS).astype(int) - 1) // 2 - 1
        return jnp.mean((found[after] - lasso) ** 2, axis=1)


class RiskAgainstFeatures(AbstractRiskClaim):
    """Let the layers of a transformer solve a Lasso over n random universal features of a prompt's examples. Let the
    transformer have enough layers, and let the examples have no noise. The mean squared error of the transformer in
    context falls at least like 1/n. The transformer uses momentum, so that 100 steps are enough.
    """

    title = "The risk of a transformer that solves a Lasso falls at least like 1/n in the number n of its features"
    source = Source("li2025incontext", "Theorem 1", "(24)", note="the order in n")
    population = Prompts(
        free=("N", "T", "family"), n=int(_NUMBERS[-1]), N=96, T=100, family="networks", sigma=0.0, queries=8,
        penalty=1e-4, accelerated=True,
    )  # fmt: skip
    relation = Rate("n", _NUMBERS, upper=True)
    control = Control("the risk falls like n^(-3/2)", lambda exponent, problem: exponent - 0.5)
    predict = -1.0

    def measure_at(self, problem: Prompt, key: Key[Array, ""], rung: float) -> Array:
        return _errors(problem, predictions(problem, len(problem.y), int(rung))[-1])


class RiskAlongTheChoices(AbstractRiskClaim):
    """Let the L layers of a transformer solve a Lasso over n features of a prompt's N examples, with a hundredth of the
    theory's penalty. Let N = 16 s², n = 8 s and L = 32 s² + 1. These sizes grow with s as Theorem 1 of the source
    requires for an error of 1/s. Let C_F be the Barron parameter of the class of functions, and let sigma be the
    standard deviation of the noise. Let |cover| be the size of a cover of all pairs (input, value) at distance 1/s. The
    mean squared error of the transformer in context falls at least like the bound

        (sqrt(log N/N) + n/L) C_F (C_F + sigma) + C_F² log|cover|/n.

    That is, this error divided by the bound does not grow with s.
    """

    title = "The risk of a transformer built for the Lasso falls at least like its bound when all sizes grow together"
    source = Source("li2025incontext", "Theorem 1", "(24)", "(66)", note="with the choices (25)")
    population = Prompts(
        free=("family", "sigma"), N=_sizes(_SCALES[-1])[0], n=_sizes(_SCALES[-1])[1], T=_sizes(_SCALES[-1])[2] // 2,
        family="networks", sigma=0.3, queries=8,
    )  # fmt: skip
    relation = Rate("s", _SCALES, upper=True)
    control = Control(
        "the risk falls like the bound divided by s^(3/2)",
        lambda exponent, problem: exponent - 1.5,
        loose="the risk falls faster than the bound, like the bound divided by s^(3/4)",
    )
    predict = 0.0

    def measure_at(self, problem: Prompt, key: Key[Array, ""], rung: float) -> Array:
        """Return the risk divided by the bound, with a hundredth of the penalty of the theory."""
        cost, (examples, number, layers) = barron_parameter(problem.functions), _sizes(rung)
        sizes = {"examples": examples, "layers": layers, "number": number}
        cover = log_pair_cover(problem.x.shape[1], 1 / rung)
        penalty = penalty_of_theory(cost, problem.sigma, 0.0, **sizes, constant=0.01)
        predicted = predictions(problem, examples, number, layers=layers, penalty=penalty)[-1]
        return _errors(problem, predicted) / theorem_risk(cost, problem.sigma, cover, **sizes)
