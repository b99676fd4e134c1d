"""Features of measured learning curves, and possible continuations beyond the last size, for batches of curves."""

import numpy as np
from jaxtyping import Bool, Float

from ._curve_smoothing import Smoothed

BACK = (0.35, 0.7, 1.05, 1.4, 2.1, 2.8, 3.5, 4.2)
"""Distances in ln n below the last size, at which the smoothed curve is evaluated."""
EXPONENTS = np.concatenate([np.linspace(0.02, 1.5, 38), np.linspace(1.6, 4.0, 13)])
FINER = np.linspace(-0.12, 0.12, 13)
"""Steps of ln(exponent) around the best exponent of the coarse grid, for a second search."""
MISFIT = 0.02
RECENT = 2.0
"""The scale, in ln n, on which weights fall with the distance from the last size, if a power law is fitted to recent
sizes."""
DECAY = 0.7


def look(smoothed: Smoothed, baseline: Float[np.ndarray, " b"]) -> tuple[Float[np.ndarray, "b f"], dict]:
    """Return features of each curve, and the inputs of `continuations`: the level at the end, slopes and fitted power
    laws.

    Args:
        smoothed: the curves.
        baseline: the loss of predicting the mean or the class shares, or nan if unknown.
    """
    logs, last = smoothed.logs, smoothed.logs[:, -1:]
    back = np.concatenate([np.zeros(1), np.array(BACK)])
    mean, variance = smoothed.at(last - back)
    span = last[:, 0] - logs[:, 0]
    seen = back[None] <= span[:, None] + 0.18
    drops = np.where(seen, mean - mean[:, :1], 0.0)
    # below the first size, the curve is assumed to have its value at the first size
    first = np.maximum(seen.sum(1) - 1, 0)
    drops = np.where(seen, drops, np.take_along_axis(drops, first[:, None], 1))
    padding = smoothed.noise > 100
    noise = np.sqrt((np.where(padding, 0.0, smoothed.noise) ** 2).sum(1) / np.maximum((~padding).sum(1), 1))
    counts = np.log((~padding).sum(1))
    laws = {"all": power_law(smoothed, padding, np.inf), "recent": power_law(smoothed, padding, RECENT)}
    known = np.isfinite(baseline) & (baseline > 0)
    relative = np.where(known, mean[:, 0] - np.log(np.where(known, baseline, 1.0)), 0.0)
    reach = np.minimum(0.7, np.maximum(span, 0.1))
    recent_slope = (smoothed.at(last - reach[:, None])[0][:, 0] - mean[:, 0]) / reach
    long_reach = np.clip(span, 0.1, 2.1)
    long_slope = (smoothed.at(last - long_reach[:, None])[0][:, 0] - mean[:, 0]) / long_reach
    columns = [
        drops[:, 1:],
        np.diff(drops, axis=1),
        seen[:, 4:].astype(float),
        np.log(variance[:, [0, 2, 4]]) / 2,
        np.stack([np.log(noise), np.log(smoothed.amplitude), np.log(smoothed.length), counts, span], 1),
        np.stack(
            [last[:, 0], relative, known.astype(float), np.minimum(relative, 0) * known, recent_slope, long_slope], 1
        ),
        *(np.stack([law["exponent"], np.log(law["floor"] + 0.01), law["misfit"]], 1) for law in laws.values()),
        (logs[:, -1:] - logs[:, -2:-1]),
    ]
    ends = {
        "level": mean[:, 0],
        "variance": variance[:, 0],
        "recent": recent_slope,
        "long": long_slope,
        "last": last[:, 0],
    }
    return np.concatenate(columns, 1), {**ends, "laws": laws}


def power_law(smoothed: Smoothed, padding: Bool[np.ndarray, "b s"], recent: float) -> dict[str, np.ndarray]:
    """Fit a (n / last)^-b + c, with a, c >= 0, to the errors at n rows, where `last` is the largest measured n.

    The fit is by weighted least squares of relative errors. Return the exponent b, the floor c / (a + c) and the
    logarithm of the misfit.

    Args:
        smoothed: the curves.
        padding: True for each entry that is not a measurement but fills up a shorter row.
        recent: the scale, in ln n, on which weights fall with the distance from the last size. With inf, weights do
            not depend on the distance.
    """
    distance = smoothed.logs - smoothed.logs[:, -1:]
    values = np.exp(np.clip(smoothed.values - smoothed.values[:, -1:], -60, 60))
    weight = np.exp(-((distance / recent) ** 2) / 4) / (values * np.hypot(smoothed.noise, MISFIT))
    weight = np.where(padding, 0.0, weight)
    coarse = _at_exponents(np.broadcast_to(EXPONENTS, (len(values), len(EXPONENTS))), distance, values, weight)
    finer = np.clip(coarse[0][:, None] * np.exp(FINER), EXPONENTS[0], EXPONENTS[-1])
    exponent, scale, floor, squares = _at_exponents(finer, distance, values, weight)
    level = np.maximum(scale + floor, np.finfo(float).tiny)
    free = np.maximum((~padding).sum(1) - 3, 1)
    misfit = np.log(np.sqrt(np.maximum(squares, 0) / free) + 0.02)
    return {"exponent": exponent, "floor": floor / level, "misfit": misfit}


