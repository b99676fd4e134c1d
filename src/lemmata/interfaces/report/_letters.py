"""Keep room for the labels of an axis in fonts that are wider than the font with which a picture was laid out."""

import json
import textwrap
from collections.abc import Sequence
from typing import Any

_WIDTHS = {
    0.41: " !'(),-./:;I[\\]fijlrtJ|·²", 0.55: '"*?_`csz–ε', 0.65: "EFLPSTYabdeghknopquvxyγδθλμπσ$0123456789{}√µ",
    0.75: "ABCKRUVXZNHαβ", 0.86: "#&+<=>^~×DGMOQwω−≤≥",
}  # fmt: skip
"""Upper bounds of the widths of letters in DejaVu Sans, a wide font, in units of the size. Other letters have
at most the width 1."""
_WIDTH_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_GAP = 8  # pixels between a label and its axis


def widest(text: str, size: float | int) -> float:
    """An upper bound of the width of a line of text in pixels, in any common sans-serif font.

    Args:
        text: the line.
        size: the size of the font in pixels.

    >>> round(widest("kernel", 10), 1)
    36.6
    """
    return size * sum(_WIDTH_OF.get(letter, 1.0) for letter in text)


def lines_of(name: str, most: int) -> list[str]:
    """A name in lines of at most `most` letters, broken between words."""
    return textwrap.wrap(name, most) or [name]


def axis_of_names(names: Sequence[str], size: float | int, most: int = 0) -> dict[str, Any]:
    """The properties of an axis of names in Vega-Lite that keep room for the names in every font.

    Args:
        names: the labels of the axis.
        size: the size of the font in pixels.
        most: the number of letters in a line; longer names are broken between words. 0 breaks no name.
    """
    lines = {name: lines_of(name, most) if most else [name] for name in names}
    room = max((widest(line, size) for own in lines.values() for line in own), default=0.0)
    found: dict[str, Any] = {"labelFontSize": size, "minExtent": round(room) + _GAP}
    if any(len(own) > 1 for own in lines.values()):
        found["labelExpr"] = f"{json.dumps(lines)}[datum.label]"
    return found
