"""Convert words to index terms: in one spelling and without endings. Phrases with the same meaning are one term.

The script of the site, `search.js`, is the same code in JavaScript. A test compares the two.
"""

import functools
import importlib.resources
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

FILES = ("search.js", "search_words.toml")
"""The files that the site's search needs: its script and its lists of words."""
_WORD = re.compile("[a-z0-9α-ω]+")
_JOINED = re.compile(r"\b(over|under|non|pre|semi|multi|hyper|self)-(?=[a-z]{4})")
_MUP = re.compile(r"\b(mu|μ)[- ]?p\b")
"""The maximal update parametrisation, which people write as muP, mu-P and µP."""
_SPELLINGS = (
    (re.compile(r"^parameteri"), "parametri"), (re.compile(r"^overparameteri"), "overparametri"),
    (re.compile(r"is(e|ed|es|er|ers|ing|ation|ations)$"), r"iz\1"), (re.compile(r"ys(e|ed|es|ing)$"), r"yz\1"),
    (re.compile(r"(.{3})our(s|ed|ing|hood)?$"), r"\1or\2"), (re.compile(r"(.{3})tre(s?)$"), r"\1ter\2"),
)  # fmt: skip
_ENDINGS = (
    (re.compile("(sse|che|she|xe|zze)s$"), r"\1"), (re.compile("(.{2})ies$"), r"\1y"),
    (re.compile("([^suia])s$"), r"\1"), (re.compile("(.{4})ness$"), r"\1"), (re.compile("(.{4})ly$"), r"\1"),
    (re.compile("(.*[aeiouy].*[^e])ing$|(.{2,}[^e])ed$"), None), (re.compile("(.{3}[st])ion$"), r"\1"),
    (re.compile("(.{2}at)or$"), r"\1"), (re.compile("(.{3}t)ive$"), r"\1"), (re.compile("iz(at|er)$"), "iz"),
    (re.compile("(.{3})e$"), r"\1"), (re.compile("(.{3})y$"), r"\1i"),
)  # fmt: skip


@functools.cache
def facts() -> dict[str, Any]:
    """The word lists of the search: ignored words `stop`, spellings `same`, and synonyms `meaning`."""
    file = importlib.resources.files("lemmata.interfaces.search").joinpath(FILES[1])
    return tomllib.loads(file.read_text(encoding="utf-8"))


@functools.cache
def stop() -> frozenset[str]:
    """Words that the search ignores."""
    return frozenset(facts()["stop"].split())


@functools.cache
def stem(word: str) -> str:
    """Remove the ending of a word, and write it in one spelling.

    >>> [stem(word) for word in ("generalisation", "generalizes", "labelled", "kernels", "matrices")]
    ['generaliz', 'generaliz', 'label', 'kernel', 'matrix']
    """
    word = facts()["same"].get(word, word)
    for pattern, spelling in _SPELLINGS:
        word = pattern.sub(spelling, word)
    for pattern, ending in _ENDINGS:
        if ending is not None:
            word = pattern.sub(ending, word)
        elif match := pattern.match(word):
            word = match[1] or match[2]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sz":
                word = word[:-1]
    return word


def plain(text: str) -> list[str]:
    """The words of a text in lower case, without accents, apostrophes and the hyphens of prefixes.

    >>> plain("Over-parametrised: Rényi's KL")
    ['overparametrised', 'renyi', 'kl']
    >>> plain("mu-P and µP")
    ['mup', 'and', 'mup']
    """
    small = text.lower()
    if not text.isascii():
        small = unicodedata.normalize("NFKD", text.replace("’", "'")).lower()
        small = "".join(sign for sign in small if not unicodedata.combining(sign))
    if "mu" in small or "μ" in small:
        small = _MUP.sub("mup", small)
    return _WORD.findall(_JOINED.sub(r"\1", re.sub(r"(?<=\w)'s\b", "", small)))


@functools.cache
def meanings() -> dict[tuple[str, ...], tuple[int, ...]]:
    """All phrases with synonyms, as tuples of stems, with the numbers of the lists of synonyms that contain each."""
    found: dict[tuple[str, ...], list[int]] = {}
    for number, entry in enumerate(facts()["meaning"]):
        for phrase in entry["phrases"]:
            numbers = found.setdefault(tuple(stem(word) for word in plain(phrase)), [])
            numbers += [number] * (number not in numbers)
    return {phrase: tuple(numbers) for phrase, numbers in found.items()}


@functools.cache
def starts() -> dict[str, int]:
    """The first stems of phrases, each with the number of words of the longest phrase that begins with it."""
    found: dict[str, int] = {}
    for phrase in meanings():
        found[phrase[0]] = max(found.get(phrase[0], 0), len(phrase))
    return found


def phrases(stems: list[str]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the phrases among stems, each with its start, its end, and the numbers of its lists of synonyms.

    At each position the longest phrase is taken, and phrases do not overlap.
    """
    end, longest, known = 0, starts(), meanings()
    for place, first in enumerate(stems):
        if place < end or first not in longest:
            continue
        sizes = range(min(longest[first], len(stems) - place), 0, -1)
        end = place + next((size for size in sizes if tuple(stems[place : place + size]) in known), 0)
        if end > place:
            yield place, end, known[tuple(stems[place:end])]


def token(number: int) -> str:
    """The index term that stands for a list of synonyms, by the list's number."""
    return f"~{number}"


def terms(text: str) -> list[str]:
    """The terms of a text: the stems of its words, and a term for each phrase that has synonyms.

    >>> terms("the neural tangent kernel of ReLU")
    ['neural', 'tangent', 'kernel', 'relu', '~0']
    """
    words = plain(text)
    stems = [stem(word) for word in words]
    left_out = stop()
    kept = [each for each, word in zip(stems, words, strict=True) if word not in left_out]
    return kept + [token(number) for _, _, numbers in phrases(stems) for number in numbers]


def counted(texts: Iterable[str]) -> dict[str, int]:
    """Count how often each term occurs in some texts."""
    found: dict[str, int] = {}
    for text in texts:
        for each in terms(text):
            found[each] = found.get(each, 0) + 1
    return found
