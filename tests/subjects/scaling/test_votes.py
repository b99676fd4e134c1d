"""Votes and verifiers: against enumeration of all outcomes and simulation."""

import itertools
from math import factorial

import numpy as np
import pytest
from scipy import stats

from lemmata.engine.claims import registry
from lemmata.errors import LemmataError
from lemmata.subjects.scaling import plurality_error, verifier_ceiling, votes_needed


def enumerated(probabilities, votes, lost):
    """The probability of all outcomes of a multinomial vote that are lost."""
    total = 0.0
    for counts in itertools.product(range(votes + 1), repeat=len(probabilities)):
        if sum(counts) == votes and lost(counts):
            ways = factorial(votes) / np.prod([float(factorial(count)) for count in counts])
            total += ways * np.prod(np.array(probabilities) ** np.array(counts))
    return total


@pytest.mark.parametrize("votes", [1, 2, 5, 8])
def test_the_error_of_a_plurality_is_enumerated(votes):
    found = enumerated((0.5, 0.3, 0.2), votes, lambda counts: counts[1] >= counts[0])
    assert plurality_error(0.5, 0.3, votes) == pytest.approx(found, rel=1e-10)


@pytest.mark.parametrize(("p1", "p2", "error"), [(0.5, 0.3, 0.05), (0.6, 0.4, 0.1), (0.9, 0.1, 0.01), (0.4, 0.0, 0.01)])
def test_the_number_of_votes_is_the_least_from_which_on_all_are_enough(p1, p2, error):
    value = int(votes_needed(p1, p2, error).value)
    every = [plurality_error(p1, p2, votes) <= error for votes in range(1, 2 * value + 10)]
    assert all(every[value - 1 :])
    assert value == 1 or not every[value - 2]


def test_sure_votes_are_enough_against_many_rivals():
    lost = lambda counts: max(counts[1:]) >= counts[0]
    answer = votes_needed(0.6, 0.2, 0.2)
    assert enumerated((0.6, 0.2, 0.2), int(answer.sure), lost) <= 0.2
    assert answer.value <= answer.sure < 8 * answer.value
    rivals = [0.08] * 5
    answer = votes_needed(0.6, 0.08, 0.2)
    draws = np.random.default_rng(0).multinomial(int(answer.sure), [0.6, *rivals], size=20_000)
    assert (draws[:, 1:].max(axis=1) >= draws[:, 0]).mean() <= 0.2


def test_counts_give_an_interval_and_may_not_tell():
    answer = votes_needed((500, 1000), (300, 1000), 0.01)
    assert answer.value == votes_needed(0.5, 0.3, 0.01).value
    assert answer.interval[0] < answer.value < answer.interval[1] < np.inf
    unsure = votes_needed((50, 100), (30, 100), 0.01)
    assert unsure.interval[1] == np.inf
    assert "do not show" in unsure.notes[0]


def test_the_ceiling_is_where_accuracies_end():
    ceiling = verifier_ceiling(0.2, 0.8, 0.1)
    rng = np.random.default_rng(0)
    for attempts in (1, 4, 64):
        right = rng.random((40_000, attempts)) < 0.2
        accepted = rng.random(right.shape) < np.where(right, 0.8, 0.1)
        chosen = right[np.arange(len(right)), accepted.argmax(axis=1)]
        assert ceiling.accuracy(attempts) == pytest.approx(chosen.mean(), abs=0.012)
    assert ceiling.accuracy(10_000) == pytest.approx(ceiling.value) == pytest.approx(0.16 / 0.24)
    assert ceiling.interval == (ceiling.value, ceiling.value)


def test_the_ceiling_of_counts_has_exact_limits():
    counted = (20, 100), (80, 100), (10, 100)
    low, high = zip(*(stats.binomtest(*pair).proportion_ci(1 - 0.1 / 3) for pair in counted), strict=True)
    share = lambda p, t, f: p * t / (p * t + (1 - p) * f)
    expected = share(low[0], low[1], high[2]), share(high[0], high[1], low[2])
    assert verifier_ceiling(*counted).interval == pytest.approx(expected)


def test_the_ceiling_of_counts_holds_the_true_one():
    rng, held = np.random.default_rng(1), []
    for _ in range(300):
        p, t, f = rng.uniform(0.1, 0.9), rng.uniform(0.5, 0.95), rng.uniform(0.05, 0.4)
        counted = [(int(rng.binomial(60, rate)), 60) for rate in (p, t, f)]
        low, high = verifier_ceiling(*counted).interval
        held.append(low <= p * t / (p * t + (1 - p) * f) <= high)
    assert np.mean(held) > 0.9


def test_a_useless_verifier_is_named():
    assert "no better than chance" in verifier_ceiling(0.3, 0.5, 0.5).notes[0]
    assert verifier_ceiling(0.3, 0.5, 0.0).value == 1


def test_answers_name_claims_that_exist():
    assert {verifier_ceiling(0.2, 0.8, 0.1).claim, votes_needed(0.5, 0.3, 0.1).claim} <= set(registry())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: votes_needed(0.3, 0.5, 0.1), "p1 above p2"),
        (lambda: votes_needed(0.5, 0.5, 0.1), "p1 above p2"),
        (lambda: votes_needed(0.7, 0.5, 0.1), "at most 1"),
        (lambda: votes_needed(1.7, 0.5, 0.1), "between 0 and 1"),
        (lambda: votes_needed(0.7, np.nan, 0.1), "between 0 and 1"),
        (lambda: votes_needed(0.5, 0.3, 0), "strictly between"),
        (lambda: votes_needed((5, 4), 0.3, 0.1), "at most the 4"),
        (lambda: votes_needed(0.3001, 0.3, 0.01), "would be needed"),
        (lambda: verifier_ceiling(-0.1, 0.5, 0.5), "between 0 and 1"),
        (lambda: verifier_ceiling(0.0, 1.0, 0.0), "accepts some answers"),
        (lambda: verifier_ceiling(0.1, 0.5, 0.5, level=0), "strictly between"),
    ],
)
def test_what_is_no_probability_is_refused_in_one_line(ask, message):
    with pytest.raises(LemmataError, match=message) as caught:
        ask()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("p1", "p2"), [(0.5, 0.499999999999), (1e-300, 0.0), (1e-323, 5e-324)])
def test_votes_that_nobody_can_cast_are_refused(p1, p2):
    with pytest.raises(LemmataError, match=r"but about .* would be needed; remedy"):
        votes_needed(p1, p2, 0.01)


@pytest.mark.parametrize("given", [(0.6, 0.6, 3), (1.2, 0.1, 3), (0.5, 0.3, -1), (0.5, 0.3, 10**9),
                                   (0.5, 0.3, 3, -1)])  # fmt: skip
def test_the_arguments_of_a_plurality_are_checked(given):
    with pytest.raises(LemmataError, match=r"found .*rule"):
        plurality_error(*given)


def test_without_votes_the_second_answer_ties():
    assert plurality_error(0.0, 0.0, 10) == plurality_error(0.5, 0.3, 0) == 1.0
    with pytest.raises(LemmataError, match="attempts; found 0"):
        verifier_ceiling(0.2, 0.8, 0.1).accuracy(0)
