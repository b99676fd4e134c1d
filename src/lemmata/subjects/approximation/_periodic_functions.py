"""Functions with integer frequencies, and combinations of classes of such functions. Their Fourier coefficients are
exact.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space
from lemmata.functions import CosineSum


class Periodic(eqx.Module):
    """Functions sum_j A_ij cos(<k_j, x> + theta_ij) with integer frequencies k_j. Their Fourier coefficients are exact.

    Args:
        atoms: the frequencies k_j, all distinct, and none of them the negative of another.
        amplitudes: the amplitudes A_ij, one row for each function i.
        phases: the phases theta_ij, one row for each function i.
    """

    atoms: Float[Array, "m two"]
    amplitudes: Float[Array, "k m"]
    phases: Float[Array, "k m"]

    def functions(self) -> list[CosineSum]:
        """Return one function for each row of amplitudes."""
        sizes = jnp.ones(len(self.atoms))
        return [CosineSum(self.atoms, sizes, *row) for row in zip(self.amplitudes, self.phases, strict=True)]


def sampled_periodic(normal: Float[Array, "rows forty"], functions: int, others: float) -> Periodic:
    """Draw random functions with 8 of 40 frequencies; function i has amplitude 1 at frequency i.

    Args:
        normal: standard normal numbers, in 1 + 2 `functions` rows.
        functions: the number of functions.
        others: the standard deviation of the other amplitudes.
    """
    half = [(i, j) for i in range(5) for j in range(-4, 5) if (i, j) > (0, 0)]
    chosen = jnp.asarray(half, float)[jnp.argsort(normal[0])[:8]]
    drawn = normal[1:, :8].reshape(2, functions, 8)
    amplitudes = others * drawn[0] + jnp.eye(functions, 8) * (1 - others * drawn[0])
    return Periodic(chosen, amplitudes, 2 * jnp.pi * jax.scipy.stats.norm.cdf(drawn[1]))


class PeriodicFunctions(Population[Periodic]):
    """Three random functions with the same eight frequencies."""

    # There are no settings, because the lattice of the measurement fixes the sizes.
    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Periodic:
        return sampled_periodic(jax.random.normal(key, (7, 40)), 3, 1.0)

    def hypotheses(self, problem: Periodic) -> list[Hypothesis]:
        return [Hypothesis("frequencies are below 8", jnp.abs(problem.atoms).max(), "<", 8.0, "16 points per period")]


class Combined(eqx.Module):
    """Classes of one function each, and bounds for their combinations.

    Args:
        parts: the functions f_i; class i contains only f_i.
        slope: the bound C_a on |a|_1 for the combinations <a, f> + b.
        shift: the bound C_b on |b|.
    """

    parts: Periodic
    slope: Float[Array, ""]
    shift: Float[Array, ""]

    def offsets(self) -> Float[Array, " k"]:
        """The absolute values |f_i(0)| of the functions at 0."""
        return jnp.abs(jnp.sum(self.parts.amplitudes * jnp.cos(self.parts.phases), axis=1))

    def moments(self) -> Float[Array, " k"]:
        """The first moment sum_j |A_ij| |k_j| of each function."""
        return jnp.abs(self.parts.amplitudes) @ jnp.linalg.norm(self.parts.atoms, axis=1)


class CombinedClasses(Population[Combined]):
    """Eight functions of eight frequencies. Each function has a large amplitude at one frequency only."""

    # There are no settings, because the lattice of the measurement fixes the sizes.
    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Combined:
        normal = jax.random.normal(key, (18, 40))
        return Combined(sampled_periodic(normal[1:], 8, 0.03), jnp.exp(normal[0, 0]), jnp.exp(normal[0, 1]))

    def hypotheses(self, problem: Combined) -> list[Hypothesis]:
        return [Hypothesis("C_i is finite", problem.moments().max(), "<", jnp.inf, "each class has a parameter")]
