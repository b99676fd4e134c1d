"""A wave of one variable as a signed mixture of steps (threshold atoms).

This theory writes h(z) - h(0) as an integral of steps over thresholds, and bounds the error of finitely many steps by
the integral's mass, the integral of |h'|. It assumes that z is bounded. It does not explain how training finds the
thresholds.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Integer, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform

ABOUT = {"tool": "approximation theory", "architecture": "dense network", "object": "construction"}

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_HALF_WAVES = 66  # on [-B, B] there are at most 4 |w| B + 2 of them


class Wave(eqx.Module):
    """The function h(z) = cos(2 pi w z + phase) on [-B, B], where w > 0 gives `periods` = 2 w B periods.

    Args:
        bound: the number B, half of the length of the interval.
        z: the points at which h is tested, as fractions of B.
        atoms: the number M of steps.
    """

    periods: Float[Array, ""]
    phase: Float[Array, ""]
    bound: Float[Array, ""]
    z: Float[Array, " m"]
    atoms: int = eqx.field(static=True)

    @property
    def frequency(self) -> Float[Array, ""]:
        """The angular frequency 2 pi w."""
        return jnp.pi * self.periods / self.bound

    def value(self, z: Array) -> Array:
        """The value h(z) of the wave."""
        return jnp.cos(self.frequency * z + self.phase)

    def slope(self, z: Array) -> Array:
        """The derivative h'(z) of the wave."""
        return -self.frequency * jnp.sin(self.frequency * z + self.phase)

    def variation(self, z: Array) -> Array:
        """Return the integral of |h'| from -B to z: 2 for a half wave, and 1 - cos u for a half wave up to phase u."""
        up_to = lambda u: 2 * jnp.floor(u / jnp.pi) + 1 - jnp.cos(jnp.mod(u, jnp.pi))
        start = -self.frequency * self.bound + self.phase
        return up_to(self.frequency * z + self.phase) - up_to(start)

    def turns(self) -> Array:
        """Return -B, the zeros of h', and B, in order; B is repeated to fill the array."""
        first = jnp.ceil((self.phase - self.frequency * self.bound) / jnp.pi)
        at = ((first + jnp.arange(_HALF_WAVES)) * jnp.pi - self.phase) / self.frequency
        ends = jnp.stack([-self.bound, self.bound])
        return jnp.concatenate([ends[:1], jnp.minimum(at, self.bound), ends[1:]])


def _integral(function, low: Array, high: Array) -> Array:
    """Integrate by Gauss's rule on every interval from low to high, which may be arrays."""
    half = (high - low)[..., None] / 2
    return jnp.sum(half * _WEIGHTS * function((high + low)[..., None] / 2 + half * _NODES), axis=-1)


def _waves(atoms: Integer) -> Drawn:
    return Drawn(
        Wave,
        positive("periods"),
        positive("bound"),
        free=("phase",),
        periods=log_uniform(2.0, 16.0),
        phase=uniform(0.0, 2 * np.pi),
        bound=log_uniform(0.1, 10.0),
        z=uniform(-1.0, 1.0, "m"),
        m=Integer(4, 1, 50, "points z"),
        atoms=atoms,
    )


