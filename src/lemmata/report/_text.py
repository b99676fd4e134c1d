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


def condition(spectrum: Any, rows: Any) -> str:
    """The condition number; ∞ (singular) where it is missing since the Gram matrix of these rows lacks full rank.

    >>> condition({"condition": 1500.0, "rank": 9}, 9), condition({"condition": None, "rank": 8}, 9), condition({}, 9)
    ('1,500', '∞ (singular)', '–')
    """
    spectrum = spectrum or {}
    value, rank = spectrum.get("condition"), spectrum.get("rank")
    if value is None and isinstance(rank, int) and isinstance(rows, int) and rank < rows:
        return "∞ (singular)"
    return number(value)


def own_units(data: Any, error: Any) -> str:
    """What a squared error is in the target's own units: its root times the scale that the target was divided by.

    Empty unless the task is regression with a single output.

    >>> own_units({"task": "regression", "target": "price", "y_scale": [20.0]}, 0.25)
    "A squared error of 0.25 is a root mean squared error of 10 in the units of 'price': √0.25 × 20."
    """
    scale = (data or {}).get("y_scale") or []
    known = len(scale) == 1 and isinstance(scale[0], (int, float)) and isinstance(error, (int, float)) and error >= 0
    if not known or data.get("task") != "regression":
        return ""
    return (
        f"A squared error of {brief(error)} is a root mean squared error of {brief(math.sqrt(error) * scale[0])} in the"
        f" units of {str(data.get('target'))!r}: √{brief(error)} × {brief(scale[0])}."
    )


def comparison(claim: Any) -> str:
    """Prediction beside measurement: their ratio; two exponents for a rate, which has no ratio; nothing for an order.

    >>> comparison({"ratio": 1.5, "relation": "measured <= predicted"})
    '1.50'
    >>> comparison({"ratio": 1.5, "relation": "measured ~ C n^predicted", "prediction": -1.0, "measurement": -0.9})
    'stated −1.00, measured −0.900'
    """
    if is_order(claim):
        return MISSING
    if not is_rate(claim):
        return number(claim.get("ratio"))
    if claim.get("prediction") is None and claim.get("measurement") is None:
        return MISSING
    return f"stated {number(claim.get('prediction'))}, measured {number(claim.get('measurement'))}"


def is_rate(claim: Any) -> bool:
    """Whether prediction and measurement are exponents."""
    relation = str(claim.get("relation") or "")
    return relation.startswith(("measured ~", "measured <= C ", "measured >= C ")) or " C " in relation


def is_order(claim: Any) -> bool:
    """Whether the claim is about the order of values and not about their size."""
    return "ordered" in str(claim.get("relation") or "")


def agreement(claim: Any) -> str:
    """Yes or no; nothing where the claim does not apply or was not judged."""
    if claim.get("status") == "inapplicable":
        return MISSING
    return {True: "yes", False: "no"}.get(claim.get("agrees"), MISSING)


def slug(*parts: Any) -> str:
    """An anchor made of letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts if part).lower()).strip("-") or "item"
