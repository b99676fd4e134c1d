"""The base class of finished jobs in Python: a record, its page and its file."""

import dataclasses
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from lemmata.files import keep_inputs, replace_text
from lemmata.interfaces.report import write_page
from lemmata.results import finish
from lemmata.workflows.records import StoredRecord

R = TypeVar("R", bound=StoredRecord)
F = TypeVar("F", bound="Finished")


@dataclasses.dataclass(frozen=True, repr=False)
class Finished(Generic[R]):
    """A finished job.

    Args:
        record: all results of the job, as stored in its file.
    """

    record: R
    kind: ClassVar[type[StoredRecord]]

    @property
    def _source(self) -> object:
        """The data that the job has read, such as the path of a file; None if the data are not known."""
        return None

    def report(self, directory: str | Path) -> Path:
        """Write the page into a directory, and return its path.

        Raises:
            SettingError: if the page would replace the file from which it is computed.
        """
        keep_inputs([self._source], [Path(directory) / "index.html"])
        return write_page(directory, self.record)

    def save(self, path: str | Path) -> Path:
        """Write the record's file, which `load` and `lemmata report` read.

        Raises:
            FileError: if the file cannot be written; an existing file is not changed.
            SettingError: if the file is the one from which the record is computed.
        """
        keep_inputs([self._source], [path])
        return replace_text(path, self.record.to_json() + "\n")

    @classmethod
    def load(cls: type[F], path: str | Path) -> F:
        """Read a finished job from its record's file.

        Raises:
            MissingFileError: if the file does not exist.
            DataError: if the file is not a record of this kind and version.
        """
        finish(Path(path).parent, Path(path).name)
        return cls(cls.kind.load(path))
