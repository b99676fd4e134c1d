"""Compute the length of a code for data that a denoiser implies, from the denoiser's error at each level of noise."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special, stats

from lemmata.answers import Condition, inside, mean_interval, positive, whole
from lemmata.errors import DataError, SettingError
from lemmata.printable import preformatted

from ._rows import answered, principal, rows_of, squarable

_CLAIMS = ("generation.information.code_length_from_denoising",)
_WIDE = 100.0  # the largest noise, in standard deviations of the rows
_RATE = 0.5 / np.log(2.0)  # bits for each entry per squared error times signal-to-noise ratio
_DRAWS = 600  # number of draws of noise at each level; with fewer rows, each row gets several draws
_FINE = 16.0  # the least noise on a grid is the step divided by this number; at this noise, rounding is never wrong


@dataclasses.dataclass(frozen=True, eq=False)
class Bits:
    """A code length in bits, which is an upper bound on the entropy of the distribution of the rows.

    Args:
        value: the number of bits for each entry of a row.
        interval: a confidence interval for the mean of `value` over new rows and new noise.
        per_row: the number of bits for each row.
        linear: the number of bits for each entry that the best linear denoiser for the covariance of the rows gives.
        sigmas: the levels of noise, from the largest to the smallest.
        errors: the mean squared error of the denoiser for each entry, at each level.
        shares: the bits for each entry that each level adds. Rounding to the grid and the mean row are simpler
            denoisers. If one of these denoisers is better at a level, the bits are computed with this denoiser.
        spacing: the step of the grid, or None without a grid.
        noise: the standard deviation of the noise that is added to rows without a grid, or None with a grid.
        rows: the number of rows.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    value: float
    interval: tuple[float, float]
    per_row: float
    linear: float
    sigmas: Float[np.ndarray, " k"]
    errors: Float[np.ndarray, " k"]
    shares: Float[np.ndarray, " k"]
    spacing: float | None
    noise: float | None
    rows: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.interval
        what = f"a grid of step {self.spacing:g}" if self.spacing else f"rows with noise {self.noise:g}"
        lines = [
            f"{self.value:.4g} bits for each entry of {what} ({100 * self.level:g} % interval {low:.4g} to {high:.4g})",
            f"the best linear denoiser gives {self.linear:.4g}; each of {self.rows} rows takes {self.per_row:.5g} bits",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the bits that each level of noise adds, as an Altair chart."""
        import altair as alt

        pairs = zip(self.sigmas.tolist(), self.shares.tolist(), strict=True)
        chart = alt.Chart(alt.Data(values=[{"sigma": sigma, "bits": bits} for sigma, bits in pairs])).mark_line()
        return chart.encode(
            x=alt.X("sigma:Q", title="standard deviation of the noise", scale=alt.Scale(type="log")),
            y=alt.Y("bits:Q", title="bits for each entry at this level"),
        ).properties(width=360, height=220)


def bits(
    denoiser: Any, x: Any, *, spacing: Any = None, noise: Any = None, nodes: int | float = 64,
    level: float | int = 0.95, seed: int = 0,
) -> Bits:  # fmt: skip
    """Compute the code length of rows by integrating the error of a denoiser over the signal-to-noise ratio.

    The signal-to-noise ratio is 1/sigma². Half the integral of the least mean squared error over this ratio is the
    information, in nats, of a noisy row about the row (Guo, Shamai and Verdú). The error of your denoiser is at least
    the least error. Therefore the integral of your denoiser's error is an upper bound on the entropy of rows on a grid.
    With added noise, the result is an upper bound on the differential entropy of noisy rows.

    Args:
        denoiser: a function of noisy rows (n, d) and the standard deviation sigma of the noise. The function returns an
            estimate of the rows. The function is called once for each level of noise, or several times if x has fewer
            than 600 rows.
        x: rows on which the denoiser was not trained, in the unit that the denoiser expects.
        spacing: the step of the grid that contains all entries, for example 1 for pixels from 0 to 255.
        noise: the standard deviation of noise that is added to rows without a grid. The result is an upper bound on the
            differential entropy of rows with this noise. Pass either `noise` or `spacing`.
        nodes: the number of levels of noise, at least 16.
        level: the confidence level of the interval.
        seed: the random seed of the noise.

    Raises:
        SettingError: if the denoiser is not a function or fails, or if a setting is invalid.
        ShapeError, DataError: if rows or estimates are invalid, or if entries do not lie on the grid.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).integers(0, 2, size=(2000, 3))
        >>> best = lambda noisy, sigma: 1 / (1 + np.exp((0.5 - noisy) / sigma**2))
        >>> round(bits(best, x, spacing=1).value, 2)
        1.0
    """
    level, seed, count = inside("level", level, 0.0, 1.0), whole("seed", seed), whole("nodes", nodes, 16)
    if (spacing is None) == (noise is None):
        found = "neither" if spacing is None else "both"
        raise SettingError(
            "spacing and noise",
            found=found,
            rule="exactly one of the two, spacing for data on a grid or noise for other data",
        )
    rows = rows_of("x", x)
    step = None if spacing is None else positive("spacing", spacing)
    least = positive("noise", noise) if step is None else step / _FINE
    centre = rows.mean(axis=0)
    spread = float(np.abs(rows - centre).max())
    if not spread > 0:
        raise DataError("x", found="rows that are all equal", rule="rows that vary")
    squarable("x", spread)
    if step is not None:
        _on_grid(rows, step)
    scale = spread * float(np.sqrt(np.mean(((rows - centre) / spread) ** 2)))
    if least >= _WIDE * scale:
        name, found = ("noise", least) if step is None else ("spacing", step)
        raise SettingError(
            name, found=f"{found:g}", rule=f"below {_WIDE * scale:.3g}, {_WIDE:g} standard deviations of the rows"
        )
    places, weights = np.polynomial.legendre.leggauss(count)
    top, bottom = np.log(_WIDE), np.log(least / scale)
    sigmas = np.exp((top + bottom) / 2 - places * (top - bottom) / 2)  # in parts of the scale
    weights = weights * (top - bottom) * _RATE / sigmas**2
    known = np.minimum(1.0, _rounding(sigmas, None if step is None else step / scale))
    errors = _errors(denoiser, rows, sigmas, scale, seed)
    parts = _chosen(errors, known) * weights
    # Above the largest level of noise, the error of the mean row is used. On a grid, rounding makes no error below the
    # smallest level of noise.
    base = _RATE / _WIDE**2 + (0.0 if step is not None else 0.5 * np.log2(2 * np.pi * np.e * least**2))
    each = base + parts.sum(axis=1)
    interval = _interval(each, level)
    value, shares = float(each.mean()), parts.mean(axis=0)
    values = principal((rows - centre) / scale)[0]
    linear = np.sum(values / (1 + values / sigmas[:, None] ** 2), axis=1) / rows.shape[1]
    simple = base + float(np.minimum(linear, known) @ weights)
    equal = np.inf if step is None else float(np.log2(np.ptp(rows, axis=0) / step + 1).mean())
    return Bits(
        value, interval, value * rows.shape[1], simple,
        sigmas * scale, errors.mean(axis=0) * scale**2, shares, step, None if step is not None else least, len(rows),
        level,
        (*_conditions(shares, places, (interval[1] - interval[0]) / 2), _shorter(interval[1], value, simple, equal)),
    )  # fmt: skip


def _shorter(high: float, value: float, linear: float, equal: float) -> Condition:
    """Return the condition that the code is shorter than two codes without a denoiser. The first code uses the
    covariance. In the second code, all grid values between the ends of a column are equally likely.
    """
    least = min(linear, equal)
    return Condition(
        "the code is shorter than a code without a denoiser (bits saved for each entry)",
        least - value,
        bool(high < least),
        "otherwise the denoiser gives no more information than the covariance or the range of the grid",
    )


def _errors(denoiser: Any, rows: np.ndarray, sigmas: np.ndarray, scale: float, seed: int) -> np.ndarray:
    """Return the mean squared error of each row at each level of noise, averaged over draws of noise, in units of
    scale².
    """
    rng = np.random.default_rng(seed)
    errors, draws = np.zeros((len(rows), len(sigmas))), -(-_DRAWS // len(rows))
    for place, sigma in enumerate((sigmas * scale).tolist()):
        for _ in range(draws):
            noisy = rows + sigma * rng.normal(size=rows.shape)
            estimate = answered("denoiser", denoiser, (noisy, sigma), rows.shape)
            with np.errstate(over="ignore"):
                errors[:, place] += np.mean(((estimate - rows) / scale) ** 2, axis=1) / draws
    if not np.isfinite(errors).all():
        raise DataError("values of denoiser", found="an error above 1e308", rule="estimates of the rows")
    return errors


def _interval(each: np.ndarray, level: float) -> tuple[float, float]:
    """Return the wider of Student's and Hall's confidence limits of the mean over rows, at each end.

    If the numbers of bits are skewed, Student's limits are too low. Hall's limits miss low values.

    At low noise, the error of a row comes mostly from a few draws of noise. Therefore errors have heavy tails unless
    each row has many draws.
    """
    mean, (low, high) = float(each.mean()), mean_interval(each, level)
    half = float(stats.t.ppf((1 + level) / 2, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each)))
    return min(mean - half, low), max(mean + half, high)


def _rounding(sigmas: np.ndarray, step: float | None) -> np.ndarray:
    """Return the mean squared error of rounding to the grid. Without a grid, and at noise of 2 steps or more, return
    infinity.
    """
    if step is None:
        return np.full(len(sigmas), np.inf)
    odd = 2 * np.arange(1, 40) - 1
    errors = step**2 * (odd * 2 * special.ndtr(-odd * step / (2 * sigmas[:, None]))).sum(axis=1)
    return np.where(sigmas < 2 * step, errors, np.inf)


def _chosen(errors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the errors of the denoiser at each level of noise, or the known error of a simpler denoiser.

    The known error is used if the denoiser's mean error is larger. Each half of the rows uses the mean error of the
    other half for this choice.
    """
    used = errors.copy()
    for own, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        used[own] = np.where(errors[other].mean(axis=0) > known, known, used[own])
    return used


