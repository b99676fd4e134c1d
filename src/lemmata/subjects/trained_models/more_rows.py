"""More rows: the error that the same training would reach with more training rows.

The theory predicts how much it helps to collect more rows. It needs a program that trains afresh, and extrapolates the
errors of models on fewer rows. It does not cover learning curves that are unlike the measured curves from which the
extrapolation was learned.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy import stats

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.forecasts import forecast
from lemmata.subjects.trained_models import Refits, Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_rows
from ._refit import refits_of, wider_refits
from .leaving_out import measured_share
from .refits import trainable

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}

_LEVEL = 0.9  # the forecast is wide: its 95 % intervals contained all of 186 measured errors
_FOLDS = 4
_TAKEN = (1, 2, 3)  # of four folds, training uses this many; the others are scored
_FEWEST = 40
_GAIN = 1.25
_QUANTILES = np.linspace(0.0025, 0.9975, 200)


@dataclasses.dataclass(frozen=True)
class Curve:
    """The errors of models that are trained on some of the training rows, measured on the other training rows.

    Args:
        sizes: the numbers of rows on which models were trained.
        errors: for each size, the mean share of wrong classes. Half a row is added to the number of wrong rows and to
            the number of right rows.
        se: standard errors of `errors`, which come from the random rows that are scored and from the random refits.
    """

    sizes: Int[np.ndarray, " s"]
    errors: Float[np.ndarray, " s"]
    se: Float[np.ndarray, " s"]


def curve_of(problem: Trained) -> Curve:
    """Measure the errors of models that the program trains on a quarter, half and three quarters of the training rows.

    The rows are divided into four folds. The folds are arranged in a circle. One, two or three folds that are next to
    each other are used for training, and the other folds are scored. All four choices of one fold or of three folds are
    used. Of the four choices of two folds, only two are used, which are complements of each other.
    """
    n, refits, found = len(problem.x), refits_of(problem), []
    folds = np.array_split(np.random.default_rng([problem.seed, 16]).permutation(n), _FOLDS)
    for taken in _TAKEN:
        shares = []
        for first in range(0, _FOLDS, taken if taken == 2 else 1):
            places = [(first + k) % _FOLDS for k in range(taken)]
            rows = np.sort(np.concatenate([folds[k] for k in places]))
            rest = np.setdiff1d(np.arange(n), rows)
            model = refits(rows, problem.seed + first)
            shares.append(float(problem.task.errors(model.outputs(problem.x[rest]), problem.y[rest]).mean()))
        error = (np.mean(shares) * n + 0.5) / (n + 1)
        apart = np.var(shares, ddof=1) / len(shares)
        found.append((len(rows), error, np.sqrt(error * (1 - error) / n + apart)))  # pyright: ignore[reportPossiblyUnboundVariable]  # _FOLDS > 0
    sizes, errors, se = (np.array(part) for part in zip(*found, strict=True))
    return Curve(sizes, errors, se)


def added_rows(problem: Trained) -> int:
    """The number of held-out rows that join the training rows: half of them, at most as many as the training rows."""
    n = len(problem.x)
    return n if problem.held is None else min(n, int(fresh_rows(problem).sum()) // 2)


def forecast_share(curve: Curve, rows: int, scored: int, trivial: float) -> Float[np.ndarray, "3"]:
    """Forecast the share of wrong classes among `scored` new rows: low end, median and high end.

    The quantiles come from the forecast of the mean error and the binomial distribution of the scored rows.

    Args:
        curve: the measured learning curve.
        rows: the number of training rows for which the error is forecast.
        scored: the number of rows on which the error is measured.
        trivial: the error of always guessing the most frequent class.
    """
    end = curve.errors[-1]
    shared = float(np.sqrt((1 - end) / (end * 4 / 3 * curve.sizes[-1])))
    found = forecast(curve.sizes, curve.errors, curve.se, baseline=trivial, shared=shared)
    errors = np.clip(found.quantiles([rows], _QUANTILES)[0], 0.0, 1.0)
    law = stats.binom.cdf(np.arange(scored + 1)[:, None], scored, errors).mean(1)
    return np.searchsorted(law, [(1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2]) / scored


def wider_errors(problem: Trained) -> Float[np.ndarray, " m"]:
    """Whether a model of the training rows and one half of the held-out rows is wrong on each row of the other half."""
    refits: Refits = wider_refits(problem)
    n, more = len(problem.x), added_rows(problem)
    x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
    halves = np.array_split(np.random.default_rng([problem.seed, 17]).permutation(len(x)), 2)
    found = []
    for place, (joined, scored) in enumerate((halves, halves[::-1])):
        model = refits(np.concatenate([np.arange(n), n + np.sort(joined)[:more]]), problem.seed + place)
        found.append(problem.task.errors(model.outputs(x[scored]), y[scored]))
    return np.concatenate(found)


class ErrorWithMoreRows(AbstractGauge):
    """Let a program train models on a quarter, half and three quarters of n rows, and measure their errors on the rest
    of these rows. Extrapolate these errors to more rows, by a model of learning curves that was fitted to many measured
    curves. Add the binomial sampling error of the rows on which the error is measured. The result is a predicted
    distribution of the error of a model that is trained on the n rows plus half of the held-out rows, at most 2n rows
    in all. Train two such models, and measure each on the other half of the held-out rows. In at least nine of ten
    cases, the central 90 % of the predicted distribution contain the measured error.
    """

    title = "Held-out error after training on more rows, predicted by a learning curve"
    source = Source("mohr2022", note="the measured curves from which the continuation is learned")
    stated = Kind.OWN
    population = TrainedNetworks(rows=60, decay=0.05, hidden=3, widths=(0, 6))
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "how much more rows from the same distribution would lower the error, before they are collected"
    unexplained = "why the curve falls as it does; rows from another distribution"
    traced = False

    def passes(self, problem: Trained) -> float:
        if problem.fit is None:
            return 0.0
        parts = sum(share / _FOLDS * (2 if share == 2 else _FOLDS) for share in _TAKEN)
        return (parts + 2 * (1 + added_rows(problem) / len(problem.x))) * refits_of(problem).passes

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        n = len(problem.x)
        factor, why = 1 + added_rows(problem) / n, "otherwise there are too few additional rows to test the prediction"
        return [
            *trainable(problem),
            Hypothesis(
                "training rows",
                float(n),
                ">=",
                float(_FEWEST),
                "one of the models is trained on only a quarter of the rows",
            ),
            Hypothesis(
                "training rows plus half of the held-out rows, relative to training rows", factor, ">=", _GAIN, why
            ),
        ]

    def predict(self, problem: Trained) -> Array:
        scored = len(problem.x) if problem.held is None else int(fresh_rows(problem).sum())
        rows, trivial = len(problem.x) + added_rows(problem), float(self.trivial(problem))
        return jnp.asarray(forecast_share(curve_of(problem), rows, scored, trivial))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Train models again on the training rows and half of the held-out rows, and test them on the other half."""
        wrong = wider_errors(problem)
        return jnp.asarray(measured_share(int(wrong.sum()), len(wrong)))

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class."""
        return jnp.asarray(1 - problem.y.mean(0).max())
