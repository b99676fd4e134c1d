"""Worst cases of gradient descent with given steps on smooth convex functions.

This theory computes the largest value that can remain after n steps, over all smooth convex functions. It assumes exact
gradients and steps that are chosen in advance. It does not explain typical functions, on which descent is faster than
in the worst case.
"""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import root_scalar

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.depth._performance import certificate

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}

_ACCURACY = 1e-8
_LONG = float(np.sqrt(2.0))
SILVER = {3: (_LONG, 2.0, _LONG), 7: (_LONG, 2.0, _LONG, 2.0 + _LONG, _LONG, 2.0, _LONG)}


class EqualSteps(eqx.Module):
    """n steps of length h/B on a B-smooth convex function. The start is at distance D from a minimiser."""

    length: Float[Array, ""]
    smoothness: Float[Array, ""]
    distance: Float[Array, ""]
    n: int = eqx.field(static=True)

    @property
    def scale(self) -> Float[Array, ""]:
        """The unit B D² of the worst case."""
        return self.smoothness * self.distance**2


def _false(n: int, h: Array) -> Array:
    return jnp.maximum(1 / (4 * n * h + 3), (1 - h) ** (2 * n) / 3)


class GradientDescentWorst(Claim[EqualSteps]):
    """Let f be convex and B-smooth, with a minimiser x* at the distance D from x_0. Take n gradient steps of length
    h/B, 0 < h < 2. The worst case over all such f is

        max f(x_n) - f(x*) = B D² max(1/(4 n h + 2), (1 - h)^(2n)/2).

    For h = 1, this worst case is B D²/(4n + 2). Huber's function that is quadratic up to the distance D/(2nh + 1) from
    its minimiser, and linear beyond, attains the first term of the maximum. The quadratic B |x|²/2 attains the second
    term. The test compares the formula with both functions, and with the bound that a semidefinite program proves.
    """

    title = (
        "The worst case of gradient descent with a constant step size on smooth convex functions has an exact formula"
    )
    source = Source("drori2014", "Theorem 3.1", note="for h <= 1; for larger h, the paper states a conjecture")
    population = Drawn(
        EqualSteps,
        positive("smoothness"),
        positive("distance"),
        positive("length", "each step goes down the gradient"),
        length=uniform(0.2, 1.95),
        smoothness=log_uniform(0.1, 10.0),
        distance=log_uniform(0.1, 10.0),
        n=Integer(3, 1, 8, "steps", corners=(1, 5)),
    )
    relation = Equal()
    control = Control(
        "1/(4nh + 3) and (1 - h)^(2n)/3 in the maximum",
        lambda worst, problem: jnp.full(2, problem.scale * _false(problem.n, problem.length)),
    )
    controls = "the largest value that can remain after n steps"
    unexplained = "steps of different lengths, and functions other than the worst one"
    traced = False

    def predict(self, problem: EqualSteps) -> Array:
        slow, far = 1 / (4 * problem.n * problem.length + 2), (1 - problem.length) ** (2 * problem.n) / 2
        return problem.scale * jnp.full(2, jnp.maximum(slow, far))

    def measure(self, problem: EqualSteps, key: Key[Array, ""]) -> Array:
        """Return the larger value of two runs of descent, and the least bound that a semidefinite program proves."""
        smoothness, start, length = (float(v) for v in (problem.smoothness, problem.distance, problem.length))
        remaining = []
        for zone in (start / (2 * problem.n * length + 1), np.inf):
            x = start
            for _ in range(problem.n):
                x -= length * np.clip(x, -zone, zone)
            inside = smoothness * x**2 / 2
            remaining.append(inside if abs(x) <= zone else smoothness * zone * (abs(x) - zone / 2))
        proven = certificate(np.full(problem.n, length), accuracy=_ACCURACY).bound
        return jnp.stack([jnp.asarray(max(remaining)), proven * problem.scale])

    def condition(self, problem: EqualSteps) -> Array:
        """Bound the rounding errors. Each step on the quadratic multiplies by 1 - h. The program's bound has the
        relative accuracy _ACCURACY, not 32 eps.
        """
        exact = 4.0 * problem.n * (1 + 1 / jnp.abs(1 - problem.length))
        return jnp.stack([exact, jnp.asarray(2 * _ACCURACY / (32 * np.finfo(float).eps))])


class Distances(eqx.Module):
    """A smoothness B and the distance D of x_0 from a minimiser."""

    smoothness: Float[Array, ""]
    distance: Float[Array, ""]


def least_of_equal_steps(n: int) -> tuple[float, float]:
    """Return the h at which the larger of 1/(4nh + 2) and (1 - h)^(2n)/2 is least, and this least value.

    For n equal steps of any length, the worst case is at least this value times B |x_0 - x*|².
    """
    length = float(root_scalar(lambda h: (h - 1) ** (2 * n) * (2 * n * h + 1) - 1, bracket=(1.0, 2.0)).root)
    return length, 1 / (4 * n * length + 2)


@functools.cache
def _proven(steps: tuple[float, ...]) -> float:
    return certificate(np.asarray(steps), accuracy=_ACCURACY).bound


class LongSteps(Claim[Distances]):
    """Let f be convex and B-smooth, with a minimiser at the distance D from x_0. Let r = sqrt(2). The seven gradient
    steps

        (r, 2, r, 2 + r, r, 2, r)/B

    have a smaller worst case of f(x_7) - f(x*) than seven equal steps of any length. One of these steps is longer than
    2/B, the length at which equal steps begin to diverge. For three steps the order is reversed: the worst case of the
    best three equal steps is smaller than the worst case of (r, 2, r)/B.
    """

    title = "In the worst case, seven silver gradient steps are better than equal steps of any size, but three are not"
    source = Source("altschuler2023", "Abstract", note="the schedule of the paper, compared with equal steps")
    stated = Kind.OWN
    population = Drawn(
        Distances,
        positive("smoothness"),
        positive("distance"),
        smoothness=log_uniform(0.1, 10.0),
        distance=log_uniform(0.1, 10.0),
    )
    relation = AtMost()
    control = Control("0.95 of both", lambda worst, problem: 0.95 * worst)
    controls = "the gain of steps of different lengths"
    unexplained = "the best schedule, and steps that depend on the gradients"
    traced = False

    def predict(self, problem: Distances) -> Array:
        """Return Huber's function after the best equal steps, and after the three silver steps (r, 2, r)/B."""
        remaining = jnp.asarray([least_of_equal_steps(7)[1], 1 / (4 * sum(SILVER[3]) + 2)])
        return problem.smoothness * problem.distance**2 * remaining

    def measure(self, problem: Distances, key: Key[Array, ""]) -> Array:
        """Return the bounds that a semidefinite program proves for the seven silver steps and three equal steps."""
        proven = jnp.asarray([_proven(SILVER[7]), _proven((least_of_equal_steps(3)[0],) * 3)])
        return problem.smoothness * problem.distance**2 * proven

    def trivial(self, problem: Distances) -> Array:
        """Return B D²/2, the largest value of f(x_0) - f(x*)."""
        return jnp.full(2, problem.smoothness * problem.distance**2 / 2)
