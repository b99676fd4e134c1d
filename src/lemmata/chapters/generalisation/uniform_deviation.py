"""How far the fit to the examples is from the risk, for all coefficients at once: Lemma 6 term by term.

This theory controls the difference of fit and risk at coefficients that may depend on the examples, by their l_1
distance from rho* and by deviations of means of bounded variables; it assumes independent examples and noise with
normal tails. It leaves unexplained that deviations along the few directions that are taken are much smaller.

With probability 1 - delta all deviations obey Hoeffding's bound with u = log(K/delta) and K = (n+1)(n+6) + 4 tails. So
log n enters: the source's sqrt(log N/N) supposes that n is at most a power of N, or a constant that depends on d.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Source, Space
from lemmata.problems._finite_populations import Population as Population
from lemmata.problems._finite_populations import population_hypotheses, population_space, sampled_population

_DELTA = 0.1


def deviation_bound(
    distance: Float[Array, "*c"],
    discretisation: Float[Array, ""],
    sigma: Float[Array, ""] | float,
    number: int,
    examples: int,
    delta: float,
) -> Float[Array, "*c"]:
    """The largest difference of fit and risk, with probability 1 - delta (li2025incontext, inequality 83).

    sqrt(u/N) (epsilon²/sqrt 2 + |rho - rho*|_1²/sqrt 2 + 2 sqrt 2 (epsilon |rho - rho*|_1 + sigma epsilon
    + sigma |rho - rho*|_1)) with u = log(((n+1)(n+6) + 4)/delta), by Hoeffding's inequality for each mean.

    Args:
        distance: |rho - rho*|_1.
        discretisation: epsilon_dis, the largest |f - phi rho*|.
        sigma: standard deviation of the noise.
        number: n.
        examples: N.
        delta: the probability that it fails.
    """
    squares = (discretisation**2 + distance**2) / math.sqrt(2)
    products = 2 * math.sqrt(2) * (discretisation * distance + sigma * discretisation + sigma * distance)
    return deviation(number, examples, delta) * (squares + products)


def deviation(number: int, examples: int, delta: float) -> float:
    """sqrt(u/N) with u = log(((n+1)(n+6) + 4)/delta).

    Args:
        number: n.
        examples: N.
        delta: the probability that one of the means deviates further.
    """
    return math.sqrt(math.log(((number + 1) * (number + 6) + 4) / delta) / examples)


class AbstractDeviationClaim(Claim[Population]):
    """Statements about fit and risk at five estimates that depend on the examples."""

    relation = AtMost()
    controls = "the difference of fit and risk"
    unexplained = "the smaller deviations along directions that are taken"
    problem = Population
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes, the class and the noise."""
        return population_space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Population:
        """A population of 64 inputs."""
        return sampled_population(setting, key)

    def hypotheses(self, problem: Population) -> list[Hypothesis]:
        """Bounded features, independent examples."""
        return population_hypotheses(problem)


def _moments(problem: Population) -> tuple[Array, Array]:
    """|mean phi r - E phi r|_inf with r = f - phi rho*, and |mean phi phi^T - E phi phi^T|_inf."""
    features, prompt, misfit = problem.features, problem.prompt, problem.misfit
    first = misfit[problem.chosen] @ prompt / problem.examples - misfit @ features / len(features)
    second = prompt.T @ prompt / problem.examples - features.T @ features / len(features)
    return jnp.abs(first).max(), jnp.abs(second).max()


class QuadraticDeviation(AbstractDeviationClaim):
    """For every rho, with r = f - phi rho* and the mean over the examples in the place of E first,

        |(mean - E) ((f - phi rho)² - r²)| <= 2 |rho - rho*|_1 |(mean - E) phi r|_inf
                                              + |rho - rho*|_1² |(mean - E) phi phi^T|_inf.

    It is nearly an equality far from rho* along one feature.
    """

    title = "Fit and risk differ by moments of the features"
    source = Source("li2025incontext", "(92)", note="proof of Lemma 6")

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        first, second = _moments(problem)
        return 2 * problem.distances * first + problem.distances**2 * second

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """The difference of the two differences."""
        squares = (problem.values - problem.estimates @ problem.features.T) ** 2 - problem.misfit**2
        return jnp.abs(squares[:, problem.chosen].mean(axis=1) - squares.mean(axis=1))

    def control(self) -> Control:
        """A stronger bound, which a large step along the worst feature breaks."""
        return Control("half of the bound is enough", lambda bound, problem: bound / 2)


