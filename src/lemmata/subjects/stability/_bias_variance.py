"""Bias, variance and noise of any fitting method, estimated from pairs of fits to disjoint sets of rows."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition, inside, whole
from lemmata.errors import DataError, SettingError
from lemmata.printable import preformatted

from ._fits import Fit, check_fit, checked_rows, predictor

_CLAIMS = ("stability.decomposition.two_fits_tell_variance", "stability.decomposition.bias_variance")
_LEAST = 10
_TRAIN = 0.4  # share of all rows for each fit of a pair; both fits predict the remaining rows
# Intervals are widened by this factor. Without it, Nadeau and Bengio's intervals of level 0.9 contained the error of
# five kinds of fit in 0.72 to 0.83 of simulations, and variance and rest in 0.82 to 0.97. Splits are more dependent
# than their share of common rows suggests.
_STRETCH = 1.4


@dataclasses.dataclass(frozen=True, eq=False)
class BiasVariance:
    """The expected squared error and its parts, for each of k fitting methods, with `rows` training rows.

    Args:
        names: the names of the fitting methods, in the order of the arrays below.
        rows: the number of training rows of each fit.
        error: the expected squared error at a new row, which is the sum of `variance` and `rest`.
        variance: the variance of the prediction over training sets.
        rest: squared bias plus noise. Data without repeated inputs cannot separate squared bias from noise.
        error_interval, variance_interval, rest_interval: the confidence intervals of `error`, `variance` and `rest`, of
            shape (k, 2).
        noise: the variance of the targets given the input, as passed by the caller or estimated from repeated inputs.
            None otherwise.
        bias: the squared bias: rest minus noise, at least 0. None if the noise is not known.
        excess_bias: rest minus the smallest rest. The noise is the same for all fits, so this difference is the
            additional squared bias, compared with the fit of least bias.
        level: the confidence level of the intervals.
        draws: the number of pairs of fits for each fitting method.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    names: tuple[str, ...]
    rows: int
    error: Float[np.ndarray, " k"]
    variance: Float[np.ndarray, " k"]
    rest: Float[np.ndarray, " k"]
    error_interval: Float[np.ndarray, "k 2"]
    variance_interval: Float[np.ndarray, "k 2"]
    rest_interval: Float[np.ndarray, "k 2"]
    noise: float | None
    bias: Float[np.ndarray, " k"] | None
    excess_bias: Float[np.ndarray, " k"]
    level: float
    draws: int
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def best(self) -> str:
        """The name of the fitting method with the least estimated error."""
        return self.names[int(self.error.argmin())]

    def __str__(self) -> str:
        wide = max(8, *(len(name) for name in self.names))
        heads = (
            "error",
            f"{100 * self.level:g} % interval",
            "variance",
            "bias² + noise",
            *(["bias²"] if self.bias is not None else []),
        )
        lines = [f"{'fit':{wide}} {heads[0]:>9} {heads[1]:>20} " + " ".join(f"{head:>13}" for head in heads[2:])]
        for k, name in enumerate(self.names):
            low, high = self.error_interval[k]
            parts = [self.variance[k], self.rest[k], *([self.bias[k]] if self.bias is not None else [])]
            row = f"{name:{wide}} {self.error[k]:9.4g} {f'{low:.4g} to {high:.4g}':>20} "
            lines.append(row + " ".join(f"{part:13.4g}" for part in parts))
        lines.append(f"from {self.draws} pairs of fits to {self.rows} rows each; least error: {self.best}")
        if self.noise is None:
            lines.append(
                f"noise cannot be distinguished from bias: it is at most about {max(self.rest.min(), 0.0):.4g}"
            )
        else:
            lines.append(f"noise {self.noise:.4g}")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)


