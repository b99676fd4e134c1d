"""Test problems for claims about steps of descent: softmax networks before, during and after training.

The theory's steps are too short to reach a trained state. Networks are therefore brought there by coarse steps, of
size 1 / (2 m trace(H*)), where m is the width and H* the tangent kernel at initialisation. In the docstrings, lambda
is the smallest eigenvalue of H*, F are the outputs and Y the targets.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.softmax_training._softmax_training import (
    Training,
    coarse_step,
    initialise,
    pose_training,
    positive_eigenvalue,
    small_eigenvalue_cause,
    sphere_points,
)

_LONGEST, _REACH, _FAR = 0.01, 0.0099, 0.05

Movement = Callable[[Training, Array, int], Training]


class Descent(eqx.Module):
    """A network at some time of its training, and the size eta of its next step."""

    training: Training
    step: Float[Array, ""]


class Descents(Population[Descent]):
    """Small networks before, during and after training, with steps that do not move any unit by more than 0.01.

    Args:
        steps: the number of coarse descent steps before the step of size eta.
    """

    steps: int = 6

    def settings(self) -> Space:
        return Space(
            n=Integer(3, 1, 32, "points"),
            d=Integer(3, 1, 64, "columns"),
            k=Integer(2, 1, 8, "outputs"),
            pairs=Integer(6, 1, 1024, "pairs of units"),
            sigma=Real(0.5, 0.001, 1.0, "standard deviation of the weights"),
            steps=Integer(self.steps, 0, 1000, "number of coarse descent steps before"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Descent:
        """Draw a network after coarse descent, and a step that moves the farthest unit by 0.002 to 0.01."""
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, length = draws(key, (d + k, setting["pairs"]), (n, d), (n, k), ())
        first = initialise(weights, sphere_points(inputs), sphere_points(outputs), setting["sigma"])
        training = first.after(coarse_step(first), setting["steps"])
        longest = _LONGEST / jnp.linalg.norm(training.gradient, axis=0).max()
        return Descent(training, longest * jax.scipy.stats.norm.cdf(length) * 0.8 + 0.2 * longest)

    def hypotheses(self, problem: Descent) -> list[Hypothesis]:
        length = problem.step * jnp.linalg.norm(problem.training.gradient, axis=0).max()
        return [Hypothesis("no unit moves by more than 0.01", length, "<=", 0.01, "Fact A.8 needs |u| <= 0.01", 1e-9)]


def trained(first: Training, time: Float[Array, ""], steps: int) -> Training:
    """Descend with steps that are a random multiple of the coarse step. This multiple is 0 in a sixth of the trials.

    Args:
        first: the network at initialisation.
        time: a standard normal number, from which the multiple max(time + 1, 0) is computed.
        steps: the number of descent steps.
    """
    return first.after(coarse_step(first) * jnp.maximum(time + 1, 0.0), steps)


def against_smallest_eigenvalue(first: Training, time: Float[Array, ""], steps: int) -> Training:
    """Move every unit by the theory's R, the largest allowed move, so that the smallest eigenvalue of H falls fastest.

    H is the tangent kernel at the current weights.
    """
    return eqx.tree_at(lambda t: t.moved, first, first.radius * _against(first))


def along_smallest_eigenvector(first: Training, time: Float[Array, ""], steps: int) -> Training:
    """Move every unit by 0.05 so that the smallest eigenvalue of the tangent kernel H falls fastest.

    Then choose the targets Y so that the residual F - Y is the unit eigenvector of H at this eigenvalue.
    """
    later = eqx.tree_at(lambda t: t.moved, first, _FAR * _against(first))
    direction = jnp.linalg.eigh(later.tangent)[1][:, 0].reshape(later.y.T.shape).T
    return eqx.tree_at(lambda t: t.y, later, later.outputs - direction)


def _against(first: Training) -> Float[Array, "d m"]:
    """Return, for every hidden unit, a vector of length 1 opposite to the gradient of the smallest eigenvalue of H."""
    smallest = lambda weight: jnp.linalg.eigvalsh(
        first.network.tangent({"weight": weight, "sign": first.sign}, first.x).reshape(first.size, first.size)
    )[0]
    slope = jax.grad(smallest)(first.start)
    return -slope / jnp.maximum(jnp.linalg.norm(slope, axis=0), jnp.finfo(slope.dtype).tiny)


def beyond_targets(first: Training, time: Float[Array, ""], steps: int) -> Training:
    """Move each unit by 0.0099 along or against the first input, so that the two units of a pair move apart.

    Each target gets the sign opposite to the sign of the moved network's output.
    """
    reach = _REACH * first.sign[0] * first.x[0][:, None]
    forward = eqx.tree_at(lambda t: t.moved, first, reach)
    return eqx.tree_at(lambda t: t.y, forward, -0.4 * jnp.sign(forward.outputs) * jnp.abs(first.y))


def towards_one_sign(first: Training, time: Float[Array, ""], steps: int) -> Training:
    """Descend by coarse steps towards targets that are all positive.

    For close inputs, the residuals then lie along the eigenvector of the largest eigenvalue of the tangent kernel.
    """
    positive = eqx.tree_at(lambda t: t.y, first, jnp.abs(first.y))
    return positive.after(coarse_step(positive), steps)


class SoftmaxRuns(Population[Training]):
    """Networks at some time of their training, or moved on purpose, with unit inputs and targets.

    Args:
        k, pairs, sigma, alignment, steps: the defaults of the settings.
        narrowest: the smallest number of pairs of units that a user may set.
        movement: the function that computes the network at time tau. The function takes the network at initialisation,
            a standard normal number and the number of steps.
    """

    k: int = 1
    pairs: int = 32
    sigma: float = 0.04
    alignment: float = 0.0
    steps: int = 8
    narrowest: int = 1
    movement: Movement = eqx.field(static=True, default=trained)

    def settings(self) -> Space:
        return Space(
            n=Integer(3, 1, 16, "points"),
            d=Integer(4, 1, 64, "columns", corners=(3, 8)),
            k=Integer(self.k, 1, 8, "outputs"),
            pairs=Integer(self.pairs, self.narrowest, 1024, "pairs of units"),
            sigma=Real(self.sigma, 0.001, 1.0, "standard deviation of the weights"),
            alignment=Real(self.alignment, 0.0, 100.0, "alignment of the inputs"),
            steps=Integer(self.steps, 0, 1000, "number of coarse descent steps before"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Draw unit inputs and targets, and apply the movement."""
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, time = draws(key, (d + k, setting["pairs"]), (n, d), (n, k), ())
        x = sphere_points(inputs, setting["alignment"])
        first = initialise(weights, x, sphere_points(outputs), setting["sigma"])
        return self.movement(first, time, setting["steps"])

    def pose(self, problem: object) -> Training | None:
        """Return a network of width 256 on the first rows of a table, after 8 coarse steps."""
        return pose_training(problem, steps=8)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [positive_eigenvalue(problem), in_unit_ball(problem.x)]

    def culprit(self, problem: Training) -> str | None:
        """Return a description of the rows that make lambda zero, or None."""
        return small_eigenvalue_cause(problem)


