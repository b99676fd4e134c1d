"""Write numbers and names for readers, and make text safe inside a page."""

import json
import math
import re
from typing import Any

from markupsafe import Markup

from lemmata.workflows.records import ASKED, FARTHEST, HORIZON, rows, spell, spell_asked
from lemmata.workflows.records.studies import Answers, Interval, StudyRecord, Unit

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MISSING = "–"


def number(value: Any, digits: int = 3) -> str:
    """Write a number with `digits` significant digits: plain from 0.001 to a million, else with a power of ten.

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


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.3g} %"


def told(value: float, unit: Unit) -> str:
    """A value of the metric as text, written as in the sentences of the answer."""
    return spell(value, unit.percent)


def bounds_of(unit: Unit) -> tuple[float, float]:
    """The least and the largest value that the metric can have."""
    if unit.best is None:  # the record does not contain the range of the metric
        return -math.inf if unit.name == "r2" else 0.0, 1.0 if unit.rises or unit.percent else math.inf
    worst = unit.worst if unit.worst is not None else -math.inf if unit.rises else math.inf
    return min(unit.best, worst), max(unit.best, worst)


def told_asked(answers: Answers, unit: Unit) -> str:
    """The requested value: with all digits if the user gave it, and with enough digits not to round to 100 %."""
    usual = spell(answers.asked, unit.percent)
    nearly = usual == "100.0 %" and answers.asked < 1
    if nearly and answers.origin != ASKED:
        return spell_asked(1 - float(f"{1 - answers.asked:.2g}"), unit.percent)
    if answers.origin != ASKED:
        return _apart(answers.asked, None if answers.now is None else answers.now.value, unit)
    return spell_asked(answers.asked, unit.percent)


def _apart(value: float, other: float | None, unit: Unit) -> str:
    """A value of the metric with enough digits to distinguish it from the value `other`."""
    usual = told(value, unit)
    if other is None or value == other or usual != told(other, unit):
        return usual
    scaled = [100 * own if unit.percent else own for own in (value, other)]
    for digits in range(4, 10):
        pair = [f"{own:.{digits}g}" for own in scaled]
        if pair[0] != pair[1]:
            return f"{pair[0]} %" if unit.percent else pair[0]
    return usual


def told_interval(interval: Interval, unit: Unit) -> str:
    """A value of the metric with its 90 % interval: "54.7 (52.9 to 56.5)"."""
    return f"{told(interval.value, unit)} ({told(interval.lower, unit)} to {told(interval.upper, unit)})"


def told_rows(needed: Interval, total: int, endless: str = "no upper limit") -> str:
    """A number of rows with its 90 % interval, as in the answer's sentences; "open" or "out of reach" if unknown.

    Args:
        needed: the number of rows; its ends may be infinite.
        total: the number of rows of the table. A number of rows above 8 times this total is not shown. An upper end
            above it is shown as "more than" 8 times this total, and above 1,000 times this total as `endless`.
        endless: the words for the upper end of an interval that has none.
    """
    if not needed.value <= HORIZON * total:
        if needed.lower <= 1:
            return "open"
        least = needed.lower <= HORIZON * total
        return f"open (≥ {rows(needed.lower)})" if least else "out of reach"
    far = f"more than {HORIZON * total:,}" if needed.upper <= FARTHEST * total else endless
    upper = rows(needed.upper) if needed.upper <= HORIZON * total else far
    return f"{rows(needed.value)} ({rows(needed.lower)} to {upper})"


def told_marks(record: StudyRecord) -> str:
    """Explain the words that stand in place of a number of rows in the table; empty if the table has none."""
    if record.answers.needed is None:
        return ""
    best, total = record.answers.best, record.data.total
    cells = [told_rows(own.needed, total) if own.learns or own.name == best else MISSING for own in record.models]
    value = f"{record.unit.name} {told_asked(record.answers, record.unit)}"
    words = {
        "open (≥": f"“open (≥ n)” means that at least n rows are needed for {value}, if it can be reached at all",
        "open": f"“open” means that more rows may or may not reach {value}",
        "out of reach": f"“out of reach” means that {value} is not expected even with 8 times the rows",
        MISSING: f"“{MISSING}” means that no number is given, because the model may be no better than guessing",
    }
    has = lambda sign: any(cell == sign or (sign.endswith("≥") and cell.startswith(sign)) for cell in cells)
    told = "; ".join(text for sign, text in words.items() if has(sign))
    return f"{told}." if told else ""


def told_save(record: StudyRecord) -> str:
    """Say how to get the recommended model; empty if the study recommends no model that uses the columns."""
    best = next((own for own in record.models if own.name == record.answers.best), None)
    if best is None or best.name in ("last", "season"):
        return ""
    return (
        f"To get the recommended model ({best.title}), fitted to all rows, add --save-model model.skops to the "
        "command. This writes a scikit-learn pipeline and a model card. In Python, study.best() returns the pipeline."
    )


def verdict(value: Any) -> str:
    """The words for a condition that holds, fails, or cannot be checked."""
    return {True: "yes", False: "no"}.get(value, "cannot be checked")


def plain(value: Any) -> Any:
    """A value in a form that JSON can represent: numbers that are not finite become None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def script_json(value: Any) -> Markup:
    """JSON that is safe inside a script element of HTML, because <, > and & are escaped."""
    text = json.dumps(plain(value), allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def slug(*parts: Any) -> str:
    """An anchor made of letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(str(part) for part in parts if part).lower()).strip("-") or "item"
