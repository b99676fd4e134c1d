"""Certificates against poisoned training rows by votes, and the visibility of shifted rows in a covariance spectrum."""

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate, optimize

from lemmata.answers import Condition, positive, probability, whole
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

_LEAST_RATIO = 1e-12


@dataclasses.dataclass(frozen=True)
class PartitionCertificate:
    """The plurality vote of models that were trained on disjoint parts of the rows, and a certificate for its winner.

    Args:
        label: the class with the most votes. If classes are tied, the label is the smallest of the tied classes.
        counts: the number of votes for each class.
        rows: the number of training rows that may be changed without changing the label, if each changed row stays in
            its part.
        conditions: the conditions for `rows`.
        claims: names of the claims that prove `rows`.
    """

    label: int
    counts: tuple[int, ...]
    rows: int
    conditions: tuple[Condition, ...] = (
        Condition("the models saw disjoint parts of the rows", why="a row that two models saw changes two votes"),
    )
    claims: tuple[str, ...] = ("robustness.backdoors.votes_that_survive",)

    def __str__(self) -> str:
        won = f"class {self.label} with {self.counts[self.label]} of {sum(self.counts)} votes"
        return f"{won} survives the change of any {self.rows} training rows"

    def _repr_html_(self) -> str:
        return preformatted(self)


def partition_certificate(votes: ArrayLike, classes: int | None = None) -> PartitionCertificate:
    """Return the number of training rows that can change without a change of the winner (Levine and Feizi, 2021).

    Each model is trained on one part of the rows, so a changed row changes at most one vote. The winning label c with
    v_c votes still wins after

        floor( (v_c - max over c' != c of (v_c' + 1{c' < c})) / 2 )

    changes. If one more vote may change, some change of votes makes another label win.

    Args:
        votes: the class that each model answers, a whole number from 0.
        classes: the number of classes. By default, the largest class in `votes` plus 1, and at least 2.

    Raises:
        ShapeError, DataError: if votes are not whole numbers from 0 to classes - 1, one for each model.

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


def spiked_overlap(spike: float, gamma: float) -> float:
    """Return the squared cosine between a shift of some rows and the first eigenvector of the rows' covariance: (1 -
    gamma/l²)/(1 + gamma/l), or 0 for small l.

    Args:
        spike: l, the largest eigenvalue of the true covariance minus the noise variance, in units of the noise
            variance. The squared cosine is 0 for l <= sqrt(gamma).
        gamma: the dimension divided by the number of rows.

    Raises:
        SettingError: if gamma is not a finite number above 0, or the spike is negative or not finite.

    >>> spiked_overlap(1.0, 0.25), spiked_overlap(0.4, 0.25)
    (0.6, 0.0)
    """
    gamma = positive("gamma", gamma)
    if not np.any(spike):
        return 0.0
    spike = positive("spike", spike)
    # divide twice, because l² may overflow
    inverse = gamma / spike / spike
    return (1 - inverse) / (1 + gamma / spike) if inverse < 1 else 0.0


def rows_to_see(fraction: float, shift: float, dimension: int, noise: float = 1.0) -> float:
    """Return d/l², the number of rows above which a backdoor changes the largest eigenvalue of its class's covariance.

    Args:
        fraction: the fraction of the class's rows that are shifted.
        shift: the Euclidean norm of the shift. The number l is fraction (1 - fraction) shift²/noise.
        dimension: the dimension d of the features.
        noise: the variance of a clean coordinate.

    Raises:
        SettingError: if the fraction is outside [0, 1], or another argument is not positive.

    >>> round(rows_to_see(0.05, 5.0, 200), 1)
    141.8
    """
    fraction, shift, noise = probability("fraction", fraction), positive("shift", shift), positive("noise", noise)
    # root is sqrt(l); divide step by step, so that no factor overflows before the result does
    root = math.sqrt(fraction * (1 - fraction)) * (shift / math.sqrt(noise))
    if root == 0:
        return math.inf
    return whole("dimension", dimension, 1) / root / root / root / root


def bulk_median(gamma: float) -> float:
    """Return the median of the positive part of the Marchenko-Pastur distribution with ratio gamma and variance 1.

    Args:
        gamma: the dimension divided by the number of rows, from 1e-12 to 1e12.

    Raises:
        SettingError: if gamma is outside this range.

    >>> round(bulk_median(1e-6), 3), round(bulk_median(0.5), 3)
    (1.0, 0.83)
    """
    gamma = positive("gamma", gamma)
    if not _LEAST_RATIO <= gamma <= 1 / _LEAST_RATIO:
        raise SettingError(
            "gamma",
            found=f"{gamma:g}",
            rule=f"a ratio from {_LEAST_RATIO:g} to {1 / _LEAST_RATIO:g}, whose quantiles can be integrated",
            remedy="use the limits of the median: 1 for a smaller ratio, and gamma itself for a larger ratio",
        )
    if gamma > 1:
        return gamma * bulk_median(1 / gamma)
    low, high = (1 - np.sqrt(gamma)) ** 2, (1 + np.sqrt(gamma)) ** 2

    # the substitution x = middle + half cos(t) removes the square roots of the density at both ends
    def mass(angle: float) -> float:
        middle, half = (low + high) / 2, (high - low) / 2
        density = lambda t: (half * np.sin(t)) ** 2 / (2 * np.pi * gamma * (middle + half * np.cos(t)))
        return integrate.quad(density, angle, np.pi)[0]

    angle: Any = optimize.brentq(lambda t: mass(t) - 0.5, 0.0, np.pi)
    return float((low + high) / 2 + (high - low) / 2 * np.cos(angle))
