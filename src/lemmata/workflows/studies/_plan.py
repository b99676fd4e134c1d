"""Choose the sizes at which a model is measured, and the numbers of splits, from the table and the model's cost."""

import math
from collections.abc import Callable

import numpy as np

from ._data import Dataset
from ._models import MOST_EXACT, Model
from ._splits import BLOCKS, folds_of, held_out, number_of_splits, split_sizes

FEWEST_SIZES = 3
MOST_LEFT_OUT = 2500
"""The largest number of rows for which a kernel is also measured on all rows, by leaving each row out once."""
FIT_SECONDS, QUICK_FIT_SECONDS = 45.0, 8.0
"""A size at which one fit of a model costs more seconds than this is not measured.

The second number is for a quick study. The page shows up to which size each model was measured.
"""
SMALLEST_TOP, STEPS_DOWN = 32, 200
"""If a model costs too much at the table's sizes, a smaller maximum size of at least 32 rows is searched for.

The second number is the number of candidates for this size.
"""
SIZE_SECONDS, QUICK_SIZE_SECONDS = 1.0, 0.4
"""The largest allowed cost of all fits at one size, in seconds; the second number is for a quick study.

The least number of splits is fitted even if these splits cost more.
"""
FEW_ROWS, FEWEST_SPLITS = 400, 4
"""If a table has fewer than `FEW_ROWS` rows, the allowed cost is lower in proportion to the number of rows.

The reason is that more splits of few rows hold out the same rows again. On such tables, at least `FEWEST_SPLITS` splits
are measured at any cost.
"""
LEAST_BLOCKS = 4
"""With --time, even a costly model is measured on at least this number of stretches of time."""
WHOLE = 6.0
"""At the last size, holding out every row once may cost this many times the allowed cost of one size."""
COSTLY = 8.0
"""If the least number of fits costs more seconds than this, the model is measured only at every second size."""


def planned(model: Model, dataset: Dataset, quick: bool = False) -> list[tuple[int, tuple[int, ...]]]:
    """Return the sizes at which a model is measured, each with the numbers of its splits.

    The plan depends on the table, the model's price and `quick`, but not on the machine.

    A kernel is fitted exactly up to 1,000 rows. With more rows, it is fitted approximately, with 1,000 rows as centres.
    On tables of up to 2,500 independent rows, a kernel is also measured on all rows, by leaving each row out once. On
    these tables, the splits of a kernel have at most 1,000 training rows.
    """
    total, k = len(dataset.targets), dataset.targets.shape[1]
    d = width_of(dataset)
    ordered = dataset.order is not None
    sizes = split_sizes(total, quick, dataset.groups, dataset.order)
    if model.kernels and left_out(dataset):
        sizes = [n for n in sizes if n <= MOST_EXACT] or sizes[:1]
    sizes = affordable(sizes, lambda n: model.price(n, d, k), QUICK_FIT_SECONDS if quick else FIT_SECONDS)
    if model.least > sizes[0]:
        later = [n for n in sizes if n >= model.least]
        sizes = later if len(later) >= FEWEST_SIZES else _between(model.least, sizes[-1], FEWEST_SIZES)
    least = sum(number_of_splits(total, n, quick, 0.0) * model.price(n, d, k) for n in sizes)
    if least > COSTLY / (2 if quick else 1) and len(sizes) > 4:
        sizes = sizes[::-2][::-1]
    seconds = (QUICK_SIZE_SECONDS if quick else SIZE_SECONDS) * min(1.0, total / FEW_ROWS)
    fewest = float(FEWEST_SPLITS) if total < FEW_ROWS else 0.0
    allowed = lambda n: max(seconds / max(model.price(n, d, k), 1e-9), fewest)
    if ordered:  # every size has the same stretches
        number = int(np.clip(allowed(sizes[-1]), LEAST_BLOCKS, BLOCKS))
        stretches = np.unique(np.linspace(0, BLOCKS - 1, number).round().astype(int)).tolist()
        return [(n, tuple(stretches)) for n in sizes]
    plan = []
    for n in sizes:
        number = number_of_splits(total, n, quick, allowed(n))
        # At the last size, every row is held out once if this is cheap, because a few rows may have much of the loss. A
        # quick study does not do this for a kernel that is also measured on all rows, where each row is held out.
        whole = math.ceil(total / held_out(total, n))
        if (
            n == sizes[-1]
            and not (quick and model.kernels and left_out(dataset))
            and whole * model.price(n, d, k) <= WHOLE * seconds
        ):
            number = max(number, whole)
        if dataset.groups is not None:
            folds = folds_of(dataset.groups)
            number = folds * max(1, round(number / folds))
        plan.append((n, tuple(range(number))))
    return plan


def affordable(sizes: list[int], price: Callable[[int], float], seconds: float) -> list[int]:
    """Return the sizes at which a fit costs at most `seconds`. If these are fewer than three, use smaller sizes.

    A model that is too expensive at most sizes of a large table is thus measured at smaller sizes, up to as many as the
    given sizes. If even 32 rows are too expensive, the first three sizes are returned.
    """
    within = [n for n in sizes if price(n) <= seconds]
    if len(within) >= FEWEST_SIZES:
        return within
    top = max((n for n in _between(SMALLEST_TOP, sizes[-1], STEPS_DOWN) if price(n) <= seconds), default=0)
    return _between(max(8, top // 50), top, len(sizes)) if top else sizes[:FEWEST_SIZES]


def _between(low: int, high: int, number: int) -> list[int]:
    """Return `number` numbers of rows from `low` to `high` in geometric progression."""
    return sorted({round(float(n)) for n in np.geomspace(low, max(low, high), number)})


def left_out(dataset: Dataset) -> bool:
    """Whether kernels are measured on the whole table by leaving out each row.

    The table must have at most 2,500 independent rows, and no column that is made from the targets of other rows.
    """
    few = len(dataset.targets) <= MOST_LEFT_OUT
    return few and dataset.groups is None and dataset.order is None and not dataset.texts


def width_of(dataset: Dataset) -> int:
    """The number of columns of the encoded inputs, which the price of a fit depends on."""
    return len(dataset.features)
