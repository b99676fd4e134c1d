"""The Wasserstein distance between two samples, and a test whether this distance is more than sampling error."""

import dataclasses
from typing import Any

import numpy as np
from scipy import stats
from scipy.spatial.distance import cdist

from lemmata.answers import Condition, inside, whole
from lemmata.errors import SettingError
from lemmata.printable import preformatted

from ._rows import in_unit, rows_of, same_columns
from ._transport import Transport, transport

_CLAIMS = (
    "generation.distances.transport_duality",
    "generation.finite_samples.linear_critics_generalise",
    "generation.distances.samples_on_flat_support",
    "generation.distances.sample_far_from_its_law",
)
_MOST, _SMALL, _TESTED, _PERMUTATIONS, _LANDMARKS = 4000, 300, 4000, 199, 200
_MOST_PERMUTATIONS, _AT_ONCE = 20_000, 200


@dataclasses.dataclass(frozen=True, eq=False)
class Distance:
    """The Wasserstein distance W1 between two samples, and between the distributions of the samples.

    Args:
        value: the exact W1 between the samples, or the mean of W1 over blocks if there are several blocks.
        floor: the sampling floor: W1 between two disjoint sets of `size` rows of x, averaged over up to two pairs of
            sets.
        matched: W1 between `size` rows of x and `size` rows of y, averaged over two pairs of sets.
        size: the number of rows in each of these sets.
        interval: a confidence interval for W1 between the distributions. A critic is a function with Lipschitz constant
            1. The difference of a critic's means on other rows, minus its sampling error, is a lower limit. The lower
            end is the larger of two such limits: of a linear critic, and of the critic of a transport between `size`
            rows. The upper end is `value` plus its sampling error.
        p_value: the p-value of a permutation test of the hypothesis that both distributions are equal.
        level: the confidence level of the interval. The samples count as distinguishable if the p-value is at most 1 -
            level.
        rows: the numbers of rows of x and of y.
        blocks: the number of blocks into which the rows were divided.
        gap: the largest duality gap of a transport, which is the cost minus the lower bound from the dual potentials.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    value: float
    floor: float
    matched: float
    size: int
    interval: tuple[float, float]
    p_value: float
    level: float
    rows: tuple[int, int]
    blocks: int
    gap: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def distinguishable(self) -> bool:
        """True if the permutation test rejects the hypothesis that both distributions are equal."""
        return self.p_value <= 1 - self.level + 1e-12

    def __str__(self) -> str:
        n, m = self.rows
        blocks = "" if self.blocks == 1 else f", mean of {self.blocks} blocks"
        low, high = self.interval
        verdict = "more than sampling explains" if self.distinguishable else "indistinguishable from sampling"
        lines = [
            f"W1 = {self.value:.4g} between {n} and {m} rows{blocks}: {verdict} (p = {self.p_value:.3g})",
            (
                f"W1 between {self.size} rows of x and {self.size} other rows of x: {self.floor:.4g} (the "
                f"sampling floor); between {self.size} rows of x and of y: {self.matched:.4g}"
            ),
            f"W1 between the distributions: {100 * self.level:g} % interval {low:.4g} to {high:.4g}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the distance with its interval, and the sampling floor, as an Altair chart."""
        import altair as alt

        low, high = self.interval
        rows = [
            {"what": "x and y", "W1": self.value, "low": low, "high": high},
            {"what": f"{self.size} rows of x and y", "W1": self.matched, "low": self.matched, "high": self.matched},
            {"what": f"{self.size} rows of x and x", "W1": self.floor, "low": self.floor, "high": self.floor},
        ]
        base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("what:N", sort=None, title=None))
        bars = base.mark_rule().encode(x=alt.X("low:Q", title="W1"), x2="high:Q")
        return (bars + base.mark_point(filled=True, size=60).encode(x="W1:Q")).properties(width=420, height=110)


