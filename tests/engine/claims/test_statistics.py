"""Limits of probabilities and means, against the equations that define them."""

import math

import numpy as np
import pytest
from scipy import stats

from lemmata.engine.claims._statistics import (
    failure_limits,
    holm,
    least_mean,
    mean_interval,
    mean_limits,
    same_throughout,
    share_of_largest,
    stretch,
    trials_to_support,
)


@pytest.mark.parametrize(("failures", "trials"), [(1, 10), (4, 10), (9, 10), (3, 200)])
def test_limits_of_a_probability_are_those_at_which_the_count_is_improbable(failures, trials):
    low, high = failure_limits(failures, trials, 0.01)
    assert stats.binom.sf(failures - 1, trials, low) == pytest.approx(0.01, rel=1e-6)
    assert stats.binom.cdf(failures, trials, high) == pytest.approx(0.01, rel=1e-6)


def test_no_failure_and_no_success_have_one_limit():
    assert failure_limits(0, 10, 0.01) == (0.0, pytest.approx(1 - 0.01**0.1, rel=1e-9))
    assert failure_limits(10, 10, 0.01) == (pytest.approx(0.01**0.1, rel=1e-9), 1.0)


@pytest.mark.parametrize(("probability", "level"), [(0.05, 1e-3), (0.5, 0.25), (0.9, 0.1)])
def test_support_needs_the_first_number_of_trials_with_so_low_a_limit(probability, level):
    count = trials_to_support(probability, level)
    assert (1 - probability) ** count <= level * (1 + 1e-12)
    assert (1 - probability) ** (count - 1) > level


def test_an_interval_of_a_mean_is_halls():
    """Its ends are the means at which Hall's transformed t statistic is a quantile of Student."""
    sample = np.random.default_rng(0).exponential(size=40)
    n, mean, deviation = len(sample), sample.mean(), sample.std(ddof=1)
    skewness = (((sample - mean) / deviation) ** 3).mean()

    def transformed(end):
        t = (mean - end) / deviation
        return np.sqrt(n) * (t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / (6 * n))

    low, high = mean_interval(sample, 0.02)
    quantile = stats.t.ppf(0.99, n - 1)
    assert (transformed(low), transformed(high)) == pytest.approx((quantile, -quantile), rel=1e-9)
    symmetric = np.concatenate([sample, 2 * mean - sample])
    half = stats.t.ppf(0.99, 2 * n - 1) * symmetric.std(ddof=1) / np.sqrt(2 * n)
    assert mean_interval(symmetric, 0.02) == pytest.approx((mean - half, mean + half), rel=1e-9)


def test_an_interval_of_numbers_that_do_not_vary_is_infinite_unless_they_are_exact():
    assert mean_interval(np.array([3.0]), 0.1, exact=True) == (-math.inf, math.inf)
    assert mean_interval(np.full(9, 3.0), 0.1) == (-math.inf, math.inf)
    assert mean_interval(np.full(9, 3.0), 0.1, exact=True) == (3.0, 3.0)
    low, high = mean_interval(np.array([1.0, 2.0]), 0.1)
    assert -math.inf < low < 1.5 < high < math.inf
    assert mean_limits(np.full(9, 3.0), 0.1) == (-math.inf, math.inf)
    varied = np.arange(9.0)
    assert mean_limits(varied, 0.1, exact=True) == mean_interval(varied, 0.1)


def test_numbers_are_the_same_up_to_rounding():
    eps = np.finfo(float).eps
    assert same_throughout(np.array([1.0, 1.0 + 64 * eps, 1.0]))
    assert not same_throughout(np.array([1.0, 1.0 + 200 * eps, 1.0]))
    assert same_throughout(np.array([1e6, 1e6 + 1e-8]))
    assert same_throughout(np.zeros(3))


