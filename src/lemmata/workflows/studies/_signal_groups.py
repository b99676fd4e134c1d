"""Test for signal if rows come in groups: exchange targets within groups, and between whole groups."""

import dataclasses
import math

import numpy as np
from jaxtyping import Int

from ._data import Dataset
from ._signal_statistics import Outcome, View, kernels, outcome, rescored, scored

ROWS = 480
_EACH = 0.8
"""The target of each group is averaged over the same number of rows, which at least this share of the groups has."""
_ENUMERATED = 800


def of_groups(dataset: Dataset, rng: np.random.Generator, shuffles: int, level: float) -> Outcome:
    """Run a test within groups and a test of whole groups, each at half of the level.

    If the targets do not vary within groups, only whole groups are tested. If the test of whole groups cannot give a
    p-value as small as its level, only the test within groups is run.

    Within groups: the group's mean is subtracted from targets and columns, and targets are exchanged among the rows of
    a group. The level needs only one assumption: within a group, targets are exchangeable given the columns. Effects
    of groups on columns and on targets do not matter.

    Whole groups: the mean targets of groups are exchanged between groups. Each mean is over the same number of rows.
    The level assumes that groups are drawn independently.
    """
    assert dataset.groups is not None
    rows = _drawn(dataset.groups, rng)
    groups = np.unique(dataset.groups[rows], return_inverse=True)[1].reshape(-1)
    y = dataset.targets[rows]
    encoded = np.asarray(dataset.encoder().fit_transform(dataset.inputs[rows]), float)
    varies = bool((np.abs(y - _means(y, groups)[groups]) > 1e-12 * (np.abs(y).max() + 1e-300)).any())
    classes = dataset.task == "classification"
    target, kept = _targets(y, groups, rng)
    if not varies:
        return _whole(encoded, target, kept, groups, classes, rng, shuffles, level)
    number = 2 * shuffles + 1
    if _least(target, number) > level / 2:
        return _within(encoded, y, groups, classes, rng, shuffles, level)
    tests = (
        _within(encoded, y, groups, classes, rng, number, level / 2),
        _whole(encoded, target, kept, groups, classes, rng, number, level / 2),
    )
    best = min(tests, key=lambda test: test.p_value)
    p_value = min(1.0, 2 * best.p_value)
    kind = best.kind if p_value <= level * (1 + 1e-9) else "groups"
    seen = {"kind": kind, "visible": tests[0].visible, "between": tests[1].visible, "groups": tests[1].groups}
    return dataclasses.replace(best, p_value=p_value, least=min(1.0, 2 * best.least), **seen)


def of_times(dataset: Dataset, rng: np.random.Generator, shuffles: int, level: float) -> Outcome:
    """Run the test within groups, where a group is the rows of one time. Differences between times are not tested.

    The level assumes that at each time, targets are exchangeable given the columns.
    """
    assert dataset.order is not None
    rows = _drawn(np.unique(dataset.order, return_inverse=True)[1].reshape(-1), rng)
    times = np.unique(dataset.order[rows], return_inverse=True)[1].reshape(-1)
    encoded = np.asarray(dataset.encoder().fit_transform(dataset.inputs[rows]), float)
    classes = dataset.task == "classification"
    found = _within(encoded, dataset.targets[rows], times, classes, rng, shuffles, level)
    return dataclasses.replace(found, kind="within times")


