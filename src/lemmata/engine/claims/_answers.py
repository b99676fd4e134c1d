"""Constant answers of claims. A class may state such an answer as an attribute in place of a method."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ._settings import Space


def answer_by_values(cls: type, questions: tuple[str, ...]) -> None:
    """In a class, replace attributes that state answers by methods that return the values of these attributes.

    Such a method returns a number, or a tuple of numbers, as an array. A `Space` is returned unchanged.

    Args:
        cls: the class, which is changed.
        questions: names of the methods that attributes may replace, such as "trivial".
    """
    for name in questions:
        value = vars(cls).get(name)
        if isinstance(value, (int, float, tuple, Space)):
            setattr(cls, name, _answer(value, name))


def _answer(value: Any, name: str):
    def answer(self, *_) -> Array | Space:
        return value if isinstance(value, Space) else jnp.asarray(value, float)

    answer.__name__ = name
    return answer
