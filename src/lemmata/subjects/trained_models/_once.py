"""Cached methods: results that are stored with the object to which they belong."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Q = TypeVar("Q", bound=Callable[[Any], Any])


def once(question: Q) -> Q:
    """Make a method cached: it computes its result when first called on an object, and stores it with the object.

    >>> class Box: pass
    >>> box, asked = Box(), []
    >>> count = once(lambda own: asked.append(own) or len(asked))
    >>> count(box), count(box), is_known(count, box)
    (1, 1, True)
    """
    name = name_of(question)

    @functools.wraps(question)
    def asked(own: Any) -> Any:
        kept = vars(own)
        if name not in kept:
            kept[name] = question(own)
        return kept[name]

    return asked  # pyright: ignore[reportReturnType]


def is_known(question: Callable[[Any], Any], own: Any) -> bool:
    """Return whether a cached method has been called on an object."""
    return name_of(question) in vars(own)


def keep(question: Callable[[Any], Any], own: Any, answer: Any) -> None:
    """Store a result with an object, so that the cached method does not compute it."""
    vars(own)[name_of(question)] = answer


def answers(own: Any) -> dict[str, Any]:
    """Return the results stored with an object, by the names of the methods."""
    return {name: answer for name, answer in vars(own).items() if "." in name}


def name_of(question: Callable[[Any], Any]) -> str:
    """Return the name under which the result is stored. It differs for methods of the same name in two files."""
    return f"{question.__module__}.{question.__qualname__}"
