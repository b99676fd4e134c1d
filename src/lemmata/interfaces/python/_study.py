"""`lemmata.study`: study a table in memory, and get an answer, a data frame of curves, a chart and a page."""

import dataclasses
import functools
import time
from collections.abc import Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import jax
import polars as pl

from lemmata.core import check_executor
from lemmata.errors import SettingError
from lemmata.files import check_model_file, keep_inputs
from lemmata.interfaces.report import bounds_of, learning_curve_chart, page_text, plotted
from lemmata.options import StudyOptions
from lemmata.signatures import shows_signature, shows_signatures
from lemmata.workflows.records.studies import Finding
from lemmata.workflows.studies import (
    Dataset,
    FinalModel,
    StudyRecord,
    final_model,
    load_dataset,
    named_model,
    run_study,
)

from ._asked import asked, typed
from ._exits import exits_told
from ._finished import Finished
from ._model_file import write_model

NORMAL_90 = 1.645
"""A normal variable is within this many standard deviations of its mean with probability 90 %."""


@shows_signatures
@dataclasses.dataclass(frozen=True)
class Given:
    """The input of a study: the data as given, the table that was read from them, and the options."""

    data: Any
    dataset: Dataset
    options: StudyOptions

    @exits_told()
    def fitted(self, record: StudyRecord, name: str | None) -> FinalModel:
        """A model of the study, fitted to all rows that have a target, including rows that the study did not use.

        Args:
            record: the record of the study.
            name: the name of the model; None for the recommended one.
        """
        name = named_model(record, name)
        dataset, options = self.dataset, self.options
        with jax.enable_x64(True):
            if options.max_rows is not None and len(dataset.targets) < dataset.available:
                options = dataclasses.replace(options, max_rows=None)
                dataset = load(self.data, options)
            formula = next(model.formula for model in record.models if model.name == name)
            return final_model(self.data, dataset, options, name, formula)


@shows_signatures
@dataclasses.dataclass(frozen=True, repr=False)
class Study(Finished[StudyRecord]):
    """A finished study.

    Args:
        record: all results of the study, as in study.json.
        given: the input of the study; None if the study was read from study.json.
    """

    given: Given | None = dataclasses.field(default=None, compare=False)
    kind = StudyRecord

    @property
    def _source(self) -> object:
        return None if self.given is None else self.given.data

    def best(self, name: str | None = None) -> Any:
        """The recommended model, fitted to all rows that have a target, as a pipeline of scikit-learn.

        The pipeline takes a data frame with your original columns. The pipeline predicts the target in the units of
        your table, or the class.

        Args:
            name: another model of the study; None for the recommended one.

        Raises:
            SettingError: if the study recommends no model, or it was read from study.json and has no table.
            UnknownNameError: if the study has no model of that name.

        >>> import lemmata
        >>> from sklearn.datasets import load_iris
        >>> table = load_iris(as_frame=True).frame
        >>> found = lemmata.study(table, target="target", models="logistic", quick=True)
        >>> model = found.best()
        >>> model.predict(table.tail(2))
        array([2, 2])
        """
        return self._fitted(name).model

    def save_model(self, path: str | Path, name: str | None = None) -> Path:
        """Write the recommended model to a skops file with a model card next to it, and return the file's path.

        Nothing is pickled. The card says what the model predicts, how well it predicts, and how to load it. The card
        also holds a program that makes the same model without lemmata.

        Args:
            path: a file name that ends in .skops. The card has the same name with .md.
            name: another model of the study; None for the recommended one.

        Raises:
            SettingError: if the path does not end in .skops, or `best` would raise this error.
            FileError: if a file cannot be written.
        """
        check_model_file(path, "path")
        keep_inputs([self._source], [path, Path(path).with_suffix(".md")])
        return write_model(self._fitted(name), self.record, path)

    def _fitted(self, name: str | None) -> FinalModel:
        if self.given is None:
            raise SettingError(
                "the study has no table to fit a model to",
                found="a study that was read from study.json, which holds no rows",
                rule="fitting a model needs the rows",
                remedy=f"study the table again: {self.record.command or 'lemmata.study(table, target=...)'}",
            )
        return self.given.fitted(self.record, name)

    @property
    def answer(self) -> str:
        """The answer in words, the most important sentence first."""
        return "\n".join(self.record.answers.sentences)

    @functools.cached_property
    def curves(self) -> pl.DataFrame:
        """The learning curves: one row for each model and size, in the metric of the study.

        The columns are model, n (training rows), kind ("measured" or "expected"), value, and lower and upper, the ends
        of a 90 % interval. The interval of a measured value is value -+ 1.645 standard errors. This interval is clipped
        to the range of the metric: shares and AUC are in [0, 1], R² is at most 1, and other metrics are at least 0.
        """
        rows, (least, most) = [], bounds_of(self.record.unit)
        for model in self.record.models:
            rows += [
                (
                    model.name,
                    point.n,
                    "measured",
                    point.value,
                    max(point.value - NORMAL_90 * point.se, least),
                    min(point.value + NORMAL_90 * point.se, most),
                )
                for point in model.points
            ]
            rows += [(model.name, item.n, "expected", item.value, item.lower, item.upper) for item in model.band]
        return pl.DataFrame(rows, schema=["model", "n", "kind", "value", "lower", "upper"], orient="row")

    @property
    def findings(self) -> list[Finding]:
        """Every warning of the page: the facts to know before you rely on the answer.

        >>> import lemmata
        >>> table = {"x": range(60), "kind": ["rare"] * 5 + ["usual"] * 55}
        >>> found = lemmata.study(pl.DataFrame(table), "kind", models=["linear"], quick=True)
        >>> sorted({item.kind for item in found.findings} & {"rare class", "imbalance"})
        ['imbalance', 'rare class']
        """
        return list(self.record.findings)

    def plot(self) -> Any:
        """The learning curves as an Altair chart."""
        return plotted(learning_curve_chart(self.record))

    def __repr__(self) -> str:
        return f"Study of {self.record.data.name}\n{self.answer}"

    def _repr_html_(self) -> str:
        return page_text(self.record)


