"""Finished trials become a verdict: what was dropped, what failed, what is vacuous, which corner decides."""

import dataclasses

import numpy as np
import pytest

from lemmata.engine.claims import AtMost, Claim, Corner, Hypothesis, Outcome, Sample, Status, Trials, Verdict, Witness
from lemmata.engine.claims._judge import corner_of, judge_trials, p_value, with_corners
from lemmata.engine.claims._statistics import failure_limits
from tests.engine.claims import synthetic

LEVEL = 1e-3
CLAIM = synthetic.SureBound()


def finished(predicted, measured, false=None, trivial=np.nan, value=None, requested=None, others=(), **options):
    """Trials whose first hypothesis asks for a positive value."""
    predicted, measured = np.asarray(predicted, float), np.asarray(measured, float)
    count = len(measured)
    value = np.ones(count) if value is None else np.asarray(value, float)
    rows = Outcome(
        hypotheses=[*others, Hypothesis("positive", value, ">", np.zeros(count))],
        holds=value > 0,
        undefined=np.isnan(value),
        predicted=predicted,
        false=predicted / 2 if false is None else np.asarray(false, float),
        measured=measured,
        condition=np.ones(count),
        trivial=np.full(count, trivial),
    )  # fmt: skip
    return Trials(requested or count, rows, np.arange(count), **options)


def judged(trials, claim: Claim = CLAIM):
    return judge_trials(claim, {"n": 40}, trials, 3, LEVEL, 1.5)


def test_a_verdict_says_what_it_rests_on():
    measured = np.full(100, 0.8)
    measured[17] = 0.9
    verdict = judged(finished(np.ones(100), measured))
    assert verdict.status is Status.SUPPORTED
    assert (verdict.requested, verdict.executed, verdict.judged) == (100, 100, 100)
    assert (verdict.seed, verdict.level, verdict.seconds, verdict.setting) == (3, LEVEL, 1.5, {"n": 40})
    assert verdict.worst == 17
    assert verdict.slack == pytest.approx((1.25, 1.25, 1.25))
    assert verdict.control.status is Status.REFUTED
    assert verdict.control.violating == 1.0
    assert (verdict.control.nearest, verdict.control.farthest) == pytest.approx((2.0, 2.0))
    assert verdict.p_value == 1.0
    assert verdict.dropped == {}
    assert not verdict.interrupted


def test_a_violation_has_the_smallest_p_value_and_is_the_worst_trial():
    measured = np.full(100, 0.8)
    measured[41] = 1.5
    verdict = judged(finished(np.ones(100), measured))
    assert verdict.status is Status.REFUTED
    assert verdict.worst == 41
    assert verdict.p_value == pytest.approx(1e-12)


def test_a_p_value_is_the_level_at_which_a_count_refutes():
    claim = dataclasses.replace(synthetic.TightBound())
    measured = np.zeros(100)
    measured[:12] = 2.0
    sample = Sample(np.ones(100), measured, np.ones(100))
    value = p_value(claim, sample)
    assert claim.relation.judge(sample, value * 1.001).holds is False
    assert claim.relation.judge(sample, value * 0.999).holds is not False
    assert 1e-12 < value < 0.5
    measured[:] = 0.0
    measured[:5] = 2.0  # as many or more come in 56 of 100 cases
    assert p_value(claim, Sample(np.ones(100), measured, np.ones(100))) == 1.0
    measured[:] = 0.0
    assert p_value(claim, Sample(np.ones(100), measured, np.ones(100))) == 1.0


def outside(failing, measured=0.8, trials=200, **options):
    """Trials of which so many fail the first hypothesis and have this measurement."""
    value, found = np.ones(trials), np.full(trials, 0.8)
    value[:failing], found[:failing] = -2.0, measured
    return finished(np.ones(trials), found, value=value, **options)


