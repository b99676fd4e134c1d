"""Read numbers in texts with decimal commas, separated thousands, units, and a few words for missing values."""

import dataclasses
import re
from collections.abc import Iterable

import polars as pl

from lemmata.errors import DataError, SettingError, shortened

_GAP = "[ \u00a0\u202f'’]"
GAPPED = rf"\d{_GAP}\d{{3}}"
"""Thousands that are separated by blanks or apostrophes."""
_COMMA = (
    rf"^[+-]?(\d{{1,3}}((\.|{_GAP})\d{{3}})+,\d+|\d*,(\d{{1,2}}|\d{{4,}})|0\d*,\d{{3}}|\d{{4,}},\d+"
    r"|\d{1,3}(\.\d{3}){2,}|\d+,\d+[eE][+-]?\d+)$"
)
"""A pattern of texts that occur only in a table with decimal commas."""
_LAKHS = r"\d{1,2}(,\d{2})+,\d{3}"
"""A whole number as people in India write it: 12,34,567."""
_POINT = (
    rf"^[+-]?(\d{{1,3}}(,\d{{3}}){{2,}}(\.\d*)?|\d{{1,3}}(,\d{{3}})+\.\d*|\d{{1,3}}({_GAP}\d{{3}})+\.\d+"
    rf"|{_LAKHS}(\.\d*)?)$"
)
"""A pattern of texts that occur only in a table with decimal points."""
_PLAIN = r"^[+-]?(\d*\.(\d{1,2}|\d{4,})|0\d*\.\d{3}|\d{4,}\.\d+|\d*\.\d+[eE][+-]?\d+)$"
"""A pattern of plain numbers whose point is a decimal point: no group of thousands has these digits beside it."""
NEGATIVE = r"^\(\s*([^()]*\d[^()]*?)\s*\)$"
"""A negative number as accountants write it: (12.50)."""
_EITHER = r"^[+-]?[1-9]\d{0,2},\d{3}$"
"""An ambiguous text, such as 1,001: a thousand and one, or one and a thousandth."""
_UNSURE = r"^[+-]?[1-9]\d{0,2}[.,]\d{3}$"
"""A text that may have a decimal mark or separated thousands."""
_ANY = rf"^[+-]?(\d[\d.,]*|\d{{1,3}}({_GAP}\d{{3}})+([.,]\d+)?|[.,]\d+)([eE][+-]?\d+)?$"
_MOST_WORDS, _MOST_LETTERS, _LEAST_NUMBERS, _FEW = 3, 14, 0.9, 20
_LOOK = 100
"""The number of cells that are read to find out whether the numbers of a column have units."""
NO_NUMBER = frozenset((
    "-", "--", "---", "–", "—", ".", "..", "...", "*", "?", "#n/a", "#na", "#value!", "#div/0!", "#null!", "#num!",
    "#ref!", "#name?", "<na>", "nat", "na", "n.a.", "n.a", "n/a", "nan", "null", "none", "n.d.", "nd", "n.d", "k.a.",
    "s/d", "missing", "unknown", "not available", "no data", "nil", "void", "empty", "unk", "not known",
    "not applicable", "keine angabe", "k. a.", "unbekannt", "fehlt", "inconnu", "manquant", "non disponible",
    "sin datos", "sin dato", "desconocido", "ns/nc", "n.s./n.c.", "sconosciuto", "desconhecido", "onbekend",
))  # fmt: skip
"""Words that mean a missing number, even in a column with few different numbers, in lower case."""


_IN_BRACKETS = re.compile(r"\([^\d()]{1,12}\)|\[[^\d\[\]]{1,12}\]")
"""The text of a unit in brackets, which some tables have in a row below the header."""
_SIGNS = "$€£¥₹₽₩₺₿¢"
_UNITS = (
    r"%|‰|°C|°F|°|EUR|USD|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL|kr|zł|€|\$|£|¥|₹|₽|₩|₺|kg|g|mg|µg|t|lb|lbs|oz"
    r"|km|m|cm|mm|µm|nm|mi|ft|in|yd|m²|m2|km²|km2|sqm|sqft|ha|l|L|ml|mL|cl|dl|gal|km/h|m/s|mph|kn|kWh|Wh|MWh|kW|W|MW|V"
    r"|mV|A|mA|Hz|kHz|MHz|GHz|B|kB|KB|MB|GB|TB|bar|hPa|Pa|kPa|psi|h|hr|hrs|hours|min|mins|minutes|s|sec|secs|seconds|ms"
    r"|days|years|yrs|months|weeks|kcal|cal|kJ|J|N|ppm|ppb|dB|px|pt"
)
_MEASURED = (
    rf"^(?:(?<sign>[+-]?)(?<before>[{_SIGNS}]|(?:R|US|A|C)\$|EUR|USD|GBP|CHF)\s?(?<first>[+-]?[\d.,]\S*)"
    rf"|(?<second>[+-]?[\d.,][\d.,{_GAP[1:-1]}]*?(?:[eE][+-]?\d+)?)\s?(?<after>{_UNITS}))$"
)
"""A number with its unit: a currency sign or code before the number, or one of `_UNITS` after the number."""