@shows_signature
@exits_told()
def study(table: object, target: str | None = None, executor: Executor | None = None, **options: Any) -> Study:
    """Estimate how much data you need, which model predicts best, and what more data would bring.

    Args:
        table: a pandas or polars data frame, a pair (x, y) of arrays, a scikit-learn bunch, the name of a bundled set,
            or the path of a file.
        target: the column to predict.
        executor: an executor of `concurrent.futures` that measures the learning curves; None means this process.
        options: the fields of `lemmata.options.StudyOptions`, such as error="accuracy 0.95", cost=2.0, group="person",
            models="linear,rbf,forest" or models=["linear", "rbf", "forest"]. Every number is given in the units of
            `metric`, which is a name ("f1", "mae", or any of `sklearn.metrics.get_scorer_names()` that applies), your
            own function score(y_true, y_pred), or a scorer object of scikit-learn. The score of perfect predictions
            shows whether larger scores are better.

    Raises:
        DataError: if the table cannot be used.
        SettingError: if an option is unknown or out of its bounds.
        UnknownNameError: if a named column or model does not exist.
        MissingFileError: if the file does not exist.

    >>> import lemmata
    >>> found = lemmata.study("iris", models=["linear"], quick=True)
    >>> found.answer.splitlines()[0]
    'The columns predict the target (permutation test, p ≤ 0.005, the smallest value that 199 shuffles can give).'
    >>> found.curves.columns
    ['model', 'n', 'kind', 'value', 'lower', 'upper']
    """
    started = time.monotonic()
    told = StudyOptions(**_checked({"target": target, **options}))
    check_executor(executor)
    with jax.enable_x64(True):
        dataset = load(table, told)
        record = run_study(dataset, told, started=started, executor=executor)
    return Study(record, Given(table, dataset, told))


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    """Check the options by name, and join a sequence of models to one string."""
    options = asked(StudyOptions, options, "study")
    models = options.get("models")
    joined = {} if models is None or isinstance(models, str) else {"models": ",".join(_names(models))}
    return typed(StudyOptions, {**options, **joined})


def _names(models: object) -> list[str]:
    """Check a sequence of model names, and return it as a list."""
    names = list(models) if isinstance(models, Iterable) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise SettingError(
            "models does not contain names",
            found=repr(models)[:80],
            rule="names in one string, separated by commas, or a sequence of names",
            remedy='write models="linear,rbf" or models=["linear", "rbf"]',
        )
    return [str(name) for name in names]


def load(table: object, told: StudyOptions) -> Dataset:
    """Read the table as the options say."""
    return load_dataset(
        table,
        told.target,
        task=told.task,
        drop_missing=told.drop_missing,
        drop_columns=told.drop_column,
        keep_columns=told.keep,
        group=told.group,
        time=told.time,
        na=told.na,
        decimal=told.decimal,
        max_rows=told.max_rows,
        seed=told.seed,
    )
