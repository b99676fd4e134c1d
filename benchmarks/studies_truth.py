"""The truth about a table of `studies`: the error of a model with m training rows, on rows that did not train.

The truth at m rows is the mean, over random training sets of m rows of the table, of the loss on rows outside of them,
told in the unit of the study. Independent rows: sets drawn at random, of which the first holds the studied rows (at
m = n it is these). Groups: whole groups until there are m rows, the last one cut, tested on rows of other groups. Time:
m rows in a row, tested on the `horizon` rows that follow, at random places among the n rows that come after the studied
ones; `anywhere` has the same at random places of the whole stretch of up to 6,000 rows, years away perhaps. Sets are
drawn until the standard error is below a twentieth of the width of the page's interval, or the time is over; it counts
the spread over sets and, where the table was larger than what the sets were drawn from, the rows that were tested.

Two more are what a user would have seen: `own`, the model with the studied rows on all others; and in time `following`,
the m rows that begin with the studied ones, tested on the `horizon` rows after them. They are single draws.
"""

import dataclasses
import math
import time
import warnings

import jax
import numpy as np
from threadpoolctl import threadpool_limits

from lemmata.workflows.studies import load_dataset
from studies_tables import Drawn, Table, horizon

MOST_SETS, MOST_STRETCHES, FEWEST_SETS, MOST_TESTED = 40, 200, 4, 2000
NAIVE = ("last", "season")
"""Models that a study adds by itself where rows are in time."""
PRECISE = 0.05
"""The standard error that is aimed at, as a share of the width of the interval."""


def held_out_losses(dataset, name: str, train: np.ndarray, test: np.ndarray, unit: str) -> np.ndarray:
    """The loss of each tested row of the model of this name; the one place that knows lemmata's models.

    Everything is learned from the training rows: imputation, encoding, scaling, ridges.
    """
    from lemmata.workflows.studies._models import models

    more = {"targets": dataset.targets, "ordered": True} if name in NAIVE else {}
    with jax.enable_x64(True), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = models(["linear"] if more else [name], dataset.x, dataset.task, **more)
        model = next(item for item in known if item.name == name)
        fit = model.fit(dataset.encoded(train, test), dataset.targets[train], dataset.task)
    outputs = fit.chances if unit == "log-loss" else fit.outputs
    return row_losses(unit, dataset.targets[test], np.asarray(outputs))


