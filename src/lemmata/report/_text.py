"""Numbers and names as a reader should see them, and text that is safe inside a page."""

import json
import math
import re
from typing import Any

from markupsafe import Markup

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Controls, surrogates, and the marks that reorder or hide text: they would be invisible or change what is read.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]")
MISSING = "–"


def clean(value: Any) -> Any:
    """The record with every unprintable character of every string made visible: BEL becomes ␇, U+202E its number.

    Line breaks and tabs become spaces. Keys are cleaned too, and numbers that are not finite become None.
    """
    if isinstance(value, str):
        return _UNPRINTABLE.sub(_visible, value)
    if isinstance(value, dict):
        return {clean(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if chr(code) in "\n\r\t":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def number(value: Any, digits: int = 3) -> str:
    """A number in `digits` significant digits, in plain notation from 0.001 to a million, in powers of ten outside.

    >>> number(0.123456), number(1797), number(12345.6), number(0.00001234), number(None)
    ('0.123', '1,797', '12,346', '1.23 × 10⁻⁵', '–')
    """
    if value is None or isinstance(value, bool):
        return {None: MISSING, True: "yes", False: "no"}[value]
    if not isinstance(value, (int, float)):
        return str(value)
    size = abs(value)
    if isinstance(value, int) and size < 10**7:
        return f"{value:,}".replace("-", "−")
    if not math.isfinite(value):
        return MISSING
    if size == 0:
        return "0"
    exponent = int(f"{size:.{digits - 1}e}".split("e")[1])
    if exponent < -3 or exponent > 5:
        mantissa = f"{value:.{digits - 1}e}".split("e")[0]
        return f"{mantissa} × 10{str(exponent).translate(_SUPERSCRIPTS)}".replace("-", "−")
    return f"{value:,.{max(digits - 1 - exponent, 0)}f}".replace("-", "−")


def brief(value: Any) -> str:
    """A number for a sentence: `number` without the zeros at its end.

    >>> brief(0.1), brief(120), brief(1.0)
    ('0.1', '120', '1')
    """
    text = number(value)
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def interval(record: Any) -> str:
    """The text 300 (250 to 380) from a record with n, lower and upper; the part that is missing is left out."""
    if not record or record.get("n") is None:
        return MISSING
    text = number(round(record["n"]))
    if record.get("lower") is not None:
        upper = record.get("upper")
        text += f" ({number(round(record['lower']))} to {'unbounded' if upper is None else number(round(upper))})"
    return text


def percent(value: Any) -> str:
    """A share of one in percent, to three digits."""
    return MISSING if value is None else f"{number(100 * value)} %"


def verdict(value: Any) -> str:
    """Yes, no, or that it cannot be checked."""
    return {True: "yes", False: "no"}.get(value, "cannot be checked")


def script_json(value: Any) -> Markup:
    """JSON that no HTML parser can leave the script element from: <, > and & are written as escapes."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def slug(*parts: Any) -> str:
    """An anchor made of letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts if part).lower()).strip("-") or "item"
