"""The results of a comparison: frozen dataclasses, which are written to compare.json and read from this file."""

import dataclasses
import math
from typing import Annotated

from lemmata.intervals import Interval
from lemmata.stored import Count, Finite, NotNegative, Numbers, Share

from ._stored import StoredRecord

SCHEMA = 2
"""The version of the format of compare.json. Reading a file of another version raises an error."""
Size = Annotated[int, Numbers(low=1.0, high=2.0**63)]
Drawn = Annotated[Interval, Numbers()]
"""An interval that the page draws and that must therefore be finite."""


@dataclasses.dataclass(frozen=True)
class Point:
    """The errors of a family of mixers at n training rows, divided by the error of guessing the mean.

    Args:
        n: the number of training rows.
        measured: the mean error over the splits; None if it was not measured.
        se: the standard error of `measured` over the splits; None if unknown.
        predicted: the error that is predicted from the training rows alone, with its interval. If n exceeds the number
            of training rows, the error that the continued learning curve predicts.
    """

    n: Size
    measured: Finite | None
    se: NotNegative | None
    predicted: Drawn | None


@dataclasses.dataclass(frozen=True)
class CostPoint:
    """The cost at one sequence length: floating-point operations, bytes of memory, and seconds on this machine."""

    length: Size
    flops: NotNegative
    bytes: NotNegative
    seconds: NotNegative


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of a mixer as a layer with an output at every position, as a function of the length of the sequence.

    Args:
        points: the measurements.
        flops, bytes, seconds: the fitted exponents p with which operations, bytes and seconds grow as length^p.
        read: the same exponent for operations, if the mixer is read as in the comparison: at the last position, or as
            the mean over positions.
    """

    points: list[CostPoint]
    flops: float
    bytes: float
    seconds: float
    read: float


@dataclasses.dataclass(frozen=True)
class FamilyResult:
    """The results of one family of mixers. A mixer turns a sequence into a vector.

    Args:
        name, title, words: a short name, a title, and a description in sentences.
        error: the held-out squared error, divided by the error of guessing the mean.
        wrong: for classes, the share of held-out rows that are predicted wrongly.
        permuted: the error with shuffled targets, which should be 1.
        sound: whether the interval of `permuted` contains 1, or `permuted` differs from 1 by at most 0.05.
        setting: what the family's one setting means, in words.
        values: all values of the setting.
        chosen: the value of the setting that leave-one-out chose in each split.
        ridges: the ridge in each split, relative to the mean diagonal of the Gram matrix.
        points: the measured and predicted errors, by number of training rows.
        ratio: the predicted error divided by the measured error, with all training rows.
        equivalent: the error with all training rows that theory computes from the kernel's eigenvalues and the target's
            coefficients, if all rows are exchangeable.
        later: the expected errors at 2, 4, 8 times the training rows, by continuing the measured learning curve.
        effective_dimension: the effective dimension of the kernel between training rows at the chosen ridge.
        alignment: the share of the target's squared norm in the first 10 and the first 100 eigenvectors of the kernel.
        seconds: the seconds that the comparison spent on the family.
        cost: the cost as a function of the length; None if it was not measured.
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
    """The comparison of two families: the difference and the ratio of their errors, and whether they differ clearly.

    Args:
        first, second: the names of the families.
        difference: the error of the first family minus the error of the second, in shares of the target's variance.
        p_value: the two-sided p-value of the hypothesis that the errors do not differ.
        adjusted: the p-value after Holm's correction over all pairs.
        decided: whether the difference is significant and large. A difference is significant if `adjusted` is below
            0.05. A difference is large if it is above 5 % of the target's variance, or if the interval of `ratio` is
            beyond a factor of two.
        ratio: the error of the first family divided by the error of the second, with its interval. The intervals of all
            pairs hold simultaneously.
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
    """The prediction of a published theorem on architectures for these rows.

    Args:
        says: the sentence of the theorem.
        named: the family, recurrence or attention, to which the theorem gives the smaller error; None if to neither.
        right: whether the theorem is right on these rows; None if this cannot be decided.
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
    """A theoretical result on mixers of sequences, and whether its hypotheses hold for these rows.

    Args:
        about, says: the topic of the result, and the result in words.
        holds: whether the hypotheses of the result hold on these rows; None if they are not checked.
        why: in words, why the hypotheses hold or fail.
        claim: the name of the claim in the catalogue; empty if the catalogue has none.
    """

    about: str
    says: str
    holds: bool | None
    why: str
    claim: str = ""


@dataclasses.dataclass(frozen=True)
class FiniteResult:
    """A small trained network of a family: the error of the network, and of the family's kernel on the same split.

    Args:
        name: the name of the family.
        error: the held-out squared error, divided by the error of guessing.
        kernel: the error of the family's kernel on the same rows.
        parameters, steps, seconds: the number of parameters, and the steps and the time of the training.
    """

    name: str
    error: float
    kernel: float
    parameters: Count
    steps: Count
    seconds: NotNegative


@dataclasses.dataclass(frozen=True)
class ScoreResult:
    """The result of a kernel that predicts rows from noisy rows, at one noise level.

    `error` is its squared error divided by the error of the linear kernel.
    """

    kernel: str
    noise: float
    error: float


@dataclasses.dataclass(frozen=True)
class Data:
    """The rows: their name and numbers, the lengths and channels of the sequences, the target, and the splits."""

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
    """The whole content of compare.json.

    Args:
        winner: the name of the family that wins; None if no family wins.
        leaders: the family with the smallest error, and the families that this family does not decidedly beat
            (`PairResult.decided`).
        sentences: the answer in words, the most important sentence first.
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
    """Return a number with the ends of its interval.

    The number must be finite, because the page draws it.
    """
    assert math.isfinite(value)
    return Interval(float(value), float(ends[0]), float(ends[1]))
