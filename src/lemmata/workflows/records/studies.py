"""The results of a study: plain frozen records, written to study.json and read from it."""

import dataclasses
from typing import Annotated, Any, TypedDict

from lemmata.intervals import Interval
from lemmata.stored import As, Count, Finite, NotNegative, Positive, Share

from ._stored import StoredRecord

SCHEMA = 3
"""The version of study.json that this program writes. A reader refuses other versions."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A measurement: the metric at n training rows, with its standard error.

    Args:
        n: the number of training rows.
        value: the metric on held-out rows.
        se: the standard error of `value`, as a statement about new rows.
        splits: the number of splits in the mean. It is 0 for exact measurements on all rows, which are leave-one-out
            for numbers and ten folds for classes.
    """

    n: Positive
    value: float
    se: float
    splits: Count


@dataclasses.dataclass(frozen=True)
class Expected:
    """The expected value at n training rows: the metric with its interval."""

    n: Positive
    value: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class TheoryPoint:
    """Predicted and measured squared error at n training rows, relative to the target's variance.

    Args:
        n: the number of training rows.
        predicted, lower, upper: the prediction of the theory with its interval.
        measured: the error on held-out rows.
        accuracy: for classes, the share of held-out rows whose class the theory expects to be predicted.
        measured_accuracy: for classes, the share whose class was predicted.
    """

    n: Positive
    predicted: float
    lower: float
    upper: float
    measured: float
    accuracy: float | None = None
    measured_accuracy: float | None = None


@dataclasses.dataclass(frozen=True)
class Spectral:
    """The eigenvalues of a kernel's centred Gram matrix on all rows, and how much of the target they carry.

    Args:
        index, eigenvalues, alignment: for some eigenvalues, the rank, the size, and the share of the target's power in
            all eigenvectors up to this rank.
        effective_dimension: tr K (K + ridge)^-1 at the chosen ridge.
        condition: the largest eigenvalue divided by the smallest; infinite for a singular matrix.
    """

    index: list[Count]
    eigenvalues: list[Finite]
    alignment: list[Finite]
    effective_dimension: float
    condition: float


@dataclasses.dataclass(frozen=True)
class ModelResult:
    """The results of one model.

    Args:
        name, title, formula: the model's short name, its name in words, and its formula.
        kernel: whether the model is a kernel, to which the theory applies.
        learns: whether the model significantly beats guessing.
        points: the measurements.
        band: the expected values from the smallest size to eight times the data.
        now: the expected value with all rows.
        needed: the number of rows for the requested value.
        limit: the smallest error that the model's forecast reaches at any number of rows. Forecasts were checked up to
            8 times the rows.
        ridge: for a kernel, the ridge that was chosen on all rows.
        theory: for a kernel, the predicted learning curve.
        spectrum: for a kernel, its eigenvalues.
        trained: the metric on the training rows of one split at the largest size that was measured on splits; None if
            it was not measured.
        seconds: the seconds that the fit to these rows and the predictions took, on the machine of the study.
    """

    name: str
    title: str
    formula: str
    kernel: bool
    learns: bool
    points: list[Point]
    band: list[Expected]
    now: Interval
    needed: Interval
    limit: Interval
    ridge: NotNegative | None = None
    theory: list[TheoryPoint] = dataclasses.field(default_factory=list)
    spectrum: Spectral | None = None
    trained: float | None = None
    seconds: NotNegative | None = None


@dataclasses.dataclass(frozen=True)
class Unit:
    """The metric of a study.

    Args:
        name: the name of the metric in a sentence.
        words: a description of the metric.
        rises: whether larger values are better.
        percent: whether the metric is a share.
        guessing: the value of guessing without any column.
        best, worst: the ends of the metric's range; None for an open end.
    """

    name: str
    words: str
    rises: bool
    percent: bool
    guessing: float
    best: float | None = None
    worst: float | None = None


@dataclasses.dataclass(frozen=True)
class More:
    """The effect of more rows: how many more, the expected value with them, and their cost if a price is known."""

    rows: Count
    expected: Interval
    cost: NotNegative | None = None


@dataclasses.dataclass(frozen=True)
class SignalResult:
    """The result of the permutation test (see `signal`)."""

    found: bool
    p_value: Share
    rows: Count
    kind: str = "rows"
    least: Share = 0.005


