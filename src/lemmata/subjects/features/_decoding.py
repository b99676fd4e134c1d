"""Test whether random sets of active directions can be recovered from the sum of the directions."""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import linalg

from lemmata.core import one_blas_thread

_BELOW, _PROVED = 1 - 1e-3, 1 - 1e-4  # inner product imposed on inactive directions, and the proof's bound
_TIE = 1e-5  # inner products closer than this to the threshold 1/2 count as misread
_FEW, _MORE = 15, 20_000  # linear systems per set: _FEW + _MORE / dimension
_PATIENCE, _ADDED, _BATCH, _SEARCHES = 5, 10, 32, 10


def orderings(n: int, most: int, draws: int, seed: int) -> Int[np.ndarray, "draws most"]:
    """Draw random directions in random order. The first k entries of a row are a random set of k directions.

    Args:
        n: the number of all directions.
        most: the number of directions that are drawn for each row.
        draws: the number of rows.
        seed: the random seed of the draws.
    """
    generator = np.random.default_rng(seed)
    return np.stack([generator.permutation(n)[:most] for _ in range(draws)]).astype(np.int32)


def misread(unit: Float[np.ndarray, "n d"], sets: Int[np.ndarray, "draws k"]) -> Bool[np.ndarray, " draws"]:
    """Return, for each set of active directions, whether the linear readout finds a different set.

    The readout takes a direction as active if its inner product with the sum of the set is above 1/2.

    Args:
        unit: directions of length 1.
        sets: the sets of active directions.
    """
    wrong = []
    for start in range(0, len(sets), _BATCH):
        some = sets[start : start + _BATCH]
        scores = unit @ np.stack([unit[own].sum(axis=0) for own in some], axis=1)
        columns = np.arange(len(some))[:, None]
        least = scores[some, columns].min(axis=1)
        scores[some, columns] = -np.inf
        wrong.append((least <= 0.5 + _TIE) | (scores.max(axis=0) >= 0.5 - _TIE))
    return np.concatenate(wrong)


def undecoded(unit: Float[np.ndarray, "n d"], sets: Int[np.ndarray, "draws k"]) -> Bool[np.ndarray, " draws"]:
    """Return, for each set of active directions, True if the search did not prove that l1 decoding recovers the set.

    A code has one number for each direction. A code is positive on a set if its numbers are positive for the directions
    in the set, and 0 for all others. The sum of directions, weighted by the numbers of the code, is known. Non-negative
    l1 decoding returns the non-negative code with this weighted sum whose numbers have the smallest sum. The search
    tries to prove that this decoding recovers every code that is positive on the set.

    The proof is a vector y with <u, y> = 1 for active directions u, and <u, y> < 1 for all others. If such a y exists,
    every other non-negative code with the same weighted sum of directions has a larger sum of numbers. Conversely,
    suppose that the active directions are linearly independent and that the decoding recovers every code that is
    positive on the set. Then such a y exists. The search looks for the shortest y, and requires <u, y> to be slightly
    below 1 for inactive u. In each step, some of these inequalities hold with equality, and a block of them is
    exchanged for others. The search stops when all other inequalities hold and the Lagrange multipliers of the
    equalities are positive.

    Args:
        unit: directions of length 1.
        sets: the sets of active directions.
    """
    with one_blas_thread():  # one thread is faster for many small linear systems
        found = [_undecoded(unit, sets[start : start + _SEARCHES]) for start in range(0, len(sets), _SEARCHES)]
    return np.concatenate(found)


def _undecoded(unit: np.ndarray, sets: np.ndarray) -> np.ndarray:
    searches = [_Search(unit, own) for own in sets]
    while open_ := [own for own in searches if own.proved is None]:
        scores = unit @ np.stack([own.vector for own in open_], axis=1).astype(np.float32)
        for place, own in enumerate(open_):
            own.exchange(scores[:, place])
    return np.array([not own.proved for own in searches])


