"""What once fooled the engine: each family below came out supported, and must not."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import CORNERS, Control, Equal, Source, Status, check_claim, check_ranges, verify
from lemmata.engine.claims._family import budget_of
from lemmata.engine.claims._registry import _add
from lemmata.errors import ClaimError
from tests.engine.claims import holes, synthetic


def judged(claim, **options):
    return verify(claim, progress=False, **{"corners": 0, **options})


def test_a_hypothesis_that_is_nan_fails_the_trial():
    verdict = judged(holes.Undefined())
    assert verdict.status is Status.FAILED
    assert "'known' is NaN in" in verdict.reason


def test_trials_dropped_by_a_hypothesis_are_counted_by_its_name_and_their_share_is_limited():
    verdict = judged(holes.Selective())
    assert verdict.status is Status.FAILED
    assert 0.1 < verdict.dropped["positive"] / verdict.executed < 0.4
    assert re.search(r"may drop only 5%: the median of 'positive' is [\d.]+, required > 1\.5$", verdict.reason)
    with pytest.raises(ClaimError, match=r"hypotheses fail, so \d+ of \d+ problems are dropped"):
        check_claim(holes.Selective())


def test_an_infinite_bound_is_vacuous_and_an_infinite_expectation_failed():
    verdict = judged(holes.Infinite())
    assert verdict.status is Status.VACUOUS
    assert "infinite bounds, which say nothing" in verdict.reason
    assert judged(holes.InfiniteMean()).status is Status.FAILED


@pytest.mark.parametrize("claim", [synthetic.PowerLaw(), synthetic.SkewedMean(), synthetic.Convergent()], ids=str)
def test_the_band_that_decides_is_printed(claim):
    verdict = judged(claim)
    relation = claim.relation
    wide = relation.margin + relation.resolution
    assert f"{wide:g}" in relation.band
    assert "supported within" in verdict.reason
    centre = -0.5 if isinstance(claim, synthetic.PowerLaw) else 0.0
    np.testing.assert_allclose(verdict.band, (centre - wide, centre + wide))
    assert verdict.band[0] <= verdict.interval[0] <= verdict.interval[1] <= verdict.band[1]


def test_a_resolution_wider_than_half_the_way_to_the_control_is_refused():
    with pytest.raises(ClaimError, match="at most half the distance between claim and control"):
        check_claim(holes.CoarseMean())


def test_vacuity_counts_components_and_has_a_status_of_its_own():
    verdict = judged(holes.Vacuous())
    assert verdict.vacuous == pytest.approx(2 / 3)
    assert verdict.status is Status.VACUOUS
    assert verdict.remedy != Status.SUPPORTED.remedy


@pytest.mark.parametrize(("name", "corner"), [("size", "3"), ("scale", "3.0"), ("law", "odd")])
def test_a_variable_whose_range_is_never_visited_is_refused(name, corner):
    with pytest.raises(ClaimError, match=f"extra settings that all have {name}={corner}"):
        check_ranges(holes.on(holes.PinnedNumbers(name)))
    check_ranges(holes.on(holes.OneSize()))


def test_a_bound_without_a_trivial_value_says_why():
    with pytest.raises(ClaimError, match="no trivial value"):
        check_claim(holes.NoTrivial())


@pytest.mark.parametrize(
    ("shift", "status", "said"),
    [(0.0, Status.OUTSIDE, "the conclusion holds"), (0.5, Status.FAILS_OUTSIDE, "the conclusion fails")],
)
def test_outside_the_hypotheses_is_a_status_of_its_own(shift, status, said):
    verdict = judged(holes.BeyondTheTheorem(shift=shift))
    assert verdict.status is status
    assert verdict.reason.startswith(said)
    assert verdict.violated == ("the width is above 1e20",)


def test_every_component_has_its_own_tolerance_unless_the_claim_names_blocks():
    assert judged(holes.OneComponentWrong()).status is Status.REFUTED
    shared = type("Shared", (holes.OneComponentWrong,), {"__doc__": "Shared.", "relation": Equal(block=-1)})
    assert judged(shared()).status is Status.SUPPORTED


def test_errors_that_average_out_over_problems_are_refuted():
    verdict = judged(holes.Heterogeneous())
    assert verdict.status is Status.REFUTED
    assert "mean differences of single problems" in verdict.reason


def test_a_plateau_below_half_of_the_first_gap_is_refuted():
    assert judged(holes.Plateau()).status is Status.REFUTED


def test_one_success_is_no_support_for_a_construction():
    assert judged(holes.RareSuccess()).status is Status.REFUTED


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (holes.FarControl(), "control at a distance of 1e"),
        (holes.RareControl(), "control refuted by"),
        (holes.OneComponentOfThree(), "a component that the control does not change"),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_far_and_weak_controls_are_refused_unless_they_say_why(claim, found):
    with pytest.raises(ClaimError, match=found):
        check_claim(claim)
    control = Control(claim.control.statement, claim.control.predict, loose="a test")
    loose = type("Loose", (type(claim),), {"__doc__": "Loose.", "control": control})
    assert check_claim(loose()).verdict.status is Status.SUPPORTED


def test_other_settings_are_judged_and_the_worst_is_named():
    verdict = judged(holes.WrongAtSmallSizes(), corners=5)
    assert verdict.status is Status.REFUTED
    assert verdict.worst_corner.setting["n"] < 40
    assert f"at n={verdict.worst_corner.setting['n']}: " in verdict.reason
    assert judged(holes.WrongAtSmallSizes(), corners=0).status is Status.SUPPORTED
    fine = judged(synthetic.SureBound(), corners=3)
    assert len(fine.corners) == 3
    assert "worst of 3 other settings" in fine.reason


def test_a_setting_that_is_asked_for_is_judged_alone_unless_others_are_asked_for_too():
    claim, n = synthetic.SureBound(), next(iter(synthetic.SureBound.population.settings().default))
    own = {n: claim.population.settings().default[n]}
    for setting, corners, expected in ((None, None, CORNERS), (own, None, 0), (own, 2, 2), (None, 0, 0)):
        verdict = verify(claim, setting=setting, corners=corners, budget=20, progress=False)
        assert len(verdict.corners) == expected


def test_corners_follow_the_seed():
    first, again, other = (judged(synthetic.SureBound(), corners=3, seed=seed) for seed in (1, 1, 2))
    assert first.corners == again.corners
    assert [corner.setting for corner in first.corners] != [corner.setting for corner in other.corners]


def test_budgets_follow_from_the_number_of_claims(monkeypatch):
    from lemmata.engine.claims import _family

    claim = synthetic.SureBound()
    for count in (256, 1024):
        monkeypatch.setattr(_family, "family_size", lambda count=count: count)
        trials = budget_of(claim)
        share = 1e-3 / 2 / count
        assert (1 - claim.relation.resolution) ** trials <= share < (1 - claim.relation.resolution) ** (trials - 1)
    assert budget_of(synthetic.PowerLaw()) == synthetic.PowerLaw.trials


def test_two_claims_of_one_class_name_are_refused():
    found = {}
    _add(found, synthetic.SureBound())
    twin = type("SureBound", (synthetic.SureBound,), {"__doc__": "Twin.", "__module__": "their.claims"})
    with pytest.raises(ClaimError, match="rename the class"):
        _add(found, twin())


def test_an_overridden_concrete_method_is_refused():
    class Tweaked(synthetic.SureBound):
        """A bound whose prediction is tweaked by a subclass."""

        def predict(self, problem):
            return 2 * problem

    with pytest.raises(ClaimError, match=r"Tweaked\.predict overrides SureBound\.predict"):
        check_claim(Tweaked())


def test_a_claim_has_a_kind():
    assert synthetic.SureBound().kind == "step"
    corrected = type("Mended", (synthetic.SureBound,), {"__doc__": "Mended.", "corrects": synthetic.SureFloor})
    stated = type("Stated", (synthetic.SureBound,), {"__doc__": "Stated.", "source": Source("x", "Theorem 2")})
    assert (corrected().kind, stated().kind) == ("repair", "theorem")


def test_measure_at_gives_each_rung_a_key_of_its_own():
    class Drawn(synthetic.PowerLaw):
        """The key's own number, rung by rung."""

        measure = None

        def measure_at(self, problem, key, rung):
            import jax

            return rung**-0.5 * (1 + 0.01 * jax.random.uniform(key))

    verdict = judged(Drawn())
    assert verdict.status is Status.SUPPORTED
    assert jnp.isfinite(verdict.estimate)
