"""Linear functions, and combinations of classes: two examples of section 2.3, corrected.

This theory controls their Barron parameters in closed form. It assumes spectra without an atom at 0, which linear
functions do not have, and adds spectra of different classes, where the source takes the largest; it leaves unexplained
which other classes have finite parameters.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, EqualInMean, Hypothesis, Integer, Real, Source, Space, Status
from lemmata.functions import LinearFunctions, draw_frequencies, mean_projection
from lemmata.problems._sampled import draws

from .barron_parameter import Periodic, coefficients, lattice, sampled_periodic


class Slope(eqx.Module):
    """A linear function of a class, of the largest slope.

    Args:
        functions: the class.
        a: its slope.
        sharpness: tau.
        small: epsilon, the size of the frequencies in a limit.
    """

    functions: LinearFunctions
    a: Float[Array, " d"]
    sharpness: Float[Array, ""]
    small: Float[Array, ""]


class AbstractSlopeClaim(Claim[Slope]):
    """Statements about linear functions."""

    controls = "the Barron parameter of linear functions"
    unexplained = "why a class that is easy to learn has a parameter that grows with the dimension"
    problem = Slope
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Dimension and sharpness."""
        return Space(d=Integer(4, 2, 50, "dimension"), tau=Real(64.0, 2.0, 1e4, "tau"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Slope:
        """Lognormal slopes, the bound of shifts of a tenth."""
        way, size = draws(key, (setting["d"],), (2,))
        slope = jnp.exp(0.3 * size[0])
        functions = LinearFunctions(setting["d"], slope, slope / 10)
        a = slope * way / jnp.linalg.norm(way)
        return Slope(functions, a, jnp.asarray(setting["tau"]), 0.1 * jnp.exp(0.3 * size[1]))

    def hypotheses(self, problem: Slope) -> list[Hypothesis]:
        """A function of the class, and tau > 2."""
        return [
            Hypothesis("|a| is at most C_a", jnp.linalg.norm(problem.a), "<=", problem.functions.slope, "the class"),
            Hypothesis("tau is more than 2", problem.sharpness, ">", 2.0, "Lemma 5"),
        ]


class LinearAsPrinted(AbstractSlopeClaim):
    """As printed: linear functions with |a| <= C_a and |b| <= C_b have the Barron parameter C_a + C_b, and Lemma 5
    represents each of a class within 3 C/tau by an integral over omega other than 0.

    The printed value comes from an atom at omega = 0, over which that integral does not go: it is 0, and <a, x> is
    not small.
    """

    title = "The Barron parameter of linear functions, as printed"
    source = Source("li2025incontext", "Section 2.3, linear functions", note="with Lemma 5")
    relation = AtMost()
    expected = Status.REFUTED

    def predict(self, problem: Slope) -> Array:
        """3 (C_a + C_b) / tau."""
        return 3 * (problem.functions.slope + problem.functions.shift) / problem.sharpness

    def measure(self, problem: Slope, key: Key[Array, ""]) -> Array:
        """|f(x) - f(0)| at x = a/|a|: the integral is 0."""
        return jnp.abs(jnp.dot(problem.a, problem.a / jnp.linalg.norm(problem.a)))

    def control(self) -> Control:
        """A stronger statement."""
        return Control("within C/tau", lambda bound, problem: bound / 3)


class LinearLimit(AbstractSlopeClaim):
    """One linear function is a limit of moment |a|: sin(<e a, x>)/e is within e² |a|³ / 6 of <a, x> on the unit ball,
    and its spectrum, at the frequencies e a and -e a, has the first moment |a|.
    """

    title = "One linear function as a limit"
    source = Source("li2025incontext", "Section 2.3, linear functions", note="one at a time, as a limit")
    relation = AtMost()

    def predict(self, problem: Slope) -> Array:
        """The distance and the moment."""
        size = jnp.linalg.norm(problem.a)
        return jnp.stack([problem.small**2 * size**3 / 6, size])

    def measure(self, problem: Slope, key: Key[Array, ""]) -> Array:
        """The largest distance at 33 points along a, and the moment by a discrete transform of one period."""
        size, z = jnp.linalg.norm(problem.a), jnp.linspace(-1.0, 1.0, 33)
        distance = jnp.abs(size * z - jnp.sin(problem.small * size * z) / problem.small).max()
        order = jnp.minimum(jnp.arange(16), 16 - jnp.arange(16))
        wave = jnp.exp(-2j * jnp.pi / 16 * jnp.outer(jnp.arange(16), jnp.arange(16)))
        series = jnp.abs(wave @ jnp.sin(2 * jnp.pi / 16 * jnp.arange(16)) / 16) / problem.small
        return jnp.stack([distance, problem.small * size * (order @ series)])

    def condition(self, problem: Slope) -> Array:
        """A sum of 16 terms."""
        return jnp.asarray(4.0)

    def control(self) -> Control:
        """Both are attained, the first to within e²/20."""
        return Control("a hundredth less", lambda bounds, problem: 0.99 * bounds)


class LinearParameter(AbstractSlopeClaim):
    """All linear functions with |a| <= C_a at once need frequencies in all directions u, and

        C_F = C_b + C_a / E|u_1| = C_b + C_a sqrt(pi) Gamma((d+1)/2) / Gamma(d/2),

    u uniform on the sphere. It serves: <a, x> = (|a| / E|u_1|) E sign(<u, a>) <u, x>. Nothing less does, since
    |a|² = integral of <i omega, a> F_f <= integral of |<omega, a>| F_sup, whose mean over |a| = C_a is
    C_a E|u_1| integral of |omega| F_sup.
    """

    title = "The Barron parameter of linear functions"
    source = Source("li2025incontext", "Section 2.3, linear functions", note="corrected")
    corrects = "approximation.barron_examples.linear_as_printed"
    relation = EqualInMean(resolution=0.05)
    label = "tight"
    trials = 64
    batch = 64

    def predict(self, problem: Slope) -> Array:
        """<a, x> at two points, along a and at 60 degrees to it."""
        size = jnp.linalg.norm(problem.a)
        return jnp.stack([size, size / 2])

    def measure(self, problem: Slope, key: Key[Array, ""]) -> Array:
        """moment times the mean of (cos(<omega, x> + theta) - cos(theta)) / |omega| over 2048 frequencies."""
        first, second = jax.random.split(key)
        way = problem.a / jnp.linalg.norm(problem.a)
        across = jax.random.normal(first, way.shape)
        across = across - across @ way * way
        x = jnp.stack([way, way / 2 + 3**0.5 / 2 * across / jnp.linalg.norm(across)])
        omega = draw_frequencies(second, problem.functions, 2048)
        theta = jnp.angle(-1j * jnp.sign(omega @ problem.a))
        waves = (jnp.cos(omega @ x.T + theta[:, None]) - jnp.cos(theta)[:, None]) / problem.functions.length
        return problem.functions.moment() * waves.mean(axis=0)

    def control(self) -> Control:
        """What coefficients of the printed moment represent."""
        scale = lambda value, problem: value * mean_projection(problem.functions.dimension)
        return Control("the moment C_a is enough", scale)


class Combined(eqx.Module):
    """Classes of one function each, and bounds for their combinations.

    Args:
        parts: f_i.
        slope: C_a, of |a|_1.
        shift: C_b, of |b|.
    """

    parts: Periodic
    slope: Float[Array, ""]
    shift: Float[Array, ""]

    def offsets(self) -> Float[Array, " k"]:
        """|f_i(0)|."""
        return jnp.abs(jnp.sum(self.parts.amplitudes * jnp.cos(self.parts.phases), axis=1))

    def moments(self) -> Float[Array, " k"]:
        """sum_j |A_ij| |k_j|."""
        return jnp.abs(self.parts.amplitudes) @ jnp.linalg.norm(self.parts.atoms, axis=1)


class AbstractCombinedClaim(Claim[Combined]):
    """Statements about the class of all <a, f> + b with |a|_1 <= C_a and |b| <= C_b."""

    relation = AtMost()
    controls = "the Barron parameter of combinations"
    unexplained = "classes whose spectra overlap in part"
    problem = Combined
    trials = 128
    batch = 128

    def sample(self, setting: dict, key: Key[Array, ""]) -> Combined:
        """Eight functions with eight frequencies, each with one that it has nearly for itself."""
        normal = jax.random.normal(key, (18, 40))
        return Combined(sampled_periodic(normal[1:], 8, 0.03), jnp.exp(normal[0, 0]), jnp.exp(normal[0, 1]))

    def hypotheses(self, problem: Combined) -> list[Hypothesis]:
        """Parts of finite parameters."""
        return [Hypothesis("C_i is finite", problem.moments().max(), "<", jnp.inf, "each class has a parameter")]

    def measure(self, problem: Combined, key: Key[Array, ""]) -> Array:
        """By discrete transforms of the f_i: sup |<a, F(k)>| is C_a times the largest |F_i(k)|."""
        points, omega = lattice()
        values = jnp.stack([function(points) for function in problem.parts.functions()], axis=1)
        moment = jnp.linalg.norm(omega, axis=1) @ coefficients(values).max(axis=1)
        return problem.shift + problem.slope * (jnp.abs(values[0]).max() + moment)


class CombinationAsPrinted(AbstractCombinedClaim):
    """As printed: combinations of classes have C <= 2 C_a max_i C_i + C_b.

    The proof takes the integral of the largest of several spectra for the largest of their integrals. Spectra that do
    not overlap add up.
    """

    title = "The Barron parameter of combinations, as printed"
    source = Source("li2025incontext", "Section 2.3, linear combinations")
    expected = Status.REFUTED

    def predict(self, problem: Combined) -> Array:
        """2 C_a max_i C_i + C_b."""
        return 2 * problem.slope * (problem.offsets() + problem.moments()).max() + problem.shift

    def control(self) -> Control:
        """A stronger statement."""
        return Control("without the factor 2", lambda bound, problem: (bound + problem.shift) / 2)


class Combination(AbstractCombinedClaim):
    """Combinations of classes have

        C = C_b + C_a (max_i sup |f_i(0)| + integral of |omega| max_i F_i^sup)
         <= C_b + C_a (max_i sup |f_i(0)| + sum_i integral of |omega| F_i^sup),

    the two being equal where the spectra do not overlap.
    """

    title = "The Barron parameter of combinations"
    source = Source("li2025incontext", "Section 2.3, linear combinations", note="corrected")
    corrects = "approximation.barron_examples.combination_as_printed"

    def predict(self, problem: Combined) -> Array:
        """The bound with the sum."""
        return problem.shift + problem.slope * (problem.offsets().max() + problem.moments().sum())

    def control(self) -> Control:
        """The spectra overlap by little."""
        return Control("three quarters of it", lambda bound, problem: 0.75 * bound)
