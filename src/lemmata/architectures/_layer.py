"""The contract of a layer: one object, three faces."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Key

from ._state import State


class AbstractLayer(eqx.Module):
    """A map between vectors, as a finite random function and as its infinite-width limit.

    Theory and finite network come from the same object and cannot drift apart: `tests/laws/test_architectures.py`
    compares `push` with `init` and `apply` for every layer.
    """

    @abc.abstractmethod
    def init(self, key: Key[Array, ""], fan_in: int, *, dtype: Any = float) -> tuple[Any, int]:
        """Draws the parameters for inputs with `fan_in` coordinates; returns them and the number of outputs."""

    @abc.abstractmethod
    def apply(self, params: Any, x: Float[Array, " fan_in"]) -> Float[Array, " fan_out"]:
        """The layer at one point."""

    @abc.abstractmethod
    def push(self, state: State) -> State:
        """The second moments of the outputs from those of the inputs, as the number of inputs goes to infinity."""