def _on_grid(rows: np.ndarray, step: float) -> None:
    places = (rows - rows.min(axis=0)) / step
    off = float(np.abs(places - np.round(places)).max())
    if off > 1e-6:
        raise DataError("x", found=f"an entry that is {off:.3g} steps from the grid of its column",
                        rule="entries at multiples of `spacing` from each other",
                        remedy="pass the step of the grid, or `noise`")  # fmt: skip


def _conditions(parts: np.ndarray, nodes: np.ndarray, half: float) -> tuple[Condition, ...]:
    """Return conditions on the rows and on the number of levels of noise.

    The code length contains an integral over the logarithm of the noise. The integral is computed by Gauss's rule,
    whose nodes are the levels of noise. The last four coefficients of the integrand's expansion in Legendre
    polynomials, up to a factor, are computed from the terms of this rule. If these coefficients are not small, more
    levels of noise would change the integral.

    Args:
        parts: the terms of the rule, which are the bits for each entry that each level adds.
        nodes: the nodes of the rule, in [-1, 1].
        half: half of the length of the confidence interval of the code length.
    """
    count = len(nodes)
    basis = np.polynomial.legendre.legvander(nodes, count - 1)[:, -4:]
    last = float(np.abs(parts @ basis).max())
    return (
        Condition("rows are independent draws that the denoiser was not trained on"),
        Condition("there are enough levels of noise (bits in the last terms of the integrand's expansion)", last,
                  bool(last < max(half, 0.01)), "pass more nodes"),
    )  # fmt: skip
