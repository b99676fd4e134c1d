"""Records of mutations: which false neighbours of a claim its trials refuted, and how near these neighbours were.

A mutation changes a claim slightly, into a false statement: a neighbour of the claim. A mutation is noticed if the
trials do not support the neighbour (for a refuted claim: do not refute it). The control is a false statement that the
claim itself names. The score is the share of mutations that the trials notice.
"""

import collections
import math
from collections.abc import Callable, Iterable
from typing import Any

from ._records import found_of, told_earlier

SIZES = ("1.05", "1.25", "0.1", "0.2", "sign", "effect", "roles")
"""The kinds of mutations that are counted: factors, exponents, signs, removed effects, and exchanged roles."""


WITHIN = ((0.01, 0.01), (0.05, 0.05), (0.1, 0.1), (0.25, 0.2), (1.0, 0.5), (9.0, 2.0))
"""Distances between a claim and a neighbour. Each pair is a factor minus 1 (or a share of the way to the control) and
a difference of exponents."""

_TOLD = WITHIN.index((0.25, 0.2))  # the last distance at which a claim is not weak

ALONE = "in component"
"""The words that mark a mutation of a single component."""


def mutated(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The record of mutations for a claim; None if there is no record, or if the claim's own code has changed.

    Args:
        entry: the claim's entry of the catalogue.
    """
    return found_of(entry, "mutations")


def is_weak(record: dict[str, Any] | None) -> bool:
    """Whether a claim is weak: for some kind of change, its trials refute only distant neighbours, or no neighbour.

    A neighbour is distant if it differs by more than a factor 1.25, a quarter of the way to the control, or 0.2 in an
    exponent. A claim that does not count in the score is never weak.

    >>> is_weak({"left": "", "nearest": [{"part": None, "way": "x", "unit": "factor", "amount": 0.26}]})
    True
    """
    return record is not None and not record["left"] and any(_place(own) > _TOLD for own in record["nearest"])


def told_mutations(record: dict[str, Any] | None) -> str:
    """The result of mutations, in a sentence; empty if there were none.

    If components were mutated alone, the sentence names only the component whose refuted neighbour is farthest.

    >>> nearest = [{"part": None, "way": "x", "unit": "factor", "amount": 0.031},
    ...            {"part": 0, "way": "x", "unit": "factor", "amount": 0.031},
    ...            {"part": 1, "way": "x", "unit": "factor", "amount": None}]
    >>> counts, survivors = {"1.25": [1, 0], "1.25 alone": [2, 1]}, ["x 1.25", "x 1.25 in component 1"]
    >>> told = told_mutations({"counts": counts, "survivors": survivors, "nearest": nearest, "left": ""})
    >>> for part in told.split("; "):
    ...     print(part)
    weak
    nearest refuted neighbours: × 1.031, × none up to 1000 in component 1
    1 of 3 mutations noticed
    missed: × 1.25, 1 of a single component
    """
    if record is None:
        return ""
    made, noticed = (sum(own[place] for own in record["counts"].values()) for place in (0, 1))
    told = [f"{noticed} of {made} mutations noticed"]
    near = [told_neighbour(own) for own in _farthest(record["nearest"])]
    if near:
        told.insert(0, f"{'weak; ' if is_weak(record) else ''}nearest refuted neighbours: {', '.join(near)}")
    whole = [_times(what) for what in record["survivors"] if ALONE not in what]
    alone = len(record["survivors"]) - len(whole)
    if record["survivors"]:
        told.append(f"missed: {', '.join([*whole, *([f'{alone} of a single component'] if alone else [])])}")
    if record["left"]:
        told.append(f"not counted in the score: {record['left']}")
    return "; ".join(told) + told_earlier(record)


def _farthest(nearest: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The neighbours of the whole prediction, and the farthest neighbour of a component for each kind of change."""
    alone = [own for own in nearest if own["part"] is not None]
    ways = {own["way"]: None for own in alone}
    far = lambda own: math.inf if own["amount"] is None else own["amount"]
    return [
        *(own for own in nearest if own["part"] is None),
        *(max((own for own in alone if own["way"] == way), key=far) for way in ways),
    ]


def told_neighbour(own: dict[str, Any]) -> str:
    """The nearest refuted neighbour for one kind of change, in words.

    >>> told_neighbour({"part": 2, "way": "tighter by", "unit": "factor", "amount": 7.1e-15})
    'tighter by 1 + 7.1e-15 in component 2'
    >>> told_neighbour({"part": None, "way": "+", "unit": "exponent", "amount": 0.0521})
    '+0.0521'
    >>> told_neighbour({"part": None, "way": "x", "unit": "factor", "amount": 7.1e-15})
    '× (1 + 7.1e-15)'
    """
    where = "" if own["part"] is None else f" in component {own['part']}"
    amount, between = own["amount"], " " if own["unit"] != "exponent" else ""
    if amount is None:
        far = {"factor": "1000", "exponent": "4", "share": "all of it"}[own["unit"]]
        return f"{_times(own['way'])}{between or ' '}none up to {far}{where}"
    told = f"{amount:.3g}"
    if own["unit"] == "factor":
        told = f"{1 + amount:.4g}" if amount >= 1e-3 else f"1 + {amount:.2g}"
        told = f"({told})" if " " in told and own["way"] in ("x", "/") else told
    return f"{_times(own['way'])}{between}{told}{where}"


def _times(way: str) -> str:
    """The name of a change, with the sign × instead of the letter x, which in prose would be a variable."""
    return f"×{way[1:]}" if way == "x" or way.startswith("x ") else way


def scores(found: dict[str, dict[str, Any]], by: Callable[[str, dict[str, Any]], str]) -> dict[str, dict[str, list]]:
    """The number of mutations of each size, and how many of them the trials noticed, for each group of claims.

    Only claims that are supported, and whose bounds are neither vacuous (beyond the trivial value) nor loose, are
    included. Besides the sizes, the key `claims` holds the number of claims, and "1.25 alone" holds mutations of a
    single component.

    Args:
        found: records of mutations by the claims' names.
        by: a function from a claim's name and record to its group.
    """
    told: dict[str, dict[str, list]] = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    for name, record in found.items():
        if record["left"] or not record["counts"]:
            continue
        own = told[by(name, record)]
        own["claims"][0] += 1
        for size, (made, noticed) in record["counts"].items():
            own[size][0] += made
            own[size][1] += noticed
    return {name: dict(told[name]) for name in sorted(told)}


def score_table(scored: dict[str, dict[str, list]], head: str) -> Iterable[str]:
    """The scores in percent, and the numbers of mutations, as lines of a Markdown table. The last line is the total.

    Args:
        scored: the result of `scores`.
        head: the name of the groups, which is the heading of the first column.
    """
    sizes = [*SIZES[:2], "1.25 alone", *SIZES[2:]]
    whole = {size: [sum(own.get(size, [0, 0])[place] for own in scored.values()) for place in (0, 1)]
             for size in ("claims", *sizes)}  # fmt: skip
    yield f"| {head} | claims | {' | '.join(sizes)} |"
    yield f"| --- | ---: |{' ---: |' * len(sizes)}"
    for name, own in [*scored.items(), ("all", whole)]:
        shares = [_share(*own.get(size, [0, 0])) for size in sizes]
        yield f"| {name} | {own['claims'][0]} | {' | '.join(shares)} |"


def _share(made: int, noticed: int) -> str:
    return f"{noticed / made:.0%} of {made}" if made else ""


def distance_table(found: dict[str, dict[str, Any]]) -> Iterable[str]:
    """The number of claims that refute neighbours at each distance, for each relation, as lines of a Markdown table.

    Each claim has a nearest refuted neighbour for each kind of change and each component. The claim is counted at the
    distance of the farthest of these neighbours, because the trials are least sensitive to its change. Only claims that
    count in the score are included.

    Args:
        found: records of mutations by the claims' names.
    """
    told: dict[str, list[int]] = collections.defaultdict(lambda: [0] * (len(WITHIN) + 1))
    for record in found.values():
        if not record["left"] and record["nearest"]:
            told[record["relation"]][max(map(_place, record["nearest"]))] += 1
    heads = [f"{1 + factor:g} or {exponent:g}" for factor, exponent in WITHIN]
    yield f"| relation | claims | {' | '.join(heads)} | farther |"
    yield f"| --- | ---: |{' ---: |' * (len(WITHIN) + 1)}"
    for name in sorted(told):
        yield f"| {name} | {sum(told[name])} | {' | '.join(map(str, told[name]))} |"


def _place(own: dict[str, Any]) -> int:
    """The column of a neighbour: the position in `WITHIN` of the first distance that is at least the neighbour's."""
    if own["amount"] is None:
        return len(WITHIN)
    ends = [end[own["unit"] == "exponent"] for end in WITHIN]
    return next((place for place, end in enumerate(ends) if own["amount"] <= end), len(WITHIN))
