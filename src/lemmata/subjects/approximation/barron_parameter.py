"""The Barron parameter: the first moment of a spectrum, by closed forms and by numerical integration.

This theory describes the Barron parameter sup |f(0)| + integral of |omega| F_sup(omega) of a function or a class,
where F_sup is the largest modulus of the spectra. It assumes that the function or an extension of it has a Fourier
representation on the unit ball. It does not explain which extension has the smallest parameter.

`lemmata.functions` computes the Barron parameter in these ways: for a class (`barron_parameter`); from a Fourier
transform (`spectral_moment`); from values (`moment_from_grid` and `moment_from_samples`); by closed forms and bounds
(`gaussian_moment`, `ridge_moment`, `logistic_moment`, `radial_moment`, `positive_definite_bound`,
`combination_moment`, `product_moment`, `polynomial_bound`).
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
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.sampled import draws
from lemmata.functions import (
    GaussianBumps,
    combination_moment,
    gaussian_moment,
    polynomial_extension,
    positive_definite_bound,
    radial_terms,
    ridge_polynomial_bound,
)
from lemmata.subjects.approximation._periodic_functions import Periodic, PeriodicFunctions

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}


class Bump(eqx.Module):
    """The class `functions` of Gaussian bumps."""

    functions: GaussianBumps


class BumpClasses(Population[Bump]):
    """Classes of Gaussian bumps with lognormal scales."""

    settings = Space(d=Integer(3, 1, 20, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Bump:
        return Bump(GaussianBumps(setting["d"], jnp.exp(jax.random.normal(key))))

    def hypotheses(self, problem: Bump) -> list[Hypothesis]:
        return [Hypothesis("scale is positive", problem.functions.scale, ">", 0.0)]


class Mixture(eqx.Module):
    """sum_k w_k exp(-s_k² |x|²/2) in d dimensions with positive weights w_k and scales s_k. The function is positive
    definite.
    """

    weights: Float[Array, " k"]
    scales: Float[Array, " k"]
    dimension: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the value of the sum at x."""
        return self.weights @ jnp.exp(-(self.scales**2) * jnp.sum(x**2) / 2)


