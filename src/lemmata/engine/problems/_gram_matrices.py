"""Gram matrices, and points with a Gaussian kernel, a ridge and the size of an approximation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.kernels import RBF, Linear, gram

from ._conditions import positive_ridge, semidefinite


class GramMatrix(eqx.Module):
    """A Gram matrix.

    Args:
        matrix: K.
    """

    matrix: Float[Array, "n n"]


class RegularisedPoints(eqx.Module):
    """Points with a Gaussian kernel and a ridge, and the size of an approximation.

    Args:
        x: points.
        lengthscale: of the kernel.
        ridge: on the diagonal.
        size: the rank of an approximation, or its number of features.
    """

    x: Float[Array, "n d"]
    lengthscale: Float[Array, ""]
    ridge: Float[Array, ""]
    size: int = eqx.field(static=True)

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix."""
        return gram(RBF(self.lengthscale), self.x)


class DecayingGramMatrices(Population[GramMatrix]):
    """Inner products of normal points, whose coordinate j has the scale 1/j."""

    def settings(self) -> Space:
        """Points and dimension."""
        return Space(n=Integer(24, 2, 200, "points"), d=Integer(4, 1, 64, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GramMatrix:
        """Independent points."""
        x = jax.random.normal(key, (setting["n"], setting["d"])) / jnp.arange(1, setting["d"] + 1)
        return GramMatrix(gram(Linear(), x))

    def hypotheses(self, problem: GramMatrix) -> list[Hypothesis]:
        """A positive semidefinite matrix that is not 0."""
        trace = jnp.trace(problem.matrix)
        return [
            semidefinite(problem.matrix),
            Hypothesis("the trace of K is positive", trace, ">", 0.0, "or there is nothing to draw"),
        ]


class ApproximatedKernels(Population[RegularisedPoints]):
    """Standard normal points with a Gaussian kernel and a ridge.

    Args:
        points: how many points.
        ridge: on the diagonal.
        size: the size of the approximation.
    """

    points: Integer = eqx.field(static=True)
    ridge: Real = eqx.field(static=True)
    size: Integer = eqx.field(static=True)

    def settings(self) -> Space:
        """Points, kernel, ridge, size."""
        return Space(
            n=self.points,
            d=Integer(2, 1, 64, "dimension", corners=(1, 2)),
            lengthscale=Real(1.5, 0.1, 10.0, "of the kernel; the points are standard normal", corners=(1.5, 3.0)),
            ridge=self.ridge,
            size=self.size,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RegularisedPoints:
        """Independent points."""
        x = jax.random.normal(key, (setting["n"], setting["d"]))
        ridge, lengthscale = (jnp.asarray(setting[name], float) for name in ("ridge", "lengthscale"))
        return RegularisedPoints(x, lengthscale, ridge, setting["size"])

    def hypotheses(self, problem: RegularisedPoints) -> list[Hypothesis]:
        """A ridge."""
        return [positive_ridge(problem.ridge, "so that K + ridge I is invertible")]
