"""Test whether models trained on earlier rows forecast later blocks of a series better than the target's own past."""

import itertools
import math

import numpy as np
from jaxtyping import Float
from scipy import stats

from ._signal_statistics import Outcome

_BLOCKS = 12
FEWEST_BLOCKS = 3
_FIRST = 1 / 3
"""The share of the series that lies before the first block."""
_INNER = (0.5, 0.75)
_CENTRES = 120
_LAGS = 12
_RIDGES = np.logspace(-4, 2, 7)


def of_blocks(
    x: Float[np.ndarray, "N d"], y: Float[np.ndarray, "N k"], order: Float[np.ndarray, " N"], rng: np.random.Generator
) -> Outcome:
    """Test by one-sided t-tests over at most twelve later blocks. The p-value is the largest over four naive forecasts.

    Each block is forecast by a model of all earlier rows. The model is linear in the columns, or in Gaussian kernels
    with 120 of the rows. The model predicts the target, or the target's change since an earlier row whose target is
    known. These choices and the ridge are made on later parts of the earlier rows. The naive forecasts are the mean of
    the past, its last value, the last value continued with the mean slope, and the last season. The period of the
    season is the lag of the largest autocorrelation. The rows of a block have different distances to the last known
    row. So a forecast by a change or by a last value is made at every distance of up to one block's length, and its
    error is the mean over these distances. For each block and naive forecast, the t-test uses the difference of the two
    squared errors (the model's and the naive forecast's), divided by their sum. Because of the division, no block
    outweighs the others.

    A block begins at the start of a new time, so that all rows of one time are in one block. If there are few times,
    there are therefore fewer blocks. If fewer than three blocks remain, blocks begin at any row.

    The level needs one assumption: models of columns without information are worse, on average, than the best naive
    forecast.
    """
    edges = block_edges(order)
    edges = edges if len(edges) > FEWEST_BLOCKS else _rows_of_blocks(len(y))
    before = np.searchsorted(order, order)
    features = [x - x.mean(axis=0), _gaussian(x, rng)] if x.shape[1] else []
    gains, errors = [], []
    for start, end in itertools.pairwise(edges):
        model = _modelled(features, y, before, start, end)
        naive = _naive(y, before, start, end)
        errors.append((model, min(naive)))
        gains.append([(own - model) / (own + model) if own + model > 0 else 0.0 for own in naive])
    gains, total = np.array(gains), np.array(errors).sum(axis=0)
    middle, spread = gains.mean(axis=0), gains.std(axis=0, ddof=1) / math.sqrt(len(gains))
    t = np.where(spread > 1e-12, middle / np.maximum(spread, 1e-12), np.where(middle > 1e-12, math.inf, 0.0))
    p_value = float(stats.t.sf(t, len(gains) - 1).max())
    visible = min(1.0, 2 * float(stats.t.isf(0.005, len(gains) - 1)) * float(spread[middle.argmin()]))
    return Outcome(p_value, float(total[0] / max(total[1], 1e-300)), 1.0, len(y), "time", 0.0, 0, 0, visible)


def block_edges(order: Float[np.ndarray, " N"]) -> list[int]:
    """Return the first rows of the blocks and the number of rows, for rows in time order.

    Equally spaced edges are moved to the nearest start of a new time.
    """
    places = np.r_[1 + np.flatnonzero(order[1:] != order[:-1]), len(order)]
    edges = np.array(_rows_of_blocks(len(order)))
    return np.unique(places[np.abs(places - edges[:, None]).argmin(axis=1)]).tolist()


def _rows_of_blocks(rows: int) -> list[int]:
    return np.linspace(int(_FIRST * rows), rows, _BLOCKS + 1).round().astype(int).tolist()