def _drawn(groups: Int[np.ndarray, " N"], rng: np.random.Generator) -> Int[np.ndarray, " n"]:
    """Return at most 480 random rows. If groups are large, the number of rows per group has a common upper limit.

    If there are many groups, only some of the groups are drawn.
    """
    order = rng.permutation(len(groups))
    _, codes, sizes = np.unique(groups[order], return_inverse=True, return_counts=True)
    chosen = rng.permutation(len(sizes))
    kept = np.zeros(len(sizes), bool)
    kept[chosen[: ROWS // 2 if np.median(sizes) >= 2 else ROWS]] = True
    place = np.empty(len(order), int)
    sorts = np.argsort(codes, kind="stable")
    place[sorts] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sizes = sizes[kept]
    most = max(c for c in range(1, ROWS + 1) if c == 1 or np.minimum(sizes, c).sum() <= ROWS)
    return np.sort(order[kept[codes] & (place < most)])


def _means(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    total = np.zeros((groups.max() + 1, values.shape[1]))
    np.add.at(total, groups, values)
    return total / np.bincount(groups)[:, None]


def _within(encoded, y, groups, classes: bool, rng: np.random.Generator, shuffles: int, level: float) -> Outcome:
    columns = encoded - _means(encoded, groups)[groups]
    spread = columns.std(axis=0)
    columns = columns[:, spread > 1e-9] / spread[spread > 1e-9]
    centred = y - _means(y, groups)[groups]
    scores = scored(y, classes) if classes else scored(centred, False)
    scores -= _means(scores, groups)[groups]
    sorts = np.argsort(groups, kind="stable")
    orders = np.empty((shuffles + 1, len(y)), int)
    orders[0] = np.arange(len(y))
    for i in range(1, shuffles + 1):
        orders[i, sorts] = np.lexsort((rng.random(len(y)), groups))
    if not columns.shape[1]:
        return Outcome(1.0, 1.0, 1.0, len(y), "within groups", 1 / (shuffles + 1), shuffles, groups.max() + 1)
    grams = [*kernels(columns), kernels(encoded)[1]]
    score = rescored(y, classes)

    def again(targets: np.ndarray) -> np.ndarray:
        flat = score(targets).reshape(len(y), -1)
        return (flat - _means(flat, groups)[groups]).reshape(targets.shape)

    view = View(grams, columns, _arranged(centred, orders), _arranged(scores, orders), again, classes)
    arrangements = sum(_log_arrangements(y[groups == g]) for g in range(groups.max() + 1))
    least = max(1 / (shuffles + 1), math.exp(-min(arrangements, 700.0)))
    return outcome([view], len(y), "within groups", min(1.0, least), int(groups.max()) + 1, level, rng)


def _targets(y: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean target of each group that has enough rows, and these groups.

    Each mean is over the same number of random rows.
    """
    sizes = np.bincount(groups)
    each = max(1, int(np.quantile(sizes, 1 - _EACH, method="lower")))
    kept = np.flatnonzero(sizes >= each)
    sorts = np.lexsort((rng.random(len(y)), groups))
    first = np.cumsum(sizes) - sizes
    return np.stack([y[sorts[first[g] : first[g] + each]].mean(axis=0) for g in kept]), kept


def _whole(
    encoded, target, kept, groups, classes: bool, rng: np.random.Generator, shuffles: int, level: float
) -> Outcome:
    sizes = np.bincount(groups)[kept]
    average = (groups == kept[:, None]) / sizes[:, None]
    grams = [average @ gram @ average.T for gram in kernels(encoded)]
    orders, scores = _exchanges(target, rng, shuffles), scored(target, classes)
    targets = _arranged(target - target.mean(axis=0), orders)
    view = View(grams, average @ encoded, targets, _arranged(scores, orders), rescored(target, classes), classes)
    return outcome([view], int(sizes.sum()), "whole groups", _least(target, shuffles), len(kept), level, rng)


def _arranged(values: np.ndarray, orders: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values[orders].swapaxes(0, 1))


def _exchanges(target: np.ndarray, rng: np.random.Generator, shuffles: int) -> np.ndarray:
    """Return orders of the groups: one for each different arrangement of targets if few exist, else random orders."""
    units = len(target)
    if _log_arrangements(target) > math.log(_ENUMERATED):
        return np.stack([np.arange(units), *(rng.permutation(units) for _ in range(shuffles))])
    return np.array(_different(np.unique(target, axis=0, return_inverse=True)[1].reshape(-1).tolist()))


def _least(target: np.ndarray, shuffles: int) -> float:
    """Return the smallest p-value that an exchange of these targets can give."""
    arrangements = _log_arrangements(target)
    counts = np.unique(target, axis=0, return_counts=True)[1]
    least = min(1.0, _mirrored(counts, target.shape[1] > 1) * math.exp(-arrangements))
    return least if arrangements <= math.log(_ENUMERATED) else max(1 / (shuffles + 1), least)


def _different(kinds: list[int]) -> list[list[int]]:
    """Return, for targets of these kinds, one order per different arrangement. The first is the original order."""
    places = {kind: [i for i, own in enumerate(kinds) if own == kind] for kind in set(kinds)}
    found = [list(range(len(kinds)))]
    for arrangement in _words({kind: len(rows) for kind, rows in places.items()}, len(kinds)):
        if list(arrangement) != kinds:
            stock = {kind: iter(rows) for kind, rows in places.items()}
            found.append([next(stock[kind]) for kind in arrangement])
    return found


def _words(stock: dict[int, int], length: int):
    if length == 0:
        yield ()
        return
    for kind in [kind for kind, count in stock.items() if count]:
        rest = {**stock, kind: stock[kind] - 1}
        yield from ((kind, *word) for word in _words(rest, length - 1))


def _mirrored(sizes: np.ndarray, classes: bool) -> int:
    """Return the number of arrangements that arise from one arrangement by swapping targets that occur equally often.

    These arrangements count as one, because no statistic distinguishes them. The result is 1 for numbers with more than
    two different targets.
    """
    if classes or len(sizes) == 2:
        return math.prod(math.factorial(int(n)) for n in np.bincount(sizes))
    return 1


def _log_arrangements(y: np.ndarray) -> float:
    """Return the logarithm of the number of different arrangements of the rows of y; equal rows are interchangeable."""
    counts = np.unique(y, axis=0, return_counts=True)[1]
    return math.lgamma(len(y) + 1) - sum(math.lgamma(n + 1) for n in counts.tolist())
