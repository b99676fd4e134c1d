"""Read a table with one line for each token as right-aligned sequences of unequal lengths."""

import numpy as np
import polars as pl

from lemmata.errors import DataError, MemoryPlanError, UnknownNameError, shortened
from lemmata.options import ComparisonOptions
from lemmata.workflows.studies import Table, listing, plain_column, with_dates

MOST_CELLS = 2**27

Found = tuple[np.ndarray, np.ndarray, list[pl.Series], str, list[str]]


def long_form(table: Table, options: ComparisonOptions) -> Found:
    """Return tokens (n, T, c), mask, target, target name and notes from a table with one line for each token.

    Lines with the same value of `--id` form one row. The lines of a row are ordered by `--time`; without `--time`, they
    keep the order of the file. The target of a row is the target of its last line. If no target is missing, all lines
    of the row must have this target. With `--sequence-length T`, only the last T tokens of each row are kept.

    Raises:
        DataError: if a target changes within a row, a cell is not a finite number, or two lines of a row have the same
            time.
        UnknownNameError: if an option names a column that the table does not have.
        MemoryPlanError: if the longest row makes the array too large.
    """
    frame, target = table.frame, options.target or table.default_target
    for option, name in (("id", options.id), ("time", options.time), ("target", target)):
        if name is not None and name not in frame.columns:
            raise UnknownNameError(
                f"--{option} {shortened(name)!r} is not a column", rule=f"the columns are {listing(frame.columns, 40)}"
            )
    if target is None:
        raise DataError(f"no target was given for {table.name}", remedy="name a target column with --target")
    apart = {options.id, options.time, target, *options.drop_column}
    channels = [name for name in frame.columns if name not in apart]
    if not channels:
        raise DataError(
            f"{table.name} has no columns for tokens", rule="at least one column besides --id, --time and --target"
        )
    codes = frame.select(pl.col(str(options.id)).rank("dense")).to_series()
    if codes.null_count():
        raise DataError(f"--id {options.id!r} has missing cells", found=codes.null_count())
    ids = codes.to_numpy().astype(np.int64) - 1
    order, note = _order(frame, options, ids)
    ids, x = ids[order], _tokens(table.name, frame, channels)[order]
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    lengths = np.diff(np.append(starts, len(ids)))
    targets = frame[target][order.tolist()]
    changed = np.flatnonzero((targets[1:] != targets[:-1]).fill_null(True).to_numpy() & (np.diff(ids) == 0))
    if len(changed) and not targets.null_count():
        raise DataError(
            f"target {target!r} changes within the lines of one --id",
            found=f"for {len(np.unique(ids[changed]))} of {len(starts)} values of --id",
            rule="one target for each value of --id", remedy="write the same target on all lines of one --id",
        )  # fmt: skip
    length = int(lengths.max()) if options.sequence_length is None else options.sequence_length
    if length < 1 or len(starts) * length * len(channels) > MOST_CELLS:
        raise MemoryPlanError(
            "rows of this length do not fit into memory", found=f"{len(starts)} rows of {length} tokens",
            rule=f"at most {MOST_CELLS} numbers",
            remedy="set --sequence-length to keep only the last tokens of each row",
        )  # fmt: skip
    tokens, mask = np.zeros((len(starts), length, len(channels))), np.zeros((len(starts), length), bool)
    back = np.repeat(starts + lengths, lengths) - np.arange(len(ids))  # 1 for the last token of a row
    kept = back <= length
    tokens[ids[kept], length - back[kept]] = x[kept]
    mask[ids[kept], length - back[kept]] = True
    notes = [*table.notes, f"{len(starts)} rows of {lengths.min()} to {lengths.max()} tokens, right-aligned{note}"]
    cut = int((lengths > length).sum())
    if cut:
        notes.append(f"of {cut} longer rows, only the last {length} tokens were kept")
    return tokens, mask, [targets[(starts + lengths - 1).tolist()]], target, notes


def _order(frame: pl.DataFrame, options: ComparisonOptions, ids: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the order of the lines by row and time, and a remark if the lines of a row keep their order."""
    if options.time is None:
        return np.argsort(ids, kind="stable"), " in the order of the lines"
    time = plain_column(with_dates(frame[options.time]))
    if time.null_count() or time.dtype == pl.String:
        raise DataError(f"--time {options.time!r}", found="missing cells or text", rule="dates or numbers")
    values = time.to_numpy()
    order = np.lexsort((values, ids))
    twice = (np.diff(ids[order]) == 0) & (np.diff(values[order]) == 0)
    if twice.any():
        raise DataError(
            f"--time {options.time!r} does not order the tokens", found=f"{int(twice.sum())} pairs of equal times",
            rule="the tokens of a row must have different times", remedy="leave --time out to keep the order of "
                "the lines",
        )  # fmt: skip
    return order, ""


def _tokens(name: str, frame: pl.DataFrame, channels: list[str]) -> np.ndarray:
    columns = [plain_column(frame[channel]) for channel in channels]
    broken = [f"{c.name!r}: text" if c.dtype == pl.String else f"{c.name!r}: {c.null_count()}" for c in columns
              if c.dtype == pl.String or c.null_count()]  # fmt: skip
    if broken:
        raise DataError(
            f"{name} has cells that are missing, not finite or text", found=listing(broken, 5),
            rule="tokens must be vectors of finite numbers",
            remedy="fill these cells in, or leave the column out with --drop-column",
        )  # fmt: skip
    return np.stack([column.to_numpy() for column in columns], axis=1)
