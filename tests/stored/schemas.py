"""Hypothesis strategies that are generated from a schema: plain values that a type takes, and edits of them."""

import dataclasses
import enum
import types
import typing
from typing import Annotated, Any

from hypothesis import strategies as st

from lemmata.stored import As, Numbers, fields_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WHOLE = Numbers(-(2.0**63), 2.0**63)


def values(kind: Any, allowed: Numbers | None = None) -> st.SearchStrategy[Any]:
    """Plain JSON values that a type takes."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        other = next((part.kind for part in kind.__metadata__ if isinstance(part, As)), arguments[0])
        return values(other, next((part for part in kind.__metadata__ if isinstance(part, Numbers)), allowed))
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values(own) for own in arguments])
    if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        return st.lists(values(arguments[0]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(values, arguments)).map(list)
    if origin is dict:
        return st.dictionaries(TEXT, values(arguments[1]), max_size=2)
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind):
        known, needed = fields_of(kind)
        own = {name: values(one, allowed if one is float else None) for name, one in known.items()}
        must = {name: own.pop(name) for name in needed}
        return st.fixed_dictionaries(must, optional=own)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return st.sampled_from([one.value for one in kind])
    if kind is int:
        own = allowed or WHOLE
        return st.integers(round(max(own.low, -(2.0**62))), round(min(own.high, 2.0**62)))
    if kind is float:
        own = allowed or Numbers(endless=True)
        finite = st.floats(own.low, own.high, exclude_min=own.above, allow_nan=False)
        return st.one_of(finite, st.none(), st.just("-Infinity")) if own.endless else finite
    return {str: TEXT, bool: st.booleans(), type(None): st.none(), Any: st.integers(0, 9)}[kind]


def records(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Plain values of a whole record of this version."""
    return values(kind).map(lambda own: own | {"schema": kind.version})


STRANGE = [
    None,
    True,
    0,
    -1,
    2.5,
    3.0,
    10**25,
    -1e300,
    "",
    "many",
    "-Infinity",
    [],
    {},
    [[]],
    {"x": {}},
    "\x1b[2J",
    [None],
]


@st.composite
def edited(draw: Any, whole: st.SearchStrategy[Any]) -> Any:
    """Values with one edit: an entry becomes something strange, is left out, or gets a neighbour."""
    top = [draw(whole)]
    places = list(_places(top))
    holder, key = draw(st.sampled_from(places))
    way = draw(st.sampled_from(["strange", "out", "more"]))
    if way == "out" and holder is not top:
        holder.pop(key)
    elif way == "more" and isinstance(holder, dict):
        holder["unheard of"] = draw(st.sampled_from(STRANGE))
    else:
        holder[key] = draw(st.sampled_from(STRANGE))
    return top[0]


def _places(holder: Any) -> Any:
    for key, own in holder.items() if isinstance(holder, dict) else enumerate(holder):
        yield holder, key
        if isinstance(own, dict | list):
            yield from _places(own)


def alike(written: Any, given: Any) -> bool:
    """Whether a record that was written again says what was given; fields that were left out have their defaults."""
    if isinstance(given, dict) and isinstance(written, dict):
        return all(name in written and alike(written[name], own) for name, own in given.items())
    if isinstance(given, list) and isinstance(written, list):
        return len(written) == len(given) and all(map(alike, written, given))
    if isinstance(written, float) and isinstance(given, int):
        given = float(given)  # a float has no more digits of a whole number
    return isinstance(written, bool) == isinstance(given, bool) and written == given
