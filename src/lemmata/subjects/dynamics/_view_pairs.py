"""Pairs of views of points, where each view has its own noise, for kernels, linear models and small networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.dynamics._small_starts import rotation


class ViewPairs(eqx.Module):
    """Clean points z_1, ..., z_n, the size of the noise in the two views of a point, and new points.

    Args:
        clean: the clean points z_i, one in each row.
        deviation: a square root of the covariance of each view's noise.
        new: other points.
        dimension: the number of outputs of a model.
    """

    clean: Float[Array, "n m"]
    deviation: Float[Array, "m m"]
    new: Float[Array, "p m"]
    dimension: int = eqx.field(static=True)

    def views(self, key: Key[Array, ""]) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
        """Draw two views x_i = z_i + A e_i, x_i' = z_i + A e_i', where A is `deviation` and e are standard normal."""
        noise = jax.random.normal(key, (2, *self.clean.shape)) @ self.deviation.T
        return self.clean + noise[0], self.clean + noise[1]


class NoisyViews(Population[ViewPairs]):
    """Clean points whose standard deviations fall from coordinate to coordinate, in rotated axes, and their noise.

    The noise is largest in the coordinate in which the points vary least. In the last coordinate, the variance of the
    noise is `noise` times the largest variance of the points. In the first coordinate, the variance of the noise is a
    tenth of its variance in the last coordinate. In between, it grows geometrically. If `near` is true, the number of
    rows in extra settings is within a quarter of the default number.
    """

    rows: int = 60
    inputs: int = 4
    outputs: int = 2
    decay: float = 0.5
    noise: float = 1.5
    near: bool = False

    def settings(self) -> Space:
        corners = (3 * self.rows // 4, 5 * self.rows // 4) if self.near else None
        return Space(
            n=Integer(self.rows, 8, 1000, "pairs of views", corners=corners),
            noise=Real(self.noise, 0.0, 10.0, "variance of the noise in the coordinate of the least variance"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ViewPairs:
        """Draw standard normal coordinates and multiply them by their deviations."""
        keys, m = jax.random.split(key, 3), self.inputs
        axes = rotation(keys[0], m)
        sizes = self.decay ** (jnp.arange(m) / 2)
        noise = jnp.sqrt(setting["noise"] * 10.0 ** (jnp.arange(m) / (m - 1) - 1))
        clean = jax.random.normal(keys[1], (setting["n"], m)) * sizes @ axes.T
        new = jax.random.normal(keys[2], (6, m)) * sizes @ axes.T
        return ViewPairs(clean, (axes * noise) @ axes.T, new, self.outputs)

    def hypotheses(self, problem: ViewPairs) -> list[Hypothesis]:
        n, m = problem.clean.shape
        return [
            Hypothesis(
                "more pairs of views than coordinates",
                n,
                ">",
                m,
                "otherwise the modes are those of the sample, not of the distribution",
            )
        ]