def test_trials_outside_the_hypotheses_do_not_count_and_more_than_the_declared_share_fail():
    verdict = judged(outside(10))
    assert (verdict.status, verdict.judged) == (Status.SUPPORTED, 190)
    assert verdict.dropped == {"positive": 10}
    assert "'positive' in 10 of 200" in verdict.reason
    declared = CLAIM.population.drops
    most = max(count for count in range(100) if failure_limits(count, 200, 0.05)[0] <= declared)
    assert judged(outside(most)).status is Status.SUPPORTED
    for failing, status in ((most + 1, Status.FAILED), (100, Status.FAILED), (101, Status.INAPPLICABLE)):
        assert judged(outside(failing)).status is status, failing
    assert f"hypotheses fail, so {most + 1} of 200 problems are dropped" in judged(outside(most + 1)).reason
    verdict = judged(outside(101))
    assert "hypotheses fail in 101 of 200 problems: the median of 'positive' is -2, required > 0" in verdict.reason
    assert verdict.dropped == {"positive": 101}
    seldom = Hypothesis("small", np.where(np.arange(200) < 3, 2.0, 0.0), "<", np.ones(200))
    verdict = judged(outside(101, others=[seldom]))
    assert "101 of 200 problems: the median of 'positive'" in verdict.reason, "the one that fails most often"
    assert verdict.dropped == {"small": 3, "positive": 101}
    assert corner_of(CLAIM, verdict, outside(101)).gap == -np.inf


def test_at_another_setting_more_may_be_dropped_and_then_nothing_is_said():
    at = lambda setting, **options: judge_trials(CLAIM, setting, outside(60, **options), 3, LEVEL, 1.5).status
    default = CLAIM.population.settings().default
    assert at(default) is Status.FAILED
    assert at({"n": default["n"] + 1}) is Status.INAPPLICABLE
    assert at({"n": default["n"] + 1}, measured=5.0) is Status.FAILED, "what is dropped contradicts the claim"


def test_trials_that_are_dropped_and_contradict_are_a_selection():
    """Four may be a rate of a twentieth and less; of sixty that all contradict the claim was chosen by its result."""
    assert judged(outside(4, measured=5.0)).status is Status.SUPPORTED
    verdict = judged(outside(60, measured=5.0))
    assert verdict.status is Status.FAILED
    said = "hypotheses fail, so 60 of 200 problems are dropped, and in 60 of these the conclusion fails"
    assert said in verdict.reason


def test_what_failed_is_said_and_nothing_else_is():
    value = np.ones(100)
    value[[4, 9]] = np.nan
    verdict = judged(finished(np.ones(100), np.full(100, 0.8), value=value))
    assert (verdict.status, verdict.reason) == (Status.FAILED, "'positive' is NaN in 2 of 100 trials; first: trial 4")
    measured = np.full(100, 0.8)
    measured[[7, 8, 9]] = np.nan
    verdict = judged(finished(np.ones(100), measured))
    assert verdict.status is Status.FAILED
    assert verdict.reason == "the measurement is NaN in 3 of 100 trials; first: trial 7"
    verdict = judged(finished(np.ones(100), np.full(100, 0.8), errors=["trial 3: ValueError: no"], requested=101))
    assert verdict.status is Status.FAILED
    assert "1 of 101 trials raised an error; the first: trial 3: ValueError: no" in verdict.reason
    verdict = judged(Trials(9, errors=["trial 0: ValueError: no"]))
    assert verdict.status is Status.FAILED
    assert verdict.reason.startswith("every trial raised")
    verdict = judged(Trials(9, interrupted=True))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.interrupted


def test_an_interrupted_run_decides_nothing():
    verdict = judged(finished(np.ones(100), np.full(100, 0.8), interrupted=True, requested=200))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.reason.startswith("interrupted after 100 of 200 trials")


def test_a_control_that_holds_takes_the_support_away():
    verdict = judged(finished(np.ones(100), np.full(100, 0.2)))
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.control.status is Status.SUPPORTED
    assert verdict.control.violating == 0.0
    assert "no power" in verdict.reason
    false = np.stack([np.full(100, 0.5), np.full(100, 0.1)], axis=1)
    verdict = judged(finished(np.ones((100, 2)), np.full((100, 2), 0.8), false=false))
    assert (verdict.control.nearest, verdict.control.farthest) == pytest.approx((2.0, 10.0))


class Bounded(synthetic.SureBound):
    """A bound with a trivial value."""

    def trivial(self, problem):
        return np.ones(())


def test_vacuity_is_told_from_the_trivial_value_or_from_infinity():
    trials = lambda trivial, predicted=1.0: finished(np.full(100, predicted), np.full(100, 0.8), trivial=trivial)
    told = lambda trivial: judged(trials(trivial), Bounded())
    assert (told(2.0).vacuous, told(2.0).status) == (0.0, Status.SUPPORTED)
    assert (told(1.0).vacuous, told(1.0).status) == (1.0, Status.VACUOUS)
    assert "the trivial value is NaN in 100 of 100 trials" in told(np.nan).reason
    assert judged(trials(1.0)).vacuous is None, "the claim has no trivial value"
    empty = judged(trials(np.nan, np.inf))
    assert (empty.vacuous, empty.status) == (1.0, Status.VACUOUS)
    below = judged(finished(np.full(100, -np.inf), np.ones(100)), synthetic.SureFloor())
    assert below.vacuous == 1.0


