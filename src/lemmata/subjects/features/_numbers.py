"""Format values for messages."""

from typing import Any


def shown(value: Any) -> str:
    """Return a value as text for one line of a message.

    Args:
        value: the value to show, of any type.
    """
    return " ".join(repr(value).split())[:60]
