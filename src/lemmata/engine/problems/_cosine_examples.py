"""Noisy examples of a slow cosine, with random features of its class."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.functions import Cosines, CosineSum, UniversalFeatures, features_of

from ._conditions import in_unit_ball
from ._sampled import draws


class CosineExamples(eqx.Module):
    """Examples y = f(x) + z of a function of a class, and features that were drawn for the class.

    Args:
        functions: the class.
        function: f.
        features: n ramps and a constant.
        x: inputs, in the unit ball.
        noise: z.
        sigma: the standard deviation of z.
    """

    functions: Cosines
    function: CosineSum
    features: UniversalFeatures
    x: Float[Array, "N d"]
    noise: Float[Array, " N"]
    sigma: Float[Array, ""]


class SlowCosines(Population[CosineExamples]):
    """All a cos(x + theta) with |a| <= 1 on [-1, 1]; f has a = 1, and inputs are uniform."""

    def settings(self) -> Space:
        """Features, examples, noise and sharpness."""
        return Space(
            n=Integer(512, 1, 4096, "features"),
            N=Integer(512, 1, 4096, "examples"),
            sigma=Real(0.005, 1e-6, 10.0, "standard deviation of the noise"),
            tau=Real(64.0, 4.1, 1e4, "sharpness"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineExamples:
        """A uniform phase, uniform inputs, normal noise."""
        n, examples = setting["n"], setting["N"]
        omega, phase, x, noise = draws(key, (n, 2), (1,), (examples, 1), (examples,))
        functions = Cosines(jnp.ones((1, 1)), jnp.ones(1))
        theta = 2 * jnp.pi * jax.scipy.stats.norm.cdf(phase)
        function = CosineSum(functions.atoms, functions.sizes, functions.sizes, theta)
        sigma = jnp.asarray(setting["sigma"])
        inputs = 2 * jax.scipy.stats.norm.cdf(x) - 1
        return CosineExamples(
            functions, function, features_of(functions, omega, setting["tau"]), inputs, sigma * noise, sigma
        )

    def hypotheses(self, problem: CosineExamples) -> list[Hypothesis]:
        """Inputs in the ball, a slope of the ramps."""
        sharp = Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1")
        return [in_unit_ball(problem.x), sharp]