def test_slack_is_of_what_can_be_divided():
    measured = np.full(100, 0.5)
    measured[:10] = 0.0
    assert judged(finished(np.ones(100), measured)).slack == pytest.approx((2.0, 2.0, 2.0))
    even = judged(finished(np.ones(101), 1 / np.linspace(2.0, 3.0, 101))).slack
    assert even == pytest.approx((2.05, 2.5, 2.95))
    assert judged(finished(np.ones(100), np.zeros(100))).slack is None
    ladder = dataclasses.replace(synthetic.PowerLaw())
    rungs = np.asarray(synthetic.RUNGS) ** -0.5 * np.ones((64, 1))
    assert judged(finished(np.full(64, -0.5), rungs, false=np.full(64, -1.0)), ladder).slack is None


def verdict_of(status, p=1.0):
    return Verdict("a", CLAIM.source, {}, 0, LEVEL, 9, 9, 0.0, status, "told", p_value=p)


def test_a_refuted_corner_decides_and_the_worst_is_named():
    fine, bad = Corner({"n": 2}, Status.SUPPORTED, "well", gap=0.1), Corner({"n": 9}, Status.REFUTED, "ill", gap=-1.0)
    lost = Corner({"n": 5}, Status.FAILED, "lost", gap=-2.0)
    for corners, status, reason in (
        ((fine, bad, lost), Status.REFUTED, "at n=9: ill"), ((fine, lost), Status.FAILED, "at n=5: lost"),
        ((fine,), Status.SUPPORTED, "told; the worst of 1 other settings is n=2 (supported)"),
        ((), Status.SUPPORTED, "told"),
    ):  # fmt: skip
        found = with_corners(CLAIM, verdict_of(Status.SUPPORTED), corners)
        assert (found.status, found.reason) == (status, reason)
    for own in (Status.REFUTED, Status.FAILS_OUTSIDE):
        assert with_corners(CLAIM, verdict_of(own), (bad,)).status is own, "the case itself is named first"
    beyond = Corner({"n": 7}, Status.FAILS_OUTSIDE, "beyond", gap=1.0)
    for own in (Status.OUTSIDE, Status.SUPPORTED, Status.INCONCLUSIVE):
        found = with_corners(CLAIM, verdict_of(own), (beyond,))
        assert (found.status, found.reason) == (Status.FAILS_OUTSIDE, "at n=7: beyond")


def test_corners_share_the_level():
    corner = lambda p: Corner({"n": 2}, Status.SUPPORTED, "well", p_value=p)
    assert with_corners(CLAIM, verdict_of(Status.SUPPORTED, 0.01), (corner(1.0),)).p_value == pytest.approx(0.02)
    found = with_corners(CLAIM, verdict_of(Status.SUPPORTED), (corner(0.01), corner(0.02), corner(1.0)))
    assert found.p_value == pytest.approx(0.06)
    assert with_corners(CLAIM, verdict_of(Status.SUPPORTED), (corner(1.0),)).p_value == 1.0


def test_a_corner_is_a_verdict_in_short():
    trials = finished(np.ones(100), np.full(100, 0.8))
    corner = corner_of(CLAIM, judged(trials), trials)
    assert (corner.status, corner.slack) == (Status.SUPPORTED, pytest.approx(1.25))
    assert corner.gap == pytest.approx(-0.2)
    uneven = finished(np.ones(100), np.linspace(0.5, 0.9, 100))
    assert corner_of(CLAIM, judged(uneven), uneven).slack == pytest.approx(1 / 0.7, rel=1e-2)
    assert corner_of(CLAIM, judged(Trials(9, errors=["x"])), Trials(9, errors=["x"])).gap == -np.inf
    value = np.ones(100)
    value[0] = -1.0
    measured = np.full(100, 0.8)
    measured[0] = 9.0
    trials = finished(np.ones(100), measured, value=value)
    assert corner_of(CLAIM, judged(trials), trials).gap == pytest.approx(-0.2), "the first trial does not count"


def test_relations_without_corners_of_their_own_say_which_band_decides():
    assert "refuted by one violation" in AtMost().band
    assert "at most 0.1;" in AtMost(delta=0.1).band
    assert "at least 0.9," in Witness().band
