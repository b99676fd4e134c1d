"""Find out which kind of record a file contains."""

import re
from pathlib import Path

from lemmata.stored import read_bytes

from . import comparisons, examinations, studies
from ._stored import StoredRecord

_MARKS = {r'"gauges"\s*:': examinations.ExaminationRecord, r'"families"\s*:': comparisons.ComparisonRecord}
"""Patterns of fields that only one kind of record has. A text cannot match, because JSON escapes its quotes."""


def kind_of(path: Path) -> type[StoredRecord]:
    """Return the class of the record in a file, even if the end of the file is missing.

    If the file does not show its kind, the result is the class of a study, whose reader then reports the error.

    Args:
        path: the file.

    Raises:
        MissingFileError: if there is no such file.
        DataError: if the file cannot be read.
    """
    rule = "a results file of lemmata, such as study.json"
    text = read_bytes(path, str(path), rule).decode("utf-8", "replace")
    return next((kind for mark, kind in _MARKS.items() if re.search(mark, text)), studies.StudyRecord)
