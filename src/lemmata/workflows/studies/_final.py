"""Fit the model that a study recommends to all rows.

The model takes the user's columns and predicts in the target's units.
"""

import dataclasses
import warnings
from operator import methodcaller
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import FunctionTransformer

from lemmata.core import available_bytes, one_blas_thread
from lemmata.errors import MemoryPlanError, SettingError, UnknownNameError
from lemmata.options import StudyOptions
from lemmata.workflows.records.studies import StudyRecord

from ._data import Dataset
from ._final_code import program
from ._final_columns import Kinds, encoder_of, group_folds, kinds_of, set_folds
from ._final_settings import UNSCALED, kernel_steps, usual_estimator
from ._final_table import Raw, raw_table
from ._large_fit import CENTRES
from ._models import Model
from ._own import estimator_of, own_model
from ._usual import NAIVE, USUAL


@dataclasses.dataclass(frozen=True)
class FinalModel:
    """A model that is fitted to all rows, with the facts that are needed to describe, load and rebuild the model.

    Args:
        name: the name of the model in the study.
        model: a scikit-learn pipeline. For several targets it may be a `MultiOutputRegressor` of pipelines.
        inputs: the columns that the model takes.
        labels: the classes that the model predicts; None for numbers.
        rows: the number of rows that the model was fitted to.
        code: a program that fits the same model without lemmata; empty for the user's own model.
        why: for each column that scikit-learn alone cannot prepare, the reason. If `why` is empty, the model can be
            loaded without lemmata, unless the model is the kernel of a network.
        positional: whether the model takes an array, whose columns are known by their positions.
    """

    name: str
    model: Any
    inputs: tuple[str, ...]
    labels: tuple[Any, ...] | None
    rows: int
    code: str
    why: dict[str, str]
    positional: bool


def named_model(record: StudyRecord, name: str | None = None) -> str:
    """Return the name of the model to fit: `name`, or the recommended model if `name` is None.

    Raises:
        SettingError: if the study recommends no model, or the model to fit uses no columns, like the last-value model.
        UnknownNameError: if the study has no model with this name.
    """
    known = [model.name for model in record.models]
    if name is not None and name not in known:
        raise UnknownNameError(f"the study has no model {name!r}", rule=f"it measured {', '.join(known)}")
    chosen = record.answers.best if name is None else name
    others = [own for own in known if own not in NAIVE]
    names = f" (one of {', '.join(others)})" if len(others) > 1 else ""
    remedy = f"name a model of the study yourself: study.best({others[0]!r}) in Python{names}" if others else None
    if chosen is None:
        raise SettingError(
            "the study recommends no model",
            found=record.answers.sentences[0],
            rule="the study recommends a model only if it is significantly better than guessing",
            remedy=remedy,
        )
    if chosen in NAIVE:
        title = next(model.title for model in record.models if model.name == chosen)
        raise SettingError(f"the chosen model is the {title}, which does not use the columns",
                           rule="a model for new rows must use the columns, but this model only repeats past targets",
                           remedy=remedy)  # fmt: skip
    return chosen


def final_model(
    data: object, dataset: Dataset, options: StudyOptions, name: str, formula: str | None = None
) -> FinalModel:
    """Fit a model of a study to all of its rows.

    Args:
        data: the input of the study.
        dataset: the table that was read from `data`.
        options: the options of the study.
        name: the name of the model to fit.
        formula: the formula of the model in the study. The formula distinguishes the user's own model from other models
            with the same name.

    Raises:
        MemoryPlanError: if a kernel's features of all rows do not fit into memory.
    """
    raw = raw_table(data, dataset, options.na)
    kinds = kinds_of(raw, dataset, options.decimal)
    if raw.positional and kinds.plain is not None:  # `PlainTable` takes columns by their names
        table = dataset.given.table
        raw = Raw(table.frame, table.frame, ("memory", {}))
        kinds = kinds_of(raw, dataset, options.decimal)
    with one_blas_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(?!lemmata\b)")
        warnings.filterwarnings("ignore", message="(?s).*table that the model was fitted to")
        own = None if options.model is None else own_model(options.model, dataset)[0]
        fit = _Fit(raw, kinds, dataset, name, options, own if own is not None and own.formula == formula else None)
        model = fit.fitted()
    labels = None if dataset.classes is None else tuple(fit.labels.tolist())
    inputs, why = dataset.raw_features, kinds.why
    if fit.own is None:
        code = program(raw, kinds, dataset, options, model, fit.labels.dtype.kind == "U")
    else:
        code = ""
        inputs, why = (dataset.given.names, {}) if fit.own.raw else (inputs, why)
    return FinalModel(name, model, inputs, labels, len(dataset.targets), code, why, raw.positional)


