"""Call a user's function or model so that an error names this function or model."""

from collections.abc import Callable
from typing import Any

from lemmata.errors import LemmataError, SettingError


def answer_of(name: str, function: Callable, *given: Any, rule: str, remedy: str | None = None) -> Any:
    """Return function(*given) for a function that a user wrote. Errors of this function become errors of lemmata.

    Args:
        name: what the function is, such as "loss", for the error message.
        function: the function that the user wrote.
        given: the arguments of the function.
        rule: what the function must return, for the message.
        remedy: what the user can do. None advises the user to call the function on these inputs.

    Raises:
        SettingError: if the function raises an error. The message quotes up to 120 characters of this error in one
            line. Errors of lemmata are passed on unchanged.
    """
    try:
        return function(*given)
    except LemmataError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise SettingError(
            name,
            found=found,
            rule=rule,
            remedy=remedy or f"call {name} on these inputs yourself to see the whole error",
        ) from error
