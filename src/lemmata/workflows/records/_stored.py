"""Write records, which are frozen dataclasses, as strict JSON, and read them back by the types of their fields."""

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from lemmata.errors import DataError
from lemmata.printable import preformatted
from lemmata.stored import Told, built, parsed, plain, read_bytes
from lemmata.version import __version__

R = TypeVar("R", bound="StoredRecord")


class StoredRecord:
    """The base class of the result of a command, which is stored as a JSON file.

    A subclass is a frozen dataclass, and sets these attributes.

    Attributes:
        version: the version of the file's format. Reading a file of another version raises an error.
        file: the usual name of the file.
        command_line: the command that writes the file, such as "lemmata study".
        about: the kind of result in the file, such as "a study".
    """

    version: ClassVar[int]
    file: ClassVar[str]
    command_line: ClassVar[str]
    about: ClassVar[str]

    @classmethod
    def head(cls) -> dict[str, Any]:
        """Return the first fields of every record: file format, version of lemmata, time, and an empty command."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return {"schema": cls.version, "lemmata": __version__, "created": now, "command": ""}

    def to_json(self) -> str:
        """Return the record as strict JSON. Infinity becomes null, and -infinity becomes the text "-Infinity".

        Returns:
            Text that `from_json` reads back as an equal record.
        """
        return json.dumps(
            plain(dataclasses.asdict(self)),  # pyright: ignore
            ensure_ascii=False,
            allow_nan=False,
            indent=1,
        )

    def _repr_html_(self) -> str:
        created, version = (getattr(self, name, "") for name in ("created", "lemmata"))
        names = ", ".join(field.name for field in dataclasses.fields(self))  # pyright: ignore
        first = f"The record of {self.about} (its results), by lemmata {version}, {created}"
        return preformatted(f"{first}\nIt has the fields {names}")

    @classmethod
    def told(cls, name: str | None = None) -> Told:
        """Return the texts that begin and end error messages about a file of this kind.

        Args:
            name: the name of the file; None for the usual name.
        """
        return Told(name or cls.file, f"a record of {cls.about}", f"run {cls.command_line} again")

    @classmethod
    def from_json(cls: type[R], text: str | bytes, name: str | None = None) -> R:
        """Return the record in a JSON text.

        Args:
            text: the text that `to_json` has returned.
            name: the name of the file, for error messages; None for the usual name.

        Raises:
            DataError: if the text is not strict JSON or has another schema, or if a field is missing, surplus, of the
                wrong type or out of its range. The message names the field.
        """
        told = cls.told(name)
        values = parsed(text, told)
        if not isinstance(values, dict):
            told.refuse("no object", "an object with fields")
        if "schema" not in values:
            told.refuse("no schema", f"schema {cls.version}", (None, "schema"))
        found = built(int, values["schema"], told, (None, "schema"))
        if found != cls.version:
            newer = "install a newer lemmata, or " * (found > cls.version)
            raise DataError(
                f"{told.name} was written by another version of lemmata",
                found=f"schema {found}", rule=f"schema {cls.version}", remedy=newer + told.remedy,
            )  # fmt: skip
        return built(cls, values, told)

    @classmethod
    def load(cls: type[R], path: str | Path) -> R:
        """Return the record in a file.

        Raises:
            DataError: for the same reasons as `from_json`.
            MissingFileError: if there is no such file.
        """
        return cls.from_json(read_bytes(path, str(path), f"a {cls.file} that {cls.command_line} wrote"), str(path))
