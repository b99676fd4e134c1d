"""The files of a study: each path is checked before the computation, and each file is written whole or not at all."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

from lemmata.errors import SettingError
from lemmata.files import replace_text


def prepare_directory(
    directory: Path,
    folders: tuple[str, ...] = ("report",),
    files: tuple[str, ...] = ("study.json", "report/index.html"),
) -> None:
    """Make the directory, and check before any computation that its files can be written.

    Args:
        directory: the directory for the files.
        folders: names of the folders needed in it.
        files: names of the files to be written in it.

    Raises:
        SettingError: if the directory cannot be made or written to, or if a file stands where a directory is needed,
            or a directory where a file is needed.
    """
    try:
        for place in (directory, *(directory / folder for folder in folders)):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                pass
    except (OSError, ValueError) as error:
        raise SettingError(
            f"--out {directory} cannot be written to",
            found=getattr(error, "strerror", None) or str(error),
            rule=f"a directory in which {' and '.join(files)} can be written",
            remedy="choose another directory with --out",
        ) from error
    for name in files:
        if (directory / name).is_dir():
            raise SettingError(
                f"{directory / name} is a directory",
                rule="this path must not be a directory, because a file is written there",
                remedy="choose another directory with --out",
            )


def strict_json(record: Any) -> str:
    """Return JSON without NaN or infinity: a number that is not finite becomes null."""
    return json.dumps(_finite(record), indent=1, allow_nan=False, ensure_ascii=True)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_text(path: Path, text: str) -> Path:
    """Write the text and a final line break, whole or not at all. Raise DataError if the file cannot be written."""
    return replace_text(path, text + "\n")
