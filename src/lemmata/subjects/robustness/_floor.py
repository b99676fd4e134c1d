"""The smallest possible robust error of a classifier on given rows, from disjoint pairs of rows whose balls meet."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from lemmata.answers import Condition
from lemmata.core import array_of, available_bytes, missing_in, numbers_of
from lemmata.errors import DataError, MemoryPlanError, SettingError, ShapeError
from lemmata.printable import preformatted

_METRICS: dict[str, Any] = {"linf": "chebyshev", "l2": "euclidean", "l1": "cityblock"}
_CLAIMS = ("robustness.floors.floor_of_robust_error",)
_SLACK = 1e-12  # relative margin, so that balls that touch are in conflict in spite of rounding
_BLOCK = 2**22  # number of distances that are computed at a time
_BYTES = 64  # bytes of memory for each conflict, at the peak


@dataclasses.dataclass(frozen=True, eq=False)
class RobustFloor:
    """The smallest possible robust 0-1 error of a classifier on given rows.

    A row counts as a robust error if the classifier errs somewhere in the ball around the row. Two rows of different
    classes are in conflict if their balls meet.

    Args:
        radii: the radii of the balls, as passed by the caller.
        floors: for each radius, a lower bound on the robust error of every classifier, as a share of the rows.
        reached: for each radius, the robust error of one classifier. The answer of this classifier is the class of the
            nearest row outside the cover (see `covers`). Each row of the cover is in conflict with a row outside, so it
            counts as an error.
        pairs: for each radius, the pairs of rows in conflict that prove `floors`, as positions of the two rows. With
            two classes, each row occurs at most once, and each pair counts as one error. With more classes, a row may
            occur twice, and each pair counts as half an error.
        covers: for each radius, positions of rows such that every conflict contains at least one of them.
        conflicts: for each radius, the number of pairs in conflict.
        separation: half of the smallest distance between rows of different classes. At radii below this number,
            `floors` is 0.
        norm: the norm in which distances are measured.
        classes: the number of classes.
        rows: the number of rows.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    radii: Float[np.ndarray, " r"]
    floors: Float[np.ndarray, " r"]
    reached: Float[np.ndarray, " r"]
    pairs: tuple[np.ndarray, ...]
    covers: tuple[np.ndarray, ...]
    conflicts: Int[np.ndarray, " r"]
    separation: float
    norm: str
    classes: int
    rows: int
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def exact(self) -> bool:
        """Whether a classifier with the errors `floors` was found. Otherwise, `floors` are only lower bounds."""
        return bool((self.floors == self.reached).all())

    def __str__(self) -> str:
        word = "floor" if self.exact else "bound"
        lines = [f"{'radius':>10}{word:>10}{'reached':>10}{'conflicts':>11}"]
        numbers = zip(self.radii, self.floors, self.reached, self.conflicts, strict=True)
        lines += [f"{radius:>10.4g}{low:>10.4g}{high:>10.4g}{count:>11}" for radius, low, high, count in numbers]
        least = f"no conflict below {self.separation:.4g}" if self.separation else "some rows of two classes are equal"
        lines.append(f"{self.rows} rows, {self.classes} classes, {self.norm}: {least}")
        if not self.exact:
            lines.append("with more than two classes, the numbers are lower bounds of every classifier's error")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of `floors` against the radius."""
        import altair as alt

        numbers = zip(self.radii.tolist(), self.floors.tolist(), strict=True)
        rows = [{"radius": radius, "floor": value} for radius, value in numbers]
        word = "least robust error" if self.exact else "lower bound of the robust error"
        return (
            alt.Chart(alt.Data(values=rows))
            .mark_line(point=True)
            .encode(
                x=alt.X("radius:Q", title=f"radius ({self.norm})", axis=alt.Axis(grid=False)),
                y=alt.Y("floor:Q", title=word, axis=alt.Axis(grid=False)),
                tooltip=[alt.Tooltip("radius:Q", format=".4g"), alt.Tooltip("floor:Q", title=word, format=".4g")],
            )
            .properties(width=320, height=220)
        )


def robust_floor(x: Any, y: Any, radius: Any, norm: str = "linf") -> RobustFloor:
    """Return the smallest possible robust error of a classifier on these rows, if each row may move by at most
    `radius`.

    Two rows of different classes are in conflict if their distance is at most twice the radius. Then no classifier is
    right on all points of the balls of both rows. With two classes, the smallest error is the largest number of
    disjoint pairs in conflict, divided by the number of rows. With more classes, the result is a lower bound on the
    smallest error, from linear programming.

    Args:
        x: inputs, (n, d).
        y: the class of each row.
        radius: one number or several numbers, each at least 0. Distances are computed only once for all radii.
        norm: "linf", "l2" or "l1".

    Raises:
        SettingError: if a radius is negative or not finite, or the norm is unknown.
        DataError, ShapeError: if the shapes of x and y do not fit each other, or if there is only one class.
        MemoryPlanError: if the pairs in conflict do not fit into memory.

    Example:
        >>> print(robust_floor([[0.0], [1.0], [4.0], [9.0]], ["a", "b", "a", "b"], [0.4, 0.5, 2.5]))
            radius     floor   reached  conflicts
               0.4         0         0          0
               0.5      0.25      0.25          1
               2.5       0.5       0.5          3
        4 rows, 2 classes, linf: no conflict below 0.5
    """
    if not isinstance(norm, str) or norm not in _METRICS:
        raise SettingError("norm", found=repr(norm), rule=f"one of {', '.join(_METRICS)}")
    radii, table, labels = _radii(radius), _table(x), _labels(y)
    if len(labels) != len(table):
        raise ShapeError("y", found=f"{len(labels)} classes", rule=f"{len(table)} classes, one for each row of x")
    classes = int(labels.max()) + 1
    if classes < 2:
        raise DataError("y", found="one class", rule="at least two classes, because rows of one class have no conflict")
    exponent = int(np.frexp(np.abs(table).max())[1])  # a power of 2, so that no squares overflow
    scaled = np.ldexp(table, -exponent)
    with np.errstate(over="ignore"):  # a radius that overflows becomes inf, and all rows are in reach
        reach = 2 * np.ldexp(radii, -exponent) * (1 + _SLACK)
    pairs, gaps, least = _conflicts(scaled, labels, norm, float(reach.max()))
    found = [_cover(pairs[gaps <= own], labels, classes) for own in reach]
    counts = [len(proof) if classes == 2 else -(-len(proof) // 2) for proof, _ in found]
    return RobustFloor(
        radii, np.array(counts) / len(labels), np.array([len(cover) for _, cover in found]) / len(labels),
        tuple(proof for proof, _ in found), tuple(cover for _, cover in found),
        np.array([int((gaps <= own).sum()) for own in reach]), float(np.ldexp(least, exponent - 1)), norm, classes,
        len(labels), _conditions(scaled, labels, int((gaps <= reach.max()).sum())),
    )  # fmt: skip


def _radii(radius: Any) -> Float[np.ndarray, " r"]:
    array = array_of("radius", radius)
    if array.dtype.kind not in "iuf" or array.ndim > 1 or not array.size:
        raise SettingError("radius", found=" ".join(repr(radius).split())[:60], rule="a number, or a list of numbers",
                           remedy="pass one list of at least one number")  # fmt: skip
    radii = np.atleast_1d(array.astype(float))
    wrong = radii[~(np.isfinite(radii) & (radii >= 0))]
    if wrong.size:
        raise SettingError("radius", found=f"{wrong[0]:g}", rule="finite numbers of at least 0")
    return radii


def _table(x: Any) -> Float[np.ndarray, "n d"]:
    given = array_of("x", x)
    if given.ndim != 2:
        remedy = "use x.reshape(len(x), -1)" if given.ndim > 2 else None
        raise ShapeError("x", found=f"shape {given.shape}", rule="shape (n, d), one row for each point", remedy=remedy)
    table = numbers_of("x", given)
    if table.dtype.kind in "iu" and int(np.abs(table.astype(float)).max()) > 2**53:
        raise DataError("x", found="whole numbers above 2^53", rule="numbers of double precision",
                        remedy="subtract a common offset from the column")  # fmt: skip
    return table.astype(float)


def _labels(y: Any) -> Int[np.ndarray, " n"]:
    """Return the class of each row as a whole number, counted from 0."""
    given = array_of("y", y)
    if given.ndim != 1:
        raise ShapeError("y", found=f"shape {given.shape}", rule="shape (n,), one class for each row")
    missing = missing_in(given)
    if missing:
        raise DataError("y", found=f"{missing} missing entries", rule="one class for each row",
                        remedy="drop rows without a class")  # fmt: skip
    try:
        return np.unique(given, return_inverse=True)[1].reshape(-1)
    except TypeError as error:
        raise DataError("y", found="classes of several types", rule="only numbers or only texts",
                        remedy="convert them to texts, for example list(map(str, y))") from error  # fmt: skip


def _conflicts(
    table: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], norm: str, reach: float
) -> tuple[Int[np.ndarray, "m 2"], Float[np.ndarray, " m"], float]:
    """Return the pairs of rows of different classes within distance `reach`, their distances, and the least distance of
    all pairs of rows of different classes.

    The row of the smaller class comes first in a pair.
    """
    pairs, gaps, least, held, most = [], [], np.inf, 0, available_bytes() // _BYTES
    for number in range(int(labels.max())):
        own, others = np.flatnonzero(labels == number), np.flatnonzero(labels > number)
        step = max(1, _BLOCK // len(others))
        for start in range(0, len(own), step):
            rows = own[start : start + step]
            apart = _distances(table[rows], table[others], norm)
            least = min(least, float(apart.min()))
            first, second = np.nonzero(apart <= reach)
            held += len(first)
            if held > most:
                raise MemoryPlanError("conflicts", found=f"more than {most} pairs", rule="pairs that fit into memory",
                                      remedy="use a smaller radius or fewer rows")  # fmt: skip
            pairs.append(np.stack([rows[first], others[second]], axis=1))
            gaps.append(apart[first, second])
    return np.concatenate(pairs), np.concatenate(gaps), least


def _distances(first: np.ndarray, second: np.ndarray, norm: str) -> Float[np.ndarray, "a b"]:
    apart = cdist(first, second, _METRICS[norm])
    if norm == "l2" and (apart < 1e-140).any():  # squares of small differences underflow
        largest = cdist(first, second, _METRICS["linf"])
        for i, j in zip(*np.nonzero((apart < 1e-140) & (largest > 0)), strict=True):
            apart[i, j] = largest[i, j] * np.linalg.norm((first[i] - second[j]) / largest[i, j])
    return apart


def _cover(
    pairs: Int[np.ndarray, "m 2"], labels: Int[np.ndarray, " n"], classes: int
) -> tuple[Int[np.ndarray, "k 2"], Int[np.ndarray, " c"]]:
    """Return pairs of rows that prove a lower bound on the error, and a cover: rows such that every conflict contains
    one of these rows.

    The pairs are a largest matching in the bipartite graph of conflicts. With more than two classes, each row occurs on
    both sides of the graph. Then half of the matching is a fractional matching of the rows.
    """
    both = pairs if classes == 2 else np.concatenate([pairs, pairs[:, ::-1]])
    n = len(labels)
    graph = sparse.csr_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), (n, n))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    proof = np.stack([np.flatnonzero(partner >= 0), partner[partner >= 0]], axis=1)
    first, second = _reached(graph, partner)
    first = ~first & (np.diff(graph.indptr) > 0)
    if classes == 2:
        return proof, np.flatnonzero(first | second)
    return proof, np.flatnonzero(~_kept(graph, ~(first | second), first ^ second, labels))


def _kept(
    graph: sparse.csr_array, kept: Bool[np.ndarray, " n"], halves: Bool[np.ndarray, " n"], labels: Int[np.ndarray, " n"]
) -> Bool[np.ndarray, " n"]:
    """Search twice for a maximal set of rows without conflicts, and return the larger of the two sets.

    In the linear program for a fractional cover, each row has the value 0 (`kept`), 1/2 (`halves`) or 1. Rows of value
    0 are in conflict only with rows of value 1. Rows of one class are not in conflict with each other. So the rows of
    value 0 can be kept together with rows of value 1/2 of one class. If this is the most frequent class of value 1/2,
    the share of rows that are not kept is at most 2(1 - 1/classes) times the lower bound on the error.
    """
    most = int(np.bincount(labels[halves], minlength=1).argmax())
    order = np.argsort(np.diff(graph.indptr), kind="stable")  # rows with few conflicts come first
    found = []
    for start in (kept | (halves & (labels == most)), kept):
        chosen = start.copy()
        barred = (graph @ chosen.astype(np.int64)) > 0
        for row in order[~chosen[order]]:
            if not barred[row]:
                chosen[row] = True
                barred[graph.indices[graph.indptr[row] : graph.indptr[row + 1]]] = True
        found.append(chosen)
    return max(found, key=np.count_nonzero)


def _reached(
    graph: sparse.csr_array, partner: Int[np.ndarray, " n"]
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Return the rows on each side of the bipartite graph that alternating paths reach from unmatched rows of the first
    side (König's construction).
    """
    mate = np.full(len(partner), -1)
    mate[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    first, second = partner < 0, np.zeros(len(partner), bool)
    first &= np.diff(graph.indptr) > 0
    fresh = np.flatnonzero(first)
    while fresh.size:
        near = np.unique(graph[fresh].indices)
        near = near[~second[near]]
        second[near] = True
        fresh = mate[near]
        fresh = fresh[~first[fresh]]
        first[fresh] = True
    return first, second


def _conditions(table: np.ndarray, labels: np.ndarray, conflicts: int) -> tuple[Condition, ...]:
    _, places = np.unique(table, axis=0, return_inverse=True)
    kinds = len(np.unique(np.stack([places.reshape(-1), labels]), axis=1).T)
    twice = kinds - len(np.unique(places))
    return (
        Condition("inputs with two classes", float(twice), twice == 0, "they are in conflict at every radius"),
        Condition(
            "some rows are in conflict at the largest radius",
            float(conflicts),
            conflicts > 0,
            "a floor of 0 does not show robustness, because new rows may be in conflict",
        ),
        Condition("the numbers also hold for new rows", None, None, "the numbers are counts on these rows"),
    )
