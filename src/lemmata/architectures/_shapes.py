"""A cache for results that depend only on the shapes of arrays: each is computed once for a combination of shapes."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

_KEPT = 256
Found = TypeVar("Found")


def of_shapes(fact: Callable[..., Found]) -> Callable[..., Found]:
    """Wrap a function with a cache. Its result must depend only on the shapes and types of arrays in its arguments.

    Tracing a network takes longer than computing its kernel on a few points. Other parts of the arguments, for example
    functions, are identified by their hash. If a part has no hash, the result is computed again each time. As under
    `jax.jit`, arrays that a function closes over must keep their shapes.
    """

    @functools.lru_cache(maxsize=_KEPT)
    def remembered(tree: Any, leaves: tuple[Any, ...], kinds: tuple[type, ...], default: Any) -> Found:
        return fact(*jax.tree.unflatten(tree, leaves))

    @functools.wraps(fact)
    def found(*arguments: Any) -> Found:
        leaves, tree = jax.tree.flatten(jax.tree.map(_shape, arguments))
        key = tree, tuple(leaves), tuple(map(type, leaves)), jnp.result_type(float)
        try:
            hash(key)
        except TypeError:
            return fact(*jax.tree.unflatten(tree, leaves))
        return remembered(*key)

    return found


def traced(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the shapes and types of a function's result, for arguments that contain arrays or shapes of arrays."""
    return eqx.filter_eval_shape(function, *arguments)


def split(arguments: Any) -> tuple[Any, Any]:
    """Split a tree of arguments into the shapes of its arrays and its other parts."""
    return eqx.partition(arguments, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))


def _shape(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=leaf.weak_type)
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if isinstance(leaf, np.ndarray) else leaf
