"""Turn an object into JSON and tensors for a file."""

import dataclasses
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from lemmata.errors import SettingError

from ._registry import CLASSES, FUNCTIONS, name_of, settings_of


def encoded(value: Any, place: str, tensors: dict[str, np.ndarray]) -> Any:
    """Return the JSON of a value. Arrays in the value are added to `tensors` under their paths in the value.

    Args:
        value: the value to store.
        place: the path of the value in the whole object, for the names of tensors and for error messages.
        tensors: the dictionary that receives the arrays.

    Raises:
        SettingError: for an object that cannot be stored.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = np.asarray(value)
        return {"scalar": _tensor(value, place, tensors)}
    if isinstance(value, np.complexfloating):
        return {"item": _array(np.asarray(value), place, tensors)}
    if isinstance(value, jax.Array | np.ndarray):
        return _array(value, place, tensors)
    inside = lambda name, part: encoded(part, f"{place}.{name}" if place else str(name), tensors)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return {type(value).__name__: [inside(number, part) for number, part in enumerate(value)]}
    if type(value) is dict:
        if not all(isinstance(name, str) for name in value):
            _refuse(place, "a dictionary with keys that are not strings", "keys that are strings")
        return {"dict": {name: inside(name, part) for name, part in value.items()}}
    if isinstance(value, Partial) and not value.args and not value.keywords:
        return {"partial": encoded(value.func, place, tensors)}
    is_object = dataclasses.is_dataclass(value) or settings_of(type(value)) is not None
    if is_object and not isinstance(value, type):
        return _object(value, place, inside)
    if callable(value) and (name := name_of(FUNCTIONS, value)):
        return {"function": name}
    what = "a function of your own" if callable(value) else f"a {type(value).__name__}"
    _refuse(
        place,
        f"{what}, {value!r}",
        "arrays, numbers, text, objects of lemmata and named activations",
        (
            "use tanh(), sigmoid(), silu(), softplus() or jax.numpy.sin instead of the function. For "
            "your own function, write a class (an equinox.Module with __call__) and register it with "
            "lemmata.storage.storable"
        ),
    )


def _object(value: Any, place: str, inside: Any) -> dict[str, Any]:
    name = name_of(CLASSES, type(value))
    if name is None:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        _refuse(
            place,
            f"an object of class {kind}",
            "a public class of lemmata, or a class registered with lemmata.storage.storable",
            "call lemmata.storage.storable(" + type(value).__name__ + ")",
        )
    if settings_of(type(value)) is not None:
        fields = dict(vars(value))
    else:
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {"class": name, "fields": {field: inside(field, part) for field, part in fields.items()}}


def _array(value: Any, place: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    if isinstance(value, jax.Array):
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            raw = np.asarray(jax.random.key_data(value))
            return {"key": _tensor(raw, place, tensors), "implementation": str(jax.random.key_impl(value))}
        if value.dtype.kind == "c":
            return {"parts": {"array": _tensor(_parts(np.asarray(value)), place, tensors), "weak": False}}
        return {"array": _tensor(np.asarray(value), place, tensors), "weak": bool(value.weak_type)}
    if value.dtype.kind in "UO":
        if not all(isinstance(entry, str | int | float | bool) for entry in value.ravel().tolist()):
            _refuse(place, "an array of objects", "an array of numbers or text")
        return {"text": value.ravel().tolist(), "shape": list(value.shape), "object": value.dtype.kind == "O"}
    if value.dtype.kind == "c" and value.dtype.itemsize <= 16:
        return {"parts": {"numpy": _tensor(_parts(value), place, tensors)}}
    return {"numpy": _tensor(value, place, tensors)}


def _parts(value: np.ndarray) -> np.ndarray:
    """Return the real and the imaginary part of a complex array, along a new last axis."""
    return np.stack([np.real(value), np.imag(value)], axis=-1)


def _tensor(value: np.ndarray, place: str, tensors: dict[str, np.ndarray]) -> str:
    name = place or "value"
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        _refuse(place, f"an array of {value.dtype}", "an array of real numbers")
    tensors[name] = np.ascontiguousarray(value).reshape(value.shape)
    return name


def _refuse(place: str, found: str, rule: str, remedy: str | None = None) -> NoReturn:
    raise SettingError(f"value to store, at {place or 'the top'}", found=found, rule=rule, remedy=remedy)
