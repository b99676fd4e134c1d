"""Read training logs: find and check the columns that a report on grokking needs, and divide the rows into runs."""

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.core import array_of
from lemmata.errors import DataError, SettingError, ShapeError, UnknownNameError, file_error

STEP = ("step", "steps", "global_step", "iteration", "epoch", "time")
_TRAIN, _TEST = ("train", "training", "tr"), ("validation", "valid", "val", "test", "eval", "heldout", "held_out")
METRICS = {"accuracy": ("accuracy", "acc"), "loss": ("loss",)}
DECAY = ("weight_decay", "wd", "decay")
RUN = ("run", "run_id", "run_name", "seed", "trial", "experiment")
_MOST = 10_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """One logged quantity of a run: its steps in ascending order, and its values."""

    steps: Float[np.ndarray, " t"]
    values: Float[np.ndarray, " t"]


@dataclasses.dataclass(frozen=True, eq=False)
class History:
    """The runs of a log.

    Args:
        metric: what the values are, "accuracy" or "loss".
        columns: the names of the columns of the steps, and of training and test values.
        runs: the training curve and the test curve for each weight decay. The key is None if there is no column of
            weight decays.
    """

    metric: str
    columns: tuple[str, str, str]
    runs: tuple[tuple[float | None, Curve, Curve], ...]


def read_history(history: Any, step: Any, train: Any, test: Any, weight_decay: Any, metric: Any) -> History:
    """Read a log from a table.

    Args:
        history: the path of a CSV file, a data frame, or a dictionary of columns.
        step: the column of the steps. With None, this and the other columns are found by their usual names.
        train: the column of the training values.
        test: the column of the validation or test values.
        weight_decay: the column of the weight decays, if there is one.
        metric: "accuracy" or "loss". With None, the names of the columns decide.

    Raises:
        SettingError, UnknownNameError, DataError, ShapeError: if the input cannot be used, with a message of one line.
    """
    if metric is not None and not (isinstance(metric, str) and metric in METRICS):
        raise SettingError("metric", found=repr(metric), rule='"accuracy" or "loss"')
    table = _table(history)
    names = list(table)
    step = _column(table, step, STEP, "step", "step")
    train, test, metric = _pair(table, train, test, metric)
    decay = _column(table, weight_decay, DECAY, "weight decay", "weight_decay", needed=False)
    used = [name for name in (step, train, test, decay) if name is not None]
    if len(set(used)) < len(used):
        raise SettingError("columns", found=", ".join(used), rule="a different column for each")
    numbers = {name: _numbers(name, table[name]) for name in used}
    lengths = {len(column) for column in numbers.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{name} {len(numbers[name])}" for name in used)
        raise ShapeError("columns", found=f"lengths {found}", rule="columns of the same length")
    if not len(numbers[step]):
        raise DataError("history", found=f"no rows in {len(names)} columns", rule="at least two logged steps")
    steps, decays = numbers[step], numbers[decay] if decay else None
    _refuse(step, steps, ~(np.isfinite(steps) & (steps >= 0)), "a step of at least 0 in every row")
    if decays is not None:
        _refuse(decay, decays, ~(np.isfinite(decays) & (decays >= 0)), "a weight decay of at least 0 in every row")
    _one_run(table, used, decays)
    for name in (train, test):
        _check_values(name, numbers[name], metric)
    runs = []
    for own in [None] if decays is None else sorted(set(decays.tolist())):
        rows = np.ones(len(steps), bool) if decays is None else decays == own
        label = "" if own is None else f" of the weight decay {own:g}"
        runs.append((own, *(_curve(name, label, steps[rows], numbers[name][rows]) for name in (train, test))))
    return History(metric, (step, train, test), tuple(runs))


def _table(history: Any) -> dict[str, Any]:
    """Return the columns of the log by their names."""
    if isinstance(history, str | os.PathLike):
        history = _file(os.fspath(history))
    if callable(getattr(history, "collect_schema", None)) and callable(getattr(history, "collect", None)):
        history = history.collect()  # a lazy frame of Polars
    if isinstance(history, Mapping):
        columns = history
    elif hasattr(history, "columns") and hasattr(history, "__getitem__"):
        names = list(history.columns)
        if len(set(names)) < len(names):
            twice = max(names, key=names.count)
            raise DataError("history", found=f"the column {twice!r} {names.count(twice)} times", rule="different names")
        columns = {name: history[name] for name in names}
    else:
        rule = "the path of a CSV file, a data frame, or a dictionary of columns"
        raise DataError("history", found=f"a {type(history).__name__}", rule=rule)
    return {str(name): column for name, column in columns.items()}


def _file(path: str) -> Any:
    import polars as pl

    if os.path.isdir(path):
        raise DataError(f"history {path!r}", found="a directory", rule="a CSV file with a header")
    try:
        return pl.read_csv(path, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError, ValueError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())[:80]
        raise file_error(error)(f"history {path!r}", found=reason, rule="a CSV file with a header") from error


def _plain(name: str) -> str:
    """Return a name in lower case, with underscores between words. The name of a run in front is left out, as in "run 3
    - val_loss".
    """
    name = name.rsplit(" - ", 1)[-1]
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name.lower()).split())


