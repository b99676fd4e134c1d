"""Find the metric of a study: a metric selected by its name, or the user's own scorer, adapted to one table."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.errors import SettingError, line_of, words_of

from ._data import Dataset
from ._metrics import DEFAULT, Distance, Loss, Metric, asked, metric
from ._own import labels_of
from ._row_losses import brier, wrong
from ._scorers import RANKED, UNSCORED, Scored, increasing

TRIED = 2000
"""The largest number of rows on which a scorer is tried, and on which the best guess is chosen."""
MOST_CLASSES = 20
"""If there are at most this many classes, each class is tried as a constant guess."""
SAME = 1e-6
"""A score depends on the number of rows if repeating every row changes it by more than this relative amount."""


def unit_of(dataset: Dataset, given: Any, error: str | float | None) -> tuple[Metric, float | None]:
    """Return the requested metric, adapted to the table, and the loss to reach (None if no loss is requested).

    Args:
        dataset: the table.
        given: the value of `--metric`: a name, the user's own score(y_true, y_pred), or a scorer object of
            scikit-learn; None means the metric of `error`, or the default metric of the task.
        error: the value of `--error`: a metric and a number, or a number in the given metric.

    Raises:
        SettingError: if there is no such metric, if no model can have the value, or if the scorer cannot be used.
    """
    spread, task = float(dataset.targets.var(axis=0).sum()), dataset.task
    unit = given
    if given is not None:
        unit = bound(metric(given, task) if isinstance(given, str) else _own(given, dataset), dataset)
    if error is None:
        return unit or metric(DEFAULT[task], task), None
    unit, loss = asked(error, task, spread, unit)
    return bound(unit, dataset), loss


def bound(unit: Metric, dataset: Dataset) -> Metric:
    """Return the metric adapted to one table: to the rarer of two classes, and to the best constant guess.

    Raises:
        SettingError: if scikit-learn's scorer does not work for this table.
    """
    if unit.always:
        return unit
    y, words, rows, most = dataset.targets, unit.words, unit.rows, unit.most
    if dataset.classes is not None and len(dataset.classes) == 2:
        rare = rarer(dataset)
        most = 1.0 if rows is brier else most
        if isinstance(rows, Scored) and not rows.labels:
            rows = dataclasses.replace(rows, order=(1 - rare, rare))
        if unit.of_class and "for the class" not in words:
            words = f"{words}, for the class {dataset.classes[rare]!r}"
    elif unit.of_class:
        words = f"{words}, a mean over classes"
    if isinstance(rows, Scored) and rows.scorer == RANKED:
        order = list(rows.order) or list(range(y.shape[1]))
        rows = dataclasses.replace(rows, shares=tuple(y.mean(axis=0)[order].tolist()))
    made = dataclasses.replace(unit, rows=rows, words=words, most=most)
    some = _some(y)
    if isinstance(rows, Scored):
        rows = _tried(rows, some, unit)
        _check_wrong(rows, some, unit)
        made = dataclasses.replace(made, rows=rows, probable=rows.probable)
    return dataclasses.replace(made, guess=_best_guess(made, some, y))


def rarer(dataset: Dataset) -> int:
    """Return the target column of the rarest class. If several classes are equally rare, return the last of them."""
    counts = dataset.targets.sum(axis=0)
    return int(np.flatnonzero(counts == counts.min())[-1])


def constant(kind: str, targets: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " k"]:
    """Return the prediction that uses no column and is therefore the same for every row.

    Args:
        kind: "mean", which is the class shares for classes; "median"; or "class j", such as "class 2" for the third
            class.
        targets: the targets from which the prediction is computed.

    >>> constant("median", np.array([[1.0], [2.0], [9.0]])), constant("class 1", np.eye(3))
    (array([2.]), array([0., 1., 0.]))
    """
    if kind == "mean":
        return targets.mean(axis=0)
    return np.median(targets, axis=0) if kind == "median" else np.eye(targets.shape[1])[int(kind.split()[1])]


def say_guess(unit: Metric, classes: Sequence[str] | None) -> str:
    """Return the prediction of guessing in words."""
    if unit.guess.startswith("class"):
        return f"the class {(classes or ())[int(unit.guess.split()[1])]!r} for every row"
    if unit.task == "regression":
        return f"the {unit.guess}"
    labels = unit.rows is wrong or (isinstance(unit.rows, Scored) and not unit.probable)
    return "the most frequent class" if labels else "the shares of the classes"


def say_unit(unit: Metric, dataset: Dataset) -> str:
    """Return a sentence on the class that the score is about, and whether always predicting this class is perfect.

    The result is empty if the score is not about one class.
    """
    if not unit.of_class or dataset.classes is None:
        return ""
    name = f"{unit.title[:1].upper()}{unit.title[1:]}"
    if len(dataset.classes) > 2:
        return f"{name} is the mean over the {len(dataset.classes)} classes, each with the same weight."
    rare = rarer(dataset)
    counts = dataset.targets.sum(axis=0)
    which = "the rarer class" if counts[rare] < counts[1 - rare] else "the second class"
    text = f"{name} is computed for the class {dataset.classes[rare]!r}, {which}."
    sure, y = np.repeat(np.eye(2)[rare][None], len(dataset.targets), axis=0), dataset.targets
    if isinstance(unit.rows, Scored) and not unit.probable and unit.rows.loss(y, sure) == 0:
        text += " Always predicting that class gives the perfect value. Use --metric f1 to count false positives, too."
    return text


def _some(y: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "m k"]:
    """Return the targets of rows for trying a scorer: from each class by its share, or evenly spaced for numbers."""
    order = np.argsort(y[:, 0] if y.shape[1] == 1 else y.argmax(axis=1), kind="stable")
    places = np.unique(np.linspace(0, len(y) - 1, min(len(y), TRIED)).astype(int))
    return y[order[places]]


def _tried(rows: Scored, y: Float[np.ndarray, "m k"], unit: Metric) -> Scored:
    """Return the scorer, with `probable` set if it fails on perfect predictions without probabilities."""
    fault = None
    for probable in (False, True) if unit.task == "classification" else (False,):
        made = dataclasses.replace(rows, probable=probable)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                best = made.score(y, y)
        except (Exception, SystemExit) as error:  # errors of a function that may be the user's own
            fault = fault or error
            continue
        if not math.isfinite(best):
            raise SettingError(f"the score {unit.name!r} of perfect predictions is not finite", found=best)
        return made
    assert fault is not None
    told = words_of(fault, 200)
    raise SettingError(
        f"the metric {unit.name!r} cannot be computed for this target",
        found=told.removeprefix(UNSCORED) if told.startswith(UNSCORED) else line_of(fault, 200),
        rule="the score must take true and predicted targets and return one number",
    )


def _check_wrong(rows: Scored, y: Float[np.ndarray, "m k"], unit: Metric) -> None:
    """Check that one of scikit-learn's scores of classes is not perfect if every class is predicted wrongly.

    Raises:
        SettingError: if the score of these wrong predictions is perfect. With two classes, the true class is always
            among the best two.
    """
    if unit.task == "regression" or not isinstance(rows.scorer, str):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if rows.loss(y, np.roll(y, 1, axis=1)) != 0:
            return
    raise SettingError(
        f"the metric {unit.name!r} is perfect for every prediction of this target",
        found=f"the perfect score {rows.perfect:g} for predictions that are all wrong, with {y.shape[1]} classes",
        rule="a metric must distinguish right predictions from wrong ones",
        remedy=f"choose another metric, such as --metric {DEFAULT[unit.task]}",
    )


def _best_guess(unit: Metric, some: Float[np.ndarray, "m k"], y: Float[np.ndarray, "n k"]) -> str:
    """Return the kind of constant prediction (`constant`) with the least loss on some rows; of equal kinds, the first.

    A constant without any loss is not used. For example, always predicting a class has perfect recall of this class.
    """
    k = y.shape[1]
    kinds = ["mean", "median"] if unit.task == "regression" else ["mean"]
    if unit.task == "classification" and k <= MOST_CLASSES:
        kinds += [f"class {j}" for j in range(k)]
    spread, losses = float(y.var(axis=0).sum()), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in kinds:
            said = np.repeat(constant(kind, y)[None], len(some), axis=0)
            try:
                rows = unit.rows
                loss = rows.loss(some, said) if isinstance(rows, Scored) else float(rows(some, said, spread).mean())
            except (ValueError, ArithmeticError):
                loss = math.inf
            losses.append(loss if math.isfinite(loss) and loss > 0 else math.inf)
    least = min(losses)
    if not math.isfinite(least):
        return kinds[0]
    return kinds[next(i for i, loss in enumerate(losses) if loss <= least + 1e-12 * abs(least))]


def name_of(scorer: Callable[..., Any]) -> str:
    """Return the name of a user's scorer, which is the name of its function.

    >>> from sklearn.metrics import fbeta_score, make_scorer
    >>> name_of(make_scorer(fbeta_score, beta=2)), name_of(lambda y, said: 0.0)
    ('fbeta_score', 'score')
    """
    inner = getattr(scorer, "_score_func", scorer)
    name = getattr(inner, "__name__", type(inner).__name__)
    return name.lstrip("_") if name.isidentifier() and name.strip("_") else "score"


def _rounding(rows: Scored, y: Float[np.ndarray, "m k"], said: Float[np.ndarray, "m k"], found: float) -> float:
    """Return how far round-off may change the score `found`.

    The targets or the predictions are increased by the relative rounding error. The largest change of the score is
    multiplied by 2m, because a sum of m numbers is rounded m times, and a score may subtract two sums.
    """
    eps = float(np.finfo(float).eps)
    moved = (rows.score(y + eps * np.abs(y), said), rows.score(y, said + eps * np.abs(said)))
    apart = [abs(score - found) for score in moved]
    return 2 * len(y) * max((own for own in apart if math.isfinite(own)), default=0.0)


def _own(scorer: Any, dataset: Dataset) -> Metric:
    """Return the metric of a user's scorer.

    The best value of the metric is the score of perfect predictions. A comparison with guessing shows whether larger or
    smaller values are better.

    Raises:
        SettingError: if the scorer is not a function or fails, if guessing has the score of perfect predictions, or if
            the score depends on the number of rows.
    """
    if not callable(scorer):
        raise SettingError(
            "metric is neither a name nor a scoring function", found=repr(scorer)[:80],
            rule="a name, a function score(y_true, y_pred), or a scorer object of scikit-learn",
        )  # fmt: skip
    name, task, y = name_of(scorer), dataset.task, _some(dataset.targets)
    labels, order = increasing(labels_of(dataset))
    rows, told, understood = Scored(scorer, task, labels=labels, order=order), Distance(0.0, 1.0), Loss(0.0, 1.0)
    words = f"your score {name}"
    made = Metric(name, task, rows, told, understood, True, False, words, averaged=False, always=False)
    tried = _tried(made.rows, y, made)  # pyright: ignore[reportArgumentType]
    said = np.repeat(constant("mean", dataset.targets)[None], len(y), axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best, guessed = tried.score(y, y), tried.score(y, said)
        twice = tried.score(np.concatenate([y, y]), np.concatenate([said, said]))
        rounding = _rounding(tried, y, said, guessed) if task == "regression" else 0.0
    if not math.isfinite(guessed) or abs(guessed - best) <= rounding:
        finite = "return a finite number for a constant prediction, too, such as 0 instead of nan for a correlation"
        best_only = "return a score that is best only for right predictions, such as a mean of absolute errors"
        raise SettingError(
            f"your score {name!r} does not distinguish perfect predictions from guessing",
            found=f"{best:g} for perfect predictions and {guessed:g} for guessing", rule="two different finite numbers",
            remedy=best_only if math.isfinite(guessed) else finite,
        )  # fmt: skip
    if abs(twice - guessed) > SAME * max(abs(guessed), abs(best)) + rounding:
        raise SettingError(
            f"your score {name!r} depends on the number of rows",
            found=f"{guessed:g} for {len(y):,} rows, and {twice:g} if every row is repeated", rule="the same value",
            remedy="return a mean over rows instead of a sum",
        )  # fmt: skip
    negative = getattr(scorer, "_sign", 1) < 0  # make_scorer(greater_is_better=False) turns the sign
    sign = 1.0 if best > guessed else -1.0
    told = (-best, -sign) if negative else (best, sign)
    return dataclasses.replace(
        made, rows=dataclasses.replace(tried, perfect=best, sign=sign), told=Distance(*told), understood=Loss(*told),
        rises=told[1] > 0, probable=tried.probable,
    )  # fmt: skip
