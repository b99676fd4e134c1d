"""Find directions of large variance that a backdoor causes in the features of a class."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.answers import Condition, inside
from lemmata.core import check_numbers
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._bulk import FEWEST, Bulk, bulk_of
from ._class_comparison import FEWEST as CLASSES
from ._class_comparison import Compared, compared_classes
from ._poisoning import spiked_overlap
from ._two_groups import TwoGroups, two_groups

_ROWS = 8  # smallest number of distinct rows of a class


@dataclasses.dataclass(frozen=True)
class ClassSpectrum:
    """The largest eigenvalue of the features of one class, and whether it shows rows that do not belong to the class.

    Args:
        label, n: the class and the number of its rows.
        visible: whether the rows of the class form two groups along a direction with more variance than clean rows
            have. None if this cannot be decided.
        noise: the variance of the noise in each direction, from the median eigenvalue and the Marchenko-Pastur
            distribution.
        eigenvalue, edge: the largest eigenvalue of the covariance, and (1 + sqrt(gamma))² noise, the upper end of the
            eigenvalues of noise.
        spike: the number l = fraction (1 - fraction) shift²/noise that would explain the eigenvalue, if a fraction of
            the rows is shifted. The spike is 0 if noise explains the eigenvalue, and None if the noise is not
            isotropic.
        threshold: sqrt(gamma), where gamma = d/n for n distinct rows in d dimensions. A spike below the threshold does
            not change the largest eigenvalue.
        unseen: a spike below this number would not be detected at the level of the report. A larger spike is detected
            if its rows form a separate group. If the noise is isotropic, the unit is `noise`. Otherwise the unit is the
            variance within the other classes, by which rows are whitened. None if neither noise nor other classes can
            serve as a reference.
        overlap: the squared cosine between the first eigenvector and the direction of the shift, predicted from the
            spike.
        chance: the probability that a clean class has at least this largest eigenvalue, if the conditions hold. None if
            undecided.
        suspicious: the rows of the smaller of the two groups, as positions in the input; empty if not visible.
        conditions: the conditions for the result.
        found: the result in words.
    """

    label: int
    n: int
    visible: bool | None
    noise: float
    eigenvalue: float
    edge: float
    spike: float | None
    threshold: float
    unseen: float | None
    overlap: float | None
    chance: float | None
    suspicious: tuple[int, ...]
    conditions: tuple[Condition, ...]
    found: str

    def __str__(self) -> str:
        first = f"class {self.label}: {self.n} rows, {self.found}"
        return "\n".join([first, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)


@dataclasses.dataclass(frozen=True)
class BackdoorReport:
    """The evidence, in the covariance eigenvalues of each class's features, for rows that do not belong to the class.

    Args:
        classes: one result for each class.
        level: the largest probability that any class of clean features is called visible, if the conditions hold.
        claims: names of the claims that state the threshold and the overlap.
    """

    classes: tuple[ClassSpectrum, ...]
    level: float
    claims: tuple[str, ...] = (
        "robustness.backdoors.overlap_of_the_top_eigenvector",
        "robustness.backdoors.top_eigenvalue_of_a_backdoor",
    )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of all classes."""
        return tuple(rule for own in self.classes for rule in own.conditions)

    def __str__(self) -> str:
        return "\n".join(map(str, self.classes))

    def _repr_html_(self) -> str:
        return preformatted(self)