def bias_variance(
    fit: Fit | Sequence[Fit] | Mapping[Any, Fit] | Any,
    x: Any,
    y: Any,
    draws: int | float = 50,
    *,
    rows: int | float | None = None,
    noise: float | Any = None,
    level: float | int = 0.9,
    seed: int = 0,
) -> BiasVariance:
    """Estimate the variance, and the sum of squared bias and noise, of one or several fitting methods.

    The error is the squared error. Each draw splits the rows at random into two training sets and the rows to predict.
    Two fits f_1, f_2 to disjoint training sets are independent. So (f_1 - f_2)²/2 is an unbiased estimate of the
    variance. Likewise, (y - f_1)(y - f_2) is an unbiased estimate of bias² + noise. Both statements hold for every
    distribution of the rows. The sum of the two estimates is the mean error of the two fits. All fitting methods use
    the same splits. Errors are summed over the outputs.

    One data set does not determine the error of a fit to more rows than `rows`. One data set separates noise from bias
    only if the noise is given, or if inputs are repeated with newly drawn targets. But one data set determines the
    differences in bias between fitting methods.

    The draws overlap, so they are dependent. The intervals use the correction of Nadeau and Bengio for this dependence,
    widened by a factor of 1.4. This correction is a rule of thumb, not a theorem. Intervals of level 0.9 were tested on
    three simulated distributions and fits that were not used to tune the intervals (70 to 140 rows). The intervals
    contained the error in 90 to 95 % of cases, the variance in 99 to 100 % and `rest` in 96 to 98 %.

    Args:
        fit: a function of (x, y) that returns an object with a method `predict`, or a function of x. To compare several
            such functions, pass a list, or a mapping from names (such as widths, depths or ridges) to functions.
        x: inputs, an array of shape (n, ...).
        y: numbers, an array of shape (n,) or (n, outputs).
        draws: the number of pairs of fits for each method.
        rows: the number of training rows of each fit, at most (n - 1)/2; by default 2/5 of all rows.
        noise: the variance of the targets given the input, summed over outputs, if it is known.
        level: the confidence level of the intervals.
        seed: the random seed of the splits.

    Raises:
        SettingError: if a fit is invalid or raises an error, or if there are fewer than 2 draws. This error is also
            raised if `rows` is above (n - 1)/2, the noise is negative, or the level is outside (0, 1).
        DataError, ShapeError: if the targets are not numbers, there are too few rows, or the shape of predictions does
            not fit the rows.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(-1, 1, 120)
        >>> y = np.sin(3 * x) + 0.3 * rng.normal(size=120)
        >>> fits = {degree: lambda x, y, degree=degree: np.poly1d(np.polyfit(x, y, degree)) for degree in (0, 3, 12)}
        >>> found = bias_variance(fits, x, y, noise=0.09)
        >>> found.best, found.variance.round(3).tolist(), found.bias.round(3).tolist()
        ('3', [0.01, 0.011, 0.144], [0.401, 0.009, 0.02])
    """
    inputs, targets = checked_rows(x, y)
    if targets.dtype.kind not in "fiub":
        raise DataError("y", found=f"entries of type {targets.dtype}", rule="numbers, because the error is squared")
    level, draws = inside("level", level, 0.0, 1.0), whole("draws", draws, 2)
    fits = _named(fit)
    size = _size(rows, len(targets))
    given = None if noise is None else _not_negative(noise)
    targets = targets.astype(float)
    generator = np.random.default_rng(seed)
    found = np.array([_one_split(fits, inputs, targets, size, generator) for _ in range(draws)])
    value = found.mean(axis=0)
    tested = len(targets) - 2 * size  # for Nadeau and Bengio's variance of a mean over overlapping splits
    scale = _STRETCH * np.sqrt(1 / draws + tested / (2 * size)) * found.std(axis=0, ddof=1)
    half = stats.t.ppf((1 + level) / 2, draws - 1) * scale
    limits = np.stack([value - half, value + half], axis=-1)
    limits[..., :2, :] = np.maximum(limits[..., :2, :], 0.0)
    repeated, pure = _pure_noise(inputs, targets)
    known = given if given is not None else pure
    return BiasVariance(
        names=tuple(fits), rows=size, error=value[:, 0], variance=value[:, 1], rest=value[:, 2],
        error_interval=limits[:, 0], variance_interval=limits[:, 1], rest_interval=limits[:, 2],
        noise=known, bias=None if known is None else np.maximum(value[:, 2] - known, 0.0),
        excess_bias=value[:, 2] - value[:, 2].min(), level=level, draws=draws,
        conditions=_conditions(inputs, targets, repeated, given),
    )  # fmt: skip


