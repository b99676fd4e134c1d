"""Use a record's annotations as its schema: turn plain values into the declared types, or refuse the values."""

import dataclasses
import enum
import functools
import math
import types
import typing
from collections.abc import Callable
from typing import Annotated, Any, NotRequired

from ._told import Told, Way, shown

LARGEST = 1e250
"""The largest finite number that a record may contain. Sums of such numbers stay finite."""
_WHOLE = 2.0**63


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The numbers that a field accepts, as a part of the field's annotation.

    If the annotated type is a dataclass, these are the numbers that its plain float fields accept.

    Args:
        low, high: the ends, which are included.
        above: whether numbers must be above `low`, so that `low` itself is excluded.
        endless: whether infinity is included. In the file, null is infinity, and "-Infinity" is minus infinity.
    """

    low: float = -LARGEST
    high: float = LARGEST
    above: bool = False
    endless: bool = False

    def holds(self, value: int | float) -> bool:
        """Whether a number is accepted."""
        if math.isinf(value):
            return self.endless
        return self.low <= value <= self.high and not (self.above and value == self.low)

    def words(self, whole: bool = False) -> str:
        """The rule for the numbers, in words.

        >>> Numbers(low=0.0).words(whole=True), Numbers(low=0.0, above=True, endless=True).words()
        ('a whole number from 0 up', 'a number above 0, or null for infinity')
        """
        kind = "a whole number" if whole else "a finite number"
        if self.low > -LARGEST and self.high < LARGEST:
            kind = f"{kind.replace('finite ', '')} from {self.low:g} to {self.high:g}"
        elif self.low > -LARGEST:
            kind = f"{kind.replace('finite ', '')} {'above' if self.above else 'from'} {self.low:g}"
            kind += "" if self.above else " up"
        return f"{kind.replace('finite ', '')}, or null for infinity" if self.endless else kind


@dataclasses.dataclass(frozen=True)
class As:
    """The type by which a field is read, if the field's own annotation is less specific.

    Use this class for fields that are plain dictionaries with known keys.

    Args:
        kind: the type, written as in an annotation.
    """

    kind: Any


Finite = Annotated[float, Numbers()]
Positive = Annotated[float, Numbers(low=0.0, above=True)]
NotNegative = Annotated[float, Numbers(low=0.0)]
Share = Annotated[float, Numbers(0.0, 1.0)]
Count = Annotated[int, Numbers(low=0.0, high=_WHOLE)]
_ANY = Numbers(endless=True)
_INTEGERS = Numbers(-_WHOLE, _WHOLE)


Reader = Callable[[Any, Told, Way | None], Any]


def built(kind: Any, value: Any, told: Told, way: Way | None = None) -> Any:
    """Build a value of a declared type from plain JSON.

    The allowed types are dataclasses, `TypedDict`, lists, tuples, dictionaries, unions, enumerations, str, bool, int,
    float, and `Any` for plain values. A float must be finite, or null for infinity; `Numbers` can change this.

    Args:
        kind: the type, written as in an annotation.
        value: the value read from JSON.
        told: the file name, the expected content and the remedy, for error messages.
        way: the place of the value in the record.

    Raises:
        DataError: if the value has another type; the message names the field.
    """
    return _reader(kind)(value, told, way)


@functools.cache
def _reader(kind: Any, allowed: Numbers | None = None) -> Reader:
    """Return the function that reads a type. `allowed` limits a number, or the plain float fields of a dataclass."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        other = next((part.kind for part in kind.__metadata__ if isinstance(part, As)), None)
        narrowed = next((part for part in kind.__metadata__ if isinstance(part, Numbers)), allowed)
        return _reader(arguments[0] if other is None else other, narrowed)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is typing.Literal or (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return _one_of({own: own for own in arguments} if origin else {own.value: own for own in kind})
    if origin in (list, tuple):
        return _sequence(origin, arguments)
    if origin is dict:
        return _mapping(_reader(arguments[1]))
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind):
        return _fielded(kind, allowed)
    if kind in (int, float):
        return _number(kind is int, allowed or (_INTEGERS if kind is int else _ANY))
    return _instance(kind) if kind in _WORDS else lambda value, told, way: value


_WORDS: dict[Any, str] = {str: "text", bool: "true or false", list: "a list", dict: "an object", type(None): "null"}


def _instance(kind: type) -> Reader:
    def read(value: Any, told: Told, way: Way | None) -> Any:
        return value if isinstance(value, kind) else told.refuse(shown(value), _WORDS[kind], way)

    return read


