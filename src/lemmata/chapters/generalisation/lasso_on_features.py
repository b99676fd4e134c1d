"""The Lasso over universal features: how long its coefficients are, how well they fit, and their risk.

This theory controls the l_1 norm and the risk of all coefficients whose objective is at most epsilon_opt above that of
the representing coefficients rho*; it assumes a penalty lambda that outweighs misfit and noise. It leaves unexplained
the smaller risk of sparse coefficients: rates below N^(-1/2).
"""

import dataclasses
import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Source, Space
from lemmata.problems._finite_populations import Population as Population
from lemmata.problems._finite_populations import population_hypotheses, population_space, sampled_population

from .uniform_deviation import deviation, deviation_bound

_DELTA = 0.1


def length_bound(
    reference: Float[Array, ""] | float,
    cost: Float[Array, ""] | float,
    penalty: Float[Array, ""] | float,
    excess: Float[Array, "*c"] | float,
) -> Float[Array, "*c"]:
    """4 |rho*|_1 + C_F + 4 epsilon_opt/lambda (li2025incontext, inequality 88).

    Args:
        reference: |rho*|_1.
        cost: C_F.
        penalty: lambda.
        excess: epsilon_opt.
    """
    return 4 * reference + cost + 4 * jnp.asarray(excess) / penalty


def least_penalty(
    misfit: Float[Array, ""] | float, correlation: Float[Array, ""] | float, cost: Float[Array, ""] | float
) -> Float[Array, ""]:
    """4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf: the penalty above which coefficients are short.

    This is li2025incontext, condition (87), with the constants of (84).

    Args:
        misfit: mean (f - phi rho*)² over the examples, or epsilon_dis².
        correlation: |mean z phi|_inf, or a bound of it.
        cost: C_F.
    """
    return 4 * jnp.asarray(misfit) / cost + 16 * jnp.asarray(correlation)


