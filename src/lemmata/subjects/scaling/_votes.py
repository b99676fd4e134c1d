"""The number of votes that a plurality vote needs, and the largest accuracy of many attempts if a verifier errs."""

import dataclasses
import math

import numpy as np
from scipy import stats

from lemmata.answers import Condition, inside, probability, whole
from lemmata.errors import SettingError

from ._records import AbstractFinding
from ._shares import Share, joint, read_share

VOTES = "scaling.votes.plurality_exponent"
VERIFIER = "scaling.votes.verifier_ceiling"
_MOST = 200_000
_SUMMED = 10**7  # votes over which the exact sum fits into memory


@dataclasses.dataclass(frozen=True, kw_only=True)
class Votes(AbstractFinding):
    """The number of votes with which a plurality vote has the allowed error; infinite if no number is enough.

    Args:
        exponent: the rate at which the error falls, error ~ exp(-exponent votes) / sqrt(votes).
        sure: a number of votes that is enough for all possible probabilities of the other wrong answers. This number
            comes from a sum over all wrong answers.
    """

    exponent: float
    sure: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ceiling(AbstractFinding):
    """The accuracy that no number of attempts exceeds, with this verifier.

    Args:
        p, tpr, fpr: the probabilities that an attempt is right, that a right answer is accepted and that a wrong one
            is.
    """

    p: float
    tpr: float
    fpr: float

    def accuracy(self, attempts: int) -> float:
        """Return the accuracy of a random accepted answer among `attempts`, or of a random answer if none is accepted.

        Args:
            attempts: the number of attempts, at least 1.

        Raises:
            SettingError: for a number of attempts that is not a whole number of at least 1.
        """
        attempts = whole("attempts", attempts, 1)
        accepted = self.p * self.tpr + (1 - self.p) * self.fpr
        none = (1 - accepted) ** attempts
        blind = self.p * (1 - self.tpr) / (1 - accepted) if accepted < 1 else 0.0
        return float((1 - none) * self.value + none * blind)


