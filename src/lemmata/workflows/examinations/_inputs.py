"""Measure which inputs of a model matter, by mean gradients and by the loss after one input is permuted among rows.

Let L_0 be the mean loss of m rows. Let L_k, k = 1..K, be the mean loss after the values of one input were permuted
among the rows. The null hypothesis is that the input is independent of the other inputs and the target together. Then
L_0, ..., L_K are exchangeable means over rows. Let s be the standard deviation of L_1..L_K. Under the null hypothesis
and in the limit of many rows, (mean L_k - L_0) / (s (1 + 1/K)^1/2) follows Student's distribution with K - 1 degrees of
freedom. Let h(i, j) be the loss of row i with the input of row j, minus the loss of row i with its own input. Whether
or not the null hypothesis holds, mean L_k - L_0 estimates the U-statistic of h. The variance of this estimate is the
variance of g_i = mean_j h(i, j) + mean_j h(j, i), divided by m.
"""

import math
import time
import warnings
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import stats

from lemmata.intervals import Interval
from lemmata.subjects.trained_models import Trained, fresh_rows, held_rows
from lemmata.workflows.records.model_tables import InputShown, InputTable

PERMUTATIONS, ROWS, MOST = 20, 1000, 256
FEWEST = 20
"""If there are fewer rows than this, no input is permuted."""
_FEWER = 250
_SECONDS = 10.0
_BYTES = 2**26
_LEVEL = 0.95
_OUTPUTS = 16
_UNITS = {True: "log loss", False: "share of errors"}


class _Rows(NamedTuple):
    """The rows among which inputs are permuted: their origin ("held out" or "training"), their inputs and targets."""

    part: str
    x: np.ndarray
    y: Float[np.ndarray, "m C"]


