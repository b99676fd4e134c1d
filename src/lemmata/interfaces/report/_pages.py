"""Write the page of a record, and check whether a page and the files next to it come from the same run."""

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lemmata.files import open_file
from lemmata.results import digest, replace_files
from lemmata.stored import refusing
from lemmata.workflows.records import StoredRecord, comparisons, examinations, studies

from ._comparison import comparison
from ._families import families_page
from ._model import model_page, models_page
from ._page import page

PAGE = "index.html"
_FOLDERS = ("report", "compare", "model", "")
"""The folders that may contain the page of a record, relative to the folder of the record."""
_ONE: dict[type, Any] = {
    studies.StudyRecord: lambda record, beside: page(record),
    comparisons.ComparisonRecord: lambda record, beside: families_page(record),
    examinations.ExaminationRecord: model_page,
}
_TWO: dict[type, Any] = {studies.StudyRecord: comparison, examinations.ExaminationRecord: models_page}
_HEAD = '<meta name="generator"'
_FILES = re.compile(r'<meta name="lemmata-files" content="([^"]*)">')
_START = 2**16  # the first bytes of a page, which contain its list of files


def page_of(record: StoredRecord, other: StoredRecord | None = None, beside: Mapping[str, str] | None = None) -> str:
    """The HTML of a page that shows one record, or two records side by side.

    The head of a single record's page names the files to which it belongs.

    Args:
        record: the record of a study, a comparison or an examination.
        other: another record of the same kind, for a study or an examination.
        beside: the hash digests of the other files in the page's folder, by file name.
    """
    if other is not None:
        return _TWO[type(record)](record, other)
    digests = {record.file: digest(record.to_json() + "\n"), **(beside or {})}
    said = html.escape(json.dumps(digests))
    text = _ONE[type(record)](record, bool(beside))
    return text.replace(_HEAD, f'<meta name="lemmata-files" content="{said}">\n{_HEAD}', 1)


def write_page(
    directory: str | Path,
    record: StoredRecord,
    other: StoredRecord | None = None,
    beside: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Path:
    """Write `directory/index.html`, which opens offline. The page shows one record, or two records side by side.

    The page contains each picture as SVG and as a specification. Every browser and printer shows the SVG. If scripts
    run, a Vega-Lite specification replaces the SVG by a picture with tooltips and downloads. Names that the user
    controls are escaped wherever they appear; control characters in them are made visible.

    Args:
        directory: the folder of the page, which is created if it does not exist.
        record: the record of a study, a comparison or an examination.
        other: another record of the same kind, for a study or an examination.
        beside: the texts of other files that are written with the page, by file name. Without them, existing files
            that belong to the record are kept.
        name: the name of the file or files that the records were read from, for errors.

    Returns:
        The path of the page.

    Raises:
        DataError: if the page cannot be written, or the values of a record do not fit together; existing files are not
            changed.
    """
    path, files = Path(directory) / PAGE, dict(beside or {})
    digests = {name: digest(text) for name, text in files.items()}
    if beside is None and other is None and files_of(path).get(record.file) == digest(record.to_json() + "\n"):
        digests = {name: files_of(path)[name] for name in left_by(path)}
    with refusing(record.told(name), "values that a page can show"):
        text = page_of(record, other, digests)
    replace_files(directory, PAGE, {**files, PAGE: text}, gone=[name for name in left_by(path) if name not in digests])
    return path


def files_of(path: Path) -> dict[str, str]:
    """The digests of the files that a page lists, by file name. Empty if the page lists none or cannot be read.

    Args:
        path: the path of the page.
    """
    try:
        with open_file(path) as file:
            found = _FILES.search(file.read(_START).decode(errors="replace"))
        told = json.loads(html.unescape(found[1])) if found else {}
    except (OSError, ValueError, RecursionError):
        return {}
    told = told if isinstance(told, dict) else {}
    return {name: value for name, value in told.items() if isinstance(value, str) and Path(name).name == name}


def left_by(path: Path) -> list[str]:
    """The files that an earlier run wrote next to its page and that are still unchanged.

    Args:
        path: the path of the page.
    """
    records = {kind.file for kind in _ONE}
    return [name for name, value in files_of(path).items() if name not in records and _is(path.parent / name, value)]


def mixed(record: Path) -> list[str]:
    """Sentences about mismatches between a record, its page and the other files of the page.

    Args:
        record: the path of the record.
    """
    found = []
    for path in (record.parent / folder / PAGE for folder in _FOLDERS):
        files = files_of(path)
        for name, value in files.items() if record.name in files else ():
            own = record if name == record.name else path.parent / name
            if own.exists() and not _is(own, value):
                found.append(
                    f"{path} and {own} come from different runs: the page was not made from the present "
                    f"content of {name}."
                )
    return found


def _is(path: Path, value: str) -> bool:
    """Whether the content of a file has this digest."""
    try:
        with open_file(path) as file:
            return digest(file.read()) == value
    except OSError:
        return False
