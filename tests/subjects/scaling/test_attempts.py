"""Attempts: against enumeration, other libraries' routes and simulated truth."""

import itertools
from math import comb

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln

from lemmata.engine.claims import registry
from lemmata.errors import LemmataError
from lemmata.subjects.scaling import allocate, pass_at_k

MASKED = np.ma.masked_array([1, 1], [False, True])
COUNTED = [0, 3, 10, 1, 0, 7, 2, 0, 10, 4]


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_pass_at_k_counts_subsets(k):
    """Of all sets of k among n attempts, the share that has a right one."""
    n = 6
    for right in range(n + 1):
        marks = [True] * right + [False] * (n - right)
        share = np.mean([any(chosen) for chosen in itertools.combinations(marks, k)])
        assert pass_at_k(right, n, k).value == pytest.approx(share, abs=1e-12)


def test_pass_at_k_of_large_numbers_has_no_overflow():
    exact = 1 - comb(9000, 500) / comb(10_000, 500)
    assert pass_at_k(1000, 10_000, 500).value == pytest.approx(exact, rel=1e-9)


def test_no_success_and_no_failure_have_honest_intervals():
    none, all_ = pass_at_k([0] * 20, 10, 5), pass_at_k([10] * 20, 10, 5)
    assert none.value == 0 < none.interval[1] < 0.2
    assert all_.value == 1 > all_.interval[0] > 0.8
    single = pass_at_k(0, 10, 1).interval
    assert single[1] == pytest.approx(stats.binomtest(0, 10).proportion_ci(0.9).high)