class AbstractEstimateClaim(Claim[Population]):
    """Statements about five estimates, each with its own epsilon_opt."""

    relation = AtMost()
    controls = "coefficients whose objective is nearly as small as that of rho*"
    unexplained = "the smaller risk of sparse coefficients"
    problem = Population
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, the class and the noise."""
        return population_space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Population:
        """A population of 64 inputs, with the least penalty that is allowed."""
        drawn = sampled_population(setting, key)
        return dataclasses.replace(drawn, penalty=_least(drawn))

    def hypotheses(self, problem: Population) -> list[Hypothesis]:
        """Bounded features, independent examples, a penalty that is large enough."""
        why = "misfit and noise do not pay for long coefficients"
        enough = Hypothesis("the penalty is large enough", problem.penalty, ">=", _least(problem), why)
        return [*population_hypotheses(problem), enough]


def _least(problem: Population) -> Array:
    """The least penalty for the misfit and the noise of the examples."""
    correlation = jnp.abs(problem.noise @ problem.prompt).max() / problem.examples
    return least_penalty(jnp.mean(problem.misfit[problem.chosen] ** 2), correlation, problem.cost)


def _likely(problem: Population) -> Array:
    """The least penalty that is enough with probability 1 - delta."""
    number = problem.features.shape[1] - 1
    correlation = math.sqrt(2) * problem.sigma * deviation(number, problem.examples, _DELTA)
    return least_penalty(problem.discretisation**2, correlation, problem.cost)


class LengthOfEstimates(AbstractEstimateClaim):
    """If lambda >= 4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf and l(rho) <= l(rho*) + epsilon_opt, then

        |rho|_1 <= 4 |rho*|_1 + C_F + 4 epsilon_opt/lambda.

    Along two equal features the objective is lambda |rho|_1, which needs the last term.
    """

    title = "Good objectives have short coefficients"
    source = Source("li2025incontext", "Lemma 2", "(37)", note="with the constants of (88)")

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        return length_bound(jnp.abs(problem.reference).sum(), problem.cost, problem.penalty, problem.excess)

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """|rho|_1."""
        return jnp.abs(problem.estimates).sum(axis=1)

    def control(self) -> Control:
        """Without the factor 4."""

        def half(bound: Array, problem: Population) -> Array:
            return bound - 7 / 2 * problem.excess / problem.penalty

        return Control("epsilon_opt/(2 lambda) is enough", half)


class FitOfEstimates(AbstractEstimateClaim):
    """If l(rho) <= l(rho*) + epsilon_opt, then

        mean (y - phi rho)² <= mean z² + mean r² + 2 mean z r + lambda |rho*|_1 + epsilon_opt,   r = f - phi rho*.

    The misfit of rho* and the penalty on it are the price of coefficients that are short.
    """

    title = "The fit of coefficients with a good objective"
    source = Source("li2025incontext", "(90)", note="proof of Lemma 2")

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        misfit, noise = problem.misfit[problem.chosen], problem.noise
        known = jnp.mean(noise**2) + jnp.mean(misfit**2) + 2 * jnp.mean(noise * misfit)
        return known + problem.penalty * jnp.abs(problem.reference).sum() + problem.excess

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """The fit."""
        return problem.fits()

    def control(self) -> Control:
        """What least squares obey."""

        def best(bound: Array, problem: Population) -> Array:
            return jnp.full_like(bound, jnp.mean(problem.noise**2))

        return Control("they fit as well as the function itself", best)


class RiskOfEstimates(AbstractEstimateClaim):
    """At a penalty of at least 4 epsilon²/C_F + 16 sigma sqrt(2 u/N), with probability at least 0.9, for every rho with
    l(rho) <= l(rho*) + epsilon_opt,

        E (phi rho - f)² <= epsilon² + sigma epsilon sqrt(8 u/N) + lambda |rho*|_1 + epsilon_opt + D(|rho - rho*|_1),

    |rho - rho*|_1 <= 5 |rho*|_1 + C_F + 4 epsilon_opt/lambda, where epsilon is the largest |f - phi rho*| and D the
    uniform deviation of fit and risk, u = log(((n+1)(n+6) + 4)/0.1). The bound is beyond the risk of
    predicting 0 until N is of the order of C_F^4.
    """

    title = "The risk of coefficients with a good objective"
    source = Source("li2025incontext", "Lemma 2", "(36)", note="with constants")
    relation = AtMost(_DELTA)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Population:
        """A population of 64 inputs, with the least penalty that is allowed."""
        drawn = sampled_population(setting, key)
        return dataclasses.replace(drawn, penalty=_likely(drawn))

    def hypotheses(self, problem: Population) -> list[Hypothesis]:
        """Bounded features, independent examples, a penalty that is large enough."""
        why = "with probability 1 - delta misfit and noise do not pay for long coefficients"
        enough = Hypothesis("the penalty is large enough", problem.penalty, ">=", _likely(problem), why)
        return [*population_hypotheses(problem), enough]

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        number, size = problem.features.shape[1] - 1, jnp.abs(problem.reference).sum()
        length = length_bound(size, problem.cost, problem.penalty, problem.excess)
        known = (problem.discretisation, problem.sigma, number, problem.examples, _DELTA)
        noise = problem.sigma * math.sqrt(8) * deviation(number, problem.examples, _DELTA)
        fit = problem.discretisation**2 + noise * problem.discretisation + problem.penalty * size + problem.excess
        return fit + deviation_bound(length + size, *known)

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """The risk on the population."""
        return problem.risks()

    def trivial(self, problem: Population) -> Array:
        """The risk of predicting 0."""
        return jnp.full(len(problem.estimates), jnp.mean(problem.values**2))

    def control(self) -> Control:
        """What the best coefficients of all might attain."""

        def best(bound: Array, problem: Population) -> Array:
            return problem.discretisation**2 / problem.examples + problem.excess

        return Control("the risk is at most epsilon²/N + epsilon_opt", best)
