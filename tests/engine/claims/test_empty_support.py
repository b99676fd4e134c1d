"""Statements that are false or say nothing: each came out supported once, and must not."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import AtLeast, AtMost, Control, Hypothesis, Status, check_claim, verify
from lemmata.engine.claims._family import budget_of
from lemmata.engine.claims._judge import judge_trials
from lemmata.engine.claims._trials import run_trials
from lemmata.errors import ClaimError
from tests.engine.claims import empty_support as empty
from tests.engine.claims import synthetic

TRIALS = budget_of(empty.WideCondition())
"""What support needs of a claim that declares no number; it grows with the catalogue."""


def judged(claim, **options):
    return verify(claim, progress=False, **{"corners": 0, **options})


def variant(claim, **attributes):
    """The claim's class with other attributes."""
    return type("Variant", (type(claim),), {"__doc__": "Variant.", **attributes})()


@pytest.mark.parametrize(
    ("claim", "status", "said"),
    [
        (empty.WideCondition(), Status.INCONCLUSIVE, f"in {TRIALS} trials the rounding tolerance is too large"),
        (empty.WideComponent(), Status.INCONCLUSIVE, "so these trials say nothing in component 2 of 2"),
        (empty.OftenWide(), Status.INCONCLUSIVE, "trials the rounding tolerance is too large"),
        (empty.WideWitness(), Status.INCONCLUSIVE, "0 of 0 constructions"),
        (empty.InfiniteComponent(), Status.VACUOUS, f"{TRIALS} infinite bounds, which say nothing in component 2 of 2"),
        (empty.VacuousComponent(), Status.VACUOUS, "component 2 of 2 is beyond the trivial value in 100%"),
        (empty.LooseComponent(), Status.INCONCLUSIVE, "the control is not refuted in component 2 of 2"),
        (empty.LooseFloor(), Status.INCONCLUSIVE, "the control is not refuted in component 2 of 2"),
        (empty.UntouchedComponent(), Status.INCONCLUSIVE, "a component that the control does not change"),
        (empty.SeldomWitness(), Status.REFUTED, "both measurements fail in 198"),
        (empty.DroppedViolations(), Status.FAILED, "the conclusion fails"),
    ],
    ids=lambda item: type(item).__name__ if isinstance(item, synthetic.Synthetic) else "",
)
def test_what_says_nothing_is_not_supported(claim, status, said):
    verdict = judged(claim)
    assert verdict.status is status, verdict.reason
    assert said in verdict.reason


def test_trials_that_say_nothing_do_not_count():
    often = judged(empty.OftenWide(), budget=400)
    assert often.status is Status.SUPPORTED, often.reason
    assert " in 400 trials" not in often.reason
    fine = judged(variant(empty.OftenWide(), condition=lambda self, problem: np.ones(())))
    assert fine.status is Status.SUPPORTED


def test_a_component_that_the_control_leaves_as_it_is_may_be_declared():
    control = Control("half of the first", empty.UntouchedComponent.control.predict, loose="a test")
    assert judged(variant(empty.UntouchedComponent(), control=control)).status is Status.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (empty.SeldomTight(), "a bound that is 1e[+]12 times the measured value"),
        (empty.WideMargin(), "margin 0.45, and a control at distance 0.75"),
        (empty.WideLooseMargin(), "margin 0.45, and a control at distance 0.75"),
        (empty.OneSetting(), "that hypotheses fail at 3 of the 3 extra settings"),
        (empty.DroppedViolations(), "the conclusion fails"),
        (empty.HoldsKey(), "random keys in .*other"),
        (empty.HoldsRawKey(), "random keys in .*other"),
        (empty.HoldsGenerator(), "random keys in .*other"),
        (empty.HoldsMeasurement(), "the measured value in .*other"),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_the_suite_refuses(claim, found):
    with pytest.raises(ClaimError, match=found):
        check_claim(claim)