@dataclasses.dataclass(frozen=True)
class Answers:
    """The answer.

    Args:
        sentences: the answer in words, the most important sentence first.
        best: the name of the best model with all rows; None if no model predicts the target.
        asked: the value of the metric that `needed` is about.
        origin: the origin of this value.
        needed: the number of rows for this value, with the model `first`. None if guessing already reaches this value,
            if nothing predicts the target, or if the first line gives the number of rows for an exact prediction.
        now: the expected value of the best model with all rows.
        more: the effect of more rows on the best model.
        first: the name of the model that reaches the requested value with the fewest rows; it may not be the best one.
        near: the names of the models that may be as good as the best.
    """

    sentences: list[str]
    best: str | None
    asked: float
    origin: str
    needed: Interval | None
    now: Interval | None
    more: list[More]
    first: str | None = None
    near: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the table: its kind in a word, the numbers of missing cells and distinct values, and its range."""

    name: str
    kind: str
    missing: Count
    distinct: Count
    counts: list[Count]
    range: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """Something that you must know before you rely on a study.

    Args:
        kind: about the table: "identifier", "leakage", "constant", "repeats", "contradiction", "group", "time",
            "code", "categories", "tail", "numbers" or "missing". About the classes: "imbalance" or "rare class". About
            the metric: "unit". About the answers: "copies" or "drift". About the models: "model" for a model that was
            left out, "own model", "splits", "broken fits", "season", "approximation", "theory", "time limit" or
            "interrupted".
        columns: the columns that the finding is about.
        text: one or two sentences: the finding, why it matters, and what to do.
    """

    kind: str
    columns: tuple[str, ...]
    text: str


@dataclasses.dataclass(frozen=True)
class Data:
    """The table: its name, size and target, and the changes that were made to it.

    The table has `rows` rows; `available` of them have a target, and `used_rows` were used. `dimension` is how many
    dimensions the columns of numbers fill, with its 90 % interval.
    """

    name: str
    rows: Count
    used_rows: Count
    task: str
    target: str
    classes: list[str] | None
    columns: list[Column]
    notes: list[str]
    target_mean: float
    target_sd: float
    available: Count = 0
    dimension: tuple[float, float, float] | None = None

    @property
    def total(self) -> int:
        """The number of the user's rows: all rows of the table with a target, whether they were used or not."""
        return max(self.available, self.used_rows)


@dataclasses.dataclass(frozen=True)
class Residual:
    """A held-out row: its number in the table, its target, and the prediction of the best model."""

    row: Count
    truth: float | str
    said: float | str
    loss: float


class ClaimCondition(TypedDict, total=False):
    """A hypothesis of an examined claim, with its result from `lemmata.engine.claims.examine`."""

    name: str
    value: float | None
    relation: str
    threshold: float | None
    holds: bool | None
    margin: float | None
    why: str


class ExaminedClaim(TypedDict, total=False):
    """A claim applied to the rows of the study: its texts and its results. Empty texts may be left out."""

    name: str
    title: str
    statement: str
    source: str
    reference: str
    controls: str
    unexplained: str
    label: str
    relation: str
    as_printed: bool
    architecture: str
    status: str
    hypotheses: list[ClaimCondition]
    prediction: float | None
    measurement: float | None
    ratio: float | None
    trivial: float | None
    vacuous: bool | None
    agrees: bool | None
    culprit: str | None


class TrainingPoint(TypedDict):
    """The squared errors of a network and of its kernel at one time."""

    time: NotNegative
    network_train: float
    network_test: float
    kernel_train: float
    kernel_test: float


class TrainedWidth(TypedDict):
    """A network of one width: its errors and its distance from its kernel. The lists are empty after divergence."""

    width: Count
    points: list[TrainingPoint]
    gap: float | None
    kernel_movement: float | None


class TrainedNetworks(TypedDict):
    """Networks of several widths, compared with their kernel."""

    name: str
    title: str
    widths: list[TrainedWidth]
    sentence: str


@dataclasses.dataclass(frozen=True)
class StudyRecord(StoredRecord):
    """Everything that study.json holds."""

    version, file, command_line, about = SCHEMA, "study.json", "lemmata study", "a study"
    schema: int
    lemmata: str
    created: str
    command: str
    seed: int
    seconds: NotNegative
    peak_gib: NotNegative
    data: Data
    unit: Unit
    signal: SignalResult
    answers: Answers
    models: list[ModelResult]
    residuals: list[Residual]
    claims: Annotated[list[dict[str, Any]], As(list[ExaminedClaim])]
    training: Annotated[list[dict[str, Any]], As(list[TrainedNetworks])]
    bibliography: list[dict[str, str]]
    findings: list[Finding]
    interrupted: bool = False

    @property
    def notes(self) -> list[str]:
        """The sentences of the findings. Findings about the study come before findings about the table."""
        return [item.text for item in self.findings]
