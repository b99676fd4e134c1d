"""The results of a study: frozen dataclasses, which are written to study.json and read from this file."""

import dataclasses
from typing import Annotated, Any, TypedDict

from lemmata.intervals import Interval
from lemmata.stored import As, Count, Finite, NotNegative, Positive, Share

from ._stored import StoredRecord

SCHEMA = 3
"""The version of the format of study.json. Reading a file of another version raises an error."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A measurement: the metric of a model trained on n rows, with its standard error.

    Args:
        n: the number of training rows.
        value: the metric on held-out rows, as a mean over splits.
        se: the standard error of `value`, as a statement about new rows.
        splits: the number of splits in the mean. The number is 0 for exact measurements on all rows, which leave out
            one row at a time for numbers and ten folds for classes.
    """

    n: Positive
    value: float
    se: float
    splits: Count


@dataclasses.dataclass(frozen=True)
class Expected:
    """The forecast value of the metric at n training rows, with its interval."""

    n: Positive
    value: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class TheoryPoint:
    """The predicted and the measured squared error of a kernel at n training rows, divided by the target's variance.

    Args:
        n: the number of training rows.
        predicted, lower, upper: the prediction of the theory with its interval.
        measured: the measured error on held-out rows.
        accuracy: for classes, the accuracy on held-out rows that the theory predicts.
        measured_accuracy: for classes, the measured accuracy on held-out rows.
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
    """The eigenvalues of the centred Gram matrix K of a kernel, and the target's share in the eigenvectors.

    Args:
        index, eigenvalues, alignment: for some eigenvalues, the rank, the size, and the share of the target's squared
            norm in all eigenvectors up to this rank.
        effective_dimension: tr K (K + ridge)^-1 at the chosen ridge.
        condition: the largest eigenvalue divided by the smallest eigenvalue; infinite for a singular matrix.
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
        name, title, formula: the model's short name, its name in words, and a formula or description.
        kernel: whether the model is a kernel, to which the theory applies.
        learns: whether the model significantly beats guessing.
        points: the measured values of the metric, by number of training rows.
        band: the expected values from the smallest size to eight times the available rows.
        now: the expected value with all rows.
        needed: the number of rows that the requested value of the metric takes.
        limit: the best value of the metric that is forecast for any number of rows. Forecasts were tested up to 8 times
            the available rows.
        ridge: for a kernel, the ridge that was chosen on all rows; None for other models.
        theory: for a kernel, the learning curve that the theory predicts.
        spectrum: for a kernel, its eigenvalues, and the target's share in its eigenvectors.
        trained: the metric on the training rows, for one split of the largest measured size; None if it was not
            measured.
        seconds: the seconds that a fit at the largest measured size and its predictions took, on the machine of the
            study.
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
        percent: whether the metric is a share that is shown in per cent.
        guessing: the value of the metric for guessing without any column.
        best, worst: the best and the worst possible value; None for an open end.
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
    """The effect of more rows: the number of additional rows, the expected value with all these rows, and the cost.

    The cost is None if the price of a row is unknown.
    """

    rows: Count
    expected: Interval
    cost: NotNegative | None = None


@dataclasses.dataclass(frozen=True)
class SignalResult:
    """The result of the test for signal. `lemmata.workflows.studies.Signal` describes the fields."""

    found: bool
    p_value: Share
    rows: Count
    kind: str = "rows"
    least: Share = 0.005


@dataclasses.dataclass(frozen=True)
class Answers:
    """The answers of a study.

    Args:
        sentences: the answers in words, the most important sentence first.
        best: the name of the best model with all rows; None if no model predicts the target.
        asked: the value of the metric to reach with `needed` rows.
        origin: where the value `asked` comes from, in words, such as the user's request.
        needed: the number of rows with which the model `first` reaches the value `asked`. None if guessing already
            reaches this value, if no model predicts the target, or if a sentence gives the number of rows for an exact
            prediction. Also None if older rows no longer help, or if the best model made no error.
        now: the expected value of the best model with all rows.
        more: the effect of more rows on the best model.
        first: the name of the model of `needed`, which may not be the best model.
        near: the names of the other models that may be as good as the best model.
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
    """A column of the table.

    The fields are its kind in a word, the numbers of missing cells and distinct values, and its range in words.
    `counts` is a histogram or, for categories, the numbers of rows of the most frequent categories.
    """

    name: str
    kind: str
    missing: Count
    distinct: Count
    counts: list[Count]
    range: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """A fact that you must know before you rely on a study.

    Args:
        kind: about the table: "identifier", "leakage", "constant", "repeats", "contradiction", "group", "time",
            "code", "categories", "tail", "numbers", "index", "total" or "missing". About the classes: "imbalance" or
            "rare class". About the metric: "unit". About the answers: "copies" or "drift". About the models: "model"
            for a model that was left out, "own model", "splits", "broken fits", "season", "approximation", "theory",
            "time limit" or "interrupted".
        columns: the columns that the finding is about.
        text: one or two sentences: the finding, why it matters, and what to do.
    """

    kind: str
    columns: tuple[str, ...]
    text: str


@dataclasses.dataclass(frozen=True)
class Data:
    """The table: its name, size and target, and the changes that were made to the table.

    The table has `rows` rows; `available` of them have a target, and `used_rows` were used. `dimension` is the number
    of dimensions that the columns of numbers fill, with its 90 % interval; None if it is unknown.
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
    """A held-out row: its number in the table, its target, the prediction of the best model, and the loss."""

    row: Count
    truth: float | str
    said: float | str
    loss: float


class ClaimCondition(TypedDict, total=False):
    """A hypothesis of an examined claim, with the result from `lemmata.engine.claims.examine`."""

    name: str
    value: float | None
    relation: str
    threshold: float | None
    holds: bool | None
    margin: float | None
    why: str


class ExaminedClaim(TypedDict, total=False):
    """A claim of theory, examined on the rows of the study: its texts and results. Empty texts may be left out."""

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
    """The squared errors of a network and of its tangent kernel, on training and test rows, at one training time."""

    time: NotNegative
    network_train: float
    network_test: float
    kernel_train: float
    kernel_test: float


class TrainedWidth(TypedDict):
    """A network of one width: its errors, and how far it is from its tangent kernel's predictions.

    If training diverged, `points` is empty, and the distances are None.
    """

    width: Count
    points: list[TrainingPoint]
    gap: float | None
    kernel_movement: float | None


class TrainedNetworks(TypedDict):
    """Networks of several widths, compared with their tangent kernel."""

    name: str
    title: str
    widths: list[TrainedWidth]
    sentence: str


@dataclasses.dataclass(frozen=True)
class StudyRecord(StoredRecord):
    """The whole content of study.json."""

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