def _at_exponents(
    exponents: Float[np.ndarray, "b e"],
    distance: Float[np.ndarray, "b s"],
    values: Float[np.ndarray, "b s"],
    weight: Float[np.ndarray, "b s"],
) -> list[Float[np.ndarray, " b"]]:
    """Return, for each curve, the best of the given exponents b in a exp(-b distance) + c, with a, c and the
    weighted sum of squares.

    For a fixed exponent, the problem is linear in a and c. If a or c of the solution is negative, this number is set to
    0 and the other number is fitted again.
    """
    basis = weight[:, None, :] * np.exp(np.minimum(-exponents[:, :, None] * distance[:, None, :], 60.0))
    target, one = (weight * values)[:, None, :], weight[:, None, :]
    ss, sw, ww = (basis**2).sum(2), (basis * one).sum(2), (one**2).sum(2)
    sy, wy, yy = (basis * target).sum(2), (one * target).sum(2), (target**2).sum(2)
    determinant = np.maximum(ss * ww - sw**2, 1e-12 * ss * ww)
    scale, floor = (sy * ww - sw * wy) / determinant, (ss * wy - sw * sy) / determinant
    flat, bare = scale < 0, floor < 0
    scale = np.where(flat, 0.0, np.where(bare, sy / ss, scale))
    floor = np.where(flat, wy / ww, np.where(bare, 0.0, floor))
    squares = yy - 2 * (scale * sy + floor * wy) + scale**2 * ss + 2 * scale * floor * sw + floor**2 * ww
    at = np.argmin(squares, axis=1)[:, None]
    return [np.take_along_axis(part, at, 1)[:, 0] for part in (exponents, scale, floor, squares)]


def continuations(smoothed: Smoothed, ends: dict, horizons: Float[np.ndarray, "b q"]) -> Float[np.ndarray, "b q e"]:
    """Return the change of ln(error) from the last size to exp(horizon) times this size, for each of seven
    continuations.

    The continuations are, in order: the last value; a straight line in ln n with the slope of the last octave (factor 2
    in n); a straight line with the slope of the last three octaves; the Gaussian process; a curve whose slope decays
    from the slope of the last octave as exp(-0.7 horizon); a power law with a floor, fitted to all sizes; the power
    law, fitted to recent sizes.
    """
    process = smoothed.at(ends["last"][:, None] + horizons)[0] - ends["level"][:, None]
    recent, long = ends["recent"][:, None], ends["long"][:, None]
    laws = [
        np.log((1 - law["floor"][:, None]) * np.exp(-law["exponent"][:, None] * horizons) + law["floor"][:, None])
        for law in ends["laws"].values()
    ]
    ways = [
        np.zeros_like(horizons),
        -recent * horizons,
        -long * horizons,
        process,
        -recent * (1 - np.exp(-DECAY * horizons)) / DECAY,
        *laws,
    ]
    return np.stack(ways, 2)


def outlook(weights: dict, features, ways, variance, horizons, xp=np):
    """Compute the median of the change of ln(error), and the scales of the change below and above the median.

    Let h be the horizon. A small network maps the features of a curve to shares of the continuations, to numbers c1 and
    c2, and to numbers a0, a1, a2 and a3 for each scale. The median is the mean of the continuations with these shares,
    plus the correction c1 (1 - exp(-h)) + 0.3 c2 h. The square of a scale is 1e-6 plus the sum of four squares: of a0
    times the standard deviation of the level (the smoothed ln(error)) at the last size, of 0.1 a1 h / (h + 1/2), of 0.1
    a2 h, and of a3 times the standard deviation of the continuations.

    Args:
        weights: the weights of the network.
        features: the features of curves that `look` returns, one row for each curve.
        ways: the continuations of the curves that `continuations` returns.
        variance: the variance of the smoothed ln(error) at the last size.
        horizons: ln of the size divided by the last size.
        xp: the array module: NumPy, or a module with automatic differentiation.
    """
    hidden = xp.clip((features - weights["centre"]) / weights["spread"], -5.0, 5.0)
    for matrix, bias in zip(weights["matrices"][:-1], weights["biases"][:-1], strict=True):
        hidden = xp.tanh(hidden @ matrix + bias)
    out = hidden @ weights["matrices"][-1] + weights["biases"][-1]
    count = ways.shape[2]
    shares = xp.exp(out[:, :count] - out[:, :count].max(1)[:, None])
    shares = (shares / shares.sum(1)[:, None])[:, None, :]
    c1, c2 = out[:, count, None], out[:, count + 1, None]
    settling = 1 - xp.exp(-horizons)
    mixed = (shares * ways).sum(2)
    median = mixed + c1 * settling + 0.3 * c2 * horizons
    apart = (shares * (ways - mixed[:, :, None]) ** 2).sum(2)
    scales = []
    for side in range(2):
        a = xp.logaddexp(out[:, count + 2 + 4 * side : count + 6 + 4 * side], 0.0)[:, :, None]
        squares = a[:, 0] ** 2 * variance[:, None] + (0.1 * a[:, 1] * horizons / (horizons + 0.5)) ** 2
        squares = squares + (0.1 * a[:, 2] * horizons) ** 2 + a[:, 3] ** 2 * apart
        scales.append(xp.sqrt(squares + 1e-6))
    return median, scales[0], scales[1]
