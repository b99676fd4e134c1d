"""How long gradient descent takes to find a direction, by the degree of the link's first Hermite polynomial.

This theory is about a label f(<w, x>) with Gaussian x, where f is the link function. A weight vector of length 1
follows the gradient of the population loss on the sphere from a random start. The time until this vector finds w
depends on the degree of the first Hermite polynomial in f and on the dimension. It does not explain networks of many
units, filters of the label, or samples that are used more than once.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Integer, Kind, Rate, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.variables import dimension

ABOUT = {"tool": "dynamical systems", "architecture": "any", "object": "training"}


def hermite(z: Float[Array, "..."], degrees: int) -> Float[Array, "k ..."]:
    """Return the Hermite polynomials h_0, ..., h_(degrees - 1), normalised to E h_k² = 1."""
    found = [jnp.ones_like(z), z]
    for k in range(1, degrees - 1):
        found.append((z * found[k] - math.sqrt(k) * found[k - 1]) / math.sqrt(k + 1))
    return jnp.stack(found[:degrees])


class TwoWays(eqx.Module):
    """Two vectors that give the directions of two ridge functions, and the coefficients c_0, ..., c_4 of both. The
    function f is sum_k c_k h_k with the Hermite polynomials h_0, ..., h_4.
    """

    w: Float[Array, " d"]
    v: Float[Array, " d"]
    coefficients: Float[Array, " 5"]

    @property
    def units(self) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """The directions w and v: both vectors, scaled to length 1."""
        return self.w / jnp.linalg.norm(self.w), self.v / jnp.linalg.norm(self.v)


class GradientOfACorrelation(Claim[TwoWays]):
    """Let x ~ N(0, I), and let w and v be vectors of length 1 with the overlap m = <w, v>. Let f = sum_k c_k h_k, where
    h_k is the k-th Hermite polynomial with E h_k² = 1. The correlation E f(<w, x>) f(<v, x>) is sum_k c_k² m^k. The
    gradient of this correlation in v on the sphere is

        (sum_k k c_k² m^(k-1)) (w - m v).

    So near m = 0 the gradient is as small as m^(k-1), where k is the first degree above 0 with c_k other than 0. This
    degree k is the information exponent.
    """

    title = "Near overlap m = 0 with a hidden direction, the gradient is like m^(k-1) for information exponent k"
    source = Source("benarous2021online", "Abstract", note="the population loss of a ridge function")
    stated = Kind.OWN
    population = Drawn(TwoWays, d=dimension(6, low=2), w=normal("d"), v=normal("d"), coefficients=normal(5))
    relation = Equal(block=-1)
    control = Control(
        "the correlation is sum_k c_k² k m^k", lambda value, problem: _slope(problem, power=2) * _tangent(problem)
    )
    controls = "the population gradient of a single unit"
    unexplained = "losses other than the correlation and the squared loss"

    def predict(self, problem: TwoWays) -> Array:
        return _slope(problem, power=1) * _tangent(problem)

    def measure(self, problem: TwoWays, key: Key[Array, ""]) -> Array:
        """Compute an expectation over the plane of both vectors by quadrature, and differentiate the expectation."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(12)
        weights = weights / weights.sum()
        w, v = problem.units

        def correlation(v: Float[Array, " d"]) -> Float[Array, ""]:
            m = v @ w / jnp.linalg.norm(v)
            other = m * nodes[:, None] + jnp.sqrt(1 - m**2) * nodes
            values = jnp.tensordot(problem.coefficients, hermite(other, 5), 1) @ weights
            return (problem.coefficients @ hermite(jnp.asarray(nodes), 5) * weights) @ values

        return jax.grad(correlation)(v)

    def condition(self, problem: TwoWays) -> Array:
        """Bound the rounding errors. The condition number of sqrt(1 - m²) at m."""
        w, v = problem.units
        size = jnp.sum(problem.coefficients**2) * 30 / (1 - (v @ w) ** 2)
        return size / jnp.abs(self.predict(problem)).max()


def _slope(problem: TwoWays, power: int) -> Array:
    w, v = problem.units
    k = jnp.arange(1.0, 5.0)
    return jnp.sum(k**power * problem.coefficients[1:] ** 2 * (w @ v) ** (k - 1))


def _tangent(problem: TwoWays) -> Array:
    w, v = problem.units
    return w - (w @ v) * v


