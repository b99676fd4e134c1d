"""Independent bounded variables, whose sums and quadratic forms are near their expectations."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class BoundedVariables(eqx.Module):
    """Independent variables with two values each.

    Args:
        low: alpha_i, the smaller value.
        high: beta_i, the larger value.
        chance: probability of the larger value.
    """

    low: Float[Array, " n"]
    high: Float[Array, " n"]
    chance: Float[Array, " n"]


class TwoValues(Population[BoundedVariables]):
    """Ranges of lognormal length anywhere, the larger value with probability between 0.3 and 0.7."""

    def settings(self) -> Space:
        """How many variables."""
        return Space(n=Integer(64, 1, 1000, "variables"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> BoundedVariables:
        """Independent ranges."""
        centre, length = jax.random.normal(key, (2, setting["n"]))
        chance = jax.random.uniform(jax.random.fold_in(key, 1), (setting["n"],), minval=0.3, maxval=0.7)
        return BoundedVariables(centre, centre + jnp.exp(length), chance)

    def hypotheses(self, problem: BoundedVariables) -> list[Hypothesis]:
        """Intervals."""
        shortest = (problem.high - problem.low).min()
        return [Hypothesis("beta_i is at least alpha_i", shortest, ">=", 0.0, "x_i lies between them")]


class QuadraticForm(eqx.Module):
    """x'Ax for independent x_i that are K times a random sign times 1/2 (in one case of four) or 1.

    Args:
        matrix: A.
        bound: K.
    """

    matrix: Float[Array, "n n"]
    bound: float


class SemicircleForms(Population[QuadraticForm]):
    """A symmetric normal matrix, whose eigenvalues are spread over a semicircle."""

    def settings(self) -> Space:
        """Size of the matrix and the bound of the variables."""
        return Space(n=Integer(256, 2, 1000, "variables"), K=Real(1.0, 1e-3, 1e3, "bound of the variables"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> QuadraticForm:
        """Independent entries."""
        normal = jax.random.normal(key, (setting["n"], setting["n"]))
        return QuadraticForm((normal + normal.T) / math.sqrt(2), setting["K"])

    def hypotheses(self, problem: QuadraticForm) -> list[Hypothesis]:
        """Bounded variables; independent, with mean 0, by construction."""
        return [Hypothesis("K is positive", problem.bound, ">", 0.0, "the bound of the variables")]
