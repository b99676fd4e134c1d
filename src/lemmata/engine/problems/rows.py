"""Test problems that consist of rows of numbers only."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.engine.claims import Hypothesis


class Rows(eqx.Module):
    """Rows of numbers, or of arrays of numbers.

    Args:
        x: the rows.
    """

    x: Float[Array, "n *shape"]


def finite(problem: Any) -> Hypothesis:
    """The hypothesis that no coordinate of the rows x of a problem is NaN or infinite."""
    return Hypothesis("rows are finite", jnp.sum(~jnp.isfinite(problem.x)), "<=", 0, "number of values that are not")
