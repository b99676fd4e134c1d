"""Give advice on text columns whose cells are mostly numbers or dates."""

import re

import numpy as np
import polars as pl
from scipy.special import gammaln

from lemmata.errors import shortened

from ._dates import unclear

SAMPLED = 1000
"""The number of cells of a text column that are read to find its kind. They are evenly spaced."""
MERGED = 1e-3
"""Texts with gaps between them are taken for merged cells if the chance of such gaps is below this."""
OTHER_DIGITS = "write numbers with the digits 0 to 9"
_WITH_COMMA = re.compile(r"[+-]?[0-9][0-9. ]*(,[0-9]+)+([eE][+-]?[0-9]+)?")
_WITH_UNIT = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*[^\d\s.,+-][^\d\s]{0,9}|[€$£¥]\s*[\d.,]+")
_MINUS_BEHIND = re.compile(r"[+-]?[\d.,'’ \u00a0\u202f]*\d\s?[-\u2212]?")
"""A number whose minus may be behind it, as some bookkeeping programs write it: 1006.75-."""
_OTHER_DIGITS = re.compile(r"[+-]?[0-9.,]*(?![0-9])\d[\d.,٫٬]*")
"""A number in the digits of another script."""
_MONTHS = (
    r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[^\W\d]*|(märz|mrz|mai|okt(ober)?|dez(ember)?|févr(ier)?|avr(il)?"
    "|août|déc(embre)?|enero|abril|agosto|diciembre|gennaio|maggio|giugno|luglio|settembre|ottobre|dicembre|fevereiro"
    "|maio|setembro|outubro|dezembro)"
)
"""Names of months. The study reads only English names."""
_DATE = re.compile(
    r"\d{1,2}([./-])\d{1,2}\1(\d{4}|\d{2})\b.*"
    rf"|(.*\b)?({_MONTHS})\b.*\d{{2,4}}.*|\d{{4}}\W*({_MONTHS})"
    r"|(19|20)\d\d\W?(Q[1-4]|H[12]|W\d\d)|(Q[1-4]|H[12])\W?(19|20)\d\d|[1-4]Q\W?(19|20)?\d\d|Q[1-4]\W\d\d",
    re.IGNORECASE,
)
"""A date, or a month, a quarter, a half year or a week."""
_DURATION = re.compile(
    r"(\d+\s*(days?|d)(?![a-z])\W*)?(\d+\s*(hours?|hrs?|h)(?![a-z])\W*)?(\d+\s*(minutes?|mins?|m)(?![a-z])\W*)?"
    r"(\d+([.,]\d+)?\s*(seconds?|secs?|s)\W*)?|P(\d+D)?T(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?",
    re.IGNORECASE,
)
"""A duration such as 2h 05m or PT2H5M."""


def numeric_hint(column: pl.Series) -> str:
    """Return advice on a text column of which most cells are numbers or dates; empty for other columns."""
    numeric = odd_numbers(column)
    if numeric:
        return numeric
    odd, share = not_numbers(column)
    dates = [text for text in odd if _DATE.fullmatch(text)]
    if dates and len(dates) * share > len(odd) / 2:
        if both := unclear(column):
            return f"{both}; write dates as YYYY-MM-DD"
        return f"write dates as YYYY-MM-DD (such as {shortened(dates[0])!r})"
    lengths = [text for text in odd if _DURATION.fullmatch(text)]
    if lengths and len(lengths) * share > len(odd) / 2:
        return f"write durations as HH:MM:SS (such as {shortened(lengths[0])!r})"
    return wrong_cells(column)


def wrong_cells(column: pl.Series) -> str:
    """Return advice on texts that are mostly numbers, which names a cell that is not a number; empty otherwise."""
    odd, share = not_numbers(column) if column.dtype == pl.String else ([], 0.0)
    return f"correct the cells that are not numbers, such as {shortened(odd[0])!r}" if odd and share < 0.5 else ""


def not_numbers(column: pl.Series) -> tuple[list[str], float]:
    """Return some of the cells that are not numbers (maybe none), and the share of such cells."""
    texts = column.drop_nulls()
    odd = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
    return spread(odd).to_list(), odd.len() / max(texts.len(), 1)


def spread(column: pl.Series) -> pl.Series:
    """Return about `SAMPLED` evenly spaced cells; the first ones may be unusual, because tables are often sorted."""
    return column.gather_every(max(column.len() // SAMPLED, 1))


def odd_numbers(column: pl.Series) -> str:
    """Return advice if numbers have a decimal comma, a unit, a minus at the end, or digits of another script.

    The advice is empty for other columns.
    """
    odd, share = not_numbers(column) if column.dtype == pl.String else ([], 0.0)
    behind = [text for text in odd if text[-1:] in ("-", "\u2212")]
    if behind and all(_MINUS_BEHIND.fullmatch(text) for text in odd):
        return f"write the minus before the number (such as -{behind[0][:-1].strip()} for {shortened(behind[0])!r})"
    for pattern, remedy in (
        (
            _WITH_COMMA,
            "add --decimal , if a comma marks decimals, or --decimal . if it separates thousands",
        ),
        (_OTHER_DIGITS, OTHER_DIGITS),
        (_WITH_UNIT, "write the number without its unit"),
    ):
        like = [text for text in odd if pattern.fullmatch(text)]
        if like and len(like) * share > len(odd) / 2:
            return f"{remedy} (such as {shortened(like[0])!r})"
    return ""


def merged(column: pl.Series) -> bool:
    """Whether the texts of a column look like cells that were merged over several rows.

    The first cell is filled, every text is followed by empty cells, and no text equals the text before. Let k texts
    stand at random places among n rows. Then the first text is in the first row, and neighbouring texts are at least m
    rows apart, with probability C(n - m k + k - 1, k - 1) / C(n, k).

    >>> merged(pl.Series(["a", None, None, "b", None, None, "c", None, None] * 2))
    True
    >>> merged(pl.Series(["a", None, None, None, "b", None, None, None, None] * 2))
    False
    """
    n, texts = column.len(), column.drop_nulls()
    k = texts.len()
    if column.dtype != pl.String or k < 3 or 2 * k > n or column[0] is None or (texts == texts.shift()).any():
        return False
    m = int(np.diff(column.is_not_null().arg_true().to_numpy(), append=n).min())
    choices = lambda a, b: gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1)
    return m > 1 and bool(choices(n - m * k + k - 1, k - 1) - choices(n, k) < np.log(MERGED))
