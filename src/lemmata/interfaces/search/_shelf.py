"""A shelf is a search index: items that can be found, and for each term the items that have the term, with weights."""

import collections
import dataclasses
import math
from collections.abc import Sequence

from ._terms import counted

LEVELS = 15
"""The number of levels to which a term's weight in an item is rounded."""
_HALF = 3.0  # the weighted count at which an item has half of the largest score of a term
_LENGTH = 0.5  # how strongly the length of a field reduces its weight (the parameter b of BM25)


@dataclasses.dataclass(frozen=True)
class Item:
    """An item that a search can find.

    Args:
        name: the item's name for programs, such as a claim's or page's name.
        title: the title that people read.
        address: the address of the item's page on the site.
        about: a few words that are shown next to the title.
        group: the larger item that contains this item, such as a claim's section or a page.
        fields: the texts of this item, each with its weight.
    """

    name: str
    title: str
    address: str
    about: str
    group: str
    fields: tuple[tuple[float, str], ...]


@dataclasses.dataclass(frozen=True)
class Shelf:
    """A search index: items of one kind, and their terms.

    Args:
        name: the kind of the items, such as "claims".
        items: the items in their order.
        postings: for each term, the items that have it, as `packed` writes them.
    """

    name: str
    items: tuple[Item, ...]
    postings: dict[str, str]

    def found(self, term: str) -> list[tuple[int, int]]:
        """The positions of the items that have a term, each with the level of its weight, from 1 to `LEVELS`."""
        return unpacked(self.postings.get(term, ""))

    def rarity(self, number: int) -> float:
        """The weight of a term that occurs in this number of items: 1 for one item, less for more items."""
        return math.log(1 + len(self.items) / max(number, 1)) / math.log(1 + len(self.items))


def packed(found: Sequence[tuple[int, int]]) -> str:
    """Write positions and levels as one line of text.

    For each position there is one number: 16 times its distance from the previous position, plus its level.

    >>> packed([(0, 15), (40, 3)]), unpacked("f hv")
    ('f hv', [(0, 15), (40, 3)])
    """
    before, parts = 0, []
    for place, level in found:
        parts.append(_base36((place - before) * (LEVELS + 1) + level))
        before = place
    return " ".join(parts)


def unpacked(line: str) -> list[tuple[int, int]]:
    """Read positions and levels that `packed` has written."""
    place, found = 0, []
    for part in line.split():
        step, level = divmod(int(part, 36), LEVELS + 1)
        place += step
        found.append((place, level))
    return found


def _base36(value: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def shelf(name: str, items: Sequence[Item]) -> Shelf:
    """Make the shelf of some items.

    Args:
        name: the kind of the items.
        items: the items, each with the same fields.
    """
    told = [[(weight, counted([text])) for weight, text in item.fields] for item in items]
    fields = max((len(each) for each in told), default=0)
    sizes = [[sum(found.values()) for _, found in each] for each in told]
    usual = [sum(size[place] for size in sizes) / len(sizes) or 1.0 for place in range(fields)]
    postings: dict[str, list[tuple[int, int]]] = collections.defaultdict(list)
    for number, (each, size) in enumerate(zip(told, sizes, strict=True)):
        weights: dict[str, float] = collections.defaultdict(float)
        for place, (weight, found) in enumerate(each):
            share = weight / (1 - _LENGTH + _LENGTH * size[place] / usual[place])
            for term, count in found.items():
                weights[term] += share * count
        for term, weight in weights.items():
            postings[term].append((number, max(1, round(LEVELS * weight / (weight + _HALF)))))
    return Shelf(name, tuple(items), {term: packed(found) for term, found in sorted(postings.items())})
