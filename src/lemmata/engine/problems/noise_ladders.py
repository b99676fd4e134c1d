"""Noise that multiplies features or a misfit.

Claims study the means of the products over the first n examples as n grows.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.prompts import bounded
from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.functions import GaussianBumps, UniversalFeatures, features_of


class NoiseOnFeatures(eqx.Module):
    """Noise that multiplies features.

    Args:
        noise: the noise z, one row for each repetition.
        features: phi at the examples, one row per example.
    """

    noise: Float[Array, "r N"]
    features: Float[Array, "N p"]


class SpherePoints(Population[NoiseOnFeatures]):
    """Normal noise that multiplies many features of points on a sphere.

    Attributes:
        number: the number of features.
    """

    number: int = 4096
    settings = Space(N=Integer(32, 8, 128, "examples"), d=Integer(16, 2, 64, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoiseOnFeatures:
        """Draw features of the class of Gaussian bumps, without the constant feature, and standard normal noise."""
        functions, examples = GaussianBumps(setting["d"], 2.0), setting["N"]
        x, noise, normal = draws(key, (examples, setting["d"]), (examples,), (self.number, functions.columns + 1))
        x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return NoiseOnFeatures(noise[None], features_of(functions, normal, 16.0)(x)[:, :-1])

    def hypotheses(self, problem: NoiseOnFeatures) -> list[Hypothesis]:
        return [bounded(problem.features)]


class HeavyNoise(Population[NoiseOnFeatures]):
    """32 repetitions of noise with P(|z| > u) = u^(-3/2). The noise multiplies 8 features of points in the plane.

    Attributes:
        examples: the number N of examples.
    """

    examples: int = 4096
    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoiseOnFeatures:
        noise, drawn, bumps = draws(key, (32, self.examples), (self.examples, 3), (8, 6))
        rank = jax.scipy.stats.norm.cdf(-jnp.abs(noise)) * 2
        return NoiseOnFeatures(jnp.sign(noise) * rank ** (-2 / 3), sampled_features(bumps)(points_in_ball(drawn)))

    def hypotheses(self, problem: NoiseOnFeatures) -> list[Hypothesis]:
        return [bounded(problem.features)]


def sampled_features(normal: Float[Array, "n e"]) -> UniversalFeatures:
    """Features of the class of Gaussian bumps in the plane (`GaussianBumps`).

    Args:
        normal: 6 standard normal numbers per feature.
    """
    return features_of(GaussianBumps(2), normal, 16.0)


class NoiseOnMisfit(eqx.Module):
    """Noise, and the misfit of fixed coefficients, at the same examples.

    Args:
        noise: the noise z, one row for each repetition.
        misfit: the misfit f - phi rho* of features phi with coefficients rho* to a function f, one row per repetition.
    """

    noise: Float[Array, "r N"]
    misfit: Float[Array, "r N"]


class BoundedMisfits(Population[NoiseOnMisfit]):
    """64 repetitions of normal noise, and a misfit uniform in [-1, 1].

    Attributes:
        examples: the number N of examples.
    """

    examples: int = 256
    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoiseOnMisfit:
        noise, misfit = draws(key, (64, self.examples), (64, self.examples))
        return NoiseOnMisfit(noise, 2 * jax.scipy.stats.norm.cdf(misfit) - 1)

    def hypotheses(self, problem: NoiseOnMisfit) -> list[Hypothesis]:
        return [Hypothesis("the misfit is bounded", jnp.abs(problem.misfit).max(), "<=", 1.0, "epsilon_dis")]
