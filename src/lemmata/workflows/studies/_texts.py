"""Return findings about text columns: categories with few rows, free text, and texts that are one number."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._columns import FEWEST_REPEATS, MOST_CATEGORIES, Inputs
from ._memory import Table


def rare_texts(inputs: Inputs) -> list[Finding]:
    """Return findings about text columns with many categories, some of which have few rows."""
    found = []
    for name, codes in zip(inputs.texts, inputs.pooled.T, strict=True):
        sizes = np.unique(codes[~np.isnan(codes)], return_counts=True)[1]
        few = sizes[sizes < FEWEST_REPEATS]
        if len(few):
            text = (
                f"{len(few):,} of the {len(sizes):,} categories of {shortened(name)!r} have fewer than "
                f"{FEWEST_REPEATS} rows ({few.sum():,} rows in all). Each category is encoded as the mean target of "
                "its training rows, which is unreliable for so few rows. A new category gets the mean of all rows."
            )
            found.append(Finding("categories", (name,), text))
    return found


def free_texts(inputs: Inputs) -> list[Finding]:
    """Return findings about text columns whose texts hardly repeat.

    The study's own models do not use such a column. Only a model of the user can use it.
    """
    text = (
        "{} is text that hardly repeats. The study's own models do not use this column; only a model that you give "
        "with --model uses it."
    )
    return [Finding("categories", (name,), text.format(repr(shortened(name)))) for name in inputs.free]


ZEROS = r"^-?0\d+$|[.,]\d*[1-9]0+$"
"""A number with zeros that do not change it, but may change the meaning of a code or a version: 01, 3.10."""


def same_numbers(column: pl.Series) -> tuple[str, str] | None:
    """Return two texts of a column that are one number although their zeros differ; None if there are no such texts.

    Numbers like 2 and 2.0 do not count, because they differ only in the style of writing whole numbers.

    >>> same_numbers(pl.Series(["3.1", "3.9", "3.10"])), same_numbers(pl.Series(["01", "2", "1"]))
    (('3.1', '3.10'), ('1', '01'))
    >>> same_numbers(pl.Series(["2.0", "2", "10", "1"])), same_numbers(pl.Series(["2.50", "1.25"]))
    (None, None)
    """
    texts = column.drop_nulls().str.strip_chars().unique().sort()
    odd = texts.filter(texts.str.contains(ZEROS))
    whole = odd.str.contains(r"^-?\d+$")
    plain = pl.select(
        pl.when(whole).then(odd.str.replace(r"^(-?)0+(\d)", "${1}${2}")).otherwise(odd.str.strip_chars_end("0"))
    ).to_series()
    others = texts.filter(~texts.is_in(odd.implode()))
    pairs = pl.DataFrame({"text": pl.concat([others, odd]), "plain": pl.concat([others, plain])})
    same = pairs.filter(pl.col("plain").is_duplicated())
    return tuple(same.filter(pl.col("plain") == same["plain"][-1])["text"][:2]) if same.height else None


def are_versions(column: pl.Series) -> bool:
    """Whether the texts of a column are versions such as 3.9, 3.10: the number after the point is counted.

    Some text must be another text with zeros after it, and the next or the last text in the counting must also occur.

    >>> [are_versions(pl.Series(own)) for own in (["3.1", "3.9", "3.10"], ["2.5", "2.50", "2.75"], ["3.10", "3.11"])]
    [True, False, False]
    """
    texts = column.drop_nulls().str.strip_chars().unique()
    if len(texts) > MOST_CATEGORIES or not texts.str.contains(r"^\d+\.(0|[1-9]\d?)$").all():
        return False
    found = {(int(first), int(second)) for first, second in (text.split(".") for text in texts.to_list())}
    return any(
        minor % 10 == 0 and (major, minor // 10) in found and {(major, minor - 1), (major, minor + 1)} & found
        for major, minor in found if minor
    )  # fmt: skip


def versions(table: Table, names: Iterable[str]) -> tuple[dict[str, pl.Series], list[Finding]]:
    """Return the columns of a table whose texts are versions, which stay texts, with findings."""
    texts = {
        name: table.frame[name].str.strip_chars() for name in names
        if table.in_memory and table.frame[name].dtype == pl.String and are_versions(table.frame[name])
    }  # fmt: skip
    findings = []
    for name, column in texts.items():
        first, second = same_numbers(column) or ("", "")
        text = f"{shortened(name)!r} is used as categories, because it looks like versions: {first!r} and {second!r} "
        findings.append(
            Finding("code", (name,), f"{text}both occur. If they are numbers, convert the column to numbers.")
        )
    return texts, findings


def merged_texts(columns: Iterable[pl.Series], in_memory: bool) -> list[Finding]:
    """Warn of texts that are different in the table, but were read as one number.

    Args:
        columns: the texts of columns that were read as numbers.
        in_memory: whether the table is a data frame.
    """
    found = []
    for column in columns:
        if (pair := same_numbers(column)) is None:
            continue
        remedy = "convert the column to categories" if in_memory else f"write a letter before each value ('v{pair[1]}')"
        text = f"{pair[0]!r} and {pair[1]!r} both occur in {shortened(column.name)!r} and were read as one number."
        found.append(Finding("code", (column.name,), f"{text} If they are different codes or versions, {remedy}."))
    return found
