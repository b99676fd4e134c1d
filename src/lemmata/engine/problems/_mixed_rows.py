"""Rows, the same rows under a fixed attack and under it twice, and a network of one hidden layer that reads them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._attacked_networks import Params, output


class MixedRows(eqx.Module):
    """Rows whose clean and attacked versions share a loss.

    Args:
        params: of the network f(x) = a' erf(W x / sqrt(d)) / sqrt(m), as it is drawn.
        x, y: rows, and labels of +-1.
        x_new, y_new: held-out rows.
        shift: the length of the attack.
        beta: the share of attacked rows in the loss.
    """

    params: Params
    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    x_new: Float[Array, "k d"]
    y_new: Float[Array, " k"]
    shift: Float[Array, ""]
    beta: Float[Array, ""]

    def attacked(self, x: Float[Array, "r d"], y: Float[Array, " r"]) -> Float[Array, "r d"]:
        """One signed step that lowers y f(x) of the network as it is drawn: a map of rows and labels that is fixed."""
        slopes = jax.vmap(jax.grad(output, argnums=1), (None, 0))(self.params, x)
        return x - self.shift * y[:, None] * jnp.sign(slopes)

    def features(self, x: Float[Array, "r d"]) -> Float[Array, "r parameters"]:
        """The gradients of the outputs in the parameters."""
        slopes = jax.vmap(jax.grad(output), (None, 0))(self.params, x)
        return jnp.concatenate([leaf.reshape(len(x), -1) for leaf in slopes], axis=1)

    def mixture(self, params: Params, rows: tuple[Array, Array]) -> Float[Array, " r"]:
        """(1 - beta) f(x) + beta f(A x) for clean and attacked rows."""
        clean, moved = (jax.vmap(lambda q: output(params, q))(own) for own in rows)
        return (1 - self.beta) * clean + self.beta * moved


class MixedRowsOfTwoClasses(Population[MixedRows]):
    """Two Gaussian clouds, attacks that cross a part of the way between them.

    Args:
        n: training rows.
        new: held-out rows.
        apart: half of the distance of the clouds, in standard deviations of an input.
    """

    n: int = eqx.field(default=16, static=True)
    new: int = eqx.field(default=1, static=True)
    apart: float = eqx.field(default=1.5, static=True)

    def settings(self) -> Space:
        """Rows, inputs, width, share, attack."""
        return Space(
            n=Integer(self.n, 4, 2000, "training rows"),
            d=Integer(4, 2, 50, "inputs"),
            width=Integer(48, 8, 2000, "width of the network"),
            beta=Real(0.5, 0.0, 1.0, "share of attacked rows", corners=(0.25, 0.75)),
            shift=Real(0.3, 0.0, 2.0, "of every input under attack"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MixedRows:
        """Clouds at +-apart along a random direction."""
        keys = jax.random.split(key, 5)
        d, count = setting["d"], setting["n"] + self.new
        hidden = 1.5 * jax.random.normal(keys[0], (setting["width"], d))
        readout = jax.random.normal(keys[1], (setting["width"],))
        y = jax.random.rademacher(keys[2], (count,), jnp.float64)
        direction = jax.random.normal(keys[3], (d,))
        direction = self.apart * direction / jnp.linalg.norm(direction)
        x = y[:, None] * direction + jax.random.normal(keys[4], (count, d))
        n = setting["n"]
        numbers = (jnp.asarray(setting["shift"]), jnp.asarray(setting["beta"]))
        return MixedRows((hidden, readout), x[:n], y[:n], x[n:], y[n:], *numbers)

    def hypotheses(self, problem: MixedRows) -> list[Hypothesis]:
        """A share of attacked rows."""
        share = jnp.abs(problem.beta - 0.5)
        return [Hypothesis("beta is a share", share, "<=", 0.5, "weights of two losses that add up to 1")]


class SphereRows(eqx.Module):
    """Points of a sphere with labels, for kernels of infinite width.

    Args:
        x: points of norm sqrt(d).
        y: labels.
        shift: of an attack towards the other class along `direction`.
        direction: the labels' own, y = sign(x'direction) of points that keep a distance from its plane.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    shift: Float[Array, ""]
    direction: Float[Array, " d"]

    def attacked(self, count: int, times: int) -> Float[Array, "r d"]:
        """The first rows after so many attacks, back on the sphere."""
        x = self.x[:count]
        for _ in range(times):
            moved = x - self.shift * self.y[:count, None] * self.direction
            x = moved * jnp.linalg.norm(self.x, axis=1).mean() / jnp.linalg.norm(moved, axis=1, keepdims=True)
        return x


class LabelledSpheres(Population[SphereRows]):
    """Random points of a sphere, labels by a half-space with a gap that the attack does not cross."""

    def settings(self) -> Space:
        """Points, inputs, attack."""
        return Space(
            n=Integer(128, 8, 500, "points", corners=(128, 160)),
            d=Integer(5, 3, 50, "inputs", corners=(4, 6)),
            shift=Real(0.2, 0.0, 0.5, "length of the attack", corners=(0.1, 0.3)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereRows:
        """Points are pushed away from the plane by 1."""
        keys = jax.random.split(key, 2)
        d = setting["d"]
        direction = jax.random.normal(keys[0], (d,))
        direction = direction / jnp.linalg.norm(direction)
        x = jax.random.normal(keys[1], (setting["n"], d))
        y = jnp.where(x @ direction > 0, 1.0, -1.0)
        x = x + y[:, None] * direction
        x = d**0.5 * x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return SphereRows(x, y, jnp.asarray(setting["shift"]), direction)

    def hypotheses(self, problem: SphereRows) -> list[Hypothesis]:
        """No two points are equal."""
        inner = problem.x @ problem.x.T - 2 * jnp.diag(jnp.sum(problem.x**2, axis=1))
        nearest = inner.max() / jnp.sum(problem.x[0] ** 2)
        return [Hypothesis("no two points are equal", nearest, "<", 1.0, "else kernels are singular")]
