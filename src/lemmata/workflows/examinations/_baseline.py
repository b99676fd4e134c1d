"""Compute the baseline, which is one constant answer for all rows, and test whether the model beats it."""

import math

import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from lemmata.answers import share_interval
from lemmata.subjects.trained_models import Trained, held_outputs, held_rows, training_outputs
from lemmata.workflows.records.examinations import Baseline, ClassScore, GaugeInterval

LEVEL = 0.95
UNBALANCED = 4.0
"""Classes are unbalanced if the most frequent class has this many times as many rows as the rarest class."""
GUESSING = 0.8
"""A model counts as guessing if its error is at least this multiple of the error of a constant answer."""
_INFORMED = 0.95
_ORDERED, _SURELY, _FEWEST = 0.6, 1e-3, 10
"""A rank correlation shows an order if it is at least `_ORDERED` and its p-value is below `_SURELY`.

The correlation is computed on at least `_FEWEST` rows.
"""


def baseline(trained: Trained, f: Float[np.ndarray, "m C"], y: Float[np.ndarray, "m C"], x: np.ndarray) -> Baseline:
    """Compare the model with one answer for all rows. The difference of the two errors is computed row by row.

    The constant answer is computed from the training rows: their most frequent class, the mean of their targets, or the
    frequencies of their tokens. For these frequencies, each token is counted once more than it occurs, so that no
    frequency is 0. For classes, see `paired_interval`. For values and documents, the interval is Student's.

    Args:
        trained: the model with its training rows.
        f: the model's outputs on the rows to compare.
        y: the targets of these rows.
        x: the inputs of these rows, which are used only for documents of a language model.
    """
    task, n = trained.task, len(y)
    own = task.errors(f, y)
    if task.is_language:
        words, other = "the frequencies of tokens", _by_frequencies(trained.x, x)
    elif task.is_classification:
        k = int(trained.y.sum(0).argmax())
        words, other = f"always answering {task.labels[k]}", 1.0 - y[:, k]
    else:
        middle = trained.y.mean(0)
        words, other = "the mean of the training targets", ((y - middle) ** 2).sum(1)
    gain, error = other - own, float(other.mean())
    if task.is_classification:
        low, high = paired_interval(int((gain > 0).sum()), int((gain < 0).sum()), n)
        ends = GaugeInterval(float(gain.mean()), low, high, LEVEL)
        return Baseline(words, error, ends, None, *_classes(trained, f, y))
    ends = mean_interval(gain)
    explained = None
    if not task.is_language and error > 0:
        kept = float(own.mean()) / error
        spread = mean_interval((own - kept * other) / error)
        explained = GaugeInterval(1 - kept, 1 - kept - (spread.upper - spread.value),
                                  min(1 - kept + spread.upper - spread.value, 1.0), LEVEL)  # fmt: skip
    return Baseline(words, error, ends, explained)


def held_baseline(trained: Trained) -> Baseline | None:
    """Return the baseline on the held-out rows; None for a single row, because one row gives no interval."""
    x, y = held_rows(trained)
    return baseline(trained, held_outputs(trained), y, x) if len(y) > 1 else None


def beats_one_answer(trained: Trained) -> bool:
    """Whether the model significantly beats one answer for all rows, on its training rows or on held-out rows."""
    if len(trained.y) > 1 and baseline(trained, training_outputs(trained), trained.y, trained.x).beaten:
        return True
    beside = None if trained.held is None else held_baseline(trained)
    return beside is not None and beside.beaten is True


def worse_than_one_answer(trained: Trained, own: Baseline | None, error: float) -> str | None:
    """Return a sentence if the model is significantly worse than one constant answer for all rows; otherwise None."""
    if own is None or own.beaten is not False:
        return None
    if trained.task.is_classification:
        told = f"{own.words} is wrong on {100 * own.error:.3g} % of the held-out rows, but the model is wrong on "
        told += f"{100 * error:.3g} %"
    else:
        told = f"the error of {own.words} is {own.error:.3g}, but the error of the model is {error:.3g}"
    return f"The model is worse than one constant answer for all rows: {told}."


