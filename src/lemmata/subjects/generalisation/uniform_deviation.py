"""Bounds on the difference between the fit to the examples and the risk, for all coefficients at once (Lemma 6 of
li2025incontext, term by term).

The fit is the mean squared error on the examples, and the risk is the expected squared error at the next input. This
theory bounds their difference at coefficients rho that may depend on the examples. It uses the l_1 distance of rho from
fixed coefficients rho* and deviations of means of bounded variables. It assumes independent examples and noise with
normal tails. It does not explain why the deviations along the few directions of actual estimates are much smaller than
these bounds.

With probability 1 - delta, all deviations satisfy Hoeffding's bound with u = log(K/delta). Here K = (n+1)(n+6) + 4 is
the number of tail events, for n features. So the bound contains log n. The bound sqrt(log N/N) of the source assumes
that n is at most a power of N, or a constant that depends on d.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source, Status
from lemmata.subjects.generalisation._finite_populations import DELTA, FinitePopulation, FinitePopulations
from lemmata.subjects.generalisation._finite_populations import deviation as deviation

ABOUT = {"tool": "empirical processes", "architecture": "random features", "object": "generalisation"}


def deviation_bound(
    distance: Float[Array, "*c"],
    discretisation: Float[Array, ""],
    sigma: Float[Array, ""] | float,
    number: int,
    examples: int,
    delta: float,
) -> Float[Array, "*c"]:
    """Return a bound on the difference of fit and risk that holds with probability 1 - delta (li2025incontext,
    inequality 83).

    sqrt(u/N) (epsilon²/sqrt 2 + |rho - rho*|_1²/sqrt 2 + 2 sqrt 2 (epsilon |rho - rho*|_1 + sigma epsilon
    + sigma |rho - rho*|_1)) with u = log(((n+1)(n+6) + 4)/delta), by Hoeffding's inequality for each mean.

    Args:
        distance: the l_1 distance |rho - rho*|_1 of the coefficients from rho*.
        discretisation: epsilon_dis, the largest |f - phi rho*|.
        sigma: the standard deviation of the noise.
        number: n, the number of features without the constant.
        examples: N, the number of examples.
        delta: the probability that the bound fails.
    """
    squares = (discretisation**2 + distance**2) / math.sqrt(2)
    products = 2 * math.sqrt(2) * (discretisation * distance + sigma * discretisation + sigma * distance)
    return deviation(number, examples, delta) * (squares + products)


def _moments(problem: FinitePopulation) -> tuple[Array, Array]:
    """Return |mean phi r - E phi r|_inf with r = f - phi rho*, and |mean phi phi^T - E phi phi^T|_inf."""
    features, prompt, misfit = problem.features, problem.prompt, problem.misfit
    first = misfit[problem.chosen] @ prompt / problem.examples - misfit @ features / len(features)
    second = prompt.T @ prompt / problem.examples - features.T @ features / len(features)
    return jnp.abs(first).max(), jnp.abs(second).max()


class AbstractDeviationClaim(Claim[FinitePopulation]):
    """Shared parts of the claims about fit and risk at five estimates that depend on the examples."""

    population = FinitePopulations()
    relation = AtMost()
    controls = "the difference of empirical risk and risk"
    unexplained = "the smaller deviations along the directions of the estimates"


class QuadraticDeviation(AbstractDeviationClaim):
    """Let phi be the row of features at an input, f a function, rho* fixed coefficients, and r = f - phi rho*. Write E
    for the expectation over an input, and mean for the mean over N examples. Every vector rho of coefficients satisfies

        |(mean - E) ((f - phi rho)² - r²)| <= 2 |rho - rho*|_1 |(mean - E) phi r|_inf
                                              + |rho - rho*|_1² |(mean - E) phi phi^T|_inf.

    If rho - rho* is large and lies along one feature, this is nearly an equality.
    """

    title = "The difference of empirical risk and risk is bounded by deviations of the features' empirical moments"
    source = Source("li2025incontext", "(92)", note="proof of Lemma 6")
    control = Control("the difference is at most half of the bound", lambda bound, problem: bound / 2)
    expected = Status.VACUOUS

    def predict(self, problem: FinitePopulation) -> Array:
        first, second = _moments(problem)
        return 2 * problem.distances * first + problem.distances**2 * second

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        squares = self._squares(problem)
        return jnp.abs(squares[:, problem.chosen].mean(axis=1) - squares.mean(axis=1))

    def trivial(self, problem: FinitePopulation) -> Array:
        """Two means of numbers in an interval differ by at most the length of the interval."""
        squares = self._squares(problem)
        return squares.max(axis=1) - squares.min(axis=1)

    def _squares(self, problem: FinitePopulation) -> Array:
        return (problem.values - problem.estimates @ problem.features.T) ** 2 - problem.misfit**2


class NoiseDeviation(AbstractDeviationClaim):
    """At an example, let phi be the row of features, f the value of the target function, and z the noise. Let rho* be
    fixed coefficients. Write mean for the mean over N examples. For every vector rho of coefficients, the empirical
    risk mean (f + z - phi rho)² contains a cross term of the noise z and the error f - phi rho. This cross term
    satisfies

        |mean 2 z (f - phi rho)| <= 2 |mean z (f - phi rho*)| + 2 |mean z phi|_inf |rho - rho*|_1.

    If rho - rho* lies along the feature that correlates most with the noise, this is nearly an equality.
    """

    title = "The cross term of noise and error in the empirical risk is bounded by correlations of the noise"
    source = Source("li2025incontext", "(96)", note="proof of Lemma 6")
    control = Control("the contribution is at most half of the bound", lambda bound, problem: bound / 2)
    expected = Status.VACUOUS

    def predict(self, problem: FinitePopulation) -> Array:
        known = jnp.abs(problem.noise @ problem.misfit[problem.chosen])
        along = jnp.abs(problem.noise @ problem.prompt).max()
        return 2 * (known + along * problem.distances) / problem.examples

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        """Return the fit to noisy targets minus the fit to noiseless targets, minus the mean square of the noise."""
        return jnp.abs(problem.fits() - _clean(problem) - jnp.mean(problem.noise**2))

    def trivial(self, problem: FinitePopulation) -> Array:
        """Return 2 |z| |f - phi rho| / N, which bounds the contribution by Cauchy-Schwarz."""
        return 2 * jnp.sqrt(jnp.mean(problem.noise**2) * _clean(problem))

    def condition(self, problem: FinitePopulation) -> Array:
        """Allow for cancellation, because the measured value is a small difference of large numbers."""
        return 1 + problem.fits().max() / self.predict(problem).max()


def _clean(problem: FinitePopulation) -> Array:
    """Return the mean of (f - phi rho)² over the examples, for each estimate rho."""
    return jnp.mean((problem.values[problem.chosen] - problem.estimates @ problem.prompt.T) ** 2, axis=1)


class UniformDeviation(AbstractDeviationClaim):
    """Let phi be the row of n + 1 features in [0, 1] at an input, f a function, and y = f + z a target with normal
    noise z of standard deviation sigma. Write mean for the mean over N independent examples, and E for the expectation
    over the next input. Let rho* be any fixed coefficients, epsilon = sup |f - phi rho*|, and u = log(((n+1)(n+6) +
    4)/0.1). With probability at least 0.9, for all vectors rho of coefficients at once,

        |mean ((y - phi rho)² - z²) - E (f - phi rho)²| <= sqrt(u/N) (epsilon²/sqrt 2 + |rho - rho*|_1²/sqrt 2
                + 2 sqrt 2 (epsilon |rho - rho*|_1 + sigma epsilon + sigma |rho - rho*|_1)).
    """

    title = (
        "For all coefficients of bounded l_1 norm at once, the empirical risk is within O(sqrt(log(n)/N)) of the risk"
    )
    source = Source("li2025incontext", "Lemma 6", "(83)", note="with explicit constants")
    relation = AtMost(DELTA)
    control = Control("the difference is at most a quarter of the bound", lambda bound, problem: bound / 4)
    expected = Status.VACUOUS

    def predict(self, problem: FinitePopulation) -> Array:
        number = problem.features.shape[1] - 1
        known = (problem.discretisation, problem.sigma, number, problem.examples, DELTA)
        return deviation_bound(problem.distances, *known)

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.fits() - jnp.mean(problem.noise**2) - problem.risks())

    def trivial(self, problem: FinitePopulation) -> Array:
        """Use the range of (f - phi rho)² for its two means, and Cauchy-Schwarz for the noise."""
        squares = (problem.values - problem.estimates @ problem.features.T) ** 2
        noise = 2 * jnp.sqrt(jnp.mean(problem.noise**2) * _clean(problem))
        return squares.max(axis=1) - squares.min(axis=1) + noise


class NoBargain(AbstractDeviationClaim):
    """At an example, let phi be the row of features, f the value of the target function, and y = f + z the target with
    noise z. Let rho* be fixed coefficients. Write mean for the mean over N examples. For every vector rho of
    coefficients, the empirical risk of rho can be below the empirical risk of rho* only by a limited amount:

        mean (y - phi rho*)² - mean (y - phi rho)² <= mean (f - phi rho*)² + 2 |mean z phi|_inf |rho - rho*|_1.

    Without noise, coefficients that represent f exactly attain the bound.
    """

    title = "The empirical risk of a fit is below that of fixed coefficients by at most their error plus a noise term"
    source = Source("li2025incontext", "Lemma 6", "(84)", note="with explicit constants")
    control = Control(
        "the bound holds with half of the misfit term",
        lambda bound, problem: bound - jnp.mean(problem.misfit[problem.chosen] ** 2) / 2,
    )
    expected = Status.VACUOUS

    def predict(self, problem: FinitePopulation) -> Array:
        noise = jnp.abs(problem.noise @ problem.prompt).max() / problem.examples
        return jnp.mean(problem.misfit[problem.chosen] ** 2) + 2 * noise * problem.distances

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        """Return the fit of rho* minus the fit of each estimate."""
        return jnp.mean((problem.y - problem.prompt @ problem.reference) ** 2) - problem.fits()

    def trivial(self, problem: FinitePopulation) -> Array:
        """Return the fit of rho*, which bounds the difference because no fit is below 0."""
        return jnp.full(5, jnp.mean((problem.y - problem.prompt @ problem.reference) ** 2))
