"""The engine measured: how often it refutes what is true, and what is false."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

from lemmata.engine.claims import AtMost, Status, budget_of, calibrate, check_claim, verify
from lemmata.engine.claims._families import FAMILIES
from lemmata.engine.claims._judge import p_value
from lemmata.engine.claims._relations import Sample
from lemmata.engine.claims._statistics import failure_limits, holm, mean_interval, trials_to_support
from lemmata.engine.claims._trials import run_trials
from tests.engine.claims import synthetic


def repetitions(claim, count):
    """Samples of `count` independent verifications at the default budget, cut from one run."""
    total = budget_of(claim) * count
    finished = run_trials(claim, claim.population.settings().default, total, seed=11)
    results = finished.stacked
    assert len(finished.numbers) == total
    for block in np.array_split(np.arange(total), count):
        yield Sample(results.predicted[block], results.measured[block], results.condition[block])


@pytest.mark.parametrize("claim", synthetic.TRUE, ids=lambda claim: f"{type(claim).__name__}")
def test_true_statements_are_refuted_less_often_than_the_level(claim):
    """At level 0.05, where 200 repetitions can tell: the exact binomial limit of the refutation rate stays below it."""
    level, count = 0.05, 200
    claim = claim if claim.traced else dataclasses.replace(claim)
    count = count if claim.traced else 20
    refuted = sum(claim.relation.judge(sample, level).holds is False for sample in repetitions(claim, count))
    lower, _ = failure_limits(refuted, count, 1e-3)
    assert lower <= level, f"refuted {refuted} of {count}"


@pytest.mark.parametrize(
    "claim", [claim for claim in synthetic.TRUE if claim.traced], ids=lambda claim: type(claim).__name__
)
def test_true_statements_survive_the_default_level(claim):
    refuted = sum(claim.relation.judge(sample, 1e-3).holds is False for sample in repetitions(claim, 200))
    assert refuted <= stats.binom.ppf(1 - 1e-3, 200, 1e-3), f"refuted {refuted} of 200 at level 1e-3"


@pytest.mark.parametrize(
    ("how", "claim"), synthetic.BROKEN, ids=lambda item: str(item) if isinstance(item, str) else type(item).__name__
)
def test_broken_statements_are_refuted_at_least_95_times_in_100(how, claim):
    refuted = sum(claim.relation.judge(sample, 1e-3).holds is False for sample in repetitions(claim, 100))
    assert refuted >= 95, f"{how}: refuted {refuted} of 100"


@pytest.mark.parametrize("claim", synthetic.TRUE, ids=lambda claim: type(claim).__name__)
def test_true_statements_are_supported_and_their_controls_refuted(claim):
    verdict = verify(claim, progress=False)
    if isinstance(claim, synthetic.TightBound):  # at exactly delta no budget can tell: never refuted, never supported
        assert verdict.status is Status.INCONCLUSIVE
    else:
        assert verdict.status is Status.SUPPORTED, verdict.reason
        assert check_claim(claim).verdict.judged == budget_of(claim)
    assert verdict.executed == budget_of(claim)


@pytest.mark.parametrize("family", ["normal", "exponential", "lognormal", "chi2"])
def test_mean_interval_covers_skewed_means(family):
    rng = np.random.default_rng(5)
    draw = {
        "normal": lambda size: rng.normal(0.0, 1.0, size),
        "exponential": lambda size: rng.exponential(1.0, size) - 1.0,
        "lognormal": lambda size: np.exp(0.5 * rng.normal(size=size)) - np.exp(0.125),
        "chi2": lambda size: rng.chisquare(1, size) - 1.0,
    }[family]
    level, repeats = 0.01, 4000
    missed = 0
    for _ in range(repeats):
        low, high = mean_interval(draw(200), level)
        missed += not low <= 0 <= high
    assert failure_limits(missed, repeats, 1e-3)[0] <= level, f"missed {missed} of {repeats} at {level}"


def test_failure_limits_are_clopper_pearson():
    for failures, trials in ((0, 10), (3, 50), (50, 50)):
        lower, upper = failure_limits(failures, trials, 1e-3)
        exact = stats.binomtest(failures, trials).proportion_ci(confidence_level=1 - 2e-3, method="exact")
        np.testing.assert_allclose([lower, upper], [exact.low, exact.high], rtol=1e-9, atol=1e-15)
    needed = trials_to_support(0.05, 1e-3)
    assert failure_limits(0, needed, 1e-3)[1] <= 0.05 < failure_limits(0, needed - 1, 1e-3)[1]


def test_holm_rejects_as_by_hand():
    levels = holm({"a": 0.001, "b": 0.02, "c": 0.03, "d": 0.5}, 0.05)
    assert [name for name, (_, rejected) in levels.items() if rejected] == ["a"]
    assert [level for level, _ in levels.values()] == pytest.approx([0.05 / 4, 0.05 / 3, 0.05 / 2, 0.05])


def test_the_false_positive_rate_of_the_p_value_is_uniform_or_conservative():
    claim = synthetic.SkewedMean()
    values = [p_value(claim, sample) for sample in repetitions(claim, 50)]
    assert np.mean(np.asarray(values) <= 0.1) <= stats.binom.ppf(1 - 1e-3, 50, 0.1) / 50


def test_keys_replay_a_trial():
    from lemmata.engine.claims._trials import trial, trial_key

    claim = synthetic.PowerLaw()
    finished = run_trials(claim, claim.population.settings().default, 10, seed=3)
    again = jax.jit(lambda key: trial(claim, claim.population.settings().default, key))(trial_key(claim, 3, 7))
    np.testing.assert_array_equal(finished.stacked.measured[7], again.measured)


def test_a_small_calibration_contradicts_no_rate_that_is_asked_for():
    found = calibrate(repeats=100, seed=7)
    assert len(found) > 40
    assert {type(one.family.relation).__name__ for one in found} == {
        "AtMost", "AtLeast", "Equal", "EqualInMean", "Rate", "Limit", "Order", "Witness"
    }  # fmt: skip
    assert [one.family.what for one in found if not one.passed] == []


def test_a_calibration_sees_an_engine_that_is_wrong(monkeypatch):
    from lemmata.engine.claims import _bounds

    monkeypatch.setattr(_bounds, "failure_limits", lambda failures, trials, level: (failures / trials,) * 2)
    families = [family for family in FAMILIES if isinstance(family.relation, AtMost)]
    wrong = [one.family.what for one in calibrate(repeats=100, families=families) if not one.passed]
    assert "a bound that fails as often as allowed" in wrong


@pytest.mark.parametrize(
    ("relation", "measured", "said"),
    [
        (AtMost(), 0.5, ", none is allowed, and support needs a rate of at most 0.1"),
        (AtMost(), 2.0, ", none is allowed"),
        (AtMost(delta=0.3), 0.5, ", allowed 0.3"),
        (AtMost(delta=0.3), 2.0, ", allowed 0.3"),
    ],
)
def test_a_bound_says_how_many_violations_it_allows(relation, measured, said):
    sample = Sample(np.ones((200, 1)), np.full((200, 1), measured), np.ones((200, 1)))
    judged = relation.judge(sample, 1e-3)
    assert judged.holds is (measured <= 1.0)
    assert judged.reason.endswith(said), judged.reason
