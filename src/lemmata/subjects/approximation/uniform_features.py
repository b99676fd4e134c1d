"""Features that serve a whole class: one draw for all functions and all points, by a union bound over a cover.

This theory controls the largest distance over a class between functions and what n features represent, with
coefficients of the functions of a cover. It assumes a cover of the class in the supremum norm; it leaves unexplained
how few features would do with coefficients of the functions themselves (`approximation.features_without_covers`).
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
_DISTANCE = "the largest distance over a class from what features represent"
_OWN_COEFFICIENTS = "coefficients of the functions themselves"


class OneFunctionForAllPoints(Claim[AmplitudeLadder]):
    """As printed: for every f of a class with the Barron parameter C_F there is a pair of the cover (23) of pairs, to
    precision epsilon and with |N_epsilon| elements, whose function f-hat gives, for all x of the unit ball,

        |f(x) - f(0) - (1/n) sum_i rho_f-hat(t_i, omega_i) phi_i(x)|
            <= C_F (epsilon + 3 delta_tau + sqrt(c log|N_epsilon| / n) + 4 tau epsilon),     delta_tau = 1/tau,

    phi_i the n random ramps of slope tau of Lemma 1. The cover gives each x a function of its own. Where all the
    functions of a cover are multiples of one, they meet every value of another function, and none follows it; a cover
    of the fewest pairs can be like that, since of a pair only the point and the value there count. Judged in the limit
    of n, in which sums are integrals, and at the best tau; there the bound falls with epsilon and the distance does
    not, so no constant in front would help.
    """

    title = "One function of the cover for all points, as printed"
    source = Source("li2025incontext", "proof of Lemma 1, from the cover to all of the class")
    population = AmplitudeLadders()
    relation = AtMost()
    control = Control("without 4 tau epsilon", lambda bound, problem: bound - 4 * problem.sharpness * problem.epsilon)
    controls = _DISTANCE
    unexplained = _OWN_COEFFICIENTS
    passage = Passage(
        "004_53e1e75f8b75373c.txt",
        73789,
        75209,
        "78a3ebfc1ea2575a",
        says="for every f there is a pair of the cover whose function's coefficients represent f at all inputs",
        right_if="the cover is one of functions in the supremum norm; or the pair may depend on the input, but then the"
        " coefficients of Lemma 1 would, too",
        formula="|f(x) - f(0) - sum_i rho_i phi_i(x)/n| <= C_F (eps + 3 delta_tau + sqrt(c_1 log|N|/n) + 4 tau eps)",
    )
    expected = Status.REFUTED

    def predict(self, problem: AmplitudeLadder) -> Array:
        """The bound in the limit of n, with C_F = 1."""
        return problem.epsilon + 3 / problem.sharpness + 4 * problem.sharpness * problem.epsilon

    def measure(self, problem: AmplitudeLadder, key: Key[Array, ""]) -> Array:
        """The distance of the best function of the cover, over 33 equal steps in x."""
        x = jnp.linspace(-1.0, 1.0, 33)
        one, quarter = jnp.ones((1, 1)), jnp.full(1, -jnp.pi / 2)
        sine = CosineRamps(Cosines(one, one[0]), CosineSum(one, one[0], one[0], quarter), problem.sharpness, x[:, None])
        represented = problem.amplitudes[:, None] * sine.integral(problem.sharpness)
        return jnp.abs(problem.wave(x) - represented).max(axis=1).min()

    def trivial(self, problem: AmplitudeLadder) -> Array:
        return best_constant(problem.wave(jnp.linspace(-1.0, 1.0, 33)))


class UniformRepresentation(Claim[Covered]):
    """With a cover of a class of Barron parameter C_F in the supremum norm (to C_F epsilon) and one of the unit ball
    (to epsilon), |N| the product of their sizes, and n random ramps phi_i of slope tau drawn for the class: with
    probability at least 1 - delta every f has an f-hat in the cover with, for all x of the ball,

        |f(x) - f(0) - sum_i rho*_f-hat,i phi_i(x)|
            <= C_F (2 epsilon + 1/(4 tau) + 3 tau epsilon + 3 sqrt(2 log(2 |N| / delta) / n)).

    f-hat is C_F epsilon from f for all x at once; f-hat and the ramps move by C_F epsilon and 3 C_F tau epsilon from x
    to its point of the cover, where Hoeffding's inequality holds for all of N.
    """

    title = "Random features for a whole class"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="with a cover of functions, and constants")
    population = CoveredCosines()
    corrects = OneFunctionForAllPoints
    relation = AtMost(delta=_DELTA)
    control = Control(
        "a sixteenth of it",
        lambda bound, problem: bound / 16,
        loose="the functions and points of a trial are few against |N|",
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
        """The largest distance over functions and points."""
        ramps, origin = problem.features(problem.x)[:, :-1], jnp.zeros_like(problem.x[:1])

        def distance(own: Array, near: Array) -> Array:
            f, coefficients = problem.of(own), problem.of(near)
            rho = representing_coefficients(problem.functions, problem.features, coefficients)[:-1]
            return jnp.abs(f(problem.x) - f(origin) - ramps @ rho).max()

        return jax.vmap(distance)(problem.parameters, problem.nearby()).max()

    def trivial(self, problem: Covered) -> Array:
        """No function moves by more than its first moment, nor is beyond its amplitudes from the constant 0."""
        return jnp.minimum(problem.functions.moment(), problem.functions.sizes.sum())
