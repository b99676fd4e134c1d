"""The metrics in which an error is requested, measured and shown: RMSE, accuracy, F1, a scorer of scikit-learn, ...

Every error is computed as a loss, which is at least 0 and smaller for a better model. A metric is a loss that is shown
in a unit that users know.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from lemmata.errors import SettingError
from lemmata.workflows.records import spell

from ._row_losses import absolute, brier, misranked, squared, surprise, unexplained, wrong
from ._scorers import Scored, scorer_tasks

_TITLES = {"wrong": "error rate", "unexplained": "unexplained variance"}


@dataclasses.dataclass(frozen=True)
class Metric:
    """A loss, and the unit in which it is shown.

    Args:
        name: the name for `--metric` and `--error` ("rmse").
        task: "regression" or "classification".
        rows: a function of targets (m, k), outputs (m, k) and the variance of the target. The function returns the
            contribution of each row to the loss.
        told: a function of the loss and the variance of the target. The function returns the value in the user's unit.
        understood: the inverse function of `told`, from a value in the user's unit to the loss.
        rises: whether larger values are better.
        percent: whether the value is a share.
        words: a description of the metric, in a few words.
        most: the largest possible loss.
        probable: whether the metric needs probabilities.
        counted: the rows among which mistakes are counted, if the loss is a share: "rows" for all rows, or "rarest" for
            rows of the rarest class. Empty if no rows are counted.
        averaged: whether the loss is the mean of the losses of single rows. If not, `rows` returns contributions whose
            mean is the loss.
        always: whether the metric is measured even if it was not requested, because theory and answers use it.
        of_class: whether the metric, for two classes, is about one class, as recall is.
        guess: the best constant prediction, which uses no column (see `constant`).
        aliases: other names of the metric, such as scikit-learn's.
    """

    name: str
    task: str
    rows: Callable[..., np.ndarray]
    told: Callable[[float, float], float]
    understood: Callable[[float, float], float]
    rises: bool
    percent: bool
    words: str
    most: float = math.inf
    probable: bool = False
    counted: str = ""
    averaged: bool = True
    always: bool = True
    of_class: bool = False
    guess: str = "mean"
    aliases: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name in a sentence, such as "balanced accuracy"."""
        return _TITLES.get(self.name, self.name.replace("_", " "))

    @property
    def tailed(self) -> bool:
        """Whether a few rows may contribute most of the loss."""
        return self.averaged and self.task == "regression"


@dataclasses.dataclass(frozen=True)
class Distance:
    """Convert a loss to a value: the loss is how far the value is below (sign 1) or above (sign -1) the best value."""

    best: float
    sign: float

    def __call__(self, loss: float, spread: float) -> float:
        """Return the value for a loss."""
        return self.best - self.sign * loss


@dataclasses.dataclass(frozen=True)
class Loss:
    """The inverse of `Distance`: convert a value to a loss."""

    best: float
    sign: float

    def __call__(self, value: float, spread: float) -> float:
        """Return the loss for a value."""
        return self.sign * (self.best - value)


def _root(loss: float, spread: float) -> float:
    return math.sqrt(loss * spread) if math.isfinite(loss) else loss


def _power(value: float, spread: float) -> float:
    return value * value / spread


def _rest(value: float, spread: float) -> float:
    return 1.0 - value


def _same(value: float, spread: float) -> float:
    return value


def _numbers(name: str, rows: Any, words: str, **more: Any) -> Metric:
    return Metric(name, "regression", rows, _same, _same, False, False, words, **more)


def _classes(name: str, rows: Any, words: str, rises: bool = False, percent: bool = False, **more: Any) -> Metric:
    told = _rest if rises else _same
    return Metric(name, "classification", rows, told, told, rises, percent, words, **more)


def _scored(name: str, words: str, percent: bool = False, several: str | None = None, of_class: bool = False) -> Metric:
    """Return the metric of a scikit-learn scorer for classes, for scores from 0 to 1 (best)."""
    rows = Scored(name, "classification", several=several)
    more = {"most": 1.0, "counted": "rarest", "averaged": False, "always": False, "of_class": of_class}
    return _classes(name, rows, words, True, percent, **more)


