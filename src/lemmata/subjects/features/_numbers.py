"""Values as they are shown in messages."""

from typing import Any


def shown(value: Any) -> str:
    """A value in one line of a message.

    Args:
        value: anything.
    """
    return " ".join(repr(value).split())[:60]
