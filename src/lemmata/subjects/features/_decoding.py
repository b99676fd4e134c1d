"""Which sets of active directions are read from their sum, tried on given directions."""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import linalg

_BELOW, _PROVED = 1 - 1e-3, 1 - 1e-4  # what silent directions are held to, and what proves them silent
_ROUNDS, _BATCH = 60, 32


def orderings(n: int, most: int, draws: int, seed: int) -> Int[np.ndarray, "draws most"]:
    """Random directions in random order: the first k of a row are a random set of k.

    Args:
        n: how many directions there are.
        most: how many are drawn.
        draws: rows.
        seed: of the draws.
    """
    generator = np.random.default_rng(seed)
    return np.stack([generator.permutation(n)[:most] for _ in range(draws)]).astype(np.int32)


def misread(unit: Float[np.ndarray, "n d"], sets: Int[np.ndarray, "draws k"]) -> Bool[np.ndarray, " draws"]:
    """Whether a threshold 1/2 on the inner products with the sum of the set finds another set.

    Args:
        unit: directions of length 1.
        sets: of active directions.
    """
    wrong = []
    for start in range(0, len(sets), _BATCH):
        some = sets[start : start + _BATCH]
        scores = unit @ np.stack([unit[own].sum(axis=0) for own in some], axis=1)
        columns = np.arange(len(some))[:, None]
        least = scores[some, columns].min(axis=1)
        scores[some, columns] = -np.inf
        wrong.append((least <= 0.5) | (scores.max(axis=0) >= 0.5))
    return np.concatenate(wrong)


def undecoded(unit: Float[np.ndarray, "n d"], sets: Int[np.ndarray, "draws k"]) -> Bool[np.ndarray, " draws"]:
    """Whether no proof was found that non-negative l1 decoding recovers all positive codes on the set.

    The proof is a vector y with <u, y> = 1 for active directions and <u, y> < 1 for all others: then every other
    non-negative code with the same sum of directions has a larger sum. It exists whenever the recovery is unique for
    all such codes, if the active directions are independent. The shortest y is searched: the inequalities that it
    meets with equality are exchanged in blocks, until all others hold and the multipliers of these are positive.

    Args:
        unit: directions of length 1.
        sets: of active directions.
    """
    found = [_undecoded(unit, sets[start : start + _BATCH]) for start in range(0, len(sets), _BATCH)]
    return np.concatenate(found)


def _undecoded(unit: np.ndarray, sets: np.ndarray) -> np.ndarray:
    searches = [_Search(unit, own) for own in sets]
    for _ in range(_ROUNDS):
        open_ = [own for own in searches if own.proved is None]
        if not open_:
            break
        scores = unit @ np.stack([own.vector for own in open_], axis=1).astype(np.float32)
        for place, own in enumerate(open_):
            own.exchange(scores[:, place])
    return np.array([not own.proved for own in searches])


class _Search:
    """The shortest vector that reads one set: its active inequalities, and whether it is found, or None."""

    def __init__(self, unit: np.ndarray, active: np.ndarray):
        self.unit, self.active = unit, active
        self.met = np.array([], int)
        self.proved: bool | None = None
        self.vector = np.zeros(unit.shape[1])
        self.multipliers = np.array([])
        self.fewest, self.patience = len(unit) + 1, 5
        self.solve()

    def solve(self) -> None:
        """The shortest vector with 1 at active directions and just below 1 at those that are met."""
        rows = self.unit[np.concatenate([self.active, self.met])].astype(float)
        if len(rows) > rows.shape[1]:
            self.proved = False
            return
        target = np.where(np.arange(len(rows)) < len(self.active), 1.0, _BELOW)
        try:
            factor = linalg.cho_factor(rows @ rows.T)
            weights = linalg.cho_solve(factor, target)
        except linalg.LinAlgError:  # dependent directions
            self.proved = False
            return
        self.vector, self.multipliers = rows.T @ weights, -weights[len(self.active) :]
        if not np.allclose(rows @ self.vector, target, atol=1e-8):
            self.proved = False

    def exchange(self, scores: np.ndarray) -> None:
        """Block principal pivoting, and single exchanges of the last wrong one where blocks do not help."""
        scores = scores.copy()
        scores[self.active] = -np.inf
        if scores.max() < _PROVED:
            self.proved = True
            return
        scores[self.met] = -np.inf
        above = np.flatnonzero(scores > _BELOW)
        below = self.met[self.multipliers < 0]
        wrong = len(above) + len(below)
        room = self.unit.shape[1] - len(self.active) - len(self.met) + len(below)
        if len(above) > room:  # more equations than unknowns: the largest alone
            above = above[np.argsort(-scores[above])[: room // 2 + 1]]
        if wrong == 0:
            self.proved = False  # held inequalities are met at 1: rounding
            return
        if wrong < self.fewest:
            self.fewest, self.patience = wrong, 5
        else:
            self.patience -= 1
        if self.patience <= 0:
            last = max(above.max(initial=-1), below.max(initial=-1))
            above, below = above[above == last], below[below == last]
        self.met = np.concatenate([np.setdiff1d(self.met, below), above])
        self.solve()
