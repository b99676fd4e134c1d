"""Finite pools of features, and random draws from the pools. Means over a pool are exact."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.functions import ramp

_POOL, _POINTS, _COPIES = 1024, 24, 64


class FeaturePool(eqx.Module):
    """A pool of ramps phi_theta(x) = phi(tau (<u, x> - t)) with theta = (u, t). Some ramps are drawn uniformly from the
    pool.

    Args:
        x: points of the unit ball.
        directions: the vectors u of length 1.
        thresholds: the numbers t between -2 and 1.
        sharpness: the slope tau of the ramps.
        chosen: indices of the drawn features; a feature may be drawn several times.
        copies: further draws of as many features as in `chosen`. Each entry is an index i of the pool, or -1 - i if the
            feature has the sign -1.
    """

    x: Float[Array, "m d"]
    directions: Float[Array, "p d"]
    thresholds: Float[Array, " p"]
    sharpness: Float[Array, ""]
    chosen: Int[Array, " n"]
    copies: Int[Array, "c n"]

    @property
    def values(self) -> Float[Array, "m p"]:
        """The values phi_theta(x): one row for each point and one column for each feature."""
        return ramp(self.sharpness * (self.x @ self.directions.T - self.thresholds))

    def complexity(self) -> Float[Array, ""]:
        """Estimate W_n = E (1/n) (max_x - min_x) sum_i eps_i phi_i(x) for random signs eps_i. The mean is over 64 draws
        of n features and signs.
        """
        count, number = self.copies.shape
        index = jnp.where(self.copies < 0, -1 - self.copies, self.copies)
        signed = jnp.zeros((count, len(self.thresholds)))
        signed = signed.at[jnp.arange(count)[:, None], index].add(jnp.where(self.copies < 0, -1.0, 1.0))
        sums = self.values @ signed.T / number
        return (sums.max(axis=0) - sums.min(axis=0)).mean()


class FeaturePools(Population[FeaturePool]):
    """1024 features with uniform directions and thresholds, and 24 uniform points in the unit ball.

    Attributes:
        dimension: the default dimension d; a setting may replace it.
        features: the default number n of drawn features; a setting may replace it.
        least: the least number of features that a claim needs. If it equals `features`, extra settings of the claim
            have up to a quarter more features.
    """

    free = ("x", "thresholds")
    dimension: int = 2
    features: int = 256
    least: int = 32

    def settings(self) -> Space:
        few = (self.features, 5 * self.features // 4) if self.least == self.features else None
        return Space(
            d=Integer(self.dimension, 1, 20, "dimension"),
            n=Integer(self.features, self.least, 1024, "features", corners=few),
            tau=Real(16.0, 4.1, 1e4, "sharpness"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FeaturePool:
        """Draw a pool, points, and features from the pool."""
        d, n = setting["d"], setting["n"]
        pool, chosen, copies = jax.random.split(key, 3)
        x, u, t = draws(pool, (_POINTS, d + 1), (_POOL, d), (_POOL,))
        return FeaturePool(
            points_in_ball(x),
            u / jnp.linalg.norm(u, axis=1, keepdims=True),
            3 * jax.scipy.stats.norm.cdf(t) - 2,
            jnp.asarray(setting["tau"]),
            jax.random.randint(chosen, (n,), 0, _POOL),
            jax.random.randint(copies, (_COPIES, n), -_POOL, _POOL),
        )

    def hypotheses(self, problem: FeaturePool) -> list[Hypothesis]:
        far = jnp.maximum(problem.thresholds - 1, -2 - problem.thresholds).max()
        return [
            in_unit_ball(problem.x, "points"),
            Hypothesis("thresholds lie in [-2, 1]", far, "<=", 0.0, "Lemma 5 assumes it"),
        ]
