"""Points, targets and a wide initial network on which the widths and the times of training are measured."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball, rounding_floor
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import draws
from lemmata.subjects.softmax_training._activations import ACTIVATIONS, limit_gram
from lemmata.subjects.softmax_training._softmax_training import (
    Training,
    initialise,
    pose_training,
    positive_eigenvalue,
    small_eigenvalue_cause,
    sphere_points,
)

WIDTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
ERROR = 0.05


def spread_points(drawn: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """Return unit vectors after eight rounds in which they repel each other, so that no two vectors are close.

    The smallest eigenvalue lambda of the tangent kernel at close vectors would be tiny.

    Args:
        drawn: standard normal numbers, one row for each vector.
    """
    x = sphere_points(drawn)
    for _ in range(8):
        force = jnp.exp(3 * (x @ x.T - 1)) * (1 - jnp.eye(len(x)))
        x = sphere_points(x - 0.3 * force @ x)
    return x


def horizon(smallest: float | Array, size: int, error: float) -> Array:
    """Return the flow time T m eta = 2 log(n k / error) / lambda after which the loss is at most the error.

    Suppose that the loss |F - Y|² starts at n k, and that each of T steps of size eta multiplies the loss by
    1 - m eta lambda / 2, where m is the width. Then the loss is at most `error` at this time.

    Args:
        smallest: the smallest eigenvalue lambda of the tangent kernel.
        size: the number n k of targets, counted over rows and outputs.
        error: the required squared norm of outputs minus targets.
    """
    return 2 * jnp.log(size / error) / jnp.asarray(smallest)


class SlowTargets(Population[Training]):
    """Points on the sphere that are kept apart, and the targets that take longest to learn.

    Targets, with |y_i| <= 1, are along the eigenvector of the smallest eigenvalue of the tangent kernel at infinite
    width.

    Args:
        outputs: the number k of outputs.
        random_targets: whether targets are uniform on the sphere instead.
        posed_by_tables: whether a user's table is converted to such a problem. The problem then has the table's first
            16 rows and weights of unit variance.
    """

    outputs: int = 2
    random_targets: bool = False
    posed_by_tables: bool = True
    settings = Space(
        n=Integer(4, 2, 16, "points", corners=(3, 6)),
        d=Integer(3, 2, 64, "columns", corners=(3, 5)),
        sigma=Real(0.5, 0.05, 1.0, "standard deviation of the weights", corners=(0.3, 0.8)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        n, d, k = setting["n"], setting["d"], self.outputs
        weights, inputs, outputs = draws(key, (d + k, int(WIDTHS[-1]) // 2), (n, d), (1, k))
        x = spread_points(inputs)
        slowest = jnp.linalg.eigh(limit_gram("softmax", x, setting["sigma"]))[1][:, :1]
        y = slowest / jnp.abs(slowest).max() * sphere_points(outputs)
        training = initialise(weights, x, y, setting["sigma"])
        if not self.random_targets:
            return training
        targets = sphere_points(jax.random.normal(jax.random.fold_in(key, 1), y.shape))
        return eqx.tree_at(lambda t: t.y, training, targets)

    def pose(self, problem: object) -> Training | None:
        """Convert the first 16 rows of a table. If the claim has one output, the table must have one target column."""
        if not self.posed_by_tables:
            return None
        if self.outputs == 1 and isinstance(problem, Regression) and problem.y.shape[1] > 1:
            return None
        return pose_training(problem, sigma=1.0)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        return [
            positive_eigenvalue(problem, "a direction with lambda = 0 is never fitted"),
            in_unit_ball(problem.x),
            in_unit_ball(problem.y, "targets", "|F(0) - Y|² <= n k"),
        ]

    def culprit(self, problem: Training) -> str | None:
        """Return a description of the rows that make lambda zero, or None."""
        return small_eigenvalue_cause(problem)


class ThreeActivations(Population[Training]):
    """Points on the sphere that are kept apart, and targets on the sphere, with lambda < 1 for each activation.

    Here lambda is the smallest eigenvalue of the activation's tangent kernel at infinite width.

    Args:
        activations: the activations for which lambda is checked: relu, exp or softmax.
    """

    activations: tuple[str, ...] = ACTIVATIONS
    # Sizes and the spread of the weights, such that lambda < 1.
    settings = Space(
        n=Integer(4, 2, 16, "points", corners=(3, 6)),
        d=Integer(3, 2, 64, "columns", corners=(3, 5)),
        k=Integer(2, 1, 4, "outputs"),
        sigma=Real(0.5, 0.05, 1.0, "standard deviation of the weights", corners=(0.3, 0.8)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Training:
        n, d, k = setting["n"], setting["d"], setting["k"]
        weights, inputs, outputs = draws(key, (d + k, int(WIDTHS[-1]) // 2), (n, d), (n, k))
        return initialise(weights, spread_points(inputs), sphere_points(outputs), setting["sigma"])

    def pose(self, problem: object) -> Training | None:
        """Convert the first 16 rows of a table."""
        return pose_training(problem, sigma=0.5)

    def hypotheses(self, problem: Training) -> list[Hypothesis]:
        """Return the hypotheses: inputs and targets in the unit ball, n > 1, 0 < lambda < 1 for every activation."""
        found = [
            in_unit_ball(problem.x),
            in_unit_ball(problem.y, "targets"),
            Hypothesis("n > 1", len(problem.x), ">", 1, "Table 1: log(1) = 0"),
        ]
        for name in self.activations:
            values = jnp.linalg.eigvalsh(limit_gram(name, problem.x, problem.sigma))
            found.append(Hypothesis(f"lambda > 0 ({name})", values[0], ">", rounding_floor(values)))
            found.append(Hypothesis(f"lambda < 1 ({name})", values[0], "<", 1.0, "Table 1"))
        return found

    def culprit(self, problem: Training) -> str | None:
        """Return a description of the rows that make lambda zero, or None."""
        return small_eigenvalue_cause(problem)