METRICS = (
    Metric(
        "rmse", "regression", unexplained, _root, _power, False, False,
        "root mean square error, in units of the target", aliases=("neg_root_mean_squared_error",),
    ),
    Metric("r2", "regression", unexplained, _rest, _rest, True, False,
           "fraction of the target's variance that is explained"),
    _numbers("unexplained", unexplained, "fraction of the target's variance that is not explained"),
    _numbers("mae", absolute, "mean absolute error, in units of the target", always=False,
             aliases=("mean_absolute_error", "neg_mean_absolute_error")),
    _numbers(
        "median_absolute_error", Scored("neg_median_absolute_error", "regression", 0.0),
        "median of the absolute errors, in units of the target", averaged=False, always=False,
        aliases=("median_error", "medae", "neg_median_absolute_error"),
    ),
    _classes("accuracy", wrong, "fraction of rows whose class is predicted correctly", True, True, most=1.0,
             counted="rows"),
    _classes("wrong", wrong, "fraction of rows whose class is predicted wrongly", percent=True, most=1.0,
             counted="rows"),
    _classes("log-loss", surprise, "mean of -log of the probability of the true class", probable=True,
             aliases=("neg_log_loss",)),
    _classes(
        "auc", misranked, "how often a row of a class is ranked above a row of another class", True, most=1.0,
        counted="rarest", averaged=False, aliases=("roc_auc", "roc_auc_ovr"),
    ),
    _classes("squared", squared, "squared error over one-hot columns"),
    _classes("brier_score", brier, "mean square error of the probabilities", probable=True, always=False,
             most=2.0, aliases=("brier", "neg_brier_score")),
    _scored("f1", "harmonic mean of precision and recall", several="f1_macro", of_class=True),
    _scored("balanced_accuracy",
            "fraction of rows whose class is predicted correctly, with the same weight for every class", percent=True),
    _scored("average_precision", "precision among the rows ranked first, averaged over recall", of_class=True),
)  # fmt: skip
DEFAULT = {"regression": "rmse", "classification": "accuracy"}
_PLAIN = {"regression": "unexplained", "classification": "wrong"}


def plain_name(name: str) -> str:
    """Normalise a name for comparison: lower case, with "-", "_" and blanks as the same character."""
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def metric(name: str, task: str) -> Metric:
    """Return the metric with this name, or the metric of scikit-learn's scorer with this name.

    Raises:
        SettingError: if the task has no such metric; the message lists the metrics.

    >>> metric("neg_log_loss", "classification").name, metric("recall_macro", "classification").title
    ('log-loss', 'recall macro')
    """
    known = {plain_name(own): item for item in METRICS if item.task == task for own in (item.name, *item.aliases)}
    asked_for, tasks = plain_name(name), scorer_tasks()
    if asked_for in known:
        return known[asked_for]
    if tasks.get(asked_for) == task:
        return _of_scikit_learn(asked_for, task)
    names = [item.name for item in METRICS if item.task == task]
    more = [own for own in tasks if tasks[own] == task and own not in known]
    rule = f"one of {', '.join(names)}, or of scikit-learn's {', '.join(more)}"
    others = {plain_name(own) for item in METRICS for own in (item.name, *item.aliases)} | set(tasks)
    if asked_for in others:
        here, there = ("numbers", "classes") if task == "regression" else ("classes", "numbers")
        other = "classification" if task == "regression" else "regression"
        raise SettingError(
            f"there is no metric {name[:40]!r} for {task}", found=f"a target of {here}, but a score for {there}",
            rule=rule, remedy=f"choose another metric, or add --task {other}",
        )  # fmt: skip
    near = difflib.get_close_matches(asked_for, [*known, *more], n=2)
    hint = " or ".join(dict.fromkeys(repr(known[own].name if own in known else own) for own in near))
    hint = f"did you mean {hint}?" if near else None
    raise SettingError(f"there is no metric {name[:40]!r} for {task}", rule=rule, remedy=hint)


SHARES = re.compile(r"(f1|precision|recall|jaccard|roc_auc|top_k)(_|$)")
"""The scores of scikit-learn that lie between 0 and 1."""
OF_CLASS = ("precision", "recall", "jaccard")
"""Scores of one class of two. Each has a mean over classes, whose name ends in `_macro`."""