def test_limits_are_the_wider_interval_stretched():
    sample = np.random.default_rng(1).exponential(size=300)
    mean, (low, high) = sample.mean(), mean_interval(sample, 0.01)
    student = stats.t.ppf(0.995, 299) * sample.std(ddof=1) / np.sqrt(300)
    assert mean - low < student < high - mean
    found = mean_limits(sample, 0.01)
    assert found[0] == pytest.approx(mean - stretch(-sample) * student, rel=1e-9)
    assert found[1] == pytest.approx(mean + stretch(sample) * (high - mean), rel=1e-9)
    mirrored = mean_limits(-sample, 0.01)
    assert mirrored == pytest.approx((-found[1], -found[0]), rel=1e-9)


def test_the_share_of_one_trial_is_counted_to_one_side_or_to_both():
    sample = np.array([0.0, 0.0, 0.0, 4.0, -9.0])
    centred = sample - sample.mean()
    total = (centred**2).sum()
    assert share_of_largest(sample) == pytest.approx(8.0**2 / total)
    assert share_of_largest(sample, above=True) == pytest.approx(5.0**2 / total)


LARGEST = 200.0


def normal(count):
    return stats.norm.ppf((np.arange(count) + 0.5) / count)


def test_light_tails_are_hardly_stretched():
    assert stretch(normal(400)) == pytest.approx(1.0, abs=0.2)
    assert stretch(normal(150)) == pytest.approx(1.0, abs=0.35)
    assert stretch(np.linspace(0, 1, 300)) == 1.0


@pytest.mark.parametrize(
    ("sample", "largest"),
    [
        (np.array([1.0, 2.0, 3.0]), True), (normal(4), True), (np.linspace(0.0, 1.0, 12), False),
        (np.exp(2.5 * normal(400)), True), (np.exp(0.2 * normal(400)), False),
        (np.where(np.arange(400) < 24, 1.0, 0.0), True), (np.where(np.arange(400) < 120, 1.0, 0.0), False),
        (np.append(normal(79), 30.0), True), (np.append(normal(79), 6.0), False),
    ],
)  # fmt: skip
def test_heavy_tails_and_rare_events_are_stretched_most(sample, largest):
    assert bool(stretch(sample) == LARGEST) is largest
    assert bool(stretch(7 * sample - 3) == LARGEST) is largest, "the unit does not matter"


def test_a_stretch_is_the_sum_of_what_three_figures_show():
    sample = np.exp(0.8 * normal(120))
    count, wanted = 120, 30
    deviations = np.sort(sample - np.median(sample))
    above = deviations[-wanted - 1 :]
    tail = np.mean([math.log(value / above[0]) for value in above[1:]])
    reach = above[-1] / abs(deviations[0])
    centred = sample - sample.mean()
    largest = centred.max() ** 2 / (centred**2).sum() * count / (2 * math.log(count))
    assert tail < 1
    by_hand = (
        1 + (100 / count - 0.5) * min(reach - 1, 1) + 0.3 * (largest - 1) + 4 * max(0, tail - 0.57 - 1.5 / count**0.5)
    )
    assert stretch(sample) == pytest.approx(by_hand, rel=1e-12)


def test_betting_ends_where_the_capital_is_one_over_the_level():
    rng = np.random.default_rng(3)
    sample, least = 1 + rng.exponential(size=60), np.linspace(0, 0.5, 60)
    found = least_mean(sample, least, 0.01)
    stakes = np.geomspace(1 / 60, 1, 24, endpoint=False)
    capital = lambda m: np.mean([np.prod(1 + b * (sample - m) / (m - least)) for b in stakes])
    assert capital(found) == pytest.approx(100, rel=1e-3)
    assert 0.5 < found < sample.mean()
    assert least_mean(np.full(5, 2.0), np.full(5, 2.0), 0.01) == 2.0


def test_holm_stops_at_the_first_that_is_too_large():
    found = holm({"a": 0.03, "b": 0.01, "c": 0.02, "d": 1.0}, 0.04)
    assert found == {
        "b": (0.01, True), "c": (pytest.approx(0.04 / 3), False), "a": (0.02, False), "d": (0.04, False),
    }  # fmt: skip
    assert holm({"a": 0.02, "b": 0.01}, 0.02) == {"b": (0.01, True), "a": (0.02, True)}
    assert holm({}, 0.05) == {}