@dataclasses.dataclass(frozen=True)
class Written:
    """A text column that was read as numbers.

    Args:
        column: the numbers; missing in cells without a number.
        words: the words that were read as missing, and their counts.
        decimal: the decimal mark, if some numbers had to be rewritten, or if it is not the mark of the table;
            otherwise None.
        unit: the unit before or after every number; empty if there is none.
    """

    column: pl.Series
    words: dict[str, int]
    decimal: str | None
    unit: str = ""


def check_decimal(decimal: str | None) -> None:
    """Check a decimal mark.

    Raises:
        SettingError: if the mark is neither None nor a point nor a comma.
    """
    if decimal not in (None, ".", ","):
        raise SettingError("--decimal is unknown", found=repr(decimal), rule="the decimal mark must be . or ,")


def decimal_mark(columns: Iterable[pl.Series]) -> str | None:
    """Return the decimal mark in the texts of a table: "," or "."; None if no cell shows the mark, or cells disagree.

    A cell like 1,001 is ambiguous. Suppose that all cells with commas are ambiguous. Then commas are taken to separate
    thousands if all numbers without a comma in these columns are whole numbers below 1000.

    >>> decimal_mark([pl.Series(["1.234,5", "7"])]), decimal_mark([pl.Series(["1,234,567", "8"])])
    (',', '.')
    >>> decimal_mark([pl.Series(["1,001", "2,500"])]), decimal_mark([pl.Series(["999", "1,001"])])
    (None, '.')
    """
    comma = point = False
    thousands = []
    for column in columns:
        bare, _ = without_unit(signed(column))
        texts = bare.drop_nulls().unique()
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


def mark_shown(column: pl.Series) -> str:
    """Return the decimal marks that the texts of a column show: "," or "." or ",." for both; "" for none.

    A column shows no mark if most of its texts that are not plain numbers are not numbers in any notation.

    >>> [mark_shown(pl.Series(own)) for own in (["8,99", "1.250"], ["0.890", "1.250"], ["1.250"], ["8,99", "6.00"])]
    [',', '.', '', ',.']
    """
    texts = without_unit(signed(column))[0].drop_nulls().unique()
    odd = texts.filter(texts.cast(pl.Float64, strict=False).is_null())
    if 2 * int(odd.str.contains(_ANY).sum()) < len(odd):
        return ""
    comma, point = odd.str.contains(_COMMA).any(), texts.str.contains(f"{_POINT}|{_PLAIN}").any()
    return "," * bool(comma) + "." * bool(point)


def check_marks(columns: Iterable[pl.Series]) -> None:
    """Check that the texts of a table show the decimal mark of each of its columns.

    Raises:
        DataError: if some columns show a comma and others show a point, and a column of numbers shows neither.
    """
    shown: dict[str, pl.Series] = {}
    unsure = []
    for column in columns:
        mark = mark_shown(column)
        shown.setdefault(mark, column)
        if not mark and column.str.contains(_UNSURE).any() and as_numbers(column, ",") is not None:
            unsure.append(column)
    if not unsure or not {",", "."} <= {*shown}:
        return
    like = lambda column, pattern: f"{column.drop_nulls().filter(column.drop_nulls().str.contains(pattern))[0]!r}"
    cells = [(shown[","], "[,]"), (shown["."], r"[.]"), (unsure[0], r"[.,]")]
    raise DataError(
        f"the decimal mark of {shortened(unsure[0].name)!r} is not clear",
        found=", ".join(f"{like(own, pattern)} in {shortened(own.name)!r}" for own, pattern in cells),
        rule=(
            "if some columns have decimal commas and others have decimal points, each column must contain a number "
            "that shows its mark"
        ),
        remedy=(
            "add --decimal , or --decimal . to state the mark of columns that do not show their mark, or write all "
            "numbers with one mark"
        ),
    )


def as_numbers(column: pl.Series, decimal: str | None) -> Written | None:
    """Return a text column read as numbers; None if some cells are other texts.

    Up to three different words in at most a tenth of the cells are read as missing, if they have no digit or usually
    mean missing. If there are few different numbers, which may be codes, only words that usually mean missing are read
    as missing.

    Args:
        column: the texts, without blanks around them.
        decimal: the decimal mark of the table; None if unknown. If the column itself shows a single mark, this mark is
            used instead. For example, 0.890 shows a decimal point, even in a table with decimal commas, because no
            whole number is written with thousands after a 0.

    >>> found = as_numbers(pl.Series(["1,5", "2,25"] + ["3"] * 20 + ["n.d."]), ",")
    >>> found.column[:2].to_list(), found.words
    ([1.5, 2.25], {'n.d.': 1})
    >>> as_numbers(pl.Series(["20'345", "1'200'000", "950"]), None).column.to_list()
    [20345.0, 1200000.0, 950.0]
    >>> as_numbers(pl.Series(["12,34,567.50", "(1,250.00)"]), ".").column.to_list()
    [1234567.5, -1250.0]
    >>> as_numbers(pl.Series(["0.890", "1.250"]), ",").column.to_list()
    [0.89, 1.25]
    """
    own = mark_shown(column)
    table, decimal = decimal, own if own in (",", ".") else decimal
    column, unit = without_unit(signed(column))
    texts = _without_gaps(column) if decimal is None else _with_points(column, decimal)
    numbers = texts.cast(pl.Float64, strict=False)
    present = column.len() - column.null_count()
    odd = column.filter(numbers.is_null() & column.is_not_null())
    words = dict(odd.value_counts(sort=True).iter_rows())
    plain = column.cast(pl.Float64, strict=False).equals(numbers)
    if words and not _are_marks(words, present, numbers.n_unique()):
        return None
    return Written(numbers, words, None if plain and (table is None or table == decimal) else decimal, unit)


