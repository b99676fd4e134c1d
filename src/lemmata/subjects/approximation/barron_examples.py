"""Barron parameters of linear functions and of combinations of classes: two examples of section 2.3.

This theory gives the Barron parameters of these examples in closed form. For linear functions, it assumes spectra
without an atom at the frequency 0. For combinations it adds the spectra of different classes, whereas the source takes
the largest. The theory does not explain which other classes have finite parameters.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Passage,
    Population,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.engine.problems.sampled import draws
from lemmata.functions import LinearFunctions, draw_frequencies, mean_projection
from lemmata.subjects.approximation._periodic_functions import Combined, CombinedClasses

from .barron_parameter import coefficients, lattice

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}


class Slope(eqx.Module):
    """A linear function with the largest slope in its class.

    Args:
        functions: the class of linear functions.
        a: the slope of the linear function.
        sharpness: the slope tau of the ramps.
        small: the size epsilon of the frequencies; the limit epsilon -> 0 gives the linear function.
    """

    functions: LinearFunctions
    a: Float[Array, " d"]
    sharpness: Float[Array, ""]
    small: Float[Array, ""]


class Slopes(Population[Slope]):
    """Linear functions with |a| = C_a, in the class of all <a, x> + b with |a| <= C_a and |b| <= C_b = C_a/10.

    Attributes:
        dimension: the dimension d, unless a setting says otherwise.
        sharpness: the slope tau of the ramps, unless a setting says otherwise.
    """

    free = ("a",)
    dimension: int = 4
    sharpness: float = 64.0

    def settings(self) -> Space:
        return Space(d=Integer(self.dimension, 2, 50, "dimension"), tau=Real(self.sharpness, 2.0, 1e4, "tau"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Slope:
        """Draw lognormal slopes; the bound of |b| is a tenth of the bound of |a|."""
        way, size = draws(key, (setting["d"],), (2,))
        slope = jnp.exp(0.3 * size[0])
        functions = LinearFunctions(setting["d"], slope, slope / 10)
        a = slope * way / jnp.linalg.norm(way)
        return Slope(functions, a, jnp.asarray(setting["tau"]), 0.1 * jnp.exp(0.3 * size[1]))

    def hypotheses(self, problem: Slope) -> list[Hypothesis]:
        return [
            Hypothesis(
                "|a| is at most C_a",
                jnp.linalg.norm(problem.a),
                "<=",
                problem.functions.slope,
                "the function belongs to the class",
            ),
            Hypothesis("tau is more than 2", problem.sharpness, ">", 2.0, "Lemma 5 assumes it"),
        ]


_LINEAR = "the Barron parameter of linear functions"
_GROWTH = "why a class that is easy to learn has a parameter that grows with the dimension"
_COMBINATIONS = "the Barron parameter of combinations"
_OVERLAP = "classes whose spectra overlap in part"
_FEATURES, _POINTS, _ROUNDS = 400, 128, 150


def residuals_of_steps(
    problem: Slope, x: Float[Array, "m d"], size: Float[Array, ""], normal: Float[Array, "k e"]
) -> Float[Array, "four m"]:
    """Return the differences between <a, x> and sums of bounded multiples of steps, for four distributions of steps.

    The steps are 1(<u_j, x> > t_j), where u_j is uniform on the sphere and t_j is uniform in [-h, h] for one of four h.
    The mean of rho_j times the steps is fitted to <a, x> by accelerated projected gradient descent over |rho_j| <=
    size. The points are x and -x, so that an odd function needs no constant. If there are more steps than points, the
    fit adapts to the points, and the differences are smaller than on the whole ball.

    Args:
        problem: the linear function <a, x>.
        x: the points on the sphere; the fit also uses the points -x.
        size: the largest allowed |rho_j|.
        normal: standard normal numbers, d + 1 for each step.
    """
    d, count = problem.functions.dimension, len(normal)
    u, place = normal[:, :d], 2 * jax.scipy.stats.norm.cdf(normal[:, d]) - 1
    inner, target = x @ (u / jnp.linalg.norm(u, axis=1, keepdims=True)).T, x @ problem.a

    def fitted(reach: Array) -> Array:
        steps = ((inner > reach * place) * 1.0 - (-inner > reach * place)) / (2 * count)
        gram, correlation = steps.T @ steps, steps.T @ target
        largest = jnp.abs(gram).sum(axis=1).max()

        def visit(_: int | Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            rho, ahead, momentum = state
            new = jnp.clip(ahead - (gram @ ahead - correlation) / largest, -size, size)
            following = (1 + jnp.sqrt(1 + 4 * momentum**2)) / 2
            return new, new + (momentum - 1) / following * (new - rho), following

        start = jnp.zeros(count)
        return steps @ jax.lax.fori_loop(0, _ROUNDS, visit, (start, start, jnp.ones(())))[0] - target

    return jax.lax.map(fitted, jnp.array([0.05, d**-0.5, 2 * d**-0.5, 1.0]))


class LinearFloor(Claim[Slope]):
    """Let features be ramps phi(tau (<u, x> - t)) of slope tau. Here phi rises from 0 to 1, and (u, t) has any
    distribution with |u| = 1. Let C_a > 0. For each a in R^d with |a| = C_a, choose any constant c_a, and give the
    features any weights rho_a between -C_a and C_a. Let f_a(x) = c_a + E rho_a phi(tau (<u, x> - t)), where E is the
    mean over the features. Let m = E|v_1| for a vector v that is uniform on the unit sphere. For some a, the linear
    function <a, x> of d variables is far from f_a:

        sup over |x| = 1 and |a| = C_a of |<a, x> - f_a(x)| >= C_a (1/d - m²/2) / m,     m = E|v_1|.

    If the weights |rho_a| may be up to K C_a, replace 1/d - m²/2 by 1/d - K m²/2. For K = 3, the bound is positive from
    d = 11 on.

    Proof: draw x and a at random, independently and uniformly on their spheres, and let v = a/|a|. Then the mean of <a,
    x> <v, x> is C_a/d. Now fix a feature (u, t) and v, and take the mean over x of phi(tau (<u, x> - t)) <v, x>. This
    mean is <u, v> times a number between 0 and m/2, because phi rises from 0 to 1 and |<v, x>| has the mean m. The mean
    of |<u, v>| over v is also m.

    The test replaces the ramps by step functions 1(<u, x> > t). It draws 400 step functions from each of four
    distributions, fits their weights by least squares, and uses the best of the four fits.
    """

    title = "Random ramp features with weights of at most |a| do not approximate every linear function <a, x>"
    source = Source("li2025incontext", "Section 2.3, linear functions", note="a lower bound that is not in the source")
    stated = Kind.OWN
    population = Slopes()
    relation = AtLeast()
    control = Control("twice the bound", lambda bound, problem: 2 * bound)
    controls = "the distance of linear functions from sums of features with small weights"
    unexplained = "the smallest weights that suffice for all linear functions"
    trivial = 0.0

    def hypotheses(self, problem: Slope) -> list[Hypothesis]:
        """Require |a| = C_a: sums of bounded multiples of steps are nearer to a function with a smaller slope."""
        size, largest = jnp.linalg.norm(problem.a), problem.functions.slope
        return [
            Hypothesis(
                "|a| equals C_a up to rounding",
                size,
                ">=",
                (1 - 1e-12) * largest,
                "the claim is about functions of the largest slope",
            )
        ]

    def predict(self, problem: Slope) -> Array:
        d, mean = problem.functions.dimension, mean_projection(problem.functions.dimension)
        return jnp.asarray(problem.functions.slope * (1 / d - mean**2 / 2) / mean)

    def measure(self, problem: Slope, key: Key[Array, ""]) -> Array:
        """Return the largest |<a, x> - f_a(x)| of the best fit, at 128 points of the sphere, including a/|a|."""
        d, size = problem.functions.dimension, jnp.asarray(problem.functions.slope)
        steps, x = draws(key, (_FEATURES, d + 1), (_POINTS, d))
        x = x.at[0].set(problem.a)
        x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return jnp.abs(residuals_of_steps(problem, x, size, steps)).max(axis=1).min()


class LinearLimit(Claim[Slope]):
    """Let <a, x> be a linear function on the unit ball, and let e > 0. The function sin(e <a, x>)/e is within e² |a|³ /
    6 of <a, x>. The spectrum of sin(e <a, x>)/e lies at the frequencies e a and -e a, and has the first moment |a|.
    """

    title = "A linear function <a, x> is a limit of functions whose Fourier spectra have the first moment |a|"
    source = Source("li2025incontext", "Section 2.3, linear functions", note="one function at a time, as a limit")
    stated = Kind.OWN
    population = Slopes()
    relation = AtMost()
    control = Control(
        "both values are 1 % smaller", lambda bounds, problem: 0.99 * bounds
    )  # both are attained, to e²/20
    controls = _LINEAR
    unexplained = _GROWTH

    def predict(self, problem: Slope) -> Array:
        """Return the bound e² |a|³ / 6 on the distance, and the moment |a|."""
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

    def trivial(self, problem: Slope) -> Array:
        """Return the largest |<a, x>|, the error of the approximation 0; the moment has no trivial bound."""
        return jnp.stack([jnp.linalg.norm(problem.a), jnp.asarray(jnp.inf)])

    def condition(self, problem: Slope) -> Array:
        """Bound the rounding errors. The distance is a difference of numbers of the size |a|, and the moment is a sum
        of 16 terms.
        """
        size = jnp.linalg.norm(problem.a)
        return jnp.stack([6 / (problem.small * size) ** 2, jnp.asarray(4.0)])


class LinearParameter(Claim[Slope]):
    """Consider all linear functions f = <a, x> + b of d variables with |a| <= C_a and |b| <= C_b. Represent each f by a
    spectrum F_f without mass at the frequency 0. Let F_sup(omega) be the largest modulus of these spectra at the
    frequency omega. The Barron parameter C_F of this class of functions is sup |f(0)| plus the integral of |omega|
    F_sup. The class needs frequencies in all directions u, and its smallest possible Barron parameter is

        C_F = C_b + C_a / E|u_1| = C_b + C_a sqrt(pi) Gamma((d+1)/2) / Gamma(d/2),

    where u is uniform on the unit sphere. This value of C_F suffices, since <a, x> = (|a| / E|u_1|) E sign(<u, a>) <u,
    x>.

    A smaller value is impossible. For every a, |a|² equals the integral of <i omega, a> F_f. This integral is at most
    the integral of |<omega, a>| F_sup. Averaged over all a with |a| = C_a, the last integral is C_a E|u_1| times the
    integral of |omega| F_sup.

    Equation (20) of the source also allows a point mass at the frequency 0, and then the parameter is C_a + C_b. But
    the representation of f by an integral of ramps excludes the frequency 0. The test rebuilds <a, x> from random
    frequencies with the first moment C_a / E|u_1|.
    """

    title = "The Barron parameter of the class of all linear functions of d variables grows like sqrt(d)"
    source = Source("li2025incontext", "Section 2.3, linear functions", note="without mass at the frequency 0")
    stated = Kind.REPAIR
    population = Slopes()
    relation = EqualInMean(resolution=0.05)
    control = Control(
        "a first moment of C_a suffices", lambda value, problem: value * mean_projection(problem.functions.dimension)
    )
    controls = _LINEAR
    unexplained = _GROWTH
    trials = 64

    def predict(self, problem: Slope) -> Array:
        """Return <a, x> at two points: one along a, and one at 60 degrees to a."""
        size = jnp.linalg.norm(problem.a)
        return jnp.stack([size, size / 2])

    def measure(self, problem: Slope, key: Key[Array, ""]) -> Array:
        """Return the moment times the mean of (cos(<omega, x> + theta) - cos(theta)) / |omega| over 2048 omega."""
        first, second = jax.random.split(key)
        way = problem.a / jnp.linalg.norm(problem.a)
        across = jax.random.normal(first, way.shape)
        across = across - across @ way * way
        x = jnp.stack([way, way / 2 + 3**0.5 / 2 * across / jnp.linalg.norm(across)])
        omega = draw_frequencies(second, problem.functions, 2048)
        theta = jnp.angle(-1j * jnp.sign(omega @ problem.a))
        waves = (jnp.cos(omega @ x.T + theta[:, None]) - jnp.cos(theta)[:, None]) / problem.functions.length
        return problem.functions.moment() * waves.mean(axis=0)


def combined_parameter(problem: Combined) -> Float[Array, ""]:
    """Return the Barron parameter of all <a, f> + b. Here the supremum of |<a, F(k)>| over a is C_a times the largest
    |F_i(k)|, where F_i is the spectrum of f_i.

    Args:
        problem: classes of one function each, and the bounds C_a of |a|_1 and C_b of |b|.
    """
    points, omega = lattice()
    values = jnp.stack([function(points) for function in problem.parts.functions()], axis=1)
    moment = jnp.linalg.norm(omega, axis=1) @ coefficients(values).max(axis=1)
    return problem.shift + problem.slope * (jnp.abs(values[0]).max() + moment)


def sum_of_parameters(problem: Combined) -> Float[Array, ""]:
    """Return the bound C_b + C_a sum_i C_i from the triangle inequality.

    Args:
        problem: classes of one function each, and the bounds C_a and C_b.
    """
    return problem.shift + problem.slope * (problem.offsets() + problem.moments()).sum()


class CombinationAsPrinted(Claim[Combined]):
    """The source makes the following statement, which is false as printed. Let functions f_i belong to classes with the
    Barron parameters C_i. Let f = (f_1, f_2, ...). The combinations <a, f> + b with |a|_1 <= C_a and |b| <= C_b form a
    class whose Barron parameter C satisfies

        C <= 2 C_a max_i C_i + C_b.

    In fact, C contains the integral of the pointwise maximum of several spectra. The source's proof replaces this
    integral by the largest integral of a single spectrum, which may be smaller. If the spectra do not overlap, the
    integral of their maximum is the sum of their integrals. For two classes the bound holds. The test uses eight
    classes of one function each.
    """

    title = "As printed, the largest Barron parameter of several classes bounds that of their linear combinations"
    source = Source("li2025incontext", "Section 2.3, linear combinations")
    population = CombinedClasses()
    relation = AtMost()
    control = Control("the bound without the factor 2", lambda bound, problem: (bound + problem.shift) / 2)
    controls = _COMBINATIONS
    unexplained = _OVERLAP
    passage = Passage(
        "004_53e1e75f8b75373c.txt",
        30175,
        30954,
        "22e0e6d9243458d0",
        says="combinations <a, f> + b of functions of M classes have at most twice the largest parameter, times C_a",
        right_if="M is at most 2, or the classes share one largest spectrum, or the sum of the C_i is meant",
        formula="C_comp <= 2 C_a max_i C_i + C_b",
    )
    expected = Status.REFUTED

    def predict(self, problem: Combined) -> Array:
        return 2 * problem.slope * (problem.offsets() + problem.moments()).max() + problem.shift

    def measure(self, problem: Combined, key: Key[Array, ""]) -> Array:
        return combined_parameter(problem)

    def trivial(self, problem: Combined) -> Array:
        return sum_of_parameters(problem)


class Combination(Claim[Combined]):
    """Let several classes of functions be given. For each i, let f_i be a function of class i, and let F_i^sup(omega)
    be the largest modulus of the spectra of class i at the frequency omega. Let f = (f_1, f_2, ...). The combinations
    <a, f> + b with |a|_1 <= C_a and |b| <= C_b form a class with the Barron parameter

        C = C_b + C_a (max_i sup |f_i(0)| + integral of |omega| max_i F_i^sup)
         <= C_b + C_a (max_i sup |f_i(0)| + sum_i integral of |omega| F_i^sup),

    with equality in the second line if the spectra do not overlap.
    """

    title = (
        "The Barron parameter of linear combinations is bounded by the sum of the spectral moments of the combined "
        "classes"
    )
    source = Source("li2025incontext", "Section 2.3, linear combinations", note="corrected")
    population = CombinedClasses()
    corrects = CombinationAsPrinted
    relation = AtMost()
    control = Control("three quarters of the bound", lambda bound, problem: 0.75 * bound)
    controls = _COMBINATIONS
    unexplained = _OVERLAP

    def predict(self, problem: Combined) -> Array:
        """Return C_b + C_a (max_i sup |f_i(0)| + the sum of the integrals), the second bound."""
        return problem.shift + problem.slope * (problem.offsets().max() + problem.moments().sum())

    def measure(self, problem: Combined, key: Key[Array, ""]) -> Array:
        return combined_parameter(problem)

    def trivial(self, problem: Combined) -> Array:
        return sum_of_parameters(problem)