class RandomStart(eqx.Module):
    """A coefficient c of the link c h_k, and a start with the overlap start / sqrt(d)."""

    coefficient: Float[Array, ""]
    start: Float[Array, ""]
    k: int = eqx.field(static=True)

    def time(self, k: int, d: float) -> Float[Array, ""]:
        """The time of the flow m' = k c² m^(k-1)(1 - m²) from start / sqrt(d) to 1/2, by quadrature in log m."""
        nodes, weights = np.polynomial.legendre.leggauss(200)
        low, high = jnp.log(self.start / jnp.sqrt(d)), jnp.log(0.5)
        m = jnp.exp((low + high) / 2 + (high - low) / 2 * nodes)
        speed = k * self.coefficient**2 * m ** (k - 2) * (1 - m**2)
        return (high - low) / 2 * jnp.sum(weights / speed)


_STARTS = Drawn(
    RandomStart, positive("start", "a unit with overlap 0 does not move"), coefficient=log_uniform(0.3, 3.0),
    start=uniform(0.5, 2.0), k=Integer(3, 3, 6, "information exponent", corners=(3, 4)),
)  # fmt: skip


class FlowAtHighExponents(Claim[RandomStart]):
    """Let w be a hidden direction of length 1, and let the label be c h_k(<w, x>) with Gaussian x in d dimensions. Here
    k >= 3, h_k is the k-th Hermite polynomial, and c is a constant. The direction v of a unit c h_k(<v, x>) follows the
    gradient of the population loss on the sphere. Its overlap <v, w> starts in proportion to d^(-1/2), as for a random
    start. The time until the overlap is 1/2 grows like d^(k/2 - 1).
    """

    title = "In d dimensions, the time to find a direction with information exponent k > 2 grows like d^(k/2 - 1)"
    source = Source("benarous2021online", "Abstract", note="for gradient flow on the population loss")
    stated = Kind.OWN
    population = _STARTS
    relation = Rate("d", (1e3, 1e4, 1e5, 1e6, 1e7))
    control = Control("the time grows like d^((k - 1)/2)", lambda exponent, problem: exponent + 0.5)
    controls = "how long a gradient method needs for a hidden direction"
    unexplained = "the noise of samples, which makes smaller steps necessary"
    trials = 32

    def predict(self, problem: RandomStart) -> Array:
        return jnp.asarray(problem.k / 2 - 1)

    def measure_at(self, problem: RandomStart, key: Key[Array, ""], d: float) -> Array:
        return problem.time(problem.k, d)


class FlowAtLowExponents(Claim[RandomStart]):
    """Let w be a hidden direction of length 1, and let the label be c h_k(<w, x>) with Gaussian x in d dimensions. Here
    h_k is the k-th Hermite polynomial and c is a constant. The direction v of a unit c h_k(<v, x>) follows the gradient
    of the population loss on the sphere. Let m_0 be its overlap <v, w> at the start. The time until the overlap is 1/2
    is, for k = 1 and k = 2,

        (artanh(1/2) - artanh(m_0))/c²   and   (log(1/3) - log(m_0²/(1 - m_0²)))/(4 c²).

    If m_0 = b d^(-1/2) for a constant b > 0, the first time stays below 0.55/c², and the second grows like log(d)/(4
    c²). The trials use d = 10000.
    """

    title = "In d dimensions, the time to find a direction is bounded for information exponent 1, like log d for 2"
    source = Source("benarous2021online", "Abstract", note="for gradient flow on the population loss")
    stated = Kind.OWN
    population = _STARTS
    relation = Equal()
    control = Control("the times have c in place of c²", lambda value, problem: value * problem.coefficient)
    controls = "how long a gradient method needs for a hidden direction"
    unexplained = "the noise of samples"

    def predict(self, problem: RandomStart) -> Array:
        m = problem.start / 100
        first = math.atanh(0.5) - jnp.arctanh(m)
        second = (math.log(1 / 3) - jnp.log(m**2 / (1 - m**2))) / 4
        return jnp.stack([first, second]) / problem.coefficient**2

    def measure(self, problem: RandomStart, key: Key[Array, ""]) -> Array:
        return jnp.stack([problem.time(1, 1e4), problem.time(2, 1e4)])

    def condition(self, problem: RandomStart) -> Array:
        return jnp.asarray(10.0)
