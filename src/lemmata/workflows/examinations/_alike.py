"""Test whether training and held-out rows have the same distribution, as predictions from training rows assume."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.subjects.trained_models import Trained, fresh_rows, held_rows

ORDERS, LEVEL = 1999, 0.001
"""The number of random divisions of the rows, and the significance level of each test."""
MOST_ROWS, MOST_COLUMNS, FEWEST = 1000, 1000, 10
_MOVED = 0.1  # columns whose means differ by fewer standard deviations are compared by their spread


@dataclasses.dataclass(frozen=True)
class Unlike:
    """A column in which held-out rows differ from training rows.

    Args:
        column: the position of the column among the flattened columns.
        p_value: the p-value of the permutation test over all columns (see `_unlike`).
        middle: the mean of the held-out rows minus the mean of the training rows, in standard deviations of the
            training rows.
        spread: the standard deviation of the held-out rows, divided by the standard deviation of the training rows.
    """

    column: int
    p_value: float
    middle: float
    spread: float


def drawn_apart(trained: Trained, columns: tuple[str, ...] | None = None) -> str | None:
    """Return a sentence on the input column and the class in which held-out and training rows differ, or else None.

    Args:
        trained: the model with its rows.
        columns: the names of the inputs; None if inputs have no names.
    """
    inputs, targets, parts = unlike_inputs(trained), unlike_targets(trained), []
    if inputs is not None:
        name = f"x[:, {', '.join(map(str, np.unravel_index(inputs.column, trained.x.shape[1:])))}]"
        if columns is not None and len(columns) == math.prod(trained.x.shape[1:]):
            name = f"column {columns[inputs.column]!r}"
        parts.append(_moved(name, inputs))
    if targets is not None and trained.task.is_classification:
        shares = [100 * float(y[:, targets.column].mean()) for y in (held_rows(trained)[1], trained.y)]
        parts.append(f"class {trained.task.labels[targets.column]} is {shares[0]:.3g} % of the held-out rows and "
                     f"{shares[1]:.3g} % of the training rows")  # fmt: skip
    elif targets is not None:
        parts.append(_moved("the target", targets))
    if not parts:
        return None
    p_value = max(own.p_value for own in (inputs, targets) if own is not None)
    return (
        f"Training and held-out rows do not come from the same distribution: {' and '.join(parts)} (p = "
        f"{p_value:.2g}). Predictions from training rows assume the same distribution."
    )


def _moved(name: str, own: Unlike) -> str:
    if abs(own.middle) < _MOVED:
        return f"the spread of {name} in held-out rows is {own.spread:.2g} times the spread in training rows"
    word = "larger" if own.middle > 0 else "smaller"
    return (
        f"the mean of {name} is {abs(own.middle):.2g} standard deviations {word} in held-out rows than in training rows"
    )


def unlike_inputs(trained: Trained) -> Unlike | None:
    """Return the input column that differs most, if the inputs of training and held-out rows differ significantly.

    At most 1,000 rows of each kind and 1,000 columns are compared, drawn by the seed. Held-out rows that duplicate
    training rows are left out. Documents, whose columns are positions, are not compared.
    """
    if trained.task.is_language:
        return None
    fresh = fresh_rows(trained)
    return _unlike(_flat(trained.x), _flat(held_rows(trained)[0])[fresh], trained.seed)


def unlike_targets(trained: Trained) -> Unlike | None:
    """Return the class or the target column that differs most, if the targets differ significantly."""
    if trained.task.is_language:
        return None
    return _unlike(trained.y, held_rows(trained)[1][fresh_rows(trained)], trained.seed)


def _flat(x: np.ndarray) -> Float[np.ndarray, "n d"]:
    values = np.asarray(x, float).reshape(len(x), -1)
    return np.where(np.isnan(values), -np.inf, values)  # missing cells count as equal values


def _unlike(a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "m d"], seed: int) -> Unlike | None:
    """Compare two samples of rows by a permutation test of the largest deviation over the columns.

    For each column, the ranks and their distances from the middle rank are summed over the held-out rows. The first sum
    detects a different location, and the second sum a different spread. Each sum is divided by its standard deviation
    under random divisions of the rows. The largest result over all columns is compared with the largest results under
    random divisions.
    """
    if min(len(a), len(b)) < FEWEST:
        return None
    rng = np.random.default_rng([seed, 17])
    some = lambda rows: rows[rng.permutation(len(rows))[:MOST_ROWS]]
    a, b = some(a), some(b)
    columns = np.sort(rng.permutation(a.shape[1])[:MOST_COLUMNS])
    a, b = a[:, columns], b[:, columns]
    ranks = stats.rankdata(np.concatenate([a, b]), axis=0)
    middle = (len(ranks) + 1) / 2
    scores = np.concatenate([ranks - middle, np.abs(ranks - middle)], axis=1)
    scores -= scores.mean(axis=0)
    size = scores.std(axis=0)
    scores /= np.where(size > 1e-9 * len(ranks), size, np.inf)
    held = np.zeros((ORDERS + 1, len(ranks)))
    held[0, len(a) :] = 1.0
    for order in held[1:]:
        order[rng.permutation(len(ranks))[: len(b)]] = 1.0
    sums = np.abs(held @ scores)
    p_value = float((1 + (sums[1:].max(axis=1) >= sums[0].max()).sum()) / (ORDERS + 1))
    if p_value > LEVEL:
        return None
    place = int(sums[0].argmax()) % a.shape[1]
    x, y = (np.where(np.isfinite(own[:, place]), own[:, place], np.nan) for own in (a, b))
    unit = max(float(np.nanstd(x)), np.finfo(float).tiny)
    apart = float(np.nanmean(y) - np.nanmean(x)) / unit
    return Unlike(int(columns[place]), p_value, apart, float(np.nanstd(y)) / unit)
