"""Compute when a linear model on given features will fit the rows, and when the model will generalise."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from lemmata.answers import Condition, inside
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._pictures import errors_chart

_CLAIMS = ("grokking.clocks.two_clocks", "grokking.clocks.delay_is_inverse_in_decay")
_LARGEST = 1e100
_GRID = 2000
_SMALL = 0.02
VERDICTS = {
    "delayed": "it generalises later than it fits",
    "at once": "no delay: it generalises as soon as it fits, or before",
    "small start": "no delay: in the directions orthogonal to all rows, the start is not larger than the solution",
    "determined": "no delay: the rows determine all weights",
    "no decay": "it does not generalise later: without decay, the start stays in directions orthogonal to all rows",
    "not fitted": "it does not fit the rows to this error",
    "no generalisation": "it does not generalise: in the end, predicting 0 is no worse on the new rows",
}


@dataclasses.dataclass(frozen=True, eq=False)
class DelayPrediction:
    """The times at which a model fits and generalises. A time is the number of (small) steps times the learning rate.

    Args:
        verdict: a key of VERDICTS, which says whether and when the model generalises.
        train_time: the time when the training error has fallen to the requested share of the mean square of y. None if
            this never happens.
        test_time: without new rows, the time when the initial weights are forgotten, as `predict_delay` describes. With
            new rows, the time when the error on the new rows has fallen to a threshold. This threshold is the larger of
            twice the final error and the requested share of the error of predicting 0. None if this never happens.
        delay: test_time / train_time, or None if a time is None.
        unseen_start: the length of the initial weights in the directions that are orthogonal to all rows.
        unseen_truth: the length of the true weights in these directions, if the truth has no preferred direction.
        rates: the rates at which parts of the training error fall, the largest first.
        weight_decay: the weight decay lambda.
        final_error: the final error on the new rows, or None without new rows.
        trivial_error: the error of predicting 0 on the new rows, or None without new rows.
        times: the times at which the errors are given.
        train_errors: training errors at these times.
        test_errors: errors on the new rows at these times. Without new rows, the squared length of the weights in the
            directions that are orthogonal to all rows.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    verdict: str
    train_time: float | None
    test_time: float | None
    delay: float | None
    unseen_start: float
    unseen_truth: float
    rates: Float[np.ndarray, " r"]
    weight_decay: float
    final_error: float | None
    trivial_error: float | None
    times: Float[np.ndarray, " t"] = dataclasses.field(repr=False)
    train_errors: Float[np.ndarray, " t"] = dataclasses.field(repr=False)
    test_errors: Float[np.ndarray, " t"] = dataclasses.field(repr=False)
    conditions: tuple[Condition, ...] = ()
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        lines = [VERDICTS[self.verdict]]
        if self.train_time is not None:
            lines.append(
                f"fits at time {self.train_time:.4g}, with rates from {self.rates[0]:.3g} to {self.rates[-1]:.3g}"
            )
        if self.test_time is not None:
            lines.append(f"generalises at time {self.test_time:.4g}, with weight decay {self.weight_decay:g}")
        if self.delay is not None:
            lines.append(f"delay {self.delay:.4g}")
        if self.final_error is not None:
            lines.append(
                f"error on new rows: {self.final_error:.4g} in the end, {self.trivial_error:.4g} for predicting 0"
            )
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot both errors against time, with the two times, as an Altair chart."""
        return errors_chart(self)


def predict_delay(
    features: Any,
    y: Any,
    weight_decay: Any,
    init: Any,
    *,
    new: Any = None,
    fitted: Any = 0.01,
) -> DelayPrediction:
    """Predict whether and when a linear model on these features will generalise after it fits the rows (will grok).

    The model is trained by gradient flow on |F w - y|²/(2n) + lambda |w|²/2. This flow is solved exactly. Training
    errors fall at the rates of the data, which are the eigenvalues of F'F/n. The part of the initial weights that does
    not affect the outputs on the rows shrinks at the rate lambda. Pass rows of new data to predict the error on these
    rows. Without new rows, consider the directions that are orthogonal to all rows. The initial weights count as
    forgotten when they are as short in these directions as the true weights. For this comparison, the true weights are
    assumed to have no preferred direction.

    You can also use a network in the lazy regime, with the parameters w_0 at the start. Then F contains the gradients
    of the output at w_0, and `init` is w_0. The values y are the labels minus the outputs at w_0, plus F w_0. Change
    the labels of new rows in the same way.

    Args:
        features: F, an array (n, d).
        y: the labels, an array (n,).
        weight_decay: lambda, the factor of the squared length of the weights. 0 means no decay.
        init: the weights at the start, (d,).
        new: features and labels of new rows.
        fitted: the rows count as fitted when their mean squared error is at most this share of the mean square of y.

    Raises:
        SettingError, ShapeError, DataError: if the input cannot be used.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x, truth = rng.normal(size=(20, 60)), rng.normal(size=60)
        >>> print(predict_delay(x, x @ truth, 0.001, 20 * rng.normal(size=60)))
        it generalises later than it fits
        fits at time 5.37, with rates from 6.81 to 0.607
        generalises at time 2911, with weight decay 0.001
        delay 542
    """
    x, labels = _rows("features", features, "y", y)
    start = _plain("init", init)
    if start.shape != (x.shape[1],):
        raise ShapeError("init", found=f"shape {start.shape}", rule=f"({x.shape[1]},), one weight for each feature")
    decay, share = _decay(weight_decay), inside("fitted", fitted, 0.0, 1.0)
    flow = _Flow(x, labels, start, decay)
    held = None if new is None else _held(new, x.shape[1])
    power = float(np.mean(labels**2))
    train = flow.train_error
    if held is None:
        test = lambda t: float(flow.left**2 * math.exp(-2 * decay * t))
        final, trivial, wanted = None, None, flow.truth**2
    else:
        test = lambda t: flow.error(t, *held)
        final, trivial = flow.error(math.inf, *held), float(np.mean(held[1] ** 2))
        wanted = max(2 * final, share * trivial)
    times = flow.times
    curves = [np.array([error(t) for t in times]) for error in (train, test)]
    fit = _first(train, times, curves[0], share * power)
    learned = _first(test, times, curves[1], wanted)
    delay = learned / fit if fit and learned is not None else None
    verdict = _verdict(flow, held is not None, fit, learned, final, trivial)
    if verdict not in ("delayed", "at once"):
        learned = delay = None
    conditions = (
        Condition("the weight decay is below 2 % of the least rate", decay / float(flow.rates[-1]),
                  bool(decay < _SMALL * flow.rates[-1]),
                       "a larger weight decay slows the fit and shrinks the solution"),
        Condition("training takes small steps on all rows, and the features do not change"),
    )  # fmt: skip
    return DelayPrediction(
        verdict,
        fit,
        learned,
        delay,
        flow.left,
        flow.truth,
        flow.rates,
        decay,
        final,
        trivial,
        times,
        curves[0],
        curves[1],
        conditions,
    )


class _Flow:
    """The exact gradient flow of the weights, in the coordinates of the eigenvectors of F'F/n."""

    def __init__(self, x: np.ndarray, y: np.ndarray, start: np.ndarray, decay: float):
        u, s, v = np.linalg.svd(x, full_matrices=False)
        keep = s > s[0] * max(x.shape) * np.finfo(float).eps
        u, s, self.v = u[:, keep], s[keep], v[keep]
        self.rates, self.decay, self.free = s**2 / len(x), decay, x.shape[1] - int(keep.sum())
        self.begin, solution = self.v @ start, (u.T @ y) / s
        self.end = self.rates * solution / (self.rates + decay)
        self.unseen = start - self.v.T @ self.begin if self.free else np.zeros_like(start)
        self.unseen -= self.v.T @ (self.v @ self.unseen)  # remove rounding errors along the rows
        self.scales, self.solution = s / math.sqrt(len(x)), solution
        self.residual = float(np.mean((y - u @ (u.T @ y)) ** 2))
        self.left = float(np.linalg.norm(self.unseen))
        self.truth = float(np.linalg.norm(solution)) * math.sqrt(self.free / len(s))
        slowest = min(decay, self.rates[-1]) if decay and self.free else self.rates[-1]
        largest = max(float(np.abs(start).max()) / max(float(np.abs(solution).max()), 1e-300), 1.0)
        ends = math.log10(1e-3 / (self.rates[0] + decay)), math.log10((80.0 + math.log(largest)) / slowest)
        self.times = np.concatenate([[0.0], np.logspace(*ends, _GRID)])

    def weights(self, t: float) -> np.ndarray:
        """Return the weights of the flow at the time t."""
        forgotten = math.exp(-self.decay * t) if self.decay else 1.0
        moved = self.end + (self.begin - self.end) * np.exp(-(self.rates + self.decay) * t)
        return self.v.T @ moved + self.unseen * forgotten

    def train_error(self, t: float) -> float:
        """Return the mean squared error on the rows at a time. The part of the weights that is orthogonal to all rows
        does not change this error.
        """
        off = (self.end - self.solution) + (self.begin - self.end) * np.exp(-(self.rates + self.decay) * t)
        return float(np.sum((self.scales * off) ** 2)) + self.residual

    def error(self, t: float, x: np.ndarray, y: np.ndarray) -> float:
        """Return the mean squared error on the rows x with labels y at the time t."""
        return float(np.mean((x @ self.weights(t) - y) ** 2))


