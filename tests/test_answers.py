"""What tools share: exact limits against statsmodels, and numbers that are refused."""

import numpy as np
import pytest

from lemmata.answers import Condition, inside, positive, probability, share_interval, whole
from lemmata.errors import SettingError
from lemmata.subjects.preferences import fit_rewards

ABSENT = "the extra `oracles` is not installed"


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_limits_of_a_share_are_those_of_statsmodels(level):
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason=ABSENT)
    for count, n in ((0, 7), (1, 1), (3, 20), (499, 500), (20, 20)):
        expected = proportion.proportion_confint(count, n, 1 - level, "beta")
        np.testing.assert_allclose(share_interval(float(count), float(n - count), level), expected, rtol=1e-12)


def test_rewards_are_those_of_a_logistic_regression():
    sm = pytest.importorskip("statsmodels.api", reason=ABSENT)
    rng = np.random.default_rng(0)
    truth = np.array([0.0, 0.4, 1.1, -0.5])
    pairs = [tuple(rng.choice(4, 2, replace=False)) for _ in range(300)]
    won = [(a, b) if rng.random() < 1 / (1 + np.exp(truth[b] - truth[a])) else (b, a) for a, b in pairs]
    design = np.zeros((len(won), 4))
    rows = np.arange(len(won))
    design[rows, [a for a, _ in won]] += 1.0
    design[rows, [b for _, b in won]] -= 1.0
    # a regression without intercept: of half of the pairs the loser comes first
    flip = np.where(rng.random(len(won)) < 0.5, 1.0, -1.0)
    fitted = sm.Logit((flip > 0).astype(float), flip[:, None] * design[:, 1:]).fit(disp=0, tol=1e-12)
    found = fit_rewards([(int(a), int(b)) for a, b in won])
    order = [found.items.index(item) for item in range(4)]
    reward = np.asarray(found.reward)[order]
    np.testing.assert_allclose(reward[1:] - reward[0], fitted.params, atol=1e-6)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: positive("radius", 0), "radius; found 0; rule: a finite number above 0"),
        (lambda: positive("radius", "1"), "'1'"),
        (lambda: positive("radius", float("nan")), "nan"),
        (lambda: inside("level", 1.0, 0.0, 1.0), "strictly between 0 and 1"),
        (lambda: probability("p", 1.5), "between 0 and 1"),
        (lambda: probability("p", True), "a number"),
        (lambda: whole("n", 2.5), "whole number"),
        (lambda: whole("n", 0, 1), "at least 1"),
        (lambda: whole("n", [1]), "a number"),
    ],
)
def test_numbers_that_are_refused(check, message):
    with pytest.raises(SettingError, match=message):
        check()


def test_a_condition_says_what_is_known():
    assert str(Condition("rows are independent")) == "rows are independent: cannot be checked"
    assert str(Condition("ties", 0.0, True)) == "ties: holds (0)"
