"""The smoothness of a score at little noise: Sobolev seminorms, the strip of analyticity, and Fourier transforms.

This theory is about the score of data at two points, m and -m, under noise of variance sigma². At z, the score is
-z/sigma² plus the step a tanh(a z), where a = m/sigma². The score is analytic at every level of noise. As sigma falls,
all its Sobolev seminorms grow without bound. The theory assumes this distribution of the data. It does not explain
which norm a trained model minimises.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
)

ABOUT = {"tool": "Fourier analysis", "architecture": "diffusion model", "object": "score", "problem": 3}


class TwoPoints(eqx.Module):
    """Data x0 = m or -m, equally likely, noise of a given variance, and the number of derivatives of a seminorm."""

    m: Float[Array, ""]
    variance: Float[Array, ""]
    order: int = eqx.field(static=True, default=1)

    @property
    def steepness(self) -> Float[Array, ""]:
        """The steepness a = m/sigma² of the score's step."""
        return self.m / self.variance

    def log_density(self, z: Float[Array, ""], variance: Float[Array, ""] | float | None = None) -> Float[Array, ""]:
        """Return the logarithm of the density at z, up to a constant.

        Args:
            z: the place.
            variance: a noise variance sigma² in place of the problem's.
        """
        spread = self.variance if variance is None else variance
        return logsumexp(-((z - jnp.stack([self.m, -self.m])) ** 2) / (2 * spread))

    def excess(self, z: Float[Array, " n"], variance: Float[Array, ""] | float | None = None) -> Float[Array, " n"]:
        """Differentiate `log_density`, and return the score plus z/sigma². This is the score minus the score of the
        noise.

        Args:
            z: the places.
            variance: a noise variance sigma² in place of the problem's.
        """
        spread = self.variance if variance is None else variance
        return jax.vmap(jax.grad(lambda x: self.log_density(x, spread)))(z) + z / spread


