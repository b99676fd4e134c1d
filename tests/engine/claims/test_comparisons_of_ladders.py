"""Means and ladders at the edges of what they accept, by hand: a comparison, a constant or a sign that is off fails."""

import math

import numpy as np
import pytest

from lemmata.engine.claims import EqualInMean, Limit, Order, Rate, Status
from lemmata.engine.claims._judge import decide
from lemmata.engine.claims._relations import Judgement
from lemmata.engine.claims._statistics import failure_limits, holm, mean_interval, trials_to_support
from tests.engine.claims.by_hand import LEVEL, RUNGS, alike, sample


def noisy(mean, deviation, trials=400, replicates=1):
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(trials, replicates))
    noise = (noise - noise.mean()) / noise.std()
    measured = mean + deviation * noise
    return sample(np.ones(trials), measured[:, 0] if replicates == 1 else measured)


def test_a_mean_is_held_against_its_margin():
    relation = EqualInMean(margin=0.1, resolution=0.05, over="problems")
    for mean, holds in ((1.0, True), (1.09, True), (0.91, True), (1.3, False), (0.7, False)):
        assert relation.judge(noisy(mean, 1e-3), LEVEL).holds is holds, mean
    for deviation, holds in ((0.24, True), (0.36, None)):  # intervals from 0.1 by 0.04 and by 0.06 either way
        assert relation.judge(noisy(1.1, deviation), LEVEL).holds is holds
        assert relation.judge(noisy(0.9, deviation), LEVEL).holds is holds
    wide = relation.judge(noisy(1.0, 2.0), LEVEL)
    assert wide.holds is None
    assert wide.needed > 400
    assert wide.band == pytest.approx((-0.15, 0.15))
    assert relation.judge(noisy(1.3, 1e-3), LEVEL).estimate == pytest.approx(0.3)
    absolute = EqualInMean(margin=0.1, resolution=0.05, relative=False, over="problems")
    told = absolute.judge(sample(np.full(400, 10.0), noisy(10.09, 1e-3).measured), LEVEL)
    assert told.holds is True
    assert absolute.distance(np.ones(1), np.full(1, 1.3)).ravel() == pytest.approx([3.0])
    assert EqualInMean(over="problems").replicates == 1
    assert EqualInMean().replicates == 2
    assert str(EqualInMean()) == "mean of measured = predicted"
    assert str(relation) == "mean over problems of measured = predicted, within 0.1"


def test_the_worst_column_of_a_mean_decides():
    measured = np.stack([noisy(1.0, 1e-3).measured, noisy(1.0, 2.0).measured, noisy(2.0, 1e-3).measured], axis=1)
    relation = EqualInMean(over="problems")
    for columns, holds in (([0], True), ([0, 1], None), ([0, 1, 2], False), ([2, 0], False)):
        assert relation.judge(sample(np.ones((400, len(columns))), measured[:, columns]), LEVEL).holds is holds


def test_problems_whose_own_means_are_off_are_seen_beside_a_mean_that_is_right():
    trials = 400
    signs = np.where(np.arange(trials) % 2, 1.0, -1.0)[:, None]
    rng = np.random.default_rng(0)
    noise = 0.01 * rng.normal(size=(trials, 2))
    for size, holds in ((0.0, True), (0.2, True), (0.5, False)):
        relation = EqualInMean(margin=0.3, resolution=0.05)
        assert relation.judge(sample(np.ones(trials), 1 + size * signs + noise), LEVEL).holds is holds, size
    spread = EqualInMean(margin=0.1, resolution=0.05, spread=0.5)
    assert spread.judge(sample(np.ones(trials), 1 + 0.5 * signs + noise), LEVEL).holds is True
    assert spread.judge(sample(np.ones(trials), 1 + 0.7 * signs + noise), LEVEL).holds is False


def test_two_measurements_of_a_problem_tell_its_own_mean_from_noise():
    rng = np.random.default_rng(5)
    apart = 0.5 * rng.normal(size=(400, 1)) * np.array([1.0, -1.0])  # each pair has the mean 1
    assert EqualInMean(resolution=0.05).judge(sample(np.ones(400), 1 + apart), LEVEL).holds is True
    noise = 0.3 * rng.normal(size=(4000, 2))
    assert EqualInMean(resolution=0.04).judge(sample(np.ones(4000), 1 + noise), LEVEL).holds is True
    own = 0.005 * np.where(np.arange(400) % 2, 1.0, -1.0)[:, None] + 1e-4 * rng.normal(size=(400, 2))
    assert EqualInMean(resolution=0.05).judge(sample(np.ones(400), 1 + own), LEVEL).holds is False