def test_beyond_n_is_the_beta_binomial_by_maximum_likelihood():
    answer = pass_at_k(COUNTED, 10, 100)
    worse = lambda logs: -stats.betabinom.logpmf(COUNTED, 10, *np.exp(logs)).sum()
    found = minimize(worse, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    assert np.array(answer.beta) == pytest.approx(np.exp(found.x), rel=0.02)
    a, b = np.exp(found.x)
    assert answer.value == pytest.approx(1 - np.exp(betaln(a, b + 100) - betaln(a, b)), abs=2e-3)
    # the ends of the interval are the least and largest value on the edge of the likelihood's region
    threshold = (1.08 * stats.t.ppf(0.95, 8)) ** 2 / 2
    value = lambda logs: 1 - np.exp(betaln(np.exp(logs[0]), np.exp(logs[1]) + 100) - betaln(*np.exp(logs)))
    inside = {"type": "ineq", "fun": lambda logs: threshold - worse(logs) + found.fun}
    ends = [
        sign * minimize(lambda logs, sign=sign: sign * value(logs), found.x, constraints=inside, method="SLSQP").fun
        for sign in (1, -1)
    ]
    assert np.array(answer.interval) == pytest.approx(ends, abs=5e-3)
    assert "beyond the 10 attempts" in answer.notes[0]


@pytest.mark.parametrize(
    ("problems", "n", "k", "count"),
    [
        (10, 20, 5, 300),
        (50, 20, 10, 300),
        (30, 10, 100, 150),
        (100, 20, 1000, 100),
    ],
)
def test_intervals_hold_the_mean_over_all_problems(problems, n, k, count):
    """At a nominal 0.9: the docstring says 0.90 to 0.94."""
    rng, held = np.random.default_rng(60_001), []
    while len(held) < count:
        a, b = rng.uniform(0.2, 1.5), rng.uniform(0.5, 4)
        counted = rng.binomial(n, rng.beta(a, b, problems))
        if counted.any() and (counted < n).any():
            low, high = pass_at_k(counted, n, k).interval
            held.append(low <= 1 - np.exp(betaln(a, b + k) - betaln(a, b)) <= high)
    print(f"{problems} problems, k = {k} of {n}: coverage {np.mean(held)}")
    spare = 3.5 * np.sqrt(0.09 / count)
    assert 0.9 - spare < np.mean(held) < 0.94 + spare


def test_a_plan_is_the_best_of_all():
    p, budget = np.array([0.9, 0.3, 0.05, 0.001]), 9
    plans = [plan for plan in itertools.product(range(budget + 1), repeat=4) if sum(plan) == budget]
    best = max((1 - (1 - p) ** np.array(plan)).sum() for plan in plans)
    plan = allocate(p, budget)
    assert plan.attempts.sum() == budget
    assert plan.value == pytest.approx(best)
    assert plan.value == pytest.approx((1 - (1 - p) ** plan.attempts).sum())
    assert plan.uniform == pytest.approx((1 - (1 - p) ** np.array([3, 2, 2, 2])).sum())


def test_a_plan_from_counts_is_the_best_for_the_posterior():
    successes, n, budget = np.array([9, 3, 1, 0]), 10, 8
    right, wrong = successes + 0.5, n - successes + 0.5
    solved = lambda plan: (1 - np.exp(betaln(right, wrong + np.array(plan)) - betaln(right, wrong))).sum()
    plans = [plan for plan in itertools.product(range(budget + 1), repeat=4) if sum(plan) == budget]
    plan = allocate(successes, budget, n=n)
    assert plan.value == pytest.approx(max(map(solved, plans)))
    assert plan.uniform == pytest.approx(solved([2, 2, 2, 2]))


def test_the_interval_of_a_plan_holds_the_number_solved():
    p = np.array([0.9, 0.5, 0.3, 0.3, 0.1, 0.05])
    plan = allocate(p, 12, level=0.8)
    rng = np.random.default_rng(0)
    solved = (rng.random((20_000, len(p))) < 1 - (1 - p) ** plan.attempts).sum(axis=1)
    low, high = plan.interval
    assert (solved < low).mean() < 0.1 + 0.01
    assert (solved > high).mean() < 0.1 + 0.01
    assert (solved < low + 1).mean() > 0.1 - 0.01
    assert (solved > high - 1).mean() > 0.1 - 0.01


def test_answers_name_claims_that_exist():
    answers = [pass_at_k(COUNTED, 10, 5), pass_at_k(COUNTED, 10, 50), allocate([0.5], 2)]
    assert {answer.claim for answer in answers} <= set(registry())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: pass_at_k([11], 10, 5), "at most the 10 attempts"),
        (lambda: pass_at_k([-1], 10, 5), "at least 0"),
        (lambda: pass_at_k([1.5], 10, 5), "whole"),
        (lambda: pass_at_k([np.nan], 10, 5), "whole"),
        (lambda: pass_at_k([], 10, 5), "at least one problem"),
        (lambda: pass_at_k(["a"], 10, 5), "the entry 'a'"),
        (lambda: pass_at_k(["1", "2"], 10, 2), "the entry '1'"),
        (lambda: pass_at_k([1, 2], "10", 2), "n; found the entry '10'"),
        (lambda: pass_at_k([1, 2], [3, 4, 5], 2), "successes and n"),
        (lambda: pass_at_k(MASKED, 10, 2), "1 masked entries"),
        (lambda: pass_at_k(np.array([1, 2], "datetime64[D]"), 10, 2), "datetime64"),
        (lambda: allocate(["0.9", "0.3"], 5), "the entry '0.9'"),
        (lambda: allocate(MASKED, 5), "1 masked entries"),
        (lambda: allocate(MASKED, 5, n=10), "1 masked entries"),
        (lambda: pass_at_k([1], 10, 0), "at least 1"),
        (lambda: pass_at_k([1], 10, 2, level=2), "between 0 and 1"),
        (lambda: pass_at_k([1, 2], 10, 50), "at least 5 problems"),
        (lambda: pass_at_k([0] * 8, 5, 10), "successes and failures"),
        (lambda: pass_at_k([5] * 8, 5, 10), "successes and failures"),
        (lambda: allocate([0.5, 1.2], 3), "between 0 and 1"),
        (lambda: allocate([0.5, np.nan], 3), "between 0 and 1"),
        (lambda: allocate([3], 3, n=2), "at most the 2 attempts"),
        (lambda: allocate([], 3), "at least one"),
        (lambda: allocate([0.5], -1), "whole number"),
        (lambda: allocate([0.5], 10**19), "at most 1e"),
    ],
)
def test_wrong_counts_are_refused_in_one_line(ask, message):
    with pytest.raises(LemmataError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("right", "problems", "k"), [(50, 164, 10), (50, 164, 2), (3, 10, 100), (1, 6, 5), (180, 200, 3)]
)
def test_of_one_attempt_a_problem_the_middle_of_what_fits_is_given(right, problems, k):
    """All laws of one mean p fit equally well: from p, where each problem is sure or hopeless, to 1 - (1 - p)^k."""
    found = pass_at_k([1] * right + [0] * (problems - right), 1, k)
    p = right / problems
    low, high = p, 1 - (1 - p) ** k
    assert low + 0.2 * (high - low) < found.value < high - 0.2 * (high - low)
    assert "do not determine" in str(found)
    assert found.interval[0] <= low < high <= found.interval[1]


