"""Networks of logistic units, and numbers at which their spectra are compared."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.functions import LogisticNetworks

from ._sampled import draws


class Frequencies(eqx.Module):
    """Where spectra are compared.

    Args:
        omega: real numbers.
    """

    omega: Float[Array, " m"]


class NormalFrequencies(Population[Frequencies]):
    """Sixteen standard normal frequencies."""

    def settings(self) -> Space:
        """None."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Frequencies:
        """Sixteen normal frequencies."""
        return Frequencies(jax.random.normal(key, (16,)))

    def hypotheses(self, problem: Frequencies) -> list[Hypothesis]:
        """Not 0, where the quotient is a limit."""
        return [Hypothesis("no frequency is 0", jnp.abs(problem.omega).min(), ">", 0.0, "0/0 for 1/(2 pi)")]


class UnitLengths(Population[Frequencies]):
    """Eight lengths of units between 0.5 and 4."""

    def settings(self) -> Space:
        """None."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Frequencies:
        """Uniform lengths."""
        return Frequencies(jax.random.uniform(key, (8,), minval=0.5, maxval=4.0))

    def hypotheses(self, problem: Frequencies) -> list[Hypothesis]:
        """Lengths that the quadrature resolves."""
        return [Hypothesis("a is at least 0.5", problem.omega.min(), ">=", 0.5, "the step of the quadrature")]


class LogisticUnits(eqx.Module):
    """A network sum_j r_j sigma(<a_j, x>), and a point.

    Args:
        functions: the class.
        coefficients: r_j.
        x: a point of the unit ball.
    """

    functions: LogisticNetworks
    coefficients: Float[Array, " m"]
    x: Float[Array, " d"]


class LogisticUnitNetworks(Population[LogisticUnits]):
    """Units of lengths between 0.7 and 2.5; the last two are on one line, against each other."""

    def settings(self) -> Space:
        """Sizes."""
        return Space(d=Integer(3, 2, 20, "dimension"), m=Integer(4, 2, 16, "units"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LogisticUnits:
        """Uniform lengths, lognormal bounds of the coefficients."""
        m, d = setting["m"], setting["d"]
        ways, lengths, sizes, x = draws(key, (m, d), (m,), (2, m), (d,))
        ways = jnp.concatenate([ways[:-1], -ways[-2:-1]])
        ways = ways / jnp.linalg.norm(ways, axis=1, keepdims=True)
        atoms = (0.7 + 1.8 * jax.scipy.stats.norm.cdf(lengths))[:, None] * ways
        functions = LogisticNetworks(atoms, jnp.exp(sizes[0]))
        return LogisticUnits(functions, jnp.exp(sizes[0]) * jnp.tanh(sizes[1]), x / (1 + jnp.linalg.norm(x)))

    def hypotheses(self, problem: LogisticUnits) -> list[Hypothesis]:
        """Lengths that the quadrature resolves, coefficients within their bounds."""
        lengths = jnp.linalg.norm(problem.functions.atoms, axis=1)
        outside = (jnp.abs(problem.coefficients) / problem.functions.sizes).max()
        return [
            Hypothesis("|a_j| is at least 0.7", lengths.min(), ">=", 0.7, "the range of the quadrature"),
            Hypothesis("|a_j| is at most 2.5", lengths.max(), "<=", 2.5, "the range of the quadrature"),
            Hypothesis("|r_j| is at most its bound", outside, "<=", 1.0, "|rho| <= rho_max"),
        ]
