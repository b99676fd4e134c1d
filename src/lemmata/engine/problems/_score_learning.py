"""Learning a score from draws: pairs of clean and noised data, on the line and for normal data in many dimensions."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class SignsUnderNoise(eqx.Module):
    """x0 is 1 or -1 with equal probability, z = x0 + sigma xi; a Matérn kernel learns E[x0 | z] from pairs (z, x0).

    Args:
        sigma: standard deviation of the noise.
        lengthscale: of the kernel.
    """

    sigma: Float[Array, ""]
    lengthscale: Float[Array, ""]


class NoisySignPairs(Population[SignsUnderNoise]):
    """One level of noise, and kernels with lengthscales from 0.5 to 1."""

    def settings(self) -> Space:
        """The noise."""
        return Space(sigma=Real(1.0, 0.5, 2.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignsUnderNoise:
        """A log-uniform lengthscale."""
        return SignsUnderNoise(jnp.asarray(setting["sigma"], float), 0.5 * 2 ** jax.random.uniform(key))

    def hypotheses(self, problem: SignsUnderNoise) -> list[Hypothesis]:
        """Noise."""
        return [Hypothesis("noise is added (standard deviation)", problem.sigma, ">", 0.0, "a density with a score")]


class NoisySignKernels(Population[SignsUnderNoise]):
    """Kernels with lengthscales from 0.5 to 1, for ladders of noise levels; the problem's own sigma is 1."""

    def settings(self) -> Space:
        """There are none."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignsUnderNoise:
        """A log-uniform lengthscale."""
        return SignsUnderNoise(jnp.ones(()), 0.5 * 2 ** jax.random.uniform(key))

    def hypotheses(self, problem: SignsUnderNoise) -> list[Hypothesis]:
        """A kernel."""
        return [Hypothesis("the kernel has a lengthscale", problem.lengthscale, ">", 0.0, "a Matérn kernel")]


class NormalPairs(eqx.Module):
    """Normal data with covariance `covariance` under noise of a variance, learned from n pairs.

    Args:
        covariance: of x0, whose mean is 0 and known.
        variance: of the noise.
        n: pairs.
    """

    covariance: Float[Array, "d d"]
    variance: Float[Array, ""]
    n: int = eqx.field(static=True)


class NormalDataPairs(Population[NormalPairs]):
    """Random covariances and levels of noise; several pairs for each dimension."""

    def settings(self) -> Space:
        """Pairs and dimension."""
        space = Space(n=Integer(40, 12, 400, "pairs"), d=Integer(8, 1, 32, "dimension"))
        return space.where("n is at least d + 6", lambda setting: setting["n"] >= setting["d"] + 6)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalPairs:
        """A Wishart matrix, and a variance from 0.1 to 10."""
        factor_key, level_key = jax.random.split(key)
        factor = jax.random.normal(factor_key, (setting["d"], setting["d"])) / setting["d"] ** 0.5
        variance = 0.1 * 100 ** jax.random.uniform(level_key)
        return NormalPairs(factor @ factor.T, variance, setting["n"])

    def hypotheses(self, problem: NormalPairs) -> list[Hypothesis]:
        """Noise, and more pairs than dimensions."""
        d = len(problem.covariance)
        return [
            Hypothesis("noise is added (variance)", problem.variance, ">", 0.0, "a density with a score"),
            Hypothesis("pairs outnumber dimensions", problem.n, ">", d + 1, "least squares has a mean error"),
        ]
