"""Find out which kind of record a file holds."""

import re
from pathlib import Path

from lemmata.stored import read_bytes

from . import comparisons, examinations, studies
from ._stored import StoredRecord

_MARKS = {r'"gauges"\s*:': examinations.ExaminationRecord, r'"families"\s*:': comparisons.ComparisonRecord}
"""For each kind of record, a field that only it has, with the quotes of JSON, which escapes quotes within a text."""


def kind_of(path: Path) -> type[StoredRecord]:
    """Return the class of the record that a file holds, even if the file was cut off.

    If the file does not show its kind, it is read as a study, whose reader then reports what is wrong.

    Args:
        path: the file.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the file cannot be read.
    """
    text = read_bytes(path, str(path), "a record that lemmata wrote").decode("utf-8", "replace")
    return next((kind for mark, kind in _MARKS.items() if re.search(mark, text)), studies.StudyRecord)