class PositiveMixtures(Population[Mixture]):
    """Mixtures of three Gaussians with scales near 1."""

    free = ("weights", "scales")
    settings = Space(d=Integer(6, 1, 50, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Mixture:
        weights, scales = draws(key, (3,), (3,))
        return Mixture(jnp.exp(weights), jnp.exp(0.2 * scales), setting["d"])

    def hypotheses(self, problem: Mixture) -> list[Hypothesis]:
        return [Hypothesis("weights are positive", problem.weights.min(), ">", 0.0, "F_f is not negative")]


class RidgePolynomial(eqx.Module):
    """A polynomial of one variable, as coefficients from the lowest power on, and the period of its extension."""

    coefficients: Float[Array, " k"]
    period: Float[Array, ""]


class RidgePolynomials(Population[RidgePolynomial]):
    """Polynomials with standard normal coefficients."""

    free = ("coefficients", "period")
    settings = Space(degree=Integer(3, 1, 12, "degree"), period=Real(4.0, 2.1, 20.0, "period of the extension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RidgePolynomial:
        coefficients = jax.random.normal(key, (setting["degree"] + 1,))
        return RidgePolynomial(coefficients, jnp.asarray(setting["period"]))

    def hypotheses(self, problem: RidgePolynomial) -> list[Hypothesis]:
        return [Hypothesis("the period is more than 2", problem.period, ">", 2.0, "the length of [-1, 1]")]


_NO_BOUND = "a first moment has no trivial bound"
NINE_TENTHS = Control("0.9 times the bound", lambda bound, problem: 0.9 * bound)


def lattice(side: int = 16) -> tuple[Float[Array, "n two"], Float[Array, "n two"]]:
    """Return the points of a square grid over one period, and the frequencies of its discrete Fourier transform.

    Args:
        side: the number of points for each dimension.
    """
    points = 2 * jnp.pi / side * jnp.arange(side)
    omega = jnp.fft.fftfreq(side, 1 / side)
    pair = lambda axis: jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return pair(points), pair(omega)


def coefficients(values: Float[Array, "n *s"]) -> Float[Array, "n *s"]:
    """Return the moduli of the Fourier coefficients of functions, given their values at the points of `lattice`.

    Args:
        values: one row for each point.
    """
    side = round(len(values) ** 0.5)
    shape = (side, side, *values.shape[1:])
    return jnp.abs(jnp.fft.fft2(values.reshape(shape), axes=(0, 1))).reshape(values.shape) / len(values)


def parameter_by_functions(problem: Periodic, order: int) -> Float[Array, ""]:
    """Compute sup |f(0)| + sum_k |k| sup |F_f(k)| of a finite class by discrete transforms.

    Args:
        problem: the finite class of periodic functions.
        order: the order p of the l_p norm |k|.
    """
    points, omega = lattice()
    values = jnp.stack([function(points) for function in problem.functions()], axis=1)
    return jnp.abs(values[0]).max() + coefficients(values).max(axis=1) @ jnp.linalg.norm(omega, ord=order, axis=1)


class GradientParameter(Claim[Periodic]):
    """Let sup be the supremum over the functions f of a class. Let F_f(k) be the Fourier coefficient of f at the
    frequency k, and F_{grad f}(k) the vector of Fourier coefficients of the gradient of f. The Barron parameter from
    the spectra of gradients equals the Barron parameter from the spectra of functions:

        sup |f(0)| + sum_k sup |F_{grad f}(k)|_2 = sup |f(0)| + sum_k |k|_2 sup |F_f(k)|.

    The test uses finite classes of periodic functions, for which integrals are sums.
    """

    title = "The spectra of gradients and the spectra of functions give the same Barron parameter"
    source = Source("li2025incontext", "(20)")
    population = PeriodicFunctions()
    relation = Equal()
    control = Control(
        "the l_1 norm of omega replaces the l_2 norm", lambda value, problem: parameter_by_functions(problem, 1)
    )
    controls = "the Barron parameter of a class"
    unexplained = "functions such as linear ones, whose gradient has mass at the frequency 0"
    condition = 16.0  # rounding in each of 256 coefficients

    def predict(self, problem: Periodic) -> Array:
        return parameter_by_functions(problem, 2)

    def measure(self, problem: Periodic, key: Key[Array, ""]) -> Array:
        """Compute the gradients by automatic differentiation, and the value at 0 from the amplitudes."""
        points, _ = lattice()
        spectra = []
        for function in problem.functions():
            gradients = jax.vmap(jax.grad(lambda x, function=function: function(x[None])[0]))(points)
            spectra.append(jnp.linalg.norm(coefficients(gradients), axis=1))
        origin = jnp.abs(jnp.sum(problem.amplitudes * jnp.cos(problem.phases), axis=1)).max()
        return origin + jnp.stack(spectra).max(axis=0).sum()


class GaussianParameter(Claim[Bump]):
    """Consider sums of Gaussian bumps of d variables, sum_k q_k exp(-scale² |x - c_k|²/2). The bumps have any centres
    c_k, the number `scale` is fixed, and the weights satisfy sum |q_k| <= 1. Let F_sup(omega) be the largest modulus of
    the spectra of these sums at the frequency omega. The first moment of F_sup, which is the Barron parameter of this
    class without the term sup |f(0)|, is

        integral of |omega| F_sup(omega) = scale sqrt(2) Gamma((d+1)/2) / Gamma(d/2) <= scale sqrt(d).

    The expression with the Gamma functions is scale times the mean length of a standard normal vector. The test
    estimates the integral by a mean over random frequencies whose lengths are log-uniform.
    """

    title = "The Barron parameter of sums of Gaussian bumps of d variables grows like their scale times sqrt(d)"
    source = Source("barron1993", "Section IX", note="Gaussian functions, with the constant")
    population = BumpClasses()
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "scale sqrt(d)", lambda value, problem: problem.functions.scale * jnp.sqrt(1.0 * problem.functions.dimension)
    )
    controls = "the first moment of a spectrum"
    unexplained = "the error for spectra that are far from radial, in many dimensions"
    trials = 64

    def predict(self, problem: Bump) -> Array:
        return problem.functions.moment()

    def measure(self, problem: Bump, key: Key[Array, ""]) -> Array:
        """Estimate the moment by the mean over 512 stratified frequencies whose lengths are log-uniform."""
        d, scale = problem.functions.dimension, problem.functions.scale
        normal = jax.random.normal(key, (512, d + 1))
        transform = lambda omega: jnp.prod(jax.scipy.stats.norm.pdf(omega, scale=scale), axis=1)
        return radial_terms(transform, jax.scipy.stats.norm.cdf(normal[:, 0]), normal[:, 1:])[1].mean()


class PositiveDefiniteBound(Claim[Mixture]):
    """Let f be a positive definite function, so that its spectrum F is not negative. Let C_f be the first moment of F,
    which is the Barron parameter of f without the term |f(0)|. It satisfies

        C_f = integral of |omega| F(omega) <= sqrt(-f(0) times the Laplacian of f at 0).

    The integral of F is f(0), and the integral of |omega|² F is minus the Laplacian of f at 0. By Cauchy's inequality,
    the integral of |omega| F is at most the square root of the product of these two integrals.
    """

    title = "The value and the Laplacian at 0 of a positive definite function bound its Barron parameter from above"
    source = Source("barron1993", "Section IX", note="positive definite functions")
    population = PositiveMixtures()
    relation = AtMost()
    control = NINE_TENTHS
    controls = "the first moment of a positive spectrum"
    unexplained = "spectra of either sign"
    trivial = _NO_BOUND

    def predict(self, problem: Mixture) -> Array:
        origin = jnp.zeros(problem.dimension)
        return positive_definite_bound(problem(origin), jnp.trace(jax.hessian(problem)(origin)))

    def measure(self, problem: Mixture, key: Key[Array, ""]) -> Array:
        """Return the sum of the first moments of the Gaussians. It is the moment of their sum, since all spectra are
        positive.
        """
        return combination_moment(problem.weights, problem.scales * gaussian_moment(problem.dimension))


class PolynomialBound(Claim[RidgePolynomial]):
    """Let p be a polynomial of one variable, let u be a vector with |u| = 1, and consider p(<u, x>) for x in the unit
    ball. Let P > 2 be a period. Let g be the function of period P that equals p on [-1, 1] and a cubic polynomial on
    the rest of the period. The cubic is chosen such that g has continuous slopes. Then p(<u, x>) = g(<u, x>) on the
    ball. The Fourier coefficients c_m of g, at the frequencies omega_m = 2 pi m / P, satisfy

        sum_m |omega_m| |c_m| <= (P / sqrt(12)) times the root mean square of g'' over a period.

    So the coefficients c_m at the frequencies omega_m u, m not 0, form a spectrum of p(<u, x>) with a finite first
    moment.
    """

    title = "The curvature of a periodic extension bounds the first spectral moment of a polynomial on the unit ball"
    source = Source("barron1993", "Section IX", note="polynomials, by a periodic extension")
    population = RidgePolynomials()
    relation = AtMost()
    control = NINE_TENTHS
    controls = "the first moment of an extension of a polynomial"
    unexplained = "the extension with the smallest moment"
    trivial = _NO_BOUND

    def predict(self, problem: RidgePolynomial) -> Array:
        return ridge_polynomial_bound(problem.coefficients, problem.period)

    def measure(self, problem: RidgePolynomial, key: Key[Array, ""]) -> Array:
        """Compute the sum by a discrete transform of 512 values of a period."""
        t = -1 + problem.period * jnp.arange(512) / 512
        cubic = polynomial_extension(problem.coefficients, problem.period)
        evaluate = lambda series, at: jnp.polyval(series[::-1], at)
        values = jnp.where(t <= 1, evaluate(problem.coefficients, t), evaluate(cubic, t - 1))
        omega = 2 * jnp.pi / problem.period * jnp.abs(jnp.fft.fftfreq(512, 1 / 512))
        return omega @ jnp.abs(jnp.fft.fft(values)) / 512
