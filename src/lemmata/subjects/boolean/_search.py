"""Find large Fourier coefficients of a function with too many inputs for a table, by Goldreich and Levin's search."""

import dataclasses
import math

import numpy as np
from jaxtyping import Bool, Float

from lemmata.answers import share_interval

from ._outputs import Function

_FIRST, _STEP = 6, 4  # numbers of inputs that are distinguished at the first level, and added at each further level
_MOST = 512  # largest number of groups of sets that are kept at a level
_PAIRED = 2000  # points for each influence and each rate of noise
_CHUNK = 2**18  # largest number of points in memory at a time


@dataclasses.dataclass(frozen=True)
class Search:
    """The sizes of a search, which determine the number of points at which the function is evaluated.

    Args:
        d: the number of inputs.
        threshold: the search looks for coefficients of at least this absolute value.
        rates: the number of noise rates in the noise curve.
    """

    d: int
    threshold: float
    rates: int

    @property
    def suffixes(self) -> int:
        """The number of samples z of the last inputs, at each level of the search. These inputs do not yet distinguish
        groups of sets.
        """
        return math.ceil(4 / self.threshold**2)

    @property
    def prefixes(self) -> int:
        """The number of samples x of the first inputs, which distinguish the groups of sets, for each z.

        A group is kept if its estimated weight is at least threshold² / 2. For a group of weight threshold², the
        standard error of the estimate is then a quarter of the distance to this limit.
        """
        return math.ceil(6 / self.threshold)

    @property
    def sample(self) -> int:
        """The number of points on which the found coefficients are estimated."""
        return math.ceil(200 / self.threshold**2)

    @property
    def levels(self) -> list[int]:
        """The number k of first inputs that distinguish the groups, level by level."""
        return [*range(min(_FIRST, self.d), self.d, _STEP), self.d]

    @property
    def evaluations(self) -> int:
        """The total number of evaluations of the function."""
        paired = _PAIRED * (1 + self.d + self.rates)
        return len(self.levels) * self.suffixes * self.prefixes + self.sample + paired


def large_sets(f: Function, search: Search, generator: np.random.Generator) -> tuple[Bool[np.ndarray, "k d"], bool]:
    """Return the sets whose coefficients may reach the threshold, and whether no set was dropped to save memory.

    Let x be the first k inputs and z the other inputs. Group all sets S of inputs by U, the part of S among the first k
    inputs. The sum of f^(S)² over a group is E_z (E_x f(x, z) chi_U(x))². A group whose sum is below half of threshold²
    is dropped with all its sets. For each z, the squared mean over sampled x would be biased. So the diagonal terms of
    this square are subtracted.

    Args:
        f: a function with the values -1 and 1.
        search: the sizes of the search.
        generator: the random generator for the points.
    """
    sets, done, complete = np.zeros((1, 0), bool), 0, True
    for level in search.levels:
        ways = _all_sets(level - done)
        sets = np.hstack([np.repeat(sets, len(ways), axis=0), np.tile(ways, (len(sets), 1))])
        weights = _group_weights(f, sets, search, generator)
        kept = np.flatnonzero(weights >= search.threshold**2 / 2)
        if len(kept) > _MOST:
            kept, complete = kept[np.argsort(-weights[kept])[:_MOST]], False
        sets, done = sets[kept], level
    return sets, complete


def sampled_coefficients(
    f: Function, sets: Bool[np.ndarray, "k d"], points: int, level: float, generator: np.random.Generator
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k 2"]]:
    """Estimate coefficients on new points, with exact limits that jointly hold with probability `level`."""
    x = _draw(points, sets.shape[1], generator)
    values, agree = f.signs(x), np.zeros(len(sets), int)
    for start in range(0, points, _CHUNK // 8):
        part = slice(start, start + _CHUNK // 8)
        agree += (_characters(x[part], sets) * values[part, None] > 0).sum(axis=0)
    each = 1 - (1 - level) / max(len(sets), 1)
    limits = [share_interval(float(count), float(points - count), each) for count in agree]
    return 2 * agree / points - 1, 2 * np.array(limits).reshape(-1, 2) - 1


def sampled_changes(
    f: Function, d: int, rates: Float[np.ndarray, " r"], level: float, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "d 3"], Float[np.ndarray, "r 3"]]:
    """Estimate how often f changes if one input is flipped, and if each input is flipped with a given probability. All
    estimates have exact limits.
    """
    x = _draw(_PAIRED, d, generator)
    before = f.signs(x)

    def row(flips: np.ndarray) -> tuple[float, float, float]:
        changed = float((f.signs(np.where(flips, -x, x)) != before).sum())
        return (changed / _PAIRED, *share_interval(changed, _PAIRED - changed, level))

    single = np.array([row(np.arange(d) == place) for place in range(d)])
    noisy = np.array([row(generator.uniform(size=x.shape) < rate) for rate in rates])
    return single, noisy


def _group_weights(f: Function, sets: np.ndarray, search: Search, generator: np.random.Generator) -> np.ndarray:
    """Return unbiased estimates of the weight of each group (the sum of f^(S)² over its sets S), from new points."""
    prefix, count, found = sets.shape[1], search.prefixes, np.zeros(len(sets))
    most = max(_CHUNK // count, 1)
    for done in range(0, search.suffixes, most):
        z = min(most, search.suffixes - done)
        x = _draw(z * count, search.d, generator)
        x[:, prefix:] = np.repeat(_draw(z, search.d - prefix, generator), count, axis=0)
        values = f.signs(x)
        for start in range(0, len(sets), 64):
            signed = _characters(x[:, :prefix], sets[start : start + 64]) * values[:, None]
            sums = signed.reshape(z, count, -1).sum(axis=1)
            found[start : start + 64] += ((sums**2 - count) / (count * (count - 1))).sum(axis=0)
    return found / search.suffixes


def _characters(x: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Return the products of the signs over each set, one column for each set."""
    return 1 - 2 * (((x < 0).astype(np.float32) @ sets.T.astype(np.float32)) % 2)


def _all_sets(k: int) -> np.ndarray:
    return ((np.arange(2**k)[:, None] >> np.arange(k)) & 1).astype(bool)


def _draw(n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    return (2 * generator.integers(0, 2, (n, d), dtype=np.int8) - 1).astype(np.int8)
