"""Probabilities: how far a model's confidence can be trusted, and sets of classes with a stated coverage.

The theory predicts coverage and calibration on rows that are exchangeable with the calibration rows. It assumes nothing
about the model. It does not cover rows from another distribution, or groups of rows in which coverage differs.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats
from scipy.special import logsumexp, softmax

from lemmata.engine.claims import Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained, temperature
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_outputs, held_rows
from .leaving_out import LIMITS, measured_share

ABOUT = {"tool": "statistics", "architecture": "any", "object": "score"}

_COVERAGE = 0.9
_BINS = 10
_NULLS = 200
_ENOUGH = 5_000
_UNLIKELY = 0.01
_FEWEST = 20
_TIES = 0.01
_AROUND = np.linspace(-1.5, 1.5, 121)


def halves(problem: Trained) -> tuple[np.ndarray, np.ndarray]:
    """Split held-out rows at random, by the problem's seed, into calibration rows and other rows. Return positions.

    Duplicates of training rows are left out, because the model is more certain of them than of new rows.
    """
    new = np.flatnonzero(fresh_rows(problem))
    order = new[np.random.default_rng([problem.seed, 5]).permutation(len(new))]
    return order[: len(order) // 2], order[len(order) // 2 :]


def few_of_each(problem: Trained) -> tuple[np.ndarray, np.ndarray]:
    """At most 5,000 random rows of each half, which are enough to find a calibration error to within a hundredth."""
    own, new = halves(problem)
    return own[:_ENOUGH], new[:_ENOUGH]


def _classes(problem: Trained) -> list[Hypothesis]:
    """The conditions that the model predicts classes and gives a score for each."""
    if not problem.task.is_classification:
        return [Hypothesis("the model predicts classes", 0.0, ">=", 1.0)]
    scored, why = float(problem.task.scored), "a class alone does not show how sure the model is"
    return [Hypothesis("the model gives a score for each class, not only one class", scored, ">=", 1.0, why)]


def _threshold(problem: Trained) -> tuple[float, Float[np.ndarray, " m"]]:
    """The k-th smallest score of the calibration rows, and the scores of all held-out rows."""
    scores = 1 - (problem.task.means(held_outputs(problem)) * held_rows(problem)[1]).sum(1)
    own = halves(problem)[0]
    return float(np.sort(scores[own])[int(np.ceil((len(own) + 1) * _COVERAGE)) - 1]), scores


def _continuous(problem: Trained) -> list[Hypothesis]:
    """The condition that few calibration rows tie with the row at the threshold.

    With trees or an always certain model, many rows tie.
    """
    if problem.held is None or len(halves(problem)[0]) < _FEWEST:
        return []
    threshold, scores = _threshold(problem)
    tied = float((scores[halves(problem)[0]] == threshold).mean() - 1 / len(halves(problem)[0]))
    return [
        Hypothesis(
            "share of scores equal to the threshold", tied, "<=", _TIES, "with ties, prediction sets cover more rows"
        )
    ]


class ConformalCoverage(AbstractGauge):
    """Let the score of a row for a class be one minus the probability that the model gives this class. Let n
    calibration rows be exchangeable with new rows, and let k = ceil((n + 1) 9/10). Score each calibration row for its
    own class, and let q be the k-th smallest of these n scores. The prediction set of a new row contains all classes
    whose score is at most q. This set contains the class of the new row with probability at least 9/10. If scores are
    continuous, the number covered among m new rows is beta-binomial with the parameters k and n + 1 - k, whatever the
    model. In at least nine of ten models, the central 95 % interval of this distribution contains the measured number.
    """

    title = "Coverage of 90 % conformal prediction sets, predicted as beta-binomial"
    source = Source("vovk2005conformal", note="main result, for split conformal prediction")
    stated = Kind.OWN
    population = TrainedNetworks(hidden=0, differentiable=False)
    relation = Estimate()
    level = 0.95
    ends = LIMITS
    control = Control("nine tenths of this coverage", lambda interval, problem: 0.9 * interval)
    controls = "how often prediction sets contain the class of a new row"
    unexplained = "coverage in groups of rows; the size of the sets"
    traced = False
    trials = 320
    trivial = 1.0  # all of it

    def passes(self, problem: Trained) -> float:
        return 0.5

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = _classes(problem)
        return [*found, *_continuous(problem)] if bool(found[0].holds) else found

    def predict(self, problem: Trained) -> Array:
        own, new = halves(problem)
        k = int(np.ceil((len(own) + 1) * _COVERAGE))
        law = stats.betabinom(len(new), k, len(own) + 1 - k)
        low, high = law.ppf((1 - self.level) / 2), law.ppf((1 + self.level) / 2)
        return jnp.asarray(np.array([low, law.mean(), high]) / len(new))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Choose the sets from one half of the held-out rows, and test them on the other half."""
        (threshold, scores), (_, new) = _threshold(problem), halves(problem)
        return jnp.asarray(measured_share(int((scores[new] <= threshold).sum()), len(new)))


