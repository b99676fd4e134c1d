"""Tokens on spheres, for the effective dimension of an exponential kernel of their inner products."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class SphereTokens(eqx.Module):
    """The kernel exp(beta <x, y>) on the unit sphere of R^p, and how many tokens are drawn from its uniform law.

    Args:
        beta: the inverse temperature.
        p: the dimension.
        n: the number of tokens.
    """

    beta: Float[Array, ""]
    p: int = eqx.field(static=True)
    n: int = eqx.field(static=True)


def uniform_tokens(key: Key[Array, ""], n: int, p: int) -> Float[Array, "n p"]:
    """Independent points of the uniform law on the unit sphere, one a row.

    Args:
        key: randomness.
        n: how many.
        p: the dimension.
    """
    rows = jax.random.normal(key, (n, p))
    return rows / jnp.linalg.norm(rows, axis=1, keepdims=True)


class SphereTokenSets(Population[SphereTokens]):
    """Inverse temperatures that are uniform between half of a setting and all of it.

    Args:
        p: the default dimension.
        n: the default number of tokens.
        beta: the default of the largest inverse temperature.
        dimensions: the dimensions of corners.
    """

    p: int = 3
    n: int = 400
    beta: float = 1.5
    dimensions: tuple[int, int] = (3, 4)

    def settings(self) -> Space:
        """Dimension, tokens, and the largest inverse temperature."""
        tokens = Integer(self.n, 2, 5000, "tokens", corners=(max(2, self.n // 2), self.n))
        return Space(
            p=Integer(self.p, 3, 64, "dimension", corners=self.dimensions),
            n=tokens,
            beta=Real(self.beta, 0.1, 8.0, "largest inverse temperature", corners=(self.beta / 3, self.beta)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereTokens:
        """A random inverse temperature."""
        beta = setting["beta"] * jax.random.uniform(key, minval=0.5)
        return SphereTokens(beta, setting["p"], setting["n"])

    def hypotheses(self, problem: SphereTokens) -> list[Hypothesis]:
        """A kernel that is not constant."""
        return [Hypothesis("beta is positive", problem.beta, ">", 0.0, "beta = 0 leaves a constant")]


class NormalisedTokens(Population[SphereTokens]):
    """Tokens as layer normalisation leaves them, |x| = sqrt(p), with logits <x, y> / sqrt(p): beta = sqrt(p)."""

    def settings(self) -> Space:
        """Dimension and tokens."""
        return Space(p=Integer(64, 16, 1024, "dimension"), n=Integer(256, 256, 4096, "tokens", corners=(256, 256)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereTokens:
        """Nothing is random but the tokens, which the measurement draws."""
        return SphereTokens(jnp.asarray(setting["p"] ** 0.5), setting["p"], setting["n"])

    def hypotheses(self, problem: SphereTokens) -> list[Hypothesis]:
        """The temperature of the scaled softmax."""
        why = "the softmax divides inner products of tokens of length sqrt(p) by sqrt(p)"
        return [Hypothesis("beta = sqrt(p)", problem.beta, "==", problem.p**0.5, why)]
