"""Arguments of elementary facts: numbers near 0 or 1, pairs of vectors, layers of softmax units."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._random_units import unit_rows

Law = Callable[[Array, float], Array]


class Argument(eqx.Module):
    """The argument of an elementary inequality, and how large it may be."""

    x: Float[Array, ""]
    largest: float = eqx.field(static=True)


class Pair(eqx.Module):
    """Two vectors."""

    u: Float[Array, " n"]
    v: Float[Array, " n"]


class SoftmaxLayer(eqx.Module):
    """A softmax over m units at given inputs.

    Args:
        x: inputs.
        weight: W, a column a unit.
    """

    x: Float[Array, "n d"]
    weight: Float[Array, "d m"]


def either_sign(key: Key[Array, ""], largest: float) -> Array:
    """Uniform on [-largest, largest]."""
    return jax.random.uniform(key, minval=-largest, maxval=largest)


def near_zero(key: Key[Array, ""], largest: float) -> Array:
    """Of size largest exp(-E), E standard exponential but at most 8, with either sign."""
    sign_key, size_key = jax.random.split(key)
    size = jnp.exp(-jnp.minimum(jax.random.exponential(size_key), 8.0))
    return largest * size * jax.random.rademacher(sign_key, ())


def below_one(key: Key[Array, ""], largest: float) -> Array:
    """In (0, 0.1), or with 1 - x log-uniform between 1 - largest and 0.9; each in half of the draws."""
    side_key, value_key = jax.random.split(key)
    value, nearest = jax.random.uniform(value_key), 1 - largest
    return jnp.where(jax.random.bernoulli(side_key), 0.1 * value, 1 - 0.9 * (nearest / 0.9) ** value)


class Arguments(Population[Argument]):
    """Numbers x with |x| at most `largest`.

    Args:
        largest: how large they may be.
        law: how they are drawn, from a key and `largest`.
    """

    free = ("x",)
    largest: float = 0.1
    law: Law = eqx.field(static=True, default=either_sign)

    def settings(self) -> Space:
        """None."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> Argument:
        """By the law."""
        return Argument(self.law(key, self.largest), self.largest)

    def hypotheses(self, problem: Argument) -> list[Hypothesis]:
        """A small argument."""
        return [Hypothesis("the argument is small", jnp.abs(problem.x), "<=", problem.largest, "terms left out")]


class Pairs(Population[Pair]):
    """Normal vectors, the second of a random length."""

    def settings(self) -> Space:
        """The dimension."""
        return Space(n=Integer(20, 1, 1000, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Pair:
        """Standard normal vectors of random lengths."""
        u, v = jax.random.normal(key, (2, setting["n"]))
        return Pair(u, jnp.exp(jax.random.normal(key)) * v)

    def hypotheses(self, problem: Pair) -> list[Hypothesis]:
        """Any two vectors."""
        return []


class SoftmaxLayers(Population[SoftmaxLayer]):
    """Inputs on the unit sphere and normal weights, large ones by default: the exponentials alone overflow."""

    def settings(self) -> Space:
        """Sizes, and the scale of the logits."""
        return Space(
            n=Integer(8, 1, 100, "inputs"),
            d=Integer(4, 1, 100, "dimension"),
            m=Integer(64, 1, 4096, "units"),
            sigma=Real(30.0, 0.0, 1e4, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SoftmaxLayer:
        """Independent inputs and weights."""
        input_key, weight_key = jax.random.split(key)
        weight = setting["sigma"] * jax.random.normal(weight_key, (setting["d"], setting["m"]))
        return SoftmaxLayer(unit_rows(input_key, setting["n"], setting["d"]), weight)

    def hypotheses(self, problem: SoftmaxLayer) -> list[Hypothesis]:
        """Any inputs and weights."""
        return []
