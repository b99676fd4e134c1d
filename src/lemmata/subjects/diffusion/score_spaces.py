"""Which function spaces contain scores, by norms on growing intervals and norms of interpolants on growing grids.

This theory is about the norm of the score of normal distributions and their mixtures, in the Hilbert space of a kernel
on the line. The score of a normal distribution is linear. So the score is not in any unweighted Sobolev space of the
whole line. It is not in the space of any Gaussian kernel either, even on an interval. The theory assumes that the
distribution is known. It does not explain which space suits a given distribution.
"""

import math
from decimal import Context, Decimal, localcontext

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Order,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.kernels import Laplace, gram

ABOUT = {"tool": "reproducing kernels", "architecture": "diffusion model", "object": "score", "problem": 3}


class NormalScore(eqx.Module):
    """The score -(z - mean)/variance of a normal distribution, on the interval from mean - radius to mean + radius."""

    mean: Float[Array, ""]
    variance: Float[Array, ""]
    radius: Float[Array, ""]


class NormalScores(Population[NormalScore]):
    """Normal distributions with random means and variances."""

    settings = Space(radius=Real(5.0, 2.0, 12.0, "half width of the interval"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalScore:
        """Draw a normal mean, a variance from 0.25 to 4, and a radius from 0.8 to 1.25 times the setting."""
        normal, spread, width = jax.random.normal(key, (3,))
        uniform = jax.scipy.stats.norm.cdf
        radius = setting["radius"] * 0.8 * 1.5625 ** uniform(width)
        return NormalScore(normal, 0.25 * 16 ** uniform(spread), radius)

    def hypotheses(self, problem: NormalScore) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the distribution has a density (variance)",
                problem.variance,
                ">",
                0.0,
                "otherwise the distribution does not have a score",
            )
        ]


class EqualWidths(eqx.Module):
    """A mixture of normal distributions of one variance on the line, and a Gaussian kernel on an interval.

    Args:
        weights: the weights w_k, which sum to 1.
        means: the means mu_k.
        variance: the variance of each component, including noise.
        lengthscale: the lengthscale l of the kernel exp(-|x - y|²/(2 l²)).
        half: half of the length of the interval, which is centred at 0.
    """

    weights: Float[Array, " k"]
    means: Float[Array, " k"]
    variance: Float[Array, ""]
    lengthscale: Float[Array, ""]
    half: Float[Array, ""]


