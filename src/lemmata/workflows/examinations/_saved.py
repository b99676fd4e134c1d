"""Load a scikit-learn pipeline from a skops file, which `lemmata study --save-model` writes, and load rows for it."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.core import available_bytes
from lemmata.errors import DataError, SettingError, UnknownNameError, file_error, line_of
from lemmata.files import MODEL, check_file
from lemmata.options import ModelOptions
from lemmata.subjects.trained_models import Trained, read_trained
from lemmata.workflows.studies import Reading, read_table, target_numbers

from ._pipelines import as_last_step_reads
from ._row_names import Names, RowNames, columns_after, names_in_file, naming_rows
from ._rows import HELD_WORDS, TARGETS

_KNOWN = re.compile(
    r"numpy\.(dtype|clip)|lemmata\.estimators\.(PlainTable|NetworkKernel)"
    r"|sklearn\.(tree\._tree|neighbors\._(kd|ball)_tree|ensemble\._hist_gradient_boosting\.\w+|_loss\.\w+"
    r"|metrics\._dist_metrics|model_selection\._split|gaussian_process\.kernels)\.\w+"
)
"""A pattern of types that a file may contain besides the types that skops trusts. These types only compute."""
_OF_PROGRAMS = ("weights", "start", "checkpoint", "size", "rate", "corrected")


@dataclasses.dataclass(frozen=True)
class _Rows:
    """Rows in the form that the first step of a pipeline takes, their targets, and the words of the split column."""

    name: str
    frame: Any
    y: np.ndarray | None
    words: list[str] | None
    names: Names


def is_saved(program: str) -> bool:
    """Whether the command line names a saved model instead of a program."""
    return Path(program).suffix == MODEL


def load_saved(program: str, data: object, options: ModelOptions) -> tuple[Trained, str, str, RowNames]:
    """Return the trained model in a saved pipeline, and the names of the program, the data and the rows.

    The last step of the pipeline is the model. The other steps prepare the rows.

    Args:
        program: the file of the saved pipeline.
        data: a table of training rows with the columns that the pipeline takes.
        options: the options, such as the file of held-out rows.

    Raises:
        DataError, SettingError: if files cannot be read or do not fit each other.
    """
    given = [name for name in _OF_PROGRAMS if getattr(options, name)]
    if given:
        raise SettingError(
            f"--{given[0]} with a {MODEL} file", rule="this option needs a program, but a saved pipeline has no program"
        )
    model = read_pipeline(program)
    inputs = [str(name) for name in getattr(model, "feature_names_in_", ())] or list(getattr(model[0], "columns", ()))
    reader = _Reader.of(model, inputs)
    own = reader.rows(data, options.target, options.split)
    if own.y is None:
        rule, remedy = f"a column named {', '.join(TARGETS)}", "name the target with --target COLUMN"
        raise DataError(own.name, rule=rule, remedy=remedy)
    read = lambda frame: as_last_step_reads(model, frame)
    x, y, held, columns = read(own.frame), own.y, None, columns_after(model[:-1])
    names = RowNames(own.names, columns=columns)
    if own.words is not None:
        seen = np.array([word not in HELD_WORDS for word in own.words])
        if seen.all() or not seen.any():
            rule = f"a column in which some rows, but not all, have one of the values {', '.join(HELD_WORDS)}"
            raise DataError(f"column {options.split!r}", found=f"{(~seen).sum()} held-out rows", rule=rule)
        x, y, held = x[seen], y[seen], (x[~seen], y[~seen])
        names = RowNames(own.names.of(seen), own.names.of(~seen), columns)
    if options.held is not None:
        unseen = reader.rows(options.held, options.target, None)
        held, names = (read(unseen.frame), unseen.y), dataclasses.replace(names, held=unseen.names)
    deployed = None if options.deploy is None else read(reader.rows(options.deploy, None, None).frame)
    claimed = options.claimed
    facts = {"held": held, "deployed": deployed, "decay": options.decay, "claimed": claimed, "loss": options.loss}
    with naming_rows(names):
        return read_trained(model[-1], x, y, **facts, seed=options.seed), Path(program).name, own.name, names


def read_pipeline(program: str) -> Any:
    """Return the pipeline in a skops file.

    Raise an error if the file contains types that are not known to be harmless.
    """
    try:
        check_file(program)
    except OSError as error:
        found = f"{program!r}: {error.strerror or error}"
        raise file_error(error)("the saved model cannot be read", found=found, rule=f"a {MODEL} file",
                                remedy="check the path and its permissions") from error  # fmt: skip
    import skops.io
    from sklearn.pipeline import Pipeline

    try:
        types = skops.io.get_untrusted_types(file=program)
        odd = [name for name in types if not _KNOWN.fullmatch(name)]
        model: Any = None if odd else skops.io.load(program, trusted=types)
    except Exception as error:  # skops may raise any error for a damaged file
        raise DataError(f"{program} cannot be read", found=line_of(error, 200),
                        rule="a file that skops has written") from error  # fmt: skip
    if odd:
        raise SettingError(
            f"{program} contains types that are not trusted",
            found=", ".join(odd[:5]),
            rule="only estimators of scikit-learn and lemmata",
            remedy="in Python, call lemmata.study_model(skops.io.load(file, trusted=[...]), x, y)",
        )
    if not isinstance(model, Pipeline) or len(model) < 2:
        raise SettingError(f"{program} holds no pipeline", found=f"a {type(model).__name__}",
                           rule="a pipeline of steps that read the rows, followed by an estimator",
                           remedy="in Python, call lemmata.study_model(model, x, y)")  # fmt: skip
    return model


@dataclasses.dataclass(frozen=True)
class _Reader:
    """A reader of tables for a pipeline. Tables are read like the table of the study that has fitted the pipeline.

    Args:
        inputs: the columns that the pipeline takes.
        numbers: whether the targets of the pipeline are numbers.
        na: the texts for missing cells that the user of the study has named; None for the usual texts.
        decimal: the decimal mark of the study's table; None if it is read from the cells.
    """

    inputs: list[str]
    numbers: bool
    na: tuple[str, ...] | None
    decimal: str | None

    @staticmethod
    def of(model: Any, inputs: list[str]) -> "_Reader":
        from lemmata.estimators import PlainTable

        numbers = not hasattr(model[-1], "classes_")
        if not isinstance(model[0], PlainTable):
            return _Reader(inputs, numbers, None, None)
        return _Reader(inputs, numbers, tuple(model[0].missing) or None, model[0].decimal)

    def rows(self, data: object, target: str | None, split: str | None) -> _Rows:
        """Return the rows of a table that have a target, with the columns of the pipeline unchanged."""
        needed = (*self.inputs, *(own for own in (target, split) if own is not None))
        how = Reading(int(available_bytes() / 4), 0, na=self.na, decimal=self.decimal, columns=needed)
        table = read_table(data, how)
        frame, names, inputs = table.frame, table.frame.columns, self.inputs
        for name in needed:
            if name not in names:
                raise UnknownNameError(f"{table.name} has no column {name!r}", found=", ".join(names[:12]))
        likely = (name for name in TARGETS if name in names and name not in inputs)
        own = target or table.default_target or next(likely, None)
        y, known = None, np.ones(frame.height, bool)
        if own is not None:
            cells = target_numbers(table, inputs, own, self.decimal) if self.numbers else frame[own]
            known = cells.is_not_null().to_numpy()
            y = cells.to_numpy()[known]
        rows = np.flatnonzero(known)
        words = None if split is None else [str(value).strip().lower() for value in frame[split][rows].to_list()]
        return _Rows(table.name, table.as_given(inputs, rows), y, words, names_in_file(data, frame.height).of(known))
