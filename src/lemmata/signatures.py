"""Shorten the signatures that `help` shows: short annotations, and one line per argument if the line is too long."""

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=type)
_WIDE = 64  # characters of a signature on one line; the name of the function stands before the signature
_ANNOTATION = 48  # characters; longer annotations are left out, because the docstring describes the argument
_MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=\w)")


class ShownSignature(inspect.Signature):
    """A signature that is unchanged for programs, but shorter as text."""

    __slots__ = ()

    def __str__(self) -> str:
        parts, kinds = list[str](), [each.kind for each in self.parameters.values()]
        starred = False
        for place, each in enumerate(self.parameters.values()):
            if each.kind is each.KEYWORD_ONLY and not starred:
                parts.append("*")
            starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
            parts.append(_shown(each))
            if each.kind is each.POSITIONAL_ONLY and kinds[place + 1 : place + 2] != [each.POSITIONAL_ONLY]:
                parts.append("/")
        returned = _brief(self.return_annotation)
        end = f") -> {returned}" if returned else ")"
        line = f"({', '.join(parts)}{end}"
        if len(line) <= _WIDE:
            return line
        return "\n".join(["(", *(f"    {part}," for part in parts), end])


def shows_signature(function: F) -> F:
    """Give the function a signature whose text is short, and return the function.

    >>> @shows_signature
    ... def f(x: "tuple[int, ...]", *, deep: bool = False) -> int: ...
    >>> print(inspect.signature(f))
    (x: tuple[int, ...], *, deep: bool = False) -> int
    """
    own = inspect.signature(function)
    shown = ShownSignature(list(own.parameters.values()), return_annotation=own.return_annotation)
    function.__signature__ = shown  # pyright: ignore[reportFunctionMemberAccess]
    return function


def shows_signatures(kind: K) -> K:
    """Give the methods of a class and of its bases in lemmata signatures whose text is short, and return the class.

    The methods `set_..._request`, which scikit-learn makes when they are looked up, are among them.
    """
    for each in kind.__mro__:
        for name, own in list(vars(each).items()) if each.__module__.startswith("lemmata.") else ():
            if name.startswith("_") and not name.endswith("__"):
                continue
            plain = own.__func__ if isinstance(own, classmethod | staticmethod) else own
            if inspect.isfunction(plain):
                if not isinstance(getattr(plain, "__signature__", None), ShownSignature):
                    shows_signature(plain)
            elif re.fullmatch("set_[a-z_]+_request", name) and not isinstance(own, _ShownWhenMade):
                setattr(each, name, _ShownWhenMade(own))
    return kind


def shows_public(package: str) -> None:
    """Give the public functions and classes of a subpackage signatures whose text is short.

    Args:
        package: the name of a subpackage whose `__init__` has imported all its public names.
    """
    for name, own in vars(sys.modules[package]).items():
        if name.startswith("_") or not str(getattr(own, "__module__", "")).startswith("lemmata."):
            continue
        plain = own if inspect.isfunction(own) or not callable(own) else inspect.unwrap(own)
        if isinstance(own, type):
            shows_signatures(own)
        elif inspect.isfunction(plain) and not isinstance(getattr(plain, "__signature__", None), ShownSignature):
            shows_signature(plain)


class _ShownWhenMade:
    """A descriptor that makes a method, which gets a short text of its signature."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return shows_signature(self.made.__get__(instance, owner))


def _shown(parameter: inspect.Parameter) -> str:
    """The text of a parameter with its default, and with its annotation if the annotation is short."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    brief = _brief(parameter.annotation)
    name = f"{stars}{parameter.name}" + (f": {brief}" if brief else "")
    if parameter.default is parameter.empty:
        return name
    default = repr(parameter.default)
    told = default if len(default) <= _ANNOTATION else "..."
    return f"{name} = {told}" if brief else f"{name}={told}"


def _brief(annotation: Any) -> str:
    """The text of an annotation without module names; empty if the annotation is missing or long."""
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        text = annotation
    elif isinstance(annotation, type) and "[" not in repr(annotation):
        text = annotation.__name__
    else:
        text = repr(annotation)
    text = _MODULES.sub("", text).replace("NoneType", "None").replace("~", "")
    return text if len(text) <= _ANNOTATION and "<" not in text else ""
