"""Test which families of mixers have different errors, by a paired bootstrap over rows with Holm's correction."""

import dataclasses
import itertools
import math

import numpy as np
from jaxtyping import Float, Int

DRAWS, LEVEL, RELEVANT = 4000, 0.05, 0.05
"""The number of bootstrap samples, the significance level, and the smallest difference of two errors that matters.

The errors are shares of the target's variance.
"""
TIMES, ROUNDING = 2.0, 1e-10
"""Two limits. A factor of `TIMES` between two errors matters even if both are small. `ROUNDING` is rounding error.

A model whose error falls as 1/n gains the factor `TIMES` from twice the rows. Two errors below `ROUNDING` differ only
by rounding.
"""


@dataclasses.dataclass(frozen=True)
class Bootstrap:
    """The errors of all families on the same resampled rows, divided by the error of guessing the mean.

    Args:
        points: the error of each family.
        samples: the errors of the families on resampled rows, one line per bootstrap sample.
    """

    points: Float[np.ndarray, " f"]
    samples: Float[np.ndarray, "b f"]

    def interval(self, family: int) -> tuple[float, float]:
        """The central 95 % interval of the error of a family, over the resampled rows."""
        lower, upper = np.quantile(self.samples[:, family], [LEVEL / 2, 1 - LEVEL / 2])
        return float(lower), float(upper)

    def difference(self, first: int, second: int) -> tuple[float, float, float, float]:
        """The error of `first` minus the error of `second`, its central 95 % interval, and its two-sided p-value."""
        apart = self.samples[:, first] - self.samples[:, second]
        lower, upper = np.quantile(apart, [LEVEL / 2, 1 - LEVEL / 2])
        one_sided = (1 + min(int((apart <= 0).sum()), int((apart >= 0).sum()))) / (1 + len(apart))
        return float(self.points[first] - self.points[second]), float(lower), float(upper), min(1.0, 2 * one_sided)

    def ratio(self, first: int, second: int, level: float = LEVEL) -> tuple[float, float, float]:
        """The error of the first family divided by the error of the second, with its interval at level 1 - level.

        Errors below `ROUNDING` are set to `ROUNDING`.
        """
        parts = [np.maximum(table[..., [first, second]], ROUNDING) for table in (self.points, self.samples)]
        point, samples = (part[..., 0] / part[..., 1] for part in parts)
        lower, upper = np.quantile(samples, [level / 2, 1 - level / 2])
        return float(point), float(lower), float(upper)


def bootstrap(
    losses: list[Float[np.ndarray, "r m"]],
    guesses: Float[np.ndarray, "r m"],
    tests: Int[np.ndarray, "r m"],
    total: int,
    seed: int,
) -> Bootstrap:
    """Resample the held-out rows. If a row is drawn, its losses in all splits are drawn. So it counts as one row.

    The error of a family is the sum of its losses divided by the sum of the losses of guessing. Training sets are not
    resampled, so the intervals describe new held-out rows only.

    Args:
        losses: the losses of each family, one line per split.
        guesses: the losses if the mean of the training rows is predicted.
        tests: the row to which each loss belongs.
        total: the number of all rows of the data.
        seed: the seed of the resampling.
    """
    sums = np.stack([np.bincount(tests.ravel(), part.ravel(), total) for part in [*losses, guesses]], axis=1)
    seen = np.bincount(tests.ravel(), minlength=total) > 0
    sums = sums[seen]
    rng, count = np.random.default_rng([seed, 17]), int(seen.sum())
    drawn = []
    for _ in range(0, DRAWS, 500):
        weights = rng.multinomial(count, np.full(count, 1 / count), size=500)
        drawn.append(weights @ sums)
    resampled, whole = np.concatenate(drawn), sums.sum(axis=0)
    return Bootstrap(whole[:-1] / whole[-1], resampled[:, :-1] / resampled[:, -1:])


@dataclasses.dataclass(frozen=True)
class Pair:
    """The comparison of two families.

    Args:
        first, second: the positions of the two families.
        difference: error of the first minus error of the second, in shares of the target's variance.
        lower, upper: the central 95 % interval of `difference`.
        p_value: the two-sided p-value of the hypothesis that the errors do not differ.
        adjusted: the p-value after Holm's correction over all pairs.
        ratio: error of the first divided by error of the second.
        least, most: the interval of `ratio`; nan if unknown. The intervals of all pairs hold simultaneously at 95 %.
    """

    first: int
    second: int
    difference: float
    lower: float
    upper: float
    p_value: float
    adjusted: float
    ratio: float = math.nan
    least: float = math.nan
    most: float = math.nan

    @property
    def decided(self) -> bool:
        """Whether the difference is significant, and large enough to matter: in shares of variance or as a factor."""
        by_factor = self.least > TIMES or self.most < 1 / TIMES
        return self.adjusted < LEVEL and (abs(self.difference) > RELEVANT or by_factor)


def pairs(of: Bootstrap) -> list[Pair]:
    """Compare all pairs of families. By Holm's correction, the significance level holds for all pairs together."""
    places = list(itertools.combinations(range(len(of.points)), 2))
    found = [of.difference(*place) for place in places]
    adjusted = holm([item[3] for item in found])
    level = LEVEL / max(len(places), 1)
    return [
        Pair(*place, *item, value, *of.ratio(*place, level))
        for place, item, value in zip(places, found, adjusted, strict=True)
    ]


def holm(values: list[float]) -> list[float]:
    """Return the p-values after Holm's step-down correction for several tests.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    found, most = [0.0] * len(values), 0.0
    for step, place in enumerate(order):
        most = max(most, min(1.0, (len(values) - step) * values[place]))
        found[place] = most
    return found


def leaders(errors: list[float], compared: list[Pair]) -> list[int]:
    """Return, best first, the family with the smallest error and all families that it does not decidedly beat.

    If only one family is returned, this family wins: its error is below the error of every other family, and
    `Pair.decided` is true for each of these differences.
    """
    order = sorted(range(len(errors)), key=errors.__getitem__)
    if not order:
        return []
    best = order[0]
    decided = {frozenset((pair.first, pair.second)) for pair in compared if pair.decided}
    return [best, *(other for other in order[1:] if frozenset((best, other)) not in decided)]
