"""The odd-even kernel's gain is not supported where one of the two parities is not seen."""

from lemmata.subjects.regression import _radii_fits, charge_radii
from tests.subjects.effects import supported


def test_the_parity_of_protons_alone_is_not_the_odd_even_kernel(monkeypatch):
    claim, left_out = charge_radii.OddEvenLowersTheError(), _radii_fits.left_out
    assert supported(claim, 30)
    alone = lambda table, kind: left_out(table, "parity of Z" if kind == "odd-even" else kind)
    monkeypatch.setattr(_radii_fits, "left_out", alone)
    assert not supported(claim, 30)
