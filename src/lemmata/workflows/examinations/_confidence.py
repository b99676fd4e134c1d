"""Test whether a model's stated probabilities agree with how often the model is right."""

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats
from scipy.special import log_softmax, softmax

from lemmata.subjects.trained_models import Trained, fresh_rows, held_outputs, temperature

from ._exchanged import exchanged

_HOT, _COLD = 1.25, 0.8
_USELESS = 10.0
_FEWEST = 100
_NOTHING = 1e-12
_APART, _SURE = 0.03, 3.0
_CHANCE = 0.001  # the probability of calling calibrated probabilities too high or too low


def confidence(trained: Trained) -> tuple[str, str] | None:
    """Return "high" or "low" for too high or low confidence, and a sentence; None if neither is shown.

    Held-out rows that are duplicates of training rows do not count, because the model is more certain of rows that it
    has seen. Let T be the temperature by which logits are divided for the least log loss. With few errors, T may be far
    from 1 by chance, so it counts only if a likelihood-ratio test rejects T = 1. With too few held-out rows, the result
    is None. The result is also None if the model may have been fitted to the held-out rows, because these rows then do
    not show whether its confidence is right.
    """
    if trained.held is None or not trained.task.probable or len(trained.held[0]) < _FEWEST:
        return None
    if exchanged(trained) is not None:
        return None
    new = fresh_rows(trained)
    if not new.any():
        return None
    f, y = held_outputs(trained)[new], trained.held[1][new]
    if excludes(f, y):
        return _of_shares(1 - trained.task.errors(f, y), softmax(f, axis=1).max(1))
    t = temperature(f, y)
    if _COLD < t < _HOT or not _rejects_one(f, y, t):
        return None
    word, first = "high" if t > 1 else "low", first_half(trained, len(f))
    chosen = temperature(f[first], y[first])
    t = chosen if (chosen > 1) == (t > 1) else t  # the temperature that an action recommends, if it is on the same side
    if t > _USELESS:
        return (
            word,
            "Confidence carries almost no information: to match the accuracy, the logits would have to be divided by "
            f"{t:.3g}.",
        )
    return word, f"Confidence is too {word}: divide the logits by {t:.3g}."


def first_half(trained: Trained, count: int) -> Bool[np.ndarray, " m"]:
    """Return a random half of the held-out rows, on which a temperature is chosen, as a mask.

    Args:
        trained: the model with its rows. Its seed draws the half.
        count: the number of held-out rows to divide.
    """
    return np.random.default_rng(trained.seed).permutation(count) < count // 2


def _rejects_one(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"], t: float) -> bool:
    """Whether a likelihood-ratio test (chi² with one degree of freedom) rejects temperature 1 in favour of t."""
    gain = (y * (log_softmax(f / t, axis=1) - log_softmax(f, axis=1))).sum()
    return bool(2 * gain > stats.chi2.ppf(1 - _CHANCE, 1))


def excludes(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> bool:
    """Whether a model gives some row's own class the probability 0.

    Probabilities can be 0 if they are shares of neighbours or trees. The log loss is then infinite, and the temperature
    with the least log loss depends on this row alone.

    Args:
        f: the logits of the rows.
        y: the classes of the rows, as one-hot rows.
    """
    return bool(((y * log_softmax(f, axis=1)).sum(1) <= np.log(_NOTHING)).any())


def _of_shares(right: Float[np.ndarray, " n"], sure: Float[np.ndarray, " n"]) -> tuple[str, str] | None:
    """Compare the mean probability of the predicted class with the share of rows for which this class is right."""
    apart = sure - right
    error = float(apart.std(ddof=1)) / len(apart) ** 0.5
    if abs(apart.mean()) <= max(_APART, _SURE * error):
        return None
    word = "high" if apart.mean() > 0 else "low"
    return word, (
        f"Confidence is too {word}: on the held-out rows, the predicted class has probability {sure.mean():.3g} on "
        f"average, but is right in {100 * right.mean():.3g} % of the rows."
    )
