"""Which record a file holds."""

from pathlib import Path

from lemmata.files import read_text

from . import comparisons, examinations, studies
from ._stored import StoredRecord

_MARKS = {'"gauges":': examinations.ExaminationRecord, '"families":': comparisons.ComparisonRecord}
"""A field that only this record has, as JSON writes its name: quotes within a text are escaped."""


def kind_of(path: Path) -> type[StoredRecord]:
    """The class of the record that a file holds, also where the file was cut.

    Where nothing says, it is a study: whose reader then says what is wrong with the file.

    Args:
        path: the file.
    """
    try:
        text = read_text(path)
    except (OSError, ValueError):
        return studies.StudyRecord
    return next((kind for mark, kind in _MARKS.items() if mark in text), studies.StudyRecord)
