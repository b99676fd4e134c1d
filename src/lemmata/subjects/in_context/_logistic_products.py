"""Random numbers x that 4 tau (sigma(x/tau) - 1/2) approximates, as the transformer does with products."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class Products(eqx.Module):
    """Numbers x that 4 tau (sigma(x/tau) - 1/2) approximates, and the temperature tau.

    Here sigma is the logistic function.
    """

    x: Float[Array, " s"]
    tau: Float[Array, ""]


def _positive(problem: Products) -> Hypothesis:
    return Hypothesis("the temperature is positive", problem.tau, ">", 0.0)


class ProductsAroundTau(Population[Products]):
    """64 numbers of size tau/100 to 10 tau with alternating signs. The logarithms of their sizes are uniform."""

    free = ("x",)
    settings = Space(tau=Real(3.0, 0.01, 1e3, "temperature", corners=(0.01, 1e3)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Products:
        exponent = jax.random.uniform(key, (64,), float, -2.0, 1.0)
        signs = jnp.where(jnp.arange(64) % 2 == 0, 1.0, -1.0)
        return Products(setting["tau"] * signs * 10**exponent, jnp.asarray(setting["tau"], float))

    def hypotheses(self, problem: Products) -> list[Hypothesis]:
        return [_positive(problem)]


class UniformProducts(Population[Products]):
    """Numbers that are uniform between `low` and 1, at the temperature 1; claims on scaling vary the temperature.

    Attributes:
        low: the lower end of the numbers.
    """

    free = ("x",)
    low: float = 0.5
    settings = Space(count=Integer(256, 16, 4096, "numbers"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Products:
        return Products(jax.random.uniform(key, (setting["count"],), float, self.low, 1.0), jnp.ones(()))

    def hypotheses(self, problem: Products) -> list[Hypothesis]:
        return [_positive(problem), Hypothesis("numbers lie in [-1, 1]", jnp.abs(problem.x).max(), "<=", 1.0)]
