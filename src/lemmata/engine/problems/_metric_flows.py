"""Least squares with more weights than rows under another metric, and the classes that adaptive steps cannot tell."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class MetricLeastSquares(eqx.Module):
    """1/2 |x w - y|² with fewer rows than weights, descended from 0 along -metric times the gradient."""

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    metric: Float[Array, "p p"]
    steps: int = eqx.field(static=True)


class MetricFlows(Population[MetricLeastSquares]):
    """Normal rows, a metric with eigenvalues between 1/2 and 2."""

    def settings(self) -> Space:
        """Rows, weights a row."""
        return Space(
            n=Integer(4, 1, 30, "rows"),
            ratio=Integer(8, 6, 30, "weights a row", corners=(6, 12)),
            steps=Integer(2000, 500, 100_000, "steps", corners=(2000, 2000)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MetricLeastSquares:
        """Rows, targets, a random metric."""
        keys = jax.random.split(key, 4)
        n, p = setting["n"], setting["n"] * setting["ratio"]
        basis = jnp.linalg.qr(jax.random.normal(keys[0], (p, p)))[0]
        values = 0.5 * 4 ** jax.random.uniform(keys[1], (p,))
        x, y = jax.random.normal(keys[2], (n, p)), jax.random.normal(keys[3], (n,))
        return MetricLeastSquares(x, y, (basis * values) @ basis.T, setting["steps"])

    def hypotheses(self, problem: MetricLeastSquares) -> list[Hypothesis]:
        """Rows that can be fitted, and are within the steps."""
        values = jnp.linalg.eigvalsh(problem.x @ problem.metric @ problem.x.T)
        needed = 36.7 * values[-1] / values[0]
        return [Hypothesis("the steps are enough", problem.steps, ">=", needed, "the limit is reached to rounding")]


class MarginalClasses(eqx.Module):
    """Classes +-1 with sparse rows: the class, two ones, and five private coordinates a row.

    Args:
        y, y_new: classes of the training rows and of new ones.
    """

    y: Float[Array, " n"]
    y_new: Float[Array, " m"]

    @property
    def x(self) -> Float[Array, "n p"]:
        """Training rows: (y, 1, 1, ..), the first private coordinate of a row where y = 1, all five elsewhere."""
        n = len(self.y)
        five = jnp.where(self.y[:, None] > 0, jnp.eye(1, 5), jnp.ones((1, 5)))
        private = (jnp.eye(n)[:, :, None] * five[:, None, :]).reshape(n, 5 * n)
        return jnp.concatenate([self.y[:, None], jnp.ones((n, 2)), private], axis=1)

    @property
    def x_new(self) -> Float[Array, "m p"]:
        """New rows: their private coordinates are other ones, which training has not moved from 0."""
        m, n = len(self.y_new), len(self.y)
        return jnp.concatenate([self.y_new[:, None], jnp.ones((m, 2)), jnp.zeros((m, 5 * n))], axis=1)


class MarginalClassifications(Population[MarginalClasses]):
    """The class +1 has a probability between 0.6 and 0.8, and the majority of the training rows."""

    drops = 0.2

    def settings(self) -> Space:
        """Rows, new rows."""
        return Space(n=Integer(24, 8, 100, "training rows", corners=(16, 40)), new=Integer(50, 10, 1000, "new rows"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarginalClasses:
        """Independent classes; one row of each class among the new ones."""
        one, two, three = jax.random.split(key, 3)
        rate = 0.6 + 0.2 * jax.random.uniform(one)
        draw = lambda k, size: jnp.where(jax.random.bernoulli(k, rate, (size,)), 1.0, -1.0)
        return MarginalClasses(draw(two, setting["n"]), draw(three, setting["new"]).at[:2].set(jnp.array([1.0, -1.0])))

    def hypotheses(self, problem: MarginalClasses) -> list[Hypothesis]:
        """More rows of class +1, and some of class -1: descent then has the right sign on new rows of both."""
        share = (problem.y > 0).mean()
        return [
            Hypothesis("most training rows have class +1", share, ">", 0.5, "the sign of the constant coordinates"),
            Hypothesis("some have class -1", share, "<", 1.0, "else the class is a constant"),
        ]
