"""Functions of one variable as integrals of ramps. Universal features are based on this representation.

Let phi(s) = min(max(s + 1/2, 0), 1), and let g be a function on [-1, 1] with slopes of at most 1. Equations (69), (81a)
and (82) are those of li2025incontext. This theory describes how well the ramps phi(tau (z - t)), t in [-2, 1],
represent g, and how much weight they need. It assumes |g(-1)| <= 1. It uses the weights that are exact for steps, which
are the limit of ramps for large tau. It does not explain how much smaller the error would be with the best weights for
ramps.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Passage,
    Population,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform
from lemmata.engine.problems.gauss_legendre import pieces
from lemmata.functions import ramp, step_density

ABOUT = {"tool": "approximation theory", "architecture": "random features", "object": "construction"}


def sharp(sharpness: Float[Array, ""]) -> Hypothesis:
    """Return the hypothesis that a ramp equals the step at distances of 1/4 or more from its threshold.

    Args:
        sharpness: the slope tau of the ramp.
    """
    return Hypothesis("tau is at least 2", sharpness, ">=", 2.0, "delta_tau equals 1/tau only then")


class Ramp(eqx.Module):
    """The slope tau of the ramp phi(tau x)."""

    sharpness: Float[Array, ""]


class Wave(eqx.Module):
    """The function g(z) = (cos(length z + theta) - cos(theta)) / length.

    Args:
        length: the length |omega| of the frequency.
        theta: the phase of the cosine.
        sharpness: the slope tau of the ramps.
        z: the points of [-1, 1].
    """

    length: Float[Array, ""]
    theta: Float[Array, ""]
    sharpness: Float[Array, ""]
    z: Float[Array, " m"]

    def values(self) -> Float[Array, " m"]:
        """Return the values of g at the points."""
        return (jnp.cos(self.length * self.z + self.theta) - jnp.cos(self.theta)) / self.length

    def represented(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """Return the integral of gamma(t) phi(tau (z - t)) over t in [-2, 1]."""
        kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / self.sharpness, -2.0, 1.0)
        below = -1 - jnp.abs(jnp.cos(self.theta - self.length) - jnp.cos(self.theta)) / self.length
        nodes, weights = pieces(jnp.concatenate([jnp.stack([*map(jnp.asarray, (-2.0, -1.0, 1.0)), below]), kinks]), 32)
        return weights @ (step_density(nodes, self.length, self.theta) * ramp(self.sharpness * (z - nodes)))


class Waves(Population[Wave]):
    """Waves of lengths up to 7 tau with uniform phases. If possible, the slope is 0 at one of the points."""

    free = ("theta", "z")
    settings = Space(tau=Real(8.0, 2.0, 8.0, "sharpness of the ramps"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Wave:
        drawn = jax.random.uniform(key, (34,))
        tau = jnp.asarray(setting["tau"])
        length, theta = 7 * tau * drawn[0], 2 * jnp.pi * drawn[1]
        turn = (jnp.pi * jnp.round((length * 0.5 * (2 * drawn[2] - 1) + theta) / jnp.pi) - theta) / length
        return Wave(length, theta, tau, jnp.append(2 * drawn[3:] - 1, jnp.clip(turn, -1.0, 1.0)))

    def hypotheses(self, problem: Wave) -> list[Hypothesis]:
        reach = Hypothesis("points lie in [-1, 1]", jnp.abs(problem.z).max(), "<=", 1.0, "the unit ball")
        return [sharp(problem.sharpness), reach]


class Line(eqx.Module):
    """A function g on [-1, 1], given by g(-1) and slopes between equispaced knots, and the slope tau of ramps."""

    start: Float[Array, ""]
    slopes: Float[Array, " k"]
    sharpness: Float[Array, ""]

    @property
    def knots(self) -> Float[Array, " k1"]:
        """The ends of the linear pieces of g."""
        return jnp.linspace(-1.0, 1.0, len(self.slopes) + 1)

    def __call__(self, z: Float[Array, " m"]) -> Float[Array, " m"]:
        """The values of g at the points z."""
        inside = jnp.clip(z[:, None] - self.knots[:-1], 0.0, 2 / len(self.slopes))
        return self.start + inside @ self.slopes

    def density(self, t: Float[Array, " q"]) -> Float[Array, " q"]:
        """Return gamma(t): g' on [-1, 1], and sign g(-1) on an interval of length |g(-1)| below -1 (equation 82)."""
        index = jnp.searchsorted(self.knots, t, side="right") - 1
        inner = jnp.where(t < 1, self.slopes[jnp.clip(index, 0, len(self.slopes) - 1)], 0.0)
        return jnp.where(t >= -1, inner, jnp.where(t >= -1 - jnp.abs(self.start), jnp.sign(self.start), 0.0))

    @property
    def ends(self) -> Float[Array, " e"]:
        """The places at which the density jumps, and the ends of [-2, 1]."""
        return jnp.concatenate([self.knots, jnp.stack([-1 - jnp.abs(self.start), jnp.asarray(-2.0)])])

    def represented(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """Return the integral of gamma(t) phi(tau (z - t)) over t in [-2, 1]."""
        kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / self.sharpness, -2.0, 1.0)
        nodes, weights = pieces(jnp.concatenate([self.ends, kinks]))
        return weights @ (self.density(nodes) * ramp(self.sharpness * (z - nodes)))


