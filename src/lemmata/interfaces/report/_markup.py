"""Pieces of MathML: rows, signs, brackets, and the tokens of scripts."""

from markupsafe import Markup

from ._notation import FUNCTIONS, GREEK, SIGNS, WORDLIKE, Token

_SHORT = frozenset({"op", "HS", "tr", "id"})
"""Subscripts of two letters that are read as one word."""


def mrow(parts: list[Markup]) -> Markup:
    return parts[0] if len(parts) == 1 else Markup("<mrow>{}</mrow>").format(Markup("").join(parts))


def operator(token: Token, prefix: bool) -> Markup:
    form = Markup(' form="prefix"') if prefix and token.text in "+-±" else ""
    return Markup("<mo{}>{}</mo>").format(form, SIGNS.get(token.text, token.text))


def bracketed(body: Markup, left: Token, right: Token) -> Markup:
    signs = {"langle": "⟨", "rangle": "⟩"}
    return Markup("<mrow><mo>{}</mo>{}<mo>{}</mo></mrow>").format(
        signs.get(left.kind, left.text), body, signs.get(right.kind, right.text)
    )


def token_of_script(token: Token) -> Markup:
    """The MathML of a sub- or superscript token: an index pair such as ij becomes two letters, a word stays whole."""
    text = token.text
    if token.kind == "number":
        return Markup("<mn>{}</mn>").format(text)
    if text in GREEK or len(text) == 1 or text in FUNCTIONS or text in WORDLIKE or token.kind == "symbol":
        return Markup("<mi>{}</mi>").format(GREEK.get(text, text))
    if len(text) == 2 and text not in _SHORT:
        return mrow([Markup("<mi>{}</mi>").format(letter) for letter in text])
    return Markup("<mtext>{}</mtext>").format(text)
