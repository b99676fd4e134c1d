"""Check and convert the arrays that a user passes to a public function, by the function's annotations.

The `__init__` of a subpackage ends with `read_arguments(__name__)`. From then on, each argument of a public function or
method that is annotated as an array is read (checked and converted) before the function's own code runs. Lists, data
frames, tensors, and arrays of another library or type become arrays of the annotated kind. Texts, ragged lists, None,
wrong numbers of axes, and complex numbers in place of real numbers are refused. The error has one line and names the
argument. A JAX array is passed on unchanged, so its reading does not change any result. If a function then fails with
an error of another library, lemmata raises its own error instead, which names the argument whose shape or type does not
fit.
"""

import dataclasses
import enum
import functools
import inspect
import os
import pathlib
import sys
import sysconfig
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import AbstractArray

from lemmata.errors import LemmataError
from lemmata.signatures import shows_public

from ._places import KINDS, KeyPlace, LikePlace, Place, unfit

_LIBRARIES = tuple({
    os.path.join(folder, "") for folder in (
        *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib")),
        str(pathlib.Path(__file__).parents[1]), str(pathlib.Path(jax.__file__).parents[1]),
    )
})  # fmt: skip
"""The folders of code that no user wrote: the standard library, installed packages, lemmata, and JAX's folder.

Each path ends with a separator.
"""


def places(
    function: Callable[..., Any], told: Mapping[str, Any] = types.MappingProxyType({})
) -> list[tuple[int | None, "Place | LikePlace | KeyPlace"]]:
    """Return the arguments of a function that are annotated as arrays.

    Each argument comes with its position, or with None if it is keyword-only.

    Args:
        function: any function.
        told: annotations by argument names. These annotations replace the function's own annotations.
    """
    found: list[tuple[int | None, Place | LikePlace | KeyPlace]] = []
    for position, parameter in enumerate(inspect.signature(function).parameters.values()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        annotation = told.get(parameter.name, parameter.annotation)
        place = _place(parameter.name, _evaluated(function, annotation), parameter.default is None)
        if place is not None:
            found.append((None if parameter.kind == parameter.KEYWORD_ONLY else position, place))
    return found


def _evaluated(function: Any, annotation: Any) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, getattr(inspect.unwrap(function), "__globals__", {}))
    except Exception:  # a name that is imported only for type checkers
        return Any


def _place(name: str, annotation: Any, optional: bool) -> "Place | LikePlace | KeyPlace | None":
    members = list(_members(annotation))
    arrays = [each for each in members if _is_shaped(each)]
    if any(_name(each) == "Key" for each in arrays):
        return KeyPlace(name, optional or type(None) in members)
    if any(getattr(each, "__module__", "").startswith("numpy._typing") for each in members):
        return LikePlace(name, optional or type(None) in members)
    bare = [each for each in members if each in (jax.Array, np.ndarray)]
    rest = [each for each in members if each not in arrays and each not in bare]
    others, callables = list[type](), False
    for each in rest:
        origin = typing.get_origin(each) or each
        if origin is typing.Literal:
            others.append(str)
        elif origin is Callable:
            callables = True
        elif not isinstance(origin, type) or origin in (object, str, bytes) or _is_protocol(origin):
            return None  # the function checks this argument itself
        elif origin not in (type(None), complex):
            others.append(origin)
    if not arrays and not bare:
        return None
    if not arrays and jax.Array not in bare and not others:
        kinds = ""  # all kinds are accepted, also labels
    else:
        kinds = "".join(dict.fromkeys("".join(KINDS.get(_name(each), "") for each in arrays) + "fiub" * bool(bare)))
    if any(_name(each) not in KINDS for each in arrays):
        return None
    axes = None if bare else tuple(dict.fromkeys(_axes_of(each) for each in arrays))
    libraries = [getattr(each, "array_type", each) for each in (*arrays, *bare)]
    return Place(name, kinds, axes, jax.Array in libraries, np.ndarray in libraries, tuple(others), callables,
                 optional or type(None) in rest)  # fmt: skip


