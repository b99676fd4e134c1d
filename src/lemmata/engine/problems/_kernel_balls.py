"""Balls in a kernel's Hilbert space: on given points, and for learning from rows of a population."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.kernels import AbstractKernel, gram

from ._conditions import semidefinite
from ._regression import Regression
from ._sampled import DEFINITE_KERNEL, KERNEL, sampled_kernel


class KernelBall(eqx.Module):
    """The functions of norm at most `radius` in a kernel's Hilbert space, on n points.

    Args:
        matrix: the Gram matrix of the points.
        radius: B.
    """

    matrix: Float[Array, "n n"]
    radius: Float[Array, ""]


class BallLearning(eqx.Module):
    """A learner in a kernel ball: n rows are drawn with replacement from a population, which defines the true error.

    Args:
        x: the points of the population.
        y: their targets.
        kernel: the kernel.
        ridge: of the fit, which is scaled back to the ball where it is outside.
        radius: B, fixed before the rows are drawn.
        bound: b; the loss is min(|f(x) - y|, b).
        size: n.
        delta: the failure probability.
    """

    x: Float[Array, "p d"]
    y: Float[Array, " p"]
    kernel: AbstractKernel
    ridge: Float[Array, ""]
    radius: Float[Array, ""]
    bound: Float[Array, ""]
    size: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)


def ball_coefficients(
    matrix: Float[Array, "n n"], y: Float[Array, " n"], ridge: Float[Array, ""], radius: Float[Array, ""]
) -> Float[Array, " n"]:
    """Coefficients (K + ridge I)^-1 y of kernel ridge regression, scaled back so that the norm is at most B."""
    coefficients = jnp.linalg.solve(matrix + ridge * jnp.eye(len(y)), y)
    norm = jnp.sqrt(jnp.maximum(coefficients @ matrix @ coefficients, 0.0))
    return coefficients * jnp.minimum(1.0, radius / jnp.where(norm > 0, norm, 1.0))


class KernelBalls(Population[KernelBall]):
    """Normal points in five dimensions and an exponential radius."""

    def settings(self) -> Space:
        """Points, kernel."""
        return Space(n=Integer(30, 2, 400, "points"), kernel=KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelBall:
        """Random points, a random radius."""
        points_key, radius_key = jax.random.split(key)
        points = jax.random.normal(points_key, (setting["n"], 5))
        return KernelBall(gram(sampled_kernel(setting["kernel"], 5), points), jax.random.exponential(radius_key))

    def pose(self, problem: object) -> KernelBall | None:
        """The ball that holds the kernel ridge fit to the first output."""
        if not isinstance(problem, Regression):
            return None
        matrix = problem.gram
        fit = ball_coefficients(matrix, problem.y[:, 0], problem.ridge, jnp.asarray(jnp.inf))
        return KernelBall(matrix, jnp.sqrt(jnp.maximum(fit @ matrix @ fit, 0.0)))

    def hypotheses(self, problem: KernelBall) -> list[Hypothesis]:
        """A positive semidefinite kernel."""
        return [semidefinite(problem.matrix, "a Hilbert space")]


class NoisySigns(Population[BallLearning]):
    """Signs under noise at 1024 points in 8 dimensions, and a lengthscale so short that the ball fits noise."""

    def settings(self) -> Space:
        """Rows, radius, kernel."""
        return Space(
            n=Integer(100, 50, 400, "training rows"),
            radius=Real(0.5, 0.4, 5.0, "radius of the ball over sqrt(n)"),
            kernel=DEFINITE_KERNEL,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> BallLearning:
        """The sign of the first coordinate, blurred by normal noise."""
        x_key, noise_key = jax.random.split(key)
        x = jax.random.normal(x_key, (1024, 8))
        y = jnp.sign(x[:, 0] + jax.random.normal(noise_key, (1024,)))
        radius = jnp.asarray(setting["radius"] * setting["n"] ** 0.5)
        kernel = sampled_kernel(setting["kernel"], 1)
        return BallLearning(x, y, kernel, jnp.asarray(1e-3), radius, jnp.asarray(2.0), setting["n"])

    def pose(self, problem: object) -> BallLearning | None:
        """All rows of a regression are the population, as many as train are drawn; the first output.

        The radius is half the norm of the kernel ridge fit to the training rows, the largest loss the range of the
        targets.
        """
        if not isinstance(problem, Regression):
            return None
        x, y = jnp.concatenate([problem.x, problem.x_test]), jnp.concatenate([problem.y, problem.y_test])[:, 0]
        matrix = problem.gram
        fit = ball_coefficients(matrix, problem.y[:, 0], problem.ridge, jnp.asarray(jnp.inf))
        radius = jnp.sqrt(jnp.maximum(fit @ matrix @ fit, 0.0)) / 2
        return BallLearning(x, y, problem.kernel, problem.ridge, radius, y.max() - y.min(), len(problem.x))

    def hypotheses(self, problem: BallLearning) -> list[Hypothesis]:
        """A loss bound, a radius, a population."""
        return [
            Hypothesis("the largest loss b is positive", problem.bound, ">", 0.0, "a bounded loss: min(|f(x) - y|, b)"),
            Hypothesis("the radius is positive", problem.radius, ">", 0.0, "a ball"),
            Hypothesis("rows are drawn from a larger population", problem.size, "<", len(problem.x), "a true error"),
            Hypothesis.unchecked(
                "radius and loss were fixed before the rows were drawn", "how they were chosen is not in the numbers"
            ),
        ]
