"""A threshold attack: a lower bound on the privacy parameter eps.

The bound comes from scores of a canary (a test row) in training runs with the canary and without it.
"""

import dataclasses
import math
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import inside
from lemmata.core import array_of, plain_labels
from lemmata.errors import DataError, ShapeError


@dataclasses.dataclass(frozen=True)
class ThresholdAttack:
    """A threshold of the canary's scores, and the lower bound on eps that the error rates of the attack give.

    Args:
        eps: the lower bound: with confidence 1 - alpha, the training is not (e, delta)-private for any e below it.
        ceiling: the largest lower bound on eps that this number of held-out scores (the second half) can give.
        threshold: the threshold with the best bound on the first half of the scores.
        above: the event on which the attack is based: True for a score above the threshold, False for a score at or
            below it.
        member: whether the event is more likely with the canary than without it.
        hits, trials: how often the event happened in held-out runs of the kind in which it is more likely (with or
            without the canary), and the number of these runs.
        false_hits, false_trials: how often the event happened in the held-out runs of the other kind, and their number.
        likelier: the lower confidence limit of the event's probability in runs of the kind in which it is more likely.
        rarer: the upper confidence limit of the event's probability in runs of the other kind.
        delta, alpha: the delta and the alpha that were passed to `threshold_attack`.
    """

    eps: float
    ceiling: float
    threshold: float
    above: bool
    member: bool
    hits: int
    trials: int
    false_hits: int
    false_trials: int
    likelier: float
    rarer: float
    delta: float
    alpha: float

    def at(self, delta: float) -> float:
        """Return the lower bound on eps at another delta. The confidence 1 - alpha holds for all deltas together.

        Args:
            delta: the delta of (eps, delta)-privacy.
        """
        return max(math.log((self.likelier - delta) / self.rarer), 0.0) if self.likelier > delta else 0.0


def threshold_attack(with_canary: Any, without: Any, delta: float = 1e-5, alpha: float = 0.05) -> ThresholdAttack:
    """Bound eps from below, from independent scores of a canary (a test row) in training runs with it and without it.

    (eps, delta)-privacy requires P(E) <= e^eps Q(E) + delta for every event E. Here P and Q are the distributions of
    the score with and without the canary, in either order. The event E is a score above a threshold, or a score at or
    below it. The threshold is chosen on the first half of the scores. On the second half, let p be the lower exact
    (Clopper-Pearson) confidence limit of P(E) at level alpha/2. Let q be the upper limit of Q(E) at level alpha/2.
    Then, with confidence 1 - alpha,

        eps >= log((p - delta)/q).

    Args:
        with_canary: scores of the canary after training with it, one for each run.
        without: scores of the canary after training without it, one for each run.
        delta: the delta of (eps, delta)-privacy, inside (0, 1).
        alpha: the largest allowed probability that the bound is above the true eps.

    Raises:
        ShapeError: for fewer than 4 scores of either kind.
        DataError: for scores that are not finite.
        SettingError: for a delta or alpha outside (0, 1).

    Example:
        >>> draw = np.random.default_rng(0)
        >>> found = threshold_attack(draw.normal(3.0, 1.0, 1000), draw.normal(0.0, 1.0, 1000))
        >>> round(found.eps, 2), round(found.ceiling, 2)
        (4.16, 4.91)
    """
    delta, alpha = inside("delta", delta, 0.0, 1.0), inside("alpha", alpha, 0.0, 1.0)
    groups = [_scores(name, values) for name, values in (("with_canary", with_canary), ("without", without))]
    first, second = [own[: len(own) // 2] for own in groups], [own[len(own) // 2 :] for own in groups]
    thresholds = np.unique(np.concatenate(first))
    beyond = [len(own) - np.searchsorted(np.sort(own), thresholds, side="right") for own in first]
    options = []
    for above in (True, False):
        counts = [count if above else len(own) - count for count, own in zip(beyond, first, strict=True)]
        for member in (True, False):
            likelier, other = (0, 1) if member else (1, 0)
            sizes = len(first[likelier]), len(first[other])
            low, high = _limits(counts[likelier], sizes[0], counts[other], sizes[1], alpha)
            bounds = np.log(np.maximum(low - delta, 1e-300) / high)
            place = int(bounds.argmax())
            options.append((float(bounds[place]), float(thresholds[place]), above, member))
    _, threshold, above, member = max(options)
    held = second if member else second[::-1]
    hits, false_hits = (int(((own > threshold) == above).sum()) for own in held)
    trials, false_trials = (len(own) for own in held)
    likelier, rarer = _limits(np.array([hits]), trials, np.array([false_hits]), false_trials, alpha)
    surest, rarest = _limits(np.array([trials]), trials, np.array([0]), false_trials, alpha)
    found = ThresholdAttack(
        eps=0.0,
        ceiling=max(math.log(max(surest[0] - delta, 1e-300) / rarest[0]), 0.0),
        threshold=threshold,
        above=above,
        member=member,
        hits=hits,
        trials=trials,
        false_hits=false_hits,
        false_trials=false_trials,
        likelier=float(likelier[0]),
        rarer=float(rarer[0]),
        delta=delta,
        alpha=alpha,
    )
    return dataclasses.replace(found, eps=found.at(delta))


def _limits(
    hits: np.ndarray, trials: int, others: np.ndarray, size: int, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return a lower limit of the first probability and an upper limit of the second, at alpha/2 and for each count."""
    low = np.where(hits > 0, stats.beta.ppf(alpha / 2, np.maximum(hits, 1), trials - hits + 1), 0.0)
    high = np.where(others < size, stats.beta.isf(alpha / 2, others + 1, np.maximum(size - others, 1)), 1.0)
    return low, high


def _scores(name: str, values: Any) -> Float[np.ndarray, " n"]:
    found = np.asarray(plain_labels(array_of(name, values)))
    if found.dtype.kind not in "fiub":
        raise DataError(name, found=f"entries of type {found.dtype}", rule="real numbers, one score for each run")
    found = found.astype(float)
    if found.ndim != 1 or len(found) < 4:
        raise ShapeError(name, found=f"shape {found.shape}", rule="one score for each run, and at least 4 runs")
    if not np.isfinite(found).all():
        raise DataError(name, found=f"{(~np.isfinite(found)).sum()} scores that are not finite", rule="finite scores")
    return found
