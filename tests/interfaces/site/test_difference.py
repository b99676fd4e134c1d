"""The picture of a mean difference: what the axis says, and where the control may be."""

import pytest

from lemmata.interfaces.site import _pictures

VERDICT = {"estimate": 0.01, "interval": [-0.02, 0.03], "band": [-0.1, 0.1], "control": {"nearest": 1.5}}
ENTRY = {"place": "a.section", "class": "Mean", "relation": "mean of measured = predicted"}


@pytest.fixture
def drawn(monkeypatch):
    def panel(relative, **changes):
        monkeypatch.setattr(_pictures, "is_relative", lambda place, claim: relative)
        entry = {**ENTRY, "relation": changes.pop("relation", ENTRY["relation"])}
        return _pictures._difference(entry, {**VERDICT, **changes})

    return panel


def test_a_relative_difference(drawn):
    panel = drawn(True)
    assert panel.title == "mean of measured / predicted - 1"
    assert panel.control == pytest.approx((1 / 1.5 - 1, 0.5))
    assert (panel.band, panel.claim, panel.stated, panel.either) == ((-0.1, 0.1), (-0.02, 0.01, 0.03), 0.0, True)


def test_a_difference_of_numbers(drawn):
    panel = drawn(False)
    assert panel.title == "mean of measured - predicted"
    assert panel.control == pytest.approx((-0.05, 0.05))


def test_a_difference_along_sizes_is_that_at_the_largest(drawn):
    assert drawn(True, relation="measured -> predicted").title == "measured / predicted - 1 at the largest size"


@pytest.mark.parametrize("nearest", [None, 0.0, 1.0])
def test_a_control_that_is_not_apart_has_no_place(drawn, nearest):
    panel = drawn(True, control={"nearest": nearest})
    assert panel.control == ()
    assert not panel.either


@pytest.mark.parametrize("band", [[None, 0.1], [-0.1, None]])
def test_without_both_ends_of_the_band_nothing_is_drawn(drawn, band):
    assert drawn(True, band=band) is None


def test_an_open_interval_ends_at_the_estimate(drawn):
    assert drawn(True, interval=[None, 0.03]).claim == (0.01, 0.01, 0.03)