class _Fit:
    """The fit of one model. Settings are chosen on rows in random order or, with --time, in the order of time.

    The final fit gets the rows in the order of the table.
    """

    def __init__(self, raw: Raw, kinds: Kinds, dataset: Dataset, name: str, options: StudyOptions, own: Model | None):
        seed, self.group = options.seed, options.group
        self.raw, self.kinds, self.dataset, self.name, self.own = raw, kinds, dataset, name, own
        self.usual = name in USUAL or own is not None
        n = len(dataset.targets)
        mixed = np.random.default_rng([seed, 2]).permutation(n) if dataset.order is None else np.argsort(dataset.order)
        if dataset.order is None and dataset.groups is not None:  # group by group, as in a split
            place = np.random.default_rng([seed, 3]).permutation(int(dataset.groups.max()) + 1)
            mixed = mixed[np.argsort(place[dataset.groups[mixed]], kind="stable")]
        self.order, self.rows = mixed, np.arange(n)
        self.labels = _labels(raw, dataset)
        if not self.usual and name != "linear" and n * CENTRES * 24 > available_bytes():
            raise MemoryPlanError(f"the model {name!r} of {n:,} rows does not fit into memory",
                                  found=f"{n * CENTRES * 24:,} bytes needed, {available_bytes():,} bytes free",
                                  rule=f"a kernel computes {CENTRES:,} features of each row",
                                  remedy="name another model of the study")  # fmt: skip

    def fitted(self) -> Any:
        model = self.fitted_with_groups()
        for own in [model, *getattr(model, "estimators_", [])]:
            if "columns" in getattr(own, "named_steps", {}):
                set_folds(own.named_steps["columns"], None)  # a fitted encoder no longer needs its folds
        return model

    def fitted_with_groups(self) -> Any:
        targets = self.dataset.targets
        if self.dataset.classes is not None:
            steps = self.steps(targets, self.labels[targets.argmax(axis=1)])
            return self.pipeline(steps).fit(self.inputs(), self.labels[targets.argmax(axis=1)])
        k = targets.shape[1]
        if k == 1 or (not self.usual and not self.kinds.many):
            y = targets[:, 0] if k == 1 else targets
            return self.pipeline(self.steps(targets, y)).fit(self.inputs(), y)
        from sklearn.multioutput import MultiOutputRegressor

        each = [self.pipeline(self.steps(targets[:, [j]], targets[:, j])) for j in range(k)]
        model = MultiOutputRegressor(each[0])
        # Each target has its own settings. One estimator for all targets could not have them.
        model.estimators_ = [own.fit(self.inputs(), y) for own, y in zip(each, targets.T, strict=True)]
        model.n_features_in_ = len(self.dataset.raw_features)
        return model

    def inputs(self, rows: np.ndarray | None = None) -> Any:
        rows = self.rows if rows is None else rows
        if self.own is not None and self.own.raw:
            return self.dataset.as_given(rows)
        return self.raw.inputs(self.dataset.raw_features, self.dataset.given.rows[rows])

    def encoder(self, rows: np.ndarray | None = None) -> list[tuple[str, Any]]:
        """Return the first steps of the pipeline. With groups, a row's target means are learned from other groups."""
        rows = self.rows if rows is None else rows
        columns = encoder_of(self.kinds, self.raw, self.name not in UNSCALED, numbers=self.dataset.classes is None)
        if self.group is not None and self.kinds.many:
            groups = self.raw.cells[str(self.group)].to_numpy()[self.dataset.given.rows[rows]]
            set_folds(columns, group_folds(groups))
        if self.raw.sparse:  # the model takes sparse and dense matrices
            steps = [FunctionTransformer(make, accept_sparse=True) for make in (csr_matrix, methodcaller("toarray"))]
            return [("sparse", steps[0]), ("filled", steps[1]), ("columns", columns)]
        if self.kinds.plain is None:
            return [("columns", columns)]
        from lemmata.estimators import PlainTable

        return [("table", PlainTable(**self.kinds.plain)), ("columns", columns)]

    def steps(self, targets: np.ndarray, y: np.ndarray) -> list[Any]:
        """Return the last steps of the pipeline, with chosen settings."""
        from sklearn.pipeline import Pipeline

        if self.own is not None:
            return [estimator_of(self.own)]
        encoded = Pipeline(self.encoder(self.order)).fit_transform(self.inputs(self.order), y[self.order])
        x = np.asarray(encoded, dtype=np.float64)
        groups = None if self.dataset.groups is None else self.dataset.groups[self.order]
        if self.usual:
            return [usual_estimator(self.name, x, targets[self.order], self.dataset.task, groups)]
        return kernel_steps(self.name, x, targets[self.order], self.dataset.task, groups)

    def pipeline(self, last: list[Any]) -> Any:
        from sklearn.pipeline import Pipeline

        if self.own is not None and self.own.raw:
            return last[0]
        names = ["model"] if len(last) == 1 else ["kernel", "model"]
        return Pipeline([*self.encoder(), *zip(names, last, strict=True)])


def _labels(raw: Raw, dataset: Dataset) -> np.ndarray:
    """Return the classes as written in the table, in the order of the study; empty for numbers."""
    if dataset.classes is None:
        return np.empty(0)
    cells = raw.cells[dataset.target]
    first = dataset.given.rows[dataset.targets.argmax(axis=0)]
    labels = cells[first].to_numpy()
    fractions = labels.dtype.kind == "f" and bool((labels != np.round(labels)).any())
    # scikit-learn does not accept fractions as classes.
    return np.array(dataset.classes) if labels.dtype.kind not in "biuf" or fractions else labels
