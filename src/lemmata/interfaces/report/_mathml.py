"""Formulas in plain text as MathML, if a small grammar reads them without doubt.

The formula is typeset exactly as written: a product has the same factors in the same order. If a fraction bar might
include more or less than the slash of the text does, the slash stays.
"""

import functools
import itertools
import re

from markupsafe import Markup

from ._notation import FUNCTIONS, GREEK, LARGE, SIGNS, SUPERSCRIPTS, WORDLIKE, Token, UnclearError, tokens

_END = Token("end", "")
_CLOSERS = {"(": ")", "[": "]", "{": "}", "langle": "rangle"}
_OPERANDS = frozenset({"number", "word", "name", "open", "bar", "langle", "root", "symbol"})
_SHORT = frozenset({"op", "HS", "tr", "id"})
"""Subscripts of two letters that are one word."""
_STAR = Markup("<mo>*</mo>")
_THIN, _WIDE = Markup('<mspace width="0.17em"></mspace>'), Markup('<mspace width="1.2em"></mspace>')


@functools.lru_cache(maxsize=2**15)
def formula(text: str, display: bool = False) -> Markup | None:
    """A formula as MathML; None if the text is not one, or can be read in two ways.

    Args:
        text: a formula in the notation of the statements.
        display: on its own line, with fraction bars, words and commas; in a sentence, slashes stay.

    >>> print(formula("x_i²"))
    <math alttext="x_i²"><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>
    >>> formula("n^1/2"), formula("so it ends.")
    (None, None)
    """
    try:
        parser = _Parser(tokens(text), display)
        body = parser.row("end", outermost=True)
    except UnclearError:
        return None
    if not parser.symbols:
        return None
    mode = Markup(' display="block"') if display else ""
    return Markup('<math{} alttext="{}">{}</math>').format(mode, " ".join(text.split()), body)


class _Factor:
    """A factor of a product as it is typeset, with the facts that a fraction bar needs."""

    def __init__(self, markup: Markup, first: Token, inside: Markup | None = None, wordy: bool = False):
        self.markup, self.first, self.inside, self.wordy = markup, first, inside, wordy


