"""Average precision of few rows is that of many rows, within what chance allows."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from lemmata.workflows.studies._ranked import expected_precision, mean_precision


def drawn(rng, rows, share, apart):
    positive = rng.random(rows) < share
    return positive, rng.normal(size=rows) + apart * positive


@pytest.mark.parametrize(("share", "apart"), [(0.02, 0.0), (0.02, 1.0), (0.05, 1.0), (0.1, 0.5)])
def test_the_mean_over_small_sets_is_nearer_to_the_truth(share, apart):
    """The truth is scikit-learn's value on 400,000 rows; 300 sets of 250 rows know their mean to a few standard errors.

    Half of scikit-learn's excess is far above them, and leaving each row out takes off more than half.
    """
    rng = np.random.default_rng([3, int(100 * share), int(10 * apart)])
    truth = average_precision_score(*drawn(rng, 400_000, share, apart))
    sets = [(y, s) for y, s in (drawn(rng, 250, share, apart) for _ in range(300)) if y.any()]
    plain = np.array([average_precision_score(y, s) for y, s in sets])
    found = np.array([expected_precision(y, s, share) for y, s in sets])
    error = found.std() / len(found) ** 0.5
    assert plain.mean() - truth > 4 * plain.std() / len(plain) ** 0.5
    assert abs(found.mean() - truth) < (plain.mean() - truth) / 2 + 2 * error


@pytest.mark.parametrize("rows", [40, 200, 1000])
def test_perfect_rankings_and_constant_scores_are_exact(rows):
    positive = np.arange(rows) < rows // 20
    assert expected_precision(positive, 1.0 * positive) == 1.0
    np.testing.assert_allclose(expected_precision(positive, np.zeros(rows)), positive.mean(), rtol=1e-12)
    np.testing.assert_allclose(expected_precision(positive, np.zeros(rows), 0.25), 0.25, rtol=1e-12)


@pytest.mark.parametrize("ties", [0, 1, 2])
def test_with_many_rows_it_is_the_value_of_scikit_learn(ties):
    """The two differ by about one part in the number of positive rows, here 20,000."""
    rng = np.random.default_rng(ties)
    positive, scores = drawn(rng, 200_000, 0.1, 1.0)
    scores = np.round(scores, ties) if ties else scores
    np.testing.assert_allclose(
        expected_precision(positive, scores), average_precision_score(positive, scores), rtol=10 / positive.sum()
    )


def test_several_classes_have_the_mean_over_those_that_the_rows_have():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    y, scores = np.eye(4)[labels], rng.normal(size=(90, 4))
    each = [expected_precision(labels == c, scores[:, c]) for c in range(3)]
    np.testing.assert_allclose(mean_precision(y, scores), np.mean(each), rtol=1e-12)