def _members(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


def _is_shaped(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, AbstractArray)


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _name(annotation: Any) -> str:
    return annotation.__name__.split("[", 1)[0]


def _axes_of(annotation: Any) -> tuple[int, bool]:
    words = annotation.dim_str.split()
    more = [word for word in words if word == "..." or "*" in word]
    return len(words) - len(more), bool(more)


def reading(function: Callable[..., Any], told: Mapping[str, Any] = types.MappingProxyType({})) -> Callable[..., Any]:
    """Return the function, wrapped so that its array arguments are read before it runs.

    A function without array arguments is returned unchanged.

    Args:
        function: a function with annotations.
        told: annotations by argument names. These annotations replace the function's own annotations.
    """
    annotated = {**getattr(function, "__annotations__", {}), **told}
    if hasattr(function, "__reads__") or not any(_is_about_arrays(each) for each in annotated.values()):
        return function
    made: list[list[tuple[int | None, Place | LikePlace | KeyPlace]]] = []

    @functools.wraps(function)
    def read(*given: Any, **named: Any) -> Any:
        if not made:
            made.append(places(function, told))
        changed: list[Any] | None = None
        for position, place in made[0]:
            if position is not None and position < len(given):
                value = place.read(given[position])
                if value is not given[position]:
                    changed = changed or list(given)
                    changed[position] = value
            elif place.name in named:
                named[place.name] = place.read(named[place.name])
        taken = given if changed is None else changed
        try:
            return function(*taken, **named)
        except LemmataError:
            raise
        except Exception as error:
            if _is_of_users_code(error.__traceback__, function):
                raise
            for position, place in made[0]:
                _, value = _given((position, place), taken, named)
                if (reason := place.explained(value)) is not None:
                    raise reason from error
            if (reason := unfit(error, [_given(part, taken, named) for part in made[0]])) is not None:
                raise reason from error
            raise

    read.__reads__ = True  # pyright: ignore[reportAttributeAccessIssue]
    return read


def _is_of_users_code(frames: types.TracebackType | None, function: Callable[..., Any]) -> bool:
    """Return whether a frame of an error's traceback belongs to a user's code, such as a callback of `function`."""
    own = getattr(inspect.unwrap(function), "__code__", None)
    libraries = (*_LIBRARIES, own.co_filename) if own else _LIBRARIES
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        made = file.startswith(("<@", "<frozen", "<string>"))  # code that jaxtyping, Python or data classes generate
        if not made and not file.startswith(libraries):
            return True
        frames = frames.tb_next
    return False


def _given(part: tuple[int | None, Any], taken: Sequence[Any], named: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name of an argument and its value. The value is None if none was given."""
    position, place = part
    return place.name, taken[position] if position is not None and position < len(taken) else named.get(place.name)


def _is_about_arrays(annotation: Any) -> bool:
    return "rray" in annotation if isinstance(annotation, str) else any(
        _is_shaped(each)
        or each in (jax.Array, np.ndarray)
        or getattr(each, "__module__", "").startswith("numpy._typing")
        for each in _members(annotation)
    )  # fmt: skip


def read_arguments(package: str) -> None:
    """Wrap the public functions and classes of a subpackage, and their base classes, to read their array arguments.

    Their signatures also become short texts in `help`.

    Args:
        package: the name of a subpackage whose `__init__` has imported all its public names.
    """
    space = vars(sys.modules[package])
    for name, value in list(space.items()):
        module = getattr(value, "__module__", None)
        if name.startswith("_") or not isinstance(module, str) or not module.startswith(f"{package}."):
            continue
        if isinstance(value, type):
            for each in value.__mro__:
                if each.__module__.startswith("lemmata."):
                    _read_in_class(each)
        elif callable(value) and getattr(value, "__name__", None) == name:
            # A pickled function stores its module, so the wrapped function must replace the function in this
            # module, too.
            read = reading(value)
            space[name] = vars(sys.modules[module])[name] = read
    shows_public(package)


def _read_in_class(kind: type) -> None:
    if issubclass(kind, enum.Enum | BaseException) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return
    for name, value in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(value, classmethod | staticmethod):
            setattr(kind, name, type(value)(reading(value.__func__)))
        elif callable(value) and inspect.isfunction(inspect.unwrap(value)):  # compiled methods are included
            read = reading(value, _converted_fields(kind) if name == "__init__" else {})
            if read is not value:
                setattr(kind, name, read)


def _converted_fields(kind: type) -> dict[str, Any]:
    """Return the annotations of the fields that Equinox converts to arrays when it makes an object.

    These fields have `jnp.asarray` or `np.asarray` as their converter.
    """
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {each.name: each.type for each in fields if each.metadata.get("converter") in (jnp.asarray, np.asarray)}
