"""Pairs of points x and y of the same length, for random features of the kernel exp(<x, y>)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws


class FeaturePair(eqx.Module):
    """Two points x and y at which one random feature estimates exp(<x, y>)."""

    x: Float[Array, " p"]
    y: Float[Array, " p"]

    @property
    def kernel(self) -> Float[Array, ""]:
        """The kernel value S = exp(<x, y>)."""
        return jnp.exp(self.x @ self.y)

    @property
    def sum_square(self) -> Float[Array, ""]:
        """The squared length |x + y|² of the sum."""
        return jnp.sum((self.x + self.y) ** 2)

    @property
    def difference_square(self) -> Float[Array, ""]:
        """The squared length |x - y|² of the difference."""
        return jnp.sum((self.x - self.y) ** 2)

    def frequencies(self, key: Key[Array, ""], number: int) -> Float[Array, "n p"]:
        """Draw standard normal vectors omega, the frequencies of random features, one in each row.

        Args:
            key: the random key.
            number: the number of frequencies.
        """
        return jax.random.normal(key, (number, len(self.x)))


class FeaturePairs(Population[FeaturePair]):
    """Two points of the same length, with independent random directions or with equal directions.

    Args:
        equal: whether y = x.
        radius: the default length of the points.
    """

    equal: bool = False
    radius: float = 0.5

    def settings(self) -> Space:
        return Space(
            p=Integer(8, 2, 256, "dimension"),
            radius=Real(self.radius, 0.1, 0.8, "length of the points", corners=(0.3, 0.6 if not self.equal else 0.5)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FeaturePair:
        p = setting["p"]
        x, y = (setting["radius"] * z / jnp.linalg.norm(z) for z in draws(key, (p,), (p,)))
        return FeaturePair(x, x if self.equal else y)

    def hypotheses(self, problem: FeaturePair) -> list[Hypothesis]:
        """Require points so short that a sample estimates the variance of a feature well."""
        longest = jnp.maximum(jnp.linalg.norm(problem.x), jnp.linalg.norm(problem.y))
        why = "fourth moments grow as exp(2 |x + y|²), so a sample estimates them poorly"
        found = [Hypothesis("the points are short", longest, "<=", 0.8, why, rounding=1e-9)]
        return [*found, Hypothesis("x + y is not 0", problem.sum_square, ">", 1e-6, "otherwise the variance is 0")]
