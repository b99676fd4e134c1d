"""The speciation time: the time of a reverse diffusion at which the class of a sample is decided."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside, whole
from lemmata.core import array_of, missing_in
from lemmata.errors import DataError, ShapeError
from lemmata.printable import preformatted

from ._posterior import Probes, noise_at, probes_of
from ._rows import in_unit, principal, rows_of

_CLAIMS = ("generation.memory.speciation_time",)
_TIMES = 25


@dataclasses.dataclass(frozen=True, eq=False)
class Speciation:
    """The time of a reverse diffusion at which the class of a sample is decided, predicted and measured.

    Args:
        time: the predicted time: half the logarithm of `eigenvalue`, the largest eigenvalue of the covariance of the
            rows. The process is x_t = e^-t x + sqrt(1 - e^-2t) z, for rows that are scaled to mean variance 1.
        interval: a confidence interval of `time`, for the sampling error of the rows.
        sigma: the standard deviation of the noise at `time`, in the unit of the rows.
        measured: the last time at which the curve `agreement` falls from `at_time` or more to less, or NaN without such
            a time.
        measured_interval: a confidence interval of `measured`, for the error from the choice of probes and from the
            noise.
        at_time: the predicted probability that two paths from one noisy row at `time` end in the same class. This
            probability is equal for all distant pairs of normal classes.
        times: the times at which `agreement`, `limits` and `predicted` are given.
        agreement: at each time, the probability that two paths from the same noisy row end in the same class. The
            paths follow the exact score of the rows.
        limits: the confidence limits of the agreement.
        predicted: the predicted agreement for two normal classes with this eigenvalue.
        eigenvalue: the largest eigenvalue, for rows of mean variance 1.
        classes: the number of classes.
        rows: the number of rows.
        level: the confidence level of the intervals.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    time: float
    interval: tuple[float, float]
    sigma: float
    measured: float
    measured_interval: tuple[float, float]
    at_time: float
    times: Float[np.ndarray, " t"]
    agreement: Float[np.ndarray, " t"]
    limits: Float[np.ndarray, "t 2"]
    predicted: Float[np.ndarray, " t"]
    eigenvalue: float
    classes: int
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.interval
        own = "nowhere" if np.isnan(self.measured) else f"at time {self.measured:.3g}"
        lines = [
            f"the class of a sample is decided at about time {self.time:.3g} ({100 * self.level:g} % interval "
            f"{low:.3g} to {high:.3g}), at noise {self.sigma:.3g}",
            (
                "for two normal classes, two paths from there end in the same class with probability "
                f"{self.at_time:.3g}; for these {self.rows} rows and {self.classes} classes, two paths "
                f"reach this probability {own}"
            ),
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the agreement of two paths against the time, with the prediction, as an Altair chart."""
        import altair as alt

        numbers = zip(self.times.tolist(), self.agreement.tolist(), self.limits.tolist(), strict=True)
        rows = [{"t": t, "agreement": value, "low": low, "high": high} for t, value, (low, high) in numbers]
        pairs = zip(self.times.tolist(), self.predicted.tolist(), strict=True)
        theory = [{"t": t, "agreement": value} for t, value in pairs]
        base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("t:Q", title="time"))
        y = alt.Y("agreement:Q", title="two paths end in the same class", scale=alt.Scale(domain=[0, 1]))
        area = base.mark_area(opacity=0.2).encode(y="low:Q", y2="high:Q")
        line = alt.Chart(alt.Data(values=theory)).mark_line(strokeDash=[4, 4]).encode(x="t:Q", y=y)
        mark = alt.Chart(alt.Data(values=[{"t": self.time}])).mark_rule().encode(x="t:Q")
        return (area + base.mark_line().encode(y=y) + line + mark).properties(width=360, height=220)


def speciation(
    x: Any, labels: Any = None, *, probes: int | float = 256, level: float | int = 0.95, seed: int = 0
) -> Speciation:
    """Compute the time of a reverse diffusion at which the class of the sample is decided.

    For two distant normal classes, consider the signal along the line between the classes. The class is decided at
    about the time at which this signal has the same variance as the noise. This time is half of the logarithm of the
    largest eigenvalue of the covariance of rows with mean variance 1. The function also measures how often two paths
    from one noisy row end in the same class. Bayes' rule gives the probability of each class for a noisy row. The
    probability that two paths from this row end in the same class is the sum of the squares of the class probabilities.

    Args:
        x: rows, (n, d).
        labels: the class of each row, at least two classes. None divides the rows into two classes along the rows'
            first principal component.
        probes: the number of rows to which noise is added.
        level: the confidence level of the intervals.
        seed: the random seed of the choice of probes and of the noise.

    Raises:
        SettingError: if a setting is invalid.
        ShapeError, DataError: if rows or labels are invalid, or if there are fewer than 20 rows.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(2000, 50)) + 8 / 50**0.5 * rng.choice([-1, 1], size=(2000, 1))
        >>> found = speciation(x)
        >>> round(found.time, 1), abs(found.measured - found.time) < 0.3
        (1.7, True)
    """
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    count = whole("probes", probes, 20)
    given = rows_of("x", x)
    kinds = None if labels is None else _kinds(labels, len(given))
    (given,), unit, _ = in_unit(given)
    found = probes_of(given, count, seed)
    z = float(stats.norm.ppf((1 + level) / 2))
    scaled = (given - given.mean(axis=0)) / found.scale
    value, way, (low, high) = _largest(scaled, z, seed)
    if kinds is None:
        kinds = _divided(scaled @ way)
    times = np.linspace(max(0.5 * np.log(value) / 8, 0.02), 0.5 * np.log(value) + 1.5, _TIMES)
    agreement, errors = _agreement(found, kinds, times)
    at_time = float(_normal_agreement(np.array([1.0]))[0])
    crossing = lambda shift: _crossing(times, agreement + shift * z * errors, at_time)
    limits = np.clip(np.stack([agreement - z * errors, agreement + z * errors], axis=1), 0.0, 1.0)
    time = float(0.5 * np.log(value))
    return Speciation(
        time, (0.5 * np.log(low), 0.5 * np.log(high)), float(noise_at(time)) * found.scale * unit, crossing(0.0),
        (crossing(-1.0), crossing(1.0)), at_time, times, agreement, limits,
        _normal_agreement(np.exp(-times) * np.sqrt(value)), value, int(kinds.max()) + 1, len(given), level,
        _conditions(scaled, value, scaled @ way),
    )  # fmt: skip


def _kinds(labels: Any, n: int) -> np.ndarray:
    given = array_of("labels", labels)
    if given.shape != (n,):
        raise ShapeError("labels", found=f"shape {given.shape}", rule=f"shape ({n},), one for each row of x")
    missing = missing_in(given) + (int(np.isinf(given).sum()) if given.dtype.kind == "f" else 0)
    if missing:
        raise DataError("labels", found=f"{missing} missing or not finite", rule="one class for each row of x",
                        remedy="leave out rows without a class")  # fmt: skip
    try:
        names, kinds = np.unique(given, return_inverse=True)
    except TypeError as error:
        raise DataError("labels", found="labels of several types", rule="only numbers or only texts") from error
    if not 2 <= len(names) <= n // 2:
        rule = f"2 to {n // 2} classes, at most half of the number of rows"
        raise DataError("labels", found=f"{len(names)} different labels", rule=rule)
    return kinds


def _largest(x: np.ndarray, z: float, seed: int) -> tuple[float, np.ndarray, tuple[float, float]]:
    """Return the largest eigenvalue of the covariance, its eigenvector, and the confidence limits of the eigenvalue.

    The largest eigenvalue of a sample is too large on average. Therefore the upper limit is this eigenvalue plus its
    sampling error. For the lower limit, the rows are divided into two parts, and the eigenvector is computed from one
    part. The variance of the other part along this eigenvector is too small on average. Therefore the lower limit is
    this variance minus the sampling error.
    """
    first = lambda rows: principal(rows - rows.mean(axis=0))[1]
    way = first(x)
    scores = x @ way
    value = max(float(scores.var()), 1.0)  # at least the mean variance, which is 1 up to rounding
    order = np.random.default_rng(seed).permutation(len(x))
    halves = order[::2], order[1::2]
    other = np.mean([(x[rows] @ first(x[rest])).var() for rows, rest in (halves, halves[::-1])])
    # The mean variance, which scales the rows, has a sampling error, too.
    influence = (scores - scores.mean()) ** 2 - value * np.mean(x**2, axis=1)
    error = z * float(influence.std(ddof=1)) / np.sqrt(len(x))
    return value, way, (max(float(other) - error, 1.0), value + error)


def _divided(scores: np.ndarray) -> np.ndarray:
    """Divide numbers at a threshold into two classes so that the variance within the classes is least."""
    order = np.sort(scores)
    n = len(order)
    sums, counts = np.cumsum(order)[:-1], np.arange(1, n)
    between = (sums - order.sum() * counts / n) ** 2 / (counts * (n - counts))
    between[np.diff(order) == 0] = -1.0  # equal scores must be in one class
    place = int(np.argmax(between))
    return (scores > (order[place] + order[place + 1]) / 2).astype(int)


def _agreement(found: Probes, kinds: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    groups = np.zeros((len(found.rows), int(kinds.max()) + 1))
    np.add.at(groups, (found.names, kinds), 1.0)
    values, errors = [], []
    for time in times:
        shares = found.sums(float(noise_at(time)), groups)
        shares = shares / shares.sum(axis=2, keepdims=True)
        same = (shares**2).sum(axis=2).mean(axis=1)
        values.append(same.mean())
        errors.append(same.std(ddof=1) / np.sqrt(len(same)))
    return np.array(values), np.array(errors)


def _normal_agreement(u: np.ndarray) -> np.ndarray:
    """Return the probability that two paths end in the same of two normal classes.

    The probability is the mean of p² + (1 - p)² for p = 1/(1 + exp(-2u(u + z))) and standard normal z. At time t, u is
    e^-t times the root of the largest eigenvalue.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    p = 0.5 * (1 + np.tanh(u[:, None] * (u[:, None] + nodes)))
    return ((p**2 + (1 - p) ** 2) @ weights) / weights.sum()


