"""Noisy examples of functions that are sums of few ramps: the features, the sparse coefficients and the noise."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.prompts import bounded
from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.functions import UniversalFeatures

_REACH = 0.7  # the largest threshold; ramps with larger ones are nearly constant on the ball, and so nearly equal


class SparseExamples(eqx.Module):
    """Examples y = Phi rho* + z, with coefficients rho* of +-1 on a few ramps.

    Args:
        features: Phi, n ramps and a constant.
        reference: rho*, 0 off the support.
        noise: the noise z of the targets.
        sigma: the standard deviation of z.
        size: the number of entries of rho* that are not 0. The entries that are not 0 come first.
    """

    features: Float[Array, "N p"]
    reference: Float[Array, " p"]
    noise: Float[Array, " N"]
    sigma: Float[Array, ""]
    size: int = eqx.field(static=True)

    @property
    def y(self) -> Float[Array, " N"]:
        """The targets Phi rho* + z."""
        return self.features @ self.reference + self.noise

    def first(self, count: int) -> "SparseExamples":
        """The problem with only the first examples.

        Args:
            count: the number of examples.
        """
        return dataclasses.replace(self, features=self.features[:count], noise=self.noise[:count])


class SparseTargets(Population[SparseExamples]):
    """Ramps with uniform directions and thresholds in [-0.7, 0.7], uniform inputs in the ball, and normal noise.

    Attributes:
        d, n, N, s, tau, sigma: the dimension, the numbers of ramps, of examples and of ramps in the target, the slope
            tau of the ramps, and the standard deviation of z.
    """

    d: int = 2
    n: int = 8
    N: int = 512
    s: int = 1
    tau: float = 2.0
    sigma: float = 0.05

    def settings(self) -> Space:
        return Space(
            d=Integer(self.d, 1, 64, "dimension"),
            n=Integer(self.n, 1, 64, "number of ramps"),
            N=Integer(self.N, 16, 8192, "examples"),
            s=Integer(self.s, 1, 3, "number of ramps in the target"),
            tau=Real(self.tau, 0.5, 16.0, "sharpness"),
            sigma=Real(self.sigma, 0.0, 10.0, "standard deviation of the noise"),
        ).where("the target has at most as many ramps as the model", lambda s: s["s"] <= s["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> SparseExamples:
        n, d, count = setting["n"], setting["d"], setting["N"]
        omega, place, sign, points, noise = draws(key, (n, d), (n,), (n,), (count, d + 1), (count,))
        thresholds = _REACH * (2 * jax.scipy.stats.norm.cdf(place) - 1)
        ramps = UniversalFeatures(omega, thresholds, jnp.asarray(setting["tau"]))
        reference = jnp.where(jnp.arange(n + 1) < setting["s"], jnp.sign(jnp.append(sign, 1.0)), 0.0)
        sigma = jnp.asarray(setting["sigma"], float)
        return SparseExamples(ramps(points_in_ball(points)), reference, sigma * noise, sigma, setting["s"])

    def hypotheses(self, problem: SparseExamples) -> list[Hypothesis]:
        return [bounded(problem.features)]