def binned_error(confidence: Float[np.ndarray, " n"], right: Float[np.ndarray, "*s n"]) -> Float[np.ndarray, "*s"]:
    """The mean distance of the mean confidence from the share of right rows, over ten bins of equally many rows."""
    order = np.argsort(confidence, kind="stable")
    gap = (confidence - right)[..., order]
    bins = [np.abs(part.sum(-1)) for part in np.array_split(gap, _BINS, axis=-1)]
    return np.asarray(np.sum(bins, axis=0) / len(confidence))


def calibrated_errors(
    f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"], g: Float[np.ndarray, "m C"], seed: int
) -> Float[np.ndarray, " draws"]:
    """Binned errors on new rows that calibrated models have after a temperature is fitted to as many rows as in `f`.

    The classes of calibrated models are drawn from softmax(f/T) and softmax(g/T), where T is fitted to f and y. For
    each draw, a temperature is fitted by the log loss. This loss is the mean of log sum exp minus the mean logit of the
    drawn classes. Only the second mean depends on the draw, so the first mean is computed once for each temperature.

    Args:
        f: logits of the rows that the temperature is fitted to.
        y: the classes of these rows, as one-hot rows.
        g: logits of new rows, on which the errors are measured.
        seed: the seed of the draws.
    """
    rng = np.random.default_rng([seed, 6])
    slopes = np.log(temperature(f, y)) + _AROUND
    spread = np.array([np.mean(np.asarray(logsumexp(f * np.exp(-slope), axis=1))) for slope in slopes])
    scale = np.exp(-slopes[len(slopes) // 2])
    ends = np.cumsum(softmax(f * scale, axis=1), axis=1)[:, :-1]
    chance, errors = softmax(g * scale, axis=1).max(1), np.empty(_NULLS)
    for draw in range(_NULLS):
        drawn = (rng.random(len(f))[:, None] > ends).sum(1)
        loss = spread - np.exp(-slopes) * f[np.arange(len(f)), drawn].mean()
        confidence = softmax(g * np.exp(-slopes[loss.argmin()]), axis=1).max(1)
        errors[draw] = float(binned_error(confidence, (rng.random(len(g)) < chance).astype(float)))
    return errors


def resampled_errors(
    f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"], count: int, seed: int
) -> Float[np.ndarray, " draws"]:
    """Binned errors on `count` resampled rows, after a temperature was fitted to other resampled rows.

    Args:
        f: logits of the rows that the temperature is fitted to.
        y: the classes of these rows, as one-hot rows.
        count: the number of rows on which each error is measured.
        seed: the seed of the draws.
    """
    rng, slopes = np.random.default_rng([seed, 7]), np.log(temperature(f, y)) + _AROUND
    losses = np.stack([_log_losses(f * np.exp(-slope), y) for slope in slopes], 1)
    counts = rng.multinomial(len(f), np.full(len(f), 1 / len(f)), _NULLS)
    right, errors = (f.argmax(1) == y.argmax(1)).astype(float), np.empty(_NULLS)
    for draw, best in enumerate((counts @ losses).argmin(1)):
        new = rng.integers(0, len(f), count)
        confidence = softmax(f[new] * np.exp(-slopes[best]), axis=1).max(1)
        errors[draw] = float(binned_error(confidence, right[new]))
    return errors


def _log_losses(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
    return np.asarray(logsumexp(f, axis=1)) - (y * f).sum(1)


def share_as_uncalibrated(problem: Trained) -> float:
    """The share of calibrated models with a binned error at least as large as the model's, on the rows that fit T."""
    own, _ = few_of_each(problem)
    f, y = held_outputs(problem)[own], held_rows(problem)[1][own]
    p = softmax(f / temperature(f, y), axis=1)
    seen = binned_error(p.max(1), (p.argmax(1) == y.argmax(1)).astype(float))
    drawn = calibrated_errors(f, y, f, problem.seed + 1)
    return float((1 + (drawn >= seen).sum()) / (1 + len(drawn)))


class CalibrationAfterTemperature(AbstractGauge):
    """Let f be the logits of a model. Split its held-out rows into two halves, and take at most 5,000 rows of each. Let
    T be the temperature that minimises the log loss of softmax(f/T) on the first half. The binned calibration error on
    the second half is the mean of |mean confidence - share of right rows| over ten bins of equally many rows. Even a
    calibrated model has a binned error above 0. To find the distribution of the binned error of a calibrated model,
    draw classes from softmax(f/T) on both halves. Then fit the temperature again, to the drawn classes of the first
    half.

    The claim is that, in at least nine of ten models, the binned error lies between two ends. The lower end is the 1 %
    quantile of the distribution for a calibrated model. The upper end is the larger of two 99 % quantiles. The first is
    the 99 % quantile of the same distribution. The second allows for a calibration error that a single temperature
    leaves, and that the first half shows. It is the 99 % quantile of the binned error on rows resampled from the first
    half, with the temperature fitted to another resample. For calibrated models, at least 98 % of the binned errors lie
    between the two ends.

    The claim assumes that dividing all logits by one temperature makes the model calibrated. The first half tests this
    assumption: on the first half, at least a hundredth of calibrated models must have a binned error as large as the
    model's error.
    """

    title = "Calibration error after temperature scaling, predicted as that of a calibrated model"
    source = Source("guo2017calibration", note="main result; here compared with the error of a calibrated model")
    stated = Kind.OWN
    population = TrainedNetworks(hidden=0, differentiable=False)
    relation = Estimate()
    level = 0.98
    control = Control("a third of this error", lambda interval, problem: interval / 3)
    controls = "how far confidence can be trusted after one number is fitted"
    unexplained = "confidence before it is scaled; groups of rows in which confidence is too high or too low"
    traced = False
    trials = 320
    trivial = 1.0  # a calibration error is at most 1

    def passes(self, problem: Trained) -> float:
        return 0.5

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = _classes(problem)
        if bool(found[0].holds) and not problem.task.probable:
            found.append(Hypothesis("the scores are logits or probabilities", 0.0, ">=", 1.0, "margins are not"))
        if problem.held is None or not all(own.holds for own in found) or fresh_rows(problem).sum() < _FEWEST:
            return found
        share, why = share_as_uncalibrated(problem), "otherwise a single temperature cannot calibrate the confidence"
        name = (
            "share of calibrated models with at least this calibration error on the rows that determine the temperature"
        )
        return [*found, Hypothesis(name, share, ">=", _UNLIKELY, why)]

    def predict(self, problem: Trained) -> Array:
        own, new = few_of_each(problem)
        f, y = held_outputs(problem)[own], held_rows(problem)[1][own]
        errors = calibrated_errors(f, y, held_outputs(problem)[new], problem.seed)
        low, value, high = np.quantile(errors, [(1 - self.level) / 2, 0.5, (1 + self.level) / 2])
        seen = np.quantile(resampled_errors(f, y, len(new), problem.seed), (1 + self.level) / 2)
        return jnp.asarray([low, value, max(high, seen)])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Compare confidence and classes on the second half of the held-out rows."""
        own, new = few_of_each(problem)
        y = held_rows(problem)[1]
        p, y = softmax(held_outputs(problem)[new] / temperature(held_outputs(problem)[own], y[own]), axis=1), y[new]
        error = float(binned_error(p.max(1), (p.argmax(1) == y.argmax(1)).astype(float)))
        return jnp.asarray([error, error, error])
