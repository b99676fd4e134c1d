"""Find the columns that the user names, or say why a name is not the name of a column."""

import difflib

from lemmata.errors import DataError, SettingError, UnknownNameError, shortened

from ._columns import listing
from ._memory import Table

_HEADERS = 3
"""The number of rows that are searched for the names of columns if the header does not have a name."""


def one_name(option: str, name: object) -> str | None:
    """Return the name of a column. A number, or a name of several levels, selects the column with this name.

    Raises:
        SettingError: if the name is a list or an array.
    """
    if name is None or isinstance(name, str):
        return name
    if isinstance(name, int | float | tuple):  # numbers, and names of several levels
        return str(name)
    raise SettingError(
        f"--{option} is not the name of a column",
        found=f"type {type(name).__name__}",
        rule="one name, as text",
        remedy=f'write {option}="NAME"; to use an array, add it to the table as a column',
    )


def named_target(target: object) -> tuple[str, ...]:
    """Return the columns that a sheet must have because they are named as the target."""
    name = one_name("target", target)
    return () if name is None else (name,)


def target_columns(table: Table, target: str | None) -> tuple[list[str], str]:
    """Return the columns of the target (several for a matrix of an NPZ file), and its name."""
    name = target if target is not None else table.default_target
    if name is None:
        raise DataError(
            f"no target was given for {table.name}",
            rule=columns_rule(table),
            remedy="name a target column with --target",
        )
    columns = table.frame.columns
    if name in columns:
        return [name], name
    several = [column for column in columns if column.startswith(f"{name}[") and column.endswith("]")]
    if several:
        return several, name
    if header := of_index(table, name) or _names_below(table, name):
        raise UnknownNameError(
            f"target {shortened(name)!r} is not a column of {table.name}", rule=columns_rule(table), remedy=header
        )
    folded = {column.casefold(): column for column in columns}
    near = [folded[match] for match in difflib.get_close_matches(name[:200].casefold(), folded, n=1)]
    raise UnknownNameError(
        f"target {shortened(name)!r} is not a column of {table.name}",
        rule=columns_rule(table),
        remedy=f"did you mean {near[0]!r}?" if near else "name one of these columns with --target",
    )


def columns_rule(table: Table) -> str:
    listed = listing(table.frame.columns, 40)
    if not table.others:
        return f"the columns are {listed}"
    also = listing([repr(name) for name in table.others])
    return f"the columns of sheet {table.sheet!r} are {listed}; the other sheets with cells are {also}"


def of_index(table: Table, name: str) -> str:
    """Return advice if a name is that of a level of the data frame's index; empty if it is not."""
    return f"pass frame.reset_index(), which makes {shortened(name)!r} a column" if name in table.index else ""


def _names_below(table: Table, name: str) -> str:
    """Return advice if one of the first rows seems to hold the names of the columns; empty if none does."""
    for row in table.frame.head(_HEADERS).rows():
        cells = [cell.strip() for cell in row if isinstance(cell, str)]
        if name in cells and len(set(cells)) == len(row) > 1 and not any(map(_is_number, cells)):
            shown = listing([repr(shortened(cell)) for cell in cells], 5)
            if table.given is None and not table.of_polars:
                return f"delete the lines above {shown}, which seem to be the names of the columns"
            return f"rename the columns to {shown}, which seem to be their names, and delete the rows above the numbers"
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
