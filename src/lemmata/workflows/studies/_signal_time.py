"""Test for signal in a series: shift targets in time against the columns, and forecast later blocks."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from ._data import Dataset
from ._signal_blocks import block_edges, of_blocks
from ._signal_groups import of_times
from ._signal_statistics import Outcome, View, kernels, outcome, scored

LATEST = 1500
"""The largest number of rows. If a series has more rows, only its latest rows are used."""
_WINDOW, _FEWEST, _SHARE = 400, 40, 0.5
_FEW_BLOCKS = 6


def of_time(dataset: Dataset, rng: np.random.Generator, shuffles: int, level: float) -> Outcome:
    """Run the test by shifts and the test by blocks, whose levels add up to `level`.

    If there are so few different times that fewer than six blocks of them remain, targets are exchanged among the rows
    of the same time instead (`of_times`), unless rows have groups.

    Only the test by blocks is run if the series is short, the table contains several series, or no column varies.

    The test by shifts gets half of the level, or more if the number of shifts requires it. See `of_shifts` and
    `of_blocks` for the assumptions of each test.
    """
    assert dataset.order is not None
    rows = np.argsort(dataset.order, kind="stable")[-LATEST:]
    x = np.asarray(dataset.encoder().fit_transform(dataset.inputs[rows]), float)
    y, order = dataset.targets[rows], np.asarray(dataset.order[rows], float)
    if dataset.groups is None and len(block_edges(order)) <= _FEW_BLOCKS:
        return of_times(dataset, rng, shuffles, level)
    x = x[:, x.std(axis=0) > 1e-9]
    blocks = of_blocks(x, y, order, rng)
    several = dataset.groups is not None or len(np.unique(order)) < 0.8 * len(rows)
    share = max(_SHARE, 1 / (_plan(len(rows), shuffles + 1).count * level))
    if several or share > 0.9 or not x.shape[1]:
        return blocks
    shifts = of_shifts(x, y, dataset.task == "classification", shuffles + 1)
    tests = ((shifts, share), (blocks, 1 - share))
    best, own = min(tests, key=lambda test: test[0].p_value / test[1])
    return dataclasses.replace(best, p_value=min(1.0, best.p_value / own), least=min(1.0, best.least / own))


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The window of the columns, the starts of the targets' windows, and whether targets are also reversed in time."""

    start: int
    length: int
    starts: np.ndarray
    reversed: bool

    @property
    def count(self) -> int:
        return len(self.starts) * (1 + self.reversed)


def _plan(total: int, wanted: int) -> _Plan:
    """Plan a window in the middle, of at most about half of the series, and shifts to both sides within the series.

    If there are fewer shifts than wanted, the windows of the targets are also reversed.
    """
    length = max(min(_WINDOW, int((0.5 if total >= 200 else 0.4) * total)), min(_FEWEST, total))
    stride = max(1, (total - length) // wanted)
    start = (total - length) // 2
    half = min(wanted // 2, start // stride)
    shifts = np.array([0, *(s for j in range(1, half + 1) for s in (j, -j))]) * stride
    return _Plan(start, length, shifts + start, len(shifts) < wanted)


def of_shifts(x: Float[np.ndarray, "N d"], y: Float[np.ndarray, "N k"], classes: bool, wanted: int) -> Outcome:
    """Test by ranking shift 0, the observed one, among about 200 shifts, for the values and for differences of rows.

    A window of the columns is compared with the targets of the same rows, and with the targets of earlier and later
    windows of equal length. In series of fewer than 400 rows, the window is also compared with these targets in
    reversed order. Let columns and targets be independent, and let the targets or their differences be stationary.
    Stationary differences are enough, because no statistic changes if a constant is added to the targets of a window.
    For short series, let the targets also have the same distribution in both directions of time. Then the distribution
    of the statistic is the same at all shifts, so the observed shift is rarely among the best. The assumptions hold for
    random walks, autoregressions, and seasons of any phase.
    """
    plan = _plan(len(y), wanted)
    x = x[plan.start : plan.start + plan.length]
    windows = [y[s : s + plan.length] for s in plan.starts]
    targets = np.stack(windows + [window[::-1] for window in windows if plan.reversed], axis=1)
    grams = kernels(x)
    views = [
        View(grams, x, targets - targets.mean(axis=0), _scores(targets, classes)),
        View([_differences(gram) for gram in grams], np.diff(x, axis=0), *_changes(targets, classes)),
    ]
    return outcome(views, len(y), "time", 1 / plan.count)


def _differences(gram: np.ndarray) -> np.ndarray:
    """Return the kernel between the differences f(x_t) - f(x_{t-1}), if `gram` is the kernel between the f(x_t)."""
    return np.diff(np.diff(gram, axis=0), axis=1)


def _changes(targets: np.ndarray, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    changes = np.diff(targets, axis=0)
    return changes, changes if classes else rankdata(changes, axis=0)


def _scores(targets: np.ndarray, classes: bool) -> np.ndarray:
    """Return ranks within each window or, for classes, indicators weighted by the class shares in the window."""
    if not classes:
        return rankdata(targets, axis=0)
    return np.stack([scored(targets[:, i], True) for i in range(targets.shape[1])], axis=1)
