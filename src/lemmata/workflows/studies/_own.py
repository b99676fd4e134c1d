"""Fit the user's own model to the user's own columns. The model is an estimator, or a function that returns one."""

import functools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.code_files import executed, importing_beside
from lemmata.errors import LemmataError, MissingFileError, SettingError, line_of, shortened

from ._data import Dataset
from ._estimators import Fit, PredictionError, chances_of, fault_of, fit_estimator, fit_to, places_of
from ._models import Model
from ._validation import Groups

TRIED = 200
"""The number of rows that test whether a model accepts the original columns."""


def own_model(source: object, dataset: Dataset, taken: Sequence[str] = ()) -> tuple[Model, list[str]]:
    """Return the user's model, and remarks on how it is fitted.

    The model is fitted to the user's own columns, in a data frame, so that a pipeline may choose columns by their
    names. If the model cannot be fitted to these columns (because of texts or missing cells), it gets the encoded
    columns of the other models.

    Args:
        source: an estimator with fit and predict, or "FILE.py:function", where the function returns one.
        dataset: the table.
        taken: the names of other models.

    Raises:
        SettingError: if the source is not an estimator, or the file or its function cannot be used.
        MissingFileError: if `source` names a file that does not exist.
    """
    make, name, words = _of_file(source) if isinstance(source, str) else _of_object(source)
    name = name if name not in taken else f"{name} (own)"
    given = (*dataset.given.names, dataset.target)
    absent = tuple(name for name in dataset.given.table.frame.columns if name not in given)
    raw = functools.partial(_fit_given, make, labels_of(dataset), absent)
    model = Model(name, name, words, False, raw, _price, own=True, raw=True)
    reason = _refusal(model, dataset)
    if not reason:
        return model, []
    plain = Model(name, name, words, False, functools.partial(_fit_encoded, make), _price, own=True)
    if _refusal(plain, dataset):
        return model, []  # both fits fail, and the error for the user's own columns is more helpful
    note = (
        f"{name} cannot be fitted to the original columns ({reason}). Like the other models, this model gets encoded "
        "columns. Numbers are standardised, texts are one-hot encoded, and missing cells are filled in."
    )
    return plain, [note]


def estimator_of(model: Model) -> Any:
    """Return an unfitted estimator of the user's own model."""
    fit: Any = model.fit  # a `functools.partial` of the function that makes the estimator
    return fit.args[0]()