def test_a_mean_that_only_an_unseen_tail_could_save_is_told_apart_and_not_refuted():
    """24 of 48 numbers are 0, as accuracies of two models on the same rows: a quarter has a heavy tail by its index."""
    numbers = np.repeat([0.0, 0.005, -0.005, 0.01, -0.01, 0.02, -0.02, 0.03, -0.03], [24, 3, 3, 3, 3, 3, 3, 3, 3])
    relation = EqualInMean(margin=0.01, resolution=0.01, relative=False, over="problems")
    told = lambda stated: relation.judge(sample(np.full(48, stated), 0.8 + numbers), LEVEL)
    assert (told(0.8).holds, told(0.8).told_apart) == (True, False)
    assert (told(0.84).holds, told(0.84).apart, told(0.84).told_apart) == (None, True, True)
    assert "the measurements may have rare large values" in told(0.84).reason
    assert (told(0.815).holds, told(0.815).told_apart) == (None, False), "the interval reaches the band"
    pair = relation.judge(sample(np.full((48, 2), [0.84, 0.815]), 0.8 + np.stack([numbers, numbers], axis=1)), LEVEL)
    assert pair.told_apart
    constant = relation.judge(sample(np.full(48, 0.84), np.full(48, 0.8)), LEVEL)
    assert (constant.holds, constant.told_apart) == (None, False), "a sample that does not vary tells nothing"


# Ladders


def ladders(exponent, trials=64, noise=0.01, constant=1.0):
    rng = np.random.default_rng(1)
    slopes = exponent + noise * rng.normal(size=(trials, 1))
    return constant * np.asarray(RUNGS) ** slopes


def test_a_slope_is_held_against_the_exponent_from_both_sides_or_from_above():
    both, upper = Rate("n", RUNGS, margin=0.1, resolution=0.1), Rate("n", RUNGS, margin=0.1, resolution=0.1, upper=True)
    for shift, holds, above in ((0.0, True, True), (0.09, True, True), (-0.09, True, True), (0.3, False, False),
                                (-0.3, False, True)):  # fmt: skip
        trials = sample(np.full(64, -0.5), ladders(-0.5 + shift))
        assert both.judge(trials, LEVEL).holds is holds, shift
        assert upper.judge(trials, LEVEL).holds is above, shift
    judged = both.judge(sample(np.full(64, -0.5), ladders(-0.5)), LEVEL)
    assert judged.band == pytest.approx((-0.7, -0.3))
    assert judged.estimate == pytest.approx(-0.5, abs=0.01)
    assert judged.interval[0] < -0.5 < judged.interval[1]
    assert upper.judge(sample(np.full(64, -0.5), ladders(-0.5)), LEVEL).band == pytest.approx((-np.inf, -0.3))
    wide = both.judge(sample(np.full(64, -0.5), ladders(-0.5, noise=1.0)), LEVEL)
    assert wide.holds is None
    assert wide.needed > 64


def test_rungs_at_the_rounding_floor_do_not_count():
    measured = ladders(-0.5)
    measured[:, 3] = 1e-17
    judged = Rate("n", RUNGS).judge(sample(np.full(64, -0.5), measured), LEVEL)
    assert judged.holds is True
    assert "1 sizes dropped because of rounding errors" in judged.reason
    once = ladders(-0.5)
    once[0, 3] = 0.0
    judged = Rate("n", RUNGS).judge(sample(np.full(64, -0.5), once), LEVEL)
    assert (judged.holds, "1 sizes" in judged.reason) == (True, True), "a slope needs a logarithm in every trial"
    measured[:, 2] = 0.0
    judged = Rate("n", RUNGS).judge(sample(np.full(64, -0.5), measured), LEVEL)
    assert judged.holds is None
    assert "fewer than 3 sizes" in judged.reason


def test_a_step_the_other_way_reverses_an_order():
    relation = Order("n", RUNGS)
    rng = np.random.default_rng(2)
    noise = 0.01 * rng.normal(size=(100, 4))
    for values, sign, holds in (([0.0, 1.0, 2.0, 3.0], 1.0, True), ([0.0, 1.0, 2.0, 3.0], -1.0, False),
                                ([3.0, 2.0, 1.0, 0.0], -1.0, True), ([0.0, 1.0, 0.5, 3.0], 1.0, False),
                                ([0.0, 1.0, 1.0, 3.0], 1.0, None)):  # fmt: skip
        judged = relation.judge(sample(np.full(100, sign), np.asarray(values) + noise), LEVEL)
        assert judged.holds is holds, values
        assert (judged.needed == 400) is (holds is None)
    rising = relation.judge(sample(np.ones(100), np.asarray([0.0, 1.0, 3.0, 6.0]) + noise), LEVEL)
    assert (rising.estimate, rising.band) == (pytest.approx(1.0, abs=0.01), (0.0, np.inf)), "the smallest step"
    for flat in ([0.0, 1.0, 1.0, 3.0], [1.0, 1.0, 1.0, 1.0]):
        assert relation.judge(alike(1.0, flat, 100), LEVEL).holds is None, "a step of exactly 0 says neither"
    assert relation.judge(sample(np.ones(100), np.asarray([0.0, 1.0, 0.5, 3.0]) + noise), LEVEL).reason.endswith(
        "from n = 16 to 32"
    )


