"""A cubic teacher: when units of an erf network turn to the teacher's direction, and what the network then learns.

N units a_i erf(w_i'x), with readouts a_i of prior variance s/N, learn the teacher H_1(v'x) + epsilon H_3(v'x) from n
labels with noise of variance sigma². The part that is not learned is b H_1 + c H_3, and u = n² s/(sigma⁴ d N) is the
interaction (`CubicTeacher`). Each unit moves in the field of all other units. In d dimensions, its weights w have the
density exp(-d A), so for large d the least action A decides. The theory gives the interaction at which units with the
teacher's direction v become as likely as units without it. It gives the jump of the units' overlap q = w'v at this
interaction, and the number of units with the direction at which the two kinds are equally likely. It leaves open
networks of finite width, whose units depend on each other. It replaces sums over data by expectations, which leaves
open small samples.

For units without the direction, |w|² - q² has its mean under the prior. For units with the direction, it differs: if
|w|² - q² is free, the transition comes at a smaller interaction than if it is fixed at this mean.
"""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import brentq, minimize_scalar, root

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    Hypothesis,
    Kind,
    Limit,
    Population,
    Rate,
    Real,
    Source,
    Space,
)
from lemmata.errors import SolverError
from lemmata.subjects.phases import CubicTeacher, Transition, held_norm_interaction, mixed_phase, transition

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "generalisation"}

_transition = functools.lru_cache(maxsize=256)(transition)


class TaughtUnit(eqx.Module):
    """A model, and the unlearned part of its linear component.

    Args:
        teacher: the model, with epsilon, the weight variance g, and the ratio d/(N s).
        linear: b, the unlearned part of the linear component.
        share: a value of y = q²/(1 + 2|w|²), between 0 and 1/2.
    """

    teacher: CubicTeacher
    linear: float = eqx.field(static=True)
    share: float = eqx.field(static=True)

    @property
    def critical(self) -> Transition:
        """The model's transition, with the value of b at the transition."""
        return _transition(self.teacher)

    def law(
        self, d: int | float, interaction: float, linear: float, cubic: float, count: int = 100
    ) -> tuple[Float[np.ndarray, "q r"], Float[np.ndarray, "q 1"], Float[np.ndarray, "1 r"]]:
        """Return the exact distribution of q = w'v >= 0 and r = |w|² - q² for a unit in d dimensions, on a grid."""
        g, window = self.teacher.weight_variance, np.sqrt(2 / d)
        most = 1.6 * max(1.0, np.sqrt(g) * 2)
        q = ((np.arange(2 * count) + 0.5) * most / (2 * count))[:, None]
        r = np.linspace(max(0.15 - 3 * window, 0.01), 1.0 + 8 * window, count)[None, :] * g
        seen = 2 * q / np.sqrt(np.pi * (1 + 2 * (q**2 + r))) * (linear - 2 * cubic * q**2 / (1 + 2 * (q**2 + r)))
        power = -d * (q**2 + r) / (2 * g) + d * interaction / 2 * seen**2 + (d - 3) / 2 * np.log(r)
        weight = np.exp(power - power.max())
        return weight / weight.sum(), q, r


