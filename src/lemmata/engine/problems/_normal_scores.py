"""Scores on intervals of the line, to be placed in the Hilbert space of a kernel or learned from pairs."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class NormalScore(eqx.Module):
    """The score -(z - mean)/variance of a normal law on the interval of half width `radius` about its mean.

    Args:
        mean: of the law.
        variance: of the law.
        radius: half of the interval.
    """

    mean: Float[Array, ""]
    variance: Float[Array, ""]
    radius: Float[Array, ""]


class NormalScores(Population[NormalScore]):
    """Normal laws with random mean and variance."""

    def settings(self) -> Space:
        """The interval."""
        return Space(radius=Real(5.0, 2.0, 12.0, "half width of the interval"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalScore:
        """A normal mean; a variance from 0.25 to 4; the radius from 0.8 to 1.25 times the setting's."""
        normal, spread, width = jax.random.normal(key, (3,))
        uniform = jax.scipy.stats.norm.cdf
        radius = setting["radius"] * 0.8 * 1.5625 ** uniform(width)
        return NormalScore(normal, 0.25 * 16 ** uniform(spread), radius)

    def hypotheses(self, problem: NormalScore) -> list[Hypothesis]:
        """A normal law."""
        return [Hypothesis("the law has a density (variance)", problem.variance, ">", 0.0, "a score")]


class EqualWidths(eqx.Module):
    """A mixture of normal laws of one variance on the line, and a Gaussian kernel on an interval.

    Args:
        weights: w_k, which sum to 1.
        means: mu_k.
        variance: of each component, noise included.
        lengthscale: of the kernel exp(-|x - y|²/(2 l²)).
        half: half of the interval, about 0.
    """

    weights: Float[Array, " k"]
    means: Float[Array, " k"]
    variance: Float[Array, ""]
    lengthscale: Float[Array, ""]
    half: Float[Array, ""]


class EqualWidthMixtures(Population[EqualWidths]):
    """Random mixtures of one variance, with kernels about as wide as the interval.

    Args:
        least: components of the default case, and the least number of them.
        most: the largest number.
    """

    least: int = 2
    most: int = 6

    def settings(self) -> Space:
        """Components."""
        return Space(components=Integer(self.least, self.least, self.most, "components of the mixture"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> EqualWidths:
        """Means in [-1, 1], the outer two at least 0.6 apart; variances from 0.1 to 0.3; l = 1, half from 0.6 to 1."""
        mean_key, weight_key, rest_key = jax.random.split(key, 3)
        k = setting["components"]
        weights = jax.random.uniform(weight_key, (k,), minval=1.0, maxval=4.0)
        drawn = jax.random.uniform(mean_key, (k + 1,))
        means = (0.4 + 0.5 * drawn[0]) * jnp.linspace(-1.0, 1.0, k) + 0.1 * (2 * drawn[1:] - 1)
        spread, half = jax.random.uniform(rest_key, (2,))
        # one component: the interval is centred at the mean, where its score vanishes
        return EqualWidths(
            weights / weights.sum(), means - means.mean(), 0.1 * 3**spread, jnp.ones(()), 0.6 + 0.4 * half
        )

    def hypotheses(self, problem: EqualWidths) -> list[Hypothesis]:
        """Densities, a kernel, an interval."""
        return [
            Hypothesis("components have densities (variance)", problem.variance, ">", 0.0, "normal laws"),
            Hypothesis("the kernel has a lengthscale", problem.lengthscale, ">", 0.0, "exp(-|x - y|²/(2 l²))"),
            Hypothesis("the interval has a length (half of it)", problem.half, ">", 0.0, "points to interpolate at"),
        ]