class NoiseDeviation(AbstractDeviationClaim):
    """For every rho the noise enters the fit by

        |mean 2 z (f - phi rho)| <= 2 |mean z (f - phi rho*)| + 2 |mean z phi|_inf |rho - rho*|_1.

    It is nearly an equality where rho - rho* lies along the feature that correlates most with the noise.
    """

    title = "The noise in the fit"
    source = Source("li2025incontext", "(96)", note="proof of Lemma 6")

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        known = jnp.abs(problem.noise @ problem.misfit[problem.chosen])
        along = jnp.abs(problem.noise @ problem.prompt).max()
        return 2 * (known + along * problem.distances) / problem.examples

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """What noise adds to the fit: the fit minus that without noise and minus the mean square of the noise."""
        clean = jnp.mean((problem.values[problem.chosen] - problem.estimates @ problem.prompt.T) ** 2, axis=1)
        return jnp.abs(problem.fits() - clean - jnp.mean(problem.noise**2))

    def condition(self, problem: Population) -> Array:
        """The measurement is a small difference of large numbers."""
        return 1 + problem.fits().max() / self.predict(problem).max()

    def control(self) -> Control:
        """What holds at rho*."""

        def known(bound: Array, problem: Population) -> Array:
            return jnp.full_like(bound, 2 * jnp.abs(jnp.mean(problem.noise * problem.misfit[problem.chosen])))

        return Control("rho adds nothing", known)


class UniformDeviation(AbstractDeviationClaim):
    """With probability at least 0.9, for all rho at once,

        |mean ((y - phi rho)² - z²) - E (f - phi rho)²| <= sqrt(u/N) (epsilon²/sqrt 2 + |rho - rho*|_1²/sqrt 2
                + 2 sqrt 2 (epsilon |rho - rho*|_1 + sigma epsilon + sigma |rho - rho*|_1)),

    where epsilon is the largest |f - phi rho*| and u = log(((n+1)(n+6) + 4)/0.1).
    """

    title = "Fit and risk are near for all coefficients"
    source = Source("li2025incontext", "Lemma 6", "(83)", note="with constants")
    relation = AtMost(_DELTA)

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        number = problem.features.shape[1] - 1
        known = (problem.discretisation, problem.sigma, number, problem.examples, _DELTA)
        return deviation_bound(problem.distances, *known)

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """The difference."""
        return jnp.abs(problem.fits() - jnp.mean(problem.noise**2) - problem.risks())

    def control(self) -> Control:
        """The order of the deviation of one mean that is known to be 0 in its first order."""

        def faster(bound: Array, problem: Population) -> Array:
            number, examples = problem.features.shape[1] - 1, problem.examples
            return bound / deviation(number, examples, _DELTA) / examples

        return Control("they differ by the order 1/N", faster)


class NoBargain(AbstractDeviationClaim):
    """For every rho, no fit is better than that of rho* by more than

        mean (y - phi rho*)² - mean (y - phi rho)² <= mean (f - phi rho*)² + 2 |mean z phi|_inf |rho - rho*|_1.

    Without noise, coefficients that represent f exactly attain it.
    """

    title = "No coefficients fit much better than rho*"
    source = Source("li2025incontext", "Lemma 6", "(84)", note="with constants")

    def predict(self, problem: Population) -> Array:
        """The bound at each estimate."""
        noise = jnp.abs(problem.noise @ problem.prompt).max() / problem.examples
        return jnp.mean(problem.misfit[problem.chosen] ** 2) + 2 * noise * problem.distances

    def measure(self, problem: Population, key: Key[Array, ""]) -> Array:
        """The fit of rho* minus the fit."""
        return jnp.mean((problem.y - problem.prompt @ problem.reference) ** 2) - problem.fits()

    def control(self) -> Control:
        """Least squares gains from the misfit of rho*, too."""

        def noise(bound: Array, problem: Population) -> Array:
            return bound - jnp.mean(problem.misfit[problem.chosen] ** 2) / 2

        return Control("half of the misfit is enough", noise)
