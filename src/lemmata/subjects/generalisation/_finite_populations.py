"""Examples drawn from finitely many inputs, on which every expectation over the next input is exact."""

import dataclasses
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.prompts import FAMILY, bounded, sampled_prompt
from lemmata.functions import barron_parameter, representing_coefficients
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective

DELTA = 0.1


class FinitePopulation(eqx.Module):
    """Features and values of one function on all M inputs, N of them drawn with replacement as examples, and estimates.

    Args:
        features: phi at each input of the population.
        values: f there.
        chosen: which inputs the examples have.
        noise: z.
        sigma: the standard deviation of the noise.
        reference: rho*.
        penalty: lambda.
        cost: C_F.
        estimates: any coefficients, which may depend on the examples.
    """

    features: Float[Array, "M p"]
    values: Float[Array, " M"]
    chosen: Int[Array, " N"]
    noise: Float[Array, " N"]
    sigma: Float[Array, ""]
    reference: Float[Array, " p"]
    penalty: Float[Array, ""]
    cost: Float[Array, ""]
    estimates: Float[Array, "c p"]

    @property
    def examples(self) -> int:
        """N."""
        return len(self.noise)

    @property
    def misfit(self) -> Float[Array, " M"]:
        """F - phi rho* at each input of the population."""
        return self.values - self.features @ self.reference

    @property
    def discretisation(self) -> Float[Array, ""]:
        """epsilon_dis: the largest misfit."""
        return jnp.abs(self.misfit).max()

    @property
    def y(self) -> Float[Array, " N"]:
        """f(x_i) + z_i."""
        return self.values[self.chosen] + self.noise

    @property
    def prompt(self) -> Float[Array, "N p"]:
        """Features of the examples."""
        return self.features[self.chosen]

    @property
    def distances(self) -> Float[Array, " c"]:
        """|rho - rho*|_1 of each estimate."""
        return jnp.abs(self.estimates - self.reference).sum(axis=1)

    @property
    def excess(self) -> Float[Array, " c"]:
        """epsilon_opt: by how much the objective at each estimate is above that at rho*, at least 0."""
        objective = lambda rho: lasso_objective(self.prompt, self.y, self.penalty, rho)
        return jnp.maximum(objective(self.estimates) - objective(self.reference), 0.0)

    def risks(self) -> Float[Array, " c"]:
        """E (f(x) - phi rho)² over the next input, for each estimate."""
        return jnp.mean((self.values - self.estimates @ self.features.T) ** 2, axis=1)

    def fits(self) -> Float[Array, " c"]:
        """Mean of (y_i - phi_i rho)² over the examples, for each estimate."""
        return jnp.mean((self.y - self.estimates @ self.prompt.T) ** 2, axis=1)


def sampled_population(setting: dict, key: Key[Array, ""], inputs: int = 64, level: float = 0.1) -> FinitePopulation:
    """A population of inputs in the unit ball of 2 dimensions and five estimates.

    The estimates are these: the Lasso by 100 accelerated steps; least squares with a very small penalty, also by 100
    steps; rho* moved by 3 along the feature that correlates most with the noise; rho* moved by 100 along the feature
    whose second moment is estimated worst; and rho* moved by 100 to the largest feature and back by the constant.

    Args:
        setting: n, N, family and sigma.
        key: randomness.
        inputs: M.
        level: the penalty, relative to sigma.
    """
    family, n, examples = setting["family"], setting["n"], setting["N"]
    drawn = sampled_prompt(key, family=family, n=n, examples=examples, queries=inputs, sigma=setting["sigma"])
    features, values = drawn.model.features(drawn.queries), drawn.function(drawn.queries)
    chosen = jnp.minimum((jnp.sum(drawn.x**2, axis=1) * inputs).astype(int), inputs - 1)
    prompt, y = features[chosen], values[chosen] + drawn.noise
    reference = representing_coefficients(drawn.functions, drawn.model.features, drawn.function)
    penalty = jnp.asarray(level * setting["sigma"], float)
    descended = lambda weight: accelerated_proximal_gradient(prompt, y, weight, 1 / (2 * (n + 1)), 100)[-1]
    unit = lambda index: jnp.zeros(n + 1).at[index].set(1.0)
    along, second = drawn.noise @ prompt, jnp.mean(prompt**2, axis=0) - jnp.mean(features**2, axis=0)
    steepest, largest = jnp.argmax(jnp.abs(along)), jnp.argmax(jnp.mean(prompt, axis=0)[:-1])
    moves = jnp.stack([
        3 * jnp.sign(along[steepest]) * unit(steepest), 100 * unit(jnp.argmax(jnp.abs(second))),
        100 * (unit(largest) - unit(n)),
    ])  # fmt: skip
    estimates = jnp.concatenate([jax.vmap(descended)(jnp.stack([penalty, penalty / 1000])), reference + moves])
    return FinitePopulation(
        features, values, chosen, drawn.noise, drawn.sigma, reference, penalty, barron_parameter(drawn.functions),
        estimates,
    )  # fmt: skip


def deviation(number: int, examples: int, delta: float) -> float:
    """sqrt(u/N) with u = log(((n+1)(n+6) + 4)/delta).

    Args:
        number: n.
        examples: N.
        delta: the probability that one of the means deviates further.
    """
    return math.sqrt(math.log(((number + 1) * (number + 6) + 4) / delta) / examples)


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


def sufficient_penalty(problem: FinitePopulation) -> Float[Array, ""]:
    """The least penalty for the misfit and the noise of the examples.

    Args:
        problem: examples of a finite population.
    """
    correlation = jnp.abs(problem.noise @ problem.prompt).max() / problem.examples
    return least_penalty(jnp.mean(problem.misfit[problem.chosen] ** 2), correlation, problem.cost)


def likely_penalty(problem: FinitePopulation) -> Float[Array, ""]:
    """The least penalty that is enough with probability 0.9.

    Args:
        problem: examples of a finite population.
    """
    number = problem.features.shape[1] - 1
    correlation = math.sqrt(2) * problem.sigma * deviation(number, problem.examples, DELTA)
    return least_penalty(problem.discretisation**2, correlation, problem.cost)


class FinitePopulations(Population[FinitePopulation]):
    """Examples of a population of 64 inputs, and five estimates that depend on them.

    Attributes:
        least: the penalty is this function of the problem, and must be at least that; None is a tenth of sigma.
    """

    free = ("estimates",)
    least: Callable[[FinitePopulation], Array] | None = eqx.field(static=True, default=None)

    def settings(self) -> Space:
        sizes = {"n": Integer(16, 2, 64, "features"), "N": Integer(64, 4, 256, "examples")}
        return Space(**sizes, family=FAMILY, sigma=Real(0.3, 0.01, 10.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FinitePopulation:
        """A function of a random class, examples drawn with replacement, normal noise."""
        drawn = sampled_population(setting, key)
        return drawn if self.least is None else dataclasses.replace(drawn, penalty=self.least(drawn))

    def hypotheses(self, problem: FinitePopulation) -> list[Hypothesis]:
        why = "examples are drawn with replacement, the noise is normal and independent of them"
        found = [
            bounded(problem.features),
            Hypothesis.unchecked("examples are independent draws from the population", why),
        ]
        if self.least is not None:
            why = "then misfit and noise do not make coefficients long"
            least = self.least(problem)
            found.append(Hypothesis("the penalty is large enough", problem.penalty, ">=", least, why))
        return found
