"""Descriptions, Rademacher complexities and random labels, against enumeration and simulated truth."""

import itertools
import math
import re

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import RBF, Linear, gram
from lemmata.subjects.bounds import kl_upper, occam_bound, rademacher, random_label_test


def thresholds(x, y):
    """The best of all rules sign(x - a) and their negatives on one column."""
    cuts = np.append(np.sort(x[:, 0]) - 1e-9, np.inf)
    values = np.where(x[:, :1] > cuts, 1, -1)
    agreement = (values * np.where(np.asarray(y) == np.max(y), 1, -1)[:, None]).mean(axis=0)
    best = np.abs(agreement).argmax()
    names = np.array([np.min(y), np.max(y)])
    sign, cut = np.sign(agreement[best]), cuts[best]
    return lambda rows: names[(np.where(rows[:, 0] > cut, sign, -sign) > 0).astype(int)]


def exact_complexity(x):
    """Of these rules, over all signs."""
    values = np.where(x[:, :1] > np.append(np.sort(x[:, 0]) - 1e-9, np.inf), 1, -1)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(x))))
    return np.abs(signs @ values / len(x)).max(axis=1).mean()


X = np.random.default_rng(0).normal(size=(16, 2))


@pytest.mark.parametrize("family", ["l2", "l1", "kernel"])
def test_balls_against_all_signs(family):
    x = X[:11]
    signs = np.array(list(itertools.product([-1, 1], repeat=11)))
    sums = signs @ x
    kernel = np.asarray(gram(RBF(0.7), jnp.asarray(x)))
    suprema = {
        "l2": np.linalg.norm(sums, axis=1),
        "l1": np.abs(sums).max(axis=1),
        "kernel": np.sqrt(np.sum((signs @ kernel) * signs, axis=1)),
    }
    truth = 2.5 * suprema[family].mean() / 11
    found = rademacher(RBF(0.7) if family == "kernel" else family, x, 2.5)
    assert found.lower <= truth <= found.upper
    assert found.interval[0] <= truth <= found.interval[1]
    assert found.estimate == pytest.approx(truth, rel=0.05)
    assert found.interval[1] - found.interval[0] < 0.3 * truth


def test_a_linear_kernel_is_the_euclidean_ball():
    one, other = rademacher(Linear(), X, seed=2), rademacher("l2", X, seed=2)
    assert one.upper == pytest.approx(other.upper, rel=1e-6)
    assert one.estimate == pytest.approx(other.estimate, rel=1e-6)


def test_the_interval_of_a_ball_covers(record_property):
    x = X[:9]
    signs = np.array(list(itertools.product([-1, 1], repeat=9)))
    truth = np.linalg.norm(signs @ x, axis=1).mean() / 9
    covered = sum(
        low <= truth <= high for low, high in (rademacher("l2", x, draws=20, seed=s).interval for s in range(200))
    )
    record_property("coverage", float(covered / 200))
    assert covered >= 190 - 12


def test_a_fit_bounds_the_complexity_from_below(record_property):
    truth = exact_complexity(X)
    found = [rademacher(thresholds, X, draws=10, level=0.9, seed=seed) for seed in range(100)]
    covered = sum(one.lower <= truth for one in found)
    record_property("coverage", float(covered / 100))
    assert stats.binom.cdf(covered, 100, 0.9) > 1e-3
    assert np.mean([one.estimate for one in found]) == pytest.approx(truth, abs=0.02)
    assert all(one.upper is None and one.interval[1] == 1.0 for one in found)


def test_the_identity_of_random_labels_and_its_limit():
    truth = exact_complexity(X)
    found = [
        random_label_test(thresholds, X, np.arange(16) % 2, repeats=10, level=0.9, seed=seed) for seed in range(100)
    ]
    assert np.mean([one.complexity for one in found]) == pytest.approx(truth, abs=0.02)
    assert stats.binom.cdf(sum(one.complexity_lower <= truth for one in found), 100, 0.9) > 1e-3
    assert all(one.random_accuracy - one.attainable == pytest.approx(math.sqrt(math.log(10) / 320)) for one in found)


def test_a_tree_memorises_and_a_line_does_not():
    x = np.random.default_rng(1).normal(size=(200, 2))
    tree = random_label_test(DecisionTreeClassifier(), x, x[:, 0] > 0)
    line = random_label_test(LogisticRegression(), x, x[:, 0] > 0)
    assert tree.random_accuracy == tree.true_accuracy == 1.0
    assert tree.memorises
    assert "vacuous" in str(tree)
    assert not line.memorises
    assert line.random_accuracy < 0.7
    assert "vacuous" not in str(line)
    assert min(tree.true_seconds, tree.random_seconds) > 0
    three = random_label_test(LogisticRegression(), x, np.digitize(x[:, 0], [-0.5, 0.5]))
    assert three.complexity is None
    assert three.chance == pytest.approx(1 / 3)
    assert "vacuous" in str(rademacher(DecisionTreeClassifier(), x))


