"""Shift between two samples: the area by another route, its level and its power, and rows that cannot be in use."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from lemmata.answers import share_interval
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.trained_models import find_shift, labels_needed, read_trained, shift_in_use
from lemmata.subjects.trained_models._shift import _DRAWS, _inputs, copied, two_sample_areas

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.arange(60) % 3
LINEAR = (lambda own, x: x @ own), jnp.asarray(RNG.normal(size=(4, 3)))
HELD = RNG.normal(size=(120, 4)), np.arange(120) % 3


def shifted(first, second, seed=0):
    rows = np.concatenate([first, second])
    return two_sample_areas(_inputs(rows), np.arange(len(rows)) >= len(first), np.random.default_rng(seed))


def test_the_area_is_that_of_ridge_regression_on_each_fold():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(33, 3)), rng.normal(size=(41, 3)) + 0.4
    found, nulls = shifted(first, second, 7)
    rows = np.concatenate([first, second])
    labels = (np.arange(74) >= 33) * 1.0
    blocks = [rows, (rows - rows.mean(0)) ** 2]
    columns = np.hstack([(b - b.mean(0)) / b.std(0) for b in blocks]) / np.sqrt(2 * 3)
    again = np.random.default_rng(7)
    dealt = [again.permutation(labels) for _ in range(_DRAWS)]
    folds = np.array_split(again.permutation(74), 5)

    def area(own):
        scores = np.empty(74)
        for fold in folds:
            rest = np.setdiff1d(np.arange(74), fold)
            fitted = Ridge(alpha=1.0, fit_intercept=False).fit(columns[rest], own[rest] - own.mean())
            scores[fold] = fitted.predict(columns[fold])
        return roc_auc_score(own, scores)

    assert found == pytest.approx(area(labels))
    assert nulls[:3] == pytest.approx([area(own) for own in dealt[:3]])


def test_its_level_where_both_are_of_one_law():
    """Rejections among 200 pairs of heavy-tailed samples of unequal size are binomial with probability 1/20."""
    rng = np.random.default_rng(2)
    rejected = 0
    for seed in range(200):
        area, nulls = shifted(rng.standard_t(2, (40, 3)), rng.standard_t(2, (25, 3)), seed)
        rejected += int(1 + (nulls >= area).sum() <= 0.05 * (1 + len(nulls)))
    assert stats.binom.ppf(0.001, 200, 0.05) <= rejected <= stats.binom.ppf(0.999, 200, 0.05)


def test_many_rows_reach_the_best_area():
    """Between normal rows of unit covariance at the distance t no classifier has an area above Phi(t/sqrt 2)."""
    rng = np.random.default_rng(3)
    area, nulls = shifted(rng.normal(size=(800, 2)), rng.normal(np.array([0.6, 0.8]), size=(800, 2)))
    assert area == pytest.approx(stats.norm.cdf(1 / np.sqrt(2)), abs=0.03)
    assert nulls.max() < 0.56


def test_another_spread_is_seen_through_the_squares():
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(150, 4)), 1.4 * rng.normal(size=(150, 4))
    area, nulls = shifted(first, second)
    assert area > nulls.max()
    rows = np.concatenate([first, second])
    alone, dealt = two_sample_areas([rows], np.arange(300) >= 150, np.random.default_rng(0))
    assert alone < dealt.max()


def test_columns_that_do_not_vary_and_the_order_of_rows_say_nothing():
    constant = np.ones((30, 2))
    area, nulls = shifted(constant, constant)
    assert area == 0.5
    assert (nulls == 0.5).all()


def test_what_rows_in_use_are_compared_with():
    used = RNG.normal(size=(50, 4))
    beside_held = read_trained(LINEAR, X, Y, held=HELD, deployed=used)
    assert (shift_in_use(beside_held).reference, shift_in_use(beside_held).rows, shift_in_use(beside_held).used) == (
        "held-out",
        120,
        50,
    )
    few = read_trained(LINEAR, X, Y, held=(HELD[0][:99], HELD[1][:99]), deployed=used)
    assert (shift_in_use(few).reference, shift_in_use(few).rows) == ("training", 60)
    copies = HELD[0].copy()
    copies[:21] = X[:21]  # rows that training has seen are not held out
    assert shift_in_use(read_trained(LINEAR, X, Y, held=(copies, HELD[1]), deployed=used)).reference == "training"
    own = shift_in_use(beside_held)
    assert own.seen == (own.p_value <= 0.05) == (own.area > own.limit)
    assert (find_shift(beside_held).nulls == own.nulls).all()


def test_outputs_tell_apart_what_inputs_do_not():
    rng = np.random.default_rng(5)
    x, used = rng.normal(size=(120, 4)), rng.normal(size=(120, 4))
    used[:, 1] = np.where(used[:, 0] > 0, 1.0, -1.0) * np.abs(used[:, 1])  # the sign of a product
    model = (lambda own, x: jnp.stack([own * x[:, 0] * x[:, 1], 0 * x[:, 0], 0 * x[:, 0]], 1)), jnp.asarray(3.0)
    trained = read_trained(model, X, Y, held=(x, HELD[1]), deployed=used)
    assert shift_in_use(trained).seen
    assert not find_shift(trained, outputs=False).seen


@pytest.mark.parametrize("half", [0.05, 0.1])
def test_labels_needed_are_enough_and_no_fewer(half):
    rows = labels_needed(half)
    distances = lambda n: [max(k / n - low, high - k / n) for k in range(n + 1)
                           for low, high in [share_interval(float(k), float(n - k), 0.95)]]  # fmt: skip
    assert max(distances(rows)) <= half < max(distances(rows - 1))
    with pytest.raises(SettingError, match="half_width"):
        labels_needed(0.5)


def test_copies_beyond_those_that_the_law_explains():
    rows = np.arange(40).reshape(20, 2)
    assert copied(rows, rows[:10]) == 1.0
    assert copied(rows, rows[:10] + 0.5) == 0.0
    few = np.repeat(np.arange(5.0)[:, None], 6, axis=0)
    assert copied(few, few) == 0.0
    assert copied(np.zeros((4, 1)), -np.zeros((2, 1))) == 0.0


REFUSED = {
    "few": (X[:19] + 1, ShapeError, "deployment rows; found 19; rule: at least 20"),
    "shape": (np.ones((30, 5)), ShapeError, r"deployment rows; found shape \(5,\); rule: \(4,\), as in training"),
    "training": (X, DataError, "deployment rows; found only training rows"),
    "some of training": (X[5:40], DataError, "found only training rows"),
    "missing": (np.full((30, 4), np.nan), ShapeError, "a cell that is not finite in row 0, counted from 0"),
    "words": (np.full((30, 4), "a"), DataError, "rule: numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_rows_that_cannot_be_in_use(case):
    rows, kind, said = REFUSED[case]
    with pytest.raises(kind, match=said):
        read_trained(LINEAR, X, Y, deployed=rows)
    with pytest.raises(DataError, match="deployment rows"):
        shift_in_use(read_trained(LINEAR, X, Y))
