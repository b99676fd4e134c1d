"""From JSON and tensors to an object."""

import contextlib
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from lemmata.core import float64_enabled
from lemmata.errors import DataError, PrecisionError

from ._registry import CLASSES, FUNCTIONS, settings_of


def decoded(body: Any, tensors: dict[str, np.ndarray]) -> Any:
    """The value that `encoded` turned into this JSON and these tensors.

    Args:
        body: from JSON.
        tensors: by name.

    Raises:
        DataError: for a class or function that is not known, or fields that are not those of the class.
        PrecisionError: for a JAX array of 64 bits if JAX's x64 is off.
    """
    if body is None or isinstance(body, bool | int | float | str):
        return body
    match body:
        case {"array": name, "weak": weak}:
            return _jax_array(tensors[name], weak)
        case {"key": name, "implementation": implementation}:
            return jax.random.wrap_key_data(jnp.asarray(tensors[name]), impl=implementation)
        case {"numpy": name}:
            return tensors[name].copy()
        case {"scalar": name}:
            return tensors[name][()]
        case {"text": entries, "shape": shape, "object": mixed}:
            return np.asarray(entries, dtype=object if mixed else str).reshape(shape)
        case {"complex": [real, imaginary]}:
            return complex(real, imaginary)
        case {"tuple": parts}:
            return tuple(decoded(part, tensors) for part in parts)
        case {"list": parts}:
            return [decoded(part, tensors) for part in parts]
        case {"dict": parts}:
            return {name: decoded(part, tensors) for name, part in parts.items()}
        case {"partial": function}:
            return Partial(decoded(function, tensors))
        case {"function": name}:
            return _known(FUNCTIONS, "function", name)
        case {"class": name, "fields": fields}:
            kind = _known(CLASSES, "class", name)
            # An estimator computes in float64 wherever it is loaded, so its arrays keep it.
            with jax.enable_x64(True) if settings_of(kind) is not None else contextlib.nullcontext():
                return _object(kind, {field: decoded(part, tensors) for field, part in fields.items()})
    raise ValueError(f"a value cannot be read from {str(body)[:80]}")


def _known(registry: dict[str, Any], what: str, name: str) -> Any:
    if name not in registry:
        raise DataError(
            f"{what} {name!r}",
            found=f"an unknown {what}",
            rule=f"a {what} that lemmata or your program has registered",
            remedy="if it is your own, import the module that registers it with lemmata.storage.storable",
        )
    return registry[name]


def _object(kind: type, fields: dict[str, Any]) -> Any:
    settings = settings_of(kind)
    if settings is None and set(fields) != (wanted := {field.name for field in dataclasses.fields(kind)}):
        raise DataError(f"class {kind.__name__}", found=f"fields {sorted(fields)}", rule=f"fields {sorted(wanted)}")
    if settings is not None and not (settings <= set(fields) and all(map(str.isidentifier, fields))):
        raise DataError(
            f"class {kind.__name__}", found=f"fields {sorted(fields)}", rule="fields that are the settings of the class"
        )
    value = object.__new__(kind)
    for name, part in fields.items():
        object.__setattr__(value, name, part)
    getattr(value, "__check_init__", lambda: None)()
    return value


def _jax_array(array: np.ndarray, weak: bool) -> jax.Array:
    if array.dtype.itemsize == 8 and not float64_enabled():
        raise PrecisionError(
            f"array of {array.dtype} in the file",
            found="JAX with 32 bits",
            rule="64 bits",
            remedy="call jax.config.update('jax_enable_x64', True) first, or load in `with jax.enable_x64(True):`",
        )
    # A number that a Python number gave follows the precision of the points; so does its copy.
    return jnp.asarray(array.item()) if weak and array.shape == () else jnp.asarray(array)
