"""Stochastic gradient descent on two samples that differ in one row, with the same indices."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

from ._replaced_rows import ReplacedRows, opposed_rows


class CoupledRuns(eqx.Module):
    """Rows with replacements, the index and the size of each step, the radius of the ball that holds the weights."""

    rows: ReplacedRows
    path: Int[Array, " t"]
    steps: Float[Array, " t"]
    radius: Float[Array, ""]

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """Of the loss with its penalty on the ball; of the loss alone where there is no penalty."""
        added = jnp.where(self.rows.decay > 0, self.rows.decay * self.radius, 0.0)
        return self.rows.lipschitz + added

    @property
    def smoothness(self) -> Float[Array, ""]:
        """Of the loss with its penalty."""
        return self.rows.smoothness + self.rows.decay


def _path(key: Key[Array, ""], steps: int, n: int) -> Int[Array, " t"]:
    return jax.random.randint(key, (steps,), 0, n)


class ConvexRuns(Population[CoupledRuns]):
    """Huber losses without a penalty, steps up to 2/beta, rows at random with replacement."""

    def settings(self) -> Space:
        """Rows, weights, steps."""
        return Space(
            n=Integer(16, 2, 200, "training rows"), d=Integer(3, 1, 30, "weights"), t=Integer(60, 1, 2000, "steps")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CoupledRuns:
        """Steps between 0.1 and 1 of the largest allowed."""
        keys = jax.random.split(key, 4)
        u = jax.random.uniform(keys[0], (2,))
        norm, zone = 0.3 * 10 ** u[0], 0.1 * 10 ** u[1]
        shares = jax.random.uniform(keys[1], (setting["t"],), minval=0.1, maxval=1.0)
        steps = 2 * zone / norm**2 * shares
        far = 2 * norm**2 * steps.sum() + zone  # farther than any run comes
        rows = opposed_rows(keys[2], setting["n"], setting["d"], norm, far)
        path = _path(keys[3], setting["t"], setting["n"])
        return CoupledRuns(ReplacedRows(*rows, zone, jnp.zeros(())), path, steps, jnp.asarray(jnp.inf))

    def hypotheses(self, problem: CoupledRuns) -> list[Hypothesis]:
        """Steps of at most 2/beta."""
        most, largest = 2 / problem.smoothness, problem.steps.max()
        return [Hypothesis("steps are at most 2/beta", largest, "<=", most, "a longer step on one loss expands")]


class StronglyConvexRuns(Population[CoupledRuns]):
    """Huber losses with a penalty on a ball, steps of at most 1/beta."""

    def settings(self) -> Space:
        """Rows, weights, steps."""
        return Space(
            n=Integer(20, 8, 200, "training rows", corners=(12, 40)),
            d=Integer(3, 1, 30, "weights"),
            t=Integer(400, 1, 5000, "steps", corners=(100, 400)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CoupledRuns:
        """A ball of a quarter of the radius that a constant gradient reaches, and steps of 1/100 of 1/gamma."""
        keys = jax.random.split(key, 3)
        u = jax.random.uniform(keys[0], (3,))
        norm, decay = 0.3 * 10 ** u[0], 0.1 * 10 ** u[1]
        zone, radius = norm**2 / (decay * (2 + 40 * u[2])), norm / (4 * decay)
        rows = opposed_rows(keys[1], setting["n"], setting["d"], norm, 2 * norm * radius + zone)
        path = _path(keys[2], setting["t"], setting["n"])
        steps = jnp.full(setting["t"], 0.01) / decay
        return CoupledRuns(ReplacedRows(*rows, zone, decay), path, steps, radius)

    def hypotheses(self, problem: CoupledRuns) -> list[Hypothesis]:
        """Strong convexity, steps of at most 1/beta, a bounded set."""
        most = 1 / problem.smoothness
        return [
            Hypothesis("losses are strongly convex (gamma)", problem.rows.decay, ">", 0.0, "then differences decay"),
            Hypothesis("steps are at most 1/beta", problem.steps.max(), "<=", most, "steps then contract"),
            Hypothesis("weights stay in a ball", problem.radius, "<", jnp.inf, "else no loss is Lipschitz"),
        ]


class KickedRuns(eqx.Module):
    """Descent from 0 on L max(0, w_1, ..., w_d), the loss of every row; a linear loss can take the place of a row.

    From 0 the maximum does not move. The linear loss has the slope L, too.

    Args:
        path: the row of each step.
        step: the size of all steps.
        slope: L.
        tilt: the share of the linear loss's slope along -(1, .., 1); the rest is along a coordinate of its own.
        d: coordinates under the maximum.
        n: rows.
    """

    path: Int[Array, " t"]
    step: Float[Array, ""]
    slope: Float[Array, ""]
    tilt: Float[Array, ""]
    d: int = eqx.field(static=True)
    n: int = eqx.field(static=True)


class KickedPaths(Population[KickedRuns]):
    """Rows at random with replacement, more coordinates than steps, four steps a row."""

    def settings(self) -> Space:
        """Rows and steps."""
        return Space(
            n=Integer(48, 16, 200, "training rows", corners=(32, 60)),
            t=Integer(192, 16, 1000, "steps", corners=(48, 192)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KickedRuns:
        """Step and slope over an order of magnitude, a small tilt."""
        keys = jax.random.split(key)
        u = jax.random.uniform(keys[0], (3,))
        path = _path(keys[1], setting["t"], setting["n"])
        return KickedRuns(path, 0.03 * 10 ** u[0], 0.3 * 10 ** u[1], 0.01 + 0.09 * u[2], d=setting["t"], n=setting["n"])

    def hypotheses(self, problem: KickedRuns) -> list[Hypothesis]:
        """A slope of at most L; room for every step."""
        return [
            Hypothesis("the replacement has a slope of at most L (its tilt)", problem.tilt, "<=", 1.0, "Lipschitz"),
            Hypothesis(
                "coordinates are as many as steps",
                problem.d,
                ">=",
                len(problem.path),
                "each step moves one that is unmoved",
            ),
        ]
