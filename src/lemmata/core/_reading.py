"""One reader for every array that users pass: the annotations of the public interface say what it takes.

The `__init__` of a subpackage ends with `read_arguments(__name__)`. Each public function, and each method of a public
class, then reads the arguments that are annotated as arrays before its own code sees them. Lists, frames, tensors and
arrays of another library or type become arrays of the annotated kind. Texts, complex numbers where real ones are meant,
ragged lists, None, and another number of axes are refused in one line that names the argument. An array of JAX is
passed on as it is, so that a reading changes no result. Where a function then fails in another library's words, the
argument whose shape or type does not fit is named.
"""

import dataclasses
import enum
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import AbstractArray

from lemmata.errors import DataError, LemmataError, PrecisionError, SettingError, ShapeError

from ._given import array_of, real_numbers

_KINDS = {
    "Float": "f", "Inexact": "fc", "Complex": "c", "Int": "iu", "Integer": "iu", "UInt": "u", "Bool": "b",
    "Real": "fiub", "Num": "fciu", "Shaped": "fciub",
}  # fmt: skip
_WORDS = {"f": "real numbers", "c": "complex numbers", "i": "whole numbers", "u": "whole numbers", "b": "booleans"}
_NUMBERS = (bool, int, float, np.bool_, np.number)