def backdoor_report(features: ArrayLike, labels: ArrayLike, *, level: float = 0.05) -> BackdoorReport:
    """Find classes whose features form two groups along a direction of large variance, and list the smaller groups.

    If a fraction of a class's rows is shifted by one vector, the covariance of the class gains a spike: extra variance
    in one direction. Clean features also have directions of large variance. So the function first looks for a
    reference, with which the largest eigenvalue is compared, and the result names the reference:

    * If the eigenvalues of a class fit isotropic noise (the Marchenko-Pastur distribution), the noise is the
      reference. The threshold of Baik, Ben Arous and Péché is the smallest spike that is visible at this number of
      rows. The overlap, a squared cosine, says how well the first eigenvector shows the direction of the shift.
    * Otherwise the other classes are the reference, if there are at least four classes. The rows of the class are
      whitened by the covariance within the other classes, and the top eigenvalue is compared with the top eigenvalues
      of the other classes.
    * Without a reference, the class is undecided. One direction of a single class cannot be distinguished from clean
      structure.

    A class is visible if its top eigenvalue is above the reference, and its rows fall into two groups along the
    eigenvector. Two groups mean that two normal distributions fit the rows far better than one, with a valley between
    them. If more than half of the classes form two groups, these classes are undecided, because a backdoor affects few
    classes. Duplicates of a row count once. Columns that are constant or copies of other columns are left out.

    Args:
        features: one row for each example.
        labels: the class of each example, a whole number.
        level: the largest allowed probability that any class of clean features is called visible.

    Raises:
        ShapeError, DataError: if the shapes of features and labels do not fit each other, a number is not finite, or a
            class has fewer than 8 rows.
        SettingError: if no class varies, or the level is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> rows = np.random.default_rng(0).normal(size=(400, 40))
        >>> rows[:20, 0] += 8.0
        >>> print(backdoor_report(rows, np.zeros(400, int)))
        class 0: 400 rows, top eigenvalue 4.07, bulk up to 1.7: a spike of 3.01, squared cosine 0.96, 20 rows to look at
        >>> print(backdoor_report(rows, np.zeros(400, int)).classes[0].conditions[0])
        eigenvalues that do not fit isotropic rows: holds (2.21)
    """
    level = inside("level", level, 0.0, 1.0)
    table, given, size = _read(features, labels)
    names = np.unique(given)
    groups = [_Group(table, np.flatnonzero(given == label)) for label in names]
    dimension = _dimension([group.moved for group in groups], np.asarray(features).dtype)
    read = _readings(groups, dimension, size * size, level / len(names))
    if 2 * (many := sum(bool(reading.visible) for reading in read)) > len(read) > 1:
        read = [_shared(reading, many, len(read)) for reading in read]
    classes = [dataclasses.replace(reading, label=int(label)) for label, reading in zip(names, read, strict=True)]
    return BackdoorReport(tuple(classes), level)


class _Group:
    """The distinct rows of a class, minus their mean, and the positions of all its rows.

    Args:
        table: the rows of all classes.
        where: the positions of the class's rows in the table.
    """

    def __init__(self, table: Float[np.ndarray, "rows d"], where: np.ndarray):
        self.where, self.n = where, len(where)
        distinct, self.which = np.unique(table[where], axis=0, return_inverse=True)
        self.n_distinct = len(distinct)
        self.moved = distinct - distinct.mean(axis=0)

    def positions(self, chosen: np.ndarray) -> tuple[int, ...]:
        """Return the positions, in the input, of the chosen distinct rows and of their duplicates."""
        return tuple(int(row) for row in self.where[np.isin(self.which.ravel(), np.flatnonzero(chosen))])


def _read(features: ArrayLike, labels: ArrayLike) -> tuple[Float[np.ndarray, "n d"], np.ndarray, float]:
    """Return the features divided by their largest absolute value, the labels, and this largest value. Constant and
    repeated columns are left out.
    """
    table, given = np.asarray(features), np.asarray(labels)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ShapeError(
            "features", found=f"shape {table.shape}", rule="one row for each example, and at least 2 columns"
        )
    if given.shape != (len(table),):
        raise ShapeError("labels", found=f"shape {given.shape}", rule=f"shape ({len(table)},), one class for each row")
    if not np.issubdtype(given.dtype, np.integer):
        raise DataError("labels", found=f"entries of type {given.dtype}", rule="classes that are whole numbers")
    check_numbers("features", table)
    for label, count in zip(*np.unique(given, return_counts=True), strict=True):
        if count < _ROWS:
            raise DataError(f"class {label}", found=f"{count} rows", rule=f"at least {_ROWS} rows in each class",
                            remedy="add rows, or leave out the class")  # fmt: skip
    table = table.astype(float)
    size = float(np.abs(table).max()) or 1.0
    table = table / size
    varies = np.zeros(table.shape[1], bool)
    for label in np.unique(given):
        varies |= np.ptp(table[given == label], axis=0) > 0
    if not varies.any():
        raise SettingError("features", found="classes without variance", rule="columns that vary within a class")
    _, first = np.unique(table[:, varies], axis=1, return_index=True)
    return table[:, np.flatnonzero(varies)[np.sort(first)]], given, size


