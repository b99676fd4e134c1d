"""Hypotheses that many theorems need, such as inputs in the unit ball or a positive semidefinite matrix."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.engine.claims import Hypothesis


def in_unit_ball(points: Float[Array, "n d"], what: str = "inputs", why: str = "") -> Hypothesis:
    """The hypothesis that the longest row has a norm of at most 1.

    Args:
        points: the rows.
        what: the name of the rows, in the plural.
        why: the reason for the condition.
    """
    return Hypothesis(f"{what} lie in the unit ball", jnp.linalg.norm(points, axis=1).max(), "<=", 1.0, why)


def rounding_floor(values: Float[Array, " n"]) -> Float[Array, ""]:
    """The size at which an eigenvalue counts as zero: 16 n eps times the largest eigenvalue.

    Rounding can raise a zero eigenvalue of an n x n matrix to this size.

    Args:
        values: all eigenvalues of the matrix.
    """
    return 16 * len(values) * jnp.finfo(values.dtype).eps * jnp.max(values)


def semidefinite(matrix: Float[Array, "n n"], why: str = "to rounding") -> Hypothesis:
    """The hypothesis that no eigenvalue of a Gram matrix K is negative beyond rounding.

    Args:
        matrix: the Gram matrix K.
        why: the reason for the condition.
    """
    values = jnp.linalg.eigvalsh(matrix)
    name = "K is positive semidefinite (smallest eigenvalue)"
    return Hypothesis(name, values[0], ">=", -rounding_floor(values), why)


def positive_ridge(ridge: Float[Array, ""], why: str) -> Hypothesis:
    """The hypothesis that the ridge is positive.

    Args:
        ridge: the ridge, which is added to the diagonal of the Gram matrix.
        why: the reason for the condition.
    """
    return Hypothesis("the ridge is positive", ridge, ">", 0.0, why)
