"""Third problem: which space holds score functions as the noise falls? Their seminorms diverge at a known rate.

This is a partial result for data at two points. The fitted score of any method that is accurate near the data has a
squared Sobolev seminorm that grows like sigma^(-6). So no ball of a fixed space holds the scores of all noise levels.
The result leaves open what replaces the fixed space.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Population, Rate, Real, Source, Space
from lemmata.kernels import RBF, gram

ABOUT = {"tool": "reproducing kernels", "architecture": "diffusion model", "object": "score", "problem": 3}


class TwoPointScore(eqx.Module):
    """Noisy data m or -m with probability 1/2 each, and a fit: the Gaussian kernel's length scale, and the ridge."""

    m: Float[Array, ""]
    width: Float[Array, ""]
    ridge: Float[Array, ""]

    def fitted_seminorm(self, sigma: Float[Array, ""]) -> Float[Array, ""]:
        """Return the integral over |z| <= m + 2 sigma of the squared derivative of s(z) + z/sigma², for the fit s.

        Denoising score matching at the noise sigma is least squares of x/sigma² on z = x + sigma xi. The fit uses 60
        nodes of Gauss-Hermite quadrature for xi at each x, and penalises the squared norm of the kernel's space.
        """
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        x = self.m * jnp.repeat(jnp.array([1.0, -1.0]), 60)
        z = x + sigma * jnp.tile(nodes, 2)
        root = jnp.sqrt(jnp.tile(weights / weights.sum() / 2, 2))
        kernel = gram(RBF(self.width), z[:, None])
        matrix = root[:, None] * kernel * root + self.ridge * jnp.eye(120)
        coefficients = root * jnp.linalg.solve(matrix, root * x / sigma**2)
        grid = jnp.linspace(-1.0, 1.0, 401) * (self.m + 2 * sigma)
        apart = grid[:, None] - z
        slopes = -apart / self.width**2 * jnp.exp(-(apart**2) / (2 * self.width**2)) @ coefficients
        return jnp.trapezoid(slopes**2, grid)


class TwoPointScores(Population[TwoPointScore]):
    """Points m from a uniform distribution on a logarithmic scale around 1, and kernel widths from 0.37 m to 0.43 m."""

    settings = Space(ridge=Real(1e-6, 1e-8, 1e-4, "weight of the squared norm", corners=(5e-7, 2e-6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoPointScore:
        size, share = jax.random.uniform(key, (2,))
        m = 4.0 ** (size - 0.5)
        return TwoPointScore(m, (0.37 + 0.06 * share) * m, jnp.asarray(setting["ridge"]))

    def hypotheses(self, problem: TwoPointScore) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the width divided by m",
                problem.width / problem.m,
                "<=",
                0.5,
                "the space must be able to follow the step of the score",
            ),
            Hypothesis(
                "the ridge is positive",
                problem.ridge,
                ">",
                0.0,
                "nodes for m and -m overlap where the two distributions overlap",
            ),
        ]


_seminorm = eqx.filter_jit(TwoPointScore.fitted_seminorm)


class FittedScoreRoughness(Claim[TwoPointScore]):
    """Let the data be m and -m with probability 1/2 each, and let the noise have standard deviation sigma. The score is
    then s(z) = -z/sigma² + (m/sigma²) tanh(m z/sigma²). Fit the score by denoising score matching in the space of a
    Gaussian kernel, whose width is the same for all noise levels. Let the squared seminorm be the integral over |z| <=
    m + 2 sigma of the squared derivative of s(z) + z/sigma². As sigma falls, the squared seminorm of the fitted score
    grows like

        sigma^(-6).

    The squared seminorm of the score itself is (4/3) (m/sigma²)³, which grows at the same rate. The test measures the
    squared seminorm of the fitted score at several values of sigma/m.
    """

    title = "The squared Sobolev seminorm of a fitted score grows like sigma^-6 as the noise level sigma falls"
    source = Source(
        "foundation2025", "Section 7.3", note="a numerical test with two points, and one kernel for all noise levels"
    )
    population = TwoPointScores()
    relation = Rate("sigma", (0.8, 0.7, 0.6, 0.5), margin=0.15, resolution=0.1)
    control = Control("the squared seminorm grows like sigma^(-11/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the squared Sobolev seminorm of fitted scores"
    unexplained = "finite samples; a theory of spaces that change with the noise"
    traced = False  # several decompositions of 120 rows in one compiled batch can wait for each other on a CPU
    trials = 8
    predict = -6.0

    def measure_at(self, problem: TwoPointScore, key: Key[Array, ""], sigma: float) -> Array:
        return _seminorm(problem, sigma * problem.m)
