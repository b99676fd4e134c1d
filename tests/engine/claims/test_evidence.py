"""E-values, the family, and the order: what is proved in their docstrings, computed."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from lemmata.engine.claims import (
    AtMost,
    Equal,
    Prospect,
    Sample,
    Status,
    Witness,
    allowed_misses,
    at_family_level,
    by_information,
    count_e_value,
    joined,
    longest_first,
    misses,
    nearness,
    p_e_value,
    shared,
)
from lemmata.engine.claims._evidence import p_of
from lemmata.engine.claims._judge import p_value
from lemmata.engine.claims._statistics import holm
from lemmata.engine.claims._verdict import Verdict

from . import synthetic

LEVEL = 0.05


@pytest.mark.parametrize("allowed", [0.02, 0.05, 0.3])
@pytest.mark.parametrize("trials", [1, 12, 60])
def test_the_mean_of_an_e_value_of_counts_is_1_at_the_allowed_rate_and_less_below(allowed, trials):
    values = np.array([count_e_value(count, trials, allowed) for count in range(trials + 1)])
    mean = lambda rate: float(stats.binom.pmf(np.arange(trials + 1), trials, rate) @ values)
    assert mean(allowed) == pytest.approx(1, abs=1e-12)
    assert mean(allowed / 2) < 1
    assert mean(0.0) < 1


def test_one_more_trial_leaves_the_mean_where_it_was():
    for count, trials in [(0, 0), (0, 9), (3, 20), (15, 40), (40, 40)]:
        now = count_e_value(count, trials, 0.1)
        then = 0.1 * count_e_value(count + 1, trials + 1, 0.1) + 0.9 * count_e_value(count, trials + 1, 0.1)
        assert then == pytest.approx(now, rel=1e-12)


def test_an_e_value_of_counts_is_its_integral():
    count, trials, allowed = 7, 50, 0.05
    weight = lambda q: q**-0.5 * (1 - q) ** -0.5
    ratio = lambda q: (q / allowed) ** count * ((1 - q) / (1 - allowed)) ** (trials - count)
    above = integrate.quad(lambda q: weight(q) * ratio(q), allowed, 1)[0]
    assert count_e_value(count, trials, allowed) == pytest.approx(
        above / integrate.quad(weight, allowed, 1)[0], rel=1e-7
    )


def test_where_none_is_allowed_a_miss_refutes_for_ever():
    assert count_e_value(1, 10**6, 0.0) == math.inf
    assert p_of(count_e_value(1, 10**6, 0.0)) == 0.0
    assert 0 < count_e_value(0, 100, 0.0) < 1
    assert joined([0.01, math.inf]) == math.inf
    assert count_e_value(0, 10**6, 0.05) == 0.0
    assert joined([count_e_value(0, 10**6, 0.05), 3.0]) == 0.0


def test_a_p_value_is_worth_an_e_value_whose_mean_is_1():
    found = integrate.quad(lambda u: p_e_value(math.exp(-u)) * math.exp(-u), 0, 400, limit=400)[0]
    assert found == pytest.approx(1 - 1 / 400, abs=1e-4)  # int of 1/u^2 beyond 400 is missing
    assert p_e_value(math.exp(-0.00099)) == pytest.approx(p_e_value(math.exp(-0.00101)), rel=1e-5)
    grid = [p_e_value(p) for p in np.geomspace(1e-300, 1, 200)]
    assert grid == sorted(grid, reverse=True)


def test_a_case_and_its_corners_share_the_weight():
    assert shared(3.0, []) == 3.0
    assert shared(3.0, [1.0, 5.0]) == pytest.approx(3.0)
    assert shared(math.inf, [0.0]) == math.inf


def test_misses_are_those_of_the_relation():
    rng = np.random.default_rng(5)
    predicted, measured = rng.random((40, 3)), rng.random((40, 3))
    sample = Sample(predicted, measured, np.ones(40))
    assert misses(AtMost(), sample) == int((measured > predicted).any(axis=1).sum())
    twice = Sample(predicted, np.stack([measured, rng.random((40, 3))], axis=1), np.ones(40))
    assert misses(Witness(probability=0.9), twice) == int((predicted > measured).any(axis=1).sum())
    assert misses(Equal(), sample) == 40
    assert allowed_misses(Witness(probability=0.9)) == pytest.approx(0.1)


def continued(rng, rates, sessions, trials, peek):
    """Whether a family of true and false claims, looked at after each session, ever has a claim refuted, by claim."""
    refuted = np.zeros(len(rates), bool)
    counts, totals, p_values = np.zeros(len(rates), int), 0, np.ones(len(rates))
    for _ in range(sessions):
        fresh = rng.binomial(trials, rates)
        counts, totals = counts + fresh, totals + trials
        if peek == "e-values":
            p_values = np.array([p_of(count_e_value(int(count), totals, LEVEL)) for count in counts])
        else:  # what is wrong: a p-value of all trials so far, as if nobody had looked before
            p_values = stats.binom.sf(counts - 1, totals, LEVEL)
        held = holm({str(k): p for k, p in enumerate(p_values)}, LEVEL)
        refuted |= np.array([held[str(k)][1] for k in range(len(rates))])
    return refuted


def family_wise_error(peek, repeats=300):
    """How often a true claim is ever refuted, of 5 that miss as often as they may beside 1 that is false."""
    rng = np.random.default_rng(11)
    rates = np.array([LEVEL] * 5 + [3 * LEVEL])
    found = np.array([continued(rng, rates, 20, 50, peek) for _ in range(repeats)])
    return found[:, :5].any(axis=1).mean(), found[:, 5].mean(), repeats


def test_the_family_wise_error_of_a_run_that_is_continued_stays_below_the_level_and_the_false_claim_is_found():
    wrong, power, repeats = family_wise_error("e-values")
    assert wrong <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / repeats)
    assert power > 0.95


def test_p_values_that_are_looked_at_again_and_again_break_the_level():
    wrong, _, repeats = family_wise_error("p-values")
    assert wrong > LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / repeats)


def test_sessions_of_p_values_keep_the_level_and_have_power():
    rng = np.random.default_rng(3)
    sessions, repeats = 12, 2000
    true = rng.random((repeats, sessions))
    ever = lambda p: np.maximum.accumulate(
        np.cumsum(np.log([[p_e_value(x) for x in row] for row in p]), axis=1), axis=1
    )
    wrong = (ever(true)[:, -1] >= math.log(1 / LEVEL)).mean()
    assert wrong <= LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / repeats)
    false = stats.norm.sf(rng.normal(2.0, 1.0, (200, sessions)))
    assert (ever(false)[:, -1] >= math.log(1 / LEVEL)).mean() > 0.95


def verdict(name, status, p_value=1.0, **more):
    return Verdict(name, synthetic.Synthetic.source, {}, 0, 1e-3, 10, 10, 1.0, status, "said", p_value=p_value, **more)


def test_claims_that_were_left_count_in_the_family():
    found = [verdict("a", Status.REFUTED, 4e-4)]
    assert at_family_level(found, 1e-3)[0].status is Status.REFUTED
    (held,) = at_family_level(found, 1e-3, 5)
    assert held.status is Status.INCONCLUSIVE
    assert held.level == pytest.approx(1e-3 / 5)


def test_a_verdict_that_says_nothing_about_its_claim_rejects_nothing():
    found = [verdict("a", Status.OUTSIDE, 1e-12), verdict("b", Status.REFUTED, 8e-4)]
    held = at_family_level(found, 1e-3)
    assert [own.status for own in held] == [Status.OUTSIDE, Status.INCONCLUSIVE]
    assert at_family_level([verdict("a", Status.REFUTED, 1e-12), found[1]], 1e-3)[1].status is Status.REFUTED


def test_evidence_decides_in_both_directions():
    found = [verdict("a", Status.REFUTED, 1e-9), verdict("b", Status.SUPPORTED), verdict("c", Status.FAILED)]
    held = at_family_level(found, 1e-3, 3, {"a": 1500.0, "b": 1e7, "c": 1e9})
    assert [own.status for own in held] == [Status.INCONCLUSIVE, Status.REFUTED, Status.FAILED]
    # b is rejected first, and two are left
    assert "e = 1.5e+03; the claim is refuted if e is at least 2e+03" in held[0].reason
    assert "the last session alone is supported" in held[1].reason


def test_the_p_values_of_bounds_are_exact_and_families_of_them_keep_the_level():
    """Statements that miss as often as they may: p-values as verdicts have them, through Holm."""
    rng, claim, wrong, repeats, trials = np.random.default_rng(8), synthetic.TightBound(), 0, 100, 100
    for _ in range(repeats):
        found = []
        for name in "abcd":
            measured = np.where(rng.random(trials) < LEVEL, 2.0, 0.5)
            found.append(
                verdict(name, Status.REFUTED, p_value(claim, Sample(np.ones(trials), measured, np.ones(trials))))
            )
        exact = float(stats.binom.sf((measured > 1).sum() - 1, trials, LEVEL))
        assert found[-1].p_value == pytest.approx(exact, rel=1e-6) if exact < 0.5 else found[-1].p_value == 1.0
        wrong += any(own.status is Status.REFUTED for own in at_family_level(found, 0.2))
    assert 0 < wrong / repeats <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / repeats)


def test_what_was_never_judged_comes_first_and_what_nothing_new_is_expected_of_last():
    said = [
        ("known, and far from its threshold", 256, 256, 1e-3, 2.0), ("known to the end", 256, 0, 1.0, 0.1),
        ("known, and near its threshold", 256, 256, 1.0, 2.0), ("new, slow", 0, 256, 1.0, 60.0),
        ("new", 0, 256, 1.0, 2.0), ("much is known", 10**5, 256, 1.0, 2.0),
    ]  # fmt: skip
    order = by_information(Prospect(synthetic.SureBound(shift=k), *more) for k, (_, *more) in enumerate(said))
    assert [said[own.claim.shift][0] for own in order] == [
        "new", "known, and near its threshold", "new, slow", "much is known", "known, and far from its threshold",
        "known to the end",
    ]  # fmt: skip
    assert order[0].bits == pytest.approx(math.log2(257) / 2)
    longest = longest_first(reversed(order))
    assert [own.seconds for own in longest] == [60.0, 2.0, 2.0, 2.0, 2.0, 0.1]


def test_nearness_falls_with_the_distance_from_the_threshold():
    at = lambda high: verdict("a", Status.SUPPORTED, interval=(0.0, high), band=(0.0, 0.1))
    found = [nearness(at(high)) for high in (0.0999, 0.09, 0.07, 0.03)]
    assert found[0] == pytest.approx(1, abs=0.01)
    assert found == sorted(found, reverse=True)
    assert found[-1] == 1e-3
    assert nearness(None) == nearness(verdict("a", Status.INCONCLUSIVE)) == 1.0
    assert nearness(verdict("a", Status.REFUTED, interval=(0.9, 1.0), band=(0.0, 0.1))) == 1e-3
    assert nearness(verdict("a", Status.REFUTED, interval=(0.11, 0.3), band=(0.0, 0.1))) > 0.5


def test_nearness_is_the_chance_that_fresh_trials_cross_the_threshold():
    """An interval clear of its threshold by half of its half-width, and fresh means of as many trials."""
    rng, q = np.random.default_rng(0), stats.norm.isf(5e-4)
    clear = 0.2 * q  # in standard errors
    first, second = rng.normal(0, 1, (2, 200_000))
    crossed = (second - first > clear).mean()  # the interval moves by the difference of the means
    known = verdict("a", Status.SUPPORTED, interval=(-1.0, 1.0), band=(-5.0, 1.2))
    assert nearness(known) / 2 == pytest.approx(crossed, abs=4e-3)


@pytest.mark.parametrize("wrong", [(), (0,), (2, 4), (0, 1, 2, 3, 4, 5)])
def test_misses_are_the_trials_that_contradict_a_relation_alone(wrong):
    predicted = np.ones(6)
    measured = np.where(np.isin(np.arange(6), wrong), 2.0, 0.5)
    for relation in (AtMost(), AtMost(delta=0.05)):
        assert misses(relation, Sample(predicted, measured, np.ones(6))) == len(wrong)
