"""Membership: how many training rows an attack finds that is hardly ever wrong about other rows.

This theory controls what the loss of a row tells about membership at a false positive rate of 1 %, where the area under
the curve says little. It asks for a stationary point of a known objective; it leaves unexplained stronger attacks.
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
    """How many of so many rows that were not seen the attack may call members: 1 %, and at least one."""
    return max(int(_RATE * new), 1)


def found_members(seen: Float[np.ndarray, " n"], left_out: Float[np.ndarray, " n"], new: int) -> Float[np.ndarray, "3"]:
    """Low end, value and high end of the share of members found at the threshold that `new` unseen rows will set.

    The k-th smallest of m exchangeable losses has a beta(k, m - k + 1) quantile of their law, so the number of n others
    below it is beta-binomial; its quantiles are places among the losses of rows left out.

    Args:
        seen: losses of training rows.
        left_out: losses of the same rows in models that have not seen them.
        new: how many rows set the threshold.
    """
    n, k = len(seen), allowed(new)
    law = stats.betabinom(n, k, new - k + 1)
    low, middle, high = (int(law.ppf(p)) for p in ((1 - _LEVEL) / 2, 0.5, (1 + _LEVEL) / 2))
    places = np.concatenate([[-np.inf], np.sort(left_out), [np.inf]])  # place j: j losses are at or below it
    beyond = places[high + 1]  # the losses below it; where others equal it, nothing parts these from it
    thresholds = places[low], places[middle], beyond if beyond == places[high] else np.nextafter(beyond, -np.inf)
    return np.array([np.mean(seen <= threshold) for threshold in thresholds])


class MembersFoundAtOnePercent(AbstractGauge):
    """An attacker calls rows members where their log loss is at most the k-th smallest loss of m rows that the model
    has not seen, k = m/100 rounded down and at least 1: about 1 % of other rows are called so. Were the losses of n
    training rows left out (one Newton step each, from a stationary point) exchangeable with those of the m rows, the
    number of them below the threshold would be beta-binomial with parameters n, k, m - k + 1. The shares of training
    rows whose own losses are at most the losses left out at its central 97 % hold the share of training rows that the
    attack finds, in at least nine of ten models.
    """

    title = "Members found at 1 % false positives"
    source = Source(
        "shokri2017membership", note="the attack by the loss; its rare certainties, predicted by leaving out"
    )
    stated = Kind.OWN
    population = TrainedNetworks(rows=150, decay=0.003, hidden=8, widths=(4, 12), held=1000)
    relation = Estimate()
    control = Control("a third of that share", lambda interval, problem: interval / 3)
    controls = "how many training rows are revealed by their loss to an attacker who must hardly ever be wrong"
    unexplained = "attacks that know more than one loss, or that train models themselves"
    traced = False
    shared = (polished_copy, rows_left_out)
    trivial = 1.0  # all of them

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
        """Losses of the converged copy, on training rows and on held-out rows without duplicates, with exact limits."""
        model, task = polished_copy(problem).model, problem.task
        x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
        seen, new = task.losses(model.outputs(problem.x), problem.y), task.losses(model.outputs(x), y)
        threshold = np.sort(new)[allowed(len(new)) - 1]
        return jnp.asarray(measured_share(int((seen <= threshold).sum()), len(seen)))
