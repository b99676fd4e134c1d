"""Check the file that a ledger is exported to, so that no other file is lost."""

import contextlib
import os
from pathlib import Path

from lemmata.errors import SettingError
from lemmata.files import open_file

ENDING = ".parquet"
_COLUMNS = {"claim", "fingerprint", "setting", "seed", "number"}
"""Columns that every export has."""


def check_export(ledger: Path, path: str | Path) -> None:
    """Raise an error for a path to which the trials of a ledger must not be written.

    Args:
        ledger: the path of the ledger.
        path: the path of the new file.

    Raises:
        SettingError: if the path does not end in .parquet, or if it is a file of the ledger or a file of another kind.
    """
    path, remedy = Path(path), f"name a new file that ends in {ENDING}"
    for own in (ledger, *(ledger.with_name(f"{ledger.name}-{end}") for end in ("wal", "shm"))):
        with contextlib.suppress(OSError, ValueError):  # one of the two files does not exist
            if os.path.samefile(path, own):
                rule = "the export must not replace the ledger that it reads"
                raise SettingError(
                    f"export to {path}", found=f"a file of the ledger {ledger}", rule=rule, remedy=remedy
                )
    if path.suffix != ENDING:
        rule = f"a name that ends in {ENDING}, for a Parquet file with the trials"
        raise SettingError(f"export to {path}", found=path.suffix or "no ending", rule=rule, remedy=remedy)
    if not _replaceable(path):
        rule = "an export may replace only an earlier export"
        raise SettingError(
            f"export to {path}", found="a file that is not an export of a ledger", rule=rule, remedy=remedy
        )


def _replaceable(path: Path) -> bool:
    """Whether the path has no file, an empty file, or an earlier export. A directory counts as no file."""
    import polars as pl

    if not os.path.exists(path) or path.is_dir():
        return True
    try:
        with open_file(path) as file:
            if not file.read(1):
                return True
            file.seek(0)
            return set(pl.read_parquet_schema(file)) >= _COLUMNS
    except Exception:  # the file may have any content, so its reader may raise any error
        return False
