"""Load `Sequences` from a bundled task, a file, a table or arrays, or raise an error that gives the reason."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lemmata.core import available_bytes
from lemmata.errors import DataError, MemoryPlanError, SettingError
from lemmata.options import ComparisonOptions
from lemmata.workflows.studies import (
    SETS,
    Bundled,
    Reading,
    Table,
    assign_roles,
    encode_targets,
    listing,
    named_target,
    plain_column,
    read_arrays,
    read_table,
)

from ._long import long_form
from ._mixers import FEATURES, MODES
from ._sequences import Sequences, check_length, standard_tokens
from ._tasks import TASKS

DEFAULT_ROWS = 2500
DEFAULT_BYTES = 3 * 2**30
_NAMES = Bundled(sets=SETS.sets, tasks=tuple(TASKS))
MATRICES = 6
"""The number of n x n matrices that a comparison holds in memory at once, where n is the number of rows of the data."""


_OF_TABLES = ("target", "id", "time", "drop_column")
"""Options that name columns of a table."""
_NO_COLUMNS = "the arrays x (n, T, c) and y have no column names"


def load_sequences(data: object, options: ComparisonOptions = ComparisonOptions()) -> Sequences:  # noqa: B008 -- frozen
    """Return the sequences and targets of a file, a table, arrays or a bundled task.

    Args:
        data: the name of a bundled task or set, the path of a CSV, TSV, Parquet or NPZ file, a data frame, or arrays as
            a pair (x, y) or a triple (x, y, mask). x has the shape (n, T, c), or (n, columns) with a sequence length.
        options: the options of the comparison.

    Raises:
        DataError: if the sequences cannot be used; the message gives the reason and the remedy.
        SettingError: if the sequence length is missing or does not fit, or an option does not apply to these data.
        UnknownNameError: if an option names a column that the table does not have.
        MissingFileError: if `data` is the name of neither a file nor a bundled task or set.
        MemoryPlanError: if the rows do not fit into memory.

    >>> load_sequences("lookup").x.shape
    (800, 17, 9)
    """
    limit = min(DEFAULT_BYTES, available_bytes() // 2)
    named = os.fspath(data) if isinstance(data, str | os.PathLike) else None
    if named is not None and named in TASKS and not Path(named).is_file():
        return _task(named, options)
    if named is not None and named.lower().endswith(".npz") and Path(named).is_file():
        arrays, notes = read_arrays(Path(named), limit // 4)
        if arrays.get("x", np.zeros(0)).ndim == 3:
            _refuse_ignored(options, _OF_TABLES, Path(named).name, _NO_COLUMNS)
            return _from_arrays(Path(named).name, arrays, options, limit, notes)
    if isinstance(data, tuple) and len(data) in (2, 3):
        x = np.asarray(data[0])
        if x.ndim == 3:
            arrays = {name: np.asarray(part) for name, part in zip(("x", "y", "mask"), data, strict=False)}
            _refuse_ignored(options, _OF_TABLES, "the arrays", _NO_COLUMNS)
            return _from_arrays("the arrays", arrays, options, limit, [])
        data = data[:2]
    table = read_table(data, Reading(limit // 4, options.seed, columns=named_target(options.target)), _NAMES)
    if options.id is not None:
        found = long_form(table, options)
        return _finished(table.name, *found, options, limit, table.rows)
    return _from_table(table, options, limit)


def _refuse_ignored(options: ComparisonOptions, names: tuple[str, ...], data: str, rule: str) -> None:
    """Raise an error if the user set one of the options in `names`, which do not apply to this kind of data."""
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    if given:
        raise SettingError(f"{', '.join(given)} with {data}", rule=rule, remedy="leave these options out")


def _task(name: str, options: ComparisonOptions) -> Sequences:
    task = TASKS[name]
    _refuse_ignored(options, (*_OF_TABLES, "task"), name, "a bundled task has no columns to choose from")
    rows = min(task.rows, options.max_rows or task.rows)
    x, y = task.draw(np.random.default_rng([options.seed, 7]), rows)
    length = x.shape[1]
    if options.sequence_length not in (None, length):
        check_length(options.sequence_length or 0, name)
        raise SettingError(
            "--sequence-length does not fit the task", found=options.sequence_length,
            rule=f"rows of {name} have {length} tokens", remedy="leave it out",
        )  # fmt: skip
    mask = np.ones(x.shape[:2], bool)
    return Sequences(
        name, standard_tokens(name, x, mask), mask, (y - y.mean())[:, None], "regression", "y", None, np.zeros(1), rows,
        ("bundled with lemmata; drawn anew for each seed",), task.words, task.expected, task.test,
    )  # fmt: skip


def _from_arrays(
    name: str, arrays: dict[str, np.ndarray], options: ComparisonOptions, limit: int, notes: list[str]
) -> Sequences:
    """Return the sequences in the arrays x (n, T, c), y (n) or (n, k), and optionally a mask (n, T)."""
    x, y, mask = arrays["x"], arrays.get("y"), arrays.get("mask")
    if y is None:
        raise DataError(
            f"{name} has no targets", found=listing(list(arrays)), rule="arrays x and y, and optionally mask"
        )
    if x.dtype.kind not in "biuf" or min(x.shape) == 0:
        raise DataError(
            f"array x of {name} holds no numbers",
            found=f"shape {x.shape}, type {x.dtype}",
            rule="real numbers (n, T, c)",
        )
    mask = np.ones(x.shape[:2], bool) if mask is None else np.asarray(mask)
    if mask.shape != x.shape[:2] or len(y) != len(x) or y.ndim > 2:
        raise DataError(
            f"the arrays of {name} do not have matching shapes", found=f"x {x.shape}, y {y.shape}, mask {mask.shape}",
            rule="x (n, T, c), y (n) or (n, k), mask (n, T) for n rows, T tokens, c channels and k outputs",
        )  # fmt: skip
    if mask.dtype.kind not in "b" and not np.isin(mask, (0, 1)).all():
        raise DataError(f"the mask of {name} cannot be used", found=f"type {mask.dtype}", rule="booleans, or 0 and 1")
    if options.sequence_length not in (None, x.shape[1]):
        raise SettingError(
            "--sequence-length does not fit the arrays", found=options.sequence_length,
            rule=f"x has {x.shape[1]} positions", remedy="leave it out",
        )  # fmt: skip
    targets = [pl.Series(f"y[{j}]", column) for j, column in enumerate(np.atleast_2d(y.T))]
    return _finished(name, x.astype(float), mask.astype(bool), targets, "y", notes, options, limit, len(x))


def _from_table(table: Table, options: ComparisonOptions, limit: int) -> Sequences:
    """Read the columns of a table, in order, as T tokens of c numbers."""
    roles = assign_roles(table, options.target, options.drop_column, (), None, None)
    columns, length = len(roles.inputs), options.sequence_length
    if length is None and table.name == "digits":
        length = 8
    if length is None:
        raise SettingError(
            "--sequence-length is missing", found=f"{columns} columns",
            rule=(
                "the number of columns must be a multiple of T, because the columns are read, in order, as T tokens of "
                "equal length"
            ), remedy=f"set --sequence-length T to one of {_divisors(columns)}",
        )  # fmt: skip
    if length < 2:
        check_length(length, table.name)
    if columns % length:
        known = _divisors(columns)
        near = [*[value for value in known if value < length][-1:], *[value for value in known if value > length][:1]]
        raise SettingError(
            "--sequence-length does not divide the columns", found=f"{length} for {columns} columns",
            rule=(
                "the number of columns must be a multiple of T, because the columns are read, in order, as T tokens of "
                "equal length"
            ),
            remedy=f"set --sequence-length to {' or '.join(map(str, near))}, or leave columns out with --drop-column",
        )  # fmt: skip
    inputs = [plain_column(table.frame[name]) for name in roles.inputs]
    texts = [column.name for column in inputs if column.dtype == pl.String]
    if texts:
        raise DataError(
            f"{table.name} has columns of text", found=listing(texts), rule="tokens must consist of numbers",
            remedy="encode them as numbers, or leave them out with --drop-column",
        )  # fmt: skip
    x = np.stack([column.to_numpy().astype(float) for column in inputs], axis=1)
    _check_cells(table.name, x, roles.inputs)
    x = x.reshape(len(x), length, columns // length)
    notes = [
        *table.notes,
        f"the {columns} columns, in their order, are read as {length} tokens of {columns // length} numbers each",
    ]
    notes += [f"left out on request: {listing(list(options.drop_column))}"] if options.drop_column else []
    targets = [table.frame[name] for name in roles.targets]
    mask = np.ones(x.shape[:2], bool)
    return _finished(table.name, x, mask, targets, roles.label, notes, options, limit, table.rows)


def _divisors(columns: int) -> list[int]:
    return [value for value in range(2, columns + 1) if columns % value == 0]


def _check_cells(name: str, x: np.ndarray, columns: Sequence[str]) -> None:
    broken = ~np.isfinite(x)
    if broken.any():
        where = [f"{columns[j]!r}: {int(broken[:, j].sum())}" for j in np.flatnonzero(broken.any(axis=0)).tolist()]
        raise DataError(
            f"{name} has cells that are missing, NaN or infinite", found=listing(where, 5),
            rule="every cell of a token must be a finite number",
            remedy=(
                "fill these cells; if sequences have unequal lengths, store one line for each token and use --id and "
                "--time"
            ),
        )  # fmt: skip


def _finished(
    name: str, x: np.ndarray, mask: np.ndarray, targets: list[pl.Series], label: str, notes: list[str],
    options: ComparisonOptions, limit: int, rows: int,
) -> Sequences:  # fmt: skip
    """Draw rows at random if there are too many, encode the targets, and standardise the tokens."""
    plain = [plain_column(column, "target") for column in targets]
    known = ~np.any([column.is_null().to_numpy() for column in plain], axis=0)
    if not known.all():
        notes = [*notes, f"dropped {int((~known).sum())} of {len(known)} rows without a target"]
    kept = np.flatnonzero(known)
    most = _most_rows(x, options, limit, len(kept))
    if len(kept) > most:
        notes = [
            *notes,
            f"used {most} of {len(kept)} rows, drawn at random (--max-rows), because the time of a comparison grows "
            "as the cube of the number of rows",
        ]
        kept = np.sort(np.random.default_rng([options.seed, 5]).permutation(kept)[:most])
    encoded: Any = None
    tokens = standard_tokens(name, x[kept], mask[kept])
    encoded = encode_targets([column[kept.tolist()] for column in plain], label, options.task)
    classes, shares = encoded.classes, encoded.mean if encoded.classes else np.zeros(encoded.y.shape[1])
    notes = [*notes, "channels are standardised over all tokens, without using the target", *encoded.notes]
    return Sequences(
        name, tokens, mask[kept], encoded.y, encoded.task, label, classes, shares, rows, tuple(notes),
    )  # fmt: skip


def _most_rows(x: np.ndarray, options: ComparisonOptions, limit: int, rows: int) -> int:
    """Return the number of rows to use. If the requested rows do not fit into memory, raise an error with a remedy."""
    _, length, channels = x.shape
    width = max(length * channels, FEATURES, 2 * MODES * channels)
    asked = min(rows, DEFAULT_ROWS if options.max_rows is None else options.max_rows)
    need = 8 * (MATRICES * asked**2 + 4 * asked * width)
    if need <= limit:
        return asked
    fits = int((-4 * width + np.sqrt(16 * width**2 + 4 * MATRICES * limit / 8)) / (2 * MATRICES))
    if options.max_rows is not None or fits < 40:
        raise MemoryPlanError(
            "the comparison does not fit into memory", found=f"{need} bytes needed for {asked} rows",
            rule=f"at most {limit} bytes", remedy=f"set --max-rows {max(fits, 40)}",
        )  # fmt: skip
    return fits
