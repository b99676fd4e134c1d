"""Triggers: for each class, the smallest common change of all rows after which the model nearly always predicts it.

A mask m and a pattern p, both of the shape of a row, change a row x to (1 - m) x + m p. For each class, m and p are
found by projected gradient steps on

    mean log loss of that class + lambda sum m,    0 <= m <= 1,    p within the range of each feature,

where lambda rises while the change works, and falls otherwise. If the model has a backdoor, one class is reached by a
much smaller change than the others. Without a backdoor, the sizes sum m of all classes are similar.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int
from scipy.special import softmax

from lemmata.errors import DataError, ShapeError

from ._contract import AbstractModel
from ._once import once
from ._trained import Trained

WORKS = 0.9
"""The share of rows of other classes that a change must move to the target class."""
_ROWS = 48
_FILLED = 8  # number of trials in which a mask is filled from another row
_STEPS = 160
_EVEN = 0.15  # sizes whose logarithms differ by less count as equal
_WAIT = 6  # steps between two changes of lambda
_RISE, _FALL = 1.5, 1.8
_RATE = 0.08
_SHRINK, _KEEP = 0.9, 0.999  # of Adam's averages


@dataclasses.dataclass(frozen=True)
class Triggers:
    """The smallest change found for each class.

    Args:
        masks, patterns: the mask and the pattern of each class, (C, *row).
        sizes: the sum of each mask, in features. Infinite for a class that was not reached.
    """

    masks: Float[np.ndarray, "C *row"]
    patterns: Float[np.ndarray, "C *row"]
    sizes: Float[np.ndarray, " C"]

    @property
    def smallest(self) -> int:
        """The class that is reached by the smallest change."""
        return int(self.sizes.argmin())

    @property
    def unreached(self) -> float:
        """The share of classes for which no change was found."""
        return float(np.isinf(self.sizes).mean())

    @property
    def anomaly(self) -> float:
        """The distance of the smallest log size below the median, in units of the median distance from the median.

        The unit is at least 0.15. With l = log sizes, the result is (median l - min l) / max(median |l - median l|,
        0.15). Sizes are compared by their ratios. If all sizes are nearly equal, a class slightly below the others is
        not an outlier, because the unit is at least 0.15. The result is NaN if at least half of the classes were not
        reached.
        """
        if self.unreached >= 0.5:
            return float("nan")
        logs = np.log(np.maximum(self.sizes, np.finfo(float).tiny))
        middle = np.median(logs)
        return float((middle - logs.min()) / max(np.median(np.abs(logs - middle)), _EVEN))

    def nearest_rows(self, x: np.ndarray, c: int) -> Int[np.ndarray, " n"]:
        """Return the indices of rows, sorted by their distance sum m |x - p| from the pattern p of class c.

        The mask m is that of class c, and the nearest row comes first.

        Args:
            x: rows (n, *row), for example those of class c.
            c: the class whose pattern is used.
        """
        away = self.masks[c] * np.abs(np.asarray(x, float) - self.patterns[c])
        return np.argsort(away.reshape(len(x), -1).sum(1), kind="stable")

    def rests(
        self, model: AbstractModel, x: np.ndarray, others: np.ndarray, c: int, *, seed: int = 0
    ) -> Float[np.ndarray, " n"]:
        """Return the share of eight trials in which each row loses class c. A trial mixes in another row.

        Args:
            model: the model for which the changes were found. In a trial, a row x becomes (1 - m) x + m z, where m is
                the mask of class c and z is a random row of `others`.
            x: rows (n, *row) for which the model predicts c.
            others: at least one row of another class.
            c: the class whose mask is used.
            seed: the seed of the random choice among `others`.
        """
        rng, lost = np.random.default_rng([seed, 19]), np.zeros(len(x))
        for _ in range(_FILLED):
            filled = (1 - self.masks[c]) * x + self.masks[c] * others[rng.integers(0, len(others), len(x))]
            lost += model.outputs(filled.astype(x.dtype)).argmax(1) != c
        return lost / _FILLED

    def stamp(self, x: np.ndarray, c: int) -> Float[np.ndarray, "n *row"]:
        """Return the rows after the change of class c."""
        return (1 - self.masks[c]) * x + self.masks[c] * self.patterns[c]


def parted(lost: Float[np.ndarray, " n"]) -> float:
    """Return the separation of rows that lose their class from rows that keep it: mean (l - p)² / (p (1 - p)).

    Here l is the share of trials in which each row loses its class, and p is the mean of l over the rows. The result is
    1 if some rows always lose their class and the others never do. The result is 1/8 on average if all rows lose their
    class with the same probability. The result is 0 if all rows always lose their class, or if no row ever does.

    Args:
        lost: the result of `Triggers.rests`.

    >>> parted(np.array([1.0, 1.0, 0.0, 0.0])), parted(np.array([0.5, 0.5])), parted(np.array([0.0, 0.0]))
    (1.0, 0.0, 0.0)
    """
    p = float(lost.mean()) if len(lost) else 0.0
    return float(((lost - p) ** 2).mean()) / (p * (1 - p)) if 0 < p < 1 else 0.0


def find_triggers(model: AbstractModel, x: np.ndarray, *, seed: int = 0, steps: int = _STEPS) -> Triggers:
    """Return for each class the smallest change of rows that moves 90 % of the rows of other classes to this class.

    The result is deterministic for a seed. Each step costs two passes over 48 C rows.

    Args:
        model: a model with derivatives.
        x: rows (n, *row) of floating-point numbers, for which the model predicts at least two classes.
        seed: the seed that chooses the rows of the search.
        steps: the number of steps of the search.

    Raises:
        DataError: if the rows are not floating-point numbers, or if the model predicts the same class for all rows.
        ShapeError: if there are fewer than two outputs.
    """
    if np.asarray(x).dtype.kind != "f":
        raise DataError(
            "rows",
            found=str(np.asarray(x).dtype),
            rule="floating-point numbers, because the search makes small changes",
        )
    f = model.outputs(x)
    if f.shape[1] < 2:
        raise ShapeError("outputs", found=f"{f.shape[1]}", rule="one output for each of at least two classes")
    calls = f.argmax(1)
    rows = _others(calls, f.shape[1], seed)
    search = _Search(model, np.asarray(x, float)[rows], np.asarray(x, float))
    for step in range(steps):
        search.step(step)
    return Triggers(search.best_mask, search.best_pattern, search.best_size)


def _others(calls: Int[np.ndarray, " n"], classes: int, seed: int) -> Int[np.ndarray, "C r"]:
    """Return, for each class, the same number of rows for which the model predicts another class."""
    order = np.random.default_rng([seed, 11]).permutation(len(calls))
    found = [order[calls[order] != c] for c in range(classes)]
    if not all(map(len, found)):
        c = next(c for c in range(classes) if not len(found[c]))
        raise DataError("rows", found=f"all predicted as class {c}", rule="rows with at least two predicted classes")
    count = min(_ROWS, max(map(len, found)))
    return np.stack([np.resize(own[:count], count) for own in found])


class _Search:
    """Masks and patterns of all classes during the search, and the best masks and patterns so far."""

    def __init__(self, model: AbstractModel, rows: Float[np.ndarray, "C r *row"], x: Float[np.ndarray, "n *row"]):
        self.model, self.rows = model, rows
        self.classes, self.count = rows.shape[:2]
        self.targets = np.eye(self.classes).repeat(self.count, axis=0)
        self.wide = (self.classes, *(1,) * (rows.ndim - 2))
        self.low, self.high = x.min(0), x.max(0)
        shape = (self.classes, *rows.shape[2:])
        self.mask = np.full(shape, 0.3)
        self.pattern = np.broadcast_to((self.low + self.high) / 2, shape).copy()
        self.price = np.full(self.classes, 0.01)
        self.moments = np.zeros((2, 2, *shape))
        self.best_mask, self.best_pattern = self.mask.copy(), self.pattern.copy()
        self.best_size = np.full(self.classes, np.inf)

    def step(self, step: int) -> None:
        """Test the change of each class, store it if it is the smallest that works so far, and take a gradient step."""
        stamped = (1 - self.mask[:, None]) * self.rows + (self.mask * self.pattern)[:, None]
        flat = stamped.reshape(-1, *stamped.shape[2:])
        f = self.model.outputs(flat)
        works = (f.argmax(1) == self.targets.argmax(1)).reshape(self.classes, -1).mean(1) >= WORKS
        self._keep(works)
        if step % _WAIT == 0:
            self.price = np.where(works, self.price * _RISE, self.price / _FALL)
        pull = self.model.input_vjp((softmax(f, axis=1) - self.targets) / self.count, flat).reshape(stamped.shape)
        of_mask = (pull * (self.pattern[:, None] - self.rows)).sum(1) + self.price.reshape(self.wide)
        of_pattern = pull.sum(1) * self.mask
        moved = self._adam(step, np.stack([of_mask, of_pattern]))
        self.mask = np.clip(self.mask - _RATE * moved[0], 0.0, 1.0)
        self.pattern = np.clip(self.pattern - _RATE * (self.high - self.low) * moved[1], self.low, self.high)

    def _keep(self, works: np.ndarray) -> None:
        size = self.mask.reshape(self.classes, -1).sum(1)
        for c in np.flatnonzero(works & (size < self.best_size)):
            self.best_mask[c], self.best_pattern[c], self.best_size[c] = self.mask[c], self.pattern[c], size[c]

    def _adam(self, step: int, slope: np.ndarray) -> np.ndarray:
        first, second = self.moments
        self.moments = np.stack([_SHRINK * first + (1 - _SHRINK) * slope, _KEEP * second + (1 - _KEEP) * slope**2])
        first, second = self.moments[0] / (1 - _SHRINK ** (step + 1)), self.moments[1] / (1 - _KEEP ** (step + 1))
        return first / (np.sqrt(second) + 1e-12)


@once
def smallest_triggers(trained: Trained) -> Triggers:
    """Return, for each class, the smallest change that moves 90 % of the training rows to this class."""
    return find_triggers(trained.model, trained.x, seed=trained.seed)