class Lines(Population[Line]):
    """Functions whose slopes are often 1 or -1, with g(-1) of either sign and often of modulus 1."""

    free = ("start", "slopes")
    settings = Space(
        pieces=Integer(8, 1, 64, "number of linear pieces"), tau=Real(64.0, 2.0, 1e4, "sharpness of the ramps")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Line:
        drawn = jnp.clip(1.5 * jax.random.normal(key, (setting["pieces"] + 1,)), -1.0, 1.0)
        return Line(drawn[0], drawn[1:], jnp.asarray(setting["tau"]))

    def hypotheses(self, problem: Line) -> list[Hypothesis]:
        return [
            Hypothesis("slopes are at most 1", jnp.abs(problem.slopes).max(), "<=", 1.0, "|g'| <= 1"),
            Hypothesis("|g(-1)| is at most 1", jnp.abs(problem.start), "<=", 1.0, "thresholds reach down to -2"),
            sharp(problem.sharpness),
        ]


def step_distance(sharpness: float | Array) -> Float[Array, ""]:
    """Find delta_tau = inf over 0 < e <= 1/2 of 2 e + sup_{|x| >= e} |phi(tau x) - 1(x > 0)| by search (equation 69).

    Args:
        sharpness: the slope tau of the ramp phi(tau x).
    """
    reach = jnp.linspace(0.0, 1.0, 33) ** 2

    def objective(e: Array) -> Array:
        x = e + reach
        return 2 * e + jnp.maximum(jnp.abs(ramp(sharpness * x) - 1.0).max(), jnp.abs(ramp(-sharpness * x)).max())

    def shrink(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        left, right = low + (high - low) / 3, high - (high - low) / 3
        lower = objective(left) < objective(right)
        return jnp.where(lower, low, left), jnp.where(lower, right, high)

    ends = jax.lax.fori_loop(0, 100, shrink, (jnp.asarray(0.0), jnp.asarray(0.5)))
    return objective((ends[0] + ends[1]) / 2)


def best_constant(values: Float[Array, " m"]) -> Float[Array, ""]:
    """Return the largest distance of the values from the best constant, or from 0 if the latter is smaller.

    Args:
        values: the values of a function.
    """
    return jnp.minimum((values.max() - values.min()) / 2, jnp.abs(values).max())


class StepDistance(Claim[Ramp]):
    """Let phi(tau x) = min(max(tau x + 1/2, 0), 1) be a ramp with slope tau >= 2. The distance of this ramp from the
    step function 1(x > 0) is

        delta_tau = inf over 0 < e <= 1/2 of { 2 e + sup_{|x| >= e} |phi(tau x) - 1(x > 0)| } = 1/tau,

    where the infimum is attained at e = 1/(2 tau). For |x| >= 1/(2 tau), the ramp equals the step function.
    """

    title = "The distance of a ramp of slope tau from a step is 1/tau"
    source = Source("li2025incontext", "(69)", note="proof of Lemma 1, including its end")
    population = Drawn(Ramp, lambda ramp: sharp(ramp.sharpness), sharpness=log_uniform(2.0, 200.0))
    relation = Equal()
    control = Control("1/(tau + 1)", lambda distance, problem: 1 / (problem.sharpness + 1))
    controls = "the distance of a ramp from a step"
    unexplained = "why the two terms are added with these factors"

    def predict(self, problem: Ramp) -> Array:
        return 1 / problem.sharpness

    def measure(self, problem: Ramp, key: Key[Array, ""]) -> Array:
        """Return delta_tau, the infimum over e, by ternary search."""
        return step_distance(problem.sharpness)

    def condition(self, problem: Ramp) -> Array:
        """Bound the rounding errors. The distance of a ramp from 1 is a difference of numbers near 1, which loses
        digits.
        """
        return problem.sharpness


class WaveByRamps(Claim[Wave]):
    """Let |omega| be the length of a frequency, theta a phase and tau >= 2. Let phi(s) = min(max(s + 1/2, 0), 1) be the
    ramp. Equation (82) of the source gives a function gamma on [-2, 1] such that |gamma| <= 1 and

        |(cos(|omega| z + theta) - cos(theta))/|omega| - integral of gamma(t) phi(tau (z - t)) dt| <= 1/(4 tau)

    for z in [-1, 1]. The source has 3/tau in place of 1/(4 tau). The bound 1/(4 tau) is the integral of the absolute
    difference between the ramp phi(tau z) and the step function 1(z > 0). The test checks two inequalities: |gamma| is
    at most 1, and tau times the left side is at most 1/4.
    """

    title = "A cosine is within 1/(4 tau) of an integral of ramps of slope tau"
    source = Source("li2025incontext", "(75a)", "(75b)", note="proof of Lemma 5, (75a) with 1/4 in place of 3")
    population = Waves()
    relation = AtMost()
    control = Control(
        "half of the distance and nine tenths of the weight", lambda bounds, problem: bounds * jnp.array([0.5, 0.9])
    )
    controls = "the distance of a cosine from an integral of ramps"
    unexplained = "weights that are better than the ones used here, which are exact for steps"
    predict = (0.25, 1.0)

    def measure(self, problem: Wave, key: Key[Array, ""]) -> Array:
        """Return tau times the largest distance, by quadrature, and the largest |gamma|."""
        found = jax.vmap(problem.represented)(problem.z)
        density = step_density(jnp.linspace(-2.0, 1.0, 301), problem.length, problem.theta)
        return jnp.stack([problem.sharpness * jnp.abs(problem.values() - found).max(), jnp.abs(density).max()])

    def trivial(self, problem: Wave) -> Array:
        """Return tau times the distance of the best constant; the weights have no trivial bound."""
        return jnp.stack([problem.sharpness * best_constant(problem.values()), jnp.asarray(jnp.inf)])


class LineByRampsAsPrinted(Claim[Line]):
    """The source makes the following statement, which has a misprint. Let g be a function on [-1, 1] with |g'| <= 1 and
    |g(-1)| <= 1. Let tau >= 2, and let phi(s) = min(max(s + 1/2, 0), 1) be the ramp. There is a gamma on [-2, 1] such
    that the integral of |gamma| is at most 3 and

        sup over z in [-1, 1] of |g(z) - integral of gamma(t) phi(tau (z + t)) dt| <= 3 delta_tau = 3/tau.

    The inequality is false. At z = -1, the integrand is 0 unless t is above 1 - 1/(2 tau). For these t, the ramp
    phi(tau (z + t)) is at most 1/2. Let z_1, z_2 and z_3 be the points -1, -1 + 1/(2 tau) and -1 + 1/tau, and give them
    the weights 5/9, -1/3, 1/9. For every t, the weighted sum of the values of the ramp at these points is at most 1/18.
    So whatever gamma is, the left side is at least |5/9 g(z_1) - 1/3 g(z_2) + 1/9 g(z_3)| - 3/18. For g = 1, this
    number is 1/6 at every tau.
    """

    title = "As printed, functions of z with bounded slopes are within 3/tau of integrals of ramps phi(tau (z + t))"
    source = Source("li2025incontext", "(81a)", note="proof of Lemma 5")
    population = Lines()
    relation = AtMost()
    control = Control("within delta_tau", lambda bound, problem: bound / 3)
    controls = "the distance of a function with bounded slopes from an integral of ramps"
    unexplained = "weights that are better than the ones used here, which are exact for steps"
    passage = Passage(
        "004_53e1e75f8b75373c.txt",
        84031,
        84367,
        "286494d100a85583",
        says="a function with slopes at most 1 is within 3 delta_tau of an integral of ramps; the sign is a misprint",
        right_if="the ramps are evaluated at z - t, as in the proof and in (75), where the inequality is used",
        formula="|g(z) - int_[-2,1] gamma(t) phi(tau (z + t)) dt| <= 3 delta_tau",
    )
    expected = Status.REFUTED

    def predict(self, problem: Line) -> Array:
        return 3 / problem.sharpness

    def measure(self, problem: Line, key: Key[Array, ""]) -> Array:
        """Return the lower bound on the distance. The sum of ramps is linear in t between multiples of 1/(2 tau)."""
        weights, steps = jnp.array([5.0, -3.0, 1.0]) / 9, jnp.array([0.0, 0.5, 1.0])
        z = -1 + steps / problem.sharpness
        t = 1 - jnp.append(jnp.arange(0.0, 4.5, 0.25), 3 * problem.sharpness) / problem.sharpness
        sums = ramp(problem.sharpness * (z + t[:, None])) @ weights
        return jnp.abs(weights @ problem(z)) - 3 * jnp.abs(sums).max()

    def trivial(self, problem: Line) -> Array:
        return best_constant(problem(problem.knots))


class LineByRamps(Claim[Line]):
    """Let g be a function on [-1, 1] with |g'| <= 1 and |g(-1)| <= 1. Let tau >= 2, let delta_tau = 1/tau, and let
    phi(s) = min(max(s + 1/2, 0), 1) be the ramp. Equation (82) of the source gives a function gamma on [-2, 1] with
    |gamma| <= 1 and

        sup over z in [-1, 1] of |g(z) - integral of gamma(t) phi(tau (z - t)) dt| <= 1/(4 tau) <= 3 delta_tau.

    Equation (81a) of the source prints z + t in place of z - t. For this gamma, the constant 1/4 in 1/(4 tau) is the
    best possible, since a function g with a corner attains it.
    """

    title = "A function with slopes bounded by 1 is within 1/(4 tau) of an integral of ramps of slope tau"
    source = Source("li2025incontext", "(81a)", note="proof of Lemma 5, with z - t, and 1/4 in place of 3")
    population = Lines()
    corrects = LineByRampsAsPrinted
    relation = AtMost()
    control = Control("nine tenths of the bound", lambda bound, problem: 0.9 * bound)
    controls = "the distance of a function with bounded slopes from an integral of ramps"
    unexplained = "weights that are better than the ones used here, which are exact for steps"

    def predict(self, problem: Line) -> Array:
        return 1 / (4 * problem.sharpness)

    def measure(self, problem: Line, key: Key[Array, ""]) -> Array:
        """Return the largest distance at the knots and 32 other points, by quadrature that is exact for lines."""
        z = jnp.concatenate([problem.knots, jax.random.uniform(key, (32,), minval=-1.0, maxval=1.0)])
        return jnp.abs(problem(z) - jax.vmap(problem.represented)(z)).max()

    def trivial(self, problem: Line) -> Array:
        return best_constant(problem(problem.knots))

    def condition(self, problem: Line) -> Array:
        """Bound the rounding errors. The distance is a small difference of values as large as g."""
        return 4 * problem.sharpness


class LineWeights(Claim[Line]):
    """Let g be a function on [-1, 1] with |g'| <= 1 and |g(-1)| <= 1. Let gamma(t) be the weights of equation (82) of
    the source, with which ramps with thresholds t in [-2, 1] approximate g. Then

        integral of |gamma(t)| dt = |g(-1)| + integral of |g'| <= 3.
    """

    title = "The weights with which ramps approximate a function with slopes of at most 1 have an l_1 norm of at most 3"
    source = Source("li2025incontext", "(81b)", note="proof of Lemma 5")
    population = Lines()
    relation = AtMost()
    control = Control("five sixths of the bound", lambda bound, problem: 5 * bound / 6)
    controls = "the weight of the ramps that represent a function with bounded slopes"
    unexplained = "weights that are better than the ones used here, which are exact for steps"
    trivial = "the weights that represent a function have no trivial bound"
    predict = 3.0

    def measure(self, problem: Line, key: Key[Array, ""]) -> Array:
        """Return the integral of |gamma(t)| by quadrature."""
        nodes, weights = pieces(problem.ends)
        return weights @ jnp.abs(problem.density(nodes))