def wasserstein(x: Any, y: Any, *, level: float | int = 0.95, rows: int | float = _MOST, seed: int = 0) -> Distance:
    """Compute the Wasserstein distance W1 between two samples, and test whether W1 is more than sampling error.

    W1 is the least mean Euclidean distance by which rows of x must be moved to become rows of y. Between two samples
    of the same distribution, W1 is above 0. In many dimensions, this value falls slowly with the number of rows.
    Therefore compare W1 with the sampling floor, which is W1 between two sets of rows of x.

    A permutation test decides whether the distributions differ. The test permutes the labels of the rows 199 times, or
    more often for a level above 0.995. The statistic is the energy distance, which is positive between any two
    different distributions with finite means. For more than 200 rows, this statistic is approximated. If the
    distributions are equal, the test finds a difference with probability at most 1 - level, for any number of rows and
    columns.

    Args:
        x: rows of the first sample, (n, d).
        y: rows of the second sample, (m, d).
        level: the confidence level of the interval. The significance level of the test is 1 - level.
        rows: the largest number of rows for one transport, at most 4,000. Larger samples with several columns are
            divided at random into blocks. Then `value` is the mean over blocks. On average, this mean is larger than W1
            between the whole samples.
        seed: the random seed of divisions and permutations.

    Raises:
        SettingError: if a setting is invalid.
        ShapeError, DataError: if rows are invalid, if there are fewer than 20 rows, or if the samples differ in the
            number of columns.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(1)
        >>> found = wasserstein(rng.normal(size=(400, 8)), rng.normal(size=(400, 8)))
        >>> round(found.value, 3), round(found.floor, 3), found.distinguishable
        (1.751, 1.906, False)
    """
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    most = whole("rows", rows, 20)
    if most > _MOST:
        raise SettingError("rows", found=most, rule=f"at most {_MOST}")
    first, second = rows_of("x", x), rows_of("y", y)
    same_columns("y", second, "x", first)
    (first, second), unit, _ = in_unit(first, second)
    rng = np.random.default_rng(seed)
    first, second = rng.permutation(first), rng.permutation(second)
    blocks = 1 if first.shape[1] == 1 else -(-max(len(first), len(second)) // most)
    if blocks > min(len(first), len(second)) // 2:
        blocks = max(1, min(len(first), len(second)) // 2)
    plans = [transport(first[place::blocks], second[place::blocks]) for place in range(blocks)]
    value = float(np.mean([plan.cost for plan in plans]))
    z = stats.norm.ppf((1 + level) / 2)
    size, small, floor, low = _held_out(first, second, (1 - level) / 2)
    high = value + z * np.sqrt(np.mean([_variance(plan) for plan in plans]) / blocks)
    matched = float(np.mean([plan.cost for plan in small]))
    permutations = min(max(_PERMUTATIONS, int(np.ceil(1 / (1 - level)))), _MOST_PERMUTATIONS)
    p = permutation_p_value(first[:_TESTED], second[:_TESTED], rng, permutations)
    gap = max(abs(plan.gap) for plan in [*plans, *small])
    return Distance(
        value * unit, floor * unit, matched * unit, size, (low * unit, float(max(high, low)) * unit), p, level,
        (len(first), len(second)), blocks, gap * unit, _conditions(first, second, 1 / (permutations + 1), 1 - level),
    )  # fmt: skip


def _variance(plan: Transport) -> float:
    """Return an estimate of the variance of the cost over new samples. To first order, the cost is the mean of the left
    dual potentials plus the mean of the right dual potentials.
    """
    return float(plan.left.var(ddof=1) / len(plan.left) + plan.right.var(ddof=1) / len(plan.right))


def _held_out(x: np.ndarray, y: np.ndarray, tail: float) -> tuple[int, tuple[Transport, Transport], float, float]:
    """Return the size of small sets, two transports between sets of x and y, the sampling floor, and a limit below W1.

    The lower limit comes from two critics. Each critic is fitted to some of the rows, and evaluated on other rows.
    """
    size = min(len(x), len(y)) // 2
    size = size if x.shape[1] == 1 else min(size, _SMALL)
    parts = [(x[:size], x[size : 2 * size]), (y[:size], y[size : 2 * size])]
    small = transport(parts[0][0], parts[1][0]), transport(parts[0][1], parts[1][1])
    other = x[2 * size : 3 * size], x[3 * size : 4 * size]
    pairs = [parts[0], other] if len(other[1]) == size else [parts[0]]
    floor = float(np.mean([transport(*pair).cost for pair in pairs]))
    critic = small[0].critic
    assert critic is not None
    lows = [_gain(critic(x[size:]), critic(y[size:]), tail / 2)]
    half = len(x) // 2, len(y) // 2
    way = x[: half[0]].mean(axis=0) - y[: half[1]].mean(axis=0)
    length = float(np.linalg.norm(way))
    if length > 0:
        lows.append(_gain(x[half[0] :] @ way / length, y[half[1] :] @ way / length, tail / 2))
    return size, small, floor, max(0.0, *lows)


def _gain(f: np.ndarray, g: np.ndarray, tail: float) -> float:
    """Return the lower confidence limit of the mean of f minus the mean of g."""
    error = np.sqrt(f.var(ddof=1) / len(f) + g.var(ddof=1) / len(g))
    return float(f.mean() - g.mean() - stats.t.isf(tail, min(len(f), len(g)) - 1) * error)


def permutation_p_value(x: np.ndarray, y: np.ndarray, rng: np.random.Generator, count: int = _PERMUTATIONS) -> float:
    """Return the p-value of a permutation test of the hypothesis that two samples have the same distribution.

    The statistic is the energy distance.

    Args:
        x: rows of the first sample.
        y: rows of the second sample.
        rng: the random generator of the permutations.
        count: the number of permutations. The least possible p-value is 1/(count + 1).
    """
    pooled, n = np.concatenate([x, y]), len(x)
    if pooled.shape[1] == 1:
        features = _shares(pooled[:, 0])
    else:
        features = _features(pooled, pooled[rng.permutation(len(pooled))[:_LANDMARKS]])
    features -= features.mean(axis=0)
    parts = []
    for start in range(0, count + 1, _AT_ONCE):
        first = np.zeros((min(_AT_ONCE, count + 1 - start), len(pooled)))
        for place in range(len(first)):
            own = rng.permutation(len(pooled))[:n] if start + place else slice(n)
            first[place, own] = 1
        means = first @ features
        parts.append(np.einsum("bl,bl->b", means, means))
    statistics = np.concatenate(parts)
    # The tolerance prevents that rounding decides between permutations of equal rows.
    return float(np.mean(statistics >= statistics[0] - 1e-9 * np.abs(statistics).max()))


def _features(pooled: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """Return features of the rows. The squared difference of the two samples' mean features approximates the energy
    distance.

    The features are a Nyström approximation of the kernel k(x, y) = -|x - y|, centred on the landmarks, which are a
    random choice of the rows. If all rows are landmarks, the energy distance is exact.
    """
    inner, outer = cdist(landmarks, landmarks), cdist(pooled, landmarks)
    level = inner.mean(axis=0)
    kernel = level + level[:, None] - inner - level.mean()
    values, vectors = np.linalg.eigh(kernel)
    kept = values > 1e-10 * values[-1]
    return (level + outer.mean(axis=1)[:, None] - outer - level.mean()) @ (vectors[:, kept] / np.sqrt(values[kept]))


def _shares(column: np.ndarray) -> np.ndarray:
    """Return features of the rows of one column. The squared difference of the two samples' mean features is half the
    energy distance.

    In one dimension, consider the difference between the two samples' shares of rows below a place. The energy distance
    is twice the integral of the square of this difference over all places. The integral is approximated by a sum over
    at most `_LANDMARKS` places.
    """
    places = np.sort(column)[:-1]
    widths = np.diff(np.sort(column))
    step = -(-len(places) // _LANDMARKS)
    return (column[:, None] <= places[::step]) * np.sqrt(np.add.reduceat(widths, np.arange(0, len(widths), step)))


def _conditions(x: np.ndarray, y: np.ndarray, least: float, size: float) -> tuple[Condition, ...]:
    spread = np.concatenate([x, y]).var(axis=0)
    share = float(spread.max() / spread.sum()) if spread.sum() > 0 else 0.0
    known = {row.tobytes() for row in x + 0.0}
    copied = float(np.mean([row.tobytes() in known for row in y + 0.0]))
    own = 1 - len(known) / len(x)
    return (
        Condition("rows of x and of y are independent draws"),
        Condition("rows of y are not copies of rows of x (share)", copied, copied <= 0.01 + 3 * own,
                  "copies make the distance too small and the test invalid"),
        Condition("no column has nearly all of the variance (largest share)", share,
                  share < 0.99 or x.shape[1] == 1,
                  "otherwise W1 is mostly the distance in this column; scale the columns first"),
        Condition("the test can find a difference at this level (least p-value)", least, least <= size + 1e-12,
                  "otherwise the test can never find a difference; pass a lower level"),
    )  # fmt: skip
