"""Find duplicate rows, among the training rows or on both sides of the split into training and held-out rows."""

import dataclasses
import hashlib
import math

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import KDTree

from lemmata.core import array_of, real_numbers
from lemmata.errors import ShapeError

from ._missing_cells import as_points

_NEAR, _PERHAPS = 0.01, 0.1  # shares of the median distance between nearest rows
_BESIDE = 5  # the neighbour whose distance is the local scale of distances
_BY_CHANCE = 0.01  # the expected number of rows that are mistaken for duplicates
_FLATTEST = 3.0  # the least dimension m at which the rule for noisy duplicates is used
_SAMPLE = 512
_BLOCK = 64
_DIRECTIONS = 8


@dataclasses.dataclass(frozen=True)
class Copies:
    """The training rows and held-out rows that have duplicates among the training rows.

    Args:
        within: the training rows that equal or nearly equal another training row.
        held: the held-out rows that equal or nearly equal a training row. Empty without held-out rows.
        exact_within, exact_held: how many rows of `within` and of `held` equal another row exactly.
    """

    within: Bool[np.ndarray, " n"]
    held: Bool[np.ndarray, " m"]
    exact_within: int
    exact_held: int

    @property
    def share(self) -> float:
        """The share of training rows that have a duplicate."""
        return float(self.within.mean())


def find_copies(x: np.ndarray, held: np.ndarray | None = None) -> Copies:
    """Find exact and near duplicates of rows.

    A row is a near duplicate if another row is closer than 1/100 of the median distance between nearest distinct
    training rows. The median is over all training rows, or over 512 evenly spaced training rows if there are more. A
    second rule finds duplicates to which a little noise was added. The distance of such a row to another row must be
    below 1/10 of this median distance. The distance must also be below r times the distance of the row to its fifth
    nearest neighbour. The number r is so small that 0.01 rows are expected to be so close by chance. Among rows that
    fill m dimensions evenly, a share 4 r^m are so close. To find m, divide the distance of the second nearest neighbour
    of each row by the distance of the nearest. In m dimensions, the median of these ratios is about 2^(1/m). The second
    rule is used only if m is at least 3. Distances are Euclidean, over whole rows. Exact duplicates are found by a
    hash. A missing cell (NaN) becomes the mean of its column, and an added column marks missing cells (see
    `as_points`). Two missing cells are equal.

    For n rows of d numbers, the median costs 512 n d operations. The search in a tree of eight random projections of
    the rows costs about n log n operations. A projection never lengthens a distance, so no duplicate is missed. Each
    pair that is near in the tree is compared in full. If many rows are near each other without being equal, the cost is
    at worst the square of their number.

    Args:
        x: training rows (n, *row), where *row is the shape of one row.
        held: held-out rows (m, *row).

    Raises:
        ShapeError: if the rows have different shapes.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> found = find_copies(x, np.array([[0.0, 2.0], [5.0, 5.0]]))
    >>> found.within.tolist(), found.held.tolist(), found.exact_within
    ([False, True, False, True], [True, False], 2)
    """
    flat = _flat(x)
    others = np.zeros((0, flat.shape[1])) if held is None else _flat(held)
    if others.shape[1] != flat.shape[1]:
        raise ShapeError(
            "held-out rows",
            found=f"{others.shape[1]} numbers per row",
            rule=f"{flat.shape[1]} numbers per row, as in training",
        )
    flat, others = as_points(flat, others)
    places: dict[bytes, int] = {}
    own = np.array([places.setdefault(_hash(row), len(places)) for row in flat], int)
    exact = np.bincount(own)[own] > 1
    exact_held = np.array([_hash(row) in places for row in others], bool)
    distinct = flat[np.unique(own, return_index=True)[1]]  # in the order of their first occurrences
    within, seen = exact, exact_held
    if len(distinct) > 2:
        near = _Near(distinct, len(others))
        within = exact | near.copies(distinct, itself=True)[own]
        seen = exact_held.copy()
        seen[~exact_held] = near.copies(others[~exact_held])
    return Copies(within, seen, int(exact.sum()), int(exact_held.sum()))


def _flat(x: np.ndarray) -> Float[np.ndarray, "n d"]:
    given = array_of("rows", x)
    rows = np.asarray(real_numbers("rows", given) if given.dtype.kind in "US" else given, float)
    return np.ascontiguousarray(rows.reshape(len(rows), math.prod(rows.shape[1:]))) + 0.0  # -0 is 0


def _hash(row: Float[np.ndarray, " d"]) -> bytes:
    return hashlib.blake2b(row, digest_size=16).digest()  # pyright: ignore[reportArgumentType]


