"""Compute the statistics of the test for signal: how well columns predict each of many arrangements of the targets."""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.stats import rankdata

from lemmata.kernels import RBF, Linear

from ._models import padded_gram
from ._signal_power import TABLES, Powers, bent, hardest, made, powers

_RIDGES = np.logspace(-4, 2, 7)
_BINS = 5
_DRAWN = (1.0, 4.0, 16.0)
_MOST_STEPS = 4
_CHUNK = 2**22
_TAIL = 0.04


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of one test. `Signal` has fields of the same names and meanings."""

    p_value: float
    error: float
    by_chance: float
    rows: int
    kind: str
    least: float
    shuffles: int
    groups: int = 0
    visible: float = math.nan
    between: float = math.nan
    powers: Powers = dataclasses.field(default_factory=dict)
    held: int = 0


@dataclasses.dataclass(frozen=True)
class View:
    """Columns and arrangements of targets in one form: rows unchanged, differences of rows, or group means.

    Args:
        grams: the kernels between the n units, which are rows, differences of rows, or groups.
        columns: the columns of the units.
        targets: for each unit, the target in each arrangement; the first arrangement is the observed one.
        scores: the targets as ranks, or with each class weighted by its rarity.
        score: a function that returns the scores of simulated targets; None if the power of the test is not requested.
        classes: whether the target holds classes.
        products: whether the power is also computed for products of two columns.
        codes: the codes, from 0, of each text column with many categories.
    """

    grams: list[Float[np.ndarray, "n n"]]
    columns: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, "n arrangements k"]
    scores: Float[np.ndarray, "n arrangements k"]
    score: Callable[[np.ndarray], np.ndarray] | None = None
    classes: bool = False
    products: bool = False
    codes: Int[np.ndarray, "n q"] | None = None

    @functools.cached_property
    def systems(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The eigenvalues and eigenvectors of the centred Gram matrices."""
        means = [gram.mean(axis=0) for gram in self.grams]
        found = [np.linalg.eigh(gram - m - m[:, None] + m.mean()) for gram, m in zip(self.grams, means, strict=True)]
        return [(np.maximum(values, 0.0), vectors) for values, vectors in found]


def kernels(encoded: Float[np.ndarray, "n d"]) -> list[Float[np.ndarray, "n n"]]:
    """Return the linear and the Gaussian kernel between encoded rows."""
    width = max(1.0, float(encoded.shape[1]))
    return [np.asarray(padded_gram(kernel, encoded)) for kernel in (Linear(width), RBF(math.sqrt(width)))]


def scored(y: Float[np.ndarray, "n k"], classes: bool) -> Float[np.ndarray, "n k"]:
    """Return centred ranks of numbers, or centred indicators of classes, which are scaled up for rare classes."""
    if not classes:
        return rankdata(y, axis=0) - (len(y) + 1) / 2
    share = y.mean(axis=0)
    return (y - share) / np.sqrt(np.maximum(share, 1 / len(y)))


