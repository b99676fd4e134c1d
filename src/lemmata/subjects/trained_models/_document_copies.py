"""Find exact and near duplicates of documents. Near duplicates share most of their runs of five consecutive tokens.

The distance between tokens as numbers does not show the similarity of two documents. The similarity in this file is
Jaccard's, |A and B| / |A or B|, for the sets A and B of the shingles of two documents. A shingle is a run of five
consecutive tokens.
"""

import hashlib
import math

import numpy as np
from jaxtyping import Int, UInt

from lemmata.errors import ShapeError

from ._copies import Copies

LENGTH = 5
"""The number of tokens of a shingle. A document with fewer tokens is one shingle."""
ALIKE = 0.8
"""The smallest similarity at which two documents are near duplicates."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # an odd number; products with this number modulo 2^64 mix the bits


def find_document_copies(x: Int[np.ndarray, "n T"], held: Int[np.ndarray, "m S"] | None = None) -> Copies:
    """Find exact and near duplicates of documents.

    Two documents are near duplicates if they share at least 0.8 of all shingles that occur in at least one of them.
    Only pairs that share a shingle among the rarest fifth of their shingles are compared in full. Near duplicates share
    such a shingle, so no pair is missed. The cost is a sort of all shingles, and a comparison for each pair that shares
    a rare shingle. If many documents are near duplicates of each other, the number of comparisons is the square of
    their number.

    Args:
        x: training documents. Tokens k that do not count in the loss are stored as -1 - k. Tokens after the last token
            that counts are ignored.
        held: held-out documents.

    Raises:
        ShapeError: if the rows are not documents of equal length.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 50, (4, 200))
    >>> held = np.concatenate([x[:1], x[1:2], rng.integers(0, 50, (1, 200))])
    >>> held[1, 100] = 50
    >>> found = find_document_copies(x, held)
    >>> found.within.any(), found.held.tolist(), found.exact_held
    (np.False_, [True, True, False], 1)
    """
    others = x[:0] if held is None else held
    if x.ndim != 2 or others.ndim != 2 or others.shape[1] != x.shape[1]:
        raise ShapeError(
            "documents",
            found=f"shapes {x.shape} and {others.shape}",
            rule="(n, T) tokens, with the same T for training and held-out documents",
        )
    texts = [_text(row) for row in (*x, *others)]
    places: dict[bytes, int] = {}
    own = np.array([places.setdefault(hashlib.blake2b(text, digest_size=16).digest(), len(places)) for text in texts])
    first = np.unique(own, return_index=True)[1]  # the index of the first copy of each text
    n, known = len(x), np.zeros(len(first), bool)
    known[own[:n]] = True
    counts = np.bincount(own[:n], minlength=len(first))
    near = np.zeros(len(first), bool)
    a, b = near_pairs([shingles(np.frombuffer(texts[i], np.int64)) for i in first]).T
    near[a[known[b]]] = near[b[known[a]]] = True  # these texts have a near duplicate among the training documents
    exact, seen = counts[own[:n]] > 1, known[own[n:]]
    return Copies(exact | near[own[:n]], seen | near[own[n:]], int(exact.sum()), int(seen.sum()))


def _text(row: Int[np.ndarray, " T"]) -> bytes:
    """Return the tokens of a document, as bytes, up to the last token that counts."""
    counted = np.flatnonzero(row >= 0)
    row = row[: int(counted[-1]) + 1 if len(counted) else 0]
    return np.where(row < 0, -1 - row, row).astype(np.int64).tobytes()


def shingles(tokens: Int[np.ndarray, " t"], length: int = LENGTH) -> UInt[np.ndarray, " s"]:
    """Return the set of shingles of `length` tokens, each as a number of 64 bits, in ascending order.

    Args:
        tokens: the tokens of one document.
        length: the length of a shingle; a shorter document is one shingle.
    """
    length = min(length, len(tokens))
    if not length:
        return np.zeros(0, np.uint64)
    rows = np.lib.stride_tricks.sliding_window_view(tokens.astype(np.uint64), length)
    found = np.full(len(rows), length, np.uint64)
    for column in rows.T:
        found = (found ^ (column + np.uint64(1))) * _FACTOR
        found ^= found >> np.uint64(29)
    return np.unique(found)


def similarity(a: UInt[np.ndarray, " s"], b: UInt[np.ndarray, " t"]) -> float:
    """Return Jaccard's similarity of two sorted sets."""
    both = len(np.intersect1d(a, b, assume_unique=True))
    return both / max(len(a) + len(b) - both, 1)


def near_pairs(sets: list[np.ndarray], alike: float = ALIKE) -> Int[np.ndarray, "pairs 2"]:
    """Return all pairs of sets whose similarity is at least `alike`.

    A pair (A, B) of this kind shares at least alike |A| elements. Put all elements in a common order. Then B contains
    one of the first |A| - ceil(alike |A|) + 1 elements of A, and the same holds with A and B exchanged. So the first
    shared element is among these first elements of both sets. Elements are ordered by the number of sets that contain
    them, the rarest first.

    Args:
        sets: the sets, each as sorted numbers of its elements without repetitions.
        alike: the least similarity, in (0, 1].
    """
    none = np.zeros((0, 2), int)
    if sum(map(len, sets)) == 0:
        return none
    _, place, counts = np.unique(np.concatenate(sets), return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), int)
    rank[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    ends = np.cumsum([len(own) for own in sets])
    heads = [np.sort(part)[: head_length(len(part), alike)] for part in np.split(rank[place], ends[:-1])]
    element, owner = np.concatenate(heads), np.repeat(np.arange(len(sets)), [len(own) for own in heads])
    order = np.argsort(element, kind="stable")
    element, owner = element[order], owner[order]
    found, left = [], np.arange(len(element) - 1)
    for apart in range(1, len(element)):  # pairs of sets with the same element, at growing distances
        left = left[left + apart < len(element)]
        left = left[element[left] == element[left + apart]]
        if not len(left):
            break
        found.append(np.stack([owner[left], owner[left + apart]], axis=1))
    pairs = np.unique(np.concatenate(found), axis=0) if found else none
    sizes = np.array([len(own) for own in sets])[pairs]
    pairs = pairs[sizes.min(1) >= alike * sizes.max(1)] if len(pairs) else pairs
    near = [similarity(sets[a], sets[b]) >= alike for a, b in pairs.tolist()]
    return pairs[np.array(near, bool)]


def head_length(size: int, alike: float = ALIKE) -> int:
    """Return the number of the rarest elements of a set of this size that have to be searched (see `near_pairs`)."""
    return size - math.ceil(alike * size - 1e-9) + 1 if size else 0


def kept_by_replacing(shingled: int, replaced: float, length: int = LENGTH) -> float:
    """Return the least similarity of a document to its original after some tokens are replaced.

    A token is in at most `length` shingles. If the token is replaced, these shingles are lost, and as many new shingles
    appear.

    Args:
        shingled: the number of different shingles of the document.
        replaced: the number of replaced tokens.
        length: the length of a shingle.
    """
    lost = min(length * replaced, shingled)
    return float((shingled - lost) / (shingled + lost))
