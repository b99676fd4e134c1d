"""Values at a few points with noise of two values, so that every training set can be listed."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class SignedNoise(eqx.Module):
    """y_i = values_i + noise s_i with independent random signs s_i."""

    values: Float[Array, " n"]
    noise: Float[Array, ""]

    @property
    def every(self) -> Float[Array, "m n"]:
        """The targets of all 2^n training sets, which are equally likely."""
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(self.values))))
        return self.values + self.noise * signs

    def draw(self, key: Key[Array, ""], sets: int) -> Float[Array, "sets n"]:
        """So many training sets."""
        return self.values + self.noise * jax.random.rademacher(key, (sets, len(self.values)), jnp.float64)


class SignedNoises(Population[SignedNoise]):
    """Waves of random phase, one to two and a half times as large as the noise."""

    def settings(self) -> Space:
        """Points."""
        return Space(n=Integer(8, 5, 12, "points", corners=(6, 9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SignedNoise:
        """A wave at even points, and its noise."""
        u = jax.random.uniform(key, (4,))
        at = jnp.arange(setting["n"]) / setting["n"]
        noise = 0.3 * 10 ** u[0]
        size = noise * (1 + 1.5 * u[1])
        return SignedNoise(size * jnp.sin(2 * jnp.pi * ((0.7 + 0.8 * u[2]) * at + u[3])), noise)

    def hypotheses(self, problem: SignedNoise) -> list[Hypothesis]:
        """Noise of mean 0, which two opposite values have."""
        return [Hypothesis("targets are noisy", problem.noise, ">", 0.0, "else there is nothing to decompose")]