def _column(
    table: Mapping[str, Any], given: Any, usual: tuple[str, ...], what: str, option: str, needed: bool = True
) -> Any:
    """Return the given name of a column, or one of its usual names, or None if an optional column is missing."""
    if given is not None:
        if not isinstance(given, str) or given not in table:
            found = f"columns {', '.join(list(table)[:12])}"
            raise UnknownNameError(f"column {given!r}", found=found, rule="the name of a column of the table")
        return given
    for name in usual:
        found = [column for column in table if _plain(column) == name]
        if len(found) > 1:
            raise DataError("columns", found=" and ".join(found[:2]), rule=f"one column for the {what}",
                            remedy=f"name it with the option {option}")  # fmt: skip
        if found:
            return found[0]
    if not needed:
        return None
    rule = f"a column for the {what}, for example {usual[0]}"
    found = f"columns {', '.join(list(table)[:12])}" if table else "no columns"
    raise DataError("history", found=found, rule=rule, remedy=f"name the column with the option {option}")


def _pair(table: Mapping[str, Any], train: Any, test: Any, metric: str | None) -> tuple[str, str, str]:
    """Return the columns of training and test values, and whether they are accuracies or losses."""
    metric = metric or _metric_of(train) or _metric_of(test)
    if metric is None and train is not None and test is not None:
        found = f"columns {train!r} and {test!r}"
        raise SettingError("metric", found=found, rule="names with 'accuracy' or 'loss', or a metric",
                           remedy='set metric="accuracy" or metric="loss"')  # fmt: skip
    half = None
    for kind in METRICS if metric is None else [metric]:
        words = METRICS[kind]
        named = lambda parts, words=words: tuple(f"{part}_{word}" for part in parts for word in words)
        # Keras calls the training value by the name of the metric alone.
        fits = _column(table, train, (*named(_TRAIN), *words), f"training {kind}", "train", needed=False)
        learns = _column(table, test, named(_TEST), f"validation {kind}", "test", needed=False)
        if fits is not None and learns is not None:
            return fits, learns, kind
        if fits is not None or learns is not None:
            half = half or (f"training {kind}", "train") if fits is None else (f"validation {kind}", "test")
    found = f"columns {', '.join(list(table)[:12])}" if table else "no columns"
    if half:
        remedy = (
            "log both training and validation, because grokking is a delay between them, "
            f"or name the column with the option {half[1]}"
        )
        raise DataError("history", found=found, rule=f"a column for the {half[0]}", remedy=remedy)
    raise DataError(
        "history", found=found, rule="a column for the training and one for the validation accuracy or loss",
        remedy="name the columns with the options train and test",
    )  # fmt: skip


def _metric_of(name: Any) -> str | None:
    parts = _plain(name).split("_") if isinstance(name, str) else []
    return next((kind for kind, words in METRICS.items() if any(word in parts for word in words)), None)


