"""What the claims about subspaces rest on, by other routes."""

import numpy as np
from scipy import stats

from lemmata.subjects.dynamics import rank_needed


def test_the_bound_on_one_norm_holds_by_the_law_of_chi_squared():
    """P(| |A'g|²/|g|² - 1 | > e) <= 2 exp(-(e² - e³) k/4), of which the union is made."""
    for error in (0.2, 0.5, 0.8):
        for k in (20, 100, 400):
            exact = stats.chi2.sf(k * (1 + error), k) + stats.chi2.cdf(k * (1 - error), k)
            assert exact <= 2 * np.exp(-(error**2 - error**3) * k / 4)


def test_the_dimension_asked_for_is_several_times_what_is_enough():
    """By the law of the chi-squared norms of sums and differences, with the same union over pairs."""
    rows, error, delta = 6, 0.5, 0.1
    enough = next(k for k in range(1, 1000)
                  if rows**2 * 2 * (stats.chi2.sf(k * 1.5, k) + stats.chi2.cdf(k * 0.5, k)) <= delta)  # fmt: skip
    assert 1.5 < rank_needed(rows, error, delta) / enough < 4