class _Parser:
    """Recursive descent; `symbols` counts the names of quantities. A text without such names is not a formula."""

    def __init__(self, found: list[Token], display: bool):
        self.tokens, self.display = found, display
        self.place, self.symbols = 0, 0
        self.closers: list[str] = []

    def peek(self, ahead: int = 0) -> Token:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def take(self) -> Token:
        token = self.peek()
        self.place += 1
        return token

    def row(self, closer: str, outermost: bool = False) -> Markup:
        """Terms between operators, relations and commas, up to the closing token, which is taken."""
        parts, operand = [], False
        self.closers.append(closer)
        while not self._ends(closer):
            token = self.peek()
            if self._starts():
                parts.append(self.term())
                operand = True
            elif token.kind in ("operator", "relation"):
                # A line may continue with a relation; elsewhere only signs precede their operand.
                if not operand and token.text not in "+-±" and not (self.display and outermost and not parts):
                    raise UnclearError(token.text)
                if operand and token.before != token.after:
                    raise UnclearError(token.text)
                parts.append(_sign(self.take(), prefix=not operand))
                operand = False
            elif operand and self._given():
                self.take()
                parts.append(Markup('<mo lspace="0.28em" rspace="0.28em" stretchy="false">|</mo>'))
                operand = False
            elif token.kind == "comma" and operand:
                parts.append(self._comma(outermost))
                operand = self.peek().kind == "end"
            else:
                raise UnclearError(token.text)
        if not operand:
            raise UnclearError("an operand is missing")
        self.take()
        self.closers.pop()
        return _row(parts)

    def _given(self) -> bool:
        """Whether a bar with blanks on both sides, right inside a bracket, separates what is given: E[x | y]."""
        token = self.peek()
        return token.kind == "bar" and bool(token.before and token.after) and self.closers[-1] in (")", "]", "}")

    def _ends(self, closer: str) -> bool:
        token = self.peek()
        if closer == "bar":
            return token.kind == "bar" and not token.before
        if token.kind == "end" and closer != "end":
            raise UnclearError("a bracket is open")
        return closer in (token.kind, token.text)

    def _starts(self) -> bool:
        """Whether an operand begins here: a bar opens unless it can close the innermost one."""
        token = self.peek()
        if token.kind == "bar":
            return not token.after and (self.closers[-1] != "bar" or bool(token.before))
        return token.kind in _OPERANDS

    def _comma(self, outermost: bool) -> Markup:
        token = self.take()
        last = self.peek().kind == "end"
        if (outermost and not self.display) or (token.text == "." and not last):
            raise UnclearError(token.text)
        if not last and not token.after:
            raise UnclearError(token.text)
        return Markup("<mo>{}</mo>").format(token.text) + (_WIDE if token.after > 1 and not last else "")

    def term(self) -> Markup:
        """A product of factors, with its fractions."""
        factors = [self.factor()]
        while self._starts() or self.peek().kind == "slash":
            if self.peek().kind == "slash":
                factors = self._divided(factors)
            else:
                factors.append(self.factor())
        _refuse_sizes(factors)
        parts = [factors[0].markup]
        for left, right in itertools.pairwise(factors):
            if right.first.before:
                wide = left.wordy or right.wordy
                parts.append(Markup('<mspace width="0.28em"></mspace>') if wide else _THIN)
            parts.append(right.markup)
        return _row(parts)

    def _divided(self, factors: list[_Factor]) -> list[_Factor]:
        slash = self.take()
        if bool(slash.before) != bool(slash.after) or not self._starts():
            raise UnclearError("/")
        below, follows = self.factor(), self.peek()
        if follows.kind == "slash":
            raise UnclearError("two slashes")
        first = 0
        if not slash.before:
            first = max(i for i, factor in enumerate(factors) if i == 0 or factor.first.before)
        above = factors[first:]
        joined = self._starts() and (slash.before or not follows.before)
        # Brackets and roots stay one line high, because they do not grow without a mathematical font.
        bar = self.display and len(self.closers) == 1
        if joined or not bar or any(factor.wordy for factor in factors):
            sign = Markup('<mo lspace="{0}em" rspace="{0}em">/</mo>').format("0.2" if slash.before else "0")
            whole = Markup("<mrow>{}{}{}</mrow>").format(above[-1].markup, sign, below.markup)
            return [*factors[:-1], _Factor(whole, above[-1].first)]
        upper = above[0].inside if len(above) == 1 else None
        upper = upper or _row([part for factor in above for part in (factor.markup, _THIN)][:-1])
        whole = Markup("<mfrac>{}{}</mfrac>").format(upper, below.inside or below.markup)
        return [*factors[:first], _Factor(whole, above[0].first)]

    def factor(self) -> _Factor:
        """An operand with its scripts, and the bracket that a name is applied to."""
        first = self.peek()
        if first.kind == "root":
            return self._root()
        if first.kind == "name" and self.peek(1).text == "(" and not first.after:
            special = {"sqrt": self._square_root, "ceil": self._whole, "floor": self._whole}.get(first.text)
            if special:
                return self._scripted(_Factor(special(), first))
        found = self._scripted(self._primary())
        name = first.kind == "name"
        if name and self.peek().text in ("(", "[") and not self.peek().before:
            applied = self._scripted(self._primary())
            return _Factor(_row([found.markup, applied.markup]), first)
        if name and self.peek().kind == "number" and not self.peek().before:
            raise UnclearError("a digit behind a name")
        return found

    def _primary(self) -> _Factor:
        token = self.take()
        if token.kind == "number":
            return _Factor(Markup("<mn>{}</mn>").format(token.text), token)
        if token.kind == "symbol":
            return _Factor(Markup("<mi>{}</mi>").format(SIGNS.get(token.text, token.text)), token)
        if token.kind == "word":
            return self._words(token)
        if token.kind == "name":
            return self._name(token)
        if token.kind in ("open", "langle"):
            opener = token.text if token.kind == "open" else token.kind
            start = self.place
            body = self.row(_CLOSERS[opener])
            closed = _bracketed(body, self.tokens[start - 1], self.tokens[self.place - 1])
            listed = any(item.kind == "comma" for item in self.tokens[start : self.place])
            return _Factor(closed, token, body if opener == "(" and not listed else None)
        if token.kind == "bar":
            body = self.row("bar")
            return _Factor(
                Markup('<mrow><mo stretchy="true">|</mo>{}<mo stretchy="true">|</mo></mrow>').format(body), token
            )
        raise UnclearError(token.text)

    def _name(self, token: Token) -> _Factor:
        text = token.text
        if text in LARGE:
            return _Factor(Markup('<mo movablelimits="false">{}</mo>').format(LARGE[text]), token)
        if text in FUNCTIONS or text in WORDLIKE:
            follows = self.peek()
            bare = bool(follows.before) or not (follows.kind in ("raised", "script") or follows.text in ("(", "["))
            return _Factor(Markup("<mi>{}</mi>").format(text), token, wordy=bare)
        if text in GREEK or len(text) == 1:
            self.symbols += 1
            return _Factor(Markup("<mi>{}</mi>").format(GREEK.get(text, text)), token)
        return self._words(token)

    def _words(self, token: Token) -> _Factor:
        if not self.display:
            raise UnclearError(token.text)
        return _Factor(Markup("<mtext>{}</mtext>").format(token.text), token, wordy=True)

    def _root(self) -> _Factor:
        root = self.take()
        if root.after:
            raise UnclearError("√")
        below = self._primary()
        return self._scripted(_Factor(Markup("<msqrt>{}</msqrt>").format(below.inside or below.markup), root))

    def _square_root(self) -> Markup:
        self.place += 2
        return Markup("<msqrt>{}</msqrt>").format(self.row(")"))

    def _whole(self) -> Markup:
        left, right = ("⌈", "⌉") if self.take().text == "ceil" else ("⌊", "⌋")
        self.place += 1
        return Markup("<mrow><mo>{}</mo>{}<mo>{}</mo></mrow>").format(left, self.row(")"), right)

    def _scripted(self, base: _Factor) -> _Factor:
        """The operand with its subscript and superscript, each at most once."""
        below, above, vague = None, None, False
        while (self.peek().kind in ("script", "raised", "prime") or self._star()) and not self.peek().before:
            token = self.take()
            if token.text == "_":
                if below is not None or (above is not None and above != _STAR):
                    raise UnclearError("_")
                below = self._script()
            elif above is not None:
                raise UnclearError("two exponents")
            elif token.kind == "raised":
                above = Markup("<mn>{}</mn>").format(token.text.translate(SUPERSCRIPTS))
            elif token.kind == "prime" or token.text == "*":
                above = Markup("<mo>{}</mo>").format("′" if token.kind == "prime" else "*")
            else:
                # n^1/2 may mean two things; x²/2 and x^2/2 do not.
                vague = not re.fullmatch(r"[(\[{+*]|[2-9]|\d\d+", self.peek().text)
                letter = self.peek().kind == "name" and self.peek().text != "T"
                above = self._script()
                if letter and self.peek().text == "(" and not self.peek().before:
                    raise UnclearError("n^o(1)")
        if self.peek().kind in ("script", "raised") or (
            vague and self.peek().kind == "slash" and not self.peek().before
        ):
            raise UnclearError(self.peek().text)
        if below is None and above is None:
            return base
        parts = [base.markup, *(part for part in (below, above) if part is not None)]
        tag = Markup("msubsup" if len(parts) == 3 else "msup" if below is None else "msub")
        return _Factor(Markup("<{}>{}</{}>").format(tag, Markup("").join(parts), tag), base.first, wordy=base.wordy)

    def _script(self) -> Markup:
        """The content of a script: a bracket, or a number or name with a sign. A bracket around one token is meant."""
        token = self.peek()
        if token.before:
            raise UnclearError("a subscript or exponent begins with a blank")
        if token.kind == "open" and token.text != "[":
            start = self.place
            group = self._primary()
            return (
                group.markup if token.text == "(" and self.place - start == 3 else group.inside or _row([group.markup])
            )
        if token.text in ("*", "+") and not self._operand_at(1):
            return Markup("<mo>{}</mo>").format(self.take().text)
        sign = _sign(self.take(), prefix=True) if token.text in ("+", "-") else Markup("")
        token = self.take()
        if token.before or token.kind not in ("number", "name", "symbol"):
            raise UnclearError(token.text)
        if not token.after and self.peek().kind in ("number", "name"):
            raise UnclearError("the end of a subscript or exponent is unclear")
        return _row([sign, _small(token)]) if sign else _small(token)

    def _star(self) -> bool:
        """Whether an asterisk here belongs to the name before it, as in "rho*", and is not a product."""
        token = self.peek()
        if token.text != "*" or token.before:
            return False
        if not token.after and (self.peek(1).kind in _OPERANDS - {"bar"}):
            raise UnclearError("*")
        return True

    def _operand_at(self, ahead: int) -> bool:
        return self.peek(ahead).kind in ("number", "name") and not self.peek(ahead).before


