"""Prompts of a linear function, and their population."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._sampled import draws


class LinearPrompt(eqx.Module):
    """Examples of a linear function.

    Args:
        x: inputs, normal with the variances `covariance`.
        weights: w.
        noise: z.
        query: another input.
        covariance: eigenvalues of S, the axes being its eigenvectors.
        variance: of the noise.
    """

    x: Float[Array, "N d"]
    weights: Float[Array, " d"]
    noise: Float[Array, " N"]
    query: Float[Array, " d"]
    covariance: Float[Array, " d"]
    variance: Float[Array, ""]

    @property
    def y(self) -> Float[Array, " N"]:
        """X w + z."""
        return self.x @ self.weights + self.noise

    def risk(self, found: Float[Array, " d"]) -> Float[Array, ""]:
        """|S^(1/2) (w - found)|²."""
        return jnp.sum(self.covariance * (self.weights - found) ** 2)


class LinearPrompts(Population[LinearPrompt]):
    """Normal inputs of variances 1, 1/2, ..., 1/d, normal weights of variance 1, normal noise."""

    def settings(self) -> Space:
        """Sizes and noise."""
        return Space(
            N=Integer(16, 4, 256, "examples"),
            d=Integer(4, 1, 32, "columns"),
            noise=Real(0.5, 0.0, 4.0, "standard deviation of the noise"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearPrompt:
        """All normal."""
        count, d = setting["N"], setting["d"]
        covariance = 1 / jnp.arange(1.0, d + 1)
        x, weights, noise = draws(key, (count + 1, d), (d,), (count,))
        x = x * jnp.sqrt(covariance)
        variance = jnp.asarray(setting["noise"] ** 2, float)
        return LinearPrompt(x[:-1], weights, setting["noise"] * noise, x[-1], covariance, variance)

    def hypotheses(self, problem: LinearPrompt) -> list[Hypothesis]:
        """Two examples."""
        return [Hypothesis("N >= 2", len(problem.x), ">=", 2)]
