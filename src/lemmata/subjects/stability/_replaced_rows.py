"""Random regression problems with Huber's loss: rows, each with a replacement, and finite distributions of rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Space


def huber(residual: Float[Array, "*s"], zone: Float[Array, ""]) -> Float[Array, "*s"]:
    """Return Huber's loss: r²/(2 zone) up to |r| = zone, and |r| - zone/2 beyond.

    The loss is convex, and has a slope of at most 1 and a curvature of at most 1/zone.
    """
    size = jnp.abs(residual)
    return jnp.where(size <= zone, residual**2 / (2 * zone), size - zone / 2)


class ReplacedRows(eqx.Module):
    """Training rows (x_i, y_i), and for each i a second row that can replace row i.

    The loss of weights w at a row is h(x'w - y) with Huber's h, so the loss is Lipschitz with constant max |x|, and
    smooth with constant max |x|²/zone.

    Args:
        x, y: the training rows.
        other_x, other_y: the replacement rows: row i of these can replace training row i.
        zone: the size of residuals up to which Huber's loss is quadratic.
        decay: alpha, the coefficient of the penalty alpha |w|²/2, which makes the objective strongly convex.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    other_x: Float[Array, "n d"]
    other_y: Float[Array, " n"]
    zone: Float[Array, ""]
    decay: Float[Array, ""]

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """The largest norm of an input, including the replacements."""
        return jnp.linalg.norm(jnp.concatenate([self.x, self.other_x]), axis=1).max()

    @property
    def smoothness(self) -> Float[Array, ""]:
        """The largest curvature of the loss of a row, without the penalty."""
        return self.lipschitz**2 / self.zone

    def with_replaced(self, i: Array | int) -> tuple[Float[Array, "n d"], Float[Array, " n"]]:
        """Return x and y of the training rows, with row i replaced."""
        return self.x.at[i].set(self.other_x[i]), self.y.at[i].set(self.other_y[i])

    def losses(self, weights: Float[Array, " d"]) -> Float[Array, " m"]:
        """Return the losses of all training rows and all replacement rows, without the penalty."""
        x, y = jnp.concatenate([self.x, self.other_x]), jnp.concatenate([self.y, self.other_y])
        return huber(x @ weights - y, self.zone)


def opposed_rows(
    key: Key[Array, ""], n: int, d: int, norm: Float[Array, ""], far: Float[Array, ""]
) -> tuple[Array, Array, Array, Array]:
    """Draw rows x, y and replacements x', y'. Half of the draws are opposed rows, the others are random rows.

    In opposed draws, all inputs are one vector, half of the targets are `far` and half are -`far`, and each replacement
    has the opposite target. If far - |<x, w>| exceeds `zone`, losses are linear in w, and a replacement reverses a
    gradient. Such losses are the worst case of every bound on stability.
    """
    keys = jax.random.split(key, 6)
    direction = jax.random.normal(keys[0], (d,))
    direction = norm * direction / jnp.linalg.norm(direction)
    signs = jax.random.rademacher(keys[1], (), jnp.float64) * jnp.where(jnp.arange(n) % 2 == 0, 1.0, -1.0)
    x = jax.random.normal(keys[2], (2, n, d))
    x = norm * x / jnp.linalg.norm(x, axis=2, keepdims=True)
    y = far * jax.random.normal(keys[3], (2, n)) / 4
    worst = jax.random.uniform(keys[4]) < 0.5
    pick = lambda tight, random: jnp.where(worst, tight, random)
    tight = jnp.broadcast_to(direction, (n, d))
    return pick(tight, x[0]), pick(far * signs, y[0]), pick(tight, x[1]), pick(-far * signs, y[1])


class OpposedRows(Population[ReplacedRows]):
    """Regressions with a penalty and inputs of equal norm. Half have opposed targets, half have random rows."""

    free = ("x", "y", "other_x", "other_y")
    settings = Space(n=Integer(16, 2, 200, "training rows"), d=Integer(3, 1, 30, "weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ReplacedRows:
        """Draw an input norm between 0.3 and 3, and a loss whose curvature is 2 to 10 times that of the penalty."""
        key, row_key = jax.random.split(key)
        u = jax.random.uniform(key, (3,))
        norm, decay = 0.3 * 10 ** u[0], 0.1 * 10 ** u[1]
        zone = norm**2 / (decay * (2 + 8 * u[2]))
        # |w| is at most norm/decay at any minimiser
        rows = opposed_rows(row_key, setting["n"], setting["d"], norm, 2 * norm**2 / decay + zone)
        return ReplacedRows(*rows, zone, decay)

    def hypotheses(self, problem: ReplacedRows) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the penalty is strictly convex (alpha)",
                problem.decay,
                ">",
                0.0,
                "otherwise minimisers need not be close to each other",
            ),
            Hypothesis("losses are convex and Lipschitz (zone)", problem.zone, ">", 0.0, "the loss is Huber's"),
        ]


class FiniteLaw(eqx.Module):
    """A uniform distribution on finitely many rows, the size n of samples, reference weights w*, and Huber's loss.

    Args:
        x, y: the rows of the distribution.
        comparator: the weights w* whose risk is compared with the risk of fitted weights.
        zone: the size of residuals up to which Huber's loss is quadratic.
        n: the number of rows of a sample.
    """

    x: Float[Array, "m d"]
    y: Float[Array, " m"]
    comparator: Float[Array, " d"]
    zone: Float[Array, ""]
    n: int = eqx.field(static=True)

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """The largest norm of an input."""
        return jnp.linalg.norm(self.x, axis=1).max()

    def risk(self, weights: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the exact risk, the mean loss over all rows of the distribution."""
        return jnp.mean(huber(self.x @ weights - self.y, self.zone))


class FiniteLaws(Population[FiniteLaw]):
    """Sparse or dense distributions of rows.

    A sparse distribution has as many rows as weights, and each row involves only one weight. So a weight whose row is
    not drawn is not learned. A dense distribution has 8 times as many random rows as weights, and targets with noise.
    """

    free = ("x", "y", "comparator")
    settings = Space(
        n=Integer(24, 8, 200, "rows per sample"),
        d=Integer(17, 4, 200, "weights"),
        law=Choice("sparse", ("sparse", "dense"), "distribution of the rows"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FiniteLaw:
        """Draw a distribution. The norms of inputs and of w* are between 0.3 and 3."""
        keys = jax.random.split(key, 4)
        u, d = jax.random.uniform(keys[0], (2,)), setting["d"]
        norm, size = 0.3 * 10 ** u[0], 0.3 * 10 ** u[1]
        if setting["law"] == "sparse":
            comparator = size / d**0.5 * jax.random.rademacher(keys[1], (d,), jnp.float64)
            x = norm * jnp.eye(d)
            return FiniteLaw(x, x @ comparator, comparator, 0.1 * norm * size / d**0.5, setting["n"])
        comparator = jax.random.normal(keys[1], (d,))
        comparator = size * comparator / jnp.linalg.norm(comparator)
        x = jax.random.normal(keys[2], (8 * d, d))
        x = norm * x / jnp.linalg.norm(x, axis=1, keepdims=True)
        scale = norm * size / d**0.5
        y = x @ comparator + scale * jax.random.normal(keys[3], (8 * d,))
        return FiniteLaw(x, y, comparator, 0.3 * scale, setting["n"])

    def hypotheses(self, problem: FiniteLaw) -> list[Hypothesis]:
        size = jnp.linalg.norm(problem.comparator)
        return [
            Hypothesis("w* is not 0", size, ">", 0.0, "the best penalty is inversely proportional to the norm of w*"),
            Hypothesis("losses are convex and Lipschitz (zone)", problem.zone, ">", 0.0, "the loss is Huber's"),
        ]
