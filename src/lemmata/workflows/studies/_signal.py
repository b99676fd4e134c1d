"""Test, before any other answer, whether there is anything to learn: whether the columns predict the target."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float64, Int

from ._data import Dataset
from ._repeats import copies, few_values
from ._signal_groups import of_groups
from ._signal_held import of_held_out
from ._signal_power import Powers, either, hardest
from ._signal_statistics import Outcome, View, kernels, outcome, rescored, scored
from ._signal_time import of_time

ROWS, PERMUTATIONS = 400, 199
LEVEL = 0.01
"""The largest allowed probability that the test finds a signal in a table without any signal."""
_MORE_ROWS, _FEW_OUTPUTS, _MANY_OUTPUTS = 800, 2, 10


@dataclasses.dataclass(frozen=True)
class Signal:
    """Whether the columns predict the target.

    Args:
        found: whether the test finds a signal, at level 0.01.
        p_value: the p-value of the test.
        error: the smaller leave-one-out squared error of the linear and the Gaussian kernel, divided by the error of
            predicting the mean. If a series was forecast by blocks, the error of the models, divided by that of the
            best naive forecast.
        by_chance: the median of `error` over the arrangements of the targets.
        rows: the number of rows that were tested.
        grouped: whether the rows have groups.
        copies: the number of rows of the whole table that repeat an earlier row, including the target. With groups,
            only copies in another group count. Copies matter because the test assumes independent rows, and a copy
            depends on the row that it repeats.
        total: the number of rows of the whole table.
        kind: how the targets were rearranged. "rows": among rows. "held-out rows": among rows that are predicted by
            models of other rows. "both": in both of these ways, if neither of the two tests finds a signal. "within
            groups": among the rows of each group. "whole groups": between whole groups. "groups": within groups and
            between groups, if neither of the two tests finds a signal. "time": shifted in time, or forecast by blocks.
            "within times": among the rows of each time.
        least: the smallest p-value that this test can give. If `least` is above the level of this test, the test cannot
            find a signal.
        shuffles: the number of arrangements of the targets that were tested besides the observed one; 0 if a series was
            forecast by blocks.
        groups: the number of groups (or times, if targets were shuffled within them) that were tested; else 0.
        visible: the smallest share of the target's variance (R²) at which a linear signal in one or several columns
            would be found in most cases. `visible` is infinite if no signal would be found. For series, it is only
            approximate. For shifts, it is the larger of two numbers: how far the errors in the best percent of the
            shifts are below the median error, and the share that the best column explains in its best percent of the
            shifts. For blocks, it is twice the relative difference of errors that the t-test would call significant.
            With groups, the share is of the variance within groups, after each group's mean is subtracted. The same
            holds for times if targets were shuffled within them.
        between: the same as `visible`, but for the means of the groups; nan if whole groups were not exchanged.
        powers: the same as `visible`, but for each kind of signal (`_signal_power`); empty if a signal was found.
        held: the number of held-out rows on which models were tested; 0 without this test. The models were fitted to
            about as many other rows.
        alike: whether every column has so few values that equal rows are expected.
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
    powers: Powers = dataclasses.field(default_factory=dict)
    held: int = 0
    alike: bool = False


def signal(dataset: Dataset, seed: int = 0) -> Signal:
    """Test whether the columns predict the target.

    The targets are permuted over the rows 199 times. Two statistics are the exact leave-one-out errors of a linear and
    a Gaussian kernel with intercepts, each the smallest over seven ridges. Further statistics measure how much the best
    few columns explain. Each statistic is standardised by its own distribution over all 200 arrangements, and the
    largest standardised statistic of an arrangement counts (`extremes`). Suppose that rows are exchangeable, and that
    the columns are independent of the targets. Then the 200 values, one for each arrangement, are exchangeable. So for
    every p, the p-value is at most p with probability at most p. At most 400 rows are drawn, or 800 for a target of one
    or two columns. Larger tables get a second test with held-out rows (`of_held_out`), and each of the two tests has
    half of the level.

    With groups, targets are shuffled within groups, or exchanged between whole groups (`of_groups`). If rows are
    ordered in time, the targets are shifted in time, and later blocks of rows are forecast (`of_time`). If there are
    few different times, targets are shuffled within times.

    >>> from lemmata.workflows.studies import load_dataset
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
        found.kind, found.least, found.shuffles, found.groups, found.visible, found.between, found.powers, found.held,
        few_values(dataset),
    )  # fmt: skip


def _of_rows(dataset: Dataset, rng: np.random.Generator) -> Outcome:
    """Test by permutations of the targets over rows.

    For large tables, targets are also permuted over held-out rows. Each of the two tests then has half of the level.
    """
    most = _MORE_ROWS if dataset.targets.shape[1] <= _FEW_OUTPUTS else ROWS
    if len(dataset.targets) <= most:
        return _of_few(dataset, rng, most, PERMUTATIONS, LEVEL, True)
    many = of_held_out(dataset, rng, LEVEL / 2)
    shuffles = 2 * PERMUTATIONS + 1 if dataset.targets.shape[1] <= _MANY_OUTPUTS else PERMUTATIONS
    few = _of_few(dataset, rng, most, shuffles, LEVEL / 2, many.p_value > LEVEL / 2)
    best = min(few, many, key=lambda test: test.p_value)
    p_value, least = min(1.0, 2 * best.p_value), 2 * min(few.least, many.least)
    found = p_value <= LEVEL * (1 + 1e-9)
    seen = {} if found else either(few.powers, many.powers)
    return Outcome(
        p_value, few.error, few.by_chance, best.rows if found else few.rows, best.kind if found else "both", least,
        best.shuffles, visible=hardest(seen), powers=seen, held=many.rows,
    )  # fmt: skip


def _codes(pooled: Float64[np.ndarray, "n q"]) -> Int[np.ndarray, "n q"]:
    """Return the codes of texts, numbered from 0 without gaps in each column. Missing texts have their own code."""
    codes = np.zeros(pooled.shape, dtype=int)
    for j, column in enumerate(pooled.T):
        codes[:, j] = np.unique(column, return_inverse=True)[1].reshape(-1)
    return codes


def _of_few(dataset: Dataset, rng: np.random.Generator, most: int, shuffles: int, level: float, power: bool) -> Outcome:
    """Test by permutations of the targets over at most `most` random rows."""
    total = len(dataset.targets)
    rows = np.sort(rng.choice(total, min(most, total), replace=False))
    encoded = np.asarray(dataset.encoder().fit_transform(dataset.inputs[rows]), float)
    varies = encoded.std(axis=0) > 0
    encoded = encoded[:, varies] if varies.any() else encoded
    y, classes = dataset.targets[rows], dataset.task == "classification"
    orders = np.stack([np.arange(len(rows)), *(rng.permutation(len(rows)) for _ in range(shuffles))])
    targets, scores = y - y.mean(axis=0), scored(y, classes)
    view = View(
        kernels(encoded), encoded,
        np.ascontiguousarray(targets[orders].swapaxes(0, 1)), np.ascontiguousarray(scores[orders].swapaxes(0, 1)),
        rescored(y, classes), classes, not classes, _codes(dataset.pooled[rows]),
    )  # fmt: skip
    return outcome([view], len(rows), "rows", 1 / len(orders), level=level, rng=rng if power else None)