def _numbers(name: str, column: Any) -> Float[np.ndarray, " rows"]:
    """Return a column of numbers, with NaN for missing cells."""
    if np.ma.isMaskedArray(column):
        column = np.ma.asarray(column, float).filled(np.nan) if column.dtype.kind in "iufb" else column.filled(None)
    values = array_of(f"column {name!r}", column)
    if values.ndim != 1:
        raise ShapeError(f"column {name!r}", found=f"shape {values.shape}", rule="one number for each row")
    if len(values) > _MOST:
        raise DataError(f"column {name!r}", found=f"{len(values)} rows", rule=f"at most {_MOST} rows")
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return values.astype(str).astype(float)  # 0.9 in single precision is below 0.9 in double precision
    if values.dtype.kind in "iuf":
        return values.astype(float)
    if values.dtype.kind in "OU":
        values = np.array([_number_of(entry) for entry in values.tolist()], object)
    missing = np.array([entry is None or (isinstance(entry, float) and math.isnan(entry)) for entry in values.tolist()])
    kinds = (int, float, np.integer, np.floating)
    for row, (entry, none) in enumerate(zip(values.tolist(), missing, strict=True)):
        if not none and (isinstance(entry, bool) or not isinstance(entry, kinds)):
            shown = " ".join(repr(entry).split())[:40]
            remedy = "write the share: 22% is 0.22" if isinstance(entry, str) and entry.strip().endswith("%") else None
            what = f"column {name!r} in row {row}, counted from 0"
            raise DataError(what, found=f"the entry {shown}", rule="a number", remedy=remedy)
    try:
        return np.array(
            [np.nan if none else float(entry) for entry, none in zip(values.tolist(), missing, strict=True)]
        )
    except OverflowError as error:
        raise DataError(
            f"column {name!r}", found="a whole number above 1e308", rule="numbers of double precision"
        ) from error


def _number_of(entry: Any) -> Any:
    """Convert a text that is a number to this number, and return anything else unchanged."""
    try:
        return float(entry) if isinstance(entry, str) and "_" not in entry else entry
    except ValueError:
        return entry


def _one_run(table: Mapping[str, Any], used: list[str], decays: np.ndarray | None) -> None:
    """Raise DataError if a column such as `seed` shows several runs with the same weight decay."""
    for name in (name for name in table if _plain(name) in RUN and name not in used):
        labels = [str(entry) for entry in array_of(f"column {name!r}", table[name]).tolist()]
        of_decay: dict[Any, str] = {}
        for row, label in enumerate(labels):
            if label in ("None", "nan", "", "<NA>"):
                continue
            own = None if decays is None or row >= len(decays) else float(decays[row])
            if of_decay.setdefault(own, label) != label:
                found = f"{of_decay[own]} and {label}" + ("" if own is None else f" with the weight decay {own:g}")
                remedy = f"report the rows of each {_plain(name)} separately"
                raise DataError(
                    f"column {name!r}", found=found[:80], rule="one run, or one for each weight decay", remedy=remedy
                )


def _refuse(name: str, values: np.ndarray, wrong: np.ndarray, rule: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"column {name!r} in row {row}, counted from 0", found=f"{values[row]:g}", rule=rule)


def _check_values(name: str, values: np.ndarray, metric: str) -> None:
    logged = ~np.isnan(values)
    if metric == "accuracy":
        wrong = logged & ~((values >= 0) & (values <= 1))
        row = int(wrong.argmax())
        if wrong.any():
            remedy = "divide percentages by 100" if 1 < values[row] <= 100 else None
            raise DataError(f"column {name!r} in row {row}, counted from 0", found=f"{values[row]:g}",
                            rule="an accuracy between 0 and 1", remedy=remedy)  # fmt: skip
    else:
        _refuse(name, values, logged & ~(np.isfinite(values) & (values >= 0)), "a finite loss of at least 0")


def _curve(name: str, label: str, steps: np.ndarray, values: np.ndarray) -> Curve:
    """Return logged values in the order of their steps."""
    logged = ~np.isnan(values)
    order = np.argsort(steps[logged], kind="stable")
    steps, values = steps[logged][order], values[logged][order]
    again = np.diff(steps) == 0
    if np.any(again & (np.diff(values) != 0)):
        at = steps[1:][again & (np.diff(values) != 0)][0]
        raise DataError(
            f"column {name!r}{label}", found=f"different values at the step {at:g}",
            rule="one run for each weight decay", remedy="report each run separately, for example each seed",
        )  # fmt: skip
    keep = np.append(~again, True) if len(steps) else np.zeros(0, bool)
    steps, values = steps[keep], values[keep]
    if len(steps) < 2:
        raise DataError(f"column {name!r}{label}", found=f"logged steps: {len(steps)}", rule="at least two")
    return Curve(steps, values)