def _first(error: Callable[[float], float], times: np.ndarray, errors: np.ndarray, wanted: float) -> float | None:
    """Return the first time at which an error is at most the requested value."""
    below = errors <= wanted
    if not below.any():
        return None
    place = int(below.argmax())
    if place == 0 or errors[place] == wanted:
        return float(times[place])
    return float(brentq(lambda t: error(t) - wanted, times[place - 1], times[place], rtol=1e-12))  # pyright: ignore


def _verdict(
    flow: _Flow, rows: bool, fit: float | None, learned: float | None, final: float | None, trivial: float | None
) -> str:
    if fit is None:
        return "not fitted"
    if rows and final is not None and trivial is not None and final >= trivial:
        return "no decay" if not flow.decay and flow.free and flow.left > flow.truth else "no generalisation"
    if not flow.free and not rows:
        return "determined"
    if not rows and flow.left <= flow.truth:
        return "small start"
    if learned is None:
        return "no decay"
    return "delayed" if learned > fit else "at once"


def _plain(name: str, values: Any) -> np.ndarray:
    found = numbers_of(name, values).astype(float)
    if found.size and np.abs(found).max() > _LARGEST:
        raise DataError(
            name, found=f"{np.abs(found).max():.3g}", rule=f"numbers of at most {_LARGEST:g}", remedy="rescale"
        )
    return found


