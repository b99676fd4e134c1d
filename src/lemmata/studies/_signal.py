"""Is there anything to learn? A permutation test of the leave-one-out error, before any other answer."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from lemmata.kernels import RBF, Linear

from ._columns import MOST_CATEGORIES
from ._data import Dataset
from ._models import padded_gram

ROWS, PERMUTATIONS = 400, 199
LEVEL = 0.01
"""The share of tables without any signal in which the test finds one."""
_RIDGES = np.logspace(-4, 2, 7)


@dataclasses.dataclass(frozen=True)
class Signal:
    """Whether the columns predict the target.

    Args:
        found: whether the test rejects that they do not, at level 0.01.
        p_value: (1 + permutations that do as well) / (1 + permutations).
        error: the smallest leave-one-out squared error of the two kernels, relative to predicting the mean.
        by_chance: what that is in the median permutation.
        rows: rows that were tested.
        grouped: whether one row of each group was tested.
        copies: rows of the whole table that repeat an earlier one, target included, of another group where there are
            groups; 0 where every column has so few values that equal rows are to be expected. The test takes rows for
            independent, which copies are not.
        total: rows of the whole table.
    """

    found: bool
    p_value: float
    error: float
    by_chance: float
    rows: int
    grouped: bool = False
    copies: int = 0
    total: int = 1


def signal(dataset: Dataset, seed: int = 0) -> Signal:
    """Test whether targets belong to their rows.

    Targets are permuted over rows 199 times; the statistic is the smallest exact leave-one-out error over seven ridges
    of a linear and a Gaussian kernel, each with an intercept. Where rows and targets are independent, and rows are
    exchangeable, all 200 statistics are exchangeable, so that the p-value is at most p with probability at most p. At
    most 400 rows are used, of each group one.

    >>> from lemmata.studies import load_dataset
    >>> signal(load_dataset("iris")).found
    True
    """
    rng = np.random.default_rng([seed, 3])
    rows = rng.permutation(len(dataset.targets))
    if dataset.groups is not None:
        rows = rows[np.unique(dataset.groups[rows], return_index=True)[1].astype(int)]
    rows = np.sort(rows[:ROWS])
    encoded = np.asarray(dataset.encoder().fit_transform(dataset.inputs[rows]), float)
    y = dataset.targets[rows] - dataset.targets[rows].mean(axis=0)
    orders = [np.arange(len(rows)), *(rng.permutation(len(rows)) for _ in range(PERMUTATIONS))]
    width = max(1.0, float(encoded.shape[1]))
    found = np.min(
        [_left_out(padded_gram(k, encoded), y, orders) for k in (Linear(width), RBF(math.sqrt(width)))], axis=0
    )
    p_value = float((found <= found[0] * (1 + 1e-9)).mean())
    return Signal(
        p_value <= LEVEL, p_value, float(found[0]), float(np.median(found[1:])), len(rows),
        dataset.groups is not None, _copies(dataset), len(dataset.targets),
    )  # fmt: skip


def _copies(dataset: Dataset) -> int:
    """How many rows repeat an earlier one of another group in every column."""
    whole = np.column_stack([dataset.x, dataset.targets])
    if max(len(np.unique(column)) for column in whole.T) <= MOST_CATEGORIES:
        return 0
    kinds = np.unique(whole, axis=0, return_inverse=True)[1].reshape(-1)
    groups = np.arange(len(kinds)) if dataset.groups is None else dataset.groups
    return len(np.unique(np.column_stack([kinds, groups]), axis=0)) - int(kinds.max()) - 1


def _left_out(
    matrix: Float[np.ndarray, "n n"], y: Float[np.ndarray, "n k"], orders: list
) -> Float[np.ndarray, " orders"]:
    """For each order of the targets the smallest leave-one-out error over the ridges, relative to the mean's."""
    n = len(matrix)
    columns = matrix.mean(axis=0)
    values, vectors = np.linalg.eigh(matrix - columns - columns[:, None] + columns.mean())
    values, squares = np.maximum(values, 0.0), vectors**2
    size = max(values.sum() / n, np.finfo(float).tiny)
    targets = np.stack([y[order] for order in orders], axis=1).reshape(n, -1)
    coefficients = vectors.T @ targets
    least = np.full(len(orders), math.inf)
    for ridge in _RIDGES * size:
        shrink = ridge / (values + ridge)
        errors = (vectors @ (shrink[:, None] * coefficients)) / np.maximum(squares @ shrink - 1 / n, 1e-12)[:, None]
        least = np.minimum(least, (errors**2).reshape(n, len(orders), -1).sum(axis=(0, 2)))
    return least / ((y**2).sum() * (n / (n - 1)) ** 2)
