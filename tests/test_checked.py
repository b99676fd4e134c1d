"""Types and shapes are checked in every test, though checkers are made when they are first needed."""

import jax.numpy as jnp
import jaxtyping
import pytest

from lemmata.errors import ShapeError
from lemmata.solvers import kernel_ridge
from tests import checked


def test_wrong_shapes_are_refused_in_tests():
    assert kernel_ridge(jnp.eye(3), jnp.ones(3), 0.1).coefficients.shape == (3,)
    with pytest.raises(ShapeError) as refused:
        kernel_ridge(jnp.ones(3), jnp.ones(3), 0.1)
    assert isinstance(refused.value.__cause__, jaxtyping.TypeCheckError)


def test_a_checker_is_made_when_it_is_first_needed(monkeypatch):
    looked_at = []
    monkeypatch.setattr(checked, "beartype", lambda function: looked_at.append(function) or function)
    wrapped = checked.lazily(len)
    assert not looked_at
    assert [wrapped("abc"), wrapped("ab")] == [3, 2]
    assert looked_at == [len]