def test_few_points_make_a_ball_vacuous():
    found = rademacher("l1", np.ones((2, 50)))
    assert found.upper > found.trivial
    assert "vacuous" in str(found)
    assert not rademacher("l1", np.ones((200, 50))).vacuous


def test_occam_is_the_chernoff_bound_and_covers():
    generator, repeats, missed = np.random.default_rng(0), 200, 0
    rules = generator.uniform(-1, 1, size=64)  # a code of 6 bits: thresholds
    for _ in range(repeats):
        x = generator.uniform(-1, 1, size=(60, 1))
        y = np.where(generator.uniform(size=60) < 0.2, x[:, 0] <= 0.1, x[:, 0] > 0.1)
        errors = [np.mean((x[:, 0] > rule) != y) for rule in rules]
        rule = rules[int(np.argmin(errors))]
        found = occam_bound(lambda rows, rule=rule: rows[:, 0] > rule, x, y, 6, delta=0.2)
        assert found.error == pytest.approx(min(errors))
        between = abs(rule - 0.1) / 2
        missed += 0.2 * (1 - between) + 0.8 * between > found.bound
    print(f"coverage at a nominal 80 %: {1 - missed / repeats:.1%}")
    assert stats.binom.sf(missed - 1, repeats, 0.2) > 1e-3
    budget = (6 * math.log(2) + math.log(5)) / 60
    assert found.bound == pytest.approx(float(kl_upper(found.error, budget)), rel=1e-9)
    assert found.error < found.bound <= found.error + math.sqrt(budget / 2)


def test_bytes_pay_for_their_end_and_long_descriptions_are_vacuous():
    x = np.random.default_rng(0).normal(size=(200, 1))
    rule, y = lambda rows: rows[:, 0] > 0, x[:, 0] > 0.1
    assert occam_bound(rule, x, y, b"four").bits == 32 + 5
    long = occam_bound(rule, x, y, 10_000)
    assert "bits are too many" in long.vacuous
    assert str(long).startswith("vacuous")
    assert "no description is short enough" in occam_bound(lambda rows: rows[:, 0] < 0, x, y, 1).vacuous


def test_conditions_that_fail_are_printed():
    found = random_label_test(LogisticRegression(), X, np.arange(len(X)) % 3)
    assert str(found).endswith("\n- two classes: fails (3)")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rademacher("l3", X), SettingError, "family"),
        (lambda: rademacher("l2", X, -1.0), SettingError, "radius"),
        (lambda: rademacher("l2", X, level=1.0), SettingError, "level"),
        (lambda: rademacher("l2", X, draws=0), SettingError, "draws"),
        (lambda: rademacher("l2", X[:, 0]), ShapeError, "one point in each row"),
        (lambda: rademacher(None, X), SettingError, "an estimator or a function"),
        (lambda: rademacher(LogisticRegression, X), SettingError, "an estimator or a function"),
        (lambda: rademacher(LogisticRegression(), X[:10]), DataError, "at least 16"),
        (lambda: rademacher(lambda x, y: 3, X), SettingError, "value that fit(x, y) returns"),
        (lambda: rademacher(lambda x, y: lambda rows: np.ones((2, 2)), X), ShapeError, "predictions"),
        (lambda: random_label_test(lambda x, y: 1 / 0, X, X[:, 0] > 0), SettingError, "fit; found ZeroDivisionError: "),
        (
            lambda: random_label_test(lambda x, y: lambda rows: rows[:, 9], X, X[:, 0] > 0),
            SettingError,
            "the fitted learner; found IndexError: ",
        ),
        (lambda: random_label_test(None, X, X[:, 0] > 0), SettingError, "fit"),
        (lambda: random_label_test(LogisticRegression(), X, X[:, 0] > 0, repeats=0), SettingError, "repeats"),
        (lambda: random_label_test(LogisticRegression(), X[:12], X[:12, 0] > 0), DataError, "at least 16"),
        (lambda: random_label_test(LogisticRegression(), X, np.zeros(16)), DataError, "two classes"),
        (lambda: occam_bound(thresholds(X, X[:, 0] > 0), X, X[:, 0] > 0, 0), SettingError, "bits"),
        (lambda: occam_bound(thresholds(X, X[:, 0] > 0), X, X[:, 0] > 0, math.nan), SettingError, "bits"),
        (lambda: occam_bound(thresholds(X, X[:, 0] > 0), X, X[:, 0] > 0, 3, delta=0.0), SettingError, "delta"),
        (lambda: occam_bound(3, X, X[:, 0] > 0, 3), SettingError, "model"),
        (lambda: occam_bound(lambda rows: 1.0, X, X[:, 0] > 0, 3), ShapeError, "predictions"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, error, words):
    with pytest.raises(error, match=re.escape(words)) as caught:
        call()
    assert "\n" not in str(caught.value)
