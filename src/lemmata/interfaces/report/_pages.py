"""The page of a record, whichever job left it."""

from pathlib import Path
from typing import Any

from lemmata.stored import refusing
from lemmata.workflows.records import StoredRecord, comparisons, examinations, studies

from ._comparison import write_comparison
from ._families import write_families
from ._model import write_model, write_models
from ._page import write_report

_ONE: dict[type, Any] = {
    studies.StudyRecord: write_report,
    comparisons.ComparisonRecord: write_families,
    examinations.ExaminationRecord: write_model,
}
_TWO: dict[type, Any] = {studies.StudyRecord: write_comparison, examinations.ExaminationRecord: write_models}


def write_page(
    directory: str | Path, record: StoredRecord, other: StoredRecord | None = None, name: str | None = None
) -> Path:
    """Write `directory/index.html`, which opens offline: a record's page, or one that sets two side by side.

    Args:
        directory: created where it does not exist.
        record: of a study, a comparison or an examination.
        other: another record of the same kind; of a study or an examination.
        name: of the file or the files that they were read from, for errors.

    Returns:
        The path of the page.

    Raises:
        DataError: the page cannot be written, or the values of a record do not fit together; what stood there before
            is untouched.
    """
    with refusing(record.told(name), "values that a page can show"):
        if other is None:
            return _ONE[type(record)](record, directory)
        return _TWO[type(record)](record, other, directory)
