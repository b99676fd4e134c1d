"""Points at which the tangent kernel of wide two-layer softmax networks is computed.

At infinite width, this kernel is K(x, y) = <x, y> exp(sigma² <x, y>) (`SoftmaxTangent`).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.duplicates import duplicate_rows
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import points_in_ball
from lemmata.engine.problems.singular import singular_cause
from lemmata.kernels import Compose, SoftmaxTangent, gram

WIDTHS = (256.0, 512.0, 1024.0, 2048.0)
_ROWS = 32
_SHOWN = 5


class KernelPoints(eqx.Module):
    """Points at which the tangent kernel is computed.

    Args:
        x: the points.
        sigma: standard deviation of the hidden weights.
    """

    x: Float[Array, "n d"]
    sigma: Float[Array, ""]

    @property
    def limit(self) -> Float[Array, "n n"]:
        """The matrix of the kernel K(x, y) = <x, y> exp(sigma² <x, y>) on the points."""
        return gram(SoftmaxTangent(sigma=self.sigma), self.x)


def posed(problem: object, rows: int) -> KernelPoints | None:
    """Convert a regression to its first inputs; None if the problem cannot be converted.

    If the regression has a softmax kernel, the inputs get the transformations that belong to this kernel. Otherwise,
    they are scaled so that the longest has norm 1. A problem of the class `KernelPoints` is returned unchanged.

    Args:
        problem: the user's problem.
        rows: the largest number of inputs to keep.
    """
    if not isinstance(problem, Regression):
        return problem if isinstance(problem, KernelPoints) else None
    x, kernel = problem.x[:rows], problem.kernel
    while isinstance(kernel, Compose):
        x, kernel = jax.vmap(kernel.transform)(x), kernel.kernel
    if isinstance(kernel, SoftmaxTangent):
        return KernelPoints(x, jnp.asarray(kernel.sigma, x.dtype))
    longest = jnp.linalg.norm(problem.x[:rows], axis=1).max()
    return KernelPoints(problem.x[:rows] / jnp.where(longest > 0, longest, 1.0), jnp.asarray(0.5, x.dtype))


class SpherePoints(Population[KernelPoints]):
    """Points uniform on the unit sphere, for claims about networks of the widths `WIDTHS`.

    Args:
        n: the default number of points.
        rows: the number of inputs that are taken from a user's table.
    """

    n: int = 12
    rows: int = 16

    def settings(self) -> Space:
        return Space(
            n=Integer(self.n, 2, 32, "points"),
            d=Integer(4, 2, 64, "dimension"),
            sigma=Real(0.5, 0.1, 0.55, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        x = jax.random.normal(key, (setting["n"], setting["d"]))
        return KernelPoints(x / jnp.linalg.norm(x, axis=1, keepdims=True), jnp.asarray(setting["sigma"], float))

    def pose(self, problem: object) -> KernelPoints | None:
        """Convert a regression to its first inputs."""
        return posed(problem, self.rows)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        return [
            Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0"),
            in_unit_ball(problem.x, why="the source's normalisation"),
            Hypothesis(
                "the smallest width is large enough to average its lognormal terms",
                jnp.exp(4 * problem.sigma**2 * longest**2),
                "<=",
                WIDTHS[0] / 64,
                "relative second moment of a diagonal term, at most 1/64 of the smallest width",
            ),
        ]

    def culprit(self, problem: KernelPoints) -> str | None:
        """The likely cause of a failed hypothesis: zero rows, equal rows, or the rank of the kernel."""
        return zero_rows(problem.x) or singular_cause(problem.limit, problem.x)


class PlanarTriples(Population[KernelPoints]):
    """Three points on the unit sphere, at 0, 60 and 120 degrees in a random plane. No two of them are orthogonal.

    Args:
        width: m, large enough that terms of order 1/m² are small.
    """

    width: int = 32
    settings = Space(d=Integer(3, 2, 16, "dimension"), sigma=Real(0.5, 0.3, 0.5, "standard deviation of the weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        basis = jnp.linalg.qr(jax.random.normal(key, (setting["d"], 2)))[0]
        angles = jnp.pi / 3 * jnp.arange(3)
        x = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1) @ basis.T
        return KernelPoints(x, jnp.asarray(setting["sigma"], float))

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        second = (jnp.exp(4 * problem.sigma**2 * jnp.max(jnp.sum(problem.x**2, axis=1))) - 1) ** 2 / self.width**2
        return [Hypothesis("the width makes terms of order 1/m² small", second, "<=", 0.003)]


def _ball_settings(points: int) -> Space:
    return Space(
        n=Integer(points, 2, 8, "points"),
        d=Integer(3, 1, 64, "dimension"),
        sigma=Real(0.8, 0.1, 2.0, "standard deviation of the weights"),
    )


def _in_ball(setting: dict, key: Key[Array, ""]) -> KernelPoints:
    drawn = jax.random.normal(key, (setting["n"], setting["d"] + 1))
    return KernelPoints(points_in_ball(drawn), jnp.asarray(setting["sigma"], float))


class DistinctPoints(Population[KernelPoints]):
    """Distinct points of the unit ball that are not 0.

    By default there are two points, for which bounds by interpolation are tightest.
    """

    free = ("x",)
    # The number of points, the dimension, and the standard deviation of the weights.
    settings = _ball_settings(2)

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        return _in_ball(setting, key)

    def pose(self, problem: object) -> KernelPoints | None:
        """Convert a regression to its first 32 inputs."""
        return posed(problem, _ROWS)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """The hypotheses that no input is zero and no inputs are equal, because these make the kernel singular."""
        shortest, apart = jnp.linalg.norm(problem.x, axis=1).min(), smallest_separation(problem.x)
        return [
            Hypothesis("no input is 0", shortest, ">", 0.0, "K(0, y) = 0 for every y: a row of zeros"),
            Hypothesis("no input occurs twice", apart, ">", 0.0, "equal inputs have equal rows of K"),
        ]

    def culprit(self, problem: KernelPoints) -> str | None:
        """The rows that make the kernel singular, in words."""
        return singular_rows(problem.x)


class SingularPoints(Population[KernelPoints]):
    """Points of the unit ball. The last is 0 in half of the problems, and repeats the first point in the others."""

    # The number of points, the dimension, and the standard deviation of the weights.
    settings = _ball_settings(3)

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        coin, points = jax.random.split(key)
        problem = _in_ball(setting, points)
        last = jnp.where(jax.random.bernoulli(coin), problem.x[0], jnp.zeros(setting["d"]))
        return KernelPoints(problem.x.at[-1].set(last), problem.sigma)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """The hypotheses that the points have a cause of singularity, and that the kernel is not 0."""
        norms = jnp.linalg.norm(problem.x, axis=1)
        cause = jnp.minimum(norms.min(), smallest_separation(problem.x))
        return [
            Hypothesis("an input is 0 or occurs twice", cause, "<=", 0.0, "the smaller of |x_i| and |x_i - x_j|"),
            Hypothesis("some input is not 0", norms.max(), ">", 0.0),
        ]


def smallest_separation(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """The smallest distance between two rows; infinite for a single row."""
    apart = jnp.linalg.norm(x[:, None] - x[None, :], axis=2)
    return jnp.min(jnp.where(jnp.eye(len(x), dtype=bool), jnp.inf, apart))


def zero_rows(x: Float[Array, "n d"], what: str = "rows") -> str | None:
    """The rows that are zero, counted from 0, in words.

    Args:
        x: the rows.
        what: the name of the rows, in the plural.
    """
    zero = [str(row) for row in np.flatnonzero(~np.asarray(x).any(axis=1))]
    return (
        f"{what} {', '.join(zero)} (counted from 0) are zero, and the kernel is zero at these points" if zero else None
    )


def singular_rows(x: Float[Array, "n d"]) -> str | None:
    """The rows, counted from 0, that make the kernel singular: zero inputs, and repeated inputs."""
    found = {
        "zero inputs: rows": np.flatnonzero(~np.asarray(x).any(axis=1)).tolist(),
        "repeated inputs: pairs of rows": duplicate_rows(x),
    }
    more = lambda rows: f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    causes = [f"{words} {rows[:_SHOWN]}{more(rows)}" for words, rows in found.items() if rows]
    return "; ".join(causes) or None
