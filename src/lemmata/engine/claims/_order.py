"""Order the claims to judge: by the expected information per second, or with the longest claims first."""

import dataclasses
import math
from collections.abc import Iterable

from scipy import stats

from ._claim import Claim, Status
from ._family import LEVEL
from ._verdict import Verdict

_LEAST = 1e-3
_DECIDED = (Status.SUPPORTED, Status.VACUOUS, Status.REFUTED)


@dataclasses.dataclass(frozen=True)
class Prospect:
    """The cost of judging a claim, and the information that the judgement can give.

    Args:
        claim: the claim.
        known: the number of known trials of the claim's current code.
        fresh: the number of trials that a run would add.
        nearness: a number in [0, 1] that grows with the chance that new trials change the verdict (function
            `nearness`).
        seconds: the time in seconds of the last run of the claim's trials.
    """

    claim: Claim
    known: int
    fresh: int
    nearness: float
    seconds: float

    @property
    def bits(self) -> float:
        """The expected information in bits: nearness times log2(1 + fresh / (known + 1)) / 2.

        Suppose that m trials have reduced the variance of a mean to v / m. Then n more trials reduce this variance to
        v / (m + n). These trials reduce the entropy of a Gaussian posterior by log2(1 + n / m) / 2 bits. In known + 1,
        the 1 stands for the prior belief before any trial. So the first 255 trials are worth 4 bits, and another 256
        trials after 255 known trials are worth half a bit.
        """
        return self.nearness * math.log2(1 + self.fresh / (self.known + 1)) / 2


def nearness(verdict: Verdict | None) -> float:
    """Twice the probability that equally many new trials move a verdict's interval across an end of its band.

    The band is the interval of values that support the claim. Let z be the distance between the verdict's confidence
    interval and the nearest end of the band, in half-widths of the confidence interval. Let q be the half-width in
    standard errors. The difference between the means of old and new trials has a standard deviation of sqrt(2) standard
    errors. So the result is 2 P(N > z q / sqrt(2)) for a standard normal N. The result is at least 0.001. The result is
    1 if the interval reaches the end of the band, or if there is no verdict that decides the claim.
    """
    if verdict is None or verdict.status not in _DECIDED or verdict.interval is None or verdict.band is None:
        return 1.0
    low, high = verdict.interval
    lowest, highest = verdict.band
    if verdict.status is Status.REFUTED:
        clear = max(low - highest, lowest - high)
    else:  # an end that interval and band share is an end of the possible range, for example a rate of 0
        clear = min([end for end in (low - lowest, highest - high) if end], default=math.inf)
    half = (high - low) / 2
    if clear <= 0 or not math.isfinite(half):
        return 1.0
    widths = clear / half if half else math.inf
    return max(_LEAST, 2 * float(stats.norm.sf(widths * stats.norm.isf(LEVEL / 2) / math.sqrt(2))))


def by_information(prospects: Iterable[Prospect]) -> list[Prospect]:
    """Order claims so that the claims with the most expected bits per second come first.

    Among claims with equal bits per second, the cheaper claim comes first.
    """
    return sorted(prospects, key=lambda own: (-own.bits / max(own.seconds, 1e-3), own.seconds))


def longest_first(prospects: Iterable[Prospect]) -> list[Prospect]:
    """Order claims so that the claims that took longest come first.

    If all claims are tested, this order lets several processes end at nearly the same time.
    """
    return sorted(prospects, key=lambda own: -own.seconds)
