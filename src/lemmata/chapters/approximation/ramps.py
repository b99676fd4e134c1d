"""Steps: functions of one variable as integrals of ramps, the lemma behind universal features.

This theory controls how well the ramps phi(tau (z - t)), t in [-2, 1], represent a function on [-1, 1] with slopes
at most 1, and with how much weight. It assumes |g(-1)| <= 1; it leaves unexplained what better weights would do,
since it takes those that are exact for steps, the limit of large tau.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space, Status
from lemmata.functions import ramp, step_density

from ._gauss_legendre import pieces
from ._ramp_quadrature import Line as Line

_SHARPNESS = Real(64.0, 2.0, 1e4, "tau")


def step_distance(sharpness: float | Array) -> Float[Array, ""]:
    """delta_tau = inf over 0 < e <= 1/2 of 2 e + sup_{|x| >= e} |phi(tau x) - 1(x > 0)|, by search (equation 69).

    Args:
        sharpness: tau.
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


class Ramp(eqx.Module):
    """A sharpness.

    Args:
        sharpness: tau.
    """

    sharpness: Float[Array, ""]


class StepDistance(Claim[Ramp]):
    """For tau >= 2 the distance of the ramp from the step,

        delta_tau = inf over 0 < e <= 1/2 of { 2 e + sup_{|x| >= e} |phi(tau x) - 1(x > 0)| } = 1/tau,

    attained at e = 1/(2 tau), where the ramp has become the step.
    """

    title = "A ramp of slope tau is 1/tau away from a step"
    source = Source("li2025incontext", "(69)", note="proof of Lemma 1, with its end")
    relation = Equal()
    label = "identity"
    controls = "the distance of a ramp from a step"
    unexplained = "why the two terms are added with these factors"
    problem = Ramp
    trials = 128
    batch = 128

    def sample(self, setting: dict, key: Key[Array, ""]) -> Ramp:
        """tau between 2 and 200, uniform in its logarithm."""
        return Ramp(2 * 100 ** jax.random.uniform(key))

    def hypotheses(self, problem: Ramp) -> list[Hypothesis]:
        """tau is at least 2."""
        return [Hypothesis("tau is at least 2", problem.sharpness, ">=", 2.0, "1/(2 tau) <= 1/2, with falling sums")]

    def predict(self, problem: Ramp) -> Array:
        """1/tau."""
        return 1 / problem.sharpness

    def measure(self, problem: Ramp, key: Key[Array, ""]) -> Array:
        """The infimum, by ternary search."""
        return step_distance(problem.sharpness)

    def condition(self, problem: Ramp) -> Array:
        """phi is read off 1 - phi."""
        return problem.sharpness

    def control(self) -> Control:
        """What one half of the two sides would give."""
        return Control("1/(tau + 1)", lambda distance, problem: 1 / (problem.sharpness + 1))


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

    def represented(self, z: Float[Array, ""]) -> Float[Array, ""]:
        """The integral of gamma(t) phi(tau (z - t)) over [-2, 1]."""
        kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / self.sharpness, -2.0, 1.0)
        below = -1 - jnp.abs(jnp.cos(self.theta - self.length) - jnp.cos(self.theta)) / self.length
        nodes, weights = pieces(jnp.concatenate([jnp.stack([*map(jnp.asarray, (-2.0, -1.0, 1.0)), below]), kinks]), 32)
        return weights @ (step_density(nodes, self.length, self.theta) * ramp(self.sharpness * (z - nodes)))


