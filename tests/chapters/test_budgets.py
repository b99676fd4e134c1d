"""Default budgets are enough for all claims together, whose family shares one level."""

import pytest

from lemmata.claims import AtLeast, AtMost, Equal, registry

LEVEL, FAMILY = 1e-3, 320  # room for more claims than there are

COUNTED = [claim for claim in registry().values() if isinstance(claim.relation, (AtMost, AtLeast, Equal))]


def test_the_family_fits():
    assert len(COUNTED) >= 8
    assert len(registry()) <= FAMILY


@pytest.mark.parametrize("claim", COUNTED, ids=lambda claim: claim.name)
def test_trials_without_a_failure_support_the_claim(claim):
    rate = getattr(claim.relation, "delta", 0.0) or claim.relation.resolution
    # (1 - rate)^trials is the probability to see no failure where they happen at the allowed rate
    assert (1 - rate) ** claim.trials <= LEVEL / FAMILY