def _dimension(moved: list[np.ndarray], dtype: np.dtype) -> int:
    """Return the rank of all rows minus their class means, or the number of columns if there are fewer rows than
    columns.
    """
    rows = np.concatenate(moved)
    columns, free = rows.shape[1], len(rows) - len(moved)
    if columns > free:
        return columns
    singular = np.linalg.svd(rows, compute_uv=False)
    eps = np.finfo(dtype if np.issubdtype(dtype, np.floating) else float).eps
    return int((singular > singular[0] * len(rows) * eps).sum())


def _readings(groups: Sequence[_Group], dimension: int, unit: float, chance: float) -> list[ClassSpectrum]:
    """Return the result for each class. If a class is visible, later comparisons leave it out of the other classes."""
    bulks = [bulk_of(group.moved, dimension) if group.n_distinct >= _ROWS else None for group in groups]
    found = [_reading(group, bulk, None, dimension, unit, chance) for group, bulk in zip(groups, bulks, strict=True)]
    rest = [number for number, bulk in enumerate(bulks) if bulk is not None and bulk.noise > 0]
    open_ones = {number for number in rest if found[number].conditions[0].holds is not True}
    while len(rest) >= CLASSES and open_ones:
        beside = compared_classes([groups[number].moved for number in rest])
        for number, own in zip(rest, beside, strict=True):
            found[number] = _reading(groups[number], bulks[number], own, dimension, unit, chance)
        seen = {number for number in open_ones if found[number].visible}
        if not seen:
            break
        rest, open_ones = [number for number in rest if number not in seen], open_ones - seen
    return found


def _reading(
    group: _Group, bulk: Bulk | None, beside: Compared | None, dimension: int, unit: float, chance: float
) -> ClassSpectrum:
    """Return the result for a class with the label 0. The caller replaces the label."""
    copies = group.n - group.n_distinct
    rules = [
        Condition(
            "rows that repeat another row of the class", float(copies), copies == 0, "a duplicate row counts once"
        )
    ]
    if bulk is None or not bulk.noise > 0:
        found = f"{group.n_distinct} of them distinct: undecided; rule: at least {_ROWS} distinct rows that vary"
        blank = (None, 0.0, 0.0, 0.0, None, float(np.sqrt(dimension / group.n_distinct)), None, None, None, ())
        return ClassSpectrum(0, group.n, *blank, tuple(rules), found)
    rules.insert(0, _isotropy(bulk))
    numbers = (bulk.noise * unit, float(bulk.values[0]) * unit, bulk.edge * unit)
    scores, spike, overlap, likely, visible, unseen = bulk.scores, None, None, None, None, None
    if bulk.isotropic:
        likely, unseen = bulk.chance(0), bulk.unseen(chance)
        spike = bulk.spike() if likely <= chance else 0.0
        overlap = spiked_overlap(spike, bulk.gamma) if spike else 0.0
        rules.append(_second(bulk, chance))
        visible = likely <= chance
    elif beside is not None:
        scores, likely, unseen = beside.scores, beside.chance, beside.unseen(chance)
        rules.append(_alike(beside))
        visible = likely <= chance
        if not rules[-1].holds and beside.value > beside.median:
            visible = likely = unseen = None
    spiked, suspicious = visible, ()
    if spiked:
        parts = two_groups(scores)
        rules.append(_groups(parts))
        visible = parts.apart
        suspicious = group.positions(parts.smaller) if visible else ()
    found = _words(bulk, beside, numbers, spike, overlap, visible, bool(spiked), len(suspicious), unseen, rules)
    head = (visible, *numbers, spike, float(np.sqrt(bulk.gamma)), unseen, overlap, likely, suspicious)
    return ClassSpectrum(0, group.n, *head, tuple(rules), found)