def parts_classes(trained: Trained, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> bool:
    """Whether the outputs separate the classes, even if a constant answer makes as few errors.

    A constant answer makes few errors if classes have unequal sizes. The outputs separate the classes if the share of
    errors, averaged over classes, is well below its value for a constant answer, or if the log loss is below the log
    loss of the class shares.
    """
    if not trained.task.is_classification:
        return False
    counts = y.sum(0)
    here, shares = counts > 0, counts / counts.sum()
    wrong = (trained.task.errors(f, y) @ y)[here] / counts[here]
    if wrong.mean() < GUESSING * (1 - 1 / here.sum()):
        return True
    surprise = -float(shares[here] @ np.log(shares[here]))
    return trained.task.probable and float(trained.task.losses(f, y).mean()) < _INFORMED * surprise


def order_kept(trained: Trained) -> float | None:
    """Return the rank correlation of outputs and targets if it is large and significant; otherwise None.

    The correlation is Spearman's, on held-out rows if there are at least ten, and otherwise on training rows. The
    correlation is computed only for a regression with a single output.

    Args:
        trained: the model with its rows.
    """
    if trained.task.is_classification or trained.task.is_language or trained.y.shape[1] != 1:
        return None
    f, y = training_outputs(trained), trained.y
    if trained.held is not None and len(trained.held[0]) >= _FEWEST:
        f, y = held_outputs(trained), held_rows(trained)[1]
    if len(y) < _FEWEST or not np.isfinite(f).all() or np.ptp(f) == 0 or np.ptp(y) == 0:
        return None
    value, chance = np.asarray(stats.spearmanr(f[:, 0], y[:, 0]), float).tolist()
    return value if value >= _ORDERED and chance < _SURELY else None


def paired_interval(right: int, wrong: int, n: int) -> tuple[float, float]:
    """Return an interval at 95 % for the error of a constant answer minus the error of the model, on the same rows.

    The interval is Tango's: it contains the differences d that a score test of paired shares does not reject. The
    interval also contains 0 unless McNemar's exact test rejects 0, because the score test rejects too often if few rows
    differ.

    Args:
        right: the number of rows that only the model gets right.
        wrong: the number of rows that only the constant answer gets right.
        n: the number of all rows.
    """
    limit = float(stats.norm.ppf((1 + LEVEL) / 2))

    def score(d: float) -> float:
        linear = -right - wrong + (2 * n - right + wrong) * d
        root = math.sqrt(max(linear**2 + 8 * n * wrong * d * (1 - d), 0.0))
        share = (root - linear) / (4 * n)  # of rows that only the constant answer gets right, if the difference is d
        variance = n * (2 * share + d * (1 - d))
        return (right - wrong - n * d) / math.sqrt(max(variance, np.finfo(float).tiny))

    middle, far = (right - wrong) / n, 1 - 1e-12
    low = -1.0 if score(-far) < limit else optimize.root_scalar(lambda d: score(d) - limit, bracket=(-far, middle)).root
    high = 1.0 if score(far) > -limit else optimize.root_scalar(lambda d: score(d) + limit, bracket=(middle, far)).root
    exact = share_interval(float(right), float(wrong), LEVEL) if right + wrong else (0.0, 1.0)
    return (low if exact[0] > 0.5 else min(low, 0.0)), (high if exact[1] < 0.5 else max(high, 0.0))


def mean_interval(values: Float[np.ndarray, " m"]) -> GaugeInterval:
    """Return the mean of at least two values, with Student's interval at 95 %."""
    n, value = len(values), float(values.mean())
    width = float(stats.t.ppf((1 + LEVEL) / 2, n - 1)) * float(values.std(ddof=1)) / n**0.5
    return GaugeInterval(value, value - width, value + width, LEVEL)


def _by_frequencies(x: np.ndarray, documents: np.ndarray) -> Float[np.ndarray, " m"]:
    """Return each document's loss in nats per token, if tokens are predicted by training counts plus one."""
    known, told = x[:, 1:], documents[:, 1:]
    tokens = np.union1d(known[known >= 0], told[told >= 0])
    counts = np.ones(len(tokens))
    np.add.at(counts, np.searchsorted(tokens, known[known >= 0]), 1.0)
    surprise = -np.log(counts / counts.sum())
    found = np.where(
        told >= 0, surprise[np.searchsorted(tokens, np.maximum(told, tokens[0])).clip(0, len(tokens) - 1)], 0
    )
    return found.sum(1) / np.maximum((told >= 0).sum(1), 1)


def _classes(trained: Trained, f: np.ndarray, y: np.ndarray) -> tuple[float | None, list[ClassScore]]:
    """Return, for unbalanced classes, the error averaged over classes, and the scores of each class, rarest first."""
    counts, said = y.sum(0), np.eye(y.shape[1])[f.argmax(1)]
    here = np.flatnonzero(counts)
    if len(here) < 2 or counts[here].max() < UNBALANCED * counts[here].min():
        return None, []
    hits, named = (said * y).sum(0), said.sum(0)
    scores = [
        ClassScore(str(trained.task.labels[k]), int(counts[k]), float(hits[k] / counts[k]),
                   float(hits[k] / named[k]) if named[k] else None)
        for k in here[np.argsort(counts[here], kind="stable")]
    ]  # fmt: skip
    return 1 - float(np.mean([own.recall for own in scores])), scores
