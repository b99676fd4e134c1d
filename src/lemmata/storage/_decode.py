"""Turn the JSON and the tensors of a file into an object."""

import contextlib
import dataclasses
import inspect
import typing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from lemmata.core import float64_enabled
from lemmata.errors import DataError, PrecisionError, shortened

from ._registry import CLASSES, FUNCTIONS, settings_of


def decoded(body: Any, tensors: dict[str, np.ndarray]) -> Any:
    """Return the value that the function `encoded` turned into this JSON and these tensors.

    Args:
        body: the value read from JSON.
        tensors: the tensors by name.

    Raises:
        DataError: for a class or function that is not known, or for fields that do not belong to the class.
        PrecisionError: for a JAX array of 64 bits if JAX's x64 is off.
    """
    if body is None or isinstance(body, bool | int | float | str):
        return body
    match body:
        case {"item": array}:
            return decoded(array, tensors)[()]
        case {"parts": parts}:
            return _complex(decoded(parts, tensors))
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
            # An estimator always computes in float64, even if JAX's x64 is off. So its arrays stay in float64.
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
    if settings is None:  # a field that did not exist when the object was saved has its default
        missing = [field for field in dataclasses.fields(kind) if field.name not in fields]
        fields |= {field.name: field.default for field in missing if field.default is not dataclasses.MISSING}
    else:  # a setting that did not exist when the estimator was saved has its default
        given = inspect.signature(kind).parameters
        defaults = {name: given[name].default for name in settings - set(fields)}
        fields = fields | {name: value for name, value in defaults.items() if value is not inspect.Parameter.empty}
    if settings is None and set(fields) != (wanted := {field.name for field in dataclasses.fields(kind)}):
        raise DataError(f"class {kind.__name__}", found=f"fields {sorted(fields)}", rule=f"fields {sorted(wanted)}")
    if settings is not None and not (settings <= set(fields) and all(map(str.isidentifier, fields))):
        raise DataError(
            f"class {kind.__name__}", found=f"fields {sorted(fields)}", rule="a field for each setting of the class"
        )
    if settings is None:
        _check_types(kind, fields)
    value = object.__new__(kind)
    for name, part in fields.items():
        object.__setattr__(value, name, part)
    getattr(value, "__check_init__", lambda: None)()
    return value


def _check_types(kind: type, fields: dict[str, Any]) -> None:
    """Raise DataError if a field holds a number, a text or an array of another kind than the class declares."""
    for field in dataclasses.fields(kind):
        declared = typing.get_args(field.type) or (field.type,)
        if not any(_fits(own, fields[field.name]) for own in declared):
            value = fields[field.name]
            found = f"an array of {value.dtype}" if hasattr(value, "dtype") else f"{type(value).__name__} {value!r}"
            raise DataError(
                f"class {kind.__name__}, field {field.name}", found=shortened(found),
                rule=" or ".join(getattr(own, "__name__", str(own)) for own in declared),
                remedy="save the object again",
            )  # fmt: skip


def _fits(declared: Any, value: Any) -> bool:
    """Whether a value fits a field's declared type. Only numbers, text and arrays are checked; other values fit."""
    dtypes = getattr(declared, "dtypes", None)
    if isinstance(dtypes, tuple | list):
        own = str(getattr(value, "dtype", ""))
        return bool(own) and (own in dtypes or own.startswith("key<") or own == "bfloat16")
    if declared in (bool, int, str):
        return type(value) is declared
    return declared is not float or (isinstance(value, int | float) and not isinstance(value, bool))


def _complex(parts: Any) -> Any:
    """Make a complex array from an array whose last axis holds the real and the imaginary part."""
    if isinstance(parts, jax.Array):
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    return parts.view(np.result_type(parts, np.complex64))[..., 0]


def _jax_array(array: np.ndarray, weak: bool) -> jax.Array:
    if array.dtype.itemsize == 8 and not float64_enabled():
        raise PrecisionError(
            f"array of {array.dtype} in the file",
            found="JAX limited to 32-bit numbers",
            rule="64 bits",
            remedy="call jax.config.update('jax_enable_x64', True) first, or load in `with jax.enable_x64(True):`",
        )
    # A weakly typed array was made from a Python number and adapts to the precision of other arrays. So must its copy.
    return jnp.asarray(array.item()) if weak and array.shape == () else jnp.asarray(array)
