"""Conditions that many theorems ask for."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.claims import Hypothesis


def in_unit_ball(points: Float[Array, "n d"], what: str = "inputs", why: str = "") -> Hypothesis:
    """That the longest row has a norm of at most 1.

    Args:
        points: the rows.
        what: what they are, in the plural.
        why: what the condition protects.
    """
    return Hypothesis(f"{what} lie in the unit ball", jnp.linalg.norm(points, axis=1).max(), "<=", 1.0, why)