def input_table(
    trained: Trained, names: tuple[str, ...] | None = None, deadline: float | None = None
) -> InputTable | None:
    """Return each input with its mean gradient and the effect of permuting it; None for documents or too few rows.

    Inputs are permuted among held-out rows without duplicates or, if there are fewer than 20 such rows, among training
    rows. Training rows show which inputs the model uses, but not how useful these inputs are on new rows. If there are
    more than 1000 rows, 1000 of them are drawn. If there are more than 256 inputs, the 256 inputs with the largest
    gradients are permuted.

    Args:
        trained: a model with its rows.
        names: the names of the inputs. If it is None or has another length, positions are used.
        deadline: the `time.monotonic()` after which no further input is permuted. Without a deadline, too, the
            permutations take about ten seconds at most.
    """
    if not has_input_table(trained):
        return None
    rows = _few(trained, _rows(trained), ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the preflight has already shown the warnings of the model
        return _table(trained, rows, names, deadline)


def has_input_table(trained: Trained) -> bool:
    """Return whether there are enough rows for a table of inputs, and rows are not documents.

    Args:
        trained: a model with its rows.
    """
    return not trained.task.is_language and len(_rows(trained).x) >= FEWEST


def _table(trained: Trained, rows: _Rows, names: tuple[str, ...] | None, deadline: float | None) -> InputTable:
    end = time.monotonic() + _SECONDS if deadline is None else min(time.monotonic() + _SECONDS, deadline)
    slopes, told = _slopes(trained, rows), _names(rows.x.shape[1:], names)
    flat = rows.x.reshape(len(rows.x), -1)
    constant = (flat == flat[:1]).all(0)
    places, notes = _chosen(~constant, slopes)
    rows = _afforded(trained, rows, places, end)
    own = np.random.default_rng([trained.seed, 31])
    orders = np.stack([own.permutation(len(rows.x)) for _ in range(PERMUTATIONS)])
    base, tests = _losses(trained, rows.x, rows.y), {}
    for place in map(int, places):
        if time.monotonic() > end:
            notes.append(f"Because of the time limit, only {len(tests)} of {len(places):,} inputs were permuted.")
            break
        tests[place] = growth_of(_grown(trained, rows, place, orders, base), orders)
    unit = _UNITS[trained.task.probable] if trained.task.is_classification else "squared distance"
    shown = _shown(told, slopes, tests, constant)
    return InputTable(rows.part, len(rows.x), PERMUTATIONS, float(base.mean()), unit, notes, shown)


def _rows(trained: Trained) -> _Rows:
    if trained.held is not None:
        new, (x, y) = fresh_rows(trained), held_rows(trained)
        if new.sum() >= FEWEST:
            return _Rows("held out", x[new], y[new])
    return _Rows("training", trained.x, trained.y)


def _few(trained: Trained, rows: _Rows, most: int) -> _Rows:
    """Return at most `most` of the rows, drawn at random."""
    if len(rows.x) <= most:
        return rows
    kept = np.sort(np.random.default_rng([trained.seed, 32]).permutation(len(rows.x))[:most])
    return rows._replace(x=rows.x[kept], y=rows.y[kept])


def _slopes(trained: Trained, rows: _Rows) -> Float[np.ndarray, " d"] | None:
    """Return, for each input, the mean size of the gradient times the input's standard deviation.

    The result is None without derivatives with respect to the inputs. For classes, the gradient is that of log p of the
    right class, which equals the gradient of <y - p, f> at fixed p. For one value, it is the gradient of the output.
    For several values, the size is the root of the sum of the squared gradients.
    """
    model, task = trained.model, trained.task
    if not model.differentiable or (not task.is_classification and rows.y.shape[1] > _OUTPUTS):
        return None
    try:
        x = rows.x.astype(float) if rows.x.dtype.kind in "biu" else rows.x
        if task.is_classification:
            weights = [rows.y - task.means(model.outputs(x)) if task.probable else rows.y]
        else:
            weights = [np.tile(own, (len(x), 1)) for own in np.eye(rows.y.shape[1])]
        squares = sum(model.input_vjp(u, x).reshape(len(x), -1) ** 2 for u in weights)
    except (Exception, SystemExit):  # the user's own function may accept only whole numbers, and may raise any error
        return None
    found = np.sqrt(squares).mean(0) * x.reshape(len(x), -1).std(0)
    return found if np.isfinite(found).all() else None


def _chosen(
    varied: Bool[np.ndarray, " d"], slopes: Float[np.ndarray, " d"] | None
) -> tuple[Int[np.ndarray, " k"], list[str]]:
    """Return the inputs to permute, at most 256, with the largest gradients first. Constant inputs are left out."""
    order = np.flatnonzero(varied)
    order = order if slopes is None else order[np.argsort(-slopes[order], kind="stable")]
    if len(order) <= MOST:
        return order, []
    which = "the first inputs" if slopes is None else "the inputs with the largest gradients"
    return order[:MOST], [f"Only {MOST} of {len(order):,} inputs were permuted: {which}."]


def _afforded(trained: Trained, rows: _Rows, places: Int[np.ndarray, " k"], end: float) -> _Rows:
    """Return the rows, or 250 of them if permuting every chosen input among all of them would take too long."""
    if len(rows.x) <= _FEWER or not len(places):
        return rows
    still = np.tile(np.arange(len(rows.x)), (PERMUTATIONS, 1))
    taken = math.inf
    for _ in range(2):  # the first call also compiles
        begun = time.monotonic()
        _grown(trained, rows, int(places[0]), still, np.zeros(len(rows.x)))
        taken = min(taken, time.monotonic() - begun)
    return rows if taken * len(places) <= end - time.monotonic() else _few(trained, rows, _FEWER)


def _losses(trained: Trained, x: np.ndarray, y: Float[np.ndarray, "m C"]) -> Float[np.ndarray, " m"]:
    """Return the losses of rows: log losses, errors for classes without probabilities, or squared distances."""
    task, f = trained.task, trained.model.outputs(x)
    return task.losses(f, y) if task.is_classification and task.probable else task.errors(f, y)


def _grown(
    trained: Trained, rows: _Rows, place: int, orders: Int[np.ndarray, "K m"], base: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "K m"]:
    """Return, for each permutation, the growth of each row's loss if the row has the input of another row."""
    flat = rows.x.reshape(len(rows.x), -1)
    together = max(_BYTES // max(flat.nbytes, 1), 1)
    found = []
    for first in range(0, len(orders), together):
        some = orders[first : first + together]
        copies = np.repeat(flat[None], len(some), axis=0)
        copies[:, :, place] = flat[some, place]
        x = copies.reshape(-1, *rows.x.shape[1:])
        found.append(_losses(trained, x, np.tile(rows.y, (len(some), 1))).reshape(len(some), -1) - base)
    return np.concatenate(found)


class Growth(NamedTuple):
    """The growth of the mean loss if an input is permuted: its interval, its 95 % limit by chance, and a p-value."""

    growth: Interval
    null: float
    p_value: float


def growth_of(h: Float[np.ndarray, "K m"], orders: Int[np.ndarray, "K m"]) -> Growth:
    """Return the test and the interval for one input.

    Args:
        h: the growth of each row's loss, for each permutation.
        orders: the permutations. In permutation k, row i has the input of row orders[k, i].
    """
    count, m = h.shape
    h = h * m / (m - 1)  # on average, a random permutation leaves one of m rows unchanged (h = 0)
    means = h.mean(1)
    value, spread = float(means.mean()), float(means.std(ddof=1)) * (1 + 1 / count) ** 0.5
    given = np.take_along_axis(h, np.argsort(orders, axis=1), axis=1)  # sorted by the row whose input was used
    reach = float((h.mean(0) + given.mean(0)).std(ddof=1)) / m**0.5 * float(stats.t.ppf((1 + _LEVEL) / 2, m - 1))
    p_value = float(stats.t.sf(value / spread, count - 1)) if spread > 0 else 1.0
    null = spread * float(stats.t.ppf((1 + _LEVEL) / 2, count - 1))
    return Growth(Interval(value, value - reach, value + reach), null, p_value)


def _shown(
    told: list[str], slopes: Float[np.ndarray, " d"] | None, tests: dict[int, Growth], constant: Bool[np.ndarray, " d"]
) -> list[InputShown]:
    """Return the inputs, sorted by the growth of the loss, and then inputs that were not permuted, by the gradient.

    An input has an effect if Holm's rule at 5 % rejects the null hypothesis of the module docstring, and the interval
    for new rows is above 0.
    """
    ranked = sorted(tests, key=lambda place: tests[place].p_value)
    apart, count = set(), len(ranked)
    for rank, place in enumerate(ranked):
        if tests[place].p_value > (1 - _LEVEL) / (count - rank):
            break
        if tests[place].growth.lower > 0:
            apart.add(place)
    slope = lambda place: None if slopes is None else float(slopes[place])
    first = sorted(tests, key=lambda place: -tests[place].growth.value)
    shown = [InputShown(told[p], slope(p), tests[p].growth, tests[p].null, p in apart) for p in first]
    rest = [place for place in range(len(told)) if place not in tests]
    rest = rest if slopes is None else sorted(rest, key=lambda place: -slopes[place])
    idle = lambda p: InputShown(told[p], slope(p), Interval(0.0, 0.0, 0.0), 0.0, False)
    shown += [idle(p) if constant[p] else InputShown(told[p], slope(p)) for p in rest]
    return shown[:MOST]


def _names(shape: tuple[int, ...], names: tuple[str, ...] | None) -> list[str]:
    """Return the names of the inputs: the names of columns, or positions counted from 0."""
    size = int(np.prod(shape, dtype=int))
    if names is not None and len(names) == size:
        return [str(name) for name in names]
    if len(shape) <= 1:
        return [f"column {place}" for place in range(size)]
    return [str([int(k) for k in np.unravel_index(place, shape)]) for place in range(size)]