class Place(NamedTuple):
    """What an argument that is annotated as an array takes.

    Args:
        name: of the argument.
        kinds: of its entries, as NumPy abbreviates them; the first is what others become. Empty: any.
        axes: the allowed numbers of axes with the least for more, or None for any number.
        of_jax: whether arrays of JAX are taken.
        of_numpy: whether arrays of NumPy are taken.
        others: types of what else is taken, which is left as it is.
        callables: whether functions are taken.
        optional: whether None is.
    """

    name: str
    kinds: str
    axes: tuple[tuple[int, bool], ...] | None
    of_jax: bool
    of_numpy: bool
    others: tuple[type, ...]
    callables: bool
    optional: bool

    def read(self, value: Any) -> Any:
        """The argument as the function takes it.

        Args:
            value: what was given.

        Raises:
            ShapeError, DataError, PrecisionError: if it is no such array.
        """
        if isinstance(value, jax.Array) and self.of_jax:
            if self.kinds and "c" not in self.kinds and value.dtype.kind == "c":
                raise self._of_another_kind(value)
            return value
        if value is None:
            if self.optional:
                return None
            raise DataError(self.name, found="None", rule=f"an array of {self._words}")
        if not isinstance(value, jax.Array) and self._is_other(value):
            return value
        return self._converted(value)

    def explained(self, value: Any) -> LemmataError | None:
        """Why a function that failed on an argument in another library's words could not take it, or None.

        Args:
            value: what `read` gave.
        """
        shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
        if isinstance(shape, tuple) and 0 in shape:
            return ShapeError(self.name, found=f"shape {shape}", rule="no axis of length 0")
        if str(kind) in ("float16", "bfloat16"):
            remedy = "convert it with astype(float)"
            return PrecisionError(self.name, found=f"entries of type {kind}", rule="float32 or float64", remedy=remedy)
        if isinstance(shape, tuple) and not self._takes(len(shape)):
            return ShapeError(self.name, found=f"shape {shape}", rule=f"an array with {self._axes}")
        if isinstance(value, jax.Array | np.ndarray) and self.kinds and _kind(value.dtype) not in self.kinds:
            return self._of_another_kind(value)
        if self.axes is None and (shape == () or isinstance(value, _NUMBERS)) and not self.others:
            return ShapeError(self.name, found="one number", rule="an array of at least one axis")
        return None

    def _is_other(self, value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return False
        if isinstance(value, str | bytes):
            if float in self.others and str not in self.others:
                raise SettingError(self.name, found=repr(value)[:40], rule="numbers")
            return str in self.others
        if isinstance(value, list | tuple) and Sequence in self.others:
            real_numbers(self.name, array_of(self.name, value))
            return True
        if isinstance(value, self.others) or (self.callables and callable(value)):
            return True
        # A number stays a number, whose type gives way to that of the arrays beside it.
        scalar = isinstance(value, _NUMBERS) and not isinstance(value, np.complexfloating)
        return scalar and self._takes(0)

    def _converted(self, value: Any) -> Any:
        if self._is_setting and not isinstance(value, jax.Array | np.ndarray | np.generic):
            raise SettingError(self.name, found=" ".join(repr(value).split())[:40], rule="one number")
        array: Any = value if isinstance(value, jax.Array) else array_of(self.name, value)
        if array.dtype.kind in "OUS" and self.kinds:
            numbers = real_numbers(self.name, array)
            plain = np.array(array.tolist()) if array.dtype.kind == "O" else numbers  # whole numbers and booleans stay
            array = plain if plain.dtype.kind in "biuf" else numbers
        if not self._takes(array.ndim):
            if self._is_setting:
                raise SettingError(self.name, found=f"an array of shape {array.shape}", rule="one number")
            raise ShapeError(self.name, found=f"shape {array.shape}", rule=f"an array with {self._axes}")
        kind = _kind(array.dtype)
        if self.kinds and kind not in self.kinds:
            array = self._of_kind(array, kind)
        if isinstance(array, Tracer) or (isinstance(array, jax.Array) and self.of_jax):
            return array
        if self.of_numpy and not (self.of_jax and isinstance(value, list | tuple)):
            return np.asarray(array)
        return jnp.asarray(array) if self.of_jax and array.dtype.kind in "fciubV" else array

    def _of_kind(self, array: Any, kind: str) -> Any:
        goal = self.kinds[0]
        if goal in "fc" and kind in "fiub":
            return array.astype(float if goal == "f" else complex)
        if goal in "iu" and kind in "iub":
            return array.astype(int)
        if goal in "iu" and kind == "f" and isinstance(array, np.ndarray) and bool((np.floor(array) == array).all()):
            return array.astype(int)
        if goal == "b" and kind in "iu" and not isinstance(array, Tracer) and bool(np.all((array == 0) | (array == 1))):
            return array.astype(bool)
        raise self._of_another_kind(array)

    def _of_another_kind(self, array: Any) -> DataError:
        remedy = "use its real part, or its modulus" if array.dtype.kind == "c" else None
        return DataError(self.name, found=f"entries of type {array.dtype}", rule=self._words, remedy=remedy)

    @property
    def _is_setting(self) -> bool:
        return self.axes == ((0, False),)

    def _takes(self, axes: int) -> bool:
        return self.axes is None or any(axes == least or (more and axes > least) for least, more in self.axes)

    @property
    def _words(self) -> str:
        return _WORDS.get(self.kinds[:1], "numbers") if self.kinds != "fciub" else "numbers"

    @property
    def _axes(self) -> str:
        known = sorted(set(self.axes or ()))
        told = [f"{'at least ' if more else ''}{least}" for least, more in known]
        return f"{' or '.join(told)} {'axis' if known == [(1, False)] else 'axes'}"


class _LikePlace(NamedTuple):
    """Of NumPy's `ArrayLike`: numbers or labels, which the function reads itself, after complex numbers are refused."""

    name: str
    optional: bool

    def read(self, value: Any) -> Any:
        if value is None and not self.optional:
            raise DataError(self.name, found="None", rule="an array")
        if value is None or callable(value) or isinstance(value, str | bytes | Mapping):
            return value
        array = array_of(self.name, value)
        if array.dtype.kind == "c":
            raise DataError(self.name, found=f"entries of type {array.dtype}", rule="real numbers")
        return value

    def explained(self, value: Any) -> None:
        return None


class _KeyPlace(NamedTuple):
    name: str
    optional: bool

    def read(self, value: Any) -> Any:
        if isinstance(value, jax.Array | np.ndarray) or (value is None and self.optional):
            return value
        remedy = f"pass jax.random.key({value})" if isinstance(value, int) else "pass one made by jax.random.key(seed)"
        raise SettingError(self.name, found=repr(value)[:40], rule="a key of JAX", remedy=remedy)

    def explained(self, value: Any) -> None:
        return None


@functools.lru_cache(2**12)
def _kind(dtype: Any) -> str:
    if jnp.issubdtype(dtype, jnp.floating):
        return "f"
    return dtype.kind


def places(
    function: Callable[..., Any], told: Mapping[str, Any] = types.MappingProxyType({})
) -> list[tuple[int | None, "Place | _LikePlace | _KeyPlace"]]:
    """The arguments of a function that are annotated as arrays, each with its position where it has one.

    Args:
        function: any function.
        told: annotations of arguments that come before its own.
    """
    found: list[tuple[int | None, Place | _LikePlace | _KeyPlace]] = []
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
    except Exception:  # a name that only type checkers see
        return Any


def _place(name: str, annotation: Any, optional: bool) -> "Place | _LikePlace | _KeyPlace | None":
    members = list(_members(annotation))
    arrays = [each for each in members if _is_shaped(each)]
    if any(_name(each) == "Key" for each in arrays):
        return _KeyPlace(name, optional or type(None) in members)
    if any(getattr(each, "__module__", "").startswith("numpy._typing") for each in members):
        return _LikePlace(name, optional or type(None) in members)
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
            return None  # it says itself what it takes
        elif origin not in (type(None), complex):
            others.append(origin)
    if not arrays and not bare:
        return None
    if not arrays and jax.Array not in bare and not others:
        kinds = ""  # labels, too
    else:
        kinds = "".join(dict.fromkeys("".join(_KINDS.get(_name(each), "") for each in arrays) + "fiub" * bool(bare)))
    if any(_name(each) not in _KINDS for each in arrays):
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
    """The function with its array arguments read first, or itself where it has none.

    Args:
        function: with annotations.
        told: annotations of arguments that come before its own.
    """
    annotated = {**getattr(function, "__annotations__", {}), **told}
    if hasattr(function, "__reads__") or not any(_is_about_arrays(each) for each in annotated.values()):
        return function
    known: list[list[tuple[int | None, Place | _LikePlace | _KeyPlace]]] = []

    @functools.wraps(function)
    def read(*given: Any, **named: Any) -> Any:
        if not known:
            known.append(places(function, told))
        changed: list[Any] | None = None
        for position, place in known[0]:
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
            for position, place in known[0]:
                value = taken[position] if position is not None and position < len(taken) else named.get(place.name)
                if (reason := place.explained(value)) is not None:
                    raise reason from error
            raise

    read.__reads__ = True  # pyright: ignore[reportAttributeAccessIssue]
    return read


def _is_about_arrays(annotation: Any) -> bool:
    return "rray" in annotation if isinstance(annotation, str) else any(
        _is_shaped(each)
        or each in (jax.Array, np.ndarray)
        or getattr(each, "__module__", "").startswith("numpy._typing")
        for each in _members(annotation)
    )  # fmt: skip


def read_arguments(package: str) -> None:
    """Makes the public functions and classes of a subpackage read their array arguments, with what classes inherit.

    Args:
        package: whose `__init__` has imported all its public names.
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
            # Pickles name functions by where they are defined.
            space[name] = vars(sys.modules[module])[name] = reading(value)


def _read_in_class(kind: type) -> None:
    if issubclass(kind, enum.Enum | BaseException) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return
    for name, value in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if isinstance(value, classmethod | staticmethod):
            setattr(kind, name, type(value)(reading(value.__func__)))
        elif inspect.isfunction(value):
            read = reading(value, _converted_fields(kind) if name == "__init__" else {})
            if read is not value:
                setattr(kind, name, read)


def _converted_fields(kind: type) -> dict[str, Any]:
    """The annotations of fields that become arrays when an object is made; Equinox says what may come instead."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {each.name: each.type for each in fields if each.metadata.get("converter") in (jnp.asarray, np.asarray)}
