"""Rank correlation of a score with a result, and the difference of two such correlations, with bootstrap intervals."""

import dataclasses

import numpy as np
from jax.typing import ArrayLike
from scipy.stats import rankdata

from lemmata.core import check_numbers
from lemmata.errors import DataError, SettingError, ShapeError

_FEWEST = 8


@dataclasses.dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rank correlation, or the difference of two such correlations, over items such as architectures.

    Args:
        value: the correlation, or the difference, for all items.
        low, high: the ends of the percentile interval over resampled items.
    """

    value: float
    low: float
    high: float


def rank_correlation(
    score: ArrayLike,
    result: ArrayLike,
    baseline: ArrayLike | None = None,
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> RankCorrelation:
    """Compute Spearman's rank correlation of a score with a result. With a baseline, subtract the correlation of the
    baseline with the result.

    Ties get their mean rank. The interval is the percentile bootstrap over items (for example architectures). Both
    scores use the same resampled items, so a difference is paired. Items are assumed to be independent draws from a
    space of items. Items of a grid are not independent. For a grid, the intervals describe only the variation among the
    items of the grid.

    Args:
        score: the score of each item.
        result: the result of each item.
        baseline: another score of each item. If None, the function returns the correlation of `score` alone.
        resamples: the number of bootstrap resamples.
        level: the confidence level of the interval.
        seed: the seed of the resamples.

    Raises:
        ShapeError: if scores and results differ in number.
        DataError: for fewer than 8 items, numbers that are not finite, or values that are all equal.
        SettingError: for a level outside (0, 1) or no resamples.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.adversaries import rank_correlation
        >>> rank_correlation(np.arange(10), np.arange(10)).value
        1.0
    """
    rows = [np.asarray(values, float) for values in (score, result, baseline) if values is not None]
    for name, values in zip(("score", "result", "baseline"), rows, strict=False):
        if values.shape != (len(rows[0]),):
            raise ShapeError(
                name, found=f"shape {values.shape}", rule="one number for each item, and the same items in both lists"
            )
        check_numbers(name, values)
        if len(values) < _FEWEST or np.ptp(values) == 0:
            found = f"{len(values)} items, {len(np.unique(values))} different values"
            raise DataError(name, found=found, rule=f"at least {_FEWEST} items, whose values are not all equal")
    if not 0 < level < 1 or resamples < 1:
        raise SettingError(
            "level and resamples",
            found=f"level={level} and resamples={resamples}",
            rule="a level above 0 and below 1, and at least 1 resample",
        )
    table = np.stack(rows)
    drawn = np.random.default_rng(seed).integers(0, table.shape[1], (resamples, table.shape[1]))
    values = np.array([_statistic(table[:, own]) for own in drawn])
    low, high = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2])
    return RankCorrelation(_statistic(table), float(low), float(high))


def _statistic(table: np.ndarray) -> float:
    ranks = rankdata(table, axis=1)
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    sizes = np.sqrt((ranks**2).sum(axis=1))
    if not sizes.all():
        return float("nan")  # a resample in which all values of a row are equal has no rank correlation
    along = ranks @ ranks[1] / sizes / sizes[1]
    return float(along[0] - (along[2] if len(along) > 2 else 0.0))