def plurality_error(p1: float, p2: float, votes: int, ahead: int = 0) -> float:
    """Return the probability that answer 2, which starts with `ahead` votes, ties with or beats answer 1.

    The number of votes for the two answers together is binomial. Given this number, the number of votes for answer 1 is
    binomial. The sums are exact.

    Args:
        p1: the probability of answer 1 in one vote.
        p2: the probability of answer 2 in one vote.
        votes: the number of votes that are cast.
        ahead: the number of votes that answer 2 already has.

    Raises:
        SettingError: for probabilities outside [0, 1] or with a sum above 1, for numbers of votes that are negative or
            not whole, or for more than 10^7 votes.

    >>> round(plurality_error(0.6, 0.4, 3), 6)
    0.352
    """
    p1, p2, votes, ahead = probability("p1", p1), probability("p2", p2), whole("votes", votes), whole("ahead", ahead)
    _check_sum(p1, p2)
    if votes > _SUMMED:
        rule, remedy = f"at most {_SUMMED:,} votes", "use the exponent of votes_needed for more votes"
        raise SettingError("votes", found=f"{votes:,}", rule=rule, remedy=remedy)
    two = p1 + p2
    if two == 0:
        return 1.0  # neither answer gets a vote
    cast = np.arange(votes + 1)
    return float(stats.binom.pmf(cast, votes, min(two, 1.0)) @ stats.binom.cdf((cast + ahead) // 2, cast, p1 / two))


def votes_needed(p1: Share, p2: Share, error: float | int, *, level: float | int = 0.9) -> Votes:
    """Return the number of votes with which a plurality vote is wrong with probability at most `error`.

    The value is the smallest number such that a condition holds for this and all larger numbers of votes. The condition
    is that, with probability at most `error`, the strongest wrong answer gets at least as many votes as the right
    answer. This probability is computed by exact sums. This probability falls as exp(-c K)/sqrt(K) in the number K of
    votes, where c = -log(1 - (sqrt p1 - sqrt p2)²). The number `sure` is enough for all possible probabilities of other
    wrong answers. If p1 and p2 are given as (successes, trials), they have exact limits, which imply the interval of
    the number of votes.

    Args:
        p1: the probability of the right answer, or (successes, trials).
        p2: the probability of the strongest wrong answer, or (successes, trials).
        error: the largest allowed probability that the vote is wrong.
        level: the confidence of the interval.

    Raises:
        SettingError, DataError: for probabilities outside [0, 1] or with a sum above 1, counts larger than n, or an
            error outside (0, 1). The error is also raised for p1 <= p2, because more votes then increase the error.

    >>> votes = votes_needed(0.5, 0.3, 0.01)
    >>> votes.value, votes.sure, round(votes.exponent, 4)
    (110.0, 299.0, 0.0257)
    >>> print(votes_needed((50, 100), (30, 100), 0.01))
    110, 90 % interval 29 to infinity
    - the counts do not show that the right answer is the more frequent one
    """
    error = inside("error", error, 0.0, 1.0)
    each = joint(level, (p1, p2))
    right, rival = read_share("p1", p1, each), read_share("p2", p2, each)
    _check_sum(right.value, rival.value)
    if right.value <= rival.value:
        rule = "p1 above p2, because the vote tends to the wrong answer otherwise"
        raise SettingError("p1 and p2", found=f"{right.value:g} and {rival.value:g}", rule=rule)
    value = _smallest(right.value, rival.value, error)
    most = _smallest(right.low, rival.high, error) if right.low > rival.high else math.inf
    least = _smallest(right.high, min(rival.low, 1 - right.high), error)
    notes = () if math.isfinite(most) else ("the counts do not show that the right answer is the more frequent one",)
    exponent = _exponent(right.value, rival.value)
    sure = _enough(right.value, rival.value, error) if rival.value > 0 else value
    return Votes(
        value=value, interval=(least, most), level=level, claim=VOTES, notes=notes, exponent=exponent,
        sure=max(sure, value),
        hypotheses=(
            Condition("samples are independent"),
            Condition("the right answer is the most frequent: p1 - p2", right.value - rival.value, True),
        ),
    )  # fmt: skip


def _check_sum(p1: float, p2: float) -> None:
    if p1 + p2 > 1 + 1e-12:
        raise SettingError("p1 + p2", found=f"{p1 + p2:g}", rule="at most 1, because each sample gives only one answer")


def _exponent(p1: float, p2: float) -> float:
    # sqrt p1 - sqrt p2 without cancellation
    apart = (p1 - p2) / (math.sqrt(p1) + math.sqrt(p2))
    return -math.log1p(-(apart**2)) if apart < 1 else math.inf


def _smallest(p1: float, p2: float, error: float) -> float:
    """Return the least number such that the error is allowed for this and for every larger number of votes.

    One more vote can increase the error, because the error falls along odd numbers and along even numbers separately.
    A number is good if its error is allowed. So the search finds the first good odd number and the first good even
    number. Let n be the larger of the two. Then all numbers from n - 1 on are good.
    """

    def end(parity: int) -> int:
        low, high = parity - 2, parity
        while plurality_error(p1, p2, high) > error:
            low, high = high, 2 * high + parity % 2
            if high > _MOST:
                exponent = _exponent(p1, p2)
                about = -math.log(error) / exponent if exponent > 0 else math.inf
                rule = f"at most {_MOST:,} votes, but about {about:.2g} would be needed"
                remedy = "pass a larger error, or probabilities that differ more"
                raise SettingError("votes_needed", found=f"p1 = {p1:g}, p2 = {p2:g}", rule=rule, remedy=remedy)
        while high - low > 2:
            middle = low + 2 * ((high - low) // 4)
            low, high = (low, middle) if plurality_error(p1, p2, middle) <= error else (middle, high)
        return high

    return float(max(end(1), end(2)) - 1)


def _enough(p1: float, p2: float, error: float) -> float:
    """Return a number of votes that is enough however the remaining probability is split into answers of at most p2.

    Consider an answer of probability q <= p2. Consider the event that this answer has at least one vote and at least as
    many votes as the right answer. The probability of this event is at most a mean: the mean number of votes for the
    answer, counted only in this event. This mean is K q times the probability that K - 1 other votes leave the answer
    at most one vote behind. The latter probability increases with q. The sum over answers replaces q by 1 - p1. The
    right answer gets no vote with probability (1 - p1)^K.
    """

    def bound(votes: int) -> float:
        return (1 - p1) ** votes + votes * (1 - p1) * plurality_error(p1, p2, votes - 1, ahead=1)

    low = high = math.ceil(1 / _exponent(p1, p2))  # from here on, the bound falls
    while bound(high) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) <= error else (middle, high)
    return float(high)


def verifier_ceiling(p: Share, tpr: Share, fpr: Share, *, level: float | int = 0.9) -> Ceiling:
    """Return the accuracy to which best-of-K tends for large K if a verifier accepts or rejects each answer.

    Let t and f be the probabilities that the verifier accepts a right and a wrong answer. For any number of attempts,
    an accepted answer is right with probability p t / q, where q = p t + (1 - p) f. More attempts ensure that some
    answer is accepted, but not that it is right. The ceiling is below 1 unless f = 0 or p = 1.

    Args:
        p: the probability that one attempt is right.
        tpr: the probability t that a right answer is accepted.
        fpr: the probability f that a wrong answer is accepted. Each of p, tpr and fpr is a probability or (successes,
            trials).
        level: the confidence of the interval, for all counts together.

    Raises:
        SettingError, DataError: for probabilities outside [0, 1], counts larger than n, or a verifier that accepts
            nothing.

    >>> ceiling = verifier_ceiling(0.2, 0.8, 0.1)
    >>> print(ceiling)
    0.6667, exactly
    >>> round(ceiling.accuracy(8), 3), round(ceiling.accuracy(1000), 3)
    (0.598, 0.667)
    >>> print(verifier_ceiling((20, 100), (80, 100), (10, 100)))
    0.6667, 90 % interval 0.346 to 0.8913
    """
    each = joint(level, (p, tpr, fpr))
    right, accepted, mistaken = read_share("p", p, each), read_share("tpr", tpr, each), read_share("fpr", fpr, each)
    if right.value * accepted.value + (1 - right.value) * mistaken.value == 0:
        found = f"p = {right.value:g}, tpr = {accepted.value:g}, fpr = {mistaken.value:g}"
        raise SettingError(
            "verifier", found=found, rule="a verifier that accepts some answers, so that p tpr + (1 - p) fpr is above 0"
        )
    value = _share_right(right.value, accepted.value, mistaken.value)
    # the ceiling rises with p and t, and falls with f
    interval = (
        _share_right(right.low, accepted.low, mistaken.high),
        _share_right(right.high, accepted.high, mistaken.low),
    )
    notes = ("this verifier is no better than chance: the ceiling is not above p",) if value <= right.value < 1 else ()
    return Ceiling(
        value=value, interval=interval, level=level, claim=VERIFIER, notes=notes, p=right.value, tpr=accepted.value,
        fpr=mistaken.value,
        hypotheses=(
            Condition("attempts are independent"),
            Condition("the verifier's mistakes are independent for given correctness of the answers"),
        ),
    )  # fmt: skip


def _share_right(p: float, t: float, f: float) -> float:
    accepted = p * t + (1 - p) * f
    return p * t / accepted if accepted > 0 else 0.0
