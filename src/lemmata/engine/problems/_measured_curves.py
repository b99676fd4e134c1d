"""Losses measured at several sizes, with noise, and the law behind them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class MeasuredCurve(eqx.Module):
    """Losses floor + A n^-alpha with log-normal noise.

    Args:
        sizes: n of each run.
        losses: measured.
        floor: of the law.
        amplitude: A.
        exponent: alpha.
    """

    sizes: Float[Array, "m"]
    losses: Float[Array, "m"]
    floor: Float[Array, ""]
    amplitude: Float[Array, ""]
    exponent: Float[Array, ""]

    def law(self, size: Float[Array, "..."]) -> Float[Array, "..."]:
        """The loss without noise."""
        return self.floor + self.amplitude * size**-self.exponent


class MeasuredCurves(Population[MeasuredCurve]):
    """Evenly spaced logarithms of sizes from a million, exponents near 0.34, a floor near 1.7."""

    def settings(self) -> Space:
        """Sizes, their range, noise."""
        return Space(
            points=Integer(8, 6, 40, "sizes", corners=(6, 16)),
            decades=Real(3.0, 1.5, 6.0, "decimal logarithm of the ratio of the largest to the smallest size"),
            noise=Real(0.005, 1e-4, 0.05, "standard deviation of the log losses", corners=(0.002, 0.01)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MeasuredCurve:
        """A law around (1.7, 400, 0.34) and one noisy loss at each size."""
        law_key, noise_key = jax.random.split(key)
        floor, amplitude, exponent = jnp.asarray([1.7, 400.0, 0.34]) * jnp.exp(
            jnp.asarray([0.3, 0.3, 0.15]) * jax.random.normal(law_key, (3,))
        )
        sizes = 10.0 ** jnp.linspace(6.0, 6.0 + setting["decades"], setting["points"])
        noise = setting["noise"] * jax.random.normal(noise_key, sizes.shape)
        return MeasuredCurve(sizes, (floor + amplitude * sizes**-exponent) * jnp.exp(noise), floor, amplitude, exponent)

    def hypotheses(self, problem: MeasuredCurve) -> list[Hypothesis]:
        """More points than parameters."""
        return [Hypothesis("points outnumber parameters", len(problem.sizes), ">", 3, "noise has to be estimated")]
