"""The effect of direct preference optimisation on preference pairs, by log probabilities before and after training."""

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
    """The change of a policy's probabilities on preference pairs by training. `dpo_report` defines the margin and beta.

    A share is given as (share, low, high), where low and high are exact binomial confidence limits.

    Args:
        accuracy: the share of pairs with a positive margin, for which the policy prefers the chosen answer more than
            the reference does.
        loss: the mean of -log sigma(beta margin), with its confidence interval. Here sigma is the logistic function.
        pull: the mean of sigma(-beta margin), which is the weight of a pair in the gradient. This mean is 1/2 at the
            start of training.
        spent: the share of pairs with a weight below 0.01. These pairs hardly change the policy any more.
        fallen: the share of pairs whose chosen answer is less likely under the policy than under the reference.
        both_fallen: the share of pairs whose two answers are both less likely under the policy than under the
            reference. Probability has moved from these answers to other answers.
        moved: the mean change of the log probability of the chosen answer, with its confidence interval.
        must_fall: the share of pairs for which a next gradient step on the pair lowers the probability of the chosen
            answer. None without features.
        label: the mean of sigma(beta margin). At the minimum of the loss, this mean is the share of labels that prefer
            the chosen answer. Compare `label` with the share of annotators who prefer the chosen answer.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
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
    """Report how direct preference optimisation has changed the probabilities of chosen and rejected answers.

    The margin of a pair is log(pi(chosen)/pi(rejected)) - log(ref(chosen)/ref(rejected)). Here pi is the policy and ref
    the reference. Together with the log probabilities of the chosen answer, the margin shows how the log probability of
    the rejected answer has changed. The loss depends only on margins. So a chosen answer may become less likely if the
    rejected answer loses even more log probability than the chosen answer. Suppose that the policy is log-linear in
    features phi, as in a last layer. Then the next step on a pair lowers the probability of the chosen answer exactly
    if <phi_chosen - mean phi, phi_chosen - phi_rejected> < 0.

    Args:
        margins: the margins of the pairs, as defined above.
        logp_chosen: log probabilities of the chosen answers under the policy.
        logp_chosen_ref: log probabilities of the chosen answers under the reference.
        beta: the coefficient beta of the loss, positive.
        features: three arrays of shape (pairs, d): features of the chosen answers, features of the rejected answers,
            and the mean features under the policy.
        level: the confidence level of the intervals.

    Raises:
        ShapeError: if arrays have different shapes, or if there are fewer than 2 pairs.
        DataError: if a number is not finite, or a log probability is above 0.
        SettingError: if beta is not positive, or the level is outside (0, 1).

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
    """Return <phi_chosen - mean phi, phi_chosen - phi_rejected> for each pair."""
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
