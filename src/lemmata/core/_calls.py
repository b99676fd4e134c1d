"""Checked calls of a user's function or model. An error names the function or model."""

from collections.abc import Callable
from typing import Any

from lemmata.errors import LemmataError, SettingError


def answer_of(name: str, function: Callable, *given: Any, rule: str, remedy: str | None = None) -> Any:
    """Return function(*given), and turn errors of this function, which a user wrote, into errors of lemmata.

    Args:
        name: the role of the function, for the message.
        function: the function.
        given: its arguments.
        rule: what the function must do, for the message.
        remedy: what the user can do.

    Raises:
        SettingError: if the function raises an error. The message has the words of this error in one line. Errors of
            lemmata are passed on unchanged.
    """
    try:
        return function(*given)
    except LemmataError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise SettingError(
            name, found=found, rule=rule, remedy=remedy or f"call {name} on these inputs to see the error"
        ) from error
