"""Compute the size of the family of claims that share one error level, and the trials that support needs."""

import functools
import math

from lemmata.engine.catalogue import records

from ._claim import Claim

LEVEL = 1e-3
"""The probability of refuting a true statement, for one verdict and also for a run over the whole catalogue."""

MEAN_TRIALS = 256
"""The number of trials of a claim without its own number, if support depends on the spread of a measurement."""


@functools.cache
def family_size() -> int:
    """The smallest power of two that is at least 256 and at least the number of recorded claims.

    A power of two rarely changes, so the numbers of trials rarely change, too.
    """
    return 2 ** math.ceil(math.log2(max(len(records()), 256)))


def budget_of(claim: Claim, level: float = LEVEL) -> int:
    """The number of trials that support needs at the claim's share of the level, or more if the claim declares more.

    Suppose that n trials have no violation. The rate of violations is then below r at confidence 1 - a, if (1 - r)^n <=
    a. Here, r is the rate that the relation allows, and a is half of the level, divided by `family_size()`.
    """
    needed = claim.relation.budget(level / 2 / family_size())
    return max(claim.trials or (0 if needed else MEAN_TRIALS), needed or 0)