def rescored(y: Float[np.ndarray, "n k"], classes: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that computes the scores of simulated targets in the same way as `scored`, up to centring.

    For classes, the function weights each column by the rarity of its class in y.
    """
    if not classes:
        return lambda targets: rankdata(targets, axis=0)
    return lambda targets: targets / np.sqrt(np.maximum(y.mean(axis=0), 1 / len(y)))


def unexplained(view: View) -> tuple[Float[np.ndarray, "kernels arrangements"], Float[np.ndarray, "rest arrangements"]]:
    """Return the shares of the targets' variance that kernels (by leave-one-out) and a few columns leave unexplained.

    Four statistics use few columns: the best column in a linear fit, the best column cut into five quantile bins, the
    best two columns, and the best four columns. Each added column explains the most of the variance that the earlier
    columns leave unexplained. Texts with many categories give further statistics (`_by_text`).
    """
    left_out = [_left_out(*system, view.targets) for system in view.systems]
    few = _steps(view.columns, view.targets) if view.columns.shape[1] else []
    few = [*few, *_binned(view.columns, view.scores)]
    if view.codes is not None and view.codes.shape[1]:
        few += _by_text(view.codes, view.targets)
    return np.array(left_out), np.array(few).reshape(-1, view.targets.shape[1])


def _by_text(
    codes: Int[np.ndarray, "n q"], targets: Float[np.ndarray, "n arrangements k"]
) -> list[Float[np.ndarray, " arrangements"]]:
    """Return the unexplained share for the best text column, if a row is predicted from other rows of its category.

    The mean target of these n other rows is shrunk to 0, the overall mean, as if m more rows with target 0 were added.
    So the fraction n/(n + m) of the mean remains. Each value of m in `_DRAWN` gives one statistic.
    """
    n, count = targets.shape[:2]
    flat, total = targets.reshape(n, -1), (targets**2).sum(axis=(0, 2))
    found = np.full((len(_DRAWN), count), np.inf)
    for column in codes.T:
        sizes = np.bincount(column)
        members = csr_array((np.ones(n), (column, np.arange(n))), shape=(len(sizes), n))
        sums, others = (members @ flat)[column] - flat, sizes[column] - 1.0
        for i, more in enumerate(_DRAWN):
            left = flat - sums / (others + more)[:, None]
            found[i] = np.minimum(found[i], (left.reshape(n, count, -1) ** 2).sum(axis=(0, 2)) / total)
    return list(found)


def extremes(statistics: Float[np.ndarray, "m arrangements"]) -> Float[np.ndarray, " arrangements"]:
    """Return, for each arrangement, the largest of its statistics, after all statistics were made comparable.

    A statistic is the logarithm of the unexplained variance. To make it comparable, its distance below its median over
    all arrangements is divided by the distance of its fourth percentile below this median. All arrangements, including
    the observed one, are treated equally. So the results are exchangeable if the statistics are exchangeable.
    """
    return _ahead(statistics, statistics)


def _ahead(statistics: Float[np.ndarray, "m own"], among: Float[np.ndarray, "m arrangements"]) -> np.ndarray:
    """Return the largest statistic of each target, scaled by the median and percentile of `among` as in `extremes`."""
    values, among = (np.log(np.maximum(part, 1e-12)) for part in (statistics, among))
    middle = np.median(among, axis=1, keepdims=True)
    spread = middle - np.quantile(among, _TAIL, axis=1, keepdims=True)
    return np.where(spread > 1e-9, (middle - values) / np.maximum(spread, 1e-9), 0.0).max(axis=0)


def outcome(
    views: list[View], rows: int, kind: str, least: float, groups: int = 0, level: float = 0.01,
    rng: np.random.Generator | None = None,
) -> Outcome:  # fmt: skip
    """Return the p-value, which is the share of arrangements that are predicted at least as well as the observed one.

    The result also contains the signals that would be found in most cases. If the views have a `score`, these signals
    are computed only under two conditions: no signal was found at the level, and a random generator is given.
    """
    parts = [unexplained(view) for view in views]
    statistics = np.concatenate([part for pair in parts for part in pair])
    found = extremes(statistics)
    errors = parts[0][0].min(axis=0)
    p_value = float((found >= found[0] - 1e-9 * abs(found[0])).mean())
    chance = float(np.median(errors[1:]))
    shuffles = len(found) - 1
    seen: Powers = {}
    if views[0].score is None:
        visible = min(_visible(left_out.min(axis=0)[1:], few[:1, 1:]) for left_out, few in parts)
    else:
        seen = _powers(views[0], statistics, level, rng) if rng is not None and p_value > level else seen
        visible = hardest(seen)
    return Outcome(p_value, float(errors[0]), chance, rows, kind, least, shuffles, groups, visible, powers=seen)


def _powers(view: View, statistics: np.ndarray, level: float, rng: np.random.Generator) -> Powers:
    """Return, for each kind of signal, the share of the variance from which it is found at this level in most cases."""
    assert view.score is not None
    score, null = view.score, np.sort(extremes(statistics)[1:])[::-1]
    allowed = int(level * (len(null) + 1) + 1e-9) - 1
    most = float(null[allowed]) if 0 <= allowed < len(null) else math.inf
    noise = view.targets[:, 1 + np.arange(TABLES) % max(len(null), 1)] if len(null) else view.targets[:, :1]

    def found(targets: np.ndarray) -> np.ndarray:
        made_of = dataclasses.replace(view, targets=targets, scores=score(targets))
        made_of.__dict__["systems"] = view.systems
        return _ahead(np.concatenate(unexplained(made_of)), statistics) > most

    seen = powers(made(view.columns, rng, view.products), noise, found, rng, view.classes)
    return bent(seen) if view.classes else seen


def _visible(errors: Float[np.ndarray, " shuffles"], column: Float[np.ndarray, "m shuffles"]) -> float:
    """Return the share of the variance that even the best percent of shuffles explains by chance.

    The result is the larger of two numbers: how far the 1 % quantile of the errors is below their median, and the share
    that the best single column explains in its own best percent.
    """
    below = float(np.median(errors) - np.quantile(errors, 0.01))
    return min(1.0, max([below, *(1 - np.quantile(column, 0.01, axis=1)).tolist()]))


def _left_out(values: np.ndarray, vectors: np.ndarray, targets: Float[np.ndarray, "n arrangements k"]) -> np.ndarray:
    """Return each arrangement's smallest leave-one-out error over the ridges, divided by the error of the mean."""
    n, count = targets.shape[:2]
    squares = vectors**2
    size = max(values.sum() / n, np.finfo(float).tiny)
    flat = (targets - targets.mean(axis=0)).reshape(n, -1)
    coefficients = vectors.T @ flat
    least = np.full(count, math.inf)
    for ridge in _RIDGES * size:
        shrink = ridge / (values + ridge)
        errors = (vectors @ (shrink[:, None] * coefficients)) / np.maximum(squares @ shrink - 1 / n, 1e-12)[:, None]
        least = np.minimum(least, (errors**2).reshape(n, count, -1).sum(axis=(0, 2)))
    total = (flat**2).reshape(n, count, -1).sum(axis=(0, 2)) * (n / (n - 1)) ** 2
    return np.where(total > 0, least / np.where(total > 0, total, 1.0), 1.0)


def _steps(columns: Float[np.ndarray, "n d"], targets: Float[np.ndarray, "n arrangements k"]) -> list[np.ndarray]:
    """Return the unexplained part of each arrangement after fits of one, two and four columns, chosen one by one."""
    n, count = targets.shape[:2]
    x = columns - columns.mean(axis=0)
    size = np.sqrt((x**2).sum(axis=0))
    x = (x[:, size > 1e-9] / size[size > 1e-9]) if (size > 1e-9).any() else np.zeros((n, 1))
    left = targets - targets.mean(axis=0)
    total = (left**2).sum(axis=(0, 2))
    total = np.where(total > 0, total, 1.0)
    most = min(_MOST_STEPS, x.shape[1], max(1, (n - 1) // 5))
    basis, remains = np.zeros((0, n, count)), []
    for _ in range(most):
        chosen = _best(x, left)
        new = x[:, chosen]
        for _ in range(2):
            new = new - np.einsum("snc,sc->nc", basis, np.einsum("snc,nc->sc", basis, new))
        length = np.sqrt((new**2).sum(axis=0))
        new = np.where(length > 1e-6, new / np.maximum(length, 1e-6), 0.0)
        left = left - new[:, :, None] * np.einsum("nc,nck->ck", new, left)
        basis = np.concatenate([basis, new[None]])
        remains.append(np.where(total > 0, (left**2).sum(axis=(0, 2)) / total, 1.0))
    return [remains[i] for i in (0, 1, 3) if i < most]


def _best(x: Float[np.ndarray, "n d"], left: Float[np.ndarray, "n arrangements k"]) -> np.ndarray:
    """Return, for each arrangement, the column that explains the most of the variance that is left in `left`."""
    n, count, k = left.shape
    flat, width = left.reshape(n, -1), max(1, _CHUNK // (count * k))
    best, chosen = np.full(count, -1.0), np.zeros(count, int)
    for start in range(0, x.shape[1], width):
        gain = ((x[:, start : start + width].T @ flat) ** 2).reshape(-1, count, k).sum(axis=2)
        own = gain.argmax(axis=0)
        value = gain[own, np.arange(count)]
        chosen, best = np.where(value > best, own + start, chosen), np.maximum(value, best)
    return chosen


def _binned(columns: Float[np.ndarray, "n d"], scores: Float[np.ndarray, "n arrangements k"]) -> list[np.ndarray]:
    """Return the unexplained part of each arrangement after fitting means in five quantile bins of the best column."""
    n, count, k = scores.shape
    bins = min(_BINS, n // 6)
    if bins < 2 or not columns.shape[1]:
        return []
    flat = (scores - scores.mean(axis=0)).reshape(n, -1)
    total = (flat**2).reshape(n, count, k).sum(axis=(0, 2))
    best, width = np.zeros(count), max(1, _CHUNK // (count * k * bins))
    for start in range(0, columns.shape[1], width):
        part = columns[:, start : start + width]
        place = np.minimum(((rankdata(part, axis=0) - 0.5) * bins / n).astype(int), bins - 1)
        member = (place[:, :, None] == np.arange(bins)).astype(float)
        sizes = np.maximum(member.sum(axis=0), 1.0)
        sums = np.tensordot(member, flat, axes=(0, 0)).reshape(part.shape[1], bins, -1)
        gain = (sums**2 / sizes[:, :, None]).sum(axis=1).reshape(-1, count, k).sum(axis=2)
        best = np.maximum(best, gain.max(axis=0))
    return [np.where(total > 0, 1 - best / np.where(total > 0, total, 1.0), 1.0)]
