"""Search a shelf (a search index): return items with all words, then items with some words, each best first.

The result also contains, for each word, the number of items with this word. If no item has all words, these numbers
show why.
"""

import dataclasses
from collections.abc import Sequence

from ._shelf import Shelf
from ._terms import phrases, plain, starts, stem, stop, token

_BEGUN, _MISTYPED = 0.7, 0.5  # the weights of a longer term that begins with the word, and of a typo
_LITERAL = 0.5  # the weight of the words of a phrase, relative to its meaning
_SHELVES = {"reference": 0.5}  # factors of scores: most people look for pages, unless they type the name itself
_FURTHER = 0.85  # the factor by which the score of each further item of a group is multiplied


@dataclasses.dataclass(frozen=True)
class Found:
    """The items that a search found on a shelf.

    Args:
        words: the parts of the typed text, for example "tangent kernel" and "atention".
        hits: positions of the items that have all parts, the best first.
        near: positions of items that have some of the parts, the best first.
        counts: the number of items that have each part.
        mistyped: the typed words that occur nowhere and were replaced by the nearest words.
        scores: for each position in `hits` and `near`, the score of the item there.
    """

    words: tuple[str, ...]
    hits: tuple[int, ...]
    near: tuple[int, ...]
    counts: tuple[int, ...]
    mistyped: tuple[str, ...]
    scores: dict[int, float]

    @property
    def best(self) -> tuple[int, ...]:
        """The positions of the hits, followed by those of items that have some of the parts."""
        return self.hits + self.near

    @property
    def told(self) -> str:
        """The reason why no item has all words: the number of items with each part, or with its nearest spelling."""
        some = [
            f"{count} {'has' if count == 1 else 'have'} "
            f"{'the nearest spelling of ' if set(word.split()) & set(self.mistyped) else ''}'{word}'"
            for word, count in zip(self.words, self.counts, strict=True)
        ]
        return ", ".join(some)


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the typed text.

    Args:
        typed: the word or phrase as the user typed it.
        terms: an item has the part if it has one of these terms.
        words: the words of a phrase, which have a small weight besides the phrase itself.
    """

    typed: str
    terms: tuple[str, ...]
    words: tuple[str, ...] = ()


def ask(shelf: Shelf, typed: str) -> Found:
    """Search one shelf for a typed text.

    Args:
        shelf: the items to search.
        typed: the words that the user typed.
    """
    parts = understood(shelf, typed)
    scores = [_scores(shelf, part) for part in parts]
    total: dict[int, list[float]] = {}
    for found in scores:
        for place, score in found.items():
            total.setdefault(place, []).append(score)
    whole = {place: sum(found) for place, found in total.items() if len(found) == len(parts)}
    some = {place: sum(found) for place, found in total.items() if place not in whole}
    counts = tuple(map(len, scores))
    words = tuple(part.typed for part in parts)
    mistyped = tuple(word for word in plain(typed) if word not in stop() and mended(shelf, stem(word)) != stem(word))
    hits, near = ordered(shelf, whole), ordered(shelf, some)
    return Found(words, tuple(hits), tuple(near), counts, mistyped, {**hits, **near})


def ask_all(shelves: Sequence[Shelf], typed: str) -> list[tuple[Shelf, int]]:
    """Search all shelves for a typed text. Items with all words come first, then the others, each group best first.

    Args:
        shelves: the shelves to search.
        typed: the words that the user typed.
    """
    found = [(shelf, ask(shelf, typed)) for shelf in shelves]
    name = "_".join(typed.lower().split())

    def score(shelf: Shelf, each: Found, place: int) -> float:
        named = "_".join(shelf.items[place].title.lower().split()) == name
        return -each.scores[place] * (3.0 if named else _SHELVES.get(shelf.name, 1.0))

    hits = [(score(shelf, each, place), shelf, place) for shelf, each in found for place in each.hits]
    near = [(score(shelf, each, place), shelf, place) for shelf, each in found for place in each.near]
    return [(shelf, place) for part in (hits, near) for _, shelf, place in sorted(part, key=lambda told: told[0])]


def ordered(shelf: Shelf, scores: dict[int, float]) -> dict[int, float]:
    """Sort the scores, the best item first.

    After the best item of a group (a section or a page), the scores of its other items are lowered, so that one group
    does not fill the first screen.
    """
    seen: dict[str, int] = {}
    found = {}
    for place in sorted(scores, key=lambda place: (-scores[place], place)):
        group = shelf.items[place].group
        found[place] = scores[place] * _FURTHER ** seen.get(group, 0)
        seen[group] = seen.get(group, 0) + 1
    return {place: found[place] for place in sorted(found, key=lambda place: (-found[place], place))}


def understood(shelf: Shelf, typed: str) -> list[Part]:
    """Split the typed text into parts.

    A word that is not on the shelf is replaced by the nearest word on the shelf, so that phrases with a typo are found.

    Args:
        shelf: the shelf with the known words.
        typed: the words that the user typed.
    """
    words = plain(typed)
    stems = [stem(word) if word in stop() else mended(shelf, stem(word)) for word in words]
    found: list[Part] = []
    place = 0
    for start, end, numbers in (*phrases(stems), (len(stems), len(stems), ())):
        for word, each in zip(words[place:start], stems[place:start], strict=True):
            found += [Part(word, (each,))] if word not in stop() or len(words) == 1 else []
        if numbers:
            own = tuple(
                each for each, word in zip(stems[start:end], words[start:end], strict=True) if word not in stop()
            )
            found.append(Part(" ".join(words[start:end]), tuple(token(number) for number in numbers), own))
        place = end
    return found


def _scores(shelf: Shelf, part: Part) -> dict[int, float]:
    """Score each item for a part: by the best of the part's terms in it, and a little by a phrase's single words."""
    found: dict[int, float] = {}
    for option in part.terms:
        for place, score in _of_term(shelf, option):
            found[place] = max(found.get(place, 0.0), score)
    for word in part.words:
        for place, score in _of_term(shelf, word):
            if place in found:
                found[place] += _LITERAL * score / len(part.words)
    return found


def _of_term(shelf: Shelf, option: str) -> list[tuple[int, float]]:
    found = []
    for term, factor in meant(shelf, option):
        places = shelf.found(term)
        rarity = factor * shelf.rarity(len(places))
        found += [(place, rarity * level) for place, level in places]
    return found


def mended(shelf: Shelf, term: str) -> str:
    """Correct a term. A term is kept if it is known, begins a known term or starts a phrase.

    Otherwise, it is replaced by the most frequent of the nearest terms.
    """
    if term in starts():
        return term
    near = meant(shelf, term)
    if not near or near[0][1] != _MISTYPED:
        return term
    return max(near, key=lambda pair: len(shelf.found(pair[0])))[0]


def meant(shelf: Shelf, term: str) -> list[tuple[str, float]]:
    """The known terms that a term may mean: itself, else longer terms with this beginning, else the nearest terms."""
    if term in shelf.postings or term.startswith("~"):
        return [(term, 1.0)] if term in shelf.postings else []
    begun = [known for known in shelf.postings if len(term) > 2 and known.startswith(term)]
    if begun:
        return [(known, _BEGUN) for known in begun]
    most = 0 if len(term) < 4 else 1 if len(term) < 8 else 2
    far = {known: slips(term, known, most) for known in shelf.postings if most and known[0] != "~"}
    least = min(far.values(), default=most + 1)
    return [(known, _MISTYPED) for known, slip in far.items() if slip == least <= most]


def slips(one: str, other: str, most: int) -> int:
    """Count the edits between two words: a letter changed, added, left out, or exchanged with the next letter.

    If the count exceeds `most`, the result is `most` + 1.

    >>> slips("kernal", "kernel", 2), slips("tagnent", "tangent", 1), slips("ridge", "attention", 1)
    (1, 1, 2)
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before, row = [], list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                least = min(least, earlier[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