def _named(fit: Any) -> dict[str, Fit]:
    fits: dict[str, Fit]
    if isinstance(fit, Mapping):
        fits = {str(name): one for name, one in fit.items()}
    elif isinstance(fit, list | tuple):
        fits = {str(number): one for number, one in enumerate(fit)}
    else:
        fits = {"fit": fit}
    if not fits:
        raise SettingError(
            "fit", found="no function", rule="a function of (x, y), a list of them, or a mapping to them"
        )
    for name, one in fits.items():
        check_fit(one, "fit" if len(fits) == 1 else f"fit {name}")
    return fits


def _size(rows: int | float | None, n: int) -> int:
    if n < _LEAST:
        raise DataError(
            "x and y",
            found=f"{n} rows",
            rule=f"at least {_LEAST} rows, because lemmata splits the rows into three parts",
            remedy="add rows",
        )
    if rows is None:
        return int(_TRAIN * n)
    size = whole("rows", rows, 1)
    if 2 * size >= n:
        rule = f"at most (n - 1)/2 = {(n - 1) // 2}, because two fits on different rows must leave rows to predict"
        raise SettingError("rows", found=size, rule=rule)
    return size


def _not_negative(noise: Any) -> float:
    if isinstance(noise, bool) or not isinstance(noise, int | float) or not (math.isfinite(noise) and noise >= 0):
        raise SettingError("noise", found=repr(noise), rule="a variance that is finite and not negative")
    return float(noise)


def _one_split(
    fits: Mapping[str, Fit], x: np.ndarray, y: np.ndarray, size: int, generator: np.random.Generator
) -> np.ndarray:
    """Return estimates of error, variance and rest from one split, with one row for each fitting method."""
    order = generator.permutation(len(y))
    first, second, others = order[:size], order[size : 2 * size], order[2 * size :]
    parts = []
    for name, fit in fits.items():
        label = "fit" if len(fits) == 1 else f"fit {name}"
        one, two = (predictor(fit, x[rows], y[rows], label)(x[others]) for rows in (first, second))
        mean = lambda values: values.reshape(len(values), -1).sum(axis=1).mean()
        variance, rest = mean((one - two) ** 2) / 2, mean((y[others] - one) * (y[others] - two))
        parts.append((variance + rest, variance, rest))
    return np.array(parts)


def _pure_noise(x: np.ndarray, y: np.ndarray) -> tuple[int, float | None]:
    """Return the degrees of freedom and the variance of targets within groups of equal inputs, summed over outputs."""
    _, group = np.unique(x.reshape(len(x), -1), axis=0, return_inverse=True)
    flat, group = y.reshape(len(y), -1), group.ravel()
    counts = np.bincount(group)
    freedom = len(y) - len(counts)
    if freedom < 1:
        return 0, None
    means = np.stack([np.bincount(group, column) for column in flat.T], axis=1) / counts[:, None]
    within = float(((flat - means[group]) ** 2).sum()) / freedom
    return freedom, within if within > 0 else None


def _conditions(x: np.ndarray, y: np.ndarray, repeated: int, given: float | None) -> tuple[Condition, ...]:
    both = np.concatenate([x.reshape(len(x), -1).astype(str), y.reshape(len(y), -1).astype(str)], axis=1)
    copies = len(y) - len(np.unique(both, axis=0))
    told = given is not None or repeated > 0
    return (
        Condition(
            "rows are independent draws from one distribution",
            None,
            None,
            "only then are fits to separate rows independent",
        ),
        Condition(
            "no row duplicates another (number of duplicates)",
            float(copies),
            copies == 0,
            "a duplicate of a training row among the predicted rows makes memorising look like learning",
        ),
        Condition(
            "the noise is given, or repeated inputs show it (degrees of freedom)",
            float(repeated),
            told,
            "otherwise noise and bias cannot be separated",
        ),
    )
