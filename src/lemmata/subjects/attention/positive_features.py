"""Random features for softmax attention, and the variance of the estimate of exp(<x, y>) from one feature.

This theory describes the variance of three unbiased estimates of exp(<x, y>) from one frequency omega ~ N(0, I):
positive, trigonometric and hyperbolic. The mean of m independent estimates has a variance that is smaller by the factor
m. The theory does not explain orthogonal frequencies, or the ratio of two such means that attention computes. It also
does not explain how training changes the lengths of x and y, on which all three variances depend.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Source
from lemmata.subjects.attention._feature_pairs import FeaturePair, FeaturePairs

ABOUT = {"tool": "concentration", "architecture": "random features", "object": "estimator"}

_DRAWS = 4000
_LEMMA = Source("choromanski2021", "Lemma 2", note="with one feature")
_CONTROLS = "the variance of one random feature's estimate of attention's kernel"
_UNEXPLAINED = "the error of attention, which is a ratio of two such estimates"
_RELATION = EqualInMean(resolution=0.04)


def _lengths(problem: FeaturePair) -> Float[Array, ""]:
    """Return (|x|² + |y|²) / 2."""
    return (jnp.sum(problem.x**2) + jnp.sum(problem.y**2)) / 2


def positive_estimates(problem: FeaturePair, omega: Float[Array, "n p"]) -> Float[Array, " n"]:
    """Return exp(<omega, x + y> - (|x|² + |y|²) / 2), the product of two positive features.

    >>> from lemmata.subjects.attention._feature_pairs import FeaturePair
    >>> positive_estimates(FeaturePair(jnp.ones(1), -jnp.ones(1)), jnp.array([[0.0], [3.0]])).round(3).tolist()
    [0.368, 0.368]

    Args:
        problem: the points x and y.
        omega: the frequencies, one in each row.
    """
    return jnp.exp(omega @ (problem.x + problem.y) - _lengths(problem))


def trigonometric_estimates(problem: FeaturePair, omega: Float[Array, "n p"]) -> Float[Array, " n"]:
    """Return exp((|x|² + |y|²) / 2) cos <omega, x - y>, the inner product of the sine and cosine features of x and y.

    Args:
        problem: the points x and y.
        omega: the frequencies, one in each row.
    """
    return jnp.exp(_lengths(problem)) * jnp.cos(omega @ (problem.x - problem.y))


class PositiveFeatureVariance(Claim[FeaturePair]):
    """Let omega ~ N(0, I), S = exp(<x, y>) and a = |x + y|². The positive estimate of S, exp(<omega, x + y> - (|x|² +
    |y|²) / 2), has the variance

        P = exp(a) (1 - exp(-a)) S².

    The variance is 0 at y = -x. So positive features are most precise for small values of the kernel.
    """

    title = "A positive random feature estimate of exp(<x, y>) has the variance exp(2 <x, y>) (exp(|x + y|²) - 1)"
    source = _LEMMA
    population = FeaturePairs()
    relation = _RELATION
    control = Control("exp(a) S²", lambda value, problem: value / (1 - jnp.exp(-problem.sum_square)))
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        return jnp.expm1(problem.sum_square) * problem.kernel**2

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        return jnp.var(positive_estimates(problem, problem.frequencies(key, _DRAWS)), ddof=1)


class TrigonometricFeatureVariance(Claim[FeaturePair]):
    """Let omega ~ N(0, I) and S = exp(<x, y>). The trigonometric estimate of S, exp((|x|² + |y|²) / 2) cos <omega, x -
    y>, has the variance

        exp(|x + y|²) S^-2 (1 - exp(-|x - y|²))² / 2.

    This variance is 0 at x = y. Relative to S², it explodes if S is small.
    """

    title = "The trigonometric random feature estimate of a small value exp(<x, y>) has an exploding relative variance"
    source = _LEMMA
    population = FeaturePairs()
    relation = _RELATION
    control = Control("the variance without the factor 1/2", lambda value, problem: 2 * value)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        return jnp.exp(problem.sum_square) * jnp.expm1(-problem.difference_square) ** 2 / (2 * problem.kernel**2)

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        return jnp.var(trigonometric_estimates(problem, problem.frequencies(key, _DRAWS)), ddof=1)


class HyperbolicFeatureVariance(Claim[FeaturePair]):
    """Let omega ~ N(0, I), S = exp(<x, y>) and a = |x + y|². The positive estimate of S is exp(<omega, x + y> - (|x|² +
    |y|²) / 2), and its variance is P = exp(a) (1 - exp(-a)) S². The hyperbolic estimate is the mean of the positive
    estimates of S at omega and at -omega. The hyperbolic estimate has the variance

        (1 - exp(-a)) P / 2.

    So the variance with a pair of opposite frequencies is 1 - exp(-a) times the variance with two independent
    frequencies.
    """

    title = "A pair of opposite frequencies lowers the variance of positive features by the factor 1 - exp(-|x + y|²)"
    source = _LEMMA
    population = FeaturePairs()
    relation = EqualInMean(resolution=0.06)
    control = Control(
        "the variance of two independent estimates", lambda value, problem: value / -jnp.expm1(-problem.sum_square)
    )
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        a = problem.sum_square
        return -0.5 * jnp.expm1(-a) * jnp.expm1(a) * problem.kernel**2

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        omega = problem.frequencies(key, _DRAWS)
        both = positive_estimates(problem, omega) + positive_estimates(problem, -omega)
        return jnp.var(both / 2, ddof=1)


class FeaturesForTheDiagonal(Claim[FeaturePair]):
    """Let x be a token. Consider the attention kernel exp(|x|²) of x with itself. To estimate this value from normal
    frequencies omega with a root mean square relative error of eps, one needs

        (exp(4 |x|²) - 1) / eps²

    positive random features exp(<omega, x> - |x|²/2). This number is exponential in the logit |x|², not polynomial. The
    test uses eps = 1/10.
    """

    title = "The kernel of a token with itself needs a number of positive features exponential in its logit"
    source = Source("choromanski2021", "Lemma 2", note="at x = y")
    population = FeaturePairs(equal=True, radius=0.4)
    relation = _RELATION
    control = Control("(exp(2 |x|²) - 1) / eps²", lambda value, problem: jnp.expm1(2 * jnp.sum(problem.x**2)) * 100)
    controls, unexplained = "the number of positive features that attention needs", _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        return jnp.expm1(4 * jnp.sum(problem.x**2)) * 100

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        """Return the squared relative error of one feature, divided by eps²."""
        estimates = positive_estimates(problem, problem.frequencies(key, _DRAWS))
        return jnp.mean((estimates / problem.kernel - 1) ** 2) * 100