def _rows(name: str, features: Any, other: str, y: Any) -> tuple[np.ndarray, np.ndarray]:
    x, labels = _plain(name, features), _plain(other, y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if x.ndim != 2 or 0 in x.shape:
        raise ShapeError(name, found=f"shape {x.shape}", rule="(n, d), at least one row and one column")
    if labels.shape != (len(x),):
        raise ShapeError(other, found=f"shape {labels.shape}", rule=f"({len(x)},), one label for each row")
    for what, values in ((name, x), (other, labels)):
        if np.abs(values).max() < 1 / _LARGEST:
            raise DataError(what, found="only zeros" if not values.any() else f"numbers below {1 / _LARGEST:g}",
                            rule="numbers other than 0")  # fmt: skip
    return x, labels


def _held(new: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(new, tuple | list) or len(new) != 2:
        raise SettingError("new", found=f"a {type(new).__name__}", rule="a pair: features and labels of new rows")
    x, labels = _rows("new features", new[0], "new labels", new[1])
    if x.shape[1] != d:
        raise ShapeError(
            "new features", found=f"{x.shape[1]} columns", rule=f"{d} columns, as many as the features have"
        )
    return x, labels


def _decay(value: Any) -> float:
    try:
        number = float(value) if np.ndim(value) == 0 and not isinstance(value, bool | str | bytes) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0) or 0 < number < 1 / _LARGEST:
        rule = f"0, or a finite number of at least {1 / _LARGEST:g}"
        raise SettingError("weight_decay", found=" ".join(repr(value).split())[:40], rule=rule)
    return number
