"""Functions whose spectrum is known: Gaussian bumps, their positive mixtures, polynomials of one variable."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.functions import GaussianBumps

from ._sampled import draws


class Bump(eqx.Module):
    """The class of Gaussian bumps.

    Args:
        functions: the class.
    """

    functions: GaussianBumps


class BumpClasses(Population[Bump]):
    """Bumps of lognormal scales."""

    def settings(self) -> Space:
        """The dimension."""
        return Space(d=Integer(3, 1, 20, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Bump:
        """A lognormal scale."""
        return Bump(GaussianBumps(setting["d"], jnp.exp(jax.random.normal(key))))

    def hypotheses(self, problem: Bump) -> list[Hypothesis]:
        """A width."""
        return [Hypothesis("scale is positive", problem.functions.scale, ">", 0.0)]


class Mixture(eqx.Module):
    """sum_k w_k exp(-s_k² |x|²/2), positive definite.

    Args:
        weights: w_k, positive.
        scales: s_k.
        dimension: d.
    """

    weights: Float[Array, " k"]
    scales: Float[Array, " k"]
    dimension: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The value of f."""
        return self.weights @ jnp.exp(-(self.scales**2) * jnp.sum(x**2) / 2)


class PositiveMixtures(Population[Mixture]):
    """Mixtures of three Gaussians with scales near 1."""

    free = ("weights", "scales")

    def settings(self) -> Space:
        """The dimension."""
        return Space(d=Integer(6, 1, 50, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Mixture:
        """Lognormal weights and scales."""
        weights, scales = draws(key, (3,), (3,))
        return Mixture(jnp.exp(weights), jnp.exp(0.2 * scales), setting["d"])

    def hypotheses(self, problem: Mixture) -> list[Hypothesis]:
        """A positive spectrum."""
        return [Hypothesis("weights are positive", problem.weights.min(), ">", 0.0, "F_f is not negative")]


class RidgePolynomial(eqx.Module):
    """A polynomial of one variable.

    Args:
        coefficients: lowest power first.
        period: of its extension.
    """

    coefficients: Float[Array, " k"]
    period: Float[Array, ""]


class RidgePolynomials(Population[RidgePolynomial]):
    """Polynomials with normal coefficients."""

    free = ("coefficients", "period")

    def settings(self) -> Space:
        """Degree and period."""
        return Space(degree=Integer(3, 1, 12, "degree"), period=Real(4.0, 2.1, 20.0, "of the extension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RidgePolynomial:
        """Normal coefficients."""
        coefficients = jax.random.normal(key, (setting["degree"] + 1,))
        return RidgePolynomial(coefficients, jnp.asarray(setting["period"]))

    def hypotheses(self, problem: RidgePolynomial) -> list[Hypothesis]:
        """Room for the continuation."""
        return [Hypothesis("the period is more than 2", problem.period, ">", 2.0, "the length of [-1, 1]")]
