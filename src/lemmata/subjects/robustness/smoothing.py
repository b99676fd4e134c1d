"""Randomised smoothing: the radius within which the most frequent answer under noise stays the same.

This theory describes a classifier that adds noise to its input and answers the class that a rule gives most often under
this noise. It assumes that only the probability of this class is known, and derives the radius from it. It does not use
other knowledge about the rule, and does not explain what noise costs in accuracy.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Key
from scipy import optimize, stats

from lemmata.answers import share_interval
from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Rate, Source
from lemmata.subjects.robustness import smoothed_radius
from lemmata.subjects.robustness._interval_rules import Drawn, DrawnClasses, IntervalRule, IntervalRules
from lemmata.subjects.robustness._planar_rules import PlanarRule, PlanarRules

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_COHEN = Source(
    "cohen2019smoothing", "Theorem 1", "Theorem 2", note="two classes, with the half-spaces that attain the bound"
)
_FAR = 40.0
_GRID = 4001
_RAYS, _STEPS = 48, 41
_ALPHA = 0.05


def _distance_to_change(problem: IntervalRule) -> Array:
    """Return the least distance from the input at which the smoothed class changes, by a grid and then by bisection."""
    reach = 1.0 / (_GRID - 1) * jnp.arange(_GRID) * _FAR * problem.scale

    def one_side(sign: float) -> Array:
        keeps = lambda shift: problem.probability(sign * shift) > 0.5
        changed = ~keeps(reach)
        first = jnp.argmax(changed)
        ends = jnp.where(changed.any(), reach[jnp.maximum(first - 1, 0)], reach[-1]), reach[first]

        def half(_, ends):
            middle = (ends[0] + ends[1]) / 2
            inside = keeps(middle)
            return jnp.where(inside, middle, ends[0]), jnp.where(inside, ends[1], middle)

        found = jax.lax.fori_loop(0, 60, half, ends)[1]
        return jnp.where(changed.any(), found, reach[-1])

    own = jnp.minimum(one_side(1.0), one_side(-1.0))
    return jnp.where(problem.probability(jnp.zeros(())) > 0.5, own, 0.0)


def _precision(problem: IntervalRule) -> Array:
    """Bisection finds the probability 1/2 up to rounding; a quantile of p has the condition number 1/(1 - p)."""
    p = problem.probability(jnp.zeros(()))
    return 100.0 / jnp.maximum(jnp.minimum(1 - p, jnp.abs(p - 0.5)), 1e-12)


class SmoothedRadius(Claim[IntervalRule]):
    """Let a rule give the class c with probability p > 1/2 at x + sigma z, where z is standard normal. At every input
    within the Euclidean distance

        sigma Phi^-1(p)

    of x, the rule under noise still gives c most often. Here Phi is the normal distribution function. For rules that
    are half-spaces, the most frequent class changes at exactly this distance.
    """

    title = "Smoothing by normal noise certifies the radius sigma Phi^-1(p) for a class of probability p"
    source = _COHEN
    population = IntervalRules()
    relation = AtLeast()
    control = Control(
        "the class stays the same up to a radius that is a twentieth larger", lambda radius, problem: 1.05 * radius
    )
    controls = "the distance at which the smoothed class changes"
    unexplained = "rules other than half-spaces, whose smoothed class stays the same farther away"
    trivial = 0.0

    def predict(self, problem: IntervalRule) -> Array:
        p = problem.probability(jnp.zeros(()))
        return problem.scale * jnp.maximum(norm.ppf(jnp.clip(p, 0.5, 1 - 1e-15)), 0.0)

    def measure(self, problem: IntervalRule, key: Key[Array, ""]) -> Array:
        return _distance_to_change(problem)

    def condition(self, problem: IntervalRule) -> Array:
        return _precision(problem)


class SmoothedRadiusInThePlane(Claim[PlanarRule]):
    """Let a rule on the plane answer 1 on a half-plane, on a disc or on every second square of a checkerboard. Let its
    answer at x + sigma z be 1 with probability p > 1/2, where x is an input and z is standard normal. At every input
    within the Euclidean distance

        sigma Phi^-1(p)

    of x, the rule under noise still answers 1 most often. Here Phi is the normal distribution function. For
    half-planes, the most frequent answer changes at exactly this distance. For discs and checkerboards, the most
    frequent answer changes only at a larger distance.
    """

    title = "Smoothing by normal noise certifies sigma Phi^-1(p) for half-planes, discs and checkerboards"
    source = Source("cohen2019smoothing", "Theorem 1", note="on half-planes, discs and checkerboards")
    population = PlanarRules()
    relation = AtLeast()
    control = Control(
        "the answer stays the same up to a radius that is a twentieth larger", lambda radius, problem: 1.05 * radius
    )
    controls = "the distance at which the smoothed class changes"
    unexplained = "how much larger the radius is for discs and checkerboards"
    trivial = 0.0

    def predict(self, problem: PlanarRule) -> Array:
        p = problem.probability(problem.place)
        return problem.sigma * jnp.maximum(norm.ppf(jnp.clip(p, 0.5, 1 - 1e-15)), 0.0)

    def measure(self, problem: PlanarRule, key: Key[Array, ""]) -> Array:
        """Return the least distance to a change of the answer along 48 rays, or 6 sigma.

        The result is 6 sigma if the answer does not change within 6 sigma. Each ray is searched on a grid, and then by
        bisection.
        """
        angles = 2 * jnp.pi * (jnp.arange(_RAYS) + jax.random.uniform(key)) / _RAYS
        rays = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
        leads = lambda reach: problem.probability(problem.place + reach[..., None] * rays) > 0.5
        grid = 6 * problem.sigma * jnp.arange(1, _STEPS) / (_STEPS - 1)
        changed = ~jax.lax.map(lambda reach: leads(jnp.full(_RAYS, reach)), grid)
        first = jnp.argmax(changed, axis=0)

        def half(_, ends):
            middle = (ends[0] + ends[1]) / 2
            inside = leads(middle)
            return jnp.where(inside, middle, ends[0]), jnp.where(inside, ends[1], middle)

        found = jax.lax.fori_loop(0, 30, half, (grid[first] - grid[0], grid[first]))[1]
        near = jnp.where(changed.any(axis=0), found, grid[-1]).min()
        return jnp.where(problem.probability(problem.place) > 0.5, near, 0.0)

    def condition(self, problem: PlanarRule) -> Array:
        """Bisection finds the probability 1/2 up to rounding; a quantile of p has the condition number 1/(1 - p)."""
        p = problem.probability(problem.place)
        return 1000.0 / jnp.maximum(jnp.minimum(1 - p, jnp.abs(p - 0.5)), 1e-12)


class UniformNoiseRadius(Claim[IntervalRule]):
    """Let a rule give the class c with probability p > 1/2 at x + u, where u is uniform on [-lambda, lambda]^d. At
    every input within the l1 distance

        2 lambda (p - 1/2)

    of x, the rule under noise still gives c most often. If the rule is a threshold on one coordinate, the most frequent
    class changes at exactly this distance.
    """

    title = "Smoothing by uniform noise certifies the l1 radius 2 lambda (p - 1/2) for a class of probability p"
    source = Source("emergence2026", "Figure 13.11", note="for uniform noise, with the radius")
    population = IntervalRules("uniform")
    relation = AtLeast()
    control = Control(
        "the class stays the same up to a radius that is a twentieth larger", lambda radius, problem: 1.05 * radius
    )
    controls = "the distance at which the smoothed class changes"
    unexplained = "shifts along several coordinates, which have less effect"
    trivial = 0.0

    def predict(self, problem: IntervalRule) -> Array:
        p = problem.probability(jnp.zeros(()))
        return 2 * problem.scale * jnp.maximum(p - 0.5, 0.0)

    def measure(self, problem: IntervalRule, key: Key[Array, ""]) -> Array:
        return _distance_to_change(problem)

    def condition(self, problem: IntervalRule) -> Array:
        return _precision(problem)


class LaplaceNoiseRadius(Claim[IntervalRule]):
    """Let a rule give the class c with probability p > 1/2 at x + v, where the coordinates of v are independent Laplace
    variables of scale b. At every input within the l1 distance

        -b log(2 (1 - p))

    of x, the rule under noise still gives c most often. If the rule is a threshold on one coordinate, the most frequent
    class changes at exactly this distance.
    """

    title = "Smoothing by Laplace noise certifies the l1 radius -b log(2 (1 - p)) for a class of probability p"
    source = Source("emergence2026", "Figure 13.11", note="for Laplace noise, with the radius")
    population = IntervalRules("laplace")
    relation = AtLeast()
    control = Control(
        "the class stays the same up to a radius that is a twentieth larger", lambda radius, problem: 1.05 * radius
    )
    controls = "the distance at which the smoothed class changes"
    unexplained = "shifts along several coordinates"
    trivial = 0.0

    def predict(self, problem: IntervalRule) -> Array:
        p = problem.probability(jnp.zeros(()))
        return -problem.scale * jnp.log(jnp.clip(2 * (1 - p), 1e-15, 1.0))

    def measure(self, problem: IntervalRule, key: Key[Array, ""]) -> Array:
        return _distance_to_change(problem)

    def condition(self, problem: IntervalRule) -> Array:
        return _precision(problem)


def _steepest(problem: IntervalRule, key: Key[Array, ""]) -> Array:
    """Return the largest difference quotients of g(x) = E f(x + noise) and of Phi^-1(g), over random pairs of inputs.

    The distance within each pair is at most a tenth of the standard deviation of the noise.
    """
    place_key, step_key = jax.random.split(key)
    left = problem.scale * jax.random.uniform(place_key, (1024,), minval=-2.0, maxval=2.0)
    step = problem.scale * jax.random.uniform(step_key, (1024,), minval=1e-3, maxval=0.1)
    values = problem.probability(jnp.stack([left, left + step]))
    bounded = jnp.clip(values, 1e-12, 1 - 1e-12)
    inner = jnp.where((bounded == values).all(axis=0), jnp.abs(jnp.diff(norm.ppf(bounded), axis=0)[0]), 0.0)
    return jnp.stack([(jnp.abs(values[1] - values[0]) / step).max(), (inner / step).max()])


class PrintedSmoothedSlope(Claim[IntervalRule]):
    """Let f be a function with values in [0, 1], and let z be standard normal. Lemma 1 of the source gives the smoothed
    function x -> E f(x + sigma z) the Lipschitz constant

        sqrt(2/pi) / sigma.

    The function does have this Lipschitz constant, but the sharp constant is half as large.
    """

    title = (
        "A function smoothed by normal noise sigma has the printed Lipschitz constant sqrt(2/pi) / sigma, "
        "which is not sharp"
    )
    source = Source("salman2019smoothing", "Lemma 1", note="as printed, with its constant")
    population = IntervalRules()
    relation = AtMost()
    control = Control(
        "the Lipschitz constant is nine twentieths of the printed one", lambda slope, problem: 0.45 * slope
    )
    controls = "how much an average under noise can change"
    unexplained = "the sharp constant, which is half of the printed one"
    trivial = "f itself may jump"
    condition = 10000.0  # a quotient over a thousandth of the scale

    def predict(self, problem: IntervalRule) -> Array:
        return jnp.sqrt(2 / jnp.pi) / problem.scale

    def measure(self, problem: IntervalRule, key: Key[Array, ""]) -> Array:
        return _steepest(problem, key)[0]


class SmoothedSlope(Claim[IntervalRule]):
    """Let f be the indicator of a union of intervals (or half-lines) in one coordinate of the input. Let z be standard
    normal. The smoothed function x -> E f(x + sigma z) has the Lipschitz constant 1/(sigma sqrt(2 pi)). Let Phi be the
    normal distribution function. The function x -> Phi^-1(E f(x + sigma z)) has the Lipschitz constant 1/sigma on the
    set of inputs at which it is finite. Half-lines attain both Lipschitz constants.
    """

    title = "The sharp Lipschitz constant of an indicator smoothed by normal noise sigma is 1/(sigma sqrt(2 pi))"
    source = Source(
        "salman2019smoothing", note="main results, for indicators of intervals; the first with the sharp constant"
    )
    population = IntervalRules()
    relation = AtMost()
    control = Control("nine tenths of each constant are enough", lambda slopes, problem: 0.9 * slopes)
    controls = "how much an average under noise can change"
    unexplained = "functions of several coordinates, and functions with values between 0 and 1"
    trivial = "f itself may jump"
    # a quotient over a thousandth of the scale, for quantiles up to the quantile of 1e-12
    condition = (10000.0, 10000000.0)

    def predict(self, problem: IntervalRule) -> Array:
        return jnp.array([1 / jnp.sqrt(2 * jnp.pi), 1.0]) / problem.scale

    def measure(self, problem: IntervalRule, key: Key[Array, ""]) -> Array:
        return _steepest(problem, key)


class RadiusFromCounts(Claim[Drawn]):
    """Let a class have the probability p under normal noise of standard deviation sigma, and let it occur k times in n
    draws. Let q be the exact (Clopper-Pearson) lower confidence limit of p at level 1 - alpha, where alpha = 1/20. The
    certified radius is sigma Phi^-1(q), where Phi is the normal distribution function. The certified radius exceeds the
    true radius sigma Phi^-1(p) with probability at most alpha. The test only shows that this probability is below 1/10.
    """

    title = (
        "A robust radius certified from counts of noisy draws at level 1 - alpha is too large with "
        "probability at most alpha"
    )
    source = Source("cohen2019smoothing", "Proposition 2", note="main result on the certificate from draws")
    population = DrawnClasses()
    relation = AtMost(delta=0.1)
    control = Control(
        "the radius exceeds its value at the expected count with probability at most alpha, too",
        lambda radius, problem: _typical(problem),
    )
    controls = "the certificate that a finite number of draws gives"
    unexplained = "how much larger a radius becomes with more draws"
    trivial = "a radius may be any number"
    traced = False  # the limit is SciPy's
    trials = 400

    def predict(self, problem: Drawn) -> Array:
        return problem.sigma * norm.ppf(problem.p)

    def measure(self, problem: Drawn, key: Key[Array, ""]) -> Array:
        generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
        count = int(generator.binomial(problem.n, float(problem.p)))
        return _certified(problem, count)


def _certified(problem: Drawn, count: int) -> Array:
    """Return the radius that is certified if the class occurs in `count` draws."""
    limit = share_interval(float(count), float(problem.n - count), 1 - 2 * _ALPHA)[0]
    return jnp.asarray(smoothed_radius(max(limit, 0.5), float(problem.sigma)))


def _typical(problem: Drawn) -> Array:
    """Return the radius that is certified if the class occurs as often as expected. About half of the certificates have
    larger radii.
    """
    return _certified(problem, round(problem.n * float(problem.p)))


class CeilingOfCounts(Claim[Drawn]):
    """Let a robust radius be certified at level 1 - alpha from n draws under normal noise of standard deviation sigma.
    The certified radius never exceeds

        sigma Phi^-1(alpha^(1/n)),

    where Phi is the normal distribution function. This radius is certified if all n draws give the same class. Even
    then, the draws at level 1 - alpha do not exclude any probability p of this class with p^n >= alpha.
    """

    title = "The largest robust radius that n noisy draws can certify at level 1 - alpha is sigma Phi^-1(alpha^(1/n))"
    source = Source("cohen2019smoothing", "Section 3.2.2", note="for draws that all agree")
    population = DrawnClasses()
    relation = Equal()
    control = Control(
        "the limit is the one that Hoeffding's inequality gives",
        lambda radius, problem: problem.sigma * norm.ppf(1 - jnp.sqrt(jnp.log(1 / _ALPHA) / (2 * problem.n))),
    )
    controls = "the largest certificate that draws can give"
    unexplained = "certificates that use more than counts"
    traced = False  # the limit is SciPy's

    def predict(self, problem: Drawn) -> Array:
        return jnp.asarray(float(problem.sigma) * stats.norm.ppf(_ALPHA ** (1 / problem.n)))

    def measure(self, problem: Drawn, key: Key[Array, ""]) -> Array:
        """Find the smallest p for which n of n draws have probability alpha, by a root of the binomial tail."""
        tail = lambda p: stats.binom.sf(problem.n - 1, problem.n, p) - _ALPHA
        limit = optimize.brentq(tail, 0.5, 1 - 1e-12, xtol=1e-15)
        return jnp.asarray(float(problem.sigma) * -stats.norm.isf(limit))

    def condition(self, problem: Drawn) -> Array:
        """Allow for the condition numbers of an n-th power, and of a quantile at about 1 - 3/n."""
        return jnp.asarray(10.0 * problem.n)


class NoRadiusInTheInfinityNorm(Claim[Drawn]):
    """Let p be the probability of the leading class under normal noise of standard deviation sigma, in d dimensions. If
    only p is known, the largest infinity-norm radius that can be certified is

        sigma Phi^-1(p) d^(-1/2)

    where Phi is the normal distribution function. So this radius falls like d^(-1/2) as the dimension d grows. The
    reason is that the rule may be a half-space with the normal vector (1, ..., 1)/sqrt(d). Its smoothed class changes
    if all coordinates are shifted by this radius.
    """

    title = "The infinity-norm radius that normal noise certifies falls like d^(-1/2)"
    source = Source("blum2020", note="main result, for normal noise and a half-space")
    population = DrawnClasses()
    relation = Rate("d", (4.0, 16.0, 64.0, 256.0, 1024.0))
    control = Control("the radius falls like d^(-1/4)", lambda exponent, problem: exponent / 2)
    controls = "the infinity-norm radius of a smoothed classifier"
    unexplained = "rules that are less aligned with a diagonal of the cube"
    trials = 32
    predict = -0.5

    def measure_at(self, problem: Drawn, key: Key[Array, ""], d: float) -> Array:
        """Bisect the shift s of all coordinates at once, until the half-space has probability 1/2.

        The half-space is {u: <1, u> <= t}, and <1, sigma z> is normal with standard deviation sigma sqrt(d).
        """
        spread = problem.sigma * jnp.sqrt(d)
        edge = norm.ppf(problem.p) * spread

        def half(_, ends):
            middle = (ends[0] + ends[1]) / 2
            leads = norm.cdf((edge - d * middle) / spread) > 0.5
            return jnp.where(leads, middle, ends[0]), jnp.where(leads, ends[1], middle)

        return jax.lax.fori_loop(0, 60, half, (jnp.zeros(()), 10 * problem.sigma))[1]
