"""Linear functions of the largest slope of their class."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.functions import LinearFunctions

from ._sampled import draws


class Slope(eqx.Module):
    """A linear function of a class, of the largest slope.

    Args:
        functions: the class.
        a: its slope.
        sharpness: tau.
        small: epsilon, the size of the frequencies in a limit.
    """

    functions: LinearFunctions
    a: Float[Array, " d"]
    sharpness: Float[Array, ""]
    small: Float[Array, ""]


class Slopes(Population[Slope]):
    """Linear functions <a, x> + b, |a| at most C_a and |b| at most C_b = C_a/10, with |a| = C_a.

    Attributes:
        dimension: d, unless a setting says otherwise.
        sharpness: tau, unless a setting says otherwise.
    """

    free = ("a",)
    dimension: int = 4
    sharpness: float = 64.0

    def settings(self) -> Space:
        """Dimension and sharpness."""
        return Space(d=Integer(self.dimension, 2, 50, "dimension"), tau=Real(self.sharpness, 2.0, 1e4, "tau"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Slope:
        """Lognormal slopes, the bound of shifts of a tenth."""
        way, size = draws(key, (setting["d"],), (2,))
        slope = jnp.exp(0.3 * size[0])
        functions = LinearFunctions(setting["d"], slope, slope / 10)
        a = slope * way / jnp.linalg.norm(way)
        return Slope(functions, a, jnp.asarray(setting["tau"]), 0.1 * jnp.exp(0.3 * size[1]))

    def hypotheses(self, problem: Slope) -> list[Hypothesis]:
        """A function of the class, and tau > 2."""
        return [
            Hypothesis("|a| is at most C_a", jnp.linalg.norm(problem.a), "<=", problem.functions.slope, "the class"),
            Hypothesis("tau is more than 2", problem.sharpness, ">", 2.0, "Lemma 5"),
        ]