def test_of_many_attempts_the_law_of_the_largest_likelihood_is_given():
    draw = np.random.default_rng(3)
    counted = draw.binomial(20, draw.beta(0.5, 1.0, 200))
    assert "determine" not in str(pass_at_k(counted, 20, 200))


@pytest.mark.parametrize(("successes", "n", "k"), [([1] * 10, 2, 10**12), ([1000], 1000, 1000)])
def test_an_estimate_that_rounds_to_1_is_not_called_exact(successes, n, k):
    assert "exactly" not in str(pass_at_k(successes, n, k))


@pytest.mark.parametrize("n", [None, 10], ids=["probabilities", "counts"])
def test_a_large_budget_is_spent_as_one_attempt_at_a_time_would_spend_it(monkeypatch, n):
    rng = np.random.default_rng(0)
    p = rng.random(30) ** 3 if n is None else rng.integers(0, n + 1, 30)
    plan = allocate(p, 3000, n=n)
    monkeypatch.setattr("lemmata.subjects.scaling._allocate._STEPS", 50)
    np.testing.assert_array_equal(allocate(p, 3000, n=n).attempts, plan.attempts)


def test_a_budget_of_any_size_is_spent_at_equal_gains():
    """The gains (1 - p)^m p of the next attempts agree to within one attempt, also where they are below 1e-308."""
    p = np.array([0.5, 0.1])
    attempts = allocate(p, 10**12).attempts
    assert attempts.sum() == 10**12
    gains = attempts * np.log1p(-p) + np.log(p)
    assert abs(gains[0] - gains[1]) < np.log(2)


@pytest.mark.parametrize(
    ("c", "n", "k"),
    [(1, 10**12, 525_000_000_000), (186, 10**15, 10**12), (186, 10**15, 10**15 - 10**12), (5, 10**12, 3),
     (4_139_048, 16_751_512_010, 1_235_401), (30_000_000, 10**15, 30_000_000), (3, 10, 7), (1500, 3000, 1200)],
)  # fmt: skip
def test_pass_at_k_is_exact_for_any_number_of_attempts(c, n, k):
    """Against the product of fractions over the smaller of c and k, or log-factorials of 60 digits."""
    with mpmath.workdps(60):
        log = lambda x: mpmath.loggamma(x + 1)
        exact = -mpmath.expm1(log(n - c) - log(n - c - k) - log(n) + log(n - k))
    assert pass_at_k(c, n, k).value == pytest.approx(float(exact), rel=1e-12)


def test_the_interval_of_one_problem_is_exact_for_any_number_of_attempts():
    """Counts of rare successes are Poisson, whose exact limits are quantiles of the gamma distribution."""
    for n in (10**9, 10**12, 10**15):
        low, high = pass_at_k(1000, n, 1).interval
        assert low * n == pytest.approx(stats.gamma.ppf(0.05, 1000), rel=1e-5)
        assert high * n == pytest.approx(stats.gamma.ppf(0.95, 1001), rel=1e-5)
        low, high = pass_at_k(1000, n, n // 1000).interval
        expected = -np.expm1(-np.array([stats.gamma.ppf(0.05, 1000), stats.gamma.ppf(0.95, 1001)]) / 1000)
        assert (low, high) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("k", [5, 50])
def test_the_highest_level_has_an_interval(k):
    low, high = pass_at_k([3, 4, 5, 6, 1, 2], 10, k, level=1 - 1e-16).interval
    assert 0 <= low < 0.5 < high <= 1