class WaveByRamps(Claim[Wave]):
    """For every length, phase and tau >= 2, with gamma of (82), |gamma| <= 1,

        |(cos(length z + theta) - cos(theta))/length - integral of gamma(t) phi(tau (z - t)) over [-2, 1]| <= 1/(4 tau)

    on [-1, 1], where the source has 3/tau: the ramp differs from the step by 1/(4 tau) in mean. Both inequalities are
    judged, the second as tau times the distance.
    """

    title = "A cosine by ramps"
    source = Source("li2025incontext", "(75a)", "(75b)", note="proof of Lemma 5, the first with 1/4 in place of 3")
    relation = AtMost()
    controls = "the distance of a cosine from an integral of ramps"
    unexplained = "better weights than those that are exact for steps"
    problem = Wave
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """The sharpness."""
        return Space(tau=Real(8.0, 2.0, 8.0, "tau"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Wave:
        """Lengths up to 7 tau, uniform phases and 32 points; at one of them the slope is 0 where it can be."""
        drawn = jax.random.uniform(key, (34,))
        tau = jnp.asarray(setting["tau"])
        length, theta = 7 * tau * drawn[0], 2 * jnp.pi * drawn[1]
        turn = (jnp.pi * jnp.round((length * 0.5 * (2 * drawn[2] - 1) + theta) / jnp.pi) - theta) / length
        return Wave(length, theta, tau, jnp.append(2 * drawn[3:] - 1, jnp.clip(turn, -1.0, 1.0)))

    def hypotheses(self, problem: Wave) -> list[Hypothesis]:
        """tau at least 2, points in [-1, 1]."""
        return [
            Hypothesis("tau is at least 2", problem.sharpness, ">=", 2.0, "delta_tau is 1/tau"),
            Hypothesis("points lie in [-1, 1]", jnp.abs(problem.z).max(), "<=", 1.0, "the unit ball"),
        ]

    def predict(self, problem: Wave) -> Array:
        """1/4 and 1."""
        return jnp.array([0.25, 1.0])

    def measure(self, problem: Wave, key: Key[Array, ""]) -> Array:
        """tau times the largest distance by quadrature, and the largest |gamma|."""
        found = jax.vmap(problem.represented)(problem.z)
        truth = (jnp.cos(problem.length * problem.z + problem.theta) - jnp.cos(problem.theta)) / problem.length
        density = step_density(jnp.linspace(-2.0, 1.0, 301), problem.length, problem.theta)
        return jnp.stack([problem.sharpness * jnp.abs(truth - found).max(), jnp.abs(density).max()])

    def control(self) -> Control:
        """The largest distance of waves in the interior is 1/(2 pi tau)."""
        return Control("half of the distance", lambda bounds, problem: bounds * jnp.array([0.5, 1.0]))


class AbstractLineClaim(Claim[Line]):
    """Statements about functions with slopes at most 1 that are linear between knots."""

    relation = AtMost()
    controls = "the distance of a function with bounded slopes from an integral of ramps"
    unexplained = "better weights than those that are exact for steps"
    problem = Line
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Pieces and sharpness."""
        return Space(pieces=Integer(8, 1, 64, "pieces of straight lines"), tau=_SHARPNESS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Line:
        """Slopes of 1 and -1 for the most part, g(-1) of either sign, most often of modulus 1."""
        drawn = jnp.clip(1.5 * jax.random.normal(key, (setting["pieces"] + 1,)), -1.0, 1.0)
        return Line(drawn[0], drawn[1:], jnp.asarray(setting["tau"]))

    def hypotheses(self, problem: Line) -> list[Hypothesis]:
        """Slopes, the first value and tau."""
        return [
            Hypothesis("slopes are at most 1", jnp.abs(problem.slopes).max(), "<=", 1.0, "|g'| <= 1"),
            Hypothesis("|g(-1)| is at most 1", jnp.abs(problem.start), "<=", 1.0, "thresholds reach down to -2"),
            Hypothesis("tau is at least 2", problem.sharpness, ">=", 2.0, "delta_tau is 1/tau"),
        ]


class LineByRamps(AbstractLineClaim):
    """For every g on [-1, 1] with |g'| <= 1 and |g(-1)| <= 1 there is a gamma on [-2, 1], |gamma| <= 1, with

        sup over z in [-1, 1] of |g(z) - integral of gamma(t) phi(tau (z - t))| <= 1/(4 tau) <= 3 delta_tau:

    that of (82), with z - t where (81a) prints z + t. The constant is the best for this gamma: a corner attains it.
    """

    title = "A function with bounded slopes by ramps"
    source = Source("li2025incontext", "(81a)", note="proof of Lemma 5, with z - t, and 1/4 in place of 3")
    corrects = "approximation.ramps.line_by_ramps_as_printed"

    def predict(self, problem: Line) -> Array:
        """1/(4 tau)."""
        return 1 / (4 * problem.sharpness)

    def measure(self, problem: Line, key: Key[Array, ""]) -> Array:
        """The largest distance over knots and 32 other points, by quadrature that is exact for lines."""
        z = jnp.concatenate([problem.knots, jax.random.uniform(key, (32,), minval=-1.0, maxval=1.0)])
        return jnp.abs(problem(z) - jax.vmap(problem.represented)(z)).max()

    def condition(self, problem: Line) -> Array:
        """The bound is small against g, which cancels."""
        return 4 * problem.sharpness

    def control(self) -> Control:
        """Attained where a slope of 1 meets one of -1."""
        return Control("nine tenths of it", lambda bound, problem: 0.9 * bound)


class LineByRampsAsPrinted(AbstractLineClaim):
    """As printed: for every such g there is a gamma on [-2, 1] with integral of |gamma| at most 3 and

        sup over z in [-1, 1] of |g(z) - integral of gamma(t) phi(tau (z + t))| <= 3 delta_tau = 3/tau.

    At z = -1 only t > 1 - 1/(2 tau) counts, with phi <= 1/2. Weights 5/9, -1/3, 1/9 on the points -1, -1 + 1/(2 tau)
    and -1 + 1/tau give, for every t, a sum of ramps of at most 1/18: whatever gamma is, the distance is at least
    |5/9 g(z_1) - 1/3 g(z_2) + 1/9 g(z_3)| - 3/18, which is 1/6 for g = 1 and every tau.
    """

    title = "A function with bounded slopes by ramps, with the printed sign"
    source = Source("li2025incontext", "(81a)", note="proof of Lemma 5")
    expected = Status.REFUTED

    def predict(self, problem: Line) -> Array:
        """3/tau."""
        return 3 / problem.sharpness

    def measure(self, problem: Line, key: Key[Array, ""]) -> Array:
        """The lower bound of the best distance; the sum of ramps is linear in t between multiples of 1/(2 tau)."""
        weights, steps = jnp.array([5.0, -3.0, 1.0]) / 9, jnp.array([0.0, 0.5, 1.0])
        z = -1 + steps / problem.sharpness
        t = 1 - jnp.append(jnp.arange(0.0, 4.5, 0.25), 3 * problem.sharpness) / problem.sharpness
        sums = ramp(problem.sharpness * (z + t[:, None])) @ weights
        return jnp.abs(weights @ problem(z)) - 3 * jnp.abs(sums).max()

    def control(self) -> Control:
        """A stronger statement."""
        return Control("within delta_tau", lambda bound, problem: bound / 3)


class LineWeights(AbstractLineClaim):
    """The gamma of (82) has integral of |gamma| = |g(-1)| + integral of |g'| <= 3."""

    title = "The weight of the ramps"
    source = Source("li2025incontext", "(81b)", note="proof of Lemma 5")
    controls = "the weight of the ramps that represent a function with bounded slopes"

    def predict(self, problem: Line) -> Array:
        """3."""
        return jnp.asarray(3.0)

    def measure(self, problem: Line, key: Key[Array, ""]) -> Array:
        """The integral, by quadrature."""
        nodes, weights = pieces(problem.ends)
        return weights @ jnp.abs(problem.density(nodes))

    def control(self) -> Control:
        """Functions with slopes of 1 throughout and |g(-1)| = 1 have 3."""
        return Control("five sixths of it", lambda bound, problem: 5 * bound / 6)