def test_a_problem_that_holds_neither_passes():
    assert check_claim(empty.HoldsNothing()).verdict.status is Status.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "status", "said"),
    [
        (empty.Beyond(), Status.OUTSIDE, "the conclusion holds"),
        (empty.Beyond(shift=0.5), Status.FAILS_OUTSIDE, "the conclusion fails"),
        (empty.BeyondWithoutPower(), Status.INCONCLUSIVE, "the conclusion holds"),
        (variant(empty.Beyond(), trivial=lambda self, problem: 0.5), Status.VACUOUS, "the conclusion holds"),
    ],
)
def test_outside_its_hypotheses_a_conclusion_holds_or_fails(claim, status, said):
    verdict = judged(claim)
    assert verdict.status is status, verdict.reason
    assert verdict.reason.startswith(said)


def test_a_claim_that_expects_the_other_end_is_refused():
    for shift, other in ((0.0, Status.FAILS_OUTSIDE), (0.5, Status.OUTSIDE)):
        claim = type("Expecting", (empty.Beyond,), {"__doc__": "Expecting.", "expected": other})(shift=shift)
        with pytest.raises(ClaimError, match=f"expected verdict, {other}, at the default budget"):
            check_claim(claim)
    expected = variant(empty.Beyond(), expected=Status.OUTSIDE)
    assert check_claim(expected).verdict.status is Status.OUTSIDE


@pytest.mark.parametrize(
    "claim", [empty.OneCase(), empty.OneIdentity(), empty.OneRate()], ids=lambda c: type(c).__name__
)
def test_one_case_is_one_case(claim):
    verdict = judged(claim)
    assert verdict.status is Status.SUPPORTED
    assert verdict.reason.startswith("one case, drawn ")
    assert f"{verdict.judged} trials" not in verdict.reason
    assert "one case" not in judged(synthetic.SureBound()).reason


def returned(claim):
    """Finished trials of a claim, whose parts the law below spoils one after the other."""
    return run_trials(claim, claim.population.settings().default, claim.trials or TRIALS, 0)


LOOSE = Control("half of it", empty.HALF.predict, loose="a test")
ENDLESS = {AtMost: np.inf, AtLeast: -np.inf}  # a bound on that side says nothing
LAW = [
    variant(empty.OneCase(), trivial=lambda self, problem: 5.0),
    variant(empty.LooseFloor(), trivial=lambda self, problem: np.zeros(2), control=empty.HALF),
    empty.OneIdentity(),
    synthetic.Plain(),
    empty.OneRate(),
    empty.Steady(),
    variant(synthetic.Convergent(), traced=False, trials=8),
    variant(synthetic.Existence(), traced=False, trials=8),
]


@pytest.mark.parametrize("claim", LAW, ids=lambda claim: type(claim.relation).__name__)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_fails_wherever_a_claim_returns_it(claim, value):
    finished = returned(claim)
    spoilt = lambda part: np.where(np.arange(len(part)).reshape(-1, *(1,) * (part.ndim - 1)) == 3, value, part)
    parts = ["predicted", "false", "measured", "condition"] + ["trivial"] * callable(claim.trivial)
    for name in parts:
        stacked = dataclasses.replace(finished.stacked, **{name: spoilt(getattr(finished.stacked, name))})
        verdict = judge_trials(claim, {}, dataclasses.replace(finished, stacked=stacked), 0, 1e-3, 0.0)
        if name == "predicted" and value == ENDLESS.get(type(claim.relation)):
            assert "1 infinite bounds, which say nothing" in verdict.reason
            continue
        assert verdict.status is Status.FAILED, (name, verdict.reason)
        assert "in 1 of" in verdict.reason
        assert "first: trial 3" in verdict.reason


def test_a_component_without_a_trivial_value_has_an_infinite_one():
    claim = variant(empty.VacuousComponent(), trivial=lambda self, problem: np.array([5.0, np.inf]), control=LOOSE)
    assert judged(claim).status is Status.SUPPORTED
    other = variant(empty.VacuousComponent(), trivial=lambda self, problem: np.array([5.0, -np.inf]), control=LOOSE)
    assert judged(other).status is Status.FAILED


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_hypothesis_that_is_not_finite_fails(value):
    class Spoilt(empty.OneCase):
        """A hypothesis whose value is not finite."""

        def hypotheses(self, problem):
            return [Hypothesis("known", jnp.where(problem < 1.5, value, 0.0), "<=", 1.0)]

    verdict = judged(Spoilt())
    assert verdict.status is Status.FAILED
    assert verdict.reason.startswith(f"'known' is {'NaN' if np.isnan(value) else 'infinite'} in ")