class EqualWidthMixtures(Population[EqualWidths]):
    """Random mixtures of one variance, with kernels about as wide as the interval.

    Args:
        least: the default number of components, which is also the smallest number.
        most: the largest number of components.
    """

    least: int = 2
    most: int = 6

    def settings(self) -> Space:
        return Space(components=Integer(self.least, self.least, self.most, "components of the mixture"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> EqualWidths:
        """Draw means in [-1, 1], the outer two at least 0.6 apart, and variances from 0.1 to 0.3.

        The kernel's lengthscale is 1, and half of the interval's length is from 0.6 to 1.
        """
        mean_key, weight_key, rest_key = jax.random.split(key, 3)
        k = setting["components"]
        weights = jax.random.uniform(weight_key, (k,), minval=1.0, maxval=4.0)
        drawn = jax.random.uniform(mean_key, (k + 1,))
        means = (0.4 + 0.5 * drawn[0]) * jnp.linspace(-1.0, 1.0, k) + 0.1 * (2 * drawn[1:] - 1)
        spread, half = jax.random.uniform(rest_key, (2,))
        # one component: the interval is centred at the mean, where its score vanishes
        return EqualWidths(
            weights / weights.sum(), means - means.mean(), 0.1 * 3**spread, jnp.ones(()), 0.6 + 0.4 * half
        )

    def hypotheses(self, problem: EqualWidths) -> list[Hypothesis]:
        return [
            Hypothesis(
                "components have densities (variance)",
                problem.variance,
                ">",
                0.0,
                "the components are normal distributions",
            ),
            Hypothesis(
                "the kernel has a lengthscale", problem.lengthscale, ">", 0.0, "the kernel is exp(-|x - y|²/(2 l²))"
            ),
            Hypothesis(
                "the interval has a length (half of it)",
                problem.half,
                ">",
                0.0,
                "the interval contains the interpolation points",
            ),
        ]


_POINTS = 300


def _squared_norm(points: Float[Array, " n"], values: Float[Array, " n"]) -> Float[Array, ""]:
    """Return y' K^-1 y for the values y and the matrix K of the kernel exp(-|x - x'|) at the points. This is the
    squared norm of the interpolant of least norm.
    """
    factor = jax.scipy.linalg.cho_factor(gram(Laplace(1.0), points[:, None]), lower=True)
    return values @ jax.scipy.linalg.cho_solve(factor, values)


class LinearScoreNorm(Claim[NormalScore]):
    """Let -(z - mu)/v be the score of the normal distribution N(mu, v) on the interval [mu - R, mu + R]. In the Hilbert
    space of the kernel exp(-|x - y|), the squared norm of this score is

        (R³/3 + R² + R) / v².

    For a function f on the interval, the squared norm is half of the integral of f² + f'² plus half of the squares of f
    at both ends. The norm of the score is finite on every interval and infinite on the whole line. The same holds for
    the norms of all smoother Sobolev spaces without a weight.
    """

    title = "A formula for the Sobolev norm of the linear score of a normal distribution on an interval"
    source = Source("foundation2025", "Section 3.3, Sobolev scores", note="the norm on an interval")
    stated = Kind.OWN
    population = NormalScores()
    relation = EqualInMean(margin=0.01, resolution=0.01)
    control = Control(
        "the norm has R³/2 in place of R³/3", lambda norm, problem: norm + problem.radius**3 / 6 / problem.variance**2
    )
    controls = "the norm of a score in the space of a kernel"
    unexplained = "the norm of a learned score"
    trials = 48

    def predict(self, problem: NormalScore) -> Array:
        r = problem.radius
        return (r**3 / 3 + r**2 + r) / problem.variance**2

    def measure(self, problem: NormalScore, key: Key[Array, ""]) -> Array:
        """Return the squared norm of the interpolant at 300 points."""
        points = problem.mean + problem.radius * jnp.linspace(-1.0, 1.0, _POINTS)
        return _squared_norm(points, -(points - problem.mean) / problem.variance)


def _exact_score(problem: EqualWidths, z: Decimal) -> Decimal:
    """Return the score of the mixture at z, in the decimal arithmetic of the context."""
    variance = Decimal(float(problem.variance))
    gaps = [z - Decimal(float(mean)) for mean in problem.means]
    weights = [Decimal(float(w)) * (-g * g / (2 * variance)).exp() for w, g in zip(problem.weights, gaps, strict=True)]
    pull = sum((w * g for w, g in zip(weights, gaps, strict=True)), Decimal(0))
    return -pull / sum(weights, Decimal(0)) / variance


def interpolation_norm(problem: EqualWidths, n: int) -> float:
    """Return y' K^-1 y for the score y at n evenly spaced points, where K is the Gram matrix of the Gaussian kernel.

    An L D L' decomposition in decimal arithmetic is used, because the condition number grows faster than n!, to 1e150
    at 64 points.

    Args:
        problem: the mixture, the kernel and the interval.
        n: the number of points.
    """
    short = max(0.0, np.log10(float(problem.lengthscale) / float(problem.half)))
    # the least eigenvalue is about (half/l)^(2n)/n!, and 4 digits a point hold n! (4l/half)^(2n) for n up to 300
    with localcontext(Context(prec=40 + math.ceil((4 + 2 * short) * n))):
        half, scale = Decimal(float(problem.half)), 2 * Decimal(float(problem.lengthscale)) ** 2
        points = [half * (2 * i + 1 - n) / n for i in range(n)]
        # even points: the matrix has one value for each distance
        profile = [(-((2 * half * i / n) ** 2) / scale).exp() for i in range(n)]
        rows = [[profile[abs(i - j)] for j in range(i + 1)] for i in range(n)]
        values, total = [_exact_score(problem, z) for z in points], Decimal(0)
        pivots: list[Decimal] = []
        for i, row in enumerate(rows):
            for j in range(i):
                row[j] -= sum((row[k] * rows[j][k] for k in range(j)), Decimal(0))
            factors = [row[j] / pivots[j] for j in range(i)]
            pivots.append(row[i] - sum((row[j] * factors[j] for j in range(i)), Decimal(0)))
            values[i] -= sum((factors[j] * values[j] for j in range(i)), Decimal(0))
            rows[i] = [*factors, Decimal(1)]
            total += values[i] ** 2 / pivots[i]
        return float(total)


def _seen_coefficients(problem: EqualWidths, n: int) -> float:
    """Return the sum over j < n/2 of l² (2j + 1)!/(4^j j!²), the squared coefficients of z.

    The basis of the kernel's space is z^k exp(-z²/(2 l²)) / (l^k sqrt(k!)).
    """
    terms = [math.factorial(2 * j + 1) / (4**j * math.factorial(j) ** 2) for j in range(n // 2)]
    return float(problem.lengthscale) ** 2 * math.fsum(terms)


class LinearScoreOutsideGaussianSpace(Claim[EqualWidths]):
    """Let -(z - mu)/v be the score of a normal distribution N(mu, v). On any interval, this score is outside the
    Hilbert space of the Gaussian kernel exp(-|x - y|²/(2 l²)), because this space contains no polynomial. An
    orthonormal basis of the space is (z - mu)^k exp(-(z - mu)²/(2 l²)) / (l^k sqrt(k!)). In this basis, the squared
    coefficient of z - mu at the odd degree k = 2j + 1 is l² (2j + 1)!/(4^j j!²). This squared coefficient grows like
    sqrt(j).

    Take an even number n of evenly spaced points of an interval about mu whose length is at most 2 l. Among all
    functions in the space that equal the score at these points, take the function of smallest norm, and let N(n) be its
    squared norm. This interpolant captures the first n/2 squared coefficients of the score: as n grows,

        N(n) / ( (1/v²) sum_{j<n/2} l² (2j + 1)!/(4^j j!²) ) -> 1.

    So N(n) grows like n^(3/2), without bound.
    """

    title = "A linear score is not in the Hilbert space of a Gaussian kernel"
    source = Source("minh2010", "Main result", note="with the rate and its constant")
    stated = Kind.OWN
    population = EqualWidthMixtures(least=1, most=1)
    # n points show the series up to half of a coefficient of n/2, which is 3/(2 n) of the sum, 0.023 at 64 points
    relation = Limit("n", (16.0, 32.0, 64.0), margin=0.024, resolution=0.02)
    control = Control("the limit is 10 % larger", lambda limit, problem: 1.1 * limit)
    controls = "the norm of a score in the space of a Gaussian kernel"
    unexplained = "wide intervals, where the growth begins at more points"
    traced = False
    trials = 24
    predict = 1.0

    def measure_at(self, problem: EqualWidths, key: Key[Array, ""], rung: float) -> Array:
        seen = _seen_coefficients(problem, int(rung)) / float(problem.variance) ** 2
        return jnp.asarray(interpolation_norm(problem, int(rung)) / seen)


class MixtureScoreOutsideGaussianSpace(Claim[EqualWidths]):
    """Take a mixture of at least two normal distributions with one common variance. On an interval, the score of the
    mixture is not in the Hilbert space of a Gaussian kernel. The reason is that functions in the space are entire, but
    the score has poles at the complex points where the density vanishes. Among the functions in the space that equal
    the score at n evenly spaced points of the interval, take the function of smallest norm. Let N(n) be its squared
    norm. Then N(n) grows without bound, and the exponent of this growth between n and 2n also rises:

        log2 (N(2n) / N(n))   rises with n,

    for n = 4, 8, 16 in the test. For a function in the space, this exponent tends to 0.
    """

    title = "The score of a mixture of normals with one variance is not in the Hilbert space of a Gaussian kernel"
    source = Source("minh2010", "Main result", note="for scores of mixtures")
    stated = Kind.OWN
    population = EqualWidthMixtures()
    relation = Order("n", (4.0, 8.0, 16.0))
    control = Control("the exponent falls, as for a function in the space", lambda sign, problem: -sign)
    controls = "the norm of a score in the space of a Gaussian kernel"
    unexplained = "which kernels have spaces that contain functions with poles at the right places"
    traced = False
    trials = 16
    predict = 1.0

    def measure_at(self, problem: EqualWidths, key: Key[Array, ""], rung: float) -> Array:
        norms = [interpolation_norm(problem, int(n)) for n in (rung, 2 * rung)]
        return jnp.asarray(np.log2(norms[1] / norms[0]))
