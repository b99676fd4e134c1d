"""Steps and affine pieces on an interval: how many units a function of one variable needs.

This theory describes the largest deviation of the best steps and of the best affine pieces from a function. It assumes
one variable, and knots that are placed for the function. It does not explain whether training finds these knots.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Population,
    Rate,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.subjects.approximation._fewest_pieces import least_error, pieces_needed

ABOUT = {"tool": "approximation theory", "architecture": "dense network", "object": "function class"}

_STEPS = Integer(12, 2, 48, "constant pieces", corners=(6, 24))


class LineToStep(eqx.Module):
    """The function slope x + height on [0, 1], and the number of constant pieces."""

    slope: Float[Array, ""]
    height: Float[Array, ""]
    steps: int = eqx.field(static=True)


class StepsForALine(Claim[LineToStep]):
    """Let g(x) = rho x + c on [0, 1] with the slope rho >= 0. For the best approximation of g by a function with K
    constant pieces, the largest error is

        rho/(2K).

    Pieces of equal length attain this error, if the value of each piece is the value of g at the middle of the piece.
    """

    title = (
        "The least error with which K constant pieces on [0, 1] approximate an affine function is its slope "
        "divided by 2K"
    )
    source = Source("emergence2026", "Figure 2.14", note="with the best values and a lower bound")
    stated = Kind.OWN
    population = Drawn(LineToStep, positive("slope"), slope=log_uniform(0.1, 10.0), height=normal(), steps=_STEPS)
    relation = Equal()
    control = Control("one more piece", lambda error, problem: error * problem.steps / (problem.steps + 1))
    controls = "the largest error of the best steps"
    unexplained = "functions whose slope varies, for which other knots are better"

    def predict(self, problem: LineToStep) -> Array:
        return problem.slope / (2 * problem.steps)

    def measure(self, problem: LineToStep, key: Key[Array, ""]) -> Array:
        """Compute the least error by dynamic programming over all partitions of 2K + 1 points into K pieces.

        The least error on these points is already the least error on the interval. K pieces with two points each have
        only 2K points, so some piece contains three points.
        """
        x = jnp.linspace(0.0, 1.0, 2 * problem.steps + 1)
        y = problem.slope * x + problem.height
        # cost[i, j]: half of the range of points i, ..., j - 1
        cost = jnp.abs(y[None, :] - y[:, None]) / 2
        cost = jnp.where(jnp.tri(len(x), k=-1).T.astype(bool) | jnp.eye(len(x), dtype=bool), cost, jnp.inf)
        step = lambda _, best: jnp.min(jnp.maximum(jnp.append(jnp.inf, best[:-1])[:, None], cost), axis=0)
        return jax.lax.fori_loop(1, problem.steps, step, cost[0])[-1]

    def condition(self, problem: LineToStep) -> Array:
        """Bound the rounding errors. The height of the line adds a rounding error."""
        return 1 + 4 * problem.steps * (1 + jnp.abs(problem.height) / problem.slope)


class LipschitzCurve(eqx.Module):
    """A function of Lipschitz constant rho that is affine between equally spaced points of [0, 1]."""

    values: Float[Array, " n"]
    lipschitz: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def at(self, x: Float[Array, " p"]) -> Float[Array, " p"]:
        """The values of the function at x."""
        return jnp.interp(x, jnp.linspace(0.0, 1.0, len(self.values)), self.values)


class LipschitzCurves(Population[LipschitzCurve]):
    """Half of the functions are lines of slope rho or -rho, and half have random slopes of modulus at most rho."""

    settings = Space(steps=_STEPS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LipschitzCurve:
        slope_key, size_key, family_key = jax.random.split(key, 3)
        slopes = jax.random.uniform(slope_key, (240,), minval=-1.0, maxval=1.0)
        slopes = jnp.where(jax.random.bernoulli(family_key), jnp.sign(slopes[0]), slopes)
        lipschitz = 10.0 ** jax.random.uniform(size_key, minval=-1.0, maxval=1.0)
        values = lipschitz * jnp.append(0.0, jnp.cumsum(slopes)) / 240
        return LipschitzCurve(values, lipschitz, setting["steps"])

    def hypotheses(self, problem: LipschitzCurve) -> list[Hypothesis]:
        steepest = jnp.abs(jnp.diff(problem.values)).max() * (len(problem.values) - 1)
        return [Hypothesis("the largest slope", steepest, "<=", problem.lipschitz, "rho bounds the slopes", 1e-9)]


class StepUnits(Claim[LipschitzCurve]):
    """Let g be rho-Lipschitz on [0, 1], and let H(t) = 1 if t >= 0, and 0 otherwise. Consider the network of K - 1
    threshold units

        g(0) + sum_{i=1}^{K-1} (g(i/K) - g((i-1)/K)) H(x - i/K).

    On [0, 1], this network approximates g with an error of at most rho/K everywhere. So K = ceil(rho/epsilon) pieces
    suffice for an error of at most epsilon. Affine functions attain the bound rho/K.
    """

    title = "K - 1 threshold units approximate a rho-Lipschitz function on [0, 1] with error rho/K"
    source = Source("emergence2026", "Proposition 2.7", "Figure 2.13", note="with explicit constants")
    population = LipschitzCurves()
    relation = AtMost()
    control = Control("half of it", lambda bound, problem: bound / 2)
    controls = "the largest error of a network of threshold units"
    unexplained = "functions that vary less than rho allows"

    def predict(self, problem: LipschitzCurve) -> Array:
        return problem.lipschitz / problem.steps

    def measure(self, problem: LipschitzCurve, key: Key[Array, ""]) -> Array:
        """Return the largest error at all knots of the function and on both sides of every jump."""
        k = problem.steps
        places = jnp.arange(1, k) / k
        jumps = jnp.diff(problem.at(jnp.arange(k) / k))
        network = lambda on: problem.values[0] + on @ jumps
        x = jnp.concatenate([jnp.linspace(0.0, 1.0, len(problem.values)), places])
        right = jnp.abs(problem.at(x) - network((x[:, None] >= places).astype(float)))
        left = jnp.abs(problem.at(x) - network((x[:, None] > places).astype(float)))
        return jnp.maximum(right.max(), left.max())

    def condition(self, problem: LipschitzCurve) -> Array:
        """Bound the rounding errors. The error is a difference of values up to rho."""
        return jnp.asarray(300.0 * problem.steps)

    def trivial(self, problem: LipschitzCurve) -> Array:
        """Return rho, which bounds the error of the constant g(0) on [0, 1]."""
        return problem.lipschitz


class SmoothCurve(eqx.Module):
    """The function x -> height exp(rate x) + wave cos(2 pi frequency x + phase) on [0, 1]."""

    height: Float[Array, ""]
    rate: Float[Array, ""]
    wave: Float[Array, ""]
    frequency: Float[Array, ""]
    phase: Float[Array, ""]

    def at(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The values of the function at x."""
        turns = 2 * jnp.pi * self.frequency * x + self.phase
        return self.height * jnp.exp(self.rate * x) + self.wave * jnp.cos(turns)

    def curvature(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The second derivative of the function at x."""
        turns = 2 * jnp.pi * self.frequency * x + self.phase
        wave = self.wave * (2 * jnp.pi * self.frequency) ** 2 * jnp.cos(turns)
        return self.height * self.rate**2 * jnp.exp(self.rate * x) - wave


def _spread(problem: SmoothCurve) -> Array:
    """Return the integral of the square root of |f''| over [0, 1], by the midpoint rule."""
    return jnp.mean(jnp.sqrt(jnp.abs(problem.curvature((jnp.arange(20_000) + 0.5) / 20_000))))


class FreeKnots(Claim[SmoothCurve]):
    """Let f have a continuous second derivative on [0, 1]. Approximate f by N affine pieces, whose ends may be
    anywhere, and let E_N be the least possible value of the largest error. As N grows,

        N² E_N -> (integral of |f''|^(1/2) over [0, 1])² / 16.

    A function with N joined pieces is a network of N - 1 ReLU units and one affine function.
    """

    # On a short interval of length h, the best line for a parabola has the error |f''| h²/16. Equal errors e on all
    # pieces give h = 4 (e/|f''|)^(1/2), and so N = (integral of |f''|^(1/2)) / (4 e^(1/2)).

    title = "The least error of N affine pieces that approximate f falls like N^-2, with a constant from f''"
    source = Source("emergence2026", "Figure 2.11", note="with the best places of N - 1 hinges")
    stated = Kind.OWN
    population = Drawn(
        SmoothCurve,
        positive("height"),
        height=log_uniform(0.5, 2.0),
        rate=uniform(-2.0, 2.0),
        wave=uniform(-1.0, 1.0),
        frequency=uniform(0.25, 1.0),
        phase=uniform(0.0, 2 * np.pi),
    )
    relation = Limit("N", (4.0, 8.0, 16.0, 32.0))
    control = Control("the best pieces are chords between points of f", lambda value, problem: 2 * value)
    controls = "the least error of a piecewise linear function of one variable"
    unexplained = "the knots that gradient descent finds, and functions of several variables"
    trials = 16

    def predict(self, problem: SmoothCurve) -> Array:
        return _spread(problem) ** 2 / 16

    def measure_at(self, problem: SmoothCurve, key: Key[Array, ""], n: float) -> Array:
        return n**2 * least_error(problem.at, int(n))


class CosineToFit(eqx.Module):
    """The function x -> size cos(2 pi q x + phase), fitted with an error of at most size times the tolerance."""

    size: Float[Array, ""]
    phase: Float[Array, ""]
    tolerance: Float[Array, ""]


class FrequencyCostsUnits(Claim[CosineToFit]):
    """Fix a tolerance. The least number of affine pieces that fit cos(2 pi q x) on [0, 1] within this tolerance is
    proportional to q. The curvature of the cosine, by contrast, is proportional to q². On the interval [0, 1/q], which
    holds one period, the least number of pieces does not depend on q. The test divides the number of pieces on [0, 1]
    by the number on [0, 1/q].
    """

    title = "The number of affine pieces that fit a cosine to a fixed tolerance is proportional to its frequency"
    source = Source("emergence2026", "Example 2.13", "Figure 2.21", note="in one variable, with the largest error")
    stated = Kind.OWN
    population = Drawn(
        CosineToFit,
        positive("tolerance"),
        size=log_uniform(0.1, 10.0),
        phase=uniform(0.0, 2 * np.pi),
        tolerance=log_uniform(3e-4, 1e-3),
    )
    relation = Rate("q", (1.0, 2.0, 4.0))
    control = Control("the number of units grows like the square root of q", lambda rate, problem: rate - 0.5)
    controls = "the number of units that a high frequency needs"
    unexplained = "errors that are averaged, and functions of several variables"
    trials = 8
    predict = 1.0

    def measure_at(self, problem: CosineToFit, key: Key[Array, ""], q: float) -> Array:
        wave = lambda x: problem.size * jnp.cos(2 * jnp.pi * q * x + problem.phase)
        count = lambda end: pieces_needed(wave, problem.size * problem.tolerance, end, 1000)
        return count(1.0) / count(1 / q)