def _gaussian(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return features whose inner products approximate the Gaussian kernel, by its values at 120 of the rows."""
    centres = x[np.sort(rng.permutation(len(x))[:_CENTRES])]
    values, vectors = np.linalg.eigh(_near(centres, centres))
    kept = values > 1e-8 * values[-1]
    return _near(x, centres) @ (vectors[:, kept] / np.sqrt(values[kept]))


def _near(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    apart = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.exp(-np.maximum(apart, 0.0) / (2 * a.shape[1]))


def _modelled(features: list[np.ndarray], y: np.ndarray, before: np.ndarray, start: int, end: int) -> float:
    """Return the squared error, in rows `start` to `end`, of the model that was best on later parts of the past."""
    cuts, length = [*(int(share * start) for share in _INNER), start], end - start
    best, choice = sum(_error(y[:a], y, before, a, b, 0)[0] for a, b in itertools.pairwise(cuts)), None
    for i, feature in enumerate(features):
        for reach in (0, length):
            losses = np.sum([_loss(feature, y, before, a, b, reach) for a, b in itertools.pairwise(cuts)], axis=0)
            if losses.min() < best:
                best, choice = float(losses.min()), (i, reach, int(losses.argmin()))
    if choice is None:
        return float(_error(y[:start], y, before, start, end, 0)[0])
    i, reach, ridge = choice
    return float(_loss(features[i], y, before, start, end, reach, ridge)[0])


def _loss(feature, y, before, start: int, end: int, reach: int, ridge: int | None = None) -> np.ndarray:
    """Return, for each ridge, the error in rows `start` to `end` of a model that is fitted to all earlier rows."""
    x, past = feature[:start], y[:start]
    if reach:
        x, past = np.diff(x, axis=0), np.diff(past, axis=0)
    x, past = x - x.mean(axis=0), past - past.mean(axis=0)
    ridges = _RIDGES if ridge is None else _RIDGES[ridge : ridge + 1]
    paths = _paths(x, past, ridges)
    first = max(0, start - reach - int((np.arange(start, end) - before[start:end]).max()))
    rest = y[first:end] - feature[first:end] @ paths
    middle = (y[:start].mean(axis=0) - feature[:start].mean(axis=0) @ paths)[:, None, :]
    return _spread(rest, middle, before - first, start - first, end - first, reach)


def _paths(x: np.ndarray, y: np.ndarray, ridges: np.ndarray) -> Float[np.ndarray, "ridges d k"]:
    """Return the coefficients of ridge regression for each ridge. Ridges are multiples of the mean eigenvalue."""
    wide = x.shape[1] > len(x)
    values, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
    values = np.maximum(values, 0.0)
    shrink = 1 / (values + ridges[:, None] * max(float(values.mean()), 1e-300))
    inner = vectors.T @ (y if wide else x.T @ y)
    paths = vectors @ (shrink[:, :, None] * inner)
    return x.T @ paths if wide else paths


def _error(past, y, before, start: int, end: int, reach: int, slope: float | np.ndarray = 0.0) -> np.ndarray:
    """Return the error of forecasts by the past's mean (`reach` 0) or its last value, each continued with `slope`."""
    rest = (y[:end] - np.arange(end)[:, None] * slope)[None]
    return _spread(rest, past.mean(axis=0), before, start, end, reach)


def _spread(rest: np.ndarray, middle: np.ndarray, before: np.ndarray, start: int, end: int, reach: int) -> np.ndarray:
    """Return the mean square of `rest`, the part of the targets to forecast, minus its forecast, in a block of rows.

    The block is rows `start` to `end`. If `reach` is 0, the forecast is `middle`. Otherwise, each row is forecast by
    earlier rows of `rest`, one at each distance up to `reach`, and the result is the mean over these distances. For a
    large reach, only some of the distances to earlier rows are used.
    """
    own = rest[:, start:end]
    if not reach:
        return ((own - middle) ** 2).sum(axis=2).mean(axis=1)
    lags = np.unique(np.linspace(0, reach - 1, min(reach, _LAGS)).round().astype(int))
    known = [np.maximum(before[start:end] - 1 - lag, 0) for lag in lags]
    return np.mean([((own - rest[:, rows]) ** 2).sum(axis=2).mean(axis=1) for rows in known], axis=0)


def _naive(y: np.ndarray, before: np.ndarray, start: int, end: int) -> list[float]:
    """Return the errors of forecasts by the mean, the last value, the last value plus mean slope, and the last season.

    If there is no season, the mean takes the place of the last season.
    """
    past, length = y[:start], end - start
    slope = (past[-1] - past[0]) / max(start - 1, 1)
    found = [
        float(_error(past, y, before, start, end, reach, own)[0])
        for reach, own in ((0, 0.0), (length, 0.0), (length, slope))
    ]
    period = _period(past)
    if not period:
        return [*found, found[0]]
    lag = period * math.ceil(length / period)
    season = y[np.arange(start, end) - lag] if lag <= start else past[start - period + np.arange(length) % period]
    return [*found, float(((y[start:end] - season) ** 2).sum(axis=1).mean())]


def _period(past: np.ndarray) -> int:
    """Return the lag of the largest autocorrelation after it first falls below a tenth; 0 if it never does."""
    n = len(past)
    centred = past - past.mean(axis=0)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=0)) ** 2
    lags = np.fft.irfft(power.sum(axis=1))[: n // 2] / np.arange(n, n - n // 2, -1)
    low = np.flatnonzero(lags < 0.1 * lags[0])
    return int(low[0] + lags[low[0] :].argmax()) if len(low) and low[0] + 1 < len(lags) else 0
