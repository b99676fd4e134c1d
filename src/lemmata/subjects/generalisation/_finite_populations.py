"""Examples that are drawn from finitely many inputs. Expectations over the next input are then exact sums."""

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
    """Examples of a function f on a population of M inputs. The N examples are drawn from the inputs with replacement.

    Args:
        features: the features phi at each input of the population.
        values: f at each input of the population.
        chosen: the index of the input of each example.
        noise: z, the noise in the target of each example.
        sigma: the standard deviation of the noise.
        reference: the coefficients rho* that represent f as a combination of the features.
        penalty: lambda, the penalty in the Lasso objective mean (y - phi rho)² + lambda |rho|_1.
        cost: C_F, the Barron parameter of the class of f.
        estimates: estimates rho of the coefficients, one in each row. The estimates may depend on the examples.
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
        """The number N of examples."""
        return len(self.noise)

    @property
    def misfit(self) -> Float[Array, " M"]:
        """The misfit f - phi rho* at each input of the population."""
        return self.values - self.features @ self.reference

    @property
    def discretisation(self) -> Float[Array, ""]:
        """The largest absolute misfit, epsilon_dis."""
        return jnp.abs(self.misfit).max()

    @property
    def y(self) -> Float[Array, " N"]:
        """The targets f(x_i) + z_i."""
        return self.values[self.chosen] + self.noise

    @property
    def prompt(self) -> Float[Array, "N p"]:
        """The features of the examples."""
        return self.features[self.chosen]

    @property
    def distances(self) -> Float[Array, " c"]:
        """The distance |rho - rho*|_1 of each estimate rho."""
        return jnp.abs(self.estimates - self.reference).sum(axis=1)

    @property
    def excess(self) -> Float[Array, " c"]:
        """The excess epsilon_opt: the Lasso objective at each estimate minus the objective at rho*, and at least 0."""
        objective = lambda rho: lasso_objective(self.prompt, self.y, self.penalty, rho)
        return jnp.maximum(objective(self.estimates) - objective(self.reference), 0.0)

    def risks(self) -> Float[Array, " c"]:
        """Return E (f(x) - phi rho)² over the next input x, for each estimate rho."""
        return jnp.mean((self.values - self.estimates @ self.features.T) ** 2, axis=1)

    def fits(self) -> Float[Array, " c"]:
        """Return the mean of (y_i - phi_i rho)² over the examples, for each estimate rho."""
        return jnp.mean((self.y - self.estimates @ self.prompt.T) ** 2, axis=1)


def sampled_population(setting: dict, key: Key[Array, ""], inputs: int = 64, level: float = 0.1) -> FinitePopulation:
    """Draw a population of inputs in the unit ball of 2 dimensions, examples and five estimates.

    The first estimate is the Lasso, by 100 accelerated steps. The second is the Lasso solution with a thousandth of the
    penalty. The third is rho* moved by 3 along the feature that correlates most with the noise. The fourth is rho*
    moved by 100 along the feature whose second moments over examples and population differ most. The fifth is rho*
    moved by 100 along the feature of largest mean and by -100 along the constant.

    Args:
        setting: the number n of features, the number N of examples, the name `family` of the class, and the noise
            sigma.
        key: the random key.
        inputs: the number M of inputs.
        level: the penalty, divided by sigma.
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
    """Return sqrt(u/N) with u = log(((n+1)(n+6) + 4)/delta).

    Args:
        number: n, the number of features without the constant.
        examples: N, the number of examples.
        delta: the probability that at least one of the empirical means deviates by more than this bound allows.
    """
    return math.sqrt(math.log(((number + 1) * (number + 6) + 4) / delta) / examples)


def least_penalty(
    misfit: Float[Array, ""] | float, correlation: Float[Array, ""] | float, cost: Float[Array, ""] | float
) -> Float[Array, ""]:
    """Return a penalty of the Lasso that is large enough to keep the l_1 norm of its coefficients small.

    Let f be the target function, phi the features, z the noise, and rho* fixed coefficients. Means are over the
    examples. The penalty is 4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf. With this penalty or a larger penalty
    lambda, all coefficients rho whose Lasso objective is at most epsilon_opt above the objective at rho* satisfy
    |rho|_1 <= 4 |rho*|_1 + C_F + 4 epsilon_opt/lambda. The bound on lambda is condition (87) of li2025incontext, with
    the constants of (84).

    Args:
        misfit: mean (f - phi rho*)² over the examples, or its upper bound epsilon_dis², where epsilon_dis is the
            largest |f - phi rho*|.
        correlation: |mean z phi|_inf, or an upper bound on it.
        cost: C_F, the Barron parameter of the class of f.
    """
    return 4 * jnp.asarray(misfit) / cost + 16 * jnp.asarray(correlation)


def sufficient_penalty(problem: FinitePopulation) -> Float[Array, ""]:
    """Return `least_penalty` at the actual misfit and noise of the examples.

    Args:
        problem: examples of a finite population.
    """
    correlation = jnp.abs(problem.noise @ problem.prompt).max() / problem.examples
    return least_penalty(jnp.mean(problem.misfit[problem.chosen] ** 2), correlation, problem.cost)


def likely_penalty(problem: FinitePopulation) -> Float[Array, ""]:
    """Return `least_penalty` at an upper bound on the misfit and on the noise. The bound holds with probability 0.9.

    Args:
        problem: examples of a finite population.
    """
    number = problem.features.shape[1] - 1
    correlation = math.sqrt(2) * problem.sigma * deviation(number, problem.examples, DELTA)
    return least_penalty(problem.discretisation**2, correlation, problem.cost)


class FinitePopulations(Population[FinitePopulation]):
    """Examples of a population of 64 inputs, and five estimates that depend on them.

    Attributes:
        least: a function that returns the least penalty that a claim allows for a problem. Problems are drawn with this
            penalty. With None, the penalty is sigma/10.
    """

    free = ("estimates",)
    least: Callable[[FinitePopulation], Array] | None = eqx.field(static=True, default=None)

    def settings(self) -> Space:
        sizes = {"n": Integer(16, 2, 64, "features"), "N": Integer(64, 4, 256, "examples")}
        return Space(**sizes, family=FAMILY, sigma=Real(0.3, 0.01, 10.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FinitePopulation:
        """Draw a function of a random class. Then draw examples with replacement, and normal noise."""
        drawn = sampled_population(setting, key)
        return drawn if self.least is None else dataclasses.replace(drawn, penalty=self.least(drawn))

    def hypotheses(self, problem: FinitePopulation) -> list[Hypothesis]:
        why = "examples are drawn with replacement, and the noise is normal and independent of them"
        found = [
            bounded(problem.features),
            Hypothesis.unchecked("examples are independent draws from the population", why),
        ]
        if self.least is not None:
            why = "so that misfit and noise do not make coefficients long"
            least = self.least(problem)
            found.append(Hypothesis("the penalty is large enough", problem.penalty, ">=", least, why))
        return found
