"""What a study found: plain frozen records, written to study.json and read from it."""

import dataclasses
import json
import math
import types
import typing
from pathlib import Path
from typing import Any

from lemmata.errors import DataError

SCHEMA = 2
"""Version of study.json; a reader refuses others."""


@dataclasses.dataclass(frozen=True)
class Interval:
    """A number with its 90 % interval; an end without a limit is infinite (null in study.json)."""

    value: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class Point:
    """A measurement: the metric at n training rows, with its standard error.

    Args:
        n: training rows.
        value: the metric on rows that did not train.
        se: its standard error, as a statement about new rows.
        splits: how many splits it is the mean of; 0 for exact measurements on all rows: leave-one-out of numbers, ten
            folds of classes.
    """

    n: float
    value: float
    se: float
    splits: int


@dataclasses.dataclass(frozen=True)
class Expected:
    """What is expected at n training rows: the metric with its interval."""

    n: float
    value: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class TheoryPoint:
    """Squared error relative to the target's variance at n rows: as the theory predicts it, and as measured.

    Args:
        n: training rows.
        predicted, lower, upper: by the theory, with its interval.
        measured: on rows that did not train.
        accuracy: for classes, the share of held-out rows whose class the theory expects to be predicted.
        measured_accuracy: for classes, the share whose class was.
    """

    n: float
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
        index, eigenvalues, alignment: some of them: rank, size, share of the target's power in the first so many.
        effective_dimension: tr K (K + ridge)^-1 at the chosen ridge.
        condition: largest over smallest eigenvalue; infinite for a singular matrix.
    """

    index: list[int]
    eigenvalues: list[float]
    alignment: list[float]
    effective_dimension: float
    condition: float


@dataclasses.dataclass(frozen=True)
class ModelResult:
    """One model.

    Args:
        name, title, formula: short, in words, as a formula.
        kernel: whether the theory speaks about it.
        learns: False where it does not beat guessing.
        points: what was measured.
        band: what is expected from the smallest size to eight times the data.
        now: what is expected with all rows.
        needed: the rows that the asked value takes.
        limit: what no amount of data crosses.
        ridge: for a kernel, chosen on all rows.
        theory: for a kernel, the predicted learning curve.
        spectrum: for a kernel.
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
    ridge: float | None = None
    theory: list[TheoryPoint] = dataclasses.field(default_factory=list)
    spectrum: Spectral | None = None


@dataclasses.dataclass(frozen=True)
class Unit:
    """The metric of a study: name, what it is, whether larger is better, whether it is a share; guessing's value."""

    name: str
    words: str
    rises: bool
    percent: bool
    guessing: float


@dataclasses.dataclass(frozen=True)
class More:
    """What more rows buy: how many more, what is then expected, and what they cost where a price is known."""

    rows: int
    expected: Interval
    cost: float | None = None


@dataclasses.dataclass(frozen=True)
class SignalResult:
    """The permutation test (see `signal`)."""

    found: bool
    p_value: float
    rows: int


@dataclasses.dataclass(frozen=True)
class Answers:
    """The answer.

    Args:
        sentences: it in words, the most important first.
        best: the name of the best model with all rows; None where nothing predicts the target.
        asked: the value of the metric that `needed` is about.
        origin: where that value is from.
        needed: rows for it, with the model `first`; None where guessing has it already, or nothing predicts the target.
        now: what is expected of the best model with all rows.
        more: what more rows buy the best model.
        first: the name of the model that comes to the asked value with the fewest rows; it may not be the best one.
    """

    sentences: list[str]
    best: str | None
    asked: float
    origin: str
    needed: Interval | None
    now: Interval | None
    more: list[More]
    first: str | None = None


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of the table: its kind in a word, how many cells are missing, how many values differ, and its range."""

    name: str
    kind: str
    missing: int
    distinct: int
    counts: list[int]
    range: str


@dataclasses.dataclass(frozen=True)
class Data:
    """The table: what it is called, its size, its target, what was noticed and done."""

    name: str
    rows: int
    used_rows: int
    task: str
    target: str
    classes: list[str] | None
    columns: list[Column]
    findings: list[str]
    notes: list[str]
    target_mean: float
    target_sd: float


@dataclasses.dataclass(frozen=True)
class Residual:
    """A held-out row: its number in the table, the truth and what the best model said."""

    row: int
    truth: float | str
    said: float | str
    loss: float


@dataclasses.dataclass(frozen=True)
class Record:
    """Everything that study.json holds."""

    schema: int
    lemmata: str
    created: str
    command: str
    seed: int
    seconds: float
    peak_gib: float
    data: Data
    unit: Unit
    signal: SignalResult
    answers: Answers
    models: list[ModelResult]
    residuals: list[Residual]
    claims: list[dict[str, Any]]
    training: list[dict[str, Any]]
    bibliography: list[dict[str, str]]
    notes: list[str]
    interrupted: bool = False

    def to_json(self) -> str:
        """The record as strict JSON: infinite ends are null.

        Returns:
            Text that `Record.from_json` reads back as an equal record.
        """
        return json.dumps(plain(dataclasses.asdict(self)), ensure_ascii=False, allow_nan=False, indent=1)

    @classmethod
    def from_json(cls, text: str, name: str = "study.json") -> "Record":
        """Read a record.

        Args:
            text: what `to_json` wrote.
            name: of the file, for the error.

        Raises:
            DataError: not JSON, of another schema, or a field is missing or of the wrong type.
        """
        try:
            values = json.loads(text)
            found = values.get("schema") if isinstance(values, dict) else None
            if found != SCHEMA:
                raise DataError(
                    f"{name} is not of this version", found=f"schema {found}", rule=f"schema {SCHEMA}",
                    remedy="run lemmata study again",
                )  # fmt: skip
            return built(cls, values)
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{name} is not a record of a study", found=str(error)[:200], rule="as lemmata study wrote it"
            ) from None

    @classmethod
    def load(cls, path: str | Path) -> "Record":
        """Read study.json.

        Raises:
            DataError: see `from_json`; or there is no such file.
        """
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} cannot be read", found=str(error)[:200], rule="a study.json") from None


def plain(value: Any) -> Any:
    """Plain dictionaries and lists in which numbers that JSON lacks are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def built(kind: Any, value: Any) -> Any:
    """A value of a declared type from plain JSON; null where a float stands is infinity."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = typing.get_type_hints(kind)
        missing = [f.name for f in dataclasses.fields(kind) if f.name not in value and f.default is dataclasses.MISSING
                   and f.default_factory is dataclasses.MISSING]  # fmt: skip
        if missing:
            raise KeyError(f"{kind.__name__} lacks {missing[0]}")
        return kind(**{name: built(hint, value[name]) for name, hint in hints.items() if name in value})
    if origin is list:
        if not isinstance(value, list):
            raise TypeError(f"a list is asked, not {type(value).__name__}")
        return [built(arguments[0], item) for item in value]
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        if isinstance(value, str) and str in arguments:
            return value
        return built(float if float in arguments else next(a for a in arguments if a is not type(None)), value)
    if kind is float:
        return math.inf if value is None else float(value)
    if kind in (int, str, bool) and not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} is asked, not {type(value).__name__}")
    return value
