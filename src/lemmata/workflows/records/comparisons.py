"""The results of a comparison: plain frozen records, written to compare.json and read from it."""

import dataclasses
import math
from typing import Annotated

from lemmata.intervals import Interval
from lemmata.stored import Count, Finite, NotNegative, Numbers, Share

from ._stored import StoredRecord

SCHEMA = 2
"""The version of compare.json that this program writes. A reader refuses other versions."""
Size = Annotated[int, Numbers(low=1.0, high=2.0**63)]
Drawn = Annotated[Interval, Numbers()]
"""An interval that the page draws. It must therefore be finite."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A family at n training rows. All errors are relative to guessing.

    Args:
        n: the number of training rows.
        measured: the mean error over the splits; None if it was not measured.
        se: the standard error of `measured` over the splits.
        predicted: the error predicted from the training rows alone, with its interval.
    """

    n: Size
    measured: Finite | None
    se: NotNegative | None
    predicted: Drawn | None


@dataclasses.dataclass(frozen=True)
class CostPoint:
    """The cost at one length: floating-point operations, peak bytes, seconds on this machine."""

    length: Size
    flops: NotNegative
    bytes: NotNegative
    seconds: NotNegative


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of a mixer as a layer that writes to every position, as a function of the length of the row.

    Args:
        points: the measurements.
        flops, bytes, seconds: the fitted exponents in the length.
        read: the exponent of the operations if the mixer is read as in this comparison, at the last or at all
            positions.
    """

    points: list[CostPoint]
    flops: float
    bytes: float
    seconds: float
    read: float


@dataclasses.dataclass(frozen=True)
class FamilyResult:
    """A family of mixers.

    Args:
        name, title, words: a short name, a title, and a description in sentences.
        error: the held-out squared error, divided by the error of guessing the mean.
        wrong: for classes, the share of held-out rows that is predicted wrongly.
        permuted: the error with shuffled targets.
        sound: whether the interval of `permuted` contains 1, or `permuted` differs from 1 by at most 0.05.
        setting: the meaning of the family's one setting. `values`: all values of the setting. `chosen`: the value that
            leave-one-out chose in each split.
        ridges: the ridge in each split, relative to the mean diagonal of the Gram matrix.
        points: measured and predicted errors, by number of training rows.
        ratio: the predicted error divided by the measured error, with all training rows.
        equivalent: the error that the eigenvalues of the kernel predict from the training rows, if all rows are
            exchangeable.
        later: the expected errors at 2, 4, 8 times the training rows, by continuing the measured curve.
        effective_dimension: effective dimension of the kernel between training rows at the chosen ridge.
        alignment: the share of the target in the first 10 and 100 eigenvectors of the kernel.
        seconds: the time that the family took.
        cost: the cost as a function of the length; None if it was left out.
    """

    name: str
    title: str
    words: str
    error: Drawn
    wrong: Share | None
    permuted: Drawn
    sound: bool
    setting: str
    values: list[float]
    chosen: list[float]
    ridges: list[float]
    points: list[Point]
    ratio: float | None
    equivalent: float | None
    later: list[Point]
    effective_dimension: float | None
    alignment: list[float]
    seconds: NotNegative
    cost: Cost | None = None


@dataclasses.dataclass(frozen=True)
class PairResult:
    """The comparison of two families: the difference of their errors, its p-value, and whether it is decided.

    Args:
        first, second: the names of the families.
        difference: error of the first minus error of the second, in shares of the variance.
        p_value: two-sided.
        adjusted: the p-value after Holm's correction over all pairs.
        decided: whether `adjusted` is below 0.05, and the difference is above 5 % of the variance or the interval of
            the ratio is beyond a factor of two.
        ratio: error of the first divided by error of the second, with an interval that holds for all pairs together.
    """

    first: str
    second: str
    difference: Interval
    p_value: Share
    adjusted: Share
    decided: bool
    ratio: Interval | None = None


@dataclasses.dataclass(frozen=True)
class Theorem:
    """The prediction of a published comparison of architectures for these rows.

    Args:
        says: the sentence of the theorem.
        named: the family, recurrence or attention, that the theorem ranks first. None if it does not decide.
        right: whether the theorem is right here; None if this cannot be decided.
        why: the errors of the two families, in words.
        rates: the theorem's two rates for rows like these, with smoothness 1 and constants 1.
    """

    says: str
    named: str | None
    right: bool | None
    why: str
    rates: str


@dataclasses.dataclass(frozen=True)
class Statement:
    """A result that applies to these rows.

    Args:
        about, says: the topic of the statement, and its words.
        holds: whether its hypotheses hold here; None if that is not checked.
        why: the finding on these rows.
        claim: the name of the claim in the catalogue; empty if the catalogue has none.
    """

    about: str
    says: str
    holds: bool | None
    why: str
    claim: str = ""


@dataclasses.dataclass(frozen=True)
class FiniteResult:
    """A small trained network of a family: its error, and the error of the kernel on the same split.

    Args:
        name: the name of the family.
        error: the held-out squared error, divided by the error of guessing.
        kernel: the error of the family's kernel on the same rows.
        parameters, steps, seconds: the size and cost of the training.
    """

    name: str
    error: float
    kernel: float
    parameters: Count
    steps: Count
    seconds: NotNegative


@dataclasses.dataclass(frozen=True)
class ScoreResult:
    """A kernel that removes noise from rows.

    For each noise level, the result is the squared error divided by the error of the best linear denoiser.
    """

    kernel: str
    noise: float
    error: float


@dataclasses.dataclass(frozen=True)
class Data:
    """The rows: name, available and used numbers, lengths and channels, target, splits, notes."""

    name: str
    words: str
    expected: str
    rows: Count
    used_rows: Count
    length: Count
    shortest: Count
    channels: Count
    training: Count
    test: Count
    repeats: Count
    task: str
    target: str
    classes: list[str] | None
    read: str
    kernels: str
    notes: list[str]


@dataclasses.dataclass(frozen=True)
class ComparisonRecord(StoredRecord):
    """Everything that compare.json holds.

    Args:
        winner: the family that wins; None if none does.
        leaders: the family with the smallest error and the families that it does not decidedly beat.
        sentences: the answer in words, the most important first.
    """

    version, file, command_line, about = SCHEMA, "compare.json", "lemmata compare", "a comparison"

    schema: int
    lemmata: str
    created: str
    command: str
    seed: int
    seconds: NotNegative
    peak_gib: NotNegative
    data: Data
    winner: str | None
    leaders: list[str]
    sentences: list[str]
    families: list[FamilyResult]
    pairs: list[PairResult]
    theorem: Theorem | None
    statements: list[Statement]
    finite: list[FiniteResult]
    scores: list[ScoreResult]
    notes: list[str]
    interrupted: bool = False


def estimate(value: float, ends: tuple[float, float]) -> Interval:
    """A number with its interval.

    Strict JSON refuses values that are not finite, so only finite values may be passed.
    """
    assert math.isfinite(value)
    return Interval(float(value), float(ends[0]), float(ends[1]))