def stripped(column: pl.Series) -> pl.Series:
    """Strip blanks around each text. An empty text becomes null."""
    column = column.str.strip_chars()
    return column.set(column == "", None)


def are_truths(column: pl.Series) -> bool:
    """Whether all texts of a column are true or false. pandas reads such a column as booleans, but polars may not.

    >>> are_truths(pl.Series(["TRUE", "false ", None])), are_truths(pl.Series(["true", "no"]))
    (True, False)
    """
    if column.dtype != pl.String:
        return False
    return set(stripped(column).drop_nulls().str.to_lowercase().unique().to_list()) <= {"true", "false"}


def signed(column: pl.Series) -> pl.Series:
    """Write negative numbers with a plain minus instead of a typeset minus or brackets."""
    return column.str.replace(r"^\u2212([\d.,])", "-$1").str.replace(NEGATIVE, "-$1")


def without_unit(column: pl.Series) -> tuple[pl.Series, str]:
    """Remove the unit that all numbers have, and return the texts and the unit.

    The texts are unchanged if they do not have exactly one unit.

    >>> without_unit(pl.Series(["66,00 €", "1.200,50 €", None]))[0].to_list()
    ['66,00', '1.200,50', None]
    >>> without_unit(pl.Series(["12 kg", "800 g"]))[1], without_unit(pl.Series(["$5", "5"]))[1]
    ('', '')
    """
    first = column.drop_nulls().head(_LOOK)
    if not first.str.contains(r"\d").any() or not first.str.contains(_MEASURED).any():
        return column, ""
    parts = column.str.extract_groups(_MEASURED).struct
    units = parts.field("before").fill_null(parts.field("after"))
    digits = column.str.contains(r"\d").fill_null(False)
    if (digits & units.is_null()).any() or units.drop_nulls().n_unique() != 1:
        return column, ""
    numbers = (parts.field("sign") + parts.field("first")).fill_null(parts.field("second"))
    return numbers.fill_null(column).alias(column.name), str(units.drop_nulls()[0])


def _are_marks(words: dict[str, int], present: int, different: int) -> bool:
    """Whether all words among a column's numbers mean missing values. A unit in brackets below the name is ignored."""
    if len(units := [word for word in words if _IN_BRACKETS.fullmatch(word)]) == 1 and words[units[0]] == 1:
        words = {word: number for word, number in words.items() if word not in units}  # a unit below the column's name
    if len(words) > _MOST_WORDS or sum(words.values()) > (1 - _LEAST_NUMBERS) * present:
        return all(word.lower() in NO_NUMBER for word in words) and sum(words.values()) <= present / 2
    if different <= _FEW:
        return all(word.lower() in NO_NUMBER for word in words)
    short = re.compile(rf"\D{{1,{_MOST_LETTERS}}}")
    return all(word.lower() in NO_NUMBER or short.fullmatch(word) for word in words)


def _without_gaps(column: pl.Series) -> pl.Series:
    """Remove blanks or apostrophes between the thousands of whole numbers. Other texts are unchanged.

    Blanks and apostrophes are never decimal marks, so the decimal mark need not be known.
    """
    whole = rf"^[+-]?[1-9]\d{{0,2}}({_GAP}\d{{3}})+$"
    bare = column.str.replace_all(_GAP, "")
    return pl.select(pl.when(column.str.contains(whole)).then(bare).otherwise(column)).to_series().alias(column.name)


def _with_points(column: pl.Series, decimal: str) -> pl.Series:
    """Rewrite numbers with a decimal point and without separated thousands. Other texts are unchanged."""
    gap, comma = _GAP[1:-1], decimal == ","
    apart = rf"[{gap}{'.' if comma else ','}]"
    mark = re.escape(decimal)
    lakhs = "" if comma else rf"|{_LAKHS}"
    apart_once = rf"[1-9]\d{{0,2}}{apart}\d{{3}}"  # no thousands follow a zero: 0.890 is less than one
    several = rf"\d{{1,3}}({apart}\d{{3}}){{2,}}|\d{{1,3}}({apart}\d{{3}})+{mark}\d*"
    shape = rf"^[+-]?({apart_once}|{several}{lakhs}|\d*)({mark}\d*)?([eE][+-]?\d+)?$"
    bare = column.str.replace_all(apart, "")
    bare = bare.str.replace(",", ".", literal=True) if comma else bare
    return pl.select(pl.when(column.str.contains(shape)).then(bare).otherwise(column)).to_series().alias(column.name)
