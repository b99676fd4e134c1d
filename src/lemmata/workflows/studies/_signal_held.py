"""Test whether models of one half of many independent rows predict the targets of the other half."""

import dataclasses

import numpy as np
from jaxtyping import Float

from ._copies import first_equal
from ._data import Dataset
from ._repeats import copies, few_values
from ._signal_power import TABLES, Powers, bent, made, powers
from ._signal_statistics import Outcome, scored

SHUFFLES = 999
KIND = "held-out rows"
_MOST_ROWS, _LEAST_ROWS, _CELLS = 20_000, 2000, 80_000
"""Three numbers that limit the used rows. For a target of k columns, at most `_CELLS` / k rows are used.

This limit is at least `_LEAST_ROWS` and at most `_MOST_ROWS`.
"""
_FEWEST = 20
_RIDGES = (0.01, 1.0, 10.0)
_MOST_COLUMNS = 1000
_TREES, _LEAF, _ROWS_OF_A_TREE, _COLUMNS_OF_A_TREE = 40, 10, 3000, 100


def of_held_out(dataset: Dataset, rng: np.random.Generator, level: float) -> Outcome:
    """Test by permutations of the targets over the held-out half, while the predictions for this half stay fixed.

    Ridge regressions with three ridges and a random forest are fitted to one half, each to the targets and to the
    targets' scores (`scored`: ranks, or classes weighted by rarity). Each model predicts the other half, and the
    products of predictions and targets are summed over the held-out rows. Every sum is divided by its standard
    deviation over all permutations, and the largest quotient of an arrangement counts. The predictions depend only on
    the first half and the columns. If rows are independent and columns have no information, all arrangements of the
    targets are equally likely. So the p-value is exact, whatever the tails of the target are.
    """
    y, (own, rest) = dataset.targets, _halves(dataset, rng)
    if len(own) < _FEWEST:
        return Outcome(1.0, np.nan, np.nan, len(rest), KIND, 1 / (SHUFFLES + 1), SHUFFLES)
    x, cross = np.split(dataset.encoded(own, rest), [len(own)])
    half = _Half(x - x.mean(axis=0), cross - x.mean(axis=0), dataset.task == "classification")
    said = [half.linear(part) for part in half.seen(y[own][:, None])]
    said = np.concatenate([*said, *(half.forest(part[:, 0]) for part in half.seen(y[own][:, None]))])[:, :, 0]
    true = half.seen(y[rest][:, None])
    targets = np.stack([part[:, 0] for part in true])
    which = np.r_[np.repeat([0, 1], len(said) // 2 - 1), 0, 1] if len(said) > 2 else np.arange(2)
    orders = [np.arange(len(rest)), *(rng.permutation(len(rest)) for _ in range(SHUFFLES))]
    found = _standing(said, targets, which, orders)
    p_value = float((found >= found[0] - 1e-9 * abs(found[0])).mean())
    seen: Powers = {}
    if p_value > level and len(said) > 2:
        allowed = int(level * len(found) + 1e-9) - 1
        most = float(np.sort(found[1:])[::-1][allowed])
        signals = made(np.concatenate([half.x, half.cross]), rng, False)
        both = y[np.r_[own, rest]]
        noise = np.stack([both[rng.permutation(len(both))] for _ in range(TABLES)], axis=1)
        seen = powers(signals, noise, lambda tables: half.by_columns(tables) > most, rng, half.classes)
        seen = bent(seen) if half.classes else seen
    return Outcome(p_value, np.nan, np.nan, len(rest), KIND, 1 / len(orders), SHUFFLES, powers=seen)


def _halves(dataset: Dataset, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two random halves of the rows.

    Of several equal rows, only one is used, unless equal rows are due to chance.
    """
    rows = np.arange(len(dataset.targets))
    if copies(dataset) and not few_values(dataset):
        rows = np.unique(first_equal(dataset.inputs, dataset.targets))
    most = min(_MOST_ROWS, max(_LEAST_ROWS, _CELLS // dataset.targets.shape[1]))
    rows = rng.permutation(rows)[:most]
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]


@dataclasses.dataclass(frozen=True)
class _Half:
    """The columns of the training rows and of the held-out rows."""

    x: Float[np.ndarray, "n d"]
    cross: Float[np.ndarray, "m d"]
    classes: bool

    def seen(self, targets: Float[np.ndarray, "n t k"]) -> list[np.ndarray]:
        """Return the centred targets and their scores, each scaled so that the variances of the outputs add up to 1."""
        scores = [scored(part, self.classes) for part in targets.swapaxes(0, 1)]
        both = [targets - targets.mean(axis=0), np.stack(scores, axis=1)]
        return [part / np.maximum(np.sqrt((part**2).mean(axis=0).sum(axis=1)), 1e-300)[:, None] for part in both]

    def linear(self, targets: Float[np.ndarray, "n t k"]) -> Float[np.ndarray, "ridges m t k"]:
        """Return the outputs of ridge regressions for the held-out rows, or none if there are very many columns."""
        if self.x.shape[1] > _MOST_COLUMNS:
            return np.zeros((0, len(self.cross), *targets.shape[1:]))
        values, vectors = np.linalg.eigh(self.x.T @ self.x)
        values = np.maximum(values, 0.0)
        turned = vectors.T @ (self.x.T @ targets.reshape(len(self.x), -1))
        size = max(float(values.mean()), np.finfo(float).tiny)
        shrunk = [self.cross @ (vectors @ (turned / (values[:, None] + ridge * size))) for ridge in _RIDGES]
        return np.stack(shrunk).reshape(len(_RIDGES), len(self.cross), *targets.shape[1:])

    def forest(self, targets: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "1 m 1 k"]:
        """Return the outputs for the held-out rows of a random forest, whose trees are fitted to at most 3000 rows."""
        from sklearn.ensemble import RandomForestRegressor

        n, d = self.x.shape
        columns = max(1, min(d // 3 + 1, _COLUMNS_OF_A_TREE, d))
        rows = min(n, _ROWS_OF_A_TREE)
        forest = RandomForestRegressor(
            _TREES, min_samples_leaf=_LEAF, max_features=columns, max_samples=rows, random_state=0
        ).fit(self.x, targets[:, 0] if targets.shape[1] == 1 else targets)
        return np.asarray(forest.predict(self.cross), float).reshape(1, len(self.cross), 1, -1)

    def by_columns(self, tables: Float[np.ndarray, "rows t k"]) -> Float[np.ndarray, " t"]:
        """Return, for each of t targets over both halves, the largest standardised sum of the ridge regressions."""
        n = len(self.x)
        best = np.full(tables.shape[1], -np.inf)
        for own, true in zip(self._both(tables[:n]), self._both(tables[n:]), strict=True):
            for said in self.linear(own):
                parts = zip(said.swapaxes(0, 1), true.swapaxes(0, 1), strict=True)
                best = np.maximum(best, [(a * b).sum() / _deviation(a, b) for a, b in parts])
        return best

    def _both(self, tables: np.ndarray) -> list[np.ndarray]:
        """Return the result of `seen`; for classes, only centred targets, because simulated ones are not classes."""
        if not self.classes:
            return self.seen(tables)
        return [tables - tables.mean(axis=0)]


def _deviation(said: Float[np.ndarray, "m k"], targets: Float[np.ndarray, "m k"]) -> float:
    """Return the standard deviation of the sum of `said` times targets over all permutations of centred targets."""
    said = said - said.mean(axis=0)
    variance = float(((said.T @ said) * (targets.T @ targets)).sum()) / (len(said) - 1)
    return max(variance, 1e-300) ** 0.5


def _standing(said: np.ndarray, targets: np.ndarray, which: np.ndarray, orders: list[np.ndarray]) -> np.ndarray:
    """Return, for each arrangement of the targets, the largest standardised sum over the models."""
    scale = np.array([_deviation(a, targets[i]) for a, i in zip(said, which, strict=True)])
    scale = np.where(scale > 1e-100, scale, np.inf)
    flat = [(said[which == i] / scale[which == i, None, None]).reshape(int((which == i).sum()), -1) for i in (0, 1)]
    return np.array([
        max(float((rows @ part[order].reshape(-1)).max()) for rows, part in zip(flat, targets, strict=True))
        for order in orders
    ])  # fmt: skip
