"""Cached functions of one object. Their results are stored with the object."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Q = TypeVar("Q", bound=Callable[[Any], Any])


def once(question: Q) -> Q:
    """Return a cached function: the first call on an object computes the result and stores it with the object.

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
    """Return whether the result of a cached function is stored with an object."""
    return name_of(question) in vars(own)


def keep(question: Callable[[Any], Any], own: Any, answer: Any) -> None:
    """Store a result with an object, so that the cached function does not compute this result."""
    vars(own)[name_of(question)] = answer


def answers(own: Any) -> dict[str, Any]:
    """Return the results stored with an object, by the names of the functions."""
    return {name: answer for name, answer in vars(own).items() if "." in name}


def name_of(question: Callable[[Any], Any]) -> str:
    """Return the name under which the result is stored. The names of equally named functions in two files differ."""
    return f"{question.__module__}.{question.__qualname__}"