def test_a_limit_is_missed_by_a_plateau_and_not_by_what_still_falls():
    relation, sizes = Limit("n", RUNGS, margin=0.05, resolution=0.05), np.asarray(RUNGS)
    rng = np.random.default_rng(4)
    noise = 1e-4 * rng.normal(size=(100, 4))
    for values, holds in ((1 + 0.3 / sizes, True), (1.04 + 0 * sizes, True), (1.2 + 0 * sizes, False),
                          (0.8 + 0 * sizes, False), (1 + 2.0 * sizes**-0.5, None), (1 - 2.0 * sizes**-0.5, None),
                          (1 + 2.0 * sizes**-0.2, False)):  # fmt: skip
        assert relation.judge(sample(np.ones(100), values + noise), LEVEL).holds is holds, values


def test_a_limit_is_judged_at_the_last_size_and_its_excess_two_sizes_before():
    relation, noise = Limit("n", RUNGS, margin=0.05), 1e-5 * np.random.default_rng(6).normal(size=(100, 4))
    cases = (([0.5, 0.5, 0.5, -0.05], True), ([0.5, 0.2, 0.17, 0.12], False), ([0.5, 0.2, 0.17, 0.09], None),
             ([0.5, 0.3, 0.25, 0.14], None), ([-0.6, -0.3, -0.27, -0.22], False))  # fmt: skip
    for excess, holds in cases:
        assert relation.judge(sample(np.ones(100), 1.05 + np.asarray(excess) + noise), LEVEL).holds is holds, excess
    short = Limit("n", RUNGS[:3], margin=0.05)
    assert short.judge(sample(np.ones(100), 1.05 + np.asarray([0.5, 0.25, 0.2]) + noise[:, :3]), LEVEL).holds is None
    assert Limit("n", RUNGS, relative=False).distance(np.ones(1), np.full(1, 1.3)).ravel() == pytest.approx([4.0])
    assert Limit("n", RUNGS).distance(np.ones(1), np.full(1, 1.3)).ravel() == pytest.approx([1.3])


# The statistics and the status


def test_limits_of_rates_and_means_at_their_ends():
    assert failure_limits(0, 10, LEVEL)[0] == 0.0
    assert failure_limits(10, 10, LEVEL)[1] == 1.0
    assert failure_limits(1, 10, LEVEL)[0] > 0.0
    assert failure_limits(9, 10, LEVEL)[1] < 1.0
    assert trials_to_support(0.5, 0.25) == 2
    assert holm({"a": 0.05}, 0.05) == {"a": (0.05, True)}
    assert mean_interval(np.ones(1), LEVEL) == (-np.inf, np.inf)
    assert all(map(math.isfinite, mean_interval(np.array([1.0, 2.0]), LEVEL)))
    low, high = mean_interval(np.array([1.0, 2.0, 3.0, 4.0]), 0.05)
    assert (low, high) == pytest.approx((2.5 - 2.0542, 2.5 + 2.0542), abs=1e-3)  # 3.1824 sqrt(5/3) / 2
    skewed = np.array([0.0] * 9 + [1.0])
    assert mean_interval(skewed, 0.05)[1] - 0.1 > 0.1 - mean_interval(skewed, 0.05)[0]


def test_what_the_parts_of_a_verdict_come_to():
    yes, no, open_ = (Judgement(holds, 0.0, (0.0, 0.0), "told") for holds in (True, False, None))
    beyond = lambda share: (np.arange(100) < 100 * share)[:, None]
    assert decide(yes, "", None, ())[0] is Status.SUPPORTED
    assert decide(yes, "", beyond(0.5), ())[0] is Status.SUPPORTED
    assert decide(yes, "", beyond(0.51), ())[0] is Status.VACUOUS
    assert decide(open_, "", beyond(0.51), ())[0] is Status.INCONCLUSIVE
    assert decide(open_, "", beyond(1.0), ())[0] is Status.VACUOUS
    assert decide(no, "", beyond(1.0), ())[0] is Status.REFUTED
    for holds, said, status in (
        (yes, "the conclusion holds", Status.OUTSIDE),
        (no, "the conclusion fails", Status.FAILS_OUTSIDE),
        (open_, "undecided", Status.INCONCLUSIVE),
    ):
        assert decide(holds, "", None, ("a",)) == (status, f"{said}, although 'a' is false here; told")
    assert decide(open_, "", None, ())[0] is Status.INCONCLUSIVE
    assert decide(no, "weak", None, ())[0] is Status.REFUTED
    status, reason = decide(yes, "the control is not refuted", None, ())
    assert (status, reason) == (
        Status.INCONCLUSIVE,
        "told; but the control is not refuted, so these trials have no power",
    )


def test_one_component_that_is_mostly_beyond_the_trivial_value_is_vacuous():
    yes, open_ = (Judgement(holds, 0.0, (0.0, 0.0), "told") for holds in (True, None))
    second = lambda share: np.stack([np.zeros(100, bool), np.arange(100) < 100 * share], axis=1)
    assert decide(yes, "", second(0.55), ())[0] is Status.SUPPORTED, "55 of 100 may be a rate of a half"
    status, reason = decide(yes, "", second(0.7), ())
    assert status is Status.VACUOUS
    assert "component 2 of 2 is beyond the trivial value in 70% of the trials" in reason
    assert decide(open_, "", second(0.99), ())[0] is Status.INCONCLUSIVE
    assert decide(open_, "", second(1.0), ())[0] is Status.VACUOUS
