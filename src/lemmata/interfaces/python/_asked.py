"""Check the options that a caller in Python passes by name."""

import dataclasses
import difflib
from typing import Any

from lemmata.errors import SettingError


def asked(kind: type, options: dict[str, Any], command: str) -> dict[str, Any]:
    """Check the options by name, and turn a single column into a tuple of one.

    Args:
        kind: the dataclass of the command's options.
        options: the values of the options by name.
        command: the name of the function, for the message.

    Raises:
        SettingError: an option does not exist.
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
    return {
        name: ((value,) if isinstance(value, str) else tuple(value)) if name in several else value
        for name, value in options.items()
    }
