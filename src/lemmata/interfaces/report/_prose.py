"""Typeset the formulas in sentences, and leave the words as they are."""

import functools
import re

from markupsafe import Markup, escape

from ._mathml import formula
from ._notation import FUNCTIONS, GREEK, LARGE, LETTER, SIGNS, WORDLIKE


@functools.lru_cache(maxsize=2**16)
def prose(text: str) -> Markup:
    """A paragraph with MathML for the formulas that the grammar can read in only one way. All other text is escaped.

    >>> print(prose("at most kappa rows & no more"))
    at most <math alttext="kappa"><mi>κ</mi></math> rows &amp; no more
    """
    words = text.split()
    formal = [_mathematical(words, place) for place in range(len(words))]
    found, place = [], 0
    while place < len(words):
        end, depth = place, 0
        while end < len(words) and formal[end]:
            depth += _opened(words[end])
            end += 1
            if depth <= 0 and words[end - 1][-1] in ",.;:" and words[end - 1] != "...":
                break
        found += _run(words[place:end])
        place = end
        while end < len(words) and not formal[end]:
            end += 1
        if end > place:
            found.append(escape(" ".join(words[place:end])))
        place = end
    return Markup(" ".join(found))  # each part is escaped


def _opened(word: str) -> int:
    """The number of brackets that a word opens minus the number that it closes; < and > within words are brackets."""
    inside = len(word) > 1 and word not in SIGNS
    return sum((c in "([{") - (c in ")]}") + inside * ((c == "<") - (c == ">")) for c in word)


def _run(words: list[str]) -> list[Markup]:
    """Typeset the words if they are a formula. Signs at the ends belong to the neighbouring words."""
    if not words:
        return []
    first, last = 0, len(words)
    while first < last and words[first] in _BETWEEN:
        first += 1
    while first < last and words[last - 1] in _BETWEEN:
        last -= 1
    whole = _inline(" ".join(words[first:last])) if first < last else None
    middle = [escape(word) for word in words[first:last]] if whole is None else [whole]
    ends = [[escape(SIGNS.get(word, word) if len(word) == 2 else word) for word in part]
            for part in (words[:first], words[last:])]  # fmt: skip
    return [*ends[0], *middle, *ends[1]]


_BETWEEN = frozenset({"+", "-", "=", "<=", ">=", "<", ">", "/", "~", "->", "<<", ">>", "//"})
_WORD = re.compile(rf"{LETTER}{{2,}}")
_ALONE = frozenset({"a", "A", "I"})
_LABELLED = frozenset({"Appendix", "Chapter", "Part", "Section", "Table"})
_NAMED = frozenset({"regression", "distribution", "distributions", "function", "functions", "deviance"})
"""Words after a Greek letter that make the letter part of a name, not a variable."""


def _mathematical(words: list[str], place: int) -> bool:
    """Whether the word at `place` of a sentence can be part of a formula, that is, contains no English word."""
    word = words[place]
    if _is_english(word):
        return False
    bare = word.strip("(),.;:")
    if bare in _ALONE:
        beside = [words[i] for i in (place - 1, place + 1) if 0 <= i < len(words)]
        if bare == "I" and place and _mathematical(words, place - 1):
            return True
        return any(other in _BETWEEN for other in beside) or bare != word.strip(",.;:")
    if place and re.fullmatch("[A-Z]", bare) and words[place - 1] in _LABELLED:
        return False  # "Chapter V", "Appendix B"
    if bare.endswith("'s"):
        return False  # "Lemma 1's proof": no derivative of 1
    after = words[place + 1].strip("(),.;:") if place + 1 < len(words) else ""
    return not (bare in GREEK and after in _NAMED)  # "gamma regression" has no variable


@functools.lru_cache(maxsize=2**16)
def _is_english(word: str) -> bool:
    """Whether a word of a sentence has a part of two letters or more that names no quantity and no function."""
    for match in _WORD.finditer(word):
        named = match.group()
        follows = word[match.end() : match.end() + 1]
        if named in GREEK or named in FUNCTIONS or (named in ("sqrt", "ceil", "floor") and follows == "("):
            continue
        if (named in WORDLIKE or named in LARGE) and follows in ("(", "_", "["):
            continue
        if not word[: match.start()].endswith("_"):
            return True
    return False


def _inline(text: str) -> Markup | None:
    """A formula in a sentence, with the punctuation and unmatched brackets around it as text."""
    lead = re.match(r"[(\[{]*", text)
    for start in range(lead.end() + 1 if lead else 1):
        core = text[start:].rstrip(".,;:")
        for end in range(len(core), max(len(core) - 3, start), -1):
            inner = core[: end - len(core)] if end < len(core) else core
            if end < len(core) and set(core[end:]) - set(")]}"):
                break
            if inner in _ALONE or (inner[:1] in ("=", "<", ">") and inner[1:2] in ("", " ", "=")):
                continue
            found = formula(inner)
            if found:
                return escape(text[:start]) + found + escape(text[start + len(inner) :])
    return None