def _shared(reading: ClassSpectrum, many: int, classes: int) -> ClassSpectrum:
    """Return the result "undecided" for a visible class if too many classes are visible. Return other results
    unchanged.
    """
    if not reading.visible:
        return reading
    why = "structure in most classes is not a sign of a backdoor, because a backdoor is in few classes"
    rule = Condition("classes with two groups of rows", float(many), False, why)
    found = f"{reading.found}: undecided, since {many} of {classes} classes have two groups"
    return dataclasses.replace(
        reading, visible=None, chance=None, suspicious=(), conditions=(*reading.conditions, rule), found=found
    )


def _isotropy(bulk: Bulk) -> Condition:
    why = f"at most {bulk.allowed:.2g} of {len(bulk.values)} are out of place if all directions have the same variance"
    if bulk.isotropic is None:
        why = f"at least {FEWEST} eigenvalues are needed to check whether their distribution is isotropic"
    return Condition("eigenvalues that do not fit isotropic rows", bulk.misplaced, bulk.isotropic, why)


def _second(bulk: Bulk, chance: float) -> Condition:
    why = "one shift makes one spike; more spikes come from structure in the class, or from another attack"
    likely = bulk.chance(1) if len(bulk.values) > 1 else 1.0
    return Condition("the chance of the second eigenvalue under noise", likely, likely > chance, why)


def _alike(beside: Compared) -> Condition:
    why = (
        "a class is compared with the normal distribution of the other classes; a second class "
        "with a backdoor makes this comparison invalid"
    )
    name = "the logarithms of the other classes' eigenvalues have a normal distribution (p-value)"
    return Condition(name, beside.normal, beside.normal >= 0.05, why)


def _groups(parts: TwoGroups) -> Condition:
    why = (
        "two groups are separate if the density between them is below a quarter of their own; a "
        "direction without two groups comes from structure"
    )
    return Condition(
        "density between the two groups of rows, divided by the density of the smaller group",
        parts.valley,
        parts.apart,
        why,
    )


def _words(
    bulk: Bulk, beside: Compared | None, numbers: tuple[float, float, float], spike: float | None,
    overlap: float | None, visible: bool | None, spiked: bool, rows: int, unseen: float | None,
    rules: list[Condition],
) -> str:  # fmt: skip
    if bulk.isotropic:
        start = f"top eigenvalue {numbers[1]:.3g}, bulk up to {numbers[2]:.3g}"
        if not spiked:
            return f"{start}: nothing stands out; a spike below {unseen:.3g} would not be detected"
        seen = f"{start}: a spike of {spike:.3g}, squared cosine {overlap:.2f}"
        if not visible:
            return f"{seen}, but no two groups along it"
        more = "" if all(rule.holds for rule in rules if "second" in rule.name) else "; a second eigenvalue stands out"
        return f"{seen}, {rows} rows to look at{more}"
    place = f"{bulk.misplaced:.2g} of {len(bulk.values)} eigenvalues do not fit isotropic rows"
    start = f"not isotropic ({place}, {bulk.allowed:.2g} allowed)"
    if bulk.isotropic is None:
        start = f"{len(bulk.values)} eigenvalues, too few to say whether they are isotropic"
    if beside is None:
        return f"{start}: undecided; remedy: pass {CLASSES} classes or more, or features whitened by clean rows"
    ratio = f"top eigenvalue {np.exp(beside.value):.3g} after whitening by the other classes"
    ends = f"{np.exp(beside.low):.3g} to {np.exp(beside.high):.3g} for the other classes"
    if visible is None:
        return (
            f"{start}: {ratio}, {ends}: undecided; the eigenvalues of the other classes do not have "
            "one normal distribution"
        )
    if visible:
        return f"{start}: {ratio}, {ends} (chance {beside.chance:.2g}), {rows} rows to look at"
    if spiked:
        return f"{start}: {ratio}, {ends}: no two groups along it"
    return f"{start}: {ratio}, {ends}: nothing stands out; a further spike below {unseen:.3g} would not be detected"
