"""Features that serve a whole class: one draw for all functions and all points, by a union bound over a cover.

This theory controls the largest distance over a class between functions and what n features represent, with
coefficients of the functions of a cover. It assumes a cover of the class in the supremum norm; it leaves unexplained
how few features would do with coefficients of the functions themselves.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Real, Source, Space, Status
from lemmata.functions import (
    Cosines,
    CosineSum,
    UniversalFeatures,
    features_of,
    log_ball_cover,
    representing_coefficients,
)
from lemmata.problems._sampled import draws, points_in_ball

from .ramp_integrals import CosineRamps

_DELTA = 0.1


class Ladder(eqx.Module):
    """The class of all a sin(x), |a| <= 6/11, and b sin(k x), |b| <= 5/(11 k), on [-1, 1]: C_F = 1.

    The multiples of sin on a ladder of amplitudes, at points of a grid, cover all pairs: wherever b sin(k x) is, one of
    the multiples is near.

    Args:
        frequency: k.
        sharpness: tau.
        x: points of [-1, 1].
        epsilon: the precision.
    """

    frequency: Float[Array, ""]
    sharpness: Float[Array, ""]
    x: Float[Array, " m"]
    epsilon: float = eqx.field(static=True)

    @property
    def amplitudes(self) -> Float[Array, " s"]:
        """Steps of the ladder, 2 epsilon apart at most."""
        return jnp.linspace(-6 / 11, 6 / 11, 1 + math.ceil(6 / 11 / self.epsilon))

    def wave(self, x: Float[Array, " m"]) -> Float[Array, " m"]:
        """The steepest b sin(k x).

        Args:
            x: points.
        """
        return 5 / 11 * jnp.sin(self.frequency * x) / self.frequency

    def uncovered(self) -> Float[Array, ""]:
        """The largest distance in value of the pairs (wave, x) from their pairs of the cover, whose x is near."""
        grid = jnp.linspace(0.0, 1.0, 1 + math.ceil(1 / self.epsilon))
        outward = grid[jnp.minimum(jnp.searchsorted(grid, jnp.abs(self.x)), len(grid) - 1)]
        sine = jnp.sin(jnp.sign(self.x) * outward)
        wanted = jnp.clip(self.wave(self.x) / sine, -6 / 11, 6 / 11)
        gap = 12 / 11 / (len(self.amplitudes) - 1)
        step = jnp.round((wanted + 6 / 11) / gap) * gap - 6 / 11
        return jnp.abs(self.wave(self.x) - step * sine).max()


class OneFunctionForAllPoints(Claim[Ladder]):
    """As printed: for every f there is a pair of the cover (23) of pairs whose function f-hat gives, for all x,

        |f(x) - f(0) - (1/n) sum_i rho_f-hat(t_i, omega_i) phi_i(x)|
            <= C_F (epsilon + 3 delta_tau + sqrt(c log|N_epsilon| / n) + 4 tau epsilon).

    The cover gives each x a function of its own. Where all the functions of a cover are multiples of one, they meet
    every value of another function, and none follows it. Judged in the limit of n, in which sums are integrals, and at
    the best tau; there the bound falls with epsilon and the distance does not, so no constant in front would help.
    """

    title = "One function of the cover for all points, as printed"
    source = Source("li2025incontext", "proof of Lemma 1, from the cover to all of the class")
    relation = AtMost()
    controls = "the largest distance over a class from what features represent"
    unexplained = "coefficients of the functions themselves"
    problem = Ladder
    expected = Status.REFUTED
    trials = 128
    batch = 128

    def sample(self, setting: dict, key: Key[Array, ""]) -> Ladder:
        """Frequencies near 4, epsilon = 1e-4, the tau for which the bound is least."""
        drawn = jax.random.uniform(key, (33,))
        return Ladder(3.8 + 0.4 * drawn[0], jnp.sqrt(0.75e4), 2 * drawn[1:] - 1, 1e-4)

    def hypotheses(self, problem: Ladder) -> list[Hypothesis]:
        """The multiples of sin cover the other functions; tau > 4."""
        return [
            Hypothesis("the cover covers", problem.uncovered(), "<=", problem.epsilon, "definition (23)"),
            Hypothesis("tau is more than 4", problem.sharpness, ">", 4.0, "Lemma 1"),
        ]

    def predict(self, problem: Ladder) -> Array:
        """The bound in the limit of n, with C_F = 1."""
        return problem.epsilon + 3 / problem.sharpness + 4 * problem.sharpness * problem.epsilon

    def measure(self, problem: Ladder, key: Key[Array, ""]) -> Array:
        """The distance of the best function of the cover, over 33 equal steps in x."""
        x = jnp.linspace(-1.0, 1.0, 33)
        one, quarter = jnp.ones((1, 1)), jnp.full(1, -jnp.pi / 2)
        sine = CosineRamps(Cosines(one, one[0]), CosineSum(one, one[0], one[0], quarter), problem.sharpness, x[:, None])
        represented = problem.amplitudes[:, None] * sine.integral(problem.sharpness)
        return jnp.abs(problem.wave(x) - represented).max(axis=1).min()

    def control(self) -> Control:
        """A stronger statement."""
        smaller = lambda bound, problem: bound - 4 * problem.sharpness * problem.epsilon
        return Control("without 4 tau epsilon", smaller)


class Covered(eqx.Module):
    """Functions of a class of cosines, those of a cover next to them, and features of the class.

    Args:
        functions: the class.
        parameters: amplitude times cosine and sine of the phase, of each frequency of each function.
        features: the features.
        x: points of the unit ball.
        epsilon: the precision.
    """

    functions: Cosines
    parameters: Float[Array, "k two m"]
    features: UniversalFeatures
    x: Float[Array, "n d"]
    epsilon: float = eqx.field(static=True)

    def nearby(self) -> Float[Array, "k two m"]:
        """Parameters of the cover: cut down to multiples of size epsilon / sqrt(2)."""
        unit = self.functions.sizes * self.epsilon / math.sqrt(2)
        return jnp.trunc(self.parameters / unit) * unit

    def log_cover(self) -> float:
        """log |N|: (1 + 2 sqrt(2)/epsilon)^2m functions, and the cover of the ball."""
        m, d = self.functions.atoms.shape
        return 2 * m * math.log1p(2 * math.sqrt(2) / self.epsilon) + log_ball_cover(d, self.epsilon)

    def of(self, parameters: Float[Array, "two m"]) -> CosineSum:
        """The function with these parameters.

        Args:
            parameters: amplitude times cosine and sine of the phase.
        """
        sizes, phases = jnp.hypot(*parameters), jnp.arctan2(parameters[1], parameters[0])
        return CosineSum(self.functions.atoms, self.functions.sizes, sizes, phases)


class UniformRepresentation(Claim[Covered]):
    """With a cover of the class in the supremum norm and one of the ball, N their product, with probability at least
    1 - delta every f has an f-hat in the cover with, for all x of the ball,

        |f(x) - f(0) - sum_i rho*_f-hat,i phi_i(x)|
            <= C_F (2 epsilon + 1/(4 tau) + 3 tau epsilon + 3 sqrt(2 log(2 |N| / delta) / n)).

    f-hat is C_F epsilon from f for all x at once; f-hat and the ramps move by C_F epsilon and 3 C_F tau epsilon from x
    to its point of the cover, where Hoeffding's inequality holds for all of N.
    """

    title = "Random features for a whole class"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="with a cover of functions, and constants")
    corrects = "approximation.uniform_features.one_function_for_all_points"
    relation = AtMost(delta=_DELTA)
    controls = "the largest distance over a class from what features represent"
    unexplained = "coefficients of the functions themselves"
    problem = Covered
    trials = 128
    batch = 32

    def settings(self) -> Space:
        """Sizes and precision."""
        return Space(
            d=Integer(2, 1, 20, "dimension"), m=Integer(2, 1, 16, "frequencies"), n=Integer(2048, 1, 4096, "features"),
            tau=Real(16.0, 4.1, 1e4, "sharpness"), epsilon=Real(0.002, 1e-6, 1.0, "precision"),
        )  # fmt: skip

    def sample(self, setting: dict, key: Key[Array, ""]) -> Covered:
        """Frequencies near 6 long, 16 functions, 32 points."""
        m, d, n = setting["m"], setting["d"], setting["n"]
        atoms, omega, parameters, x = draws(key, (m, d), (n, 2), (16, 2, m), (32, d + 1))
        functions = Cosines(6 * atoms / d**0.5, jnp.full(m, 1 / m))
        inside = parameters / jnp.maximum(jnp.hypot(parameters[:, :1], parameters[:, 1:]), 1.0)
        features = features_of(functions, omega, setting["tau"])
        return Covered(functions, inside / m, features, points_in_ball(x), setting["epsilon"])

    def hypotheses(self, problem: Covered) -> list[Hypothesis]:
        """The cover; tau > 4; points in the ball."""
        apart = jnp.hypot(*jnp.moveaxis(problem.parameters - problem.nearby(), 1, 0)) / problem.functions.sizes
        used = jnp.hypot(*jnp.moveaxis(problem.parameters, 1, 0)) / problem.functions.sizes
        return [
            Hypothesis("f-hat is close to f", apart.max(), "<=", problem.epsilon, "at each frequency, over its size"),
            Hypothesis("f is in the class", used.max(), "<=", 1.0, "amplitudes, over their largest"),
            Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1"),
            Hypothesis("points lie in the ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0),
        ]

    def predict(self, problem: Covered) -> Array:
        """The bound."""
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
        """No function moves by more than its first moment."""
        return problem.functions.moment()

    def control(self) -> Control:
        """The functions and points of a trial are few against |N|."""
        return Control("a sixteenth of it", lambda bound, problem: bound / 16)
