"""Write errors about a stored record: the file, the field's path, the value, the rule and the remedy."""

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, NoReturn

from lemmata.errors import DataError, LemmataError, words_of

SHOWN = 60
"""The largest number of characters of a value that an error shows."""


Way = tuple[Any, str | int]
"""The place of a field: the place of the object or list that contains the field, and the field's name or number."""


@dataclasses.dataclass(frozen=True)
class Told:
    """The texts for error messages about a stored record: the file name, the expected content and the remedy.

    Args:
        name: the name of the file.
        about: the expected content, such as "a record of a study".
        remedy: what the user should do.
    """

    name: str
    about: str
    remedy: str

    def refuse(self, found: object, rule: str, way: Way | None = None) -> NoReturn:
        """Raise the error about a field, or about the whole file."""
        where = spelled_way(way)
        raise DataError(
            f"{self.name} is not {self.about}{': ' + where if where else ''}",
            found=found, rule=rule, remedy=self.remedy,
        )  # fmt: skip


def spelled_way(way: Way | None) -> str:
    """Write the path of a field in Python's notation.

    >>> spelled_way((((None, "models"), 2), "now"))
    'models[2].now'
    """
    parts = []
    while way is not None:
        way, own = way
        parts.append(f"[{own}]" if isinstance(own, int) else f".{shown(own, quoted=False)}")
    return "".join(reversed(parts)).removeprefix(".")


@contextlib.contextmanager
def refusing(told: Told, rule: str) -> Iterator[None]:
    """Within this context, turn an error into a DataError: the values satisfy the schema, but break another rule.

    Args:
        told: the file name, the expected content and the remedy, for the error message.
        rule: the rule that the values must satisfy.
    """
    try:
        yield
    except (LemmataError, OSError, MemoryError):
        raise
    except Exception as error:
        said = words_of(error, 160)
        raise DataError(
            f"{told.name} is {told.about}, but its values contradict each other",
            found=f"{type(error).__name__}: {said}", rule=rule, remedy=told.remedy,
        ) from error  # fmt: skip


def shown(value: object, quoted: bool = True) -> str:
    """The text for a value in an error message: JSON on one line, shortened if it is long."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with {len(value)} fields"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value) if quoted else str(value).encode("ascii", "backslashreplace").decode()
    text = text.replace("\n", " ").replace("\r", " ")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
