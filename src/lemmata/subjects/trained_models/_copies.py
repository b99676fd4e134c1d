"""Rows that stand in the data twice, within training rows or on both sides of the split."""

import dataclasses
import hashlib

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from lemmata.errors import ShapeError

from ._missing_cells import as_points

_NEAR = 0.01
_SAMPLE = 512
_BLOCK = 64
_DIRECTIONS = 8


@dataclasses.dataclass(frozen=True)
class Copies:
    """Which rows are copies.

    Args:
        within: training rows that equal, or nearly, another training row.
        held: held-out rows that equal, or nearly, a training row; empty without held-out rows.
        exact_within, exact_held: how many of them are exact.
    """

    within: Bool[np.ndarray, " n"]
    held: Bool[np.ndarray, " m"]
    exact_within: int
    exact_held: int

    @property
    def share(self) -> float:
        """The share of training rows that have a copy."""
        return float(self.within.mean())


def find_copies(x: np.ndarray, held: np.ndarray | None = None) -> Copies:
    """Exact and near copies of rows.

    A row is nearly a copy where another row is closer than a hundredth of the median distance between nearest distinct
    training rows; the median is over all of them, or over 512 at even places where there are more. Distances are
    Euclidean, over all of a row; exact copies are found by a hash. A missing cell (NaN) is as far from a known one as
    the column spreads, and equals another one.

    Costs 512 n d operations for the median, and n log n for the search, in a tree of eight random projections of the
    rows: they make no distance longer, so that no copy is missed, and each pair that is near in them is looked at in
    full. Rows of which many are near each other without being equal cost the square of their number at worst.

    Args:
        x: training rows (n, *row).
        held: held-out rows (m, *row).

    Raises:
        ShapeError: for rows of different shapes.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> found = find_copies(x, np.array([[0.0, 2.0], [5.0, 5.0]]))
    >>> found.within.tolist(), found.held.tolist(), found.exact_within
    ([False, True, False, True], [True, False], 2)
    """
    flat = _flat(x)
    others = np.zeros((0, flat.shape[1])) if held is None else _flat(held)
    if others.shape[1] != flat.shape[1]:
        raise ShapeError("held rows", found=f"{others.shape[1]} numbers", rule=f"{flat.shape[1]}, as in training")
    flat, others = as_points(flat, others)
    places: dict[bytes, int] = {}
    own = np.array([places.setdefault(_hash(row), len(places)) for row in flat], int)
    exact = np.bincount(own)[own] > 1
    exact_held = np.array([_hash(row) in places for row in others], bool)
    distinct = flat[np.unique(own, return_index=True)[1]]  # in the order in which they first come
    within, seen = exact, exact_held
    if len(distinct) > 2:
        limit = _NEAR * float(np.median(nearest_distances(distinct)[0]))
        search = _Search(distinct, limit)
        within = exact | search.has_near(distinct, itself=True)[own]
        seen = exact_held.copy()
        seen[~exact_held] = search.has_near(others[~exact_held])
    return Copies(within, seen, int(exact.sum()), int(exact_held.sum()))


def _flat(x: np.ndarray) -> Float[np.ndarray, "n d"]:
    return np.ascontiguousarray(np.asarray(x, float).reshape(len(x), -1)) + 0.0  # -0 is 0


def _hash(row: Float[np.ndarray, " d"]) -> bytes:
    return hashlib.blake2b(row, digest_size=16).digest()  # pyright: ignore[reportArgumentType]


def nearest_distances(x: np.ndarray) -> tuple[Float[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """The distance to the nearest other row, of all rows or of 512 at even places, and these places.

    Args:
        x: at least two rows (n, *row).
    """
    x = _flat(x)
    squares, places = (x**2).sum(1), np.unique(np.linspace(0, len(x) - 1, _SAMPLE).astype(int))
    found = []
    for block in np.array_split(places, -(-len(places) // _BLOCK)):
        distances = squares[block][:, None] + squares - 2 * x[block] @ x.T
        distances[np.arange(len(block)), block] = np.inf
        # the difference itself, since the squares cancel for near rows
        found.append(np.linalg.norm(x[block] - x[distances.argmin(1)], axis=1))
    return np.concatenate(found), places


class _Search:
    """Which rows have one of the given rows nearer than a limit."""

    def __init__(self, rows: Float[np.ndarray, "n d"], limit: float):
        self.rows, self.limit = rows, limit
        drawn = np.random.default_rng(0).normal(size=(rows.shape[1], min(rows.shape[1], _DIRECTIONS)))
        self.directions, self.middle = np.linalg.qr(drawn)[0], rows.mean(0)
        projected = self._project(rows)
        # what rounding may add to a distance of projections
        self.reach = limit + 64 * np.finfo(float).eps * np.sqrt(rows.shape[1]) * float(np.abs(projected).max(initial=0))
        self.tree = KDTree(projected)

    def _project(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.middle) @ self.directions

    def has_near(self, rows: Float[np.ndarray, "m d"], itself: bool = False) -> Bool[np.ndarray, " m"]:
        """Whether each row has one of them near; where they are those rows, another one."""
        found, projected = np.zeros(len(rows), bool), self._project(rows)
        if not len(rows):
            return found
        own = [1 + itself]
        nearest = self.tree.query(projected, k=own, distance_upper_bound=self.reach)[1]  # pyright: ignore[reportArgumentType]
        at = np.asarray(nearest)[:, 0]
        near = np.flatnonzero(at < len(self.rows))  # the tree says n where there is none
        found[near] = self._apart(rows[near], self.rows[at[near]]) < self.limit
        for row in near[~found[near] | (itself & (at[near] == near))]:
            others = np.array(self.tree.query_ball_point(projected[row], self.reach), int)
            others = others[others != row] if itself else others
            found[row] = bool((self._apart(rows[row], self.rows[others]) < self.limit).any())
        return found

    @staticmethod
    def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linalg.norm(a - b, axis=-1)
