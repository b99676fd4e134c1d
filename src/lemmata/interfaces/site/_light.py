"""Write the formulas of a sentence without MathML, for pages with a thousand sentences.

The formulas then consist of letters, signs, `sub` and `sup`.
"""

import re
from xml.etree import ElementTree

from markupsafe import Markup, escape

_MATH = re.compile(r"<math.*?</math>", re.S)
_ACCENTS = {"^": "\u0302", "∼": "\u0303"}
_TIGHT = frozenset("()[]{}|⟨⟩⌈⌉⌊⌋/!′*.∑∏∫‖") | {"||"}
"""Signs that are written without blanks around them."""


def light(text: Markup) -> Markup:
    """A text in which the elements of MathML are replaced by plain text with `sup` and `sub`.

    Args:
        text: HTML whose formulas are MathML.

    >>> from lemmata.interfaces.report import prose
    >>> print(light(prose("falls like m^(-1/2) <= sigma_x sqrt(n)")))
    falls like m<sup>−1/2</sup> ≤ σ<sub>x</sub> √n
    """
    return Markup(_MATH.sub(lambda found: str(_plain(ElementTree.fromstring(found.group()), True)), str(text)))


def _plain(element: ElementTree.Element, blanks: bool) -> Markup:
    """The plain text of a MathML element. Within `sup` and `sub`, signs have no blanks around them."""
    if element.tag in ("msup", "msub", "msubsup"):
        base, *scripts = element
        kinds = ("sub", "sup") if len(scripts) == 2 else (element.tag[1:],)
        parts = [
            Markup("<{0}>{1}</{0}>").format(kind, _plain(own, False)) for kind, own in zip(kinds, scripts, strict=True)
        ]
        return Markup("").join([_plain(base, blanks), *parts])
    if element.tag == "mover":
        base, accent = element
        return _plain(base, blanks) + _ACCENTS.get(accent.text or "", "")
    inside = Markup("").join(_plain(own, blanks) for own in element)
    if element.tag == "msqrt":
        return Markup("√{}" if len(inside) == 1 else "√({})").format(inside)
    if element.tag == "mspace":
        return Markup(" ") if blanks else Markup("")
    if element.tag != "mo":
        return escape(element.text or "") + inside
    sign = escape(element.text or "")
    if not blanks or sign in _TIGHT or element.get("form") == "prefix":
        return sign
    return sign + " " if sign == "," else Markup(" {} ").format(sign)