class TwoPointLaws(Population[TwoPoints]):
    """Pairs of points at random distances. The noise is such that the steepness m/sigma² is near the setting
    `steepness`.
    """

    settings = Space(
        steepness=Real(6.0, 2.0, 20.0, "half of the distance divided by the noise variance"),
        order=Integer(1, 1, 3, "order of the seminorm"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoPoints:
        """Draw half distances m from 0.5 to 2, and a steepness from 0.8 to 1.25 times the setting."""
        place, steep = jax.random.uniform(key, (2,))
        m = 0.5 * 4**place
        return TwoPoints(m, m / (setting["steepness"] * 0.8 * 1.5625**steep), setting["order"])

    def hypotheses(self, problem: TwoPoints) -> list[Hypothesis]:
        return [
            Hypothesis(
                "there are two points (half of their distance)",
                problem.m,
                ">",
                0.0,
                "otherwise the score does not have a step",
            ),
            Hypothesis(
                "noise is added (variance)", problem.variance, ">", 0.0, "otherwise the density does not have a score"
            ),
        ]


_LEVELS = (0.4, 0.2, 0.1)
_CONSTANTS = (4 / 3, 16 / 15, 64 / 21)
_DEGREE = 640  # Chebyshev coefficients; at a = 25, they fall by exp(0.063) for each degree, to 1e-12 at degree 440
_FREQUENCIES = (0.25, 0.5, 1.0, 2.0, 4.0)


def _seminorm(problem: TwoPoints, variance: Float[Array, ""] | float, order: int) -> Float[Array, ""]:
    """Return the integral of the squared derivative of this order of the score plus z/sigma².

    Derivatives are differences on a grid of spacing 0.02/a, where a = m/sigma².
    """
    grid = jnp.linspace(-20.0, 20.0, 2001) * variance / problem.m
    width = grid[1] - grid[0]
    return width * jnp.sum((jnp.diff(problem.excess(grid, variance), n=order) / width**order) ** 2)


class ScoreSeminormInNoise(Claim[TwoPoints]):
    """Let the data be at two points m and -m with m > 0, let sigma² be the noise variance, and let s(z) be the score.
    The score of the noise alone is -z/sigma², so consider the difference s(z) + z/sigma². For every k >= 1, the squared
    Sobolev seminorm of order k of this difference grows without bound as the noise falls:

        integral of |d^k (s + z/sigma²) / dz^k|²  =  c_k (m/sigma²)^(2k+1)  ~  sigma^-(4k+2).

    Here c_k depends only on k. Each derivative multiplies the squared seminorm by a factor of order sigma^-4. For a
    function that varies on the scale sigma, this factor is of order sigma^-2. The reason for the larger factor is that
    the score varies on the smaller scale sigma²/m.
    """

    title = "The Sobolev seminorms of the score of two data points under noise explode as the noise falls"
    source = Source("foundation2025", "Section 3.3, Sobolev scores", note="how the norm depends on the noise")
    stated = Kind.OWN
    population = TwoPointLaws()
    relation = Rate("sigma", _LEVELS, margin=0.01)
    control = Control(
        "the seminorm grows more slowly by the factor sigma^(1/2)", lambda exponent, problem: exponent + 0.5
    )
    controls = "the Sobolev norm of a score along the noise schedule"
    unexplained = "data with a density, whose scores keep a bounded seminorm"
    trials = 64

    def predict(self, problem: TwoPoints) -> Array:
        return -jnp.asarray(4.0 * problem.order + 2.0)

    def measure_at(self, problem: TwoPoints, key: Key[Array, ""], rung: float) -> Array:
        """Compute the seminorm by differences of the gradient of the log density."""
        return _seminorm(problem, rung**2, problem.order)


class ScoreSeminormConstants(Claim[TwoPoints]):
    """Let the data be at two points m and -m, let sigma² be the noise variance, let s(z) be the score, and let a =
    m/sigma². Then

        integral of |d^k (s + z/sigma²) / dz^k|² = c_k a^(2k+1),   c_1 = 4/3, c_2 = 16/15, c_3 = 64/21,

    where c_k is the integral of the square of the k-th derivative of tanh. The reason is that s(z) + z/sigma² = a
    tanh(a z).
    """

    title = "Exact formulas for the Sobolev seminorms of the score of two data points under noise"
    source = Source("foundation2025", "Section 3.3, Sobolev scores", note="with explicit constants, for two points")
    stated = Kind.OWN
    population = TwoPointLaws()
    relation = EqualInMean(margin=0.005, resolution=0.01)
    control = Control("the constants are 1", lambda values, problem: problem.steepness ** jnp.asarray([3.0, 5.0, 7.0]))
    controls = "the Sobolev norm of a score at one level of noise"
    unexplained = "the norm in the space of a kernel that was not chosen for this smooth step"
    trials = 64

    def predict(self, problem: TwoPoints) -> Array:
        return jnp.asarray(_CONSTANTS) * problem.steepness ** jnp.asarray([3.0, 5.0, 7.0])

    def measure(self, problem: TwoPoints, key: Key[Array, ""]) -> Array:
        """Compute the seminorm by differences of the gradient of the log density."""
        return jnp.stack([_seminorm(problem, problem.variance, order) for order in (1, 2, 3)])


def _log_ellipse(height: Float[Array, ""]) -> Float[Array, ""]:
    """Return log(y + sqrt(1 + y²)), the log parameter of the ellipse with foci -1 and 1 through i y."""
    return jnp.arcsinh(height)


class ScoreStrip(Claim[TwoPoints]):
    """Let the data be at two points m and -m, and let sigma² be the noise variance. The score is analytic in the strip

        |Im z| < y,   y = pi sigma² / (2 m),

    and in no wider strip: at i y the density is 0 and the score has a pole. So the Chebyshev coefficients of the score
    on [-1, 1] fall geometrically, by the factor y + sqrt(1 + y²) per degree. This factor tends to 1 as the noise falls.
    """

    title = "The score of two data points under noise is analytic in a complex strip of half width pi sigma²/(2 m)"
    source = Source("foundation2025", "Section 3.3, Sobolev scores", note="where scores are analytic")
    stated = Kind.OWN
    population = TwoPointLaws()
    relation = EqualInMean(margin=0.002, resolution=0.01)
    control = Control("the strip is twice as wide", lambda rate, problem: _log_ellipse(jnp.pi / problem.steepness))
    controls = "how many polynomials, or modes, a score needs"
    unexplained = "mixtures of more than two points, whose densities have zeros at other complex points"
    trials = 64

    def predict(self, problem: TwoPoints) -> Array:
        return _log_ellipse(jnp.pi / (2 * problem.steepness))

    def measure(self, problem: TwoPoints, key: Key[Array, ""]) -> Array:
        """Fit a line to the logarithms of the Chebyshev coefficients of odd degree, and return minus its slope. Only
        coefficients between 1e-3 and 1e-12 of the largest coefficient are used.
        """
        angles = (np.arange(_DEGREE) + 0.5) * np.pi / _DEGREE
        degrees = np.arange(1, _DEGREE, 2)
        cosines = 2 / _DEGREE * np.cos(degrees[:, None] * angles)
        sizes = jnp.abs(jnp.asarray(cosines) @ problem.excess(jnp.asarray(np.cos(angles))))
        share = sizes / sizes.max()
        weight = jnp.where((share < 1e-3) & (share > 1e-12), 1.0, 0.0)
        centred = degrees - jnp.sum(weight * degrees) / weight.sum()
        logs = jnp.log(jnp.maximum(share, 1e-300))
        return -jnp.sum(weight * centred * logs) / jnp.sum(weight * centred**2)


class ScoreTransform(Claim[TwoPoints]):
    """Let the data be at two points m and -m, let sigma² be the noise variance, let s be the score, and let a =
    m/sigma². The derivative of s(z) + z/sigma² has the Fourier transform

        integral of (s + z/sigma²)'(z) exp(-i w z) dz = pi w / sinh(pi w / (2a)).

    The transform falls like exp(-y w), for large w > 0, where y = pi sigma²/(2m) is the half width of the strip in
    which the score is analytic.
    """

    title = "The Fourier transform of the derivative of the score of two noised data points falls exponentially"
    source = Source("foundation2025", "Section 3.3, Sobolev scores", note="the spectrum of a score")
    stated = Kind.OWN
    population = TwoPointLaws()
    relation = Equal()
    control = Control(
        "the transform is 2 pi w exp(-pi w/(2a)), as for large w",
        lambda values, problem: values * -jnp.expm1(-jnp.pi * jnp.asarray(_FREQUENCIES)),
    )
    controls = "the spectrum of a score"
    unexplained = "how a network with a spectral bias learns this spectrum"

    def predict(self, problem: TwoPoints) -> Array:
        """Return the transform at the frequencies a/4, a/2, a, 2a and 4a."""
        frequencies = jnp.asarray(_FREQUENCIES)
        return jnp.pi * problem.steepness * frequencies / jnp.sinh(jnp.pi * frequencies / 2)

    def measure(self, problem: TwoPoints, key: Key[Array, ""]) -> Array:
        """Apply the trapezoidal rule to the second derivative of the log density."""
        grid = jnp.linspace(-24.0, 24.0, 801) / problem.steepness
        slope = jax.vmap(jax.grad(jax.grad(problem.log_density)))(grid) + 1 / problem.variance
        waves = jnp.cos(problem.steepness * jnp.asarray(_FREQUENCIES)[:, None] * grid)
        return (grid[1] - grid[0]) * waves @ slope

    def condition(self, problem: TwoPoints) -> Array:
        """Allow for terms that add up to 2a in size and cancel down to the value of the transform.

        The terms contain the rounding errors of the exponents (z + m)²/sigma² at the ends of the grid.
        """
        furthest = (24 / problem.steepness + problem.m) ** 2 / problem.variance
        return 2 * problem.steepness * (1 + furthest) / self.predict(problem)
