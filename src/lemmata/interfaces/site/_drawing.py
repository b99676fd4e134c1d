"""Draw panels (single axes) as SVG without a library, in the colour of the surrounding text."""

import math
from collections.abc import Callable
from typing import Any

from markupsafe import Markup, escape

from lemmata.interfaces.report import COLOURS, linear_ticks, ticks, widest

ROWS = ("claim", "control")
_LEFT, _TOP, _RIGHT, _WIDTH, _ROW = 51, 7, 31, 290, 26
_BELOW, _BETWEEN = 40, 16  # space for an axis with its title, and between two panels
_SHADES = {"claim": COLOURS[0], "control": COLOURS[1], "band": COLOURS[2]}
_MARKS = {"diamond": "0,-6.5 6.5,0 0,6.5 -6.5,0", "right": "6,0 -4,5.5 -4,-5.5", "left": "-6,0 4,5.5 4,-5.5"}


def drawn(panels: list[Any], said: str) -> str:
    """Draw panels below each other as SVG.

    Args:
        panels: the panels (`Panel`), at least one.
        said: the description of the panels in words, for readers who cannot see them.
    """
    height = _ROW * len(ROWS)
    pitch = height + _BELOW + _BETWEEN
    parts = [f'<g transform="translate({_LEFT},{_TOP + pitch * place})">{_panel(panel, height)}</g>'
             for place, panel in enumerate(panels)]  # fmt: skip
    across, down = _LEFT + _WIDTH + _RIGHT, _TOP + pitch * len(panels) - _BETWEEN
    return Markup(
        '<svg role="img" overflow="visible" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}" '
        'font-family="system-ui, sans-serif" font-size="11" fill="currentColor">{}</svg>'
    ).format(said, across, down, across, down, Markup("".join(parts)))


def _panel(panel: Any, height: int) -> str:
    low, high = panel.domain
    at = _scale(low, high, panel.log)
    parts = []
    if panel.band != (None, None):
        first, last = panel.band
        start, end = at(low if first is None else first), at(high if last is None else last)
        band = f'x="{start:.1f}" width="{max(end - start, 0):.1f}" height="{height}" fill="{_SHADES["band"]}"'
        parts.append(f'<rect {band} opacity=".22"/>')
    parts.append(_axis(panel, at, height))
    if panel.stated is not None:
        place = f"{at(panel.stated):.1f}"
        parts.append(f'<path d="M{place} 0V{height}" stroke="currentColor" stroke-dasharray="4 3"/>')
    first, middle, last = panel.claim
    row, other = _ROW // 2, _ROW + _ROW // 2
    line = f'd="M{at(first):.1f} {row}H{at(last):.1f}" stroke="{_SHADES["claim"]}" stroke-width="4"'
    parts.append(f'<path {line}/><circle cx="{at(middle):.1f}" cy="{row}" r="4.9" fill="{_SHADES["claim"]}"/>')
    for value in panel.control:
        mark = _MARKS["diamond" if low <= value <= high else "right" if value > high else "left"]
        place = f"translate({at(value):.1f},{other})"
        style = f'fill="none" stroke="{_SHADES["control"]}" stroke-width="2"'
        parts.append(f'<polygon points="{mark}" transform="{place}" {style}/>')
    return "".join(parts)


def _scale(low: float, high: float, log: bool) -> Callable[[float], float]:
    """A function from a value to its position in pixels; values beyond the ends are put at the nearer end."""
    turned = math.log if log else float
    start, end = turned(low), turned(high)
    return lambda value: _WIDTH * (turned(min(max(value, low), high)) - start) / (end - start)


def _axis(panel: Any, at: Callable[[float], float], height: int) -> str:
    low, high = panel.domain
    values = ticks(low, high) if panel.log else linear_ticks(low, high)[:: 1 if panel.percent else 2]
    parts = [f'<path d="M0 0V{height}H{_WIDTH}" fill="none" stroke="currentColor"/>']
    parts += [
        f'<text x="-9" y="{_ROW * place + _ROW // 2 + 4}" text-anchor="end">{name}</text>'
        for place, name in enumerate(ROWS)
    ]
    after = -math.inf
    for value in values:
        place, text = at(value), shown(value, panel)
        parts.append(f'<path d="M{place:.1f} 0V{height}" stroke="currentColor" opacity=".15"/>')
        half = widest(text, 11) / 2
        middle = min(max(place, half - _LEFT), _WIDTH + _RIGHT - half)
        if middle - half > after:
            parts.append(f'<text x="{middle:.1f}" y="{height + 16}" text-anchor="middle">{text}</text>')
            after = middle + half + 2
    title = f'x="{_WIDTH / 2:.0f}" y="{height + 33}" text-anchor="middle" font-size="12"'
    return "".join([*parts, f"<text {title}>{escape(panel.title)}</text>"])


def shown(value: float, panel: Any) -> str:
    """The label of a number on an axis.

    Args:
        value: the number.
        panel: the panel of the axis.
    """
    low, high = panel.domain
    if panel.percent:
        return f"{value:.0%}"
    if panel.log and (high > 1e5 or low < 1e-4):
        mantissa, _, power = f"{value:.0e}".partition("e")
        return f"{mantissa}e{int(power)}"
    digits = min(max(math.ceil(math.log10(max(abs(low), abs(high)) / (high - low))) + 2, 3), 12)
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")