def _refusal(model: Model, dataset: Dataset) -> str:
    """Return why the model cannot be fitted to some rows and predict other rows; empty if it can do both."""
    rows = np.random.default_rng(0).permutation(len(dataset.targets))[:TRIED]
    cut = max(len(rows) * 4 // 5, 1)
    given = dataset.as_given(rows) if model.raw else dataset.encoded(rows[:cut], rows[cut:])
    try:
        model.fit(given, dataset.targets[rows[:cut]], dataset.task, None)
    except (Exception, SystemExit) as error:  # the user's estimator may raise any error
        return fault_of(error)
    return ""


def labels_of(dataset: Dataset) -> np.ndarray | None:
    """Return the classes as the user's table holds them, in the order of `dataset.classes`; None for numbers."""
    if dataset.classes is None:
        return None
    first = dataset.targets.argmax(axis=0)
    cells = dataset.given.table.as_given([dataset.target], dataset.given.rows[first])
    return np.asarray(cells).reshape(-1)


def _check_kind(estimator: Any, task: str) -> None:
    """Raise an error if the estimator is a regressor but the target holds classes, or a classifier for numbers."""
    from sklearn.base import is_classifier, is_regressor

    try:
        odd = is_regressor(estimator) if task == "classification" else is_classifier(estimator)
    except (AttributeError, TypeError):  # an estimator without the tags of scikit-learn
        return
    if odd and task == "classification":
        raise PredictionError(
            "the model is a regressor, but the target holds classes; give a classifier or, if the classes are numbers, "
            "use --task regression"
        )
    if odd:
        raise PredictionError(
            "the model is a classifier, but the target holds numbers; give a regressor or, if the numbers name "
            "classes, use --task classification"
        )


def _fit_encoded(make: Callable[[], Any], x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    _check_kind(make(), task)
    return fit_estimator(make, x, y, task)


def _fit_given(
    make: Callable[[], Any],
    labels: np.ndarray | None,
    absent: tuple[str, ...],
    frame: Any,
    y: Float[np.ndarray, "n k"],
    task: str,
    groups: Groups = None,
) -> Fit:
    """Return the result of `_fit_as_given`. If the estimator needs an absent column, the error gives a remedy."""
    try:
        return _fit_as_given(make, labels, frame, y, task, groups)
    except LemmataError:
        raise
    except Exception as error:  # the user's estimator may raise any error
        asked = [name for name in absent if any(repr(name) in str(each) for each in _with_causes(error))]
        if not asked:
            raise
        raise PredictionError(
            f"the model asks for the column {shortened(asked[0])!r}, which is not an input; if the study left this "
            f"column out as an identifier, add --keep {shortened(asked[0])!r} to give the column to the model"
        ) from error


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and the errors during which it was raised."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _fit_as_given(
    make: Callable[[], Any],
    labels: np.ndarray | None,
    frame: Any,
    y: Float[np.ndarray, "n k"],
    task: str,
    groups: Groups = None,
) -> Fit:
    """Fit an estimator to the first rows of a data frame, and return its outputs for the other rows.

    Args:
        make: a function that returns an unfitted estimator.
        labels: the user's own classes (see `labels_of`); None for numbers.
        frame: the first rows and the other rows.
        y: the targets of the first rows, as numbers or as one-hot columns of classes.
        task: "regression" or "classification".
        groups: the groups of the first rows. The estimator does not receive them.
    """
    _check_kind(make(), task)
    if labels is None:
        return fit_estimator(make, frame, y, task)
    n, m = len(y), len(frame) - len(y)
    present = np.unique(y.argmax(axis=1))
    if len(present) == 1:
        sure = np.repeat(y[:1], m, axis=0)
        return Fit(sure, sure)
    estimator, names = fit_to(make(), frame[:n], labels[y.argmax(axis=1)]), labels.tolist()
    if hasattr(estimator, "predict_proba"):
        said = chances_of(estimator, frame[n:], names)
        return Fit(said, said)
    said = np.eye(len(labels))[places_of(estimator, frame[n:], names)]
    return Fit(said, said, certain=True)


def _of_object(estimator: object) -> tuple[Callable[[], Any], str, str]:
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        what = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise SettingError(
            "model= is not an estimator",
            found=what,
            rule='an estimator with fit and predict, or "FILE.py:function"',
            remedy=f"model={estimator.__name__}()" if isinstance(estimator, type) else None,
        )
    from sklearn.base import clone

    name = type(estimator).__name__
    return functools.partial(clone, estimator, safe=False), name, f"{name}, as given"


def _of_file(file: str) -> tuple[Callable[[], Any], str, str]:
    path, colon, name = file.rpartition(":")
    is_program = bool(colon) and path.endswith(".py")
    if not is_program or not Path(path).is_file():
        kind = MissingFileError if is_program else SettingError
        raise kind("--model does not name a function in a file", found=file[:80], rule="FILE.py:function")
    make = functools.partial(_made, os.path.abspath(path), name)  # the file's code may change the current folder
    try:
        estimator = make()
    except LemmataError:
        raise
    except (Exception, SystemExit) as error:  # a program that exits has also failed
        raise SettingError(
            f"--model {file[:80]} cannot be used",
            found=line_of(error),
            rule=f"{name}() must return an estimator with fit and predict",
        ) from error
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise SettingError(
            f"--model {file[:80]} cannot be used",
            found=f"{name}() returns {type(estimator).__name__}",
            rule="an estimator with fit and predict",
        )
    return make, name, f"{type(estimator).__name__} of {Path(path).name}"


def _price(n: int, d: int, k: int) -> float:
    """Guess the price of the user's model: return the price of a random forest."""
    return 1e-5 * n * math.sqrt(d) * k


def _made(path: str, name: str) -> Any:
    """Call the named function of a file, and return the result. The function can also be called in a worker process."""
    with importing_beside(path):
        return getattr(_module(path, Path(path).stat().st_mtime_ns), name)()


@functools.cache
def _module(path: str, written: int) -> Any:
    """Return the imported file. `written` is the time of its last change, so that a changed file is imported again."""
    return executed(path, "lemmata_user_model")
