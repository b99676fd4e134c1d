"""Is there anything to learn? A test of whether targets belong to their rows, before any other answer."""

import dataclasses
import math

import numpy as np

from ._data import Dataset
from ._repeats import copies
from ._signal_groups import of_groups
from ._signal_statistics import Outcome, View, kernels, outcome, scored
from ._signal_time import of_time

ROWS, PERMUTATIONS = 400, 199
LEVEL = 0.01
"""The share of tables without any signal in which the test finds one."""
_MORE_ROWS, _FEW_OUTPUTS = 800, 2


@dataclasses.dataclass(frozen=True)
class Signal:
    """Whether the columns predict the target.

    Args:
        found: whether the test rejects that they do not, at level 0.01.
        p_value: of the test.
        error: the smallest leave-one-out squared error of two kernels, relative to predicting the mean; of the blocks
            of a series the error of its models, relative to the best naive forecast.
        by_chance: what that is in the median arrangement of the targets.
        rows: rows that were tested.
        grouped: whether groups were declared.
        copies: rows of the whole table that repeat an earlier one, target included, of another group where there are
            groups; 0 where every column has so few values that equal rows are to be expected. The test takes rows for
            independent, which copies are not.
        total: rows of the whole table.
        kind: what was exchanged: "rows", targets "within groups", the targets of "whole groups", "groups" where both
            were and neither shows a signal; or "time".
        least: the smallest p-value that this test can give. Where it is above the level, nothing can be found.
        shuffles: arrangements of the targets beside the observed one; 0 where a series was forecast by blocks.
        groups: how many groups were tested, or 0.
        visible: roughly the share of the target's variance (R²) that a signal must have to be found in most cases: how
            far the best percent of the shuffled errors lies below their median, or the R² of the best single column in
            the best percent of the shuffled tables, whichever is larger. For the blocks of a series, twice the relative
            difference of errors that the t-test would call significant. With groups it is about their rows, each less
            the mean of its group, and
        between: about the means of the groups; nan where whole groups were not exchanged beside their rows.
    """

    found: bool
    p_value: float
    error: float
    by_chance: float
    rows: int
    grouped: bool = False
    copies: int = 0
    total: int = 1
    kind: str = "rows"
    least: float = 0.005
    shuffles: int = 199
    groups: int = 0
    visible: float = math.nan
    between: float = math.nan


def signal(dataset: Dataset, seed: int = 0) -> Signal:
    """Test whether targets belong to their rows.

    Targets are permuted over rows 199 times. The statistics are the exact leave-one-out errors, smallest over seven
    ridges, of a linear and a Gaussian kernel with intercepts, and what the best few single columns explain; each is
    made comparable with its own distribution over all 200 arrangements, and the largest counts (`extremes`). Where rows
    and targets are independent, and rows are exchangeable, all 200 values are exchangeable, so that the p-value is at
    most p with probability at most p. At most 400 rows are drawn, or 800 for a target of one or two columns.

    With groups, targets are exchanged within groups, or between whole groups (`of_groups`). With an order, targets are
    shifted in time, and later blocks are forecast (`of_time`).

    >>> from lemmata.studies import load_dataset
    >>> signal(load_dataset("iris")).found
    True
    """
    rng = np.random.default_rng([seed, 3])
    if dataset.order is not None:
        found = of_time(dataset, rng, PERMUTATIONS, LEVEL)
    elif dataset.groups is not None:
        found = of_groups(dataset, rng, PERMUTATIONS, LEVEL)
    else:
        found = _of_rows(dataset, rng)
    return Signal(
        found.p_value <= LEVEL * (1 + 1e-9), found.p_value, found.error, found.by_chance, found.rows,
        dataset.groups is not None, copies(dataset), len(dataset.targets),
        found.kind, found.least, found.shuffles, found.groups, found.visible, found.between,
    )  # fmt: skip


def _of_rows(dataset: Dataset, rng: np.random.Generator) -> Outcome:
    """Targets are permuted over rows."""
    most = _MORE_ROWS if dataset.targets.shape[1] <= _FEW_OUTPUTS else ROWS
    total = len(dataset.targets)
    rows = np.sort(rng.choice(total, min(most, total), replace=False))
    encoded = np.asarray(dataset.encoder().fit_transform(dataset.inputs[rows]), float)
    varies = encoded.std(axis=0) > 0
    encoded = encoded[:, varies] if varies.any() else encoded
    y = dataset.targets[rows]
    orders = np.stack([np.arange(len(rows)), *(rng.permutation(len(rows)) for _ in range(PERMUTATIONS))])
    targets, scores = y - y.mean(axis=0), scored(y, dataset.task == "classification")
    view = View(
        kernels(encoded), encoded,
        np.ascontiguousarray(targets[orders].swapaxes(0, 1)), np.ascontiguousarray(scores[orders].swapaxes(0, 1)),
    )  # fmt: skip
    return outcome([view], len(rows), "rows", 1 / len(orders))
