"""Functions on [-1, 1] as integrals of ramps, by quadrature that is exact for pieces of straight lines."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.functions import ramp, step_density

from ._gauss_legendre import pieces


def sharp(sharpness: Float[Array, ""]) -> Hypothesis:
    """That a ramp has become the step within 1/4 of the threshold.

    Args:
        sharpness: tau.
    """
    return Hypothesis("tau is at least 2", sharpness, ">=", 2.0, "delta_tau is 1/tau")


class Ramp(eqx.Module):
    """A sharpness.

    Args:
        sharpness: tau.
    """

    sharpness: Float[Array, ""]


class Ramps(Population[Ramp]):
    """tau between 2 and 200, uniform in its logarithm."""

    def settings(self) -> Space:
        """None."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Ramp:
        """One tau."""
        return Ramp(2 * 100 ** jax.random.uniform(key))

    def hypotheses(self, problem: Ramp) -> list[Hypothesis]:
        """At least 2."""
        return [sharp(problem.sharpness)]


class Wave(eqx.Module):
    """g(z) = (cos(length z + theta) - cos(theta)) / length.

    Args:
        length: |omega|.
        theta: the phase.
        sharpness: tau.
        z: points of [-1, 1].
    """

    length: Float[Array, ""]
    theta: Float[Array, ""]
    sharpness: Float[Array, ""]
    z: Float[Array, " m"]

    def values(self) -> Float[Array, " m"]:
        """Values of g at the points."""
        return (jnp.cos(self.length * self.z + self.theta) - jnp.cos(self.theta)) / self.length

    def represented(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """The integral of gamma(t) phi(tau (z - t)) over [-2, 1]."""
        kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / self.sharpness, -2.0, 1.0)
        below = -1 - jnp.abs(jnp.cos(self.theta - self.length) - jnp.cos(self.theta)) / self.length
        nodes, weights = pieces(jnp.concatenate([jnp.stack([*map(jnp.asarray, (-2.0, -1.0, 1.0)), below]), kinks]), 32)
        return weights @ (step_density(nodes, self.length, self.theta) * ramp(self.sharpness * (z - nodes)))


class Waves(Population[Wave]):
    """Waves of lengths up to 7 tau and uniform phases, at points at one of which the slope is 0 where it can be."""

    free = ("theta", "z")

    def settings(self) -> Space:
        """The sharpness."""
        return Space(tau=Real(8.0, 2.0, 8.0, "sharpness of the ramps"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Wave:
        """32 points."""
        drawn = jax.random.uniform(key, (34,))
        tau = jnp.asarray(setting["tau"])
        length, theta = 7 * tau * drawn[0], 2 * jnp.pi * drawn[1]
        turn = (jnp.pi * jnp.round((length * 0.5 * (2 * drawn[2] - 1) + theta) / jnp.pi) - theta) / length
        return Wave(length, theta, tau, jnp.append(2 * drawn[3:] - 1, jnp.clip(turn, -1.0, 1.0)))

    def hypotheses(self, problem: Wave) -> list[Hypothesis]:
        """A slope, points in [-1, 1]."""
        reach = Hypothesis("points lie in [-1, 1]", jnp.abs(problem.z).max(), "<=", 1.0, "the unit ball")
        return [sharp(problem.sharpness), reach]


class Line(eqx.Module):
    """A function on [-1, 1] that is linear between equally spaced knots.

    Args:
        start: g(-1).
        slopes: its slopes, from left to right.
        sharpness: tau of the ramps that represent it.
    """

    start: Float[Array, ""]
    slopes: Float[Array, " k"]
    sharpness: Float[Array, ""]

    @property
    def knots(self) -> Float[Array, " k1"]:
        """Ends of its pieces."""
        return jnp.linspace(-1.0, 1.0, len(self.slopes) + 1)

    def __call__(self, z: Float[Array, " m"]) -> Float[Array, " m"]:
        """Values of g."""
        inside = jnp.clip(z[:, None] - self.knots[:-1], 0.0, 2 / len(self.slopes))
        return self.start + inside @ self.slopes

    def density(self, t: Float[Array, " q"]) -> Float[Array, " q"]:
        """gamma: g' on [-1, 1], and sign g(-1) on an interval of length |g(-1)| below (li2025incontext, 82)."""
        index = jnp.searchsorted(self.knots, t, side="right") - 1
        inner = jnp.where(t < 1, self.slopes[jnp.clip(index, 0, len(self.slopes) - 1)], 0.0)
        return jnp.where(t >= -1, inner, jnp.where(t >= -1 - jnp.abs(self.start), jnp.sign(self.start), 0.0))

    @property
    def ends(self) -> Float[Array, " e"]:
        """Where the density jumps, and the ends of [-2, 1]."""
        return jnp.concatenate([self.knots, jnp.stack([-1 - jnp.abs(self.start), jnp.asarray(-2.0)])])

    def represented(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """The integral of gamma(t) phi(tau (z - t)) over [-2, 1]."""
        kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / self.sharpness, -2.0, 1.0)
        nodes, weights = pieces(jnp.concatenate([self.ends, kinks]))
        return weights @ (self.density(nodes) * ramp(self.sharpness * (z - nodes)))


class Lines(Population[Line]):
    """Slopes of 1 and -1 for the most part, g(-1) of either sign, most often of modulus 1."""

    free = ("start", "slopes")

    def settings(self) -> Space:
        """Pieces and sharpness."""
        return Space(
            pieces=Integer(8, 1, 64, "pieces of straight lines"), tau=Real(64.0, 2.0, 1e4, "sharpness of the ramps")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Line:
        """Normal numbers, cut off at 1 and -1."""
        drawn = jnp.clip(1.5 * jax.random.normal(key, (setting["pieces"] + 1,)), -1.0, 1.0)
        return Line(drawn[0], drawn[1:], jnp.asarray(setting["tau"]))

    def hypotheses(self, problem: Line) -> list[Hypothesis]:
        """Slopes, the first value and tau."""
        return [
            Hypothesis("slopes are at most 1", jnp.abs(problem.slopes).max(), "<=", 1.0, "|g'| <= 1"),
            Hypothesis("|g(-1)| is at most 1", jnp.abs(problem.start), "<=", 1.0, "thresholds reach down to -2"),
            sharp(problem.sharpness),
        ]
