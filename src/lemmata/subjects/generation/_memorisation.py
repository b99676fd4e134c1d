"""The noise level below which a diffusion model that fits its training rows exactly must copy these rows."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from lemmata.answers import Condition, inside, positive, whole
from lemmata.errors import DataError
from lemmata.printable import preformatted

from ._posterior import Probes, noise_at, probes_of, time_of
from ._rows import in_unit, principal, rows_of

_CLAIMS = ("generation.memory.collapse_time",)
_PARTS = 4  # a quarter, a half and all of the rows determine the dimension
_STEP = 0.02  # step of log sigma for the slope of the mean weight
_LARGEST = 30.0  # largest reported error of log sigma
_FAR = 4.0  # an extrapolation of the noise by more than this factor fails a condition


@dataclasses.dataclass(frozen=True, eq=False)
class Memorisation:
    """The noise level below which the exact score of a sample points to single rows, and its change with more rows.

    Args:
        sigma: the standard deviation of the noise at which the mean posterior weight of the true row is 1/2, in the
            unit of the rows. The true row is the row to which the noise was added.
        sigma_interval: a confidence interval of `sigma`, for the error from the choice of probes and from the noise.
        time: the time at which x_t = e^-t x + sqrt(1 - e^-2t) z has this noise, for rows scaled to mean variance 1.
        time_interval: a confidence interval of the time.
        dimension: the number k for which `sigma` falls like n^(-1/k) as the number n of rows grows.
        dimension_interval: a confidence interval of `dimension`, for the error from the choice of probes.
        asked: the requested time, or None.
        rows_needed: the number of rows at which `time` falls to the requested time, if the dimension stays constant.
            None without a requested time.
        rows_interval: the interval of `rows_needed` that follows from `dimension_interval`. None without a requested
            time.
        rows_normal: the value of `rows_needed` for normally distributed rows with this covariance, or None without a
            requested time. Among all distributions with this covariance, noisy normal rows carry the most information
            about the rows.
        sigmas: several levels of noise, in the unit of the rows.
        weights: the mean posterior weight of the true row at each of these levels.
        scale: the standard deviation by which the rows are divided for the times.
        rows: the number of rows.
        level: the confidence level of the intervals.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    sigma: float
    sigma_interval: tuple[float, float]
    time: float
    time_interval: tuple[float, float]
    dimension: float
    dimension_interval: tuple[float, float]
    asked: float | None
    rows_needed: float | None
    rows_interval: tuple[float, float] | None
    rows_normal: float | None
    sigmas: Float[np.ndarray, " s"]
    weights: Float[np.ndarray, " s"]
    scale: float
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        per = f"{100 * self.level:g} % interval"
        low, high = self.dimension_interval
        lines = [
            f"below noise of standard deviation {self.sigma:.4g}, the best denoiser of these {self.rows} rows "
            "copies them",
            f"{per} of this noise: {self.sigma_interval[0]:.4g} to {self.sigma_interval[1]:.4g}; its time "
            f"is {self.time:.4g}",
            f"dimension {self.dimension:.3g} ({low:.3g} to {high:.3g}): "
            f"half of this noise needs {2**self.dimension:.3g} times the rows",
        ]
        if self.rows_needed is not None and self.rows_interval is not None and self.asked is not None:
            if self.asked >= self.time:
                lines.append(f"a sampler that stops at time {self.asked:g} stops before copying starts")
            else:
                low, high = self.rows_interval
                lines.append(
                    f"copying starts below time {self.asked:g} with {self.rows_needed:.3g} rows ({low:.3g} to "
                    f"{high:.3g}); for normal rows of this covariance, with {self.rows_normal:.3g}"
                )
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the mean posterior weight of the true row against the noise, as an Altair chart."""
        import altair as alt

        pairs = zip(self.sigmas.tolist(), self.weights.tolist(), strict=True)
        curve = alt.Chart(alt.Data(values=[{"sigma": sigma, "weight": weight} for sigma, weight in pairs])).mark_line()
        mark = alt.Chart(alt.Data(values=[{"sigma": self.sigma}])).mark_rule(strokeDash=[4, 4])
        axis = alt.X("sigma:Q", title="standard deviation of the noise", scale=alt.Scale(type="log"))
        weight = alt.Y("weight:Q", title="posterior weight of the true row")
        return (curve.encode(x=axis, y=weight) + mark.encode(x=axis)).properties(width=360, height=220)


def memorisation(
    x: Any, t: Any = None, *, probes: int | float = 256, level: float | int = 0.95, seed: int = 0
) -> Memorisation:
    """Compute the noise level below which a diffusion model that fits its training rows exactly must copy these rows.

    The best denoiser of a finite sample is a mean of the sample's rows, weighted by Bayes' rule. The function adds
    noise to a row, and computes the posterior weight of this row among all rows. If the mean of this weight is above
    1/2, the denoiser points to single rows. A sampler with this denoiser ends at rows of the sample. A model that
    generalises must therefore differ from this denoiser at such noise levels.

    Args:
        x: rows, (n, d), for example the model's input images, one flattened image per row.
        t: the last time of your sampler, for x_t = e^-t x + sqrt(1 - e^-2t) z with rows of mean variance 1. The result
            then contains the number of rows for which copying starts only below this time. With None, this number is
            not computed.
        probes: the number of rows to which noise is added.
        level: the confidence level of the intervals.
        seed: the random seed of the choice of probes and of the noise.

    Raises:
        SettingError: if a setting is invalid.
        ShapeError, DataError: if rows are invalid, if there are fewer than 20 or too many rows, or if many rows are
            equal.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(1000, 8))
        >>> found = memorisation(x, 0.05)
        >>> round(found.time, 2), round(found.dimension), found.rows_needed > 1000
        (0.11, 6, True)
    """
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    count = whole("probes", probes, 20)
    asked = None if t is None else positive("t", t)
    given = rows_of("x", x)
    (given,), unit, _ = in_unit(given)
    found = probes_of(given, count, seed)
    _copied(found, len(given))
    own = _own_weights(found, seed)
    z = float(stats.norm.ppf((1 + level) / 2))
    near = np.where(found.squares > 0, found.squares, np.inf).min(axis=1)
    start = 0.5 * float(np.log(np.median(near))) - 1.0
    roots = [_root(lambda log, part=part: float(own(log)[part].mean()), start) for part in range(3)]
    influences = np.array([_influence(own, root, part) for part, root in enumerate(roots)])
    error = min(z * _error(influences[2], len(found.which) / len(given)), _LARGEST)
    sigma, low, high = (float(np.exp(roots[2] + shift)) for shift in (0.0, -error, error))
    dimension, limits = _dimension(roots, influences.mean(axis=2), z)
    scale = found.scale * unit
    ladder = np.geomspace(sigma / 8, sigma * 8, 13)
    weights = np.array([own(np.log(at))[2].mean() for at in ladder])
    target = None if asked is None else float(noise_at(asked))
    needed, *others = (None,) if target is None else _needed(len(given), sigma, target, (dimension, *limits))
    return Memorisation(
        sigma * scale, (low * scale, high * scale), float(time_of(sigma)), (float(time_of(low)), float(time_of(high))),
        dimension, limits, asked, needed, (others[0], others[1]) if others else None,
        None if target is None else _normal_rows(found, target),
        ladder * scale, weights, scale, len(given), level,
        _conditions(found, len(given), sigma, asked, float(weights[0])),
    )  # fmt: skip


def _copied(found: Probes, n: int) -> None:
    """Raise DataError if rows repeat so often that the mean weight of the true row is at least 1/2 at any noise."""
    limit = float(found.counts[found.which].mean()) / n  # limit of the mean weight as the noise grows
    if limit >= 0.5 - 1e-9:
        raise DataError("x", found=f"{len(found.rows)} different rows of {n}, repeated",
                        rule="enough different rows that the true row has a weight below 1/2 at large noise",
                        remedy="leave out repeated rows")  # fmt: skip


def _own_weights(found: Probes, seed: int) -> Callable[[float], np.ndarray]:
    """Return a function of log sigma that returns the posterior weights of the true row.

    The true row is the row to which the noise was added. The weights have the shape (3, p, k) for p probes and k
    noises. The first axis stands for a quarter, half and all of the rows.
    """
    n, counts = len(found.rows), found.counts
    part = np.random.default_rng(seed).permutation(n) % _PARTS
    groups = counts[:, None] * (part[:, None] == np.arange(_PARTS))
    mine = counts[found.which]
    inside_own = (part[found.which, None] == np.arange(_PARTS)) * mine[:, None]
    halves = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]).T

    def own(log: float) -> np.ndarray:
        others = np.maximum(found.sums(float(np.exp(log)), groups) - inside_own[:, None, :], 0.0)
        weight = lambda sums: (mine[:, None, None] / (mine[:, None, None] + sums)).mean(axis=2)
        return np.stack([weight(others), weight(others @ halves), weight(others.sum(axis=2, keepdims=True))])

    return own


def _root(mean: Callable[[float], float], start: float) -> float:
    """Return the log sigma at which the mean weight, which falls with sigma, is 1/2."""
    low = high = start
    while mean(low) < 0.5:
        low -= 0.5
    while mean(high) >= 0.5:
        high += 0.5
    return float(optimize.root_scalar(lambda log: mean(log) - 0.5, bracket=(low, high), xtol=1e-4).root)


def _influence(own: Callable[[float], np.ndarray], root: float, part: int) -> np.ndarray:
    """Return the influence of each pair of a probe and a noise on the root.

    The root is the log sigma at which the mean weight is 1/2. The root's error is the mean influence.
    """
    slope = (own(root + _STEP)[part].mean() - own(root - _STEP)[part].mean()) / (2 * _STEP)
    weights = own(root)[part]
    half = weights.shape[1] // 2
    both = (weights[:, :half] + weights[:, half:]) / 2  # noise of both signs is one draw
    return (both - 0.5) / max(-slope, 1e-12)  # on a plateau, the position of the root cannot be determined


def _error(influence: np.ndarray, share: float) -> float:
    """Return the standard error of a root from the noise and from the choice of probes.

    Here `share` is the share of the rows that are probes.
    """
    noises = influence.shape[1]
    noise = float(influence.var(axis=1, ddof=1).mean()) / noises
    rows = max(float(influence.mean(axis=1).var(ddof=1)) - noise, 0.0)
    return float(np.sqrt((noise + rows * max(1 - share, 0.0)) / len(influence)))


def _dimension(roots: list[float], influences: np.ndarray, z: float) -> tuple[float, tuple[float, float]]:
    """Return the dimension k and its confidence limits. The slope of log sigma against the logarithm of the share of
    rows is -1/k.
    """
    logs = np.log([0.25, 0.5, 1.0])
    weights = (logs - logs.mean()) / np.sum((logs - logs.mean()) ** 2)
    slope = float(weights @ roots)
    error = z * float((weights @ influences).std(ddof=1)) / np.sqrt(influences.shape[1])
    k = lambda slope: -1 / slope if slope < 0 else np.inf
    return k(slope), (k(slope - error), k(slope + error))


def _needed(n: int, sigma: float, target: float, dimensions: tuple[float, ...]) -> tuple[float, ...]:
    with np.errstate(over="ignore", divide="ignore"):
        times = np.log(sigma / target)
        return tuple(float(n * np.exp(np.float64(k * times))) if times > 0 else float(n) for k in dimensions)


def _normal_rows(found: Probes, target: float) -> float:
    """Return exp(I) for normal rows of this covariance, where I is the mutual information, in nats, of a row and its
    noisy version. No other distribution with this covariance has a larger I.
    """
    root = found.rows * np.sqrt(found.counts / found.counts.sum())[:, None]
    values = principal(root)[0] * len(root)
    with np.errstate(over="ignore"):
        return float(np.exp(np.float64(0.5 * np.log1p(values / target**2).sum())))


def _conditions(found: Probes, n: int, sigma: float, asked: float | None, eighth: float) -> tuple[Condition, ...]:
    repeated = 1 - len(found.rows) / n
    conditions = [
        Condition("rows are independent draws"),
        Condition("rows are different (share of rows that repeat an earlier row)", repeated, repeated == 0.0,
                  "repeated rows are copied already at larger noise, and count as one row with more weight"),
        Condition("rows are not in close pairs (mean weight of the true row at an eighth of this noise)", eighth,
                  eighth >= 0.75, "rows of a close pair share their weight until the noise is far smaller"),
    ]  # fmt: skip
    if asked is not None:
        factor = sigma / float(noise_at(asked))
        conditions.append(
            Condition("the dimension is the same at the requested noise (ratio of the noises)", factor,
                      None if factor <= _FAR else False, "the number of rows is extrapolated over this ratio")
        )  # fmt: skip
    return tuple(conditions)
