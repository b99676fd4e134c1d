"""Budgets of noisy steps: accountants beside each other and beside their limits, and the noise for a budget."""

import dataclasses
import logging
import math
import sys

import pytest

from lemmata.errors import SettingError
from lemmata.subjects.privacy import gaussian_eps, noise_for, privacy_spent


@pytest.fixture
def sampled():
    pytest.importorskip("dp_accounting", reason="the extra `privacy` is not installed")


@pytest.fixture
def bare(monkeypatch):
    """As if dp-accounting were not installed."""
    monkeypatch.setitem(sys.modules, "dp_accounting", None)


def test_at_rate_1_steps_are_one_release_and_nothing_is_needed(bare):
    found = privacy_spent(4.0, 1.0, 10, 1e-5)
    assert found.eps == found.exact == gaussian_eps(1e-5, math.sqrt(10), 4.0)
    assert found.pld is None
    assert found.rdp is None
    assert found.central_limit == found.eps
    noise = noise_for(1.0, 1.0, 100, 1e-5)
    assert noise.spent.eps <= 1.0 < privacy_spent(noise.too_little, 1.0, 100, 1e-5).eps
    assert noise.noise == pytest.approx(37.30632, rel=1e-6)


def test_without_the_extra_the_refusal_names_it(bare):
    for call in (lambda: privacy_spent(1.0, 0.1, 10, 1e-5), lambda: noise_for(1.0, 0.1, 10, 1e-5)):
        with pytest.raises(SettingError, match=r"pip install 'lemmata\[privacy\]'") as said:
            call()
        assert "\n" not in str(said.value)


def test_the_accountants_stand_in_their_order(sampled):
    found = privacy_spent(1.0, 0.01, 1000, 1e-5)
    assert found.central_limit < found.pld < found.rdp < gaussian_eps(1e-5, math.sqrt(1000), 1.0)
    assert found.eps == found.pld
    assert found.pld == pytest.approx(1.8282, abs=2e-3)
    assert found.exact is None


def test_the_exact_curve_lies_at_or_below_both_at_rate_1(sampled):
    found = privacy_spent(2.0, 1.0, 20, 1e-6)
    assert found.exact <= found.pld * (1 + 1e-9) < found.rdp
    assert found.pld == pytest.approx(found.exact, rel=1e-3)
    assert privacy_spent(2.0, 0.9999, 20, 1e-6).eps == pytest.approx(found.exact, rel=1e-3)


def test_more_noise_fewer_steps_or_fewer_rows_spend_less(sampled):
    base = {"noise": 1.2, "rate": 0.05, "steps": 20, "delta": 1e-5}
    spent = privacy_spent(**base).eps
    for change in ({"noise": 1.4}, {"rate": 0.04}, {"steps": 16}, {"delta": 1e-4}):
        assert privacy_spent(**{**base, **change}).eps < spent


def test_the_noise_for_a_budget_keeps_it_and_hardly_less_does(sampled):
    found = noise_for(2.0, 0.02, 50, 1e-5)
    assert found.spent == privacy_spent(found.noise, 0.02, 50, 1e-5)
    assert 0.995 * 2.0 < found.spent.eps <= 2.0
    assert found.too_little < found.noise < 1.002 * found.too_little
    assert privacy_spent(0.998 * found.noise, 0.02, 50, 1e-5).eps > 2.0


def test_budgets_far_from_any_use_are_still_bounds(sampled):
    assert privacy_spent(1e-4, 0.01, 100, 1e-5).eps > 1e6
    assert privacy_spent(1e6, 0.5, 10, 1e-5).eps == 0.0
    assert privacy_spent(0.3, 0.2, 10, 1e-300).eps < 1000


def test_orders_that_do_not_converge_are_left_out_in_silence(sampled, caplog, capfd):
    privacy_spent(1.0, 0.5, 2, 0.01)
    assert "converge" not in caplog.text + capfd.readouterr().err
    assert logging.getLogger("absl").level != logging.ERROR


def test_what_a_record_says(bare):
    found = privacy_spent(10.0, 1.0, 1, 1e-5)
    assert str(found).startswith(
        "eps = 0.3407 at delta = 1e-05 after 1 steps of noise 10 at rate 1 (exact 0.3407, central"
    )
    assert found.advantage == pytest.approx(math.tanh(found.eps / 2) + 1e-5 * (1 - math.tanh(found.eps / 2)), rel=1e-12)
    assert "vacuous" not in str(found)
    assert "vacuous" in str(privacy_spent(0.1, 1.0, 1, 1e-5))
    assert str(noise_for(1.0, 1.0, 1, 1e-5)).startswith("noise 3.7306 for eps <= 1")
    assert [condition.holds for condition in found.conditions] == [None, True, None]
    assert all(claim.startswith("stability.") for claim in found.claims)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.eps = 0.0  # type: ignore[misc]


WRONG = {
    "noise": (0.0, -1.0, math.nan, math.inf),
    "rate": (0.0, 1.1, -0.5, math.nan),
    "steps": (0, -3),
    "delta": (0.0, 1.0, 2.0, math.nan),
    "eps": (0.0, -1.0, math.nan, math.inf, 1e9),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_settings_outside_their_range_are_refused_in_one_line(name, value):
    good = {"noise": 1.0, "rate": 1.0, "steps": 10, "delta": 1e-5, "eps": 1.0} | {name: value}
    asked = []
    if name != "eps":
        asked.append(lambda: privacy_spent(**{key: own for key, own in good.items() if key != "eps"}))
    if name != "noise":
        asked.append(lambda: noise_for(**{key: own for key, own in good.items() if key != "noise"}))
    for call in asked:
        with pytest.raises(SettingError, match=name) as said:
            call()
        assert "\n" not in str(said.value)
