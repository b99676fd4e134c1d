"""Scores of two noised points, fitted in the space of a Gaussian kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space
from lemmata.kernels import RBF, gram


class TwoPointScore(eqx.Module):
    """Data m or -m with probability 1/2 each, noised, and the width and the ridge of a fit.

    Args:
        m: the size of the data.
        width: lengthscale of the Gaussian kernel.
        ridge: weight of the squared norm in the fit.
    """

    m: Float[Array, ""]
    width: Float[Array, ""]
    ridge: Float[Array, ""]

    def fitted_seminorm(self, sigma: Float[Array, ""]) -> Float[Array, ""]:
        """The integral over |z| <= m + 2 sigma of the squared derivative of the fitted s(z) + z/sigma².

        Denoising score matching at the noise sigma is least squares of x/sigma² on z = x + sigma xi: 60 nodes of
        Gauss-Hermite quadrature for xi at either x, and the squared norm of the kernel's space.
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
    """Sizes evenly on a logarithmic scale about 1; widths between 0.37 and 0.43 of them."""

    def settings(self) -> Space:
        """The ridge."""
        return Space(ridge=Real(1e-6, 1e-8, 1e-4, "weight of the squared norm", corners=(5e-7, 2e-6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoPointScore:
        """A random size and width."""
        size, share = jax.random.uniform(key, (2,))
        m = 4.0 ** (size - 0.5)
        return TwoPointScore(m, (0.37 + 0.06 * share) * m, jnp.asarray(setting["ridge"]))

    def hypotheses(self, problem: TwoPointScore) -> list[Hypothesis]:
        """A width that suits the step of the score, a positive ridge."""
        return [
            Hypothesis("the width against m", problem.width / problem.m, "<=", 0.5, "the step must fit in the space"),
            Hypothesis("the ridge is positive", problem.ridge, ">", 0.0, "nodes overlap where the two laws do"),
        ]