class CubicTeachers(Population[TaughtUnit]):
    """Models whose parameters differ from the settings by a factor of at most 1.25."""

    settings = Space(
        epsilon=Real(0.5, 0.2, 2.0, "size of the negative cubic component", corners=(0.4, 0.7)),
        weight_variance=Real(0.5, 0.2, 1.0, "variance of weights times d", corners=(0.4, 0.7)),
        ratio=Real(4.0, 0.5, 30.0, "d/(N s), where s/N is the variance of readouts", corners=(3.0, 8.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TaughtUnit:
        """Multiply settings by 0.8 to 1.25; draw b from 0.2 to 0.8 of -2 epsilon, and shares from 0.12 to 0.3."""
        drawn = np.asarray(jax.random.uniform(key, (5,)))
        epsilon, g, ratio = (
            float(setting[name] * 1.25 ** (2 * own - 1))
            for name, own in zip(("epsilon", "weight_variance", "ratio"), drawn, strict=False)
        )
        teacher = CubicTeacher(-epsilon, g, ratio)
        return TaughtUnit(teacher, float(2 * epsilon * (0.2 + 0.6 * drawn[3])), float(0.12 + 0.18 * drawn[4]))

    def hypotheses(self, problem: TaughtUnit) -> list[Hypothesis]:
        """Check that b is so small that the transition is a jump, and name the other assumptions of the model."""
        most = -2 * problem.teacher.epsilon
        return [
            Hypothesis("b", jnp.asarray(problem.linear), "<", most, "otherwise the minimum at 0 moves continuously"),
            Hypothesis.unchecked(
                "sums over data equal their expectations",
                "the statement is about the model with expectations in place of sums",
            ),
        ]


_KEY = "rubin2024grokking"
_REFERENCE = 0.03  # a share that units without the direction have


class LevelMinimaAtHeldNorm(Claim[TaughtUnit]):
    """A network of erf units learns the teacher H_1(v'x) + epsilon H_3(v'x), with Hermite polynomials H_1 and H_3. Let
    b H_1 + c H_3 be the part that is not learned. Take a unit with weights w in d dimensions and the overlap q = w'v,
    and let u be its interaction with the others. Its action is minus its log density. Hold |w|² - q² fixed at g, where
    g/d is the variance of the prior. Suppose that no part of the cubic component is learned, so that c is the
    coefficient epsilon. Let epsilon = -e and 0 < b < 2e. The action divided by d,

        S(q) = q²/(2g) - (2u/pi) q²/(1 + 2(g + q²)) (b - 2c q²/(1 + 2(g + q²)))²,

    has three minima of equal height, at 0 and at ±q with q > 0, exactly at

        u = 27 pi e (1 + 2g) / (16 g (b + e)³),    q² = (1 + 2g) (2e - b)/(2 (b + e)).
    """

    title = "A closed form gives the interaction at which the action of a unit of fixed norm has three equal minima"
    source = Source(_KEY, "Abstract, phase transitions", note="in closed form")
    population = CubicTeachers()
    relation = Equal()
    control = Control("u and q are both a tenth larger", lambda found, problem: 1.1 * found)
    controls = "the transition of this action for a given b"
    unexplained = "the value of b at the transition, which depends on the model's other numbers"
    traced = False

    def predict(self, problem: TaughtUnit) -> Array:
        return jnp.asarray(held_norm_interaction(problem.teacher, problem.linear))

    def measure(self, problem: TaughtUnit, key: Key[Array, ""]) -> Array:
        """Find the q at which the field is largest relative to the prior's action, by a complex-step derivative."""
        g, c, b = problem.teacher.weight_variance, problem.teacher.epsilon, problem.linear

        def gain(q):
            y = q**2 / (1 + 2 * (g + q**2))
            return 4 * g / np.pi * (b - 2 * c * y) ** 2 / (1 + 2 * (g + q**2))

        q = np.linspace(1e-3, 12.0, 4000)
        at = int(np.argmax(gain(q)))
        slope = lambda q: np.imag(gain(q + 1e-30j)) / 1e-30
        found = brentq(slope, q[at - 1], q[at + 1], xtol=1e-15)
        return jnp.asarray([1 / gain(found), found])

    def condition(self, problem: TaughtUnit) -> Array:
        """Bound the errors: the gain is flat at its maximum, so the maximiser is less exact than the maximum."""
        teacher = problem.teacher
        e, g, b = -teacher.epsilon, teacher.weight_variance, problem.linear
        return jnp.asarray([3.0, 10.0 * (1 + 1 / g) * ((b + e) / (2 * e - b)) ** 2])


def share_density(problem: TaughtUnit, d: float, share: float, interaction: float) -> float:
    """Return the log density of y = q²/(1 + 2(q² + r)) at a share, up to a constant.

    The density is an integral over r = |w|² - q², the squared length of w in the other d - 1 dimensions.
    """
    g, c, b = problem.teacher.weight_variance, problem.teacher.epsilon, problem.linear
    r = np.linspace(1e-4, 1 + 12 * d**-0.5, 6000) * g
    q = np.sqrt(share * (1 + 2 * r) / (1 - 2 * share))
    h = 2 * q / np.sqrt(np.pi * (1 + 2 * (q**2 + r))), -4 * q**3 / np.sqrt(np.pi * (1 + 2 * (q**2 + r)) ** 3)
    power = -d * (q**2 + r) / (2 * g) + d * interaction / 2 * (b * h[0] + c * h[1]) ** 2 + (d - 3) / 2 * np.log(r)
    power = power + np.log(q * (1 / share + 2 / (1 - 2 * share)) / 2)  # dq/dy at fixed r
    return float(power.max() + np.log(np.exp(power - power.max()).sum()))


def least_action_difference(problem: TaughtUnit, gain: Callable) -> Array:
    """Return the action divided by d at the problem's share, minus its value at the share 0.03. The interaction is the
    one at the transition with fixed norm.
    """
    u = held_norm_interaction(problem.teacher, problem.linear)[0]
    values = [gain(y, u, problem.linear, problem.teacher.epsilon) for y in (problem.share, _REFERENCE)]
    return jnp.asarray(values[0] - values[1])


class AbstractShareAction(Claim[TaughtUnit]):
    """Statements about the limit for large d of -log p(y)/d for a unit's share y, minus its value at the share 0.03."""

    population = CubicTeachers()
    relation = Limit("d", (100.0, 400.0, 1600.0), margin=0.002, resolution=0.002, relative=False)
    controls = "how unlikely a unit with the teacher's direction is"
    unexplained = "prefactors of exp(-d S), which decide if the interaction is within 1/d of the transition"
    traced = False
    trials = 40

    def measure_at(self, problem: TaughtUnit, key: Key[Array, ""], d: float) -> Array:
        """Compute the difference of actions from the joint density of overlap and norm."""
        u = held_norm_interaction(problem.teacher, problem.linear)[0]
        logs = [share_density(problem, d, y, u) for y in (problem.share, _REFERENCE)]
        return jnp.asarray((logs[1] - logs[0]) / d)


class ShareAction(AbstractShareAction):
    """A network of erf units learns the teacher H_1(v'x) + epsilon H_3(v'x), with Hermite polynomials H_1 and H_3. Let
    b H_1 + c H_3 be the part that is not learned. Take a unit with weights w in d dimensions and the overlap q = w'v,
    and let u be its interaction with the others. Let g/d be the variance of the prior of the weights. Let p(y) be the
    density of the unit's share y = q²/(1 + 2|w|²). As d grows, -log p(y)/d tends, up to a constant, to

        y / (2g (1 - 2y)) - log(1 - 2y)/2 - (2u/pi) y (b - 2cy)².

    Given the share y, the part of w orthogonal to the direction v has the squared length g (1 - 2y).
    """

    title = "The action (negative log density) of a unit's share of the teacher has a closed form if the norm is free"
    source = Source(_KEY, "Abstract, analytical predictions", note="with the norm that goes with an overlap")
    control = Control("the action is higher by a hundredth", lambda found, problem: found + 0.01)

    def predict(self, problem: TaughtUnit) -> Array:
        return least_action_difference(problem, problem.teacher.gain)


def overlap_density(problem: TaughtUnit, d: float, q: float, interaction: float) -> float:
    """Return the log density of the overlap q, up to a constant, by an integral over r = |w|² - q²."""
    g, c, b = problem.teacher.weight_variance, problem.teacher.epsilon, problem.linear
    r = np.linspace(1e-4, 1 + 12 * d**-0.5, 6000) * g
    h = 2 * q / np.sqrt(np.pi * (1 + 2 * (q**2 + r))), -4 * q**3 / np.sqrt(np.pi * (1 + 2 * (q**2 + r)) ** 3)
    power = -d * (q**2 + r) / (2 * g) + d * interaction / 2 * (b * h[0] + c * h[1]) ** 2 + (d - 3) / 2 * np.log(r)
    return float(power.max() + np.log(np.exp(power - power.max()).sum()))


def overlap_action(problem: TaughtUnit, q: float, interaction: float) -> float:
    """Return the action at an overlap, minimised over the other components of w, up to a constant."""
    g, c, b = problem.teacher.weight_variance, problem.teacher.epsilon, problem.linear

    def action(rest: float) -> float:
        y = q**2 / (1 + 2 * (q**2 + rest))
        return (q**2 + rest) / (2 * g) - np.log(rest) / 2 - 2 * interaction / np.pi * y * (b - 2 * c * y) ** 2

    found: Any = minimize_scalar(action, bounds=(1e-3 * g, 1.5 * g), method="bounded", options={"xatol": 1e-10})
    return float(found.fun)


class OverlapAction(Claim[TaughtUnit]):
    """A network of erf units learns the teacher H_1(v'x) + epsilon H_3(v'x), with Hermite polynomials H_1 and H_3. Let
    b H_1 + c H_3 be the part that is not learned. Take a unit with weights w in d dimensions, and let u be its
    interaction with the others. Let g/d be the variance of the prior of the weights. Let p(q) be the density of the
    overlap q = w'v. As d grows, -log p(q)/d tends, up to a constant, to the minimum over r = |w|² - q² of

        (q² + r)/(2g) - log(r)/2 - (2u/pi) y (b - 2cy)²,    y = q²/(1 + 2(q² + r)).

    The mean of r under the prior is g. The minimum is at r = g only if u = 0.
    """

    title = "A minimum over a unit's free norm gives the action (negative log density) of its overlap with the teacher"
    source = Source(_KEY, "Abstract, analytical predictions", note="at a given overlap")
    stated = Kind.OWN
    population = CubicTeachers()
    relation = Limit("d", (100.0, 400.0, 1600.0), margin=0.002, resolution=0.002, relative=False)
    control = Control("the action is higher by a hundredth", lambda found, problem: found + 0.01)
    controls = "how unlikely a unit with the teacher's direction is"
    unexplained = "prefactors of exp(-d S), which decide if the interaction is within 1/d of the transition"
    traced = False
    trials = 40

    def predict(self, problem: TaughtUnit) -> Array:
        u, at = _overlaps_to_compare(problem)
        values = [overlap_action(problem, q, u) for q in at]
        return jnp.asarray(values[0] - values[1])

    def measure_at(self, problem: TaughtUnit, key: Key[Array, ""], d: float) -> Array:
        """Compute the difference of actions from the joint density of overlap and norm."""
        u, at = _overlaps_to_compare(problem)
        logs = [overlap_density(problem, d, q, u) for q in at]
        return jnp.asarray((logs[1] - logs[0]) / d)


def _overlaps_to_compare(problem: TaughtUnit) -> tuple[float, tuple[float, float]]:
    """Return an interaction, and the two overlaps at which the share is the problem's share and 0.03 if r = g."""
    u, g = held_norm_interaction(problem.teacher, problem.linear)[0], problem.teacher.weight_variance
    first, second = (float(np.sqrt(y * (1 + 2 * g) / (1 - 2 * y))) for y in (problem.share, _REFERENCE))
    return float(u), (first, second)


class OverlapJumps(Claim[TaughtUnit]):
    """A network of erf units learns the teacher H_1(v'x) + epsilon H_3(v'x), with Hermite polynomials H_1 and H_3. Take
    a unit with weights w in d dimensions, the overlap q = w'v and the share y = q²/(1 + 2|w|²). Let u_c be its
    interaction with the others at the transition, where units with and without a large overlap are equally likely. Let
    b H_1 + c H_3 be the part that is not learned, and hold b and c at their values at the transition. Compute the mean
    share at an interaction 5 % above u_c, and subtract the mean share at an interaction 5 % below u_c. As d grows, this
    difference tends to the share y > 0 at which the action (minus log density) for the interaction above u_c is
    smallest. So the most likely share jumps at the transition.
    """

    title = "The most likely overlap of a unit with the teacher's direction jumps at the learning transition"
    source = Source(_KEY, "Abstract, sharply distinct")
    population = CubicTeachers()
    relation = Limit("d", (100.0, 400.0, 1600.0), margin=0.02, resolution=0.03)
    control = Control("the jump is four fifths as large", lambda found, problem: 0.8 * found)
    controls = "whether the transition is of first order for one unit"
    unexplained = "the field, which other units lower as soon as they turn to the teacher's direction"
    traced = False
    trials = 12

    def predict(self, problem: TaughtUnit) -> Array:
        """Return the share at which the action is least, on a fine grid away from 0."""
        critical, y = problem.critical, np.linspace(0.02, 0.49, 4701)
        gain = problem.teacher.gain(y, 1.05 * critical.interaction, critical.linear, problem.teacher.epsilon)
        return jnp.asarray(y[np.argmin(gain)])

    def measure_at(self, problem: TaughtUnit, key: Key[Array, ""], d: float) -> Array:
        """Compute the mean shares under the exact distribution."""
        critical, means = problem.critical, []
        for factor in (1.05, 0.95):
            u = factor * critical.interaction
            weight, q, r = problem.law(d, u, critical.linear, problem.teacher.epsilon)
            means.append(float(np.sum(weight * q**2 / (1 + 2 * (q**2 + r)))))
        return jnp.asarray(means[0] - means[1])


def solved_at(problem: TaughtUnit, d: float, interaction: float) -> tuple[float, float]:
    """Return the unlearned parts b and c that solve a network's equations in d dimensions, starting from 0.6 u."""
    target = np.array([1.0, 6**0.5 * problem.teacher.epsilon])

    def lack(found: np.ndarray, u: float) -> np.ndarray:
        weight, q, r = problem.law(d, u, found[0], found[1] / 6**0.5, 40)
        size = 1 + 2 * (q**2 + r)
        h = 2 * q / np.sqrt(np.pi * size), -4 * q**3 / np.sqrt(6 * np.pi * size**3)
        seen = weight * (found[0] * h[0] + found[1] * h[1])
        feedback = d * np.sqrt(u / problem.teacher.ratio) * np.array([np.sum(seen * h[0]), np.sum(seen * h[1])])
        return found + feedback - target

    found = target * [0.6, 1.0]
    for u in interaction * np.array([0.6, 0.8, 1.0]):
        found = root(lack, found, args=(u,), method="lm", tol=1e-8).x
    if np.abs(lack(found, interaction)).max() > 1e-6:
        raise SolverError(
            "equations for b and c", found="no root", rule="a root, that is, a network that agrees with its field"
        )
    return float(found[0]), float(found[1] / 6**0.5)


class MixedPhaseLearns(Claim[TaughtUnit]):
    """Let a network of N erf units learn the teacher H_1(v'x) + epsilon H_3(v'x) from n rows in d dimensions, with
    noise of variance sigma² and readouts of variance s/N. Here H_1 and H_3 are Hermite polynomials. Let b H_1 + c H_3
    be the part of the teacher that is not learned, so 1 - c/epsilon is the learned part of the cubic component. Let a
    unit have weights w, the overlap q = w'v and the share y = q²/(1 + 2|w|²). The action of the unit at y is minus the
    logarithm of the density of y, divided by d, minus the value of this expression at y = 0.

    Let the interaction n² s/(sigma⁴ d N) be 1.6 times its value at the transition. This is the mixed phase, in which
    some units have the direction v. As d grows, the learned part 1 - c/epsilon tends to the value at which a unit is
    equally likely to have the direction or not. Two conditions determine this value. First, at one share y > 0, the
    action and its slope are both 0. Second, (b, sqrt 6 c) = (I + Q s n/sigma²)^-1 (1, sqrt 6 epsilon). Here Q is the
    matrix of second moments, over the units, of a unit's mean products with H_1 and with H_3/sqrt 6. In Q, a number of
    units of order N/d have the share y, and the other units have shares of order 1/d.
    """

    title = "In the mixed phase, where some units have jumped, two conditions give what is learned of a cubic component"
    source = Source(_KEY, "Abstract, mixed phase")
    population = CubicTeachers()
    relation = Limit("d", (50.0, 100.0, 200.0), margin=0.04, resolution=0.05)
    control = Control("the learned part is a fifth larger", lambda found, problem: 1.2 * found)
    controls = "the unlearned part of the teacher, and how many units carry the learned part"
    unexplained = "networks of finite width, whose units are not independent"
    traced = False
    trials = 7

    def predict(self, problem: TaughtUnit) -> Array:
        u = 1.6 * problem.critical.interaction
        return jnp.asarray(1 - mixed_phase(problem.teacher, u).cubic / problem.teacher.epsilon)

    def measure_at(self, problem: TaughtUnit, key: Key[Array, ""], d: float) -> Array:
        """Solve the equations for b and c with the exact distribution of one unit in d dimensions."""
        u = 1.6 * problem.critical.interaction
        return jnp.asarray(1 - solved_at(problem, d, u)[1] / problem.teacher.epsilon)


class LearnsContinuously(Claim[TaughtUnit]):
    """Let a network of N erf units learn a teacher, a linear plus a cubic Hermite polynomial along one direction in d
    dimensions. Let u be the interaction between its units, and raise u above the critical value u_c at which units
    start to turn to this direction. The learned part of the cubic component rises from 0 in proportion to u - u_c. So
    each single unit jumps to the teacher's direction, but the number of units that have jumped, of order N/d, rises
    continuously.
    """

    title = "The learned part of a teacher's cubic component rises continuously at the transition of a network's units"
    source = Source(_KEY, "Abstract, sudden increase", note="for the model, in equilibrium")
    population = CubicTeachers()
    relation = Rate("excess", (0.01, 0.03, 0.09), margin=0.1, resolution=0.1)
    control = Control(
        "the learned part rises like the square root of u - u_c, as an order parameter would",
        lambda found, problem: found - 0.5,
    )
    controls = "how the test error starts to fall along the noise, the width or the number of data"
    unexplained = "training time, along which the same network may pass suddenly from one state to the other"
    traced = False
    trials = 12
    predict = 1.0

    def measure_at(self, problem: TaughtUnit, key: Key[Array, ""], excess: float) -> Array:
        u = (1 + excess) * problem.critical.interaction
        return jnp.asarray(1 - mixed_phase(problem.teacher, u).cubic / problem.teacher.epsilon)
