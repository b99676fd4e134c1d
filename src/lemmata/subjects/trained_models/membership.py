"""Membership: which share of training rows an attack finds, if it calls only 1 % of other rows members.

The theory predicts how well the loss of a row shows membership at a false positive rate of 1 %. At this rate, the area
under the ROC curve has little meaning. The theory needs a stationary point of a known objective. It does not cover
stronger attacks.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import stats

from lemmata.engine.claims import Control, Estimate, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._outputs import held_rows
from ._polish import polished_copy
from .leaving_out import measured_share

ABOUT = {"tool": "statistics", "architecture": "any", "object": "memory"}

_RATE = 0.01
_LEVEL = 0.97


def allowed(new: int) -> int:
    """The number of `new` unseen rows that the attack may call members: 1 % of them, and at least one."""
    return max(int(_RATE * new), 1)


def found_members(seen: Float[np.ndarray, " n"], left_out: Float[np.ndarray, " n"], new: int) -> Float[np.ndarray, "3"]:
    """Predict the share of members found at the threshold that `new` unseen rows set: low end, value and high end.

    The k-th smallest of m exchangeable losses is a quantile of their distribution. The level of this quantile has the
    distribution beta(k, m - k + 1). So among n other losses, the number below this quantile is beta-binomial. The
    quantiles of this number are ranks among the losses of left-out rows.

    Args:
        seen: losses of training rows.
        left_out: losses of the same rows in models that have not seen them.
        new: the number of unseen rows that set the threshold.
    """
    n, k = len(seen), allowed(new)
    law = stats.betabinom(n, k, new - k + 1)
    low, middle, high = (int(law.ppf(p)) for p in ((1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2))
    places = np.concatenate([[-np.inf], np.sort(left_out), [np.inf]])  # at place j, j losses are at or below it
    beyond = places[high + 1]  # the losses below it; losses that equal it cannot be separated from it
    thresholds = places[low], places[middle], beyond if beyond == places[high] else np.nextafter(beyond, -np.inf)
    return np.array([np.mean(seen <= threshold) for threshold in thresholds])


class MembersFoundAtOnePercent(AbstractGauge):
    """Let m rows be unseen by the model, and let k = m/100, rounded down and at least 1. An attacker calls a row a
    member (a training row) if its log loss is at most the k-th smallest loss of the m rows. So about 1 % of other rows
    are called members. Leave each of n training rows out by one Newton step from a stationary point. Suppose that the
    losses of these left-out rows were exchangeable with the losses of the m rows. Then the number of left-out losses
    below the attacker's threshold would be beta-binomial with parameters n, k, m - k + 1. Take the central 97 % of this
    distribution. Its lower end is a rank among the left-out losses, and the left-out loss of this rank is a low
    threshold. Its upper end gives a high threshold in the same way. The predicted interval goes from the share of
    training rows whose own loss is at most the low threshold to the share whose own loss is at most the high threshold.
    In at least nine of ten models, this interval contains the share of training rows that the attack finds.
    """

    title = "Share of training rows that a loss attack finds at 1 % false positives"
    source = Source(
        "shokri2017membership", note="the attack by the loss at few false positives; here predicted by leaving rows out"
    )
    stated = Kind.OWN
    population = TrainedNetworks(rows=150, decay=0.003, hidden=8, widths=(4, 12), held=1000)
    relation = Estimate()
    control = Control("a third of this share", lambda interval, problem: interval / 3)
    controls = "how many training rows an attacker finds from one loss of each row, with few false alarms on other rows"
    unexplained = "attacks that use more than one loss of a row, or train models of their own"
    traced = False
    shared = (polished_copy, rows_left_out)
    trivial = 1.0  # all members are found

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem)

    def bytes(self, problem: Trained) -> int:
        return leaving_out_bytes(problem)

    def hypotheses(self, problem: Trained) -> list:
        return stationary(problem, movement=0.1)

    def predict(self, problem: Trained) -> Array:
        task = problem.task
        seen = task.losses(polished_copy(problem).model.outputs(problem.x), problem.y)
        left_out = task.losses(rows_left_out(problem).outputs, problem.y)
        new = 0 if problem.held is None else int(fresh_rows(problem).sum())
        return jnp.asarray(found_members(seen, left_out, new or len(seen)))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Find training rows by losses in the copy at a stationary point; held-out rows set the threshold."""
        model, task = polished_copy(problem).model, problem.task
        x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
        seen, new = task.losses(model.outputs(problem.x), problem.y), task.losses(model.outputs(x), y)
        threshold = np.sort(new)[allowed(len(new)) - 1]
        return jnp.asarray(measured_share(int((seen <= threshold).sum()), len(seen)))