def _crossing(times: np.ndarray, values: np.ndarray, at: float) -> float:
    """Return the last time at which a curve falls below the value `at`, or NaN without such a time."""
    places = np.flatnonzero((values[:-1] >= at) & (values[1:] < at))
    if not len(places):
        return float("nan")
    k = places[-1]
    return float(times[k] + (times[k + 1] - times[k]) * (values[k] - at) / (values[k] - values[k + 1]))


def _conditions(x: np.ndarray, value: float, scores: np.ndarray) -> tuple[Condition, ...]:
    edge = (1 + np.sqrt(x.shape[1] / len(x))) ** 2
    parts = [scores[_divided(scores) == side] for side in (0, 1)]
    gap = abs(parts[1].mean() - parts[0].mean()) / 2
    small = min(len(part) for part in parts) / len(x)
    within = np.sqrt(np.mean(np.concatenate([part - part.mean() for part in parts]) ** 2))
    return (
        Condition("rows are independent draws"),
        Condition("the largest eigenvalue is above that of pure noise", value, bool(value > edge),
                  "otherwise no direction is decided before the other directions"),
        Condition("the two classes are well apart (half of their distance, in standard deviations inside a class)",
                  float(gap / max(within, 1e-300)), bool(gap >= 2 * within),
                  "otherwise the two sides of the leading direction are not classes"),
        Condition("the smaller side of the leading direction is not only a few outliers (share of the rows)", small,
                  small >= 0.05, "otherwise these few rows determine the time; leave them out"),
    )  # fmt: skip
