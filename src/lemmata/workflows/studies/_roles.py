"""Find the role of each column of a table, and the rows that can be used."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl

from lemmata.errors import DataError, SettingError, UnknownNameError, shortened
from lemmata.workflows.records.studies import Finding

from ._calendar import first_days
from ._columns import count, listing, plain_column
from ._date_marks import date_marks
from ._dates import unclear, with_dates
from ._findings import identifiers
from ._footnotes import without_footnotes
from ._hints import not_numbers
from ._memory import Table
from ._named_columns import columns_rule, of_index, one_name, target_columns
from ._numbers import as_numbers, check_decimal, check_marks, decimal_mark, stripped
from ._readings import dates_to_check, declared
from ._suspects import suspects, total_row
from ._texts import merged_texts, versions

FEWEST_ROWS = 20
_MANY_LOST = 0.05
"""If at least this share of the rows has no target, a warning precedes the results."""


@dataclasses.dataclass(frozen=True)
class Roles:
    """The role of each column of a table: targets (several for a matrix of an NPZ file), inputs, groups, time."""

    label: str
    targets: list[str]
    inputs: list[str]
    group: str | None
    time: str | None
    keep: tuple[str, ...]

    @property
    def asked(self) -> list[str]:
        """The columns of --group and --time."""
        return [name for name in dict.fromkeys((self.group, self.time)) if name is not None]


def assign_roles(
    table: Table,
    target: str | None,
    drop: Sequence[str],
    keep: Sequence[str],
    group: str | None,
    time: str | None,
) -> Roles:
    target, group, time = (one_name(*given) for given in (("target", target), ("group", group), ("time", time)))
    targets, label = target_columns(table, target)
    for option, names in (("drop-column", drop), ("keep", keep), ("group", [group]), ("time", [time])):
        for name in names:
            if name is not None and name not in table.frame.columns:
                told = f"--{option} {shortened(name)!r} is not a column"
                raise UnknownNameError(told, rule=columns_rule(table), remedy=of_index(table, name) or None)
            if name in targets:
                raise SettingError(
                    f"--{option} {label!r} is the target", rule="the target cannot be left out or have another role"
                )
    apart = {*targets, *drop, *({group, time} - set(keep))}
    inputs = [name for name in table.frame.columns if name not in apart]
    if not inputs:
        raise DataError(
            f"{table.name} has no input columns besides the target",
            found=listing(table.frame.columns),
            rule="there must be at least one column besides the target",
            remedy="check the separator of the file, or leave fewer columns out" + _kept(group, time),
        )
    return Roles(label, targets, inputs, group, time, tuple(keep))


def _kept(group: str | None, time: str | None) -> str:
    """Return the advice that --keep also makes the columns of --group and --time inputs."""
    named = [f"--keep {name!r} makes it an input, too" for name in (group, time) if name is not None]
    return "".join(f"; {each}" for each in named)


def role_notes(roles: Roles, drop: Sequence[str]) -> list[str]:
    notes = [f"left out on request: {listing(list(drop))}"] if drop else []
    uses = (
        ("--group", roles.group, "new groups have other values"),
        ("--time", roles.time, "later rows have later times"),
    )
    for option, name, why in uses:
        if name is not None and name not in roles.inputs:
            notes.append(
                f"{option} {name!r} decides the splits and is not an input ({why}); --keep {name!r} makes it an input"
            )
    return notes


@dataclasses.dataclass(frozen=True)
class Plain:
    """The needed columns, as numbers or text.

    Args:
        frame: the data frame of these columns.
        dated: the columns that may hold the times at which rows were observed (`_is_date`).
        firsts: the first date of each date column (`first_days`).
        declared: the columns of numbers that are texts here, because the user declared them as categories.
        notes: remarks on how texts were read as numbers.
        findings: findings about words among numbers that were read as missing.
    """

    frame: pl.DataFrame
    dated: list[str]
    firsts: dict[str, float]
    declared: frozenset[str]
    notes: list[str]
    findings: list[Finding]


def plain_frame(table: Table, roles: Roles, decimal: str | None = None) -> Plain:
    """Return all needed columns, as numbers or text.

    Args:
        table: the table as read.
        roles: the roles of its columns.
        decimal: the decimal mark; None if it is read from the cells.
    """
    enough(table.frame.height, table.name)
    needed = list(dict.fromkeys([*roles.inputs, *roles.asked, *roles.targets]))
    texts, declarations = declared(table, [name for name in roles.inputs if name != roles.time])
    counted, told = versions(table, [name for name in roles.inputs if name != roles.time and name not in texts])
    texts |= counted
    rest = [with_dates(table.frame[name]) for name in needed if name not in texts]
    read, notes, findings = _as_numbers(rest, decimal)
    plain = {own.name: plain_column(own, "target" if own.name in roles.targets else "column") for own in read}
    frame = pl.DataFrame([texts[name] if name in texts else plain[name] for name in needed])
    findings += [*declarations, *told]
    merged = [table.frame[name] for name in needed if table.frame[name].dtype == pl.String and name not in texts]
    findings += merged_texts([own for own in merged if frame[own.name].dtype == pl.Float64], table.in_memory)
    findings += [_infinite_read(column.name, n) for column in read if (n := _infinite(column, frame[column.name]))]
    findings += [*suspects(frame, table), *total_row(frame), *dates_to_check(table, needed), *date_marks(read, table)]
    for name in roles.asked:
        if name == roles.time and frame[name].dtype == pl.String:
            raise DataError(
                f"--time {name!r} is text",
                found=unclear(table.frame[name]) or repr(frame[name].drop_nulls()[0]),
                rule="times must be dates or numbers",
                remedy="write dates as YYYY-MM-DD",
            )
    dated = [column.name for column in read if _is_date(column)]
    return Plain(frame, dated, first_days(read), frozenset(texts), notes, findings)


def _is_date(column: pl.Series) -> bool:
    """Whether the column may hold the times at which rows were observed: dates, or times of day in increasing order.

    Durations do not count, and neither do times of day in another order.
    """
    if column.dtype == pl.Time:
        return column.drop_nulls().is_sorted()
    return column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime)


def target_numbers(table: Table, inputs: Sequence[str], name: str, decimal: str | None = None) -> pl.Series:
    """Return a target of numbers, read in the same way as in a study. Cells without a number are missing.

    Args:
        table: the table as read.
        inputs: the input columns, whose texts also show the decimal mark.
        name: the name of the target column.
        decimal: the decimal mark; None if it is read from the cells.

    Raises:
        DataError: if the target is a text or a date.
    """
    needed = dict.fromkeys([*inputs, name])
    frame = without_footnotes(table, list(needed), [name], decimal).frame
    read, _, _ = _as_numbers([with_dates(frame[own]) for own in needed], decimal)
    column = plain_column(next(own for own in read if own.name == name), "target")
    if column.dtype == pl.String:
        raise DataError(
            f"target {shortened(name)!r} of {table.name} is text",
            found=next((repr(odd[0]) for odd, _ in [not_numbers(column)] if odd), repr(column.drop_nulls()[0])),
            rule="the model predicts numbers",
            remedy=(
                "name another column, which holds numbers, with --target, or write the cells of this column as plain "
                "numbers"
            ),
        )
    return column.extend_constant(None, table.frame.height - frame.height)


def _as_numbers(read: list[pl.Series], decimal: str | None) -> tuple[list[pl.Series], list[str], list[Finding]]:
    """Convert text columns of numbers to numbers. Return all columns, with notes and findings on the conversion."""
    check_decimal(decimal)
    texts = {column.name: stripped(column) for column in read if column.dtype == pl.String}
    mark = decimal or decimal_mark(texts.values())
    if decimal is None:
        check_marks(texts.values())
    found = {name: own for name, column in texts.items() if (own := as_numbers(column, mark)) is not None}
    notes = [
        f"numbers have a decimal {word} in {listing(rewritten)}"
        for mark, word in _MARKS.items()
        if (rewritten := [repr(shortened(name)) for name, own in found.items() if own.decimal == mark])
    ]
    notes += [
        f"{own.unit!r} in {shortened(name)!r} is a unit and was removed" for name, own in found.items() if own.unit
    ]
    findings = [_words_read(name, own.words) for name, own in found.items() if own.words]
    return [found[column.name].column if column.name in found else column for column in read], notes, findings


def _words_read(name: str, words: dict[str, int]) -> Finding:
    """Report that words among numbers were read as missing."""
    told = listing([f"{word!r} ({count(number, 'cell')})" for word, number in words.items()])
    verb = "is" if len(words) == 1 else "are"
    text = f"{told} in {name!r} {verb} read as missing, because the other cells are numbers."
    return Finding("missing", (name,), text)


def _infinite(column: pl.Series, plain: pl.Series) -> int:
    """Count the infinite cells of a column of numbers."""
    if plain.dtype != pl.Float64 or not (column.dtype.is_float() or column.dtype == pl.String):
        return 0
    return int(column.cast(pl.Float64, strict=False).is_infinite().sum())


def _infinite_read(name: str, number: int) -> Finding:
    """Report that infinite cells were read as missing."""
    verb = "is" if number == 1 else "are"
    text = f"{count(number, 'infinite cell')} in {name!r} {verb} read as missing. A model needs finite numbers."
    return Finding("missing", (name,), text)


_MARKS = {",": "comma", ".": "point"}


def without_identifiers(frame: pl.DataFrame, roles: Roles, dated: list[str]) -> tuple[Roles, list[Finding]]:
    """Leave out columns that only distinguish rows, unless no other columns are left."""
    candidates = [name for name in roles.inputs if name not in dated and name not in roles.keep]
    found = identifiers(frame.select(candidates))
    lost = {name for names in found.values() for name in names}
    left = [name for name in roles.inputs if name not in lost]
    findings = []
    for reason, names in found.items():
        it = "it" if len(names) == 1 else "they"
        was = "was" if len(names) == 1 else "were"
        done = f"so {it} {was} left out" if left else f"but {it} {was} used because there is no other column"
        if left:
            kept = "gives it to your own model" if frame[names[0]].dtype == pl.String else "keeps it"
            done += f" (--keep {names[0]!r} {kept})"
        findings.append(
            Finding(
                "identifier",
                tuple(names),
                f"{listing([repr(name) for name in names])} {'is' if len(names) == 1 else 'are each'} {reason}. Such "
                f"a column shows nothing about new rows, {done}.",
            )
        )
    return (dataclasses.replace(roles, inputs=left) if left else roles), findings


def without_target(frame: pl.DataFrame, roles: Roles) -> list[Finding]:
    """Return a warning if at least 5 % of the rows have no target and are therefore not part of the study."""
    empty = int(frame.select(pl.all_horizontal(pl.all().is_null()).sum()).item())  # empty lines do not count as rows
    lost = int(frame.select(pl.any_horizontal(pl.col(roles.targets).is_null()).sum()).item()) - empty
    if lost < max(_MANY_LOST * (frame.height - empty), 1):
        return []
    text = (
        f"{lost:,} of {frame.height - empty:,} rows have no {roles.label!r} and are left out. If they differ from the "
        "other rows, the study does not apply to rows like them."
    )
    return [Finding("missing", tuple(roles.targets), text)]


def enough(rows: int, name: str, after: str = "") -> None:
    """Raise an error for fewer than 20 rows."""
    if rows < FEWEST_ROWS:
        raise DataError(
            f"{name} has too few rows{after}",
            found=count(rows, "row"),
            rule=f"a study needs at least {FEWEST_ROWS} rows",
            remedy="add data",
        )


def usable_rows(frame: pl.DataFrame, roles: Roles, drop: bool, notes: list[str]) -> tuple[pl.DataFrame, np.ndarray]:
    """Return the rows with a target. If `drop` is set, leave out rows with missing cells, ignoring empty columns."""
    frame = frame.select(list(dict.fromkeys([*roles.inputs, *roles.asked, *roles.targets])))
    void = [name for name in roles.targets if frame[name].null_count() == frame.height]
    if void:
        raise DataError(
            f"target {void[0]!r} is missing, NaN or infinite in every row",
            found=f"{void[0]!r}: {frame.height} (of {count(frame.height, 'row')})",
            rule="a target must have at least two different values",
            remedy="choose another --target",
        )
    known = ~frame.select(pl.any_horizontal(pl.col(roles.targets).is_null())).to_series().to_numpy()
    if not known.all():
        lost = count(int((~known).sum()), "row")
        notes.append(f"dropped {lost} of {frame.height}, because their target is missing, NaN or infinite")
        enough(int(known.sum()), "the table", f" after {lost} without a target were dropped")
    gaps = {name: n for name in frame.columns if 0 < (n := frame[name].null_count()) < frame.height}
    if not drop:
        asked = [name for name in roles.asked if frame.filter(known)[name].null_count()]
        if asked:
            raise DataError(
                f"{asked[0]!r}, which decides the splits, has missing cells",
                found=f"{frame[asked[0]].null_count()} of {frame.height} rows",
                rule="every row must have a group and a time",
                remedy="fill these cells in, or drop the rows with --drop-missing",
            )
        return frame.filter(known), np.flatnonzero(known)
    whole = known.copy()
    for name in gaps:
        whole &= frame[name].is_not_null().to_numpy()
    rows = int(known.sum() - whole.sum())
    if rows:
        cells = listing([f"{name!r}: {n}" for name, n in sorted(gaps.items(), key=lambda item: -item[1])], 20)
        notes.append(f"dropped {rows} of {count(frame.height, 'row')} with missing, NaN or infinite cells ({cells})")
        enough(int(whole.sum()), "the table", f" after {count(rows, 'row')} with missing cells were dropped")
    return frame.filter(whole), np.flatnonzero(whole)
