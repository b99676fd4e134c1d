"""Check the options that a caller in Python passes by name."""

import dataclasses
import difflib
import numbers
import typing
from collections.abc import Iterable
from typing import Any

from lemmata.errors import SettingError, shortened


def asked(kind: type, options: dict[str, Any], command: str) -> dict[str, Any]:
    """Check the names of options, and convert the value of an option that takes several texts to a tuple of texts.

    Args:
        kind: the dataclass of the command's options.
        options: the values of the options by name.
        command: the name of the function, for the message.

    Raises:
        SettingError: if an option does not exist, or an option that takes one or several texts has another value.
    """
    known = {field.name: field for field in dataclasses.fields(kind)}
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise SettingError(
                f"{command} has no option {name!r}", rule=f"one of {', '.join(known)}",
                remedy=f"did you mean {near[0]!r}?" if near else None,
            )  # fmt: skip
    several = {name for name, field in known.items() if field.default == ()}
    return {name: _names(name, value) if name in several else value for name, value in options.items()}


def typed(kind: type, options: dict[str, Any]) -> dict[str, Any]:
    """Check that each value has the type of its option. An option of type float also takes whole numbers.

    Args:
        kind: the dataclass of the command's options.
        options: the values of the options by name.

    Raises:
        SettingError: if a value has another type.
    """
    hints = typing.get_type_hints(kind)
    for name, value in options.items():
        kinds = [own for own in (hints[name], *typing.get_args(hints[name])) if own in _KINDS]
        optional = type(None) in typing.get_args(hints[name])
        if isinstance(value, tuple) or not kinds or (value is None and optional):
            continue
        classes, words = _KINDS[kinds[0]]
        if not isinstance(value, classes) or (isinstance(value, bool) and kinds[0] is not bool):
            found = f"{shortened(repr(value))} ({type(value).__name__})"
            raise SettingError(name, found=found, rule=f"{words}, or None" if optional else words)
    return options


_KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "True or False"),
    int: ((numbers.Integral,), "a whole number"),
    float: ((numbers.Real,), "a number"),
}
"""For each type of an option, the types of values that the option accepts, and the rule in words."""


def _names(option: str, value: Any) -> tuple[str, ...]:
    """The names that were given for an option with several names; a single text counts as one name."""
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(name, str) for name in names):
        rule, remedy = "a text, or a list of texts", f'write {option}="NAME" or {option}=["NAME", "OTHER"]'
        raise SettingError(option, found=shortened(repr(value)), rule=rule, remedy=remedy)
    return names
