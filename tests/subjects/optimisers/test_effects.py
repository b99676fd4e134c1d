"""GaLore of full rank: steps that are a percent off are noticed."""

from lemmata.subjects.optimisers import subspaces
from tests.subjects.effects import supported


def test_steps_a_percent_off_are_noticed(monkeypatch):
    claim, steps = subspaces.GaloreOfFullRankIsRotatedAdam(), subspaces._galore_steps
    assert supported(claim, 138)
    monkeypatch.setattr(subspaces, "_galore_steps", lambda *own: 1.01 * steps(*own))
    assert not supported(claim, 138)
