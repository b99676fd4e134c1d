"""Runtime checks of types and shapes that are made when a function is first called, not when its module is imported.

beartype writes a checker for every function that it decorates. lemmata has twenty thousand; a test file calls few.
"""

import functools
from collections.abc import Callable
from typing import Any

from beartype import beartype


def lazily(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its arguments and what it returns checked by beartype, which looks at it on its first call."""
    made: list[Callable[..., Any]] = []

    @functools.wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        if not made:
            made.append(beartype(function))
        return made[0](*args, **named)

    return checked
