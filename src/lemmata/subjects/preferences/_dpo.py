"""The effect of direct preference optimisation on a data set's pairs, from log probabilities before and after."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from lemmata.answers import Condition, inside, mean_interval, positive, share_interval
from lemmata.core import check_numbers
from lemmata.errors import SettingError, ShapeError

from ._draws import as_log_probabilities, as_vector, check_same_length

_CLAIMS = (
    "preferences.direct.dpo_gradient",
    "preferences.direct.chosen_can_fall",
    "preferences.direct.unseen_answers_take_the_mass",
    "preferences.margins.dpo_margin",
)
_SPENT = 0.01

Share = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class DpoReport:
    """The effect of training on a policy's preference pairs.

    Shares are given as (share, low, high), with exact binomial limits.

    Args:
        accuracy: pairs with a positive margin.
        loss: the mean of -log sigma(beta margin), with its interval.
        pull: the mean of sigma(-beta margin), the weight of an update; 1/2 at the start.
        spent: pairs whose weight is below 0.01, which no longer have an effect.
        fallen: pairs whose chosen answer is less likely than under the reference.
        both_fallen: pairs whose two answers have both become less likely. Their probability has moved to answers
            outside the data.
        moved: the mean change of the log probability of the chosen answer, with its interval.
        must_fall: pairs whose chosen answer loses probability by the next step on that pair, if features are given.
        label: the mean of sigma(beta margin). If margins are those of the smallest loss, it is the share of labels that
            prefer the chosen answer. Compare it with the agreement of annotators.
        conditions: the conditions for the results.
        claims: which state them.
    """

    accuracy: Share
    loss: Share
    pull: float
    spent: Share
    fallen: Share
    both_fallen: Share
    moved: Share
    must_fall: Share | None
    label: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS


def dpo_report(
    margins: ArrayLike,
    logp_chosen: ArrayLike,
    logp_chosen_ref: ArrayLike,
    *,
    beta: float,
    features: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
    level: float = 0.95,
) -> DpoReport:
    """Where the probability of chosen answers has gone under direct preference optimisation.

    The margin of a pair is log(pi(chosen)/pi(rejected)) - log(ref(chosen)/ref(rejected)). Together with the log
    probabilities of the chosen answer, it gives the log probabilities of the rejected answer. The loss only depends on
    margins, so a chosen answer may become less likely if the rejected one falls more. With features of a log-linear
    last layer, the next step on a pair lowers the probability of its chosen answer exactly if <phi_chosen - mean phi,
    phi_chosen - phi_rejected> < 0.

    Args:
        margins: reference-corrected, one for each pair.
        logp_chosen: log probabilities of the chosen answers under the policy.
        logp_chosen_ref: the same under the reference.
        beta: of the loss, positive.
        features: of the chosen answers, of the rejected ones, and their mean under the policy, three arrays (pairs, d).
        level: confidence of the intervals.

    Raises:
        ShapeError: for arrays of different shapes, or fewer than 2 pairs.
        DataError: for numbers that are not finite, or log probabilities above 0.
        SettingError: for a beta that is not positive, or a level outside (0, 1).

    Example:
        >>> from lemmata.subjects.preferences import dpo_report
        >>> found = dpo_report([2.0, 1.0, 3.0, -1.0], [-9.0, -12.0, -8.0, -7.0], [-8.0, -9.0, -9.0, -6.0], beta=0.1)
        >>> found.accuracy[0], found.fallen[0], found.both_fallen[0], round(found.pull, 3), round(found.loss[0], 3)
        (0.75, 0.75, 0.5, 0.469, 0.635)
    """
    level, beta = inside("level", level, 0.0, 1.0), positive("beta", beta)
    gaps, chosen = as_vector("margins", margins), as_log_probabilities("logp_chosen", logp_chosen)
    ref = as_log_probabilities("logp_chosen_ref", logp_chosen_ref)
    check_same_length(margins=gaps, logp_chosen=chosen, logp_chosen_ref=ref)
    moved = chosen - ref
    rejected = moved - gaps
    pull, losses = expit(-beta * gaps), -log_expit(beta * gaps)

    def share(found: np.ndarray) -> Share:
        return float(found.mean()), *share_interval(float(found.sum()), float((~found).sum()), level)

    conditions = (
        Condition("pairs are independent", why="several pairs with the same prompt are not independent"),
        Condition(
            "the training step is on the pair itself", why="training steps on other pairs change the same weights"
        ),
    )
    return DpoReport(
        accuracy=share(gaps > 0),
        loss=(float(losses.mean()), *mean_interval(losses, level)),
        pull=float(pull.mean()),
        spent=share(pull < _SPENT),
        fallen=share(moved < 0),
        both_fallen=share((moved < 0) & (rejected < 0)),
        moved=(float(moved.mean()), *mean_interval(moved, level)),
        must_fall=None if features is None else share(_alignment(features, len(gaps)) < 0),
        label=float(1 - pull.mean()),
        conditions=conditions,
    )


def _alignment(features: tuple[ArrayLike, ArrayLike, ArrayLike], pairs: int) -> np.ndarray:
    """<phi_chosen - mean phi, phi_chosen - phi_rejected> of each pair."""
    if not isinstance(features, tuple | list) or len(features) != 3:
        rule = "three arrays (chosen, rejected, mean under the policy)"
        raise SettingError("features", found=f"a {type(features).__name__}", rule=rule)
    chosen, rejected, mean = (np.asarray(part) for part in features)
    for name, part in (("chosen", chosen), ("rejected", rejected), ("mean", mean)):
        if part.ndim != 2 or part.shape != chosen.shape or len(part) != pairs:
            raise ShapeError(
                f"features, {name}",
                found=f"shape {part.shape}",
                rule=f"shape ({pairs}, d), with the same d for all three",
            )
        check_numbers(f"features, {name}", part)
    return np.sum((chosen - mean).astype(float) * (chosen - rejected), axis=1)
