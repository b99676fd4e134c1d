"""Split formulas in plain text, such as "2 beta + sqrt(log(1/delta) / (2 n))", into tokens."""

import dataclasses
import re

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
FUNCTIONS = frozenset(
    {"log", "exp", "sin", "cos", "tan", "cosh", "sinh", "tanh", "erf", "arccos", "arcsin", "tr", "Tr", "diag", "ln"}
)
"""Functions whose names are not English words."""
WORDLIKE = frozenset(
    {
        "max", "min", "sup", "inf", "lim", "det", "rank", "sign", "softmax", "argmax", "argmin", "kl", "KL", "JS", "TV",
        "NS", "Var", "Cov", "Inf", "Stab", "Lip", "Attn", "ReLU", "relu", "conj", "binom", "dist", "sgn", "Re", "Im",
    }
)  # fmt: skip
"""Functions whose names can also be words of a sentence."""
LARGE = {"sum": "∑", "prod": "∏", "∫": "∫"}
SIGNS = {
    "<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "<-": "←", "<<": "≪", ">>": "≫",
    "-": "−", "~": "∼", "...": "…", ":=": "≔",
}  # fmt: skip
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ", "0123456789−+n")

LETTER = r"[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ₀-₉]"
"""One letter, as a regular expression."""
_TOKENS = re.compile(
    rf"""(?P<number>\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+(?:\.\d+)?(?:e[+-]?\d+)?)
    |(?P<word>{LETTER}{{2,}}(?:-{LETTER}{{2,}})+)
    |(?P<name>{LETTER}+|∫)
    |(?P<raised>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+|ⁿ|⁺)
    |(?P<factorial>!(?!=))
    |(?P<script>[_^])
    |(?P<prime>')
    |(?P<root>√)
    |(?P<slash>/)
    |(?P<open>[(\[{{])|(?P<close>[)\]}}])
    |(?P<norm>\|\|)
    |(?P<bar>\|)
    |(?P<relation><=|<-(?=\s)|>=|!=|->|<<|>>|:=|[=≤≥≠≈~∼→∈≪≫<>])
    |(?P<symbol>\.\.\.|[…∞])
    |(?P<operator>[-+*±×·])
    |(?P<comma>[,;:.])
    |(?P<blank>\s+)""",
    re.VERBOSE,
)

_SINGLE = re.compile(r"(?<!\|)\|(?!\|)")


@dataclasses.dataclass(frozen=True)
class Token:
    """A piece of a formula.

    Args:
        kind: number, word, name, raised, factorial, script, prime, root, slash, open, close, norm, bar, relation,
            symbol, operator, comma, langle, rangle, or end.
        text: the characters of the token.
        before: the number of blanks before the token. At the beginning of a formula it is 1.
        after: the number of blanks after the token. At the end of a formula it is 1.
    """

    kind: str
    text: str
    before: int = 1
    after: int = 1


class UnclearError(ValueError):
    """Raised for a text that is not a formula, or that can be read as more than one formula."""


def tokens(text: str) -> list[Token]:
    """The tokens of a formula. Blanks around < and > make them relations: "x < y" compares, "<x, y>" has brackets.

    Raises:
        UnclearError: if a character has no meaning in this notation.
    """
    found: list[Token] = []
    place, before = 0, 1
    while place < len(text):
        match = _TOKENS.match(text, place)
        if match is None:
            raise UnclearError(text[place])
        place, kind = match.end(), str(match.lastgroup)
        if kind == "norm" and not (before and text[place : place + 1].isspace()) and _two_bars(text, place, found):
            place, kind = place - 1, "bar"
        if kind == "blank":
            before = len(match.group())
            if found:
                found[-1] = dataclasses.replace(found[-1], after=before)
            continue
        after = 1 if place == len(text) else 0
        sign = text[match.start() : place]
        found.append(Token(_angle(kind, sign, text, place), sign, before, after))
        before = 0
    return found


def _two_bars(text: str, end: int, found: list[Token]) -> bool:
    """Whether the sign || that ends here is two bars that open or end together, as in "||a| - |b||", and not a norm."""
    if not _SINGLE.search(text) or sum(token.kind == "norm" for token in found) % 2:
        return False
    follows = re.search(r"\|+", text[end:])
    return follows is None or len(follows[0]) == 1 or any(token.kind == "bar" for token in found)


def _angle(kind: str, sign: str, text: str, end: int) -> str:
    """The kind of a < or > token: < directly before an operand is "langle", > directly after an operand is "rangle".

    Between braces and in "K_(>p)", < and > are relations even without blanks, as in the limits "i<d" of a sum.
    """
    before, after = text[: end - 1], text[end : end + 1].strip()
    if sign == "<" and after and not re.search(r"\{\w+$", before):
        return "langle"
    if sign == ">" and before[-1:].strip() and not re.search(r"[({]$|\{\w+$", before):
        return "rangle"
    return kind
