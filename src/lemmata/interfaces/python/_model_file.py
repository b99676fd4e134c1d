"""Write a fitted model to a skops file with a model card. Reading the file does not run code."""

import zipfile
from pathlib import Path

from lemmata.errors import SettingError, line_of
from lemmata.interfaces.report import model_card
from lemmata.results import digest, replace_files
from lemmata.workflows.studies import FinalModel, StudyRecord


def write_model(final: FinalModel, record: StudyRecord, path: str | Path) -> Path:
    """Write a fitted model and its card.

    Args:
        final: the fitted model.
        record: the record of the study that recommends the model.
        path: the path of the file.

    Raises:
        SettingError: skops cannot store the model.
        FileError: a file cannot be written.
    """
    import skops.io

    path = Path(path)
    try:
        content = skops.io.dumps(final.model, compression=zipfile.ZIP_DEFLATED)
        trusted = sorted(skops.io.get_untrusted_types(data=content))
    except Exception as error:  # for any estimator of a user, whatever it reports
        raise SettingError(
            f"the model {final.name!r} cannot be stored",
            found=line_of(error),
            rule="skops stores scikit-learn estimators, but no code of your own",
            remedy="use study.best() in Python, or name another model of the study",
        ) from error
    card = model_card(final, record, path.name, trusted)
    card += f"\nThis card is about the file whose SHA-256 is `{digest(content)}`.\n"
    replace_files(path.parent, path.name, {path.name: content, path.with_suffix(".md").name: card})
    return path
