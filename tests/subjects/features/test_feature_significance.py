"""The p-value of the best feature: against SciPy's exact test, permutations, and bad input."""

import numpy as np
import pytest
from scipy import stats

from lemmata.errors import SettingError
from lemmata.subjects.features import feature_significance
from lemmata.subjects.features._significance import _distribution, _saddlepoint


@pytest.mark.parametrize("seed", range(4))
def test_one_feature_is_scipys_exact_test(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0.5, 1, 12), rng.normal(size=17)
    exact = stats.mannwhitneyu(x, y, alternative="greater", method="exact")
    found = feature_significance(exact.statistic / (12 * 17), 1, 12, 17)
    assert found.alone == pytest.approx(exact.pvalue, rel=1e-9)
    assert found.p_value == pytest.approx(found.alone)


def test_the_best_of_many_by_permutation():
    rng = np.random.default_rng(0)
    ranks = rng.permuted(np.tile(np.arange(30), (20_000, 1)), axis=1)[:, :12]
    auc = (ranks.sum(axis=1) - 66) / (12 * 18)
    best = auc.reshape(-1, 20).max(axis=1)
    found = feature_significance(0.78, 20, 12, 18)
    assert np.mean(best >= 0.78) == pytest.approx(found.p_value, abs=0.03)
    assert best.mean() == pytest.approx(found.expected, abs=0.005)
    assert found.p_value <= found.bound


@pytest.mark.parametrize("sizes", [(30, 40), (10, 120), (3, 300)])
def test_the_saddlepoint_agrees_with_enumeration(sizes):
    exact = np.cumsum(_distribution(*sizes)[::-1])[::-1]
    for share in (0.4, 0.55, 0.7, 0.85, 0.97):
        u = int(share * sizes[0] * sizes[1])
        assert _saddlepoint(u, *sizes) == pytest.approx(exact[u], rel=0.05)


def test_the_needed_auc_is_the_least_one():
    found = feature_significance(0.6, 500, 25, 60)
    pairs = 25 * 60
    assert feature_significance(found.needed, 500, 25, 60).bound <= 0.05
    assert feature_significance(found.needed - 1 / pairs, 500, 25, 60).bound > 0.05


def test_too_few_examples_prove_nothing():
    found = feature_significance(1.0, 1000, 2, 3)
    assert found.needed is None
    assert found.bound == 1.0
    assert "no AUC is enough" in str(found)


@pytest.mark.parametrize("sizes", [(10**7, 10**7), (1, 10**12), (200_000, 10**6)])
def test_huge_counts_are_finite(sizes):
    found = feature_significance(0.5001, 10**9, *sizes)
    assert 0 <= found.p_value <= found.bound <= 1
    assert 0.5 <= found.expected <= 1
    assert found.plot().to_dict()


@pytest.mark.parametrize(
    "given", [(1.2, 5, 3, 3), ("0.7", 5, 3, 3), (0.7, 0, 3, 3), (0.7, 5, 2.5, 3), (np.nan, 5, 3, 3), ([0.7], 5, 3, 3),
              (0.7, 5, 3, None), (True, 5, 3, 3), (0.7, np.inf, 3, 3)],
)  # fmt: skip
def test_bad_input_is_refused_in_one_line(given):
    with pytest.raises(SettingError) as caught:
        feature_significance(*given)
    assert "\n" not in str(caught.value)


def test_the_record_names_its_claims():
    found = feature_significance(0.75, 1000, 40, 60)
    assert found.claims == ("features.evidence.best_of_many",)
    assert "<pre" in found._repr_html_()


def test_single_precision_and_counts_that_are_too_large():
    for pairs in range(1400, 2400, 7):
        auc = pairs / 2400
        assert feature_significance(np.float32(auc), 9, 40, 60).alone == feature_significance(auc, 9, 40, 60).alone
    with pytest.raises(SettingError, match="features; found a number above 1e308"):
        feature_significance(0.7, 10**400, 5, 5)