class _Search:
    """A search for the shortest proof vector of one set. `proved` is None until the search ends."""

    def __init__(self, unit: np.ndarray, active: np.ndarray):
        self.unit, self.active = unit, active
        self.pool, self.rows, self.gram = np.array([], int), np.zeros((0, unit.shape[1])), np.zeros((0, 0))
        self.met = np.array([], int)
        self.proved: bool | None = None
        self.vector = np.zeros(unit.shape[1])
        self.multipliers = np.array([])
        self.fewest, self.patience = len(unit) + 1, _PATIENCE
        self.left = _FEW + _MORE // unit.shape[1]
        self._grow(active)
        self.solve()

    def _grow(self, new: np.ndarray) -> None:
        """Add new directions to `pool`, and to the matrix of inner products of all directions in `pool`."""
        rows = self.unit[new].astype(float)
        cross = rows @ self.rows.T
        self.gram = np.block([[self.gram, cross.T], [cross, rows @ rows.T]])
        self.pool, self.rows = np.concatenate([self.pool, new]), np.concatenate([self.rows, rows])

    def solve(self) -> None:
        """Compute the shortest vector that has the required inner products with some directions.

        The inner products are 1 with active directions, and just below 1 with the directions in `met`.
        """
        count, self.left = len(self.active), self.left - 1
        if self.left < 0 or count + len(self.met) > self.unit.shape[1]:
            self.proved = False
            return
        self._grow(np.setdiff1d(self.met, self.pool))
        order = np.argsort(self.pool)
        places = np.concatenate([np.arange(count), order[np.searchsorted(self.pool[order], self.met)]])
        gram = self.gram[np.ix_(places, places)]
        target = np.where(np.arange(len(places)) < count, 1.0, _BELOW)
        try:
            weights = linalg.cho_solve(linalg.cho_factor(gram, check_finite=False), target, check_finite=False)
        except linalg.LinAlgError:  # the directions are linearly dependent
            self.proved = False
            return
        self.vector, self.multipliers = weights @ self.rows[places], -weights[count:]
        if not np.allclose(gram @ weights, target, atol=1e-8):
            self.proved = False

    def exchange(self, scores: np.ndarray) -> None:
        """Exchange a block of the inequalities that hold with equality, and solve again.

        The equalities are those for the directions in `met`. If exchanges no longer reduce the number of violated
        inequalities, use the method of Lawson and Hanson.

        Args:
            scores: the inner product of each direction with `vector`.
        """
        scores = scores.copy()
        scores[self.active] = -np.inf
        if scores.max() < _PROVED:
            self.proved = True
            return
        scores[self.met] = -np.inf
        above = np.flatnonzero(scores > _BELOW)
        below = self.met[self.multipliers < 0]
        if len(above) + len(below) < self.fewest:
            self.fewest, self.patience = len(above) + len(below), _PATIENCE
        else:
            self.patience -= 1
        kept = np.setdiff1d(self.met, below)
        room = self.unit.shape[1] - len(self.active) - len(kept)
        above = above[np.argsort(-scores[above], kind="stable")]
        if self.patience > 0:
            # More equations than unknowns have no solution. If there are too many, only the largest scores are used.
            self.met = np.concatenate([kept, above if len(above) <= room else above[: room // 2 + 1]])
            self.solve()
        elif len(below) or len(above):
            self._ascend(above[: max(min(_ADDED, room), 1)])
        else:
            self.proved = False  # rounding errors brought an inner product in `met` from _BELOW to nearly 1

    def _ascend(self, above: np.ndarray) -> None:
        """Increase the dual objective by steps of Lawson and Hanson, with further inequalities as equalities.

        New Lagrange multipliers start at 0, and each step ends before a multiplier becomes negative.
        """
        kept = self.multipliers > 0
        self.met, now = np.concatenate([self.met[kept], above]), np.append(self.multipliers[kept], np.zeros(len(above)))
        while True:
            self.solve()
            aim = self.multipliers
            if self.proved is False or (aim > 0).all():
                return
            down = aim <= 0
            step = float((now[down] / np.maximum(now[down] - aim[down], 1e-300)).min())
            now = now + step * (aim - now)
            stays = ~down | (now > 1e-12 * now.max())
            if step > 0 and stays.all():
                stays[np.flatnonzero(down)[0]] = False
            self.met, now = self.met[stays], np.maximum(now[stays], 0.0)
