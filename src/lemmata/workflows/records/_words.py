"""Format the metric values and the numbers of rows of a study, for its sentences, its table and its page."""

import math

HORIZON = 8
"""The largest shown number of rows, divided by the available rows. Forecasts were tested up to this multiple."""
FARTHEST = 1000.0
"""The upper end of the interval of the needed rows is not shown if it exceeds this many times the available rows."""
ASKED = "asked with --error"
"""The origin of a requested value, in words, if the user gave this value with --error."""


def spell(value: float, percent: bool = False, like: str = "") -> str:
    """Format a value to three significant digits, or a share to a tenth of a per cent.

    Args:
        value: a number, or a share.
        percent: whether `value` is a share that is shown in per cent.
        like: a number in the same unit, as text. If `like` has more decimals, `value` is shown with as many decimals.

    >>> spell(0.98765, percent=True), spell(54.7316), spell(12345.6), spell(float("inf"))
    ('98.8 %', '54.7', '12,300', 'no limit')
    >>> spell(0.999981, percent=True, like="99.999 %")
    '99.998 %'
    """
    if not math.isfinite(value):
        return "no limit"
    if percent:
        usual = f"{100 * value:.1f}"
    else:
        usual = f"{float(f'{value:.3g}'):,.0f}" if 999.5 <= abs(value) < 1e9 else f"{value:#.3g}".rstrip(".")
    decimals = _decimals(like)
    if decimals > _decimals(usual) and "e" not in usual:
        usual = f"{100 * value if percent else value:,.{decimals}f}"
    return f"{usual} %" if percent else usual


def spell_asked(value: float, percent: bool = False) -> str:
    """Format a requested value like `spell`, but with all of its digits (up to ten) if `spell` would round it.

    >>> spell_asked(0.99999, percent=True), spell_asked(0.95, percent=True), spell_asked(2.5), spell_asked(1234.5)
    ('99.999 %', '95.0 %', '2.50', '1,234.5')
    """
    usual, scaled = spell(value, percent), 100 * value if percent else value
    exact = f"{scaled:,.10g}"
    if float(exact.replace(",", "")) == float(usual.removesuffix(" %").replace(",", "")):
        return usual
    return f"{exact} %" if percent else exact


def _decimals(text: str) -> int:
    return len(text.partition(".")[2].split(" ")[0].split("e")[0])


def rows(n: float) -> str:
    """Format a forecast number of rows with two digits (three from 1,000), because more digits would be noise.

    >>> rows(1234.5), rows(87.4)
    ('1,240', '88')
    """
    if not math.isfinite(n):
        return "any number"
    digits = 2 if n < 1000 else 3
    return f"{float(f'{max(1.0, math.ceil(n - 1e-9)):.{digits}g}'):,.0f}"