def row_losses(unit: str, targets: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Squared errors in the units of the target, 1 for a wrong class, or the surprise at the class."""
    if unit in ("rmse", "r2", "unexplained variance"):
        return ((targets - outputs) ** 2).sum(axis=1)
    if unit in ("accuracy", "error rate"):
        return (targets.argmax(axis=1) != outputs.argmax(axis=1)).astype(float)
    if unit == "log-loss":
        chances = np.clip(outputs, 1e-6, None)
        return -np.log((chances * targets).sum(axis=1) / chances.sum(axis=1))
    raise ValueError(f"no truth in the unit {unit}")


def told(unit: str, loss: float, variance: float) -> float:
    """A mean loss in the unit of the study."""
    return {
        "rmse": math.sqrt(loss),
        "r2": 1 - loss / variance,
        "unexplained": loss / variance,
        "accuracy": 1 - loss,
    }.get(unit, loss)


@dataclasses.dataclass(frozen=True)
class Truth:
    """The truth of one model at m rows: value and standard error in the unit of the study, the mean loss, sets."""

    m: int
    value: float
    se: float
    loss: float
    sets: int


class Pool:
    """The rows that the truth of a table is measured on, and the random sets of them.

    Args:
        table, drawn: what was drawn from it.
        unit: of the study.
        variance: of the target in the study, for R².
        seed: of the sets.
        seconds: that may be spent on one model at one size.
    """

    def __init__(self, table: Table, drawn: Drawn, unit: str, variance: float, seed: int, seconds: float):
        frame = table.frame.iloc[drawn.pool].reset_index(drop=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.dataset = load_dataset(frame, max_rows=max(40, len(frame)), **table.asked)
        place = np.full(len(frame), -1)
        place[self.dataset.index] = np.arange(len(self.dataset.index))
        self.studied = place[drawn.studied][place[drawn.studied] >= 0]
        self.order = None if table.time is None else np.argsort(self.dataset.order, kind="stable")
        self.total, self.n = len(self.dataset.targets), len(self.studied)
        self.unit, self.variance, self.seed, self.seconds = unit, variance, seed, seconds
        self.whole = len(frame) == len(table.frame)
        self.known: dict[tuple[str, int, bool], list[tuple[float, float]]] = {}
        self.timed, self.first = self.order is not None, 0
        if self.order is not None:
            place = np.empty(self.total, int)
            place[self.order] = np.arange(self.total)
            self.first = int(place[self.studied].min())

    @property
    def guessing(self) -> float:
        """The mean loss of who knows no inputs, of the table: the variance of numbers, the rarer classes' share."""
        targets = self.dataset.targets
        return float(targets.var(axis=0).sum() if self.dataset.task == "regression" else 1 - targets.mean(axis=0).max())

    def fits(self, m: int) -> bool:
        """Whether enough rows are left to test."""
        if self.order is not None:
            first, last = self.places(m, False)
            return first <= last
        return m + max(50, m // 10) <= self.total

    def places(self, m: int, anywhere: bool) -> tuple[int, int]:
        """In time: the first and the last place at which a tested stretch may begin after m training rows."""
        last = self.total - horizon(self.n)
        if anywhere:
            return m, last
        after = self.first + self.n
        return max(m, after), min(after + self.n - horizon(self.n), last)

    def rows(self, m: int, number: int, anywhere: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Training and tested rows of the set of this number."""
        rng = np.random.default_rng([self.seed, m, number])
        if self.order is not None:
            first, last = self.places(m, anywhere)
            at = int(rng.integers(first, last + 1))
            return self.order[at - m : at], self.order[at : at + horizon(self.n)]
        if self.dataset.groups is not None:
            place = rng.permutation(self.dataset.groups.max() + 1)[self.dataset.groups]
            order = np.lexsort((rng.random(self.total), place))
            train, rest = order[:m], order[m:]
            rest = rest[~np.isin(self.dataset.groups[rest], self.dataset.groups[train])]
            return train, rng.permutation(rest)[:MOST_TESTED]
        order = rng.permutation(self.total)
        if number == 0:
            own = np.isin(order, self.studied)
            order = np.concatenate([rng.permutation(self.studied), order[~own]])
        return order[:m], order[m : m + MOST_TESTED]

    def truth(
        self, name: str, m: int, width: float = 0.0, fewest: int = FEWEST_SETS, anywhere: bool = False
    ) -> Truth | None:
        """The truth of a model at m rows; None where a set leaves nothing to test.

        Args:
            name: of the model.
            m: training rows.
            width: of the page's interval; 0 asks for the fewest sets.
            fewest: how many sets there are at least.
            anywhere: in time: at places of the whole stretch.
        """
        found, started = self.known.setdefault((name, m, anywhere), []), time.monotonic()
        while len(found) < (MOST_SETS if self.order is None else MOST_STRETCHES):
            now = self._summary(m, found, anywhere)
            late = time.monotonic() - started > self.seconds
            if len(found) >= fewest and (late or not width or now.se <= PRECISE * width):
                break
            train, test = self.rows(m, len(found), anywhere)
            if len(test) < 2:
                return None
            losses = held_out_losses(self.dataset, name, train, test, self.unit)
            found.append((float(losses.mean()), float(losses.var()), len(test)))
        return self._summary(m, found, anywhere)

    def _summary(self, m: int, found: list, anywhere: bool) -> Truth:
        if not found:
            return Truth(m, math.nan, math.inf, math.nan, 0)
        means = np.array([item[0] for item in found])
        loss, count = float(means.mean()), len(means)
        if self.order is not None:  # stretches that overlap are no independent tests
            first, last = self.places(m, anywhere)
            count = min(count, 1 + (last - first) // horizon(self.n))
        square = means.var(ddof=1) / count if len(means) > 1 else math.inf
        if not self.whole and self.order is None:
            tested = min(sum(item[2] for item in found), self.total)
            square += float(np.mean([item[1] for item in found])) / tested
        se = math.sqrt(square)
        ends = [told(self.unit, max(loss + sign * se, 0.0), self.variance) for sign in (-1, 1)]
        return Truth(m, told(self.unit, loss, self.variance), abs(ends[1] - ends[0]) / 2, loss, len(means))

    def own(self, name: str) -> float | None:
        """The value of the model with the studied rows, on all others (of other groups; not in time)."""
        if self.order is not None:
            return None
        inside = np.isin(np.arange(self.total), self.studied)
        if self.dataset.groups is not None:
            inside = np.isin(self.dataset.groups, self.dataset.groups[self.studied])
        losses = held_out_losses(self.dataset, name, self.studied, np.flatnonzero(~inside), self.unit)
        return told(self.unit, float(losses.mean()), self.variance)

    def following(self, name: str, m: int) -> float | None:
        """In time: the value of the model with the m rows from the first studied one on, on those that follow."""
        if self.order is None:
            return None
        first = self.first
        train, test = self.order[first : first + m], self.order[first + m : first + m + horizon(self.n)]
        if len(test) < horizon(self.n):
            return None
        return told(self.unit, float(held_out_losses(self.dataset, name, train, test, self.unit).mean()), self.variance)


def crossing(truths: dict[int, float], asked: float, rises: bool) -> tuple[str, float]:
    """Where the true curve comes to the asked value: ("inside", rows), or ("below" or "above" the measured sizes, end).

    Between the measured sizes the value is linear in ln(m); the first crossing counts.
    """
    sizes = sorted(truths)
    better = [(truths[m] >= asked) if rises else (truths[m] <= asked) for m in sizes]
    if better[0]:
        return "below", float(sizes[0])
    for left, right, there in zip(sizes, sizes[1:], better[1:], strict=False):
        if there:
            share = (asked - truths[left]) / (truths[right] - truths[left])
            return "inside", float(left * (right / left) ** share)
    return "above", float(sizes[-1])
