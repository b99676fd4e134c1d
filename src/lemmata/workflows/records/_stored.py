"""Records of plain frozen dataclasses as strict JSON, and back by their declared types."""

import dataclasses
import datetime
import json
import math
import types
import typing
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from lemmata.errors import DataError, LemmataError, file_error
from lemmata.files import read_text
from lemmata.printable import preformatted
from lemmata.version import __version__

R = TypeVar("R", bound="StoredRecord")


class StoredRecord:
    """What a command leaves as a JSON file: a frozen dataclass that says which file, of which schema, by which command.

    Attributes:
        version: of the file; a reader refuses others.
        file: its name.
        command_line: what writes it, "lemmata study".
        about: what it is a record of, "a study".
    """

    version: ClassVar[int]
    file: ClassVar[str]
    command_line: ClassVar[str]
    about: ClassVar[str]

    @classmethod
    def head(cls) -> dict[str, Any]:
        """The fields that every record begins with: its schema, the program's version, the time, no command yet."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return {"schema": cls.version, "lemmata": __version__, "created": now, "command": ""}

    def to_json(self) -> str:
        """The record as strict JSON: infinite ends are null.

        Returns:
            Text that `from_json` reads back as an equal record.
        """
        return json.dumps(plain(dataclasses.asdict(self)), ensure_ascii=False, allow_nan=False, indent=1)  # pyright: ignore

    def _repr_html_(self) -> str:
        created, version = (getattr(self, name, "") for name in ("created", "lemmata"))
        names = ", ".join(field.name for field in dataclasses.fields(self))  # pyright: ignore
        return preformatted(f"The record of {self.about}, by lemmata {version}, {created}\nIt has {names}")

    @classmethod
    def from_json(cls: type[R], text: str, name: str | None = None) -> R:
        """Read a record.

        Args:
            text: what `to_json` wrote.
            name: of the file, for the error.

        Raises:
            DataError: if the text is not JSON, has another schema, or a field is missing or has the wrong type.
        """
        name = cls.file if name is None else name
        try:
            values = json.loads(text)
            found = values.get("schema") if isinstance(values, dict) else None
            if found != cls.version:
                raise DataError(
                    f"{name} was written by another version of lemmata",
                    found=f"schema {found}",
                    rule=f"schema {cls.version}",
                    remedy=f"run {cls.command_line} again",
                )
            return built(cls, values)
        except LemmataError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{name} is not a record of {cls.about}", found=str(error)[:200],
                rule=f"a file that {cls.command_line} wrote",
            ) from None  # fmt: skip

    @classmethod
    def load(cls: type[R], path: str | Path) -> R:
        """Read the file.

        Raises:
            DataError: for the same reasons as `from_json`.
            MissingFileError: if there is no such file.
        """
        try:
            return cls.from_json(read_text(path), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise file_error(error)(
                f"{path} cannot be read",
                found=(getattr(error, "strerror", None) or str(error))[:200],
                rule=f"a readable {cls.file}",
            ) from None


def plain(value: Any) -> Any:
    """Plain dictionaries and lists in which numbers that JSON lacks are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def built(kind: Any, value: Any) -> Any:
    """A value of a declared type from plain JSON; null where a float stands is infinity."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        missing = [f.name for f in dataclasses.fields(kind) if f.name not in value and f.default is dataclasses.MISSING
                   and f.default_factory is dataclasses.MISSING]  # fmt: skip
        if missing:
            raise KeyError(f"{kind.__name__} lacks {missing[0]}")
        return kind(**{name: built(hint, value[name]) for name, hint in hints.items() if name in value})
    if origin is list:
        if not isinstance(value, list):
            raise TypeError(f"expected a list, not {type(value).__name__}")
        return [built(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(built(list[arguments[0]], value))
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        if isinstance(value, str) and str in arguments:
            return value
        return built(float if float in arguments else next(a for a in arguments if a is not type(None)), value)
    if kind is float:
        return math.inf if value is None else float(value)
    if kind in (int, str, bool) and not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, not {type(value).__name__}")
    return value
