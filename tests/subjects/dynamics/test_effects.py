"""Claims about training from small starts and fine-tuning are not supported where what they speak of is off."""

from lemmata.subjects.dynamics import stepwise
from tests.subjects.effects import supported


def test_step_times_a_percent_off_are_noticed(monkeypatch):
    claim, crossings = stepwise.AnySmallStart(), stepwise.crossings
    assert supported(claim, 16)
    monkeypatch.setattr(stepwise, "crossings", lambda *own: 1.013 * crossings(*own))
    assert not supported(claim, 16)
