"""Estimate the effective number of different samples of a generator from the share of pairs that are the same."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.spatial.distance import cdist

from lemmata.answers import Condition, inside, share_interval
from lemmata.core import array_of, missing_in
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._rows import in_unit, rows_of

_CLAIMS = ("generation.finite_samples.collisions_of_samples",)
_FEWEST, _MOST, _MOST_CALLED, _CHUNK = 20, 50_000, 3_000, 4_000_000
_LEAST = 1e-150  # the smallest distance, as a part of the range, whose square does not underflow
_TYPICAL = 0.7  # the confidence level of the limit of the most frequent sample's probability in the variance


@dataclasses.dataclass(frozen=True, eq=False)
class EffectiveSupport:
    """The effective number of different samples, which is 1 over the probability that two samples are the same.

    Args:
        value: the effective number, or infinity if no two samples are the same.
        interval: a confidence interval of the effective number. The interval is valid for equally likely samples, and
            for one frequent sample among rare samples.
        collision: the share of pairs whose two samples are the same. This share estimates the probability that two
            samples are the same.
        collisions: the number of pairs whose two samples are the same.
        pairs: the number of all pairs.
        effective_pairs: the number of independent pairs that would give the same sampling error as all pairs.
        largest: the number of copies of the most frequent sample.
        draws: the number of samples.
        degrees: for each sample, the number of other samples that are the same.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    value: float
    interval: tuple[float, float]
    collision: float
    collisions: int
    pairs: int
    effective_pairs: float
    largest: int
    draws: int
    degrees: Int[np.ndarray, " s"]
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.interval
        per = f"{100 * self.level:g} %"
        alike = f"{self.collisions} of {self.pairs} pairs of {self.draws} samples are the same"
        if not self.collisions:
            lines = [alike, f"the effective support is above {low:.4g} ({per} limit)"]
        else:
            lines = [
                f"effective support {self.value:.4g}, {per} interval {low:.4g} to {high:.4g}",
                f"{alike}; the most frequent sample occurs {self.largest} times",
            ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the number of samples that are the same as 0, 1, 2, ... other samples, as an Altair chart."""
        import altair as alt

        sizes, counts = np.unique(self.degrees, return_counts=True)
        pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
        rows = [{"others": size, "samples": count} for size, count in pairs]
        chart = alt.Chart(alt.Data(values=rows)).mark_bar().encode(
            x=alt.X("others:O", title="number of other samples that are the same"),
            y=alt.Y("samples:Q", title="samples")
        )  # fmt: skip
        return chart.properties(width=360, height=180)


def effective_support(samples: Any, same: Any = None, *, level: float | int = 0.95) -> EffectiveSupport:
    """Estimate the effective number of different samples of a generator by the birthday test.

    Two samples of a distribution with probabilities p_i are the same with probability sum_i p_i². The effective support
    is 1 over this probability. If all samples are equally likely, the effective support is the number of different
    samples. Otherwise it is smaller. A generator that collapsed to few modes has a small effective support.

    All pairs are compared, and pairs that share a sample are not independent. Therefore the sampling error is estimated
    from triples of samples, and converted to a number of independent pairs with this sampling error. The interval is
    the Clopper-Pearson interval for this number of pairs. The lower end of the interval also accounts for a frequent
    sample that occurred too rarely by chance. For a sample that occurred k times, the Clopper-Pearson limit q bounds
    the probability of the sample. Therefore q² bounds the term of this sample in sum_i p_i².

    Args:
        samples: independent samples, one in each row: numbers, or labels of any kind in one column.
        same: the rule for whether two samples are the same. None means equal rows. A number is the largest Euclidean
            distance at which two samples are the same. A function of two samples must return True or False.
        level: the confidence level of the interval.

    Raises:
        SettingError: if `same` or the level is invalid.
        ShapeError, DataError: if samples are invalid, or if there are fewer than 20 or too many samples.

    Example:
        >>> import numpy as np
        >>> samples = np.random.default_rng(0).integers(0, 500, size=200)
        >>> print(effective_support(samples))
        effective support 537.8, 95 % interval 207.8 to 797.5
        37 of 19900 pairs of 200 samples are the same; the most frequent sample occurs 4 times
    """
    level = inside("level", level, 0.0, 1.0)
    degrees = _degrees(samples, same)
    s = len(degrees)
    pairs, collisions = s * (s - 1) // 2, int(degrees.sum()) // 2
    theta = collisions / pairs
    triple = float((degrees * (degrees - 1.0)).sum()) / (s * (s - 1.0) * (s - 2.0))
    largest = int(degrees.max()) + 1
    size = _independent(theta, triple, s)
    low = share_interval(theta * size, (1 - theta) * size, level)[0]
    # If the most frequent sample occurred too rarely by chance, the estimated variance is too small as well.
    often = share_interval(float(largest), float(s - largest), _TYPICAL)[1] if collisions else 0.0
    smaller = _independent(theta, triple + max(often**3 - (largest / s) ** 3, 0.0), s)
    high = share_interval(theta * smaller, (1 - theta) * smaller, level)[1]
    frequent = share_interval(float(largest), float(s - largest), level)[1]
    high = min(max(high, frequent**2), 1.0)
    value, limit = (1 / theta if theta else np.inf), (1 / low if low else np.inf)
    return EffectiveSupport(
        value, (1 / high, limit), theta, collisions, pairs, size, largest, s, degrees, level,
        (
            Condition("samples are independent draws"),
            Condition("number of pairs that are the same", float(collisions), collisions >= 10,
                      "with fewer such pairs, only the limits are informative"),
        ),
    )  # fmt: skip


def _independent(theta: float, triple: float, s: int) -> float:
    """Return the number of independent pairs that give the same sampling error as all pairs of s samples.

    The sampling error is the variance of the share of pairs whose two samples are the same.

    Args:
        theta: the probability that two samples are the same.
        triple: the probability that a sample is the same as each of two other samples.
        s: the number of samples.
    """
    pairs = s * (s - 1) / 2
    if not 0 < theta < 1:  # the variance is unknown if there is no collision, or if there are only collisions
        return pairs if theta == 0 else s / 2
    inflation = 1 + 2 * (s - 2) * max(triple - theta**2, 0.0) / (theta * (1 - theta))
    # The variance for all pairs is at most the variance for s/2 pairs without common samples (Hoeffding 1963).
    return max(pairs / inflation, s / 2)


def _degrees(samples: Any, same: Any) -> np.ndarray:
    """Return for each sample the number of other samples that are the same."""
    if same is None:
        return _equal(samples)
    if callable(same) and not isinstance(same, type):
        return _called(samples, same)
    if isinstance(same, bool) or not isinstance(same, int | float | np.number):
        found = f"a {type(same).__name__}"
        raise SettingError("same", found=found, rule="None, a distance, or a function of two samples")
    if not (np.isfinite(same) and same >= 0):
        raise SettingError("same", found=f"{same:g}", rule="a finite distance of at least 0")
    return _near(samples, float(same))


def _count(samples: np.ndarray, most: int) -> None:
    if samples.ndim == 0 or len(samples) < _FEWEST:
        found = "no list" if samples.ndim == 0 else f"{len(samples)} samples"
        raise DataError(
            "samples", found=found, rule=f"at least {_FEWEST} samples, one in each row", remedy="add samples"
        )
    if len(samples) > most:
        raise DataError("samples", found=f"{len(samples)} samples", rule=f"at most {most}", remedy="pass fewer")


def _equal(samples: Any) -> np.ndarray:
    array = array_of("samples", samples)
    _count(array, 10_000_000)
    if 0 in array.shape:
        raise ShapeError("samples", found=f"shape {array.shape}", rule="no axis of length 0")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        missing = int((~np.isfinite(array)).sum())
        raise DataError("samples", found=f"{missing} entries that are not finite", rule="finite numbers")
    missing = missing_in(array)
    if missing:
        raise DataError("samples", found=f"{missing} missing entries", rule="samples without missing entries")
    keys: dict[Any, int] = {}
    flat = array.reshape(len(array), -1)
    try:
        names = np.array([keys.setdefault(tuple(row), len(keys)) for row in flat.tolist()])
    except TypeError as error:
        found = f"a {type(flat[0, 0]).__name__}, which is not hashable"
        raise DataError("samples", found=found, rule="numbers, texts or tuples of them",
                        remedy="pass as `same` a function of two samples") from error  # fmt: skip
    return np.bincount(names)[names] - 1


def _near(samples: Any, distance: float) -> np.ndarray:
    rows = rows_of("samples", samples, _FEWEST)
    _count(rows, _MOST)
    (scaled,), unit, _ = in_unit(rows)
    step = max(1, _CHUNK // len(rows))
    if distance == 0:
        return _equal(rows)
    # Distances that equal the limit up to rounding are accepted.
    limit = distance / unit * (1 + 1e-12)
    if limit < _LEAST:
        raise SettingError("same", found=f"{distance:g}", rule=f"0, or at least {_LEAST * unit:.3g} for these samples",
                           remedy="leave out samples that are far from all others")  # fmt: skip
    parts = [(cdist(scaled[start : start + step], scaled) <= limit).sum(axis=1) for start in range(0, len(rows), step)]
    return np.concatenate(parts) - 1


def _called(samples: Any, same: Callable[[Any, Any], Any]) -> np.ndarray:
    array = array_of("samples", samples).copy()
    array.setflags(write=False)  # a function that changes its samples fails, and the user's samples stay unchanged
    _count(array, _MOST_CALLED)
    degrees = np.zeros(len(array), dtype=int)
    for i in range(len(array)):
        for j in range(i):
            if _answer(same, array[i], array[j]):
                degrees[i] += 1
                degrees[j] += 1
    return degrees


def _answer(same: Callable[[Any, Any], Any], a: Any, b: Any) -> bool:
    try:
        answer = np.asarray(same(a, b))
    except Exception as error:  # any error of a user's function
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
        raise SettingError("same", found=found, rule="a function of two samples") from error
    if answer.shape != () or answer.dtype.kind not in "biu" or answer not in (0, 1):
        found = " ".join(repr(answer.tolist()).split())[:40]
        raise SettingError(
            "same", found=f"the answer {found}", rule="a function that returns True or False for any two samples"
        )
    return bool(answer)
