"""Numbers as people write them: decimal commas, thousands that are set apart, and a few words where there is none."""

import dataclasses
import re
from collections.abc import Iterable

import polars as pl

from lemmata.errors import SettingError

_GAP = "[ \u00a0\u202f'’]"
_COMMA = (
    rf"^[+-]?(\d{{1,3}}((\.|{_GAP})\d{{3}})+,\d+|\d*,(\d{{1,2}}|\d{{4,}})|0,\d{{3}}|\d{{4,}},\d+"
    r"|\d{1,3}(\.\d{3}){2,}|\d+,\d+[eE][+-]?\d+)$"
)
"""What only a table with decimal commas has."""
_POINT = rf"^[+-]?(\d{{1,3}}(,\d{{3}}){{2,}}(\.\d*)?|\d{{1,3}}(,\d{{3}})+\.\d*|\d{{1,3}}({_GAP}\d{{3}})+\.\d+)$"
"""What only a table with decimal points has."""
_EITHER = r"^[+-]?[1-9]\d{0,2},\d{3}$"
"""A thousand and one, or one and a thousandth."""
_ANY = rf"^[+-]?(\d[\d.,]*|\d{{1,3}}({_GAP}\d{{3}})+([.,]\d+)?|[.,]\d+)([eE][+-]?\d+)?$"
_MOST_WORDS, _MOST_LETTERS, _LEAST_NUMBERS, _FEW = 3, 14, 0.9, 20
_NO_NUMBER = frozenset((
    "-", "--", "---", "–", "—", ".", "..", "...", "*", "?", "#n/a", "#na", "#value!", "#div/0!", "#null!", "#num!",
    "#ref!", "#name?", "<na>", "nat", "na", "n.a.", "n.a", "n/a", "nan", "null", "none", "n.d.", "nd", "n.d", "k.a.",
    "s/d", "missing", "unknown", "not available", "no data", "nil", "void", "empty", "unk",
))  # fmt: skip
"""Words that stand where there is no number, also among few different ones."""


@dataclasses.dataclass(frozen=True)
class Written:
    """Texts as numbers.

    Args:
        column: the numbers, missing where there is none.
        words: what was read as missing, and how often.
        decimal: the mark before decimals, where the texts show it.
    """

    column: pl.Series
    words: dict[str, int]
    decimal: str | None


def check_decimal(decimal: str | None) -> None:
    """Refuse a mark that stands before no decimals.

    Raises:
        SettingError: it is neither a point nor a comma.
    """
    if decimal not in (None, ".", ","):
        raise SettingError("--decimal is unknown", found=repr(decimal), rule="the mark before decimals is . or ,")


def decimal_mark(columns: Iterable[pl.Series]) -> str | None:
    """The mark before decimals in the texts of a table: "," or "."; None where no cell shows it, or they disagree.

    Of a cell like 1,001 nobody can tell. Where all commas are like that, they set thousands apart if whole numbers
    below 1000 have none and no number from 1000 on stands without.

    >>> decimal_mark([pl.Series(["1.234,5", "7"])]), decimal_mark([pl.Series(["1,234,567", "8"])])
    (',', '.')
    >>> decimal_mark([pl.Series(["1,001", "2,500"])]), decimal_mark([pl.Series(["999", "1,001"])])
    (None, '.')
    """
    comma = point = False
    thousands = []
    for column in columns:
        texts = column.drop_nulls().unique()
        odd = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
        if 2 * int(odd.str.contains(_ANY).sum()) < len(odd):
            continue
        comma = comma or bool(odd.str.contains(_COMMA).any())
        point = point or bool(odd.str.contains(_POINT).any())
        if odd.str.contains(_EITHER).any():
            plain = texts.cast(pl.Float64, strict=False).drop_nulls()
            thousands.append(bool(len(plain)) and bool((plain.abs() < 1000).all() and (plain == plain.round()).all()))
    if comma or point:
        return None if comma and point else "," if comma else "."
    return "." if thousands and all(thousands) else None


def as_numbers(column: pl.Series, decimal: str | None) -> Written | None:
    """A text column as numbers; None where its cells are something else.

    Up to three different words without a digit, in at most a tenth of the cells, are read as missing; where there are
    few different numbers, which may be codes, only words that commonly say so.

    Args:
        column: texts without blanks around them.
        decimal: the mark before decimals in this table; None where it is not known.

    >>> found = as_numbers(pl.Series(["1,5", "2,25"] + ["3"] * 20 + ["n.d."]), ",")
    >>> found.column[:2].to_list(), found.words
    ([1.5, 2.25], {'n.d.': 1})
    """
    texts = column if decimal is None else _with_points(column, decimal)
    numbers = texts.cast(pl.Float64, strict=False)
    present = column.len() - column.null_count()
    odd = column.filter(numbers.is_null() & column.is_not_null())
    words = dict(odd.value_counts(sort=True).iter_rows())
    plain = column.cast(pl.Float64, strict=False).null_count() == numbers.null_count()
    if words and not _are_marks(words, present, numbers.n_unique()):
        return None
    return Written(numbers, words, None if plain else decimal)


def _are_marks(words: dict[str, int], present: int, different: int) -> bool:
    """Whether words among numbers stand where there is none."""
    if len(words) > _MOST_WORDS or sum(words.values()) > (1 - _LEAST_NUMBERS) * present:
        return all(word.lower() in _NO_NUMBER for word in words) and sum(words.values()) <= present / 2
    if different <= _FEW:
        return all(word.lower() in _NO_NUMBER for word in words)
    return all(len(word) <= _MOST_LETTERS and not re.search(r"\d", word) for word in words)


def _with_points(column: pl.Series, decimal: str) -> pl.Series:
    """Texts that are numbers in a table's own way, as a computer writes them; others as they are."""
    gap, comma = _GAP[1:-1], decimal == ","
    apart = rf"[{gap}{'.' if comma else ','}]"
    mark = re.escape(decimal)
    shape = rf"^[+-]?(\d{{1,3}}({apart}\d{{3}})+|\d*)({mark}\d*)?([eE][+-]?\d+)?$"
    bare = column.str.replace_all(apart, "")
    bare = bare.str.replace(",", ".", literal=True) if comma else bare
    return pl.select(pl.when(column.str.contains(shape)).then(bare).otherwise(column)).to_series().alias(column.name)