def _row(parts: list[Markup]) -> Markup:
    return parts[0] if len(parts) == 1 else Markup("<mrow>{}</mrow>").format(Markup("").join(parts))


def _sign(token: Token, prefix: bool) -> Markup:
    form = Markup(' form="prefix"') if prefix and token.text in "+-±" else ""
    return Markup("<mo{}>{}</mo>").format(form, SIGNS.get(token.text, token.text))


def _bracketed(body: Markup, left: Token, right: Token) -> Markup:
    signs = {"langle": "⟨", "rangle": "⟩"}
    return Markup("<mrow><mo>{}</mo>{}<mo>{}</mo></mrow>").format(
        signs.get(left.kind, left.text), body, signs.get(right.kind, right.text)
    )


def _small(token: Token) -> Markup:
    """A token of a script: letters of an index pair one by one, words as words."""
    text = token.text
    if token.kind == "number":
        return Markup("<mn>{}</mn>").format(text)
    if text in GREEK or len(text) == 1 or text in FUNCTIONS or text in WORDLIKE or token.kind == "symbol":
        return Markup("<mi>{}</mi>").format(GREEK.get(text, text))
    if len(text) == 2 and text not in _SHORT:
        return _row([Markup("<mi>{}</mi>").format(letter) for letter in text])
    return Markup("<mtext>{}</mtext>").format(text)


def _refuse_sizes(factors: list[_Factor]) -> None:
    """Refuse "n x d", a size of a matrix or a product with x."""
    for factor in factors[1:-1]:
        if factor.first.text == "x" and factor.first.before and factor.markup == Markup("<mi>x</mi>"):
            raise UnclearError("n x d")


def displayed(text: str) -> Markup | None:
    """The lines of a displayed formula, each as MathML; None if one of them cannot be read without doubt.

    Args:
        text: lines; a bracket may open in one line and close in the next.
    """
    lines = [formula(line, display=True) for line in text.split("\n")]
    if all(lines):
        return Markup("").join(line for line in lines if line)
    return formula(" ".join(text.split("\n")), display=True)
