"""Checked calls of a user's function or model. An error names the function or model."""

from collections.abc import Callable
from typing import Any

from lemmata.errors import LemmataError, SettingError


def answer_of(name: str, function: Callable, *given: Any, rule: str, remedy: str | None = None) -> Any:
    """Return function(*given), where the function is the user's.

    Args:
        name: what the function is, for the message.
        function: the function.
        given: its arguments.
        rule: what it must do, for the message.
        remedy: what the user can do.

    Raises:
        SettingError: if the function raises any error, with its words in one line. Errors of lemmata pass unchanged.
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
