"""Find the question of a study: the metric, the value to reach, and the value that guessing has in this metric."""

import dataclasses
import math
import warnings

import numpy as np

from lemmata.errors import DataError
from lemmata.options import StudyOptions
from lemmata.workflows.records.studies import Unit

from ._data import Dataset
from ._imbalance import RARE
from ._measure import baselines, spread_of
from ._question import Question
from ._splits import before_stretches
from ._units import say_guess, unit_of

FARTHEST = 1e70
"""An error is raised for targets with numbers of this size or with a standard deviation of at most 1 / FARTHEST."""


def question(dataset: Dataset, options: StudyOptions) -> Question:
    """Return the question that the options ask about the table: the metric and the value to reach.

    Raises:
        SettingError: if --metric or --error is not a metric of the task, or if no model can reach the value.
        DataError: if a target has numbers that are too large or too small to be squared.
    """
    _check_scale(dataset)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(?!lemmata\b)")  # warnings of other libraries, as in a study
        unit, loss = unit_of(dataset, options.metric, options.error)
        spread, guessing = spread_of(dataset), baselines(dataclasses.replace(dataset, unit=unit))
    more = "rows" if dataset.groups is None else "rows of new groups"
    used = len(dataset.targets) if len(dataset.targets) < dataset.available else None
    return Question(
        unit, loss, dataset.available, spread, guessing[unit.name], options.cost, used, _rare(dataset), more,
        constant=say_guess(unit, dataset.classes), in_time=dataset.order is not None,
        ahead=1 if dataset.order is None else before_stretches(dataset.order)[1],
    )  # fmt: skip


def _check_scale(dataset: Dataset) -> None:
    """Raise an error if float64 cannot hold the target's squared errors, or the variances of these squared errors."""
    if dataset.classes is not None:
        return
    for size, spread in zip(np.abs(dataset.targets).max(axis=0), dataset.y_scale, strict=True):
        if not (size < FARTHEST and spread > 1 / FARTHEST):
            raise DataError(
                f"target {dataset.target!r} has numbers that are too {'large' if size > 1 else 'small'} to be squared",
                found=f"numbers up to {size:.3g} with standard deviation {spread:.3g}",
                rule=f"numbers below {FARTHEST:g} with a standard deviation above {1 / FARTHEST:g}",
                remedy=f"use another unit: divide the target by 1e{round(math.log10(size))}",
            )


def recorded(asked: Question) -> Unit:
    """Return the metric of the question, with its value for guessing and its bounds, as the record stores it."""
    unit, spread = asked.unit, asked.spread
    ends = [unit.told(loss, spread) for loss in (0.0, unit.most)]
    best, worst = (end if math.isfinite(end) else None for end in ends)
    return Unit(unit.title, unit.words, unit.rises, unit.percent, unit.told(asked.guessing, spread), best, worst)


def _rare(dataset: Dataset) -> str:
    """Return a sentence that names the classes with too few rows for both training and testing."""
    counts = dataset.targets.sum(axis=0) if dataset.classes is not None else np.zeros(0)
    few = [f"{name!r} ({int(n)})" for name, n in zip(dataset.classes or (), counts, strict=True) if n < RARE]
    if not few:
        return ""
    named = ", ".join(few[:5]) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
    return f"These classes have fewer than {RARE} rows, which is too few for both training and testing: {named}."