def nearest_distances(x: np.ndarray) -> tuple[Float[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Return the distance to the nearest other row for at most 512 evenly spaced rows, and the indices of these rows.

    Args:
        x: at least two rows (n, *row).
    """
    x = _flat(x)
    places = np.unique(np.linspace(0, len(x) - 1, _SAMPLE).astype(int))
    return _neighbours(x, x[places], 1, places)[:, 0], places


def _neighbours(
    x: Float[np.ndarray, "n d"], rows: Float[np.ndarray, "m d"], count: int, own: Int[np.ndarray, " m"] | None = None
) -> Float[np.ndarray, "m k"]:
    """Return the distances of rows to their nearest neighbours in x, in ascending order.

    Args:
        x: rows.
        rows: other rows, or some of the rows of x.
        count: the number of neighbours, at most the number of rows.
        own: the indices of `rows` in x. With these indices, a row is not counted as its own neighbour. None if `rows`
            are not in x.
    """
    squares, count = (x**2).sum(1), min(count, len(x) - (own is not None))
    found = [np.zeros((0, count))]
    for block in np.array_split(np.arange(len(rows)), -(-len(rows) // _BLOCK)) if len(rows) else []:
        distances = (rows[block] ** 2).sum(1)[:, None] + squares - 2 * rows[block] @ x.T
        if own is not None:
            distances[np.arange(len(block)), own[block]] = np.inf
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        # computed from differences of rows, because the squares cancel for near rows
        found.append(np.sort(np.linalg.norm(rows[block][:, None] - x[nearest], axis=2), axis=1))
    return np.concatenate(found)


class _Near:
    """A search for near duplicates of the given rows, by both rules of `find_copies`."""

    def __init__(self, rows: Float[np.ndarray, "n d"], others: int):
        self.rows = rows
        places = np.unique(np.linspace(0, len(rows) - 1, _SAMPLE).astype(int))
        first, second = _neighbours(rows, rows[places], 2, places).T
        unit = float(np.median(first))
        self.surely, self.perhaps, self.closer = _NEAR * unit, _PERHAPS * unit, 0.0
        grows = float(np.log(np.median(second / np.maximum(first, 1e-300))))
        dimension = np.log(2) / max(grows, 1e-3)
        if dimension >= _FLATTEST and len(rows) > _BESIDE + 1:
            self.closer = (_BY_CHANCE / ((_BESIDE - 1) * (len(rows) + others))) ** (1 / dimension)

    def copies(self, rows: Float[np.ndarray, "m d"], itself: bool = False) -> Bool[np.ndarray, " m"]:
        """Return, for each row, whether one of the stored rows is a near duplicate.

        If the rows are the stored rows (`itself`), a row does not count as its own duplicate.
        """
        found = _Search(self.rows, self.surely).has_near(rows, itself)
        if not self.closer:
            return found
        rest = np.flatnonzero(_Search(self.rows, self.perhaps).has_near(rows, itself) & ~found)
        distances = _neighbours(self.rows, rows[rest], _BESIDE, rest if itself else None)
        found[rest] = distances[:, 0] < self.closer * distances[:, -1]
        return found


class _Search:
    """A search for rows that are nearer than a limit to one of the given rows."""

    def __init__(self, rows: Float[np.ndarray, "n d"], limit: float):
        self.rows, self.limit = rows, limit
        drawn = np.random.default_rng(0).normal(size=(rows.shape[1], min(rows.shape[1], _DIRECTIONS)))
        self.directions, self.middle = np.linalg.qr(drawn)[0], rows.mean(0)
        projected = self._project(rows)
        # the second term is the largest effect of rounding on a distance of projections
        self.reach = limit + 64 * np.finfo(float).eps * np.sqrt(rows.shape[1]) * float(np.abs(projected).max(initial=0))
        self.tree = KDTree(projected)

    def _project(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.middle) @ self.directions

    def has_near(self, rows: Float[np.ndarray, "m d"], itself: bool = False) -> Bool[np.ndarray, " m"]:
        """Return whether each row is near a stored row. With `itself`, a row does not count as near itself."""
        found, projected = np.zeros(len(rows), bool), self._project(rows)
        if not len(rows):
            return found
        own = [1 + itself]
        nearest = self.tree.query(projected, k=own, distance_upper_bound=self.reach)[1]  # pyright: ignore[reportArgumentType]
        at = np.asarray(nearest)[:, 0]
        near = np.flatnonzero(at < len(self.rows))  # the tree returns n if there is no near row
        found[near] = self._apart(rows[near], self.rows[at[near]]) < self.limit
        for row in near[~found[near] | (itself & (at[near] == near))]:
            others = np.array(self.tree.query_ball_point(projected[row], self.reach), int)
            others = others[others != row] if itself else others
            found[row] = bool((self._apart(rows[row], self.rows[others]) < self.limit).any())
        return found

    @staticmethod
    def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.linalg.norm(a - b, axis=-1)
