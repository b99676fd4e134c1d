"""Write a fitted model to a skops file with a model card. Reading the file does not run code."""

import pkgutil
import zipfile
from collections.abc import Sequence
from pathlib import Path

from lemmata.errors import SettingError, line_of
from lemmata.interfaces.report import model_card
from lemmata.results import digest, replace_files
from lemmata.signatures import shows_signature
from lemmata.workflows.studies import FinalModel, StudyRecord


@shows_signature
def write_model(final: FinalModel, record: StudyRecord, path: str | Path) -> Path:
    """Write a fitted model and its card.

    Args:
        final: the fitted model.
        record: the record of the study that recommends the model.
        path: the path of the file.

    Raises:
        SettingError: if skops cannot store the model, or no other program could load the file.
        FileError: if a file cannot be written.
    """
    import skops.io

    path = Path(path)
    try:
        content = skops.io.dumps(final.model, compression=zipfile.ZIP_DEFLATED)
        trusted = sorted(skops.io.get_untrusted_types(data=content))
    except Exception as error:  # skops may raise any error for a user's estimator
        raise SettingError(
            f"the model {final.name!r} cannot be stored",
            found=line_of(error),
            rule="skops stores scikit-learn estimators, but not your own code",
            remedy="use study.best() in Python, or name another model of the study",
        ) from error
    _check_importable(final.name, trusted)
    card = model_card(final, record, path.name, trusted)
    card += f"\nThis card is about the file whose SHA-256 is `{digest(content)}`.\n"
    replace_files(path.parent, path.name, {path.name: content, path.with_suffix(".md").name: card})
    return path


def _check_importable(name: str, types: Sequence[str]) -> None:
    """Raise an error if a program that loads the file cannot import a class or function of the model."""
    lost = [own for own in types if not _is_importable(own)]
    if lost:
        word = lost[0].rpartition(".")[2]
        what, new = ("a lambda", "a named function") if word == "<lambda>" else (word, word)
        module = lost[0].partition(".")[0]
        place = {"lemmata_user_model": "the file of --model", "__main__": "the program that runs"}.get(module, module)
        raise SettingError(
            f"the model {name!r} cannot be stored",
            found=f"{what}, defined in {place}" + (f", and {len(lost) - 1} more" if len(lost) > 1 else ""),
            rule=(
                "the file stores only the names of classes and functions, so a program that loads it must be able to "
                "import them"
            ),
            remedy=f"define {new} in a separate module, such as parts.py in the same folder, and import it from there",
        )


def _is_importable(name: str) -> bool:
    """Whether a class or function, given by its module and name, can be imported in a fresh program."""
    if name.partition(".")[0] in ("__main__", "lemmata_user_model") or "<" in name:
        return False
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True
