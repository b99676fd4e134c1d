"""Randomised smoothing against exact binomial tests, exact probabilities and counted coverage."""

import numpy as np
import pytest
from scipy import stats

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.robustness import smooth, smoothed_radius


@pytest.mark.parametrize(
    ("share", "n", "alpha"), [(0.0, 10, 0.05), (0.7, 10, 0.01), (0.99, 1000, 0.001), (1.0, 50, 0.05)]
)
def test_limits_are_those_of_the_exact_binomial_test(share, n, alpha):
    found = smooth(lambda z: (stats.norm.cdf(z[:, 0]) < share).astype(int), np.zeros(1), 1.0, n=n, alpha=alpha)
    expected = stats.binomtest(found.count, n).proportion_ci(1 - 2 * alpha, method="exact").low
    assert found.p_lower == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("n", "p"), [(50, 0.7), (200, 0.9), (500, 0.99)])
def test_the_certificate_is_above_the_truth_with_probability_alpha_at_most(n, p):
    """Summed over the binomial law of the second draws, whose count is all that the certificate uses."""
    above = np.empty(n + 1, bool)
    for count in range(n + 1):
        answers = iter([np.zeros(100, int), (np.arange(n) >= count).astype(int)])
        found = smooth(lambda z, answers=answers: next(answers), np.zeros(1), 1.0, n=n, alpha=0.05)
        assert found.count == count
        above[count] = found.p_lower > p
    assert 0.01 < stats.binom.pmf(np.arange(n + 1), n, p)[above].sum() <= 0.05


def test_a_half_space_is_certified_up_to_its_boundary():
    weight = np.array([3.0, 4.0]) / 5
    x, sigma = 0.8 * weight, 0.5
    found = smooth(lambda z: (z @ weight > 0).astype(int), x, sigma, n=20_000)
    assert found.label == 1
    assert 0.75 < found.radius <= 0.8
    assert found.linf == pytest.approx(found.radius / np.sqrt(2))
    assert found.radius <= found.ceiling
    scores = smooth(lambda z: np.stack([-(z @ weight), z @ weight], axis=1), x, sigma, n=20_000)
    assert scores.count == found.count


def test_the_ceiling_is_reached_where_all_draws_agree():
    found = smooth(lambda z: np.zeros(len(z), int), np.zeros(3), 2.0, n=500, alpha=0.01)
    assert found.radius == pytest.approx(found.ceiling, rel=1e-9)
    assert found.count == 500
    assert found.ceiling == pytest.approx(2.0 * stats.norm.ppf(0.01 ** (1 / 500)))


def test_it_abstains():
    found = smooth(lambda z: (z[:, 0] > 0).astype(int), np.zeros(2), 1.0, n=500)
    assert found.label is None
    assert found.radius == 0.0
    assert "abstains" in str(found)
    assert found.conditions[0].holds is False


def test_radius_of_two_probabilities():
    assert smoothed_radius(0.8, 2.0, 0.1) == pytest.approx(stats.norm.ppf(0.8) + stats.norm.ppf(0.9))
    assert smoothed_radius(0.3, 1.0) == 0.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: smooth(lambda z: z[:, 0] > 0, np.zeros(2), 1.0, alpha=0.0), "alpha"),
        (lambda: smooth(lambda z: z[:, 0] > 0, np.zeros(2), 1.0, alpha=0.5), "alpha"),
        (lambda: smooth(lambda z: z[:, 0] > 0, np.zeros(2), 1.0, selection=0), "selection"),
        (lambda: smoothed_radius(1.2, 1.0), "between 0 and 1"),
        (lambda: smoothed_radius(-0.1, 1.0), "between 0 and 1"),
        (lambda: smoothed_radius(0.8, 1.0, 0.3), "sum is at most 1"),
        (lambda: smoothed_radius(0.8, 0.0), "sigma"),
        (lambda: smooth(lambda z: z[:, 0] > 0, np.zeros(2), -1.0), "sigma"),
        (lambda: smooth(lambda z: z[:, 0] > 0, np.zeros(2), 1.0, n=0), "n"),
        (lambda: smooth(lambda z: z[:, 0] > 0, np.zeros(2), 1.0, alpha=2.0), "alpha"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(SettingError, match=words):
        call()


def test_answers_that_are_no_classes():
    with pytest.raises(ShapeError, match="whole numbers"):
        smooth(lambda z: z[:, 0], np.zeros(2), 1.0)
    with pytest.raises(ShapeError, match="answers of f"):
        smooth(lambda z: np.zeros(3, int), np.zeros(2), 1.0)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.full((len(x), 3), np.nan), "100 of 100 rows"),
        (lambda x: np.stack([x[:, 0], np.where(x[:, 0] > 1, np.inf, 0.0)], axis=1), "rows with NaN or infinite"),
        (lambda x: np.full((len(x), 2), 1j), "complex"),
        (lambda x: [["a", "b"]] * len(x), "real numbers"),
        (lambda x: np.zeros((len(x), 0)), "shape"),
        (lambda x: [[1.0]] + [[1.0, 2.0]] * (len(x) - 1), "answers of f"),
    ],
)
def test_scores_that_are_no_numbers_are_refused(f, words):
    with pytest.raises((DataError, ShapeError), match=words):
        smooth(f, np.array([1.0, 0.0]), 0.5, n=100)


def test_one_score_is_a_sign():
    found = smooth(lambda x: x[:, :1], np.array([2.0, 0.0]), 0.5, n=100)
    assert (found.label, smooth(lambda x: -x[:, :1], np.array([2.0, 0.0]), 0.5, n=100).label) == (1, 0)


@pytest.mark.parametrize(
    ("classes", "remedy"),
    [
        (lambda x: np.where(x[:, 0] > 0, "a", "b"), "number the classes"),
        (lambda x: np.where(x[:, 0] > 0, 1.0, 0.0), "astype"),
    ],
)
def test_classes_that_are_not_whole_numbers_get_a_remedy_that_applies(classes, remedy):
    with pytest.raises(ShapeError, match=rf"answers of f; .*remedy: .*{remedy}"):
        smooth(classes, np.zeros(2), 1.0, n=10)