def _of_scikit_learn(name: str, task: str) -> Metric:
    """Return the metric of a scikit-learn scorer. A score that is a negative error is shown as the error itself."""
    falls = name.startswith("neg_")
    several = f"{name}_macro" if name in OF_CLASS else None
    best, sign = (0.0, -1.0) if falls else (1.0, 1.0)
    shares = task == "classification" and SHARES.match(name) is not None
    return Metric(
        name.removeprefix("neg_").removesuffix("_score"),
        task,
        Scored(name, task, 0.0 if falls else 1.0, several=several),
        Distance(best, sign),
        Loss(best, sign),
        not falls,
        False,
        f"scikit-learn's {name}",
        most=1.0 if shares else 2.0 if name == "matthews_corrcoef" else math.inf,
        counted="rarest" if shares else "",
        averaged=False,
        always=False,
        of_class=several is not None,
    )


def asked(text: str | float, task: str, spread: float, unit: Metric | None = None) -> tuple[Metric, float]:
    """Return the metric and the requested loss of "accuracy 0.95", "rmse 2.5", "accuracy 95%" or a bare number.

    A bare number is a value of `unit`. Without `unit`, a bare number is the unexplained share of the variance (1 - R²),
    or the share of wrong classes.

    Args:
        text: the metric and the value, or a number, as the user gave them.
        task: "regression" or "classification".
        spread: the variance of the target, in its units squared, summed over outputs.
        unit: the metric of `--metric`, or the user's own; None if none is given.

    Raises:
        SettingError: if the text is not a metric and a number, if no model can have the value, or if the metric differs
            from `unit`.

    >>> asked("accuracy 95%", "classification", 1.0)[1]
    0.050000000000000044
    >>> asked("rmse 2", "regression", 16.0)[1]
    0.25
    >>> asked("0.8", "classification", 1.0, metric("f1", "classification"))[1]
    0.19999999999999996
    """
    found = re.fullmatch(
        r"\s*(?:([A-Za-z][\w -]*?)[\s:=]\s*)?([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*", str(text)
    )
    if not found:
        names = ", ".join(item.name for item in METRICS if item.task == task) if unit is None else unit.name
        raise SettingError(
            f"--error {str(text)[:40]!r} is not a metric and a number",
            rule=f"one of {names}, then a number",
            remedy=f'for example --error "{DEFAULT[task]} {"0.95" if task == "classification" else "2.5"}"'
            if unit is None
            else f'for example --error "{unit.name} {unit.told(0.1, spread):g}"',
        )
    name, number, percent = found.groups()
    value = float(number) / (100.0 if percent else 1.0)
    if unit is None:
        unit = metric(name or _PLAIN[task], task)
    elif name and plain_name(name) != plain_name(unit.name) and metric(name, task).name != unit.name:
        raise SettingError(
            "--error and --metric name two different metrics", found=f"{name.strip()!r} and {unit.name!r}", rule="one",
            remedy=f"leave --metric out, or give --error {value:g}",
        )  # fmt: skip
    return unit, _reachable(unit, value, spread)


def _reachable(unit: Metric, value: float, spread: float) -> float:
    """Return the loss of a value. Raise an error if no model can have this value."""
    if unit.name == "rmse" and value < 0:
        raise SettingError("--error is out of reach for any model", found=f"rmse {value:g}", rule="above 0")
    loss = unit.understood(value, spread) if math.isfinite(value) else math.nan
    if not 0 < loss < unit.most:
        least, limit = unit.told(0.0, spread), unit.told(unit.most, spread) if math.isfinite(unit.most) else None
        rule = (
            f"a value that is better than {limit:g} and worse than the perfect value {least:g}"
            if limit is not None
            else f"a value that is worse than the perfect value {least:g}"
        )
        raise SettingError("--error is out of bounds", found=f"{unit.name} {value:g}", rule=rule)
    return loss


def tell(unit: Metric, loss: float, spread: float) -> str:
    """Format the loss in the user's unit, as `spell` writes it."""
    return spell(unit.told(loss, spread), unit.percent)
