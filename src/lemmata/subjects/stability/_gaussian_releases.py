"""Random test problems: private releases with normal noise, and private training steps on sampled rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class GaussianRelease(eqx.Module):
    """A statistic of known sensitivity, released with noise N(0, sigma² I), and a privacy budget.

    Args:
        eps, delta: the privacy budget: the release should be (eps, delta)-differentially private.
        sensitivity: the largest distance between the values of the statistic on two data sets that differ in one row.
        sigma: the standard deviation of the noise in each coordinate.
    """

    eps: Float[Array, ""]
    delta: Float[Array, ""]
    sensitivity: Float[Array, ""]
    sigma: Float[Array, ""]


class GaussianReleases(Population[GaussianRelease]):
    """Releases whose log eps is uniform, with about the noise that their privacy budgets need.

    Args:
        low, high: the range of eps.
    """

    free = ("eps", "sigma")
    low: float = eqx.field(static=True, default=0.1)
    high: float = eqx.field(static=True, default=30.0)
    settings = Space(digits=Real(5.0, 1.0, 12.0, "delta is 10^-digits", corners=(4.0, 7.0)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GaussianRelease:
        """Draw a release. Its eps is the mean privacy loss plus -3 to 5 standard deviations of the privacy loss."""
        eps_key, size_key, quantile_key = jax.random.split(key, 3)
        low, high = jnp.log(self.low), jnp.log(self.high)
        eps = jnp.exp(jax.random.uniform(eps_key, minval=low, maxval=high))
        sensitivity = jnp.exp(jax.random.normal(size_key))
        quantile = jax.random.uniform(quantile_key, minval=-3.0, maxval=5.0)
        sigma = sensitivity / (jnp.sqrt(quantile**2 + 2 * eps) - quantile)
        return GaussianRelease(eps, jnp.asarray(10.0 ** -setting["digits"]), sensitivity, sigma)

    def hypotheses(self, problem: GaussianRelease) -> list[Hypothesis]:
        return [
            Hypothesis("eps", problem.eps, ">", 0.0, "eps is a privacy budget"),
            Hypothesis(f"eps is at most {self.high:g}", problem.eps, "<=", self.high, "the range of the statement"),
            Hypothesis("delta", problem.delta, "<", 0.5, "delta is below chance"),
            Hypothesis("sigma", problem.sigma, ">", 0.0, "noise"),
        ]


class SampledSteps(eqx.Module):
    """Steps of DP-SGD. Each step samples rows, clips their gradients, and adds noise to the sum of the gradients.

    Args:
        noise: the standard deviation of the noise, in units of the clipping norm.
        rate: the probability with which a step uses a row.
        delta: the delta at which eps is computed.
        steps: the number of steps.
    """

    noise: Float[Array, ""]
    rate: Float[Array, ""]
    delta: Float[Array, ""]
    steps: int = eqx.field(static=True)


class SampledGaussians(Population[SampledSteps]):
    """Steps of DP-SGD with noise from 0.8 to 3 clipping norms and delta from 1e-6 to 1e-3.

    Args:
        steps: the default number of steps.
    """

    free = ("noise",)
    steps: int = eqx.field(static=True, default=200)

    def settings(self) -> Space:
        steps = Integer(self.steps, 1, 100_000, "steps")
        return Space(steps=steps, rate=Real(0.05, 1e-4, 0.5, "rate at which rows are sampled", corners=(0.02, 0.1)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SampledSteps:
        noise_key, delta_key = jax.random.split(key)
        noise = jax.random.uniform(noise_key, minval=0.8, maxval=3.0)
        delta = 10 ** jax.random.uniform(delta_key, minval=-6.0, maxval=-3.0)
        return SampledSteps(noise, jnp.asarray(setting["rate"]), delta, setting["steps"])

    def hypotheses(self, problem: SampledSteps) -> list[Hypothesis]:
        return [
            Hypothesis("rate", problem.rate, "<", 1.0, "otherwise all rows are used"),
            Hypothesis("noise", problem.noise, ">", 0.3, "with less noise, privacy losses lie outside the grid"),
        ]
