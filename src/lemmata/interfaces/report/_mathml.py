"""Convert formulas in plain text to MathML, if a small grammar can read them in exactly one way.

The formula is typeset exactly as written. For example, a product keeps its factors in their order. If it is unclear
what a fraction bar would have to include, the slash of the text stays.
"""

import functools
import itertools
import re

from markupsafe import Markup

from ._markup import bracketed, mrow, operator, token_of_script
from ._notation import FUNCTIONS, GREEK, LARGE, LETTER, SIGNS, SUPERSCRIPTS, WORDLIKE, Token, UnclearError, tokens

_END = Token("end", "")
_CLOSERS = {"(": ")", "[": "]", "{": "}", "langle": "rangle"}
_OPERANDS = frozenset({"number", "word", "name", "open", "norm", "bar", "langle", "root", "symbol"})
_STAR, _PRIME = Markup("<mo>*</mo>"), Markup("<mo>′</mo>")
_THIN, _WIDE = Markup('<mspace width="0.17em"></mspace>'), Markup('<mspace width="1.2em"></mspace>')


@functools.lru_cache(maxsize=2**15)
def formula(text: str, display: bool = False) -> Markup | None:
    """The MathML of a formula; None if the text is not a formula, or can be read in two ways.

    Args:
        text: a formula in the notation of the statements.
        display: whether the formula is on its own line, with fraction bars, words and commas. In a sentence, slashes
            stay.

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
    if not parser.symbols and (parser.words or not display):  # on its own line, a number is a formula
        return None
    mode = Markup(' display="block"') if display else ""
    return Markup('<math{} alttext="{}">{}</math>').format(mode, " ".join(text.split()), body)


class _Factor:
    """A typeset factor of a product, with the facts that are needed to draw a fraction bar."""

    def __init__(self, markup: Markup, first: Token, inside: Markup | None = None, wordy: bool = False):
        self.markup, self.first, self.inside, self.wordy = markup, first, inside, wordy


class _Parser:
    """A recursive-descent parser. `symbols` counts the names of quantities, and `words` counts other words."""

    def __init__(self, found: list[Token], display: bool):
        self.tokens, self.display = found, display
        self.place, self.symbols, self.words = 0, 0, 0
        self.closers: list[str] = []

    def peek(self, ahead: int = 0) -> Token:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def take(self) -> Token:
        token = self.peek()
        self.place += 1
        return token

    def row(self, closer: str, outermost: bool = False) -> Markup:
        """Read terms between operators, relations and commas, up to and including the closing token."""
        parts, operand = [], False
        self.closers.append(closer)
        while not self._ends(closer):
            token = self.peek()
            if self._starts():
                parts.append(self.term())
                operand = True
            elif token.kind in ("operator", "relation"):
                # A line may begin with a relation. Elsewhere, only the signs + and - may precede an operand.
                limits = token.text in "<>" and closer in ("}", ")")
                if not operand and token.text not in "+-±" and (parts or not (limits or (self.display and outermost))):
                    raise UnclearError(token.text)
                if operand and token.before != token.after:
                    raise UnclearError(token.text)
                parts.append(operator(self.take(), prefix=not operand))
                operand = False
            elif operand and self._given():
                token = self.take()
                parts.append(Markup('<mo lspace="0.28em" rspace="0.28em" stretchy="false">{}</mo>').format(token.text))
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
        return mrow(parts)

    def _given(self) -> bool:
        """Whether the bar here, between blanks, separates the parts of a bracket, as in E[x | y] and KL(p || q)."""
        token = self.peek()
        return (
            token.kind in ("bar", "norm") and bool(token.before and token.after) and self.closers[-1] in (")", "]", "}")
        )

    def _ends(self, closer: str) -> bool:
        token = self.peek()
        if closer in ("bar", "norm"):
            return token.kind == closer and not token.before
        if token.kind == "end" and closer != "end":
            raise UnclearError("a bracket is not closed")
        return closer in (token.kind, token.text)

    def _starts(self) -> bool:
        """Whether an operand begins here. A bar opens a bracket unless it can close the innermost open bracket."""
        token = self.peek()
        if token.kind in ("bar", "norm"):
            return not token.after and (self.closers[-1] != token.kind or bool(token.before))
        return token.kind in _OPERANDS or self._placeholder()

    def _placeholder(self) -> bool:
        """Whether the dot here stands for an argument, as in "K(., x)"."""
        token, before = self.peek(), self.tokens[self.place - 1].text if self.place else ""
        return token.text == "." and before in ("(", ",", "|") and self.peek(1).text in (")", ",", "|")

    def _comma(self, outermost: bool) -> Markup:
        token = self.take()
        last = self.peek().kind == "end"
        if (outermost and not self.display) or (token.text == "." and not last):
            raise UnclearError(token.text)
        if not last and not token.after and outermost:
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
        return mrow(parts)

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
        upper = upper or mrow([part for factor in above for part in (factor.markup, _THIN)][:-1])
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
            return _Factor(mrow([found.markup, applied.markup]), first)
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
            closed = bracketed(body, self.tokens[start - 1], self.tokens[self.place - 1])
            listed = any(item.kind == "comma" for item in self.tokens[start : self.place])
            return _Factor(closed, token, body if opener == "(" and not listed else None)
        if token.kind in ("bar", "norm"):
            body, sign = self.row(token.kind), Markup('<mo stretchy="true">{}</mo>').format(token.text)
            return _Factor(Markup("<mrow>{0}{1}{0}</mrow>").format(sign, body), token)
        if token.text == ".":
            return _Factor(Markup("<mi>.</mi>"), token)
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
        self.words += 1
        return _Factor(Markup("<mtext>{}</mtext>").format(token.text), token, wordy=True)

    def _root(self) -> _Factor:
        root = self.take()
        if root.after:
            raise UnclearError("√")
        below = self._primary()
        return self._scripted(_Factor(Markup("<msqrt>{}</msqrt>").format(below.inside or below.markup), root))

    def _square_root(self) -> Markup:
        self.place += 2
        self.symbols += 1
        return Markup("<msqrt>{}</msqrt>").format(self.row(")"))

    def _whole(self) -> Markup:
        left, right = ("⌈", "⌉") if self.take().text == "ceil" else ("⌊", "⌋")
        self.place += 1
        return Markup("<mrow><mo>{}</mo>{}<mo>{}</mo></mrow>").format(left, self.row(")"), right)

    def _scripted(self, base: _Factor) -> _Factor:
        """The operand with its accent, its subscript and its superscript. A digit after a letter is an index."""
        base = self._marked(base)
        below, above, vague = self._digit(base), [], False
        while (self.peek().kind in ("script", "raised", "prime") or self._star()) and not self.peek().before:
            token = self.take()
            bare = all(mark in (_STAR, _PRIME) for mark in above)  # only these may precede other scripts
            if token.text == "_":
                if below is not None or not bare:
                    raise UnclearError("_")
                below = self._script()
            elif not bare:
                raise UnclearError("two exponents")
            elif token.kind == "raised":
                above.append(Markup("<mn>{}</mn>").format(token.text.translate(SUPERSCRIPTS)))
            elif token.kind == "prime" or token.text == "*":
                above.append(_PRIME if token.kind == "prime" else _STAR)
            else:
                # n^1/2 may mean two things, but x²/2 and x^2/2 have one meaning.
                vague = not re.fullmatch(r"[(\[{+*]|[2-9]|\d\d+", self.peek().text)
                letter = self.peek().kind == "name" and self.peek().text != "T"
                above.append(self._script())
                if letter and self.peek().text == "(" and not self.peek().before:
                    raise UnclearError("n^o(1)")
        if self.peek().kind in ("script", "raised") or (
            vague and self.peek().kind == "slash" and not self.peek().before
        ):
            raise UnclearError(self.peek().text)
        found = self._with_factorial(base, below, above)
        self.symbols += found is not base
        return found

    def _marked(self, base: _Factor) -> _Factor:
        """The operand with the hat or tilde after it, as in "rho^" and "W~". A script or operand must not follow."""
        mark, follows = self.peek(), self.peek(1)
        ends = (
            mark.after
            or follows.kind in ("close", "comma", "script", "raised", "rangle")
            or (follows.kind == "bar" and self.closers[-1] == "bar")
        )
        estimate = base.first.text in ("f", "g", "h") and re.fullmatch(
            r"\^\([A-Z]\)", "".join(token.text for token in self.tokens[self.place : self.place + 4])
        )
        if base.first.kind != "name" or mark.text not in ("^", "~") or mark.before or not (ends or estimate):
            return base
        self.take()
        sign = SIGNS.get(mark.text, mark.text)
        return _Factor(Markup('<mover accent="true">{}<mo>{}</mo></mover>').format(base.markup, sign), base.first)

    def _digit(self, base: _Factor) -> Markup | None:
        """The digit directly after a letter, as in "x0" and "log2". Longer numbers are unclear."""
        token, name = self.peek(), base.first.text
        if base.first.kind != "name" or token.kind != "number" or token.before:
            return None
        short = len(name) == 1 or name in GREEK or name == "log"
        if not short or not re.fullmatch(r"\d|10", token.text) or (not token.after and self.peek(1).kind == "name"):
            raise UnclearError("a digit after a name")
        return token_of_script(self.take())

    def _with_factorial(self, base: _Factor, below: Markup | None, above: list[Markup]) -> _Factor:
        if below is not None or above:
            parts = [base.markup, *([] if below is None else [below]), *([mrow(above)] if above else [])]
            tag = Markup("msubsup" if len(parts) == 3 else "msup" if below is None else "msub")
            base = _Factor(Markup("<{}>{}</{}>").format(tag, Markup("").join(parts), tag), base.first, wordy=base.wordy)
        if self.peek().kind != "factorial" or self.peek().before:
            return base
        self.take()
        found = _Factor(mrow([base.markup, Markup('<mo lspace="0">!</mo>')]), base.first, wordy=base.wordy)
        if self.peek().kind != "raised" or self.peek().before:
            return found
        power = self.take().text.translate(SUPERSCRIPTS)
        return _Factor(Markup("<msup>{}<mn>{}</mn></msup>").format(found.markup, power), base.first)

    def _script(self) -> Markup:
        """The content of a script: a bracket, or a number or name with a sign. In "x^(n)", the brackets stay."""
        token = self.peek()
        if token.before:
            raise UnclearError("a subscript or exponent begins with a blank")
        if token.text == "{":
            self.take()
            return self.row("}")
        if token.kind == "open" and token.text != "[":
            start = self.place
            group = self._primary()
            return (
                group.markup if token.text == "(" and self.place - start == 3 else group.inside or mrow([group.markup])
            )
        if token.text in ("*", "+") and not self._operand_at(1):
            return Markup("<mo>{}</mo>").format(self.take().text)
        sign = operator(self.take(), prefix=True) if token.text in ("+", "-") else Markup("")
        if (sign and self.peek().text == "(" and not self.peek().before) or (
            self.peek().kind == "bar" and self.closers[-1] != "bar"
        ):
            return mrow([sign, self._primary().markup])
        token = self.take()
        if token.before or token.kind not in ("number", "name", "symbol"):
            raise UnclearError(token.text)
        if not token.after and self.peek().kind in ("number", "name"):
            raise UnclearError("the end of a subscript or exponent is unclear")
        found = [*([sign] if sign else []), token_of_script(token)]
        while self.peek().text == "," and not token.after and not self.peek().after and self._operand_at(1):
            comma, token = self.take(), self.take()
            found += [Markup("<mo>{}</mo>").format(comma.text), token_of_script(token)]
        return mrow(found)

    def _star(self) -> bool:
        """Whether an asterisk here belongs to the name before it, as in "rho*", and is not a product."""
        token = self.peek()
        if token.text != "*" or token.before:
            return False
        if not token.after and (self.peek(1).kind in _OPERANDS - {"bar"}) and not self._applied():
            raise UnclearError("*")
        return True

    def _applied(self) -> bool:
        """Whether the name before a star is a function of the names in the bracket after the star, as in F*(t, x_i)."""
        inside = "".join(token.text for token in self.tokens[self.place + 1 :])
        return self.tokens[self.place - 1].text.isupper() and bool(
            re.match(rf"\({LETTER}(_{LETTER}+)?(,{LETTER}(_{LETTER}+)?)*\)", inside)
        )

    def _operand_at(self, ahead: int) -> bool:
        return self.peek(ahead).kind in ("number", "name") and not self.peek(ahead).before


def _refuse_sizes(factors: list[_Factor]) -> None:
    """Raise an error for "n x d", because it may be the size of a matrix or a product with x."""
    for left, factor, right in zip(factors, factors[1:], factors[2:], strict=False):
        if left.wordy or right.wordy:
            continue  # "sup over x of f(x)"
        if factor.first.text == "x" and factor.first.before and factor.markup == Markup("<mi>x</mi>"):
            raise UnclearError("n x d")


def displayed(text: str) -> Markup | None:
    """The lines of a displayed formula, each as MathML; None if one of them cannot be read, or can be read in two ways.

    Args:
        text: lines; a bracket may open in one line and close in the next.
    """
    lines = [formula(line, display=True) for line in text.split("\n")]
    if all(lines):
        return Markup("").join(line for line in lines if line)
    return formula(" ".join(text.split("\n")), display=True)
