"""Clauses of at most k literals over binary columns: all clauses, and the clauses that remain after deletion.

A literal is a column or its negation, and a clause is the OR of its literals.
"""

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Int, UInt

from lemmata.errors import SettingError

MOST = 12_000_000  # largest number of clauses that are enumerated
_CHUNK = 2**22  # largest number of words of bits in memory at a time
_EXHAUSTED = 14  # largest number of inputs for which a formula is compared on all 2^n points

Clauses = Int[np.ndarray, "_ _"]
"""One clause in each row. Literal j stands for column j of the data, and literal n + j for its negation."""


def clause_count(n: int, k: int) -> int:
    """Return the number of clauses of 1 to k literals over n columns, if no clause contains a column twice.

    >>> clause_count(4, 3)  # 8 C(4, 3) + 4 C(4, 2) + 2 * 4
    64
    """
    return sum(2**size * math.comb(n, size) for size in range(1, min(k, n) + 1))


def all_clauses(n: int, size: int) -> Clauses:
    """Return all clauses of exactly `size` literals, with the literals in ascending order."""
    found = np.arange(2 * n, dtype=np.int32)[:, None]
    for _ in range(size - 1):
        room = 2 * n - 1 - found[:, -1]
        first = np.repeat(found, room, axis=0)
        starts = np.cumsum(room) - room
        last = (np.arange(len(first)) - np.repeat(starts, room) + first[:, -1] + 1).astype(np.int32)
        usable = (first != (last - n)[:, None]).all(axis=1)
        found = np.column_stack([first[usable], last[usable]])
    return found


def surviving(rows: Bool[np.ndarray, "m n"], k: int) -> tuple[list[Clauses], Bool[np.ndarray, " m"]]:
    """Return the clauses that every row satisfies, except the clauses that a shorter clause among them implies.

    The second result states for each row whether this row alone deletes some clause.

    Deletion begins with all clauses and removes each clause that a row violates (on which it is false). A row deletes a
    clause alone if no other row violates this clause.

    Args:
        rows: the values of the columns, true or false.
        k: the largest number of literals in a clause.

    Raises:
        SettingError: if there are more clauses than can be enumerated.
    """
    m, n = rows.shape
    count = clause_count(n, k)
    if count > MOST:
        raise SettingError(
            "k", found=f"{k}, which gives {count:.3g} clauses over {n} columns", rule=f"at most {MOST:.3g} clauses",
            remedy="choose a smaller k or use fewer columns",
        )  # fmt: skip
    false = _false_literals(rows)
    alone = np.zeros(m, bool)
    kept: list[Clauses] = []
    alive = np.zeros(0, np.int64)
    for size in range(1, min(k, n) + 1):
        every, left = all_clauses(n, size), []
        for part in _parts(every, false.shape[1]):
            violated = np.bitwise_and.reduce(false[part], axis=1)
            times = np.bitwise_count(violated).sum(axis=1, dtype=np.int64)
            left.append(times == 0)
            once = violated[times == 1]
            alone |= _unpacked(np.bitwise_or.reduce(once, axis=0, initial=0), m)
        survivors = every[np.concatenate(left)]
        kept.append(survivors[~_has_part(survivors, alive, n)])
        alive = np.sort(_keys(survivors, n))
    return kept, alone


def satisfied(rows: Bool[np.ndarray, "m n"], clauses: list[Clauses]) -> Bool[np.ndarray, " m"]:
    """Return, for each row, whether the row satisfies every clause."""
    false, m = _false_literals(rows), len(rows)
    violated = np.zeros(false.shape[1], np.uint64)
    for group in clauses:
        for part in _parts(group, false.shape[1]):
            violated |= np.bitwise_or.reduce(np.bitwise_and.reduce(false[part], axis=1), axis=0, initial=0)
    return ~_unpacked(violated, m)


def shortest_first(n: int, clauses: list[Clauses]) -> list[tuple[int, ...]]:
    """Return the clauses as tuples; for few columns, leave out clauses that are not needed.

    For up to 14 columns, return only clauses that together define the formula at all 2^n points.

    The choice is greedy: the next clause is the one that excludes the most further points.
    """
    each = [tuple(int(literal) for literal in clause) for group in clauses for clause in group]
    if n > _EXHAUSTED or not each:
        return each
    points = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
    false = _false_literals(points)
    excluded = np.vstack(
        [np.bitwise_and.reduce(false[part], axis=1) for group in clauses for part in _parts(group, false.shape[1])]
    )
    chosen, left = [], np.bitwise_or.reduce(excluded, axis=0)
    while left.any():
        gains = np.bitwise_count(excluded & left).sum(axis=1, dtype=np.int64)
        best = int(gains.argmax())
        chosen.append(best)
        left = left & ~excluded[best]
    return [each[place] for place in sorted(chosen)]


def _false_literals(rows: np.ndarray) -> UInt[np.ndarray, "literals words"]:
    """Return for each literal one bit per row: whether the literal is false in this row."""
    m, n = rows.shape
    false = np.zeros((2 * n, 64 * max(-(-m // 64), 1)), np.uint8)
    false[:n, :m], false[n:, :m] = ~rows.T, rows.T
    return np.packbits(false, axis=1, bitorder="little").view(np.uint64)


def _unpacked(words: np.ndarray, m: int) -> np.ndarray:
    return np.unpackbits(words.astype(np.uint64).view(np.uint8), bitorder="little")[:m].astype(bool)


def _parts(clauses: np.ndarray, words: int) -> Iterator[np.ndarray]:
    size = max(_CHUNK // (words * clauses.shape[1]), 1)
    for start in range(0, len(clauses), size):
        yield clauses[start : start + size]


def _keys(clauses: np.ndarray, n: int) -> np.ndarray:
    places = (2 * n) ** np.arange(clauses.shape[1], dtype=np.int64)
    return clauses.astype(np.int64) @ places


def _has_part(clauses: np.ndarray, alive: np.ndarray, n: int) -> np.ndarray:
    """Return for each clause whether `alive` contains this clause without one of its literals."""
    found = np.zeros(len(clauses), bool)
    if not len(alive) or clauses.shape[1] == 1:
        return found
    for left_out in range(clauses.shape[1]):
        keys = _keys(np.delete(clauses, left_out, axis=1), n)
        found |= alive[np.minimum(np.searchsorted(alive, keys), len(alive) - 1)] == keys
    return found