class RunsWithinRadius(Population[Training]):
    """Networks so wide, and targets so small, that no unit can leave the region that the convergence proof needs.

    D bounds the distance that a unit moves in training, and R is the radius of Lemma E.2. As long as no unit moves by
    more than R, the tangent kernel H keeps half of its smallest eigenvalue lambda. Here D < R. Weights are so small
    that the bound B on logits is 1. Targets are along the eigenvector of the smallest eigenvalue of the limit of H at
    infinite width.

    Args:
        steps: the number of coarse descent steps before the tested step.
    """

    steps: int = 8

    def settings(self) -> Space:
        return Space(
            n=Integer(2, 1, 8, "points", corners=(2, 3)),
            d=Integer(16, 1, 64, "columns"),
            k=Integer(1, 1, 4, "outputs"),
            pairs=Integer(2048, 1, 2**17, "pairs of units"),
            sigma=Real(0.05, 0.001, 0.1, "standard deviation of the weights", corners=(0.02, 0.05)),
            target=Real(1e-5, 1e-9, 1.0, "norm of the targets, all together", corners=(1e-7, 1e-6)),
            steps=Integer(self.steps, 0, 1000, "number of coarse descent steps before"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Draw unit inputs, and a training time that is 0 in a sixth of the trials."""
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, time = draws(key, (d + k, setting["pairs"]), (n, d), (1, k), ())
        x = sphere_points(inputs)
        limit = x @ x.T * jnp.exp(setting["sigma"] ** 2 * x @ x.T)
        y = setting["target"] * jnp.linalg.eigh(limit)[1][:, :1] * sphere_points(outputs)
        return trained(initialise(weights, x, y, setting["sigma"]), time, setting["steps"])

    def pose(self, problem: object) -> Training | None:
        """Return a network of width 256 on the first rows of a table, after 8 coarse steps."""
        return pose_training(problem, steps=8)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [
            positive_eigenvalue(problem),
            in_unit_ball(problem.x),
            in_unit_ball(problem.y, "targets"),
            Hypothesis("D < R", problem.displacement, "<", problem.radius, "units stay where H keeps half of lambda"),
        ]

    def culprit(self, problem: Training) -> str | None:
        """Return a description of the rows that make lambda zero, or None."""
        return small_eigenvalue_cause(problem)


class PushedUnits(Population[Training]):
    """Close inputs with one common target on the unit sphere, and units that move by 0.0099 so that F changes much."""

    free = ("moved", "x", "y")
    settings = Space(
        n=Integer(2, 1, 64, "points"),
        d=Integer(3, 1, 64, "columns"),
        k=Integer(1, 1, 16, "outputs"),
        pairs=Integer(64, 1, 4096, "pairs of units"),
        sigma=Real(0.3, 0.001, 1.0, "standard deviation of the weights"),
        alignment=Real(2.0, 0.0, 100.0, "alignment of the inputs"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        """Draw inputs around one direction, and a movement of the units that changes the outputs F strongly.

        Each unit moves by 0.0099. The unit's sign in the first output decides whether it moves along or against the
        first input.
        """
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs, side = draws(key, (d + k, setting["pairs"]), (n, d), (1, k), ())
        x, y = sphere_points(inputs, setting["alignment"]), jnp.broadcast_to(sphere_points(outputs), (n, k))
        start = initialise(weights, x, y, setting["sigma"])
        direction = jnp.sign(side) * start.sign[0] * x[0][:, None]
        return eqx.tree_at(lambda t: t.moved, start, _REACH * direction)

    def pose(self, problem: object) -> Training | None:
        """Return a network on the first rows of a table."""
        return pose_training(problem)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [
            in_unit_ball(problem.x, why="logits are at most |w_r|"),
            in_unit_ball(problem.y, "targets", "the residual starts at |Y|"),
            Hypothesis("no unit has moved by 0.01", problem.farthest, "<", 0.01, "shares are below exp(2B + 2R) / m"),
        ]

    def culprit(self, problem: Training) -> str | None:
        """Return a description of the rows that make lambda zero, or None."""
        return small_eigenvalue_cause(problem)
