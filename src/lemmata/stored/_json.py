"""Read strict JSON as plain values, and prepare plain values for strict JSON."""

import json
import math
from typing import Any

from ._told import SHOWN, Told, Way, shown

DEEPEST = 64
"""The largest depth to which lists and objects may be nested."""


def parsed(content: bytes | str, told: Told, literals: bool = False) -> Any:
    """Read strict JSON as plain values: UTF-8, each key once, finite numbers of moderate size, and shallow nesting.

    A byte-order mark is ignored.

    Args:
        content: the text of a file, as bytes or as text.
        told: the file name, the expected content and the remedy, for error messages.
        literals: whether to accept the words NaN and Infinity as numbers. Earlier versions of lemmata wrote them.

    Raises:
        DataError: if the text breaks a rule; the message gives the place.
    """
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        told.refuse(f"bytes that are not UTF-8, at byte {error.start}", "JSON text in UTF-8")
    if not text.strip():
        told.refuse("an empty file", "JSON text in UTF-8")
    try:
        value = json.loads(text, object_pairs_hook=_Pairs, parse_constant=_Constant, parse_int=_whole)
    except RecursionError:
        told.refuse("lists or objects nested too deeply", f"at most {DEEPEST} levels")
    except ValueError as error:
        told.refuse(str(error)[:200], "valid JSON")
    return _plain(value, told, literals)


class _Pairs(list):
    """The names and values of a JSON object, in the order of the file."""


class _Constant(str):
    """A word that represents a number: NaN, Infinity or -Infinity."""

    __slots__ = ()


def _whole(digits: str) -> int | float:
    """Read a whole number.

    A number that is too large for any field is read as a float. If it is also too large for a float, it is read as
    infinity.
    """
    return int(digits) if len(digits) <= 20 else float(digits)


def _plain(value: Any, told: Told, literals: bool) -> Any:
    """Turn parsed values into dictionaries and lists, visiting each value once.

    The function is not recursive, because the file may be nested too deeply for recursion.
    """
    top: list[Any] = [None]
    waiting: list[tuple[Any, Any, str | int, Way | None, int]] = [(value, top, 0, None, 0)]
    while waiting:
        own, holder, key, way, depth = waiting.pop()
        if isinstance(own, (_Pairs, list)):
            if depth > DEEPEST:
                told.refuse("lists or objects nested too deeply", f"at most {DEEPEST} levels")
            made: Any = {} if isinstance(own, _Pairs) else [None] * len(own)
            holder[key] = made
            for place, item in own if isinstance(own, _Pairs) else enumerate(own):
                if isinstance(own, _Pairs):
                    if place in made:
                        told.refuse(f"the key {shown(place)} twice", "each key once", way)
                    made[place] = None  # keeps the order of the file
                    _check_text(str(place), told, (way, place))
                waiting.append((item, made, place, (way, place), depth + 1))
            continue
        if isinstance(own, _Constant):
            if not literals:
                told.refuse(str(own), "a number that JSON allows (not NaN or Infinity), or null", way)
            own = float(str(own))
        elif isinstance(own, float) and not math.isfinite(own):
            told.refuse("a number beyond 1e308", "a number of moderate size", way)
        elif isinstance(own, str):
            _check_text(own, told, way)
        holder[key] = own
    return top[0]


def _check_text(text: str, told: Told, way: Way | None) -> None:
    """Refuse unpaired surrogates, but accept U+DC80 to U+DCFF: Python uses these for file names that are not UTF-8."""
    if not text.isascii() and any("\ud800" <= letter <= "\udc7f" or "\udd00" <= letter <= "\udfff" for letter in text):
        told.refuse(
            f"an incomplete character (half of a surrogate pair) in {text[:SHOWN]!a}",
            "text that UTF-8 can write",
            way,
        )


def plain(value: Any) -> Any:
    """Turn values into values of strict JSON. Infinity and NaN become null; -infinity becomes the text "-Infinity".

    >>> plain({"ends": (0.5, float("inf"), -float("inf"))})
    {'ends': [0.5, None, '-Infinity']}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else "-Infinity" if value == -math.inf else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value