class ThresholdAtoms(Claim[Wave]):
    """Let h be differentiable on [-B, B]. For every z in [-B, B],

        h(z) - h(0) = int_0^B h'(b) 1{z >= b} db - int_(-B)^0 h'(b) 1{z < b} db.

    Here 1{z >= b} is 1 if z >= b, and 0 otherwise. The right side is a mixture of such threshold atoms over b, with
    signed weights h'(b) db. The total mass of these weights is the integral of |h'| over [-B, B]. For a wave h(z) =
    cos(2 pi w z + phase), each full period contributes 4 to the mass, and the mass is at most 4 pi |w| B. The test
    checks the formula for h(z) - h(0) at random z, and the total mass.
    """

    title = "A cosine wave along one direction is a signed mixture of threshold atoms"
    source = Source("emergence2026", "Figure 3.3", "Figure 3.4", note="with the mass")
    population = _waves(Integer(20, 1, 1000, "steps"))
    relation = Equal(block=1)
    control = Control(
        "the second integral has 1{z >= b}, and the mass is that of whole periods",
        lambda told, problem: jnp.append(
            told[:-1] + problem.value(jnp.zeros(())) - problem.value(-problem.bound), 4 * problem.periods
        ),
    )
    controls = "the representation of a function by infinitely many units"
    unexplained = "other representations of the function, which may have less mass"

    def predict(self, problem: Wave) -> Array:
        values = problem.value(problem.bound * problem.z) - problem.value(jnp.zeros(()))
        return jnp.append(values, problem.variation(problem.bound))

    def measure(self, problem: Wave, key: Key[Array, ""]) -> Array:
        """Compute both integrals between the points at which h' changes its sign. The first is cut off at 0 and z."""
        turns, z = problem.turns(), (problem.bound * problem.z)[:, None]
        cut = lambda low, high: jnp.clip(turns, low, high)
        over = lambda ends: _integral(problem.slope, ends[..., :-1], ends[..., 1:]).sum(axis=-1)
        values = over(cut(0.0, jnp.maximum(z, 0.0))) - over(cut(jnp.minimum(z, 0.0), 0.0))
        sizes = _integral(lambda b: jnp.abs(problem.slope(b)), turns[:-1], turns[1:])
        return jnp.append(values, sizes.sum())

    def condition(self, problem: Wave) -> Array:
        """Allow for the rounding errors of phases, which are at most pi periods + 2 pi."""
        return 8 * jnp.pi * (problem.periods + 2)


class FewThresholds(Claim[Wave]):
    """Let h(z) = cos(2 pi w z + phase) be a wave on [-B, B], and let V be the integral of |h'| over [-B, B]. Cut [-B,
    B] into M intervals on which |h'| has the integral V/M. Replace h by h(-B) plus M steps, one for each interval. Each
    step is at the point that halves the integral of |h'| over its interval. The height of the step is the increase of h
    over this interval. The error of this approximation is at most

        V/(2 M) <= 2 pi |w| B/M   for every z in [-B, B].

    The first bound is attained if h is monotone on one of the intervals.
    """

    title = "A wave of total variation V is within V/(2 M) of a sum of M steps"
    source = Source(
        "emergence2026",
        "Figure 3.5",
        note="the size of the measure decides how many atoms are needed; with explicit constants",
    )
    population = _waves(Integer(40, 2, 1000, "steps"))
    relation = AtMost()
    control = Control("0.95 times the bound is enough", lambda bound, problem: 0.95 * bound)
    controls = "the largest error of a network of M steps"
    unexplained = "steps at better places, for example where h has a peak"
    trivial = 2.0

    def predict(self, problem: Wave) -> Array:
        turns = problem.turns()
        sizes = _integral(lambda b: jnp.abs(problem.slope(b)), turns[:-1], turns[1:])
        return sizes.sum() / (2 * problem.atoms)

    def measure(self, problem: Wave, key: Key[Array, ""]) -> Array:
        """Return the largest error at the zeros of h' and at both sides of every step. Bisection finds the places of
        the steps.
        """
        share = jnp.arange(2 * problem.atoms + 1) / (2 * problem.atoms) * problem.variation(problem.bound)

        def halve(_, ends):
            middle = (ends[0] + ends[1]) / 2
            below = problem.variation(middle) < share
            return jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)

        ends = (jnp.full(share.shape, -problem.bound), jnp.full(share.shape, problem.bound))
        places = jax.lax.fori_loop(0, 60, halve, ends)[1]
        heights = jnp.diff(problem.value(places[::2]))
        levels = problem.value(-problem.bound) + jnp.concatenate([jnp.zeros(1), jnp.cumsum(heights)])
        steps, turns = places[1::2], problem.turns()
        beside = jnp.maximum(jnp.abs(problem.value(steps) - levels[:-1]), jnp.abs(problem.value(steps) - levels[1:]))
        inside = jnp.abs(problem.value(turns) - levels[jnp.searchsorted(steps, turns)])
        return jnp.maximum(beside.max(), inside.max())

    def condition(self, problem: Wave) -> Array:
        """Bound the rounding errors. Phases are rounded. Near a flat peak, places are known only to the square root of
        the rounding error.
        """
        return 8 * jnp.pi * (problem.periods + 2) * problem.atoms
