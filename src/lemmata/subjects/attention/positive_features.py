"""Random features for softmax attention: what one feature's estimate of exp(<x, y>) varies by.

This theory controls the variance of three unbiased estimates of exp(<x, y>) from one frequency omega ~ N(0, I):
positive, trigonometric and hyperbolic. A mean of m features has an m-th of it. It leaves unexplained the ratio that
attention takes of two such sums, orthogonal frequencies, and what training does to the lengths, on which all depends.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Source
from lemmata.subjects.attention._feature_pairs import FeaturePair, FeaturePairs

ABOUT = {"tool": "concentration", "architecture": "random features", "object": "estimator"}

_DRAWS = 4000
_LEMMA = Source("choromanski2021", "Lemma 2", note="with one feature")
_CONTROLS = "the variance of one random feature's estimate of attention's kernel"
_UNEXPLAINED = "the error of attention, a ratio of two such estimates"
_RELATION = EqualInMean(resolution=0.04)


def _lengths(problem: FeaturePair) -> Float[Array, ""]:
    """(|x|² + |y|²) / 2."""
    return (jnp.sum(problem.x**2) + jnp.sum(problem.y**2)) / 2


def positive_estimates(problem: FeaturePair, omega: Float[Array, "n p"]) -> Float[Array, " n"]:
    """exp(<omega, x + y> - (|x|² + |y|²) / 2), the product of two positive features.

    >>> from lemmata.subjects.attention._feature_pairs import FeaturePair
    >>> positive_estimates(FeaturePair(jnp.ones(1), -jnp.ones(1)), jnp.array([[0.0], [3.0]])).round(3).tolist()
    [0.368, 0.368]

    Args:
        problem: x and y.
        omega: frequencies, one a row.
    """
    return jnp.exp(omega @ (problem.x + problem.y) - _lengths(problem))


def trigonometric_estimates(problem: FeaturePair, omega: Float[Array, "n p"]) -> Float[Array, " n"]:
    """exp((|x|² + |y|²) / 2) cos <omega, x - y>, the product of sines and cosines.

    Args:
        problem: x and y.
        omega: frequencies, one a row.
    """
    return jnp.exp(_lengths(problem)) * jnp.cos(omega @ (problem.x - problem.y))


class PositiveFeatureVariance(Claim[FeaturePair]):
    """For omega ~ N(0, I), S = exp(<x, y>) and a = |x + y|², the positive estimate of S,
    exp(<omega, x + y> - (|x|² + |y|²) / 2), has the variance

        P = exp(a) (1 - exp(-a)) S².

    It is 0 at y = -x: features that are positive know small values of the kernel best.
    """

    title = "The variance of a positive random feature"
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
    """For omega ~ N(0, I) and S = exp(<x, y>), the trigonometric estimate of S,
    exp((|x|² + |y|²) / 2) cos <omega, x - y>, has the variance

        exp(|x + y|²) S^-2 (1 - exp(-|x - y|²))² / 2,

    which is 0 at x = y and, relative to S², explodes where S is small.
    """

    title = "The variance of a trigonometric random feature"
    source = _LEMMA
    population = FeaturePairs()
    relation = _RELATION
    control = Control("without the half", lambda value, problem: 2 * value)
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        return jnp.exp(problem.sum_square) * jnp.expm1(-problem.difference_square) ** 2 / (2 * problem.kernel**2)

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        return jnp.var(trigonometric_estimates(problem, problem.frequencies(key, _DRAWS)), ddof=1)


class HyperbolicFeatureVariance(Claim[FeaturePair]):
    """For omega ~ N(0, I), S = exp(<x, y>) and a = |x + y|², the mean of the positive estimates of S at omega and at
    -omega has the variance

        (1 - exp(-a)) P / 2,   P = exp(a) (1 - exp(-a)) S² that of one:

    a pair of opposite frequencies is better than two independent ones by the factor 1 - exp(-a).
    """

    title = "The variance of a hyperbolic random feature"
    source = _LEMMA
    population = FeaturePairs()
    relation = EqualInMean(resolution=0.06)
    control = Control("that of two independent ones", lambda value, problem: value / -jnp.expm1(-problem.sum_square))
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        a = problem.sum_square
        return -0.5 * jnp.expm1(-a) * jnp.expm1(a) * problem.kernel**2

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        omega = problem.frequencies(key, _DRAWS)
        both = positive_estimates(problem, omega) + positive_estimates(problem, -omega)
        return jnp.var(both / 2, ddof=1)


class FeaturesForTheDiagonal(Claim[FeaturePair]):
    """To read attention's kernel exp(|x|²) of a token with itself within the relative error eps, root mean square,
    positive random features must be

        (exp(4 |x|²) - 1) / eps²

    in number: an exponential of four times the logit, not a polynomial in it. Here eps = 1/10.
    """

    title = "Positive features needed for a token with itself: an exponential of four logits"
    source = Source("choromanski2021", "Lemma 2", note="at x = y")
    population = FeaturePairs(equal=True, radius=0.4)
    relation = _RELATION
    control = Control("(exp(2 |x|²) - 1) / eps²", lambda value, problem: jnp.expm1(2 * jnp.sum(problem.x**2)) * 100)
    controls, unexplained = "the number of positive features that attention needs", _UNEXPLAINED

    def predict(self, problem: FeaturePair) -> Array:
        return jnp.expm1(4 * jnp.sum(problem.x**2)) * 100

    def measure(self, problem: FeaturePair, key: Key[Array, ""]) -> Array:
        """The squared relative error of one feature, over eps²."""
        estimates = positive_estimates(problem, problem.frequencies(key, _DRAWS))
        return jnp.mean((estimates / problem.kernel - 1) ** 2) * 100
