"""Matrices of gradients, and tables of positive numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class GradientMatrices(eqx.Module):
    """The gradients of a few steps with respect to one matrix of weights, in the order of the steps."""

    gradients: Float[Array, "t m n"]


class GradientSequences(Population[GradientMatrices]):
    """Gradients with independent normal entries, whose rows have different scales."""

    free = ("gradients",)
    settings = Space(
        m=Integer(4, 1, 64, "rows", corners=(3, 6)),
        n=Integer(6, 1, 64, "columns", corners=(4, 8)),
        steps=Integer(4, 2, 50, "gradients"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> GradientMatrices:
        """Draw scales of the rows that differ by up to a factor of four."""
        one, two = jax.random.split(key)
        scales = 4 ** jax.random.uniform(one, (setting["m"], 1))
        return GradientMatrices(scales * jax.random.normal(two, (setting["steps"], setting["m"], setting["n"])))

    def hypotheses(self, problem: GradientMatrices) -> list[Hypothesis]:
        least = jnp.linalg.svd(problem.gradients[0], compute_uv=False)[-1]
        return [
            Hypothesis(
                "the first gradient has full rank",
                least,
                ">",
                1e-6,
                "otherwise the polar factor of this gradient is not unique",
            )
        ]


class PositiveTable(eqx.Module):
    """A matrix of positive numbers, and positive vectors `row` and `column` from which a factorisation starts."""

    values: Float[Array, "m n"]
    row: Float[Array, " m"]
    column: Float[Array, " n"]


class PositiveTables(Population[PositiveTable]):
    """Squares of normal numbers, similar to second moments, multiplied by scales of rows and columns."""

    settings = Space(m=Integer(5, 2, 100, "rows"), n=Integer(7, 2, 100, "columns"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PositiveTable:
        """Draw scales over two orders of magnitude, and a positive start."""
        keys = jax.random.split(key, 5)
        m, n = setting["m"], setting["n"]
        rows = 10 ** jax.random.uniform(keys[0], (m, 1))
        columns = 10 ** jax.random.uniform(keys[1], (1, n))
        row, column = (1 + jax.random.uniform(k, (size,)) for k, size in zip(keys[3:], (m, n), strict=True))
        return PositiveTable(rows * columns * jax.random.normal(keys[2], (m, n)) ** 2, row, column)

    def hypotheses(self, problem: PositiveTable) -> list[Hypothesis]:
        return [
            Hypothesis(
                "entries are positive", problem.values.min(), ">", 0.0, "the divergence takes logarithms of the entries"
            )
        ]
