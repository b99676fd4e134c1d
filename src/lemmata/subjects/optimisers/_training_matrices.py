"""A small nonlinear loss of one matrix of weights, and maps of the matrix with which an optimiser may commute."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class MatrixTraining(eqx.Module):
    """The loss mean (tanh(x W) - y)² of a matrix W of shape (m, n), a start, and random maps of matrices of this shape.

    Args:
        x, y: the points and the targets.
        start: the initial weight matrix W.
        left, right: orthogonal matrices of sizes m x m and n x n.
        whole: an orthogonal matrix with m n rows and columns.
        order: a permutation of the m n entries.
        rows, columns: permutations of rows and columns.
        signs: a sign for each entry.
        scale: a positive factor of the loss.
        steps: the number of optimiser steps.
    """

    x: Float[Array, "b m"]
    y: Float[Array, "b n"]
    start: Float[Array, "m n"]
    left: Float[Array, "m m"]
    right: Float[Array, "n n"]
    whole: Float[Array, "mn mn"]
    order: Array
    rows: Array
    columns: Array
    signs: Float[Array, "m n"]
    scale: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def loss(self, weights: Float[Array, "m n"]) -> Float[Array, ""]:
        """Return the loss, which is smooth, is not convex, and has no symmetries."""
        return jnp.mean((jnp.tanh(self.x @ weights) - self.y) ** 2)


def _orthogonal(key: Key[Array, ""], size: int) -> Float[Array, "n n"]:
    return jnp.linalg.qr(jax.random.normal(key, (size, size)))[0]


class MatrixTrainings(Population[MatrixTraining]):
    """Normal points, targets and weights, uniform random maps, and a factor of the loss from 1/10 to 10."""

    settings = Space(
        m=Integer(4, 2, 12, "rows of the weights", corners=(3, 5)),
        n=Integer(3, 2, 12, "columns of the weights", corners=(2, 4)),
        steps=Integer(6, 1, 30, "steps", corners=(3, 8)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MatrixTraining:
        m, n = setting["m"], setting["n"]
        keys = jax.random.split(key, 11)
        return MatrixTraining(
            jax.random.normal(keys[0], (24, m)),
            jax.random.normal(keys[1], (24, n)),
            jax.random.normal(keys[2], (m, n)),
            _orthogonal(keys[3], m),
            _orthogonal(keys[4], n),
            _orthogonal(keys[5], m * n),
            jax.random.permutation(keys[6], m * n),
            jax.random.permutation(keys[7], m),
            jax.random.permutation(keys[8], n),
            jax.random.rademacher(keys[9], (m, n), jnp.float64),
            10 ** jax.random.uniform(keys[10], minval=-1.0, maxval=1.0),
            setting["steps"],
        )

    def hypotheses(self, problem: MatrixTraining) -> list[Hypothesis]:
        """Require a first gradient without zeros, because optimisers without eps divide by the gradient."""
        least = jnp.abs(jax.grad(problem.loss)(problem.start)).min()
        return [
            Hypothesis(
                "no entry of the first gradient is 0", least, ">", 0.0, "optimisers without eps divide by the gradient"
            )
        ]
