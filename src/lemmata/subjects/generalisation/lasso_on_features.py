"""The Lasso over universal features: the length of its coefficients, their fit, and their risk.

This theory is about all coefficients rho whose Lasso objective is at most epsilon_opt above the objective of rho*. Here
rho* are coefficients with which the features represent the target. It bounds their l_1 norm and their risk. It assumes
a penalty lambda that outweighs misfit and noise. It does not explain the smaller risk of sparse coefficients, with
rates below N^(-1/2).
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source, Status
from lemmata.subjects.generalisation._finite_populations import (
    DELTA,
    FinitePopulation,
    FinitePopulations,
    likely_penalty,
    sufficient_penalty,
)
from lemmata.subjects.generalisation._finite_populations import least_penalty as least_penalty

from .uniform_deviation import deviation, deviation_bound

ABOUT = {"tool": "statistics", "architecture": "random features", "object": "generalisation"}


def length_bound(
    reference: Float[Array, ""] | float,
    cost: Float[Array, ""] | float,
    penalty: Float[Array, ""] | float,
    excess: Float[Array, "*c"] | float,
) -> Float[Array, "*c"]:
    """Return 4 |rho*|_1 + C_F + 4 epsilon_opt/lambda (li2025incontext, inequality 88). It bounds the l_1 norm |rho|_1
    of nearly optimal Lasso coefficients.

    Args:
        reference: the l_1 norm |rho*|_1 of the coefficients for comparison.
        cost: C_F, the Barron parameter.
        penalty: lambda, the penalty of the Lasso.
        excess: epsilon_opt, the objective at rho minus the objective at rho*.
    """
    return 4 * reference + cost + 4 * jnp.asarray(excess) / penalty


class AbstractEstimateClaim(Claim[FinitePopulation]):
    """This class holds the shared parts of the claims about five estimates, each of which has its own epsilon_opt."""

    population = FinitePopulations(least=sufficient_penalty)
    relation = AtMost()
    controls = "coefficients whose objective is nearly as small as the objective at rho*"
    unexplained = "the smaller risk of sparse coefficients"


class LengthOfEstimates(AbstractEstimateClaim):
    """Let phi be a vector of features in [0, 1], and consider N examples with targets y = f + z, where f is the target
    function and z is noise. Let l(rho) = mean (y - phi rho)² + lambda |rho|_1 be the Lasso objective. Let rho* be fixed
    coefficients, and let C_F > 0. Let the penalty satisfy lambda >= 4 mean (f - phi rho*)²/C_F + 16 |mean z phi|_inf.
    If l(rho) <= l(rho*) + epsilon_opt, then

        |rho|_1 <= 4 |rho*|_1 + C_F + 4 epsilon_opt/lambda.

    The term 4 epsilon_opt/lambda is necessary. If two features are equal, moving weight from one to the other changes
    the objective only through lambda |rho|_1.
    """

    title = "Coefficients with a nearly minimal Lasso objective are short in the l_1 norm"
    source = Source("li2025incontext", "Lemma 2", "(37)", note="with the constants in (88)")
    control = Control(
        "|rho|_1 is at most epsilon_opt/(2 lambda)",
        lambda bound, problem: bound - 7 / 2 * problem.excess / problem.penalty,
        loose=(
            "the bound is at least 4 times too large, because these estimates have |rho|_1 of at most "
            "epsilon_opt/lambda"
        ),
    )
    expected = Status.VACUOUS

    def predict(self, problem: FinitePopulation) -> Array:
        return length_bound(jnp.abs(problem.reference).sum(), problem.cost, problem.penalty, problem.excess)

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.estimates).sum(axis=1)

    def trivial(self, problem: FinitePopulation) -> Array:
        """Return (l(rho*) + epsilon_opt)/lambda, which bounds |rho|_1 because the penalty is part of the objective."""
        residual = problem.y - problem.prompt @ problem.reference
        return jnp.abs(problem.reference).sum() + (jnp.mean(residual**2) + problem.excess) / problem.penalty


class FitOfEstimates(AbstractEstimateClaim):
    """Let phi be a vector of features, and consider N examples with targets y = f + z, where f is the target function
    and z is noise. Let l(rho) = mean (y - phi rho)² + lambda |rho|_1 be the Lasso objective. Let rho* be fixed
    coefficients, and let r = f - phi rho* be their misfit. If l(rho) <= l(rho*) + epsilon_opt, then

        mean (y - phi rho)² <= mean z² + mean r² + 2 mean z r + lambda |rho*|_1 + epsilon_opt.

    Besides the noise, this bound contains the misfit of rho* and the penalty on rho*.
    """

    title = "A bound on the empirical risk of coefficients with a nearly minimal Lasso objective"
    source = Source("li2025incontext", "(90)", note="proof of Lemma 2")
    control = Control(
        "the empirical risk is at most half of the bound",
        lambda bound, problem: bound / 2,
        loose="estimates with a good objective fit better than rho*, so the first estimate is always below half of "
        "the bound",
    )
    trivial = "coefficients of any length can fit arbitrarily badly"

    def predict(self, problem: FinitePopulation) -> Array:
        misfit, noise = problem.misfit[problem.chosen], problem.noise
        known = jnp.mean(noise**2) + jnp.mean(misfit**2) + 2 * jnp.mean(noise * misfit)
        return known + problem.penalty * jnp.abs(problem.reference).sum() + problem.excess

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        return problem.fits()


class RiskOfEstimates(AbstractEstimateClaim):
    """Let phi be a vector of n + 1 features in [0, 1]. Consider N independent examples with targets y = f + z, where f
    is the target function and z is normal noise with standard deviation sigma. Let l(rho) = mean (y - phi rho)² +
    lambda |rho|_1 be the Lasso objective. Let rho* be fixed coefficients, and let epsilon = sup |f - phi rho*|. Let C_F
    be the Barron parameter of the class of f, and let u = log(((n+1)(n+6) + 4)/0.1). Let the penalty satisfy lambda >=
    4 epsilon²/C_F + 16 sigma sqrt(2 u/N). With probability at least 0.9, every rho with l(rho) <= l(rho*) + epsilon_opt
    satisfies

        E (phi rho - f)² <= epsilon² + sigma epsilon sqrt(8 u/N) + lambda |rho*|_1 + epsilon_opt + D(|rho - rho*|_1),

    and |rho - rho*|_1 <= 5 |rho*|_1 + C_F + 4 epsilon_opt/lambda. Here E is the expectation over a new input. The
    function D(r) bounds the difference of empirical risk and risk for all rho at l_1 distance r from rho*; the claim
    `uniform_deviation` gives its formula. The bound on E (phi rho - f)² exceeds the risk of the best constant until N
    is of the order of C_F^4.
    """

    title = "A bound on the risk of coefficients with a nearly minimal Lasso objective"
    source = Source("li2025incontext", "Lemma 2", "(36)", note="with explicit constants")
    population = FinitePopulations(least=likely_penalty)
    relation = AtMost(DELTA)
    control = Control(
        "the risk is at most epsilon²/N + epsilon_opt",
        lambda bound, problem: problem.discretisation**2 / problem.examples + problem.excess,
        loose="the bound is thousands of times the risk, so no similar statement can be refuted",
    )
    expected = Status.VACUOUS

    def predict(self, problem: FinitePopulation) -> Array:
        number, size = problem.features.shape[1] - 1, jnp.abs(problem.reference).sum()
        length = length_bound(size, problem.cost, problem.penalty, problem.excess)
        known = (problem.discretisation, problem.sigma, number, problem.examples, DELTA)
        noise = problem.sigma * math.sqrt(8) * deviation(number, problem.examples, DELTA)
        fit = problem.discretisation**2 + noise * problem.discretisation + problem.penalty * size + problem.excess
        return fit + deviation_bound(length + size, *known)

    def measure(self, problem: FinitePopulation, key: Key[Array, ""]) -> Array:
        return problem.risks()

    def trivial(self, problem: FinitePopulation) -> Array:
        """Return the smaller of the risks of two predictions: 0, and the best constant."""
        best = jnp.minimum(jnp.mean(problem.values**2), jnp.var(problem.values))
        return jnp.full(len(problem.estimates), best)
