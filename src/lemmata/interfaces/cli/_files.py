"""The files of a study: each path is checked before the computation, and each file is written whole or not at all."""

import json
import math
from pathlib import Path
from typing import Any

from lemmata.errors import SettingError, shortened
from lemmata.files import check_folder, check_place, faults, replace_text


def prepare_directory(directory: Path, *files: str) -> None:
    """Check before any computation that files can be written into a directory. Nothing is made.

    Args:
        directory: the directory for the files.
        files: the paths of the files below the directory, with slashes.

    Raises:
        SettingError: if a file cannot be written, or if a link below the directory leads to another place.
    """
    try:
        for name in files:
            check_place(directory, name)
            check_folder((directory / name).parent)
    except (OSError, ValueError) as error:
        rule = f"a directory in which {' and '.join(files)} can be written"
        raise SettingError(
            f"--out {shortened(str(directory), 1000)} cannot be written to", rule=rule, **faults(error)
        ) from error


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
