"""Points and targets on which networks with one output are trained, and generators of such training sets."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.drawn import Condition
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import draws

_ROWS = 32


class TrainingSet(eqx.Module):
    """Points x and targets y that a network with one output is trained on."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]


class Fit(eqx.Module):
    """Training points x with targets y, and other points at which trained networks are evaluated."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    others: Float[Array, "t d"]


def trace_step(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """Return the step size d / (2 sum_i |x_i|²), which is 1/tr Theta for a ReLU network with one hidden layer.

    Theta is the tangent kernel of the network at infinite width, at the points x_i. The step size is at most 1/(largest
    eigenvalue of Theta). For other activations, it is of the order of 1/tr Theta, at every width.
    """
    return x.shape[1] / (2 * jnp.sum(x**2))


def some_input(problem: Any) -> Hypothesis:
    """Return the condition that some input is not 0; otherwise the kernel is 0 and has no inverse."""
    return Hypothesis("some input is not 0", jnp.sum(problem.x**2), ">", 0.0, "the kernel of the zero input is 0")


class TrainingSets(Population[TrainingSet]):
    """Standard normal points with independent standard normal targets."""

    settings = Space(n=Integer(4, 2, 16, "points"), d=Integer(3, 2, 16, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TrainingSet:
        return TrainingSet(*draws(key, (setting["n"], setting["d"]), (setting["n"],)))

    def hypotheses(self, problem: TrainingSet) -> list[Hypothesis]:
        return [
            some_input(problem),
            Hypothesis(
                "some target is not 0", jnp.sum(problem.y**2), ">", 0.0, "a network near 0 already fits zero targets"
            ),
        ]


def small_targets(steps: int, width: float) -> Condition:
    """Return the condition that fitting the targets does not move the parameters far at the smallest width.

    Args:
        steps: the number of steps of size 1/tr Theta (`trace_step`).
        width: the smallest width of the tested networks.
    """

    def path(problem: TrainingSet) -> Hypothesis:
        # Gradient flow for a time t on the loss L has a path of at most sqrt(t (L_0 - L_t)) <= sqrt(t L_0). On average,
        # 2 L_0 = |y|² + sum_i |x_i|²/d. The parameters have length sqrt(m (d + 1)).
        x, y = problem.x, problem.y
        loss = (jnp.sum(y**2) + jnp.sum(x**2) / x.shape[1]) / 2
        length = jnp.sqrt(steps * trace_step(x) * loss / (width * (x.shape[1] + 1)))
        name = "targets are small enough for the smallest width"
        return Hypothesis(
            name, length, "<=", 1.0, "largest path of the parameters at this width, divided by their norm"
        )

    return path


def first_rows(problem: object) -> TrainingSet | None:
    """Return the first 32 rows of a regression, with its first output."""
    return TrainingSet(problem.x[:_ROWS], problem.y[:_ROWS, 0]) if isinstance(problem, Regression) else None


class SphericalFits(Population[Fit]):
    """Points on the sphere of radius sqrt(d), targets of length 1 in a random direction, and three further points."""

    settings = Space(n=Integer(4, 2, 8, "points"), d=Integer(3, 2, 8, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Fit:
        n, d = setting["n"], setting["d"]
        x, y, others = draws(key, (n, d), (n,), (3, d))
        unit = lambda points: points * (d**0.5 / jnp.linalg.norm(points, axis=1, keepdims=True))
        return Fit(unit(x), y / jnp.linalg.norm(y), unit(others))

    def hypotheses(self, problem: Fit) -> list[Hypothesis]:
        smallest = jnp.minimum(*(jnp.linalg.norm(points, axis=1).min() for points in (problem.x, problem.others)))
        return [Hypothesis("no input is 0", smallest, ">", 0.0, "the kernels of the zero input are 0")]
