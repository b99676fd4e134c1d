"""Conditions that many claims share, at their edges."""

import jax.numpy as jnp
import pytest

from lemmata.engine.problems.conditions import positive_ridge


@pytest.mark.parametrize(
    ("ridge", "holds"), [(1.0, True), (1e-300, True), (0.0, False), (-1e-300, False), (-1.0, False)]
)
def test_a_ridge_is_positive_or_not(ridge, holds):
    own = positive_ridge(jnp.asarray(ridge), "the inverse exists")
    assert bool(own.holds) is holds
    assert float(own.value) == ridge
    assert (own.name, own.why) == ("the ridge is positive", "the inverse exists")