def _one_of(known: dict[Any, Any]) -> Reader:
    def read(value: Any, told: Told, way: Way | None) -> Any:
        if not isinstance(value, str) or value not in known:
            told.refuse(shown(value), f"one of {', '.join(map(str, known))}", way)
        return known[value]

    return read


_NAMES: dict[Any, str] = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list",
                          dict: "an object", type(None): "null"}  # fmt: skip


def _union(members: tuple[Any, ...]) -> Reader:
    """Return a reader for a union. The first member whose JSON type fits a value reads the value."""
    readers: dict[str, Reader] = {}
    for kind in members:
        bare = typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind
        listed = typing.get_origin(bare) in (list, tuple)
        name = "a whole number" if bare is int and float in members else _NAMES.get(bare)
        readers.setdefault(name or ("a list" if listed else "an object"), _reader(kind))
    rule, number = " or ".join(readers), readers.get("a number")

    def read(value: Any, told: Told, way: Way | None) -> Any:
        own = readers.get("a whole number") if type(value) is int else None
        own = own or readers.get(_NAMES[type(value)]) or (number if value in (None, "-Infinity") else None)
        return told.refuse(shown(value), rule, way) if own is None else own(value, told, way)

    return read


def _sequence(origin: Any, arguments: tuple[Any, ...]) -> Reader:
    expect = _instance(list)
    many = origin is list or arguments[-1] is Ellipsis
    readers = [_reader(kind) for kind in arguments if kind is not Ellipsis]

    def read(value: Any, told: Told, way: Way | None) -> Any:
        expect(value, told, way)
        if not many and len(value) != len(readers):
            told.refuse(f"{len(value)} values", f"{len(readers)} values", way)
        each = readers * len(value) if many else readers
        pairs = enumerate(zip(each, value, strict=True))
        return origin([own(item, told, (way, place)) for place, (own, item) in pairs])

    return read


def _mapping(own: Reader) -> Reader:
    expect = _instance(dict)

    def read(value: Any, told: Told, way: Way | None) -> Any:
        return {key: own(item, told, (way, key)) for key, item in expect(value, told, way).items()}

    return read


def _fielded(kind: Any, allowed: Numbers | None) -> Reader:
    """Return a reader for an object with fields. `allowed` limits fields that are plain floats."""
    known, needed = fields_of(kind)
    readers = {name: _reader(own, allowed if own is float else None) for name, own in known.items()}
    expect, make = _instance(dict), dict if typing.is_typeddict(kind) else kind

    def read(value: Any, told: Told, way: Way | None) -> Any:
        expect(value, told, way)
        for name in needed:
            if name not in value:
                told.refuse(f"no {name}", "every field that a record of this version has", (way, name))
        found = {}
        for name, item in value.items():
            if name not in readers:
                told.refuse(f"the field {shown(name)}", "only fields that this version of lemmata knows", way)
            found[name] = readers[name](item, told, (way, name))
        return make(**found)

    return read


@functools.cache
def fields_of(kind: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The types of the fields of a dataclass or `TypedDict` by name, and the names that a record must have."""
    hints = typing.get_type_hints(kind, include_extras=True)
    if typing.is_typeddict(kind):
        bare = {name: typing.get_args(own)[0] if typing.get_origin(own) is NotRequired else own
                for name, own in hints.items()}  # fmt: skip
        return bare, tuple(name for name in hints if name in kind.__required_keys__)
    own = [field for field in dataclasses.fields(kind) if field.init]
    absent = dataclasses.MISSING
    needed = tuple(f.name for f in own if f.default is absent and f.default_factory is absent)
    return {field.name: hints[field.name] for field in own}, needed


def _number(whole: bool, allowed: Numbers) -> Reader:
    """Return a reader that checks a number's range. A float may be null (infinity); whole numbers may end in ".0"."""
    rule = allowed.words(whole)

    def read(value: Any, told: Told, way: Way | None) -> Any:
        if not whole and (value is None or value == "-Infinity"):
            if not allowed.endless:
                told.refuse(shown(value), rule, way)
            return math.inf if value is None else -math.inf
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            told.refuse(shown(value), rule, way)
        if math.isnan(value):  # a file of an earlier version may contain the word NaN
            return told.refuse(shown(value), rule, way) if whole else value
        if not allowed.holds(value) or (whole and value != math.floor(value)):
            told.refuse(shown(value), rule, way)
        return int(value) if whole else float(value)

    return read
