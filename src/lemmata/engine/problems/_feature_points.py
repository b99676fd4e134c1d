"""Points on which random features approximate a Gaussian kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.kernels import RBF

from ._regression import Regression
from ._wide_inputs import finite_points

_POINTS = 64


class FeaturePoints(eqx.Module):
    """Points, and the lengthscale of the Gaussian kernel that features approximate on them.

    Args:
        x: the points.
        lengthscale: of the kernel exp(-|x - y|²/(2 lengthscale²)).
    """

    x: Float[Array, "n d"]
    lengthscale: Float[Array, ""]


class KernelPoints(Population[FeaturePoints]):
    """Standard normal points, and a Gaussian kernel of the given lengthscale."""

    def settings(self) -> Space:
        """Points, dimension and lengthscale."""
        return Space(
            n=Integer(32, 4, 128, "points"),
            d=Integer(4, 1, 64, "dimension"),
            lengthscale=Real(1.5, 0.1, 5.0, "of the kernel; the points are standard normal"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FeaturePoints:
        """Independent points."""
        x = jax.random.normal(key, (setting["n"], setting["d"]))
        return FeaturePoints(x, jnp.asarray(setting["lengthscale"], float))

    def pose(self, problem: object) -> FeaturePoints | None:
        """The first 64 inputs of a regression, and the lengthscale of its Gaussian kernel, else the median distance."""
        if not isinstance(problem, Regression):
            return None
        x = problem.x[:_POINTS]
        if isinstance(problem.kernel, RBF):
            return FeaturePoints(x, jnp.asarray(problem.kernel.lengthscale, x.dtype))
        distances = jnp.linalg.norm(x[:, None] - x[None], axis=2)
        median = jnp.median(distances[jnp.triu_indices(len(x), 1)]) if len(x) > 1 else jnp.asarray(1.0)
        return FeaturePoints(x, jnp.where(median > 0, median, 1.0))

    def hypotheses(self, problem: FeaturePoints) -> list[Hypothesis]:
        """A positive lengthscale, finite points."""
        positive = Hypothesis(
            "the lengthscale is positive", problem.lengthscale, ">", 0.0, "frequencies are its inverse"
        )
        return [positive, finite_points(problem.x)]
