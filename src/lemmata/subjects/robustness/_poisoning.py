"""Poisoned training rows: votes of models on disjoint parts, and directions that a backdoor leaves in features."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import integrate, optimize

from lemmata.answers import Condition, positive, probability, whole
from lemmata.core import check_numbers
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted


@dataclasses.dataclass(frozen=True)
class PartitionCertificate:
    """The plurality of models that were trained on disjoint parts of the rows.

    Args:
        label: the class with the most votes, the smallest of equal ones.
        counts: votes of each class.
        rows: how many training rows may be changed, each within its part, without changing the label.
        conditions: the conditions on which the number rests.
        claims: names of the claims that state it.
    """

    label: int
    counts: tuple[int, ...]
    rows: int
    conditions: tuple[Condition, ...] = (
        Condition("the models saw disjoint parts of the rows", why="a row that two of them saw changes two votes"),
    )
    claims: tuple[str, ...] = ("robustness.backdoors.votes_that_survive",)

    def __str__(self) -> str:
        won = f"class {self.label} with {self.counts[self.label]} of {sum(self.counts)} votes"
        return f"{won} survives the change of any {self.rows} training rows"

    def _repr_html_(self) -> str:
        return preformatted(self)


def partition_certificate(votes: ArrayLike, classes: int | None = None) -> PartitionCertificate:
    """How many training rows an adversary may change without changing a vote (Levine and Feizi, 2021).

    Each model sees one part of the rows, so that a changed row changes one vote at most. The label c with v_c votes
    stays under

        floor( (v_c - max over c' != c of (v_c' + 1{c' < c})) / 2 )

    changes, and some change of one vote more replaces it.

    Args:
        votes: the class that each model answers, whole numbers from 0.
        classes: how many classes there are; the largest vote plus 1 without it, and at least 2.

    Raises:
        ShapeError, DataError: for votes that are not whole numbers from 0 to classes - 1, one for each model.

    Example:
        >>> print(partition_certificate([1, 1, 1, 1, 1, 0, 0, 2]))
        class 1 with 5 of 8 votes survives the change of any 1 training rows
    """
    given = np.asarray(votes)
    if given.ndim != 1 or not given.size:
        raise ShapeError("votes", found=f"shape {given.shape}", rule="shape (models,), one class for each model")
    if not np.issubdtype(given.dtype, np.integer) or given.min() < 0:
        raise DataError(
            "votes",
            found=f"entries of type {given.dtype}, the smallest {given.min()}",
            rule="classes that are whole numbers and start at 0",
        )
    total = max(int(given.max()) + 1, 2) if classes is None else whole("classes", classes, 2)
    if given.max() >= total:
        raise DataError(
            "votes", found=f"the class {int(given.max())}", rule=f"classes below {total}, the value of `classes`"
        )
    counts = np.bincount(given, minlength=total)
    label = int(counts.argmax())
    rivals = counts + (np.arange(total) < label)
    rows = int((counts[label] - np.delete(rivals, label).max()) // 2)
    return PartitionCertificate(label, tuple(int(count) for count in counts), rows)


@dataclasses.dataclass(frozen=True)
class ClassSpectrum:
    """The features of one class.

    Args:
        label, n: the class and its number of rows.
        noise: the variance of the bulk, from the median eigenvalue and Marchenko and Pastur's law.
        eigenvalue, edge: the largest eigenvalue of the covariance, and the edge (1 + sqrt(gamma))² noise of the bulk.
        spike: l = fraction (1 - fraction) shift²/noise of a two-part class that would explain the eigenvalue; 0 below
            the edge.
        threshold: sqrt(gamma), gamma = d/n: a spike below it leaves no trace in the eigenvalues.
        overlap: the squared cosine of the eigenvector with the direction of the shift that the spike predicts.
        suspicious: rows, as positions in what was passed, on the far side of the direction; empty below the edge.
        conditions: the conditions on which the reading rests.
    """

    label: int
    n: int
    noise: float
    eigenvalue: float
    edge: float
    spike: float
    threshold: float
    overlap: float
    suspicious: tuple[int, ...]
    conditions: tuple[Condition, ...]

    @property
    def visible(self) -> bool:
        """Whether the largest eigenvalue stands out of the bulk."""
        return self.spike > 0


@dataclasses.dataclass(frozen=True)
class BackdoorReport:
    """What the spectrum of each class says of rows that do not belong.

    Args:
        classes: one record a class.
        claims: names of the claims that state the threshold and the overlap.
    """

    classes: tuple[ClassSpectrum, ...]
    claims: tuple[str, ...] = (
        "robustness.backdoors.overlap_of_the_top_eigenvector",
        "robustness.backdoors.top_eigenvalue_of_a_backdoor",
    )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of all classes."""
        return tuple(rule for own in self.classes for rule in own.conditions)

    def __str__(self) -> str:
        lines = []
        for own in self.classes:
            start = f"class {own.label}: {own.n} rows, top eigenvalue {own.eigenvalue:.3g}, bulk up to {own.edge:.3g}"
            if not own.visible:
                lines.append(f"{start}: nothing stands out; a spike below {own.threshold:.3g} would not stand out")
                continue
            found = (
                f"a spike of {own.spike:.3g}, squared cosine {own.overlap:.2f}, {len(own.suspicious)} rows to look at"
            )
            doubt = "" if all(rule.holds is not False for rule in own.conditions) else "; the bulk is not isotropic"
            lines.append(f"{start}: {found}{doubt}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return preformatted(self)


def spiked_overlap(spike: float, gamma: float) -> float:
    """(1 - gamma/l²)/(1 + gamma/l) for a spike l > sqrt(gamma), else 0: squared cosine with the top eigenvector.

    Args:
        spike: l, the excess of the population's largest eigenvalue over the noise, in its unit.
        gamma: dimension over rows.

    >>> spiked_overlap(1.0, 0.25), spiked_overlap(0.4, 0.25)
    (0.6, 0.0)
    """
    if spike**2 <= gamma:
        return 0.0
    return (1 - gamma / spike**2) / (1 + gamma / spike)


def rows_to_see(fraction: float, shift: float, dimension: int, noise: float = 1.0) -> float:
    """d/l², l = fraction (1 - fraction) shift²/noise: above so many rows of a class a backdoor shows in its spectrum.

    Args:
        fraction: the fraction of the class's rows that are shifted.
        shift: by how much, in the norm.
        dimension: the dimension of the features.
        noise: the variance of a clean coordinate.

    Raises:
        SettingError: for a fraction outside [0, 1] and sizes that are not positive.

    >>> round(rows_to_see(0.05, 5.0, 200), 1)
    141.8
    """
    fraction = probability("fraction", fraction)
    spike = fraction * (1 - fraction) * positive("shift", shift) ** 2 / positive("noise", noise)
    return whole("dimension", dimension, 1) / spike**2 if spike else float("inf")


def backdoor_report(features: ArrayLike, labels: ArrayLike) -> BackdoorReport:
    """The largest eigenvalue of each class against the edge of what noise alone makes, and the rows behind it.

    A fraction of a class's rows shifted by one vector adds a spike to its covariance. Baik, Ben Arous and Péché's
    threshold says which spikes can be seen at this number of rows, and the overlap how well the direction is found. The
    theory assumes features whose covariance within a class is a multiple of the identity. If you have clean rows,
    whiten the features by them. If a second eigenvalue stands out too, the class has more structure than one shift.

    Args:
        features: one row for each example.
        labels: its class, whole numbers.

    Raises:
        ShapeError, DataError: for features and labels that do not fit each other, numbers that are not finite, and
            classes of fewer than 8 rows.

    Example:
        >>> import numpy as np
        >>> rows = np.random.default_rng(0).normal(size=(400, 40))
        >>> rows[:20, 0] += 8.0
        >>> print(backdoor_report(rows, np.zeros(400, int)))
        class 0: 400 rows, top eigenvalue 4.07, bulk up to 1.7: a spike of 3.01, squared cosine 0.96, 20 rows to look at
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
    classes = []
    for label in np.unique(given):
        where = np.flatnonzero(given == label)
        if len(where) < 8:
            raise DataError(f"class {label}", found=f"{len(where)} rows", rule="at least 8 rows in each class")
        classes.append(_class_spectrum(int(label), table[where].astype(float), where))
    return BackdoorReport(tuple(classes))


def _class_spectrum(label: int, rows: Float[np.ndarray, "n d"], where: np.ndarray) -> ClassSpectrum:
    n, d = rows.shape
    gamma = d / n
    moved = rows - rows.mean(axis=0)
    _, singular, directions = np.linalg.svd(moved, full_matrices=False)
    values = singular**2 / n
    noise = float(np.median(values[: min(n - 1, d)])) / bulk_median(gamma)
    if not noise > 0:
        raise SettingError(
            f"class {label}", found="features without variance", rule="columns that vary within the class"
        )
    edge = noise * (1 + np.sqrt(gamma)) ** 2
    # the largest eigenvalue of noise fluctuates by n^(-2/3): three times that is far in the tail of its law
    margin = 1 + 3 * min(n, d) ** (-2 / 3)
    ratio, spike, suspicious = float(values[0] / noise), 0.0, ()
    if values[0] > edge * margin:
        # the larger root of (1 + l)(1 + gamma/l) = ratio
        middle = ratio - 1 - gamma
        spike = (middle + np.sqrt(max(middle**2 - 4 * gamma, 0.0))) / 2
        suspicious = tuple(int(row) for row in where[_far_side(moved @ directions[0])])
    holds = bool(values[1] <= edge * margin)
    why = "one shift makes one spike; more spikes come from structure in the class, or from another attack"
    conditions = (Condition("the second eigenvalue is within the bulk", float(values[1] / edge), holds, why),)
    overlap = spiked_overlap(spike, gamma) if spike else 0.0
    found = (noise, float(values[0]), float(edge), float(spike), float(np.sqrt(gamma)), overlap)
    return ClassSpectrum(label, n, *found, suspicious, conditions)


def _far_side(scores: Float[np.ndarray, " n"]) -> np.ndarray:
    """The smaller of two groups of scores, split where the sum of squares within them is least."""
    order = np.argsort(scores)
    ordered, n = scores[order], len(scores)
    sums, sizes = np.cumsum(ordered)[:-1], np.arange(1, n)
    between = sums**2 / sizes + (ordered.sum() - sums) ** 2 / (n - sizes)
    split = int(between.argmax()) + 1
    return np.sort(order[:split] if split <= n - split else order[split:])


def bulk_median(gamma: float) -> float:
    """The median of the positive part of Marchenko and Pastur's law of ratio gamma = d/n at variance 1.

    Args:
        gamma: dimension over rows.

    >>> round(bulk_median(1e-6), 3), round(bulk_median(0.5), 3)
    (1.0, 0.83)
    """
    if gamma > 1:
        return gamma * bulk_median(1 / gamma)
    low, high = (1 - np.sqrt(gamma)) ** 2, (1 + np.sqrt(gamma)) ** 2

    # x = middle + half cos(t) takes the square roots at both ends away
    def mass(angle: float) -> float:
        middle, half = (low + high) / 2, (high - low) / 2
        density = lambda t: (half * np.sin(t)) ** 2 / (2 * np.pi * gamma * (middle + half * np.cos(t)))
        return integrate.quad(density, angle, np.pi)[0]

    angle: Any = optimize.brentq(lambda t: mass(t) - 0.5, 0.0, np.pi)
    return float((low + high) / 2 + (high - low) / 2 * np.cos(angle))
