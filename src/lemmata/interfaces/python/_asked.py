"""Options of a command by their names, as a caller in Python gives them."""

import dataclasses
import difflib
from typing import Any

from lemmata.errors import SettingError


def asked(kind: type, options: dict[str, Any], command: str) -> dict[str, Any]:
    """Check the options by name, and turn a single column into a tuple of one.

    Args:
        kind: the dataclass of the command's options.
        options: by name.
        command: for the message.

    Raises:
        SettingError: there is no such option.
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
