"""Classes of functions, with covers of the classes. Some covers consist of functions f, others of pairs (f, x) of a
function and a point.

C_F is the Barron parameter of a class. Lemma 1 and equation (23) are those of li2025incontext.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.functions import Cosines, CosineSum, UniversalFeatures, features_of, log_ball_cover

RICHNESS = (1.0, 2.0, 4.0, 8.0)
"""The classes in `RichClasses` have these numbers of frequencies."""


class AmplitudeLadder(eqx.Module):
    """The class of all a sin(x) with |a| <= 6/11 and b sin(k x) with |b| <= 5/(11 k) on [-1, 1]. Its Barron parameter
    C_F is 1.

    All pairs of the class are covered by pairs of a function a sin(x) and a point, with a on one grid and the point on
    another grid. The reason is that every value b sin(k x) is close to the value of one of the functions a sin(x') at a
    point x' of the grid.

    Args:
        frequency: the frequency k of the second kind of function.
        sharpness: the slope tau of the ramps.
        x: points of [-1, 1] at which functions are compared.
        epsilon: the precision of the cover.
    """

    frequency: Float[Array, ""]
    sharpness: Float[Array, ""]
    x: Float[Array, " m"]
    epsilon: float = eqx.field(static=True)

    @property
    def amplitudes(self) -> Float[Array, " s"]:
        """The grid of amplitudes a, whose steps are at most 2 epsilon."""
        return jnp.linspace(-6 / 11, 6 / 11, 1 + math.ceil(6 / 11 / self.epsilon))

    def wave(self, x: Float[Array, " m"]) -> Float[Array, " m"]:
        """Return b sin(k x) for the largest b.

        Args:
            x: the points at which the function is evaluated.
        """
        return 5 / 11 * jnp.sin(self.frequency * x) / self.frequency

    def uncovered(self) -> Float[Array, ""]:
        """Return the largest difference between the wave's value at x and the nearest pair's value in the cover."""
        grid = jnp.linspace(0.0, 1.0, 1 + math.ceil(1 / self.epsilon))
        outward = grid[jnp.minimum(jnp.searchsorted(grid, jnp.abs(self.x)), len(grid) - 1)]
        sine = jnp.sin(jnp.sign(self.x) * outward)
        wanted = jnp.clip(self.wave(self.x) / sine, -6 / 11, 6 / 11)
        gap = 12 / 11 / (len(self.amplitudes) - 1)
        step = jnp.round((wanted + 6 / 11) / gap) * gap - 6 / 11
        return jnp.abs(self.wave(self.x) - step * sine).max()


class AmplitudeLadders(Population[AmplitudeLadder]):
    """Ladders with frequencies k near 4 and the precision epsilon = 1e-4. The slope tau minimises the bound in the
    proof of Lemma 1.
    """

    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> AmplitudeLadder:
        """Draw a frequency between 3.8 and 4.2, and 32 points."""
        drawn = jax.random.uniform(key, (33,))
        return AmplitudeLadder(3.8 + 0.4 * drawn[0], jnp.sqrt(0.75e4), 2 * drawn[1:] - 1, 1e-4)

    def hypotheses(self, problem: AmplitudeLadder) -> list[Hypothesis]:
        return [
            Hypothesis(
                "largest distance of a pair from the cover",
                problem.uncovered(),
                "<=",
                problem.epsilon,
                "the cover satisfies definition (23)",
            ),
            Hypothesis("tau is more than 4", problem.sharpness, ">", 4.0, "Lemma 1 assumes it"),
        ]


class Covered(eqx.Module):
    """Functions of a class of cosines, the nearest functions of a cover, and features of the class.

    Args:
        functions: the class of sums of cosines.
        parameters: for each frequency of each function, the amplitude times the cosine and the sine of the phase.
        features: the random features of the class.
        x: points of the unit ball.
        epsilon: the precision of the cover.
    """

    functions: Cosines
    parameters: Float[Array, "k two m"]
    features: UniversalFeatures
    x: Float[Array, "n d"]
    epsilon: float = eqx.field(static=True)

    def nearby(self) -> Float[Array, "k two m"]:
        """Return the parameters of functions of the cover: the given parameters, truncated towards 0 to multiples of
        size epsilon / sqrt(2). Here size is the bound on the amplitude at the frequency.
        """
        unit = self.functions.sizes * self.epsilon / math.sqrt(2)
        return jnp.trunc(self.parameters / unit) * unit

    def log_cover(self) -> float:
        """Return log |N|. The cover N contains all pairs of one of (1 + 2 sqrt(2)/epsilon)^(2m) functions, for m
        frequencies, and one point of a cover of the unit ball.
        """
        m, d = self.functions.atoms.shape
        return 2 * m * math.log1p(2 * math.sqrt(2) / self.epsilon) + log_ball_cover(d, self.epsilon)

    def of(self, parameters: Float[Array, "two m"]) -> CosineSum:
        """Return the function with the given parameters.

        Args:
            parameters: the amplitude times the cosine and the sine of the phase, for each frequency.
        """
        sizes, phases = jnp.hypot(*parameters), jnp.arctan2(parameters[1], parameters[0])
        return CosineSum(self.functions.atoms, self.functions.sizes, sizes, phases)


class CoveredCosines(Population[Covered]):
    """Classes with frequencies of length near 6, with 16 functions and 32 points."""

    settings = Space(
        d=Integer(2, 1, 20, "dimension"),
        m=Integer(2, 1, 16, "frequencies"),
        n=Integer(2048, 1, 4096, "features"),
        tau=Real(16.0, 4.1, 1e4, "sharpness"),
        epsilon=Real(0.002, 1e-6, 1.0, "precision"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Covered:
        """Draw normal frequencies, and normal parameters that are then scaled into the class."""
        m, d, n = setting["m"], setting["d"], setting["n"]
        atoms, omega, parameters, x = draws(key, (m, d), (n, 2), (16, 2, m), (32, d + 1))
        functions = Cosines(6 * atoms / d**0.5, jnp.full(m, 1 / m))
        inside = parameters / jnp.maximum(jnp.hypot(parameters[:, :1], parameters[:, 1:]), 1.0)
        features = features_of(functions, omega, setting["tau"])
        return Covered(functions, inside / m, features, points_in_ball(x), setting["epsilon"])

    def hypotheses(self, problem: Covered) -> list[Hypothesis]:
        apart = jnp.hypot(*jnp.moveaxis(problem.parameters - problem.nearby(), 1, 0)) / problem.functions.sizes
        used = jnp.hypot(*jnp.moveaxis(problem.parameters, 1, 0)) / problem.functions.sizes
        return [
            Hypothesis(
                "f-hat, the nearest function of the cover, is close to f",
                apart.max(),
                "<=",
                problem.epsilon,
                "the largest difference of amplitudes at a frequency, relative to the bound there",
            ),
            Hypothesis("f is in the class", used.max(), "<=", 1.0, "the largest amplitude, relative to its bound"),
            Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1 assumes it"),
            in_unit_ball(problem.x, "points"),
        ]


class FunctionsAtPoints(eqx.Module):
    """Random pairs (f, x) of a class.

    Args:
        x: one point for each pair.
        values: the number (f(x) - f(0)) / C_F for each pair.
        epsilon: the precision of the cover, the largest distance of a pair from the cover.
        dimension: the dimension d of the points x.
    """

    x: Float[Array, "m d"]
    values: Float[Array, " m"]
    epsilon: float = eqx.field(static=True)
    dimension: int = eqx.field(static=True)


class SinesAtPoints(Population[FunctionsAtPoints]):
    """Sines b sin(<k, x> + phase)/|k| with |b| <= 1, each at one of 256 points.

    Half of the sines have phase 0, and are therefore steepest at 0. The first moment of each sine's spectrum is at most
    1. All sines are divided by the same C_F = 1, which is the hardest case for the cover.
    """

    settings = Space(d=Integer(1, 1, 3, "dimension"), epsilon=Real(0.5, 0.05, 2.0, "precision"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FunctionsAtPoints:
        d = setting["d"]
        drawn = jax.random.normal(key, (256, 2 * d + 3))
        uniform, x = jax.scipy.stats.norm.cdf(drawn[:, :2]), points_in_ball(drawn[:, 2 : d + 3])
        k = 0.3 * drawn[:, d + 3 :]
        length = jnp.linalg.norm(k, axis=1)
        phase = jnp.where(jnp.arange(256) % 2 == 0, 0.0, jnp.pi * uniform[:, 1])
        waves = (jnp.sin(jnp.sum(k * x, axis=1) + phase) - jnp.sin(phase)) / length
        return FunctionsAtPoints(x, (2 * uniform[:, 0] - 1) * waves, setting["epsilon"], d)

    def hypotheses(self, problem: FunctionsAtPoints) -> list[Hypothesis]:
        """Points lie in the unit ball, and values belong to a class with C_F = 1."""
        return [in_unit_ball(problem.x, "points"), _normalised(problem.values)]


class ClassesOfCosines(eqx.Module):
    """Nested classes of sums of a_k sin(k w x)/(k w) and b_k (cos(k w x) - 1)/(k w) for k <= m, on [-1, 1].

    The sum of all |a_k| and |b_k| is at most 1, so the spectrum of each function has a first moment of at most 1.
    Therefore the Barron parameter C_F is 1 for any m.

    Args:
        frequency: the lowest frequency w.
        waves: the waves with the coefficient 1, indexed by sine or cosine, by k, and by point.
        x: points of [-1, 1] at which functions are compared.
        epsilon: the precision of the covers.
    """

    frequency: Float[Array, ""]
    waves: Float[Array, "2 k n"]
    x: Float[Array, " n"]
    epsilon: float = eqx.field(static=True)

    def largest(self, m: int) -> Float[Array, " n"]:
        """Return the largest |f(x)| of the class at each point. A single wave attains this maximum.

        Args:
            m: the number of frequencies w, 2 w, ..., m w of the class.
        """
        return jnp.abs(self.waves[:, :m]).max(axis=(0, 1))

    def halves(self, m: int) -> Float[Array, "s n"]:
        """Return the 8 m² + 4 m + 1 functions of the class whose coefficients are -1, -1/2, 0, 1/2 or 1.

        Args:
            m: the number of frequencies w, 2 w, ..., m w of the class.
        """
        own = self.waves[:, :m].reshape(2 * m, -1)
        left, right = np.triu_indices(2 * m, 1)
        pairs = [(sign * own[left] + other * own[right]) / 2 for sign in (1, -1) for other in (1, -1)]
        return jnp.concatenate([0 * own[:1], own, -own, own / 2, -own / 2, *pairs])


class RichClasses(Population[ClassesOfCosines]):
    """Classes with a frequency w between 2 and 2 pi, 128 points, and the precision 0.1."""

    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> ClassesOfCosines:
        drawn = jax.random.uniform(key, (129,))
        x, frequency = 2 * drawn[1:] - 1, 2 + (2 * jnp.pi - 2) * drawn[0]
        order = frequency * jnp.arange(1.0, 9.0)[:, None]
        waves = jnp.stack([jnp.sin(order * x), jnp.cos(order * x) - 1]) / order
        return ClassesOfCosines(frequency, waves, x, 0.1)

    def hypotheses(self, problem: ClassesOfCosines) -> list[Hypothesis]:
        return [_normalised(problem.waves)]


def _normalised(values: Float[Array, "*s"]) -> Hypothesis:
    return Hypothesis(
        "|f(x) - f(0)| is at most C_F", jnp.abs(values).max(), "<=", 1.0, "the first moment of the class is C_F"
    )
