"""One draw of features serves all functions of a class and all points, by a union bound over a cover.

This theory describes how far the functions of a class are, at most, from combinations of n features. The coefficients
for a function are those of a nearby function in a cover of the class. Lemma 1 and equation (23) are those of
li2025incontext. The theory assumes a cover of the class in the supremum norm. It does not explain how few features
suffice if each function has its own coefficients (see `approximation.features_without_covers`).
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Passage, Source, Status
from lemmata.functions import Cosines, CosineSum, representing_coefficients
from lemmata.subjects.approximation._cosine_ramps import CosineRamps
from lemmata.subjects.approximation._covered_classes import AmplitudeLadder, AmplitudeLadders, Covered, CoveredCosines

from .ramps import best_constant

ABOUT = {"tool": "empirical processes", "architecture": "random features", "object": "function class"}

_DELTA = 0.1
_DISTANCE = "the largest distance over a class from the sums that features represent"
_OWN_COEFFICIENTS = "coefficients that each function has for itself"


class OneFunctionForAllPoints(Claim[AmplitudeLadder]):
    """The source makes the following statement, which is false as printed. Let f belong to a class with the Barron
    parameter C_F. Let phi_i be the n random ramps of slope tau in Lemma 1 of the source. Consider all pairs (f, x),
    where f is a function of the class and x is a point of the unit ball. Equation (23) of the source covers all these
    pairs to the precision epsilon by |N_epsilon| of them. This cover contains a pair whose function f-hat satisfies,
    for all x of the unit ball,

        |f(x) - f(0) - (1/n) sum_i rho_f-hat(t_i, omega_i) phi_i(x)|
            <= C_F (epsilon + 3 delta_tau + sqrt(c log|N_epsilon| / n) + 4 tau epsilon),     delta_tau = 1/tau.

    Here c is a constant, and rho_f-hat(t_i, omega_i) are the coefficients of the ramps that Lemma 1 gives for f-hat.
    With these coefficients, (1/n) times the sum of ramps approximates f-hat(x) - f-hat(0).

    In fact, the cover may give a different function f-hat for each x. For example, let all functions of a cover be
    multiples of one function. Together, these multiples attain every value of f, but no single multiple is near f on
    the whole ball. A cover of the fewest pairs can consist of such multiples, since equation (23) compares only the
    points and the values at these points. The test takes the best tau and the limit of large n, in which sums are
    integrals. As epsilon falls, the bound then falls but the left side does not, so no constant factor would make the
    statement true.
    """

    title = "As printed, one function f-hat from a cover of pairs (function f, point x) approximates f at all points x"
    source = Source("li2025incontext", "proof of Lemma 1, from the cover to all of the class")
    population = AmplitudeLadders()
    relation = AtMost()
    control = Control(
        "the bound without 4 tau epsilon", lambda bound, problem: bound - 4 * problem.sharpness * problem.epsilon
    )
    controls = _DISTANCE
    unexplained = _OWN_COEFFICIENTS
    passage = Passage(
        "004_53e1e75f8b75373c.txt",
        73789,
        75209,
        "78a3ebfc1ea2575a",
        says="for every f, the cover has a pair whose function's coefficients represent f at all inputs",
        right_if="the cover is a cover of functions in the supremum norm; or the pair may depend on the input, but "
        "then the coefficients of Lemma 1 would depend on it, too",
        formula="|f(x) - f(0) - sum_i rho_i phi_i(x)/n| <= C_F (eps + 3 delta_tau + sqrt(c_1 log|N|/n) + 4 tau eps)",
    )
    expected = Status.REFUTED

    def predict(self, problem: AmplitudeLadder) -> Array:
        """Return the bound in the limit of large n, with C_F = 1."""
        return problem.epsilon + 3 / problem.sharpness + 4 * problem.sharpness * problem.epsilon

    def measure(self, problem: AmplitudeLadder, key: Key[Array, ""]) -> Array:
        """Return the distance of the best function of the cover, at 33 equispaced points x."""
        x = jnp.linspace(-1.0, 1.0, 33)
        one, quarter = jnp.ones((1, 1)), jnp.full(1, -jnp.pi / 2)
        sine = CosineRamps(Cosines(one, one[0]), CosineSum(one, one[0], one[0], quarter), problem.sharpness, x[:, None])
        represented = problem.amplitudes[:, None] * sine.integral(problem.sharpness)
        return jnp.abs(problem.wave(x) - represented).max(axis=1).min()

    def trivial(self, problem: AmplitudeLadder) -> Array:
        return best_constant(problem.wave(jnp.linspace(-1.0, 1.0, 33)))


class UniformRepresentation(Claim[Covered]):
    """Cover a class with the Barron parameter C_F to the precision C_F epsilon in the supremum norm, and cover the unit
    ball to the precision epsilon. Let |N| be the product of the sizes of these two covers. Draw n random ramps phi_i of
    slope tau from the distribution that Lemma 1 of the source uses for the class. With probability at least 1 - delta,
    the following holds. For every f of the class, the cover of the class contains an f-hat such that, for all x of the
    ball,

        |f(x) - f(0) - sum_i c_i phi_i(x)|
            <= C_F (2 epsilon + 1/(4 tau) + 3 tau epsilon + 3 sqrt(2 log(2 |N| / delta) / n)).

    Here c_1, ..., c_n are the coefficients that Lemma 1 of the source gives for f-hat. With these coefficients, the sum
    of ramps approximates f-hat(x) - f-hat(0). The function f-hat is within C_F epsilon of f for all x at once. Between
    x and the nearest point of the ball's cover, f-hat changes by at most C_F epsilon, and the sum of ramps by at most 3
    C_F tau epsilon. At the points of the ball's cover, Hoeffding's inequality bounds the error for all |N| pairs of a
    function and a point.
    """

    title = "With a cover in the supremum norm, random ramps approximate all functions of a class uniformly"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="with a cover of functions, and constants")
    population = CoveredCosines()
    corrects = OneFunctionForAllPoints
    relation = AtMost(delta=_DELTA)
    control = Control(
        "a sixteenth of the bound",
        lambda bound, problem: bound / 16,
        loose="a trial has few functions and points compared with |N|",
    )
    controls = _DISTANCE
    unexplained = _OWN_COEFFICIENTS
    expected = Status.VACUOUS

    def predict(self, problem: Covered) -> Array:
        tau, epsilon, n = problem.features.sharpness, problem.epsilon, len(problem.features.thresholds)
        random = 3 * math.sqrt(2 * (math.log(2 / _DELTA) + problem.log_cover()) / n)
        cost = problem.functions.offset() + problem.functions.moment()
        return cost * (2 * epsilon + 1 / (4 * tau) + 3 * tau * epsilon + random)

    def measure(self, problem: Covered, key: Key[Array, ""]) -> Array:
        """Return the largest error of the representation over functions and points."""
        ramps, origin = problem.features(problem.x)[:, :-1], jnp.zeros_like(problem.x[:1])

        def distance(own: Array, near: Array) -> Array:
            f, coefficients = problem.of(own), problem.of(near)
            rho = representing_coefficients(problem.functions, problem.features, coefficients)[:-1]
            return jnp.abs(f(problem.x) - f(origin) - ramps @ rho).max()

        return jax.vmap(distance)(problem.parameters, problem.nearby()).max()

    def trivial(self, problem: Covered) -> Array:
        """Return the smaller of two bounds on the distance from a constant: the first moment bounds the distance from
        f(0), and the sum of amplitudes bounds the distance from 0.
        """
        return jnp.minimum(problem.functions.moment(), problem.functions.sizes.sum())
