"""With --time: test whether older rows still help, and whether the tested rows vary as much as earlier rows."""

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from lemmata.workflows.records import rows

from ._data import Dataset
from ._metrics import tell
from ._outlook import Candidate
from ._question import Question
from ._row_losses import unexplained
from ._splits import BLOCKS, before_stretches

LEVEL = 0.05
CALMER = 4.0
"""A warning is given if the mean squared error on earlier rows is more than this many times the error on later rows."""


def drift(best: Candidate, question: Question) -> list[str]:
    """Return a sentence if the best model is worse with all earlier rows than with fewer, recent rows.

    Every size is tested on the same later stretches of rows, and is fitted to the rows directly before each stretch. So
    the rows that a larger size adds are older rows. The size with the least mean loss is compared with the largest size
    by a paired t-test over stretches.
    """
    losses = best.losses
    # Sizes at which the model could not be fitted before every stretch are not compared.
    number = max((len(own) for own in losses.paired), default=0)
    kept = [i for i, own in enumerate(losses.paired) if len(own) == number]
    if len(kept) < 2:
        return []
    table, sizes = np.array([losses.paired[i] for i in kept]), losses.sizes[kept]
    least, last = int(table.mean(axis=1).argmin()), len(table) - 1
    apart = table[last] - table[least]
    if least == last or len(apart) < 3 or not apart.std():
        return []
    # The best of several sizes was chosen, so the p-value is multiplied by their number (Bonferroni).
    ratio = float(apart.mean() / (apart.std(ddof=1) / math.sqrt(len(apart))))
    value = float(stats.t.sf(ratio, len(apart) - 1)) * (len(table) - 1)
    if not (math.isfinite(value) and value <= LEVEL):
        return []
    told = [tell(question.unit, float(table[i].mean()), question.spread) for i in (least, last)]
    size = [rows(sizes[i]) for i in (least, last)]
    return [
        f"The target drifts: on later rows, {best.title} has {question.unit.title} {told[0]} if it is trained on the "
        f"last {size[0]} rows, but {told[1]} if it is trained on the last {size[1]} rows. Older rows no longer help."
    ]


def ahead(dataset: Dataset) -> list[str]:
    """Return, if rows are ordered in time, a sentence on how many rows at once a model forecast in each test."""
    if dataset.order is None:
        return []
    rows = before_stretches(dataset.order)[1]
    return [
        f"Every error here is measured on forecasts of the next {rows:,} rows at once, made from the rows before them. "
        "Forecasting only the next row is easier and was not measured."
    ]


def unlike(dataset: Dataset, question: Question) -> list[str]:
    """Return warnings that the tested times are few or calmer than earlier times, so intervals may be too narrow."""
    return [*few_times(dataset), *calmer(dataset, question)]


def few_times(dataset: Dataset) -> list[str]:
    """Return a warning if the tested rows have fewer different times than there are stretches.

    The special conditions of a time affect all rows of this time together. So the number of tested times, and not the
    number of tested rows, limits how well the error at a new time is known. The standard error over stretches of rows
    ignores this, and is therefore too small.
    """
    if dataset.order is None:
        return []
    first, _ = before_stretches(dataset.order)
    number, tested = len(np.unique(dataset.order)), len(np.unique(np.sort(dataset.order)[first:]))
    if tested >= BLOCKS:
        return []
    seen = "only one of them is" if tested == 1 else f"only {tested} of them are"
    return [
        f"The rows have {number} different times, and {seen} tested. All rows of one time share the special "
        "conditions of that time. So the error at a new time may be far from the measured error, and the intervals "
        "are too narrow. More rows of the same times do not help, but rows of other times do."
    ]


def calmer(dataset: Dataset, question: Question) -> list[str]:
    """Return a warning if repeating the last value errs far more on rows before the tested rows than on tested rows.

    The warning is only for targets of numbers in rows with a time order and without groups. The last value is repeated
    over stretches of equal length, both before and after the first tested row. No model is tested on the rows before
    the first tested row. If the target changes more in these rows, the intervals of the models do not account for such
    changes.
    """
    if dataset.order is None or dataset.groups is not None or dataset.classes is not None:
        return []
    y = dataset.targets[np.argsort(dataset.order, kind="stable")]
    first, ahead = before_stretches(dataset.order)

    def loss(starts: range, rows: Callable[..., np.ndarray]) -> float:
        parts = [(y[at : at + ahead], np.repeat(y[at - 1 : at], ahead, axis=0)) for at in starts]
        return float(np.mean([rows(*part, question.spread).mean() for part in parts]))

    earlier, later = range(first - ahead, 0, -ahead), range(first, len(y) - ahead + 1, ahead)
    if not earlier or not later:
        return []
    squares = [loss(starts, unexplained) for starts in (later, earlier)]
    if squares[1] <= CALMER * squares[0]:
        return []
    told = [tell(question.unit, loss(starts, question.unit.rows), question.spread) for starts in (later, earlier)]
    return [
        f"All models are tested on the last {100 * (1 - first / len(y)):.0f} % of the rows, where the target "
        f"changes less than in the rows before. Repeating the last value over {ahead:,} rows gives "
        f"{question.unit.title} {told[0]} on the tested rows, but {told[1]} on the rows before. If such large "
        "changes return, the intervals may be too narrow."
    ]
