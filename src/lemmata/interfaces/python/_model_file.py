"""A fitted model in a file of skops, which runs no code when it is read, and a model card beside it."""

import os
import tempfile
import zipfile
from pathlib import Path

from lemmata.errors import SettingError
from lemmata.files import replace_bytes, replace_text
from lemmata.interfaces.report import model_card
from lemmata.workflows.studies import FinalModel, StudyRecord

SUFFIX = ".skops"


def check_destination(path: str | Path, option: str) -> None:
    """Refuse a file that cannot be written, before anything is computed.

    Args:
        path: where the model is to go.
        option: what names it, for the message.

    Raises:
        SettingError: another suffix, a directory, or a place that cannot be written to.
    """
    path = Path(path)
    card = path.with_suffix(".md")
    rule = f"the model goes to a file that ends in {SUFFIX}, and its card beside it to one that ends in .md"
    if path.suffix != SUFFIX:
        raise SettingError(f"{option} {path} is no {SUFFIX} file", rule=rule,
                           remedy=f"name it {Path(path.name).with_suffix(SUFFIX) if path.name else 'model.skops'}")  # fmt: skip
    for place in (path, card):
        if place.is_dir():
            raise SettingError(f"{option}: {place} is a directory", rule=rule, remedy="choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        for place in (path, card):
            if place.exists() and not os.access(place, os.W_OK):
                raise PermissionError(13, "Permission denied", str(place))
    except (OSError, ValueError) as error:
        raise SettingError(f"{option} {path} cannot be written", found=getattr(error, "strerror", None) or str(error),
                           rule=rule, remedy="choose a directory that you may write to") from error  # fmt: skip


def write_model(final: FinalModel, record: StudyRecord, path: str | Path) -> Path:
    """Write a fitted model and its card.

    Args:
        final: the model.
        record: of the study that names it.
        path: of the file.

    Raises:
        SettingError: the model cannot be stored without pickle.
        FileError: the system does not write a file.
    """
    import skops.io

    path = Path(path)
    try:
        content = skops.io.dumps(final.model, compression=zipfile.ZIP_DEFLATED)
        trusted = sorted(skops.io.get_untrusted_types(data=content))
    except Exception as error:  # whatever it says of somebody's estimator
        raise SettingError(f"the model {final.name!r} cannot be stored", found=f"{type(error).__name__}: {error}",
                           rule="skops stores estimators of scikit-learn, and nothing is pickled",
                           remedy="use study.best() in Python, or name another model of the study") from error  # fmt: skip
    replace_bytes(path, content)
    replace_text(path.with_suffix(".md"), model_card(final, record, path.name, trusted))
    return path
