"""Settings are chosen on rows, or on whole groups where rows belong to groups."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.kernels import RBF, gram
from lemmata.workflows.studies._kernel_fit import RIDGES, kernel_fit
from lemmata.workflows.studies._large_fit import centres_fit, column_fit
from lemmata.workflows.studies._models import chosen, models
from lemmata.workflows.studies._validation import group_parts, last_rows, validating

GROUPS = 30


def members(rng, groups=GROUPS, each=30, spread=0.1, seen=0.5):
    """Rows of groups that lie close together, and whose targets have a part of the group's and a slope of the rows'."""
    centres, own = rng.normal(size=(groups, 4)), rng.normal(size=groups)
    x = np.repeat(centres, each, axis=0) + spread * rng.normal(size=(groups * each, 4))
    y = np.repeat(own + seen * centres[:, 0], each) + 0.3 * rng.normal(size=groups * each)
    return x, y[:, None], np.repeat(np.arange(groups), each)


def test_no_group_stands_on_both_sides():
    groups = np.repeat([3, 1, 4, 0, 2, 5], [7, 1, 3, 9, 2, 5])
    parts = group_parts(groups)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(groups)))
    assert sum(len(np.unique(groups[part])) for part in parts) == 6
    last = validating(len(groups), groups)
    assert not set(groups[last]) & set(groups[~last])
    assert 0 < last.sum() < len(groups)
    assert validating(10, np.zeros(10, int)).tolist() == validating(10).tolist(), "one group cannot be left out"


def test_the_last_whole_groups_choose_a_ridge_on_centres():
    assert last_rows(3000, 2000, 0.1) == 2700
    groups = np.repeat(np.arange(6), 500)
    assert last_rows(3000, 2000, 0.1, groups) == 2000, "a fifth of the rows would be one group and a part of another"
    assert last_rows(3000, 2000, 0.1, np.repeat([0, 1], [2900, 100])) == 2900, "one group is left to train"
    assert last_rows(3000, 2000, 0.1, np.zeros(3000, int)) == 2700


def refitted(matrix, y, rows, ridge):
    """Kernel ridge regression with an intercept without some rows, as a system of equations."""
    rest = np.setdiff1d(np.arange(len(y)), rows)
    n = len(rest)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = matrix[np.ix_(rest, rest)] + ridge * np.eye(n)
    system[:n, n] = system[n, :n] = 1.0
    solved = np.linalg.solve(system, np.concatenate([y[rest], np.zeros((1, y.shape[1]))]))
    return matrix[np.ix_(rows, rest)] @ solved[:n] + solved[n]


def test_leaving_groups_out_is_fitting_without_them():
    x, y, groups = members(np.random.default_rng(0), groups=12, each=8)
    matrix = np.asarray(gram(RBF(1.0), jnp.asarray(x)))
    fit, parts = kernel_fit(matrix, matrix[:1], y, groups), group_parts(groups)
    for rows in parts:
        assert fit.left_out[rows] == pytest.approx(refitted(matrix, y, rows, fit.ridge), rel=1e-7, abs=1e-9)
    size = fit.ridge / fit.relative
    lost = lambda ridge: sum(((refitted(matrix, y, rows, ridge * size) - y[rows]) ** 2).sum() for rows in parts)
    ridges = RIDGES[4:]
    assert fit.relative == ridges[np.argmin([lost(ridge) for ridge in ridges])]
    assert fit.ridge > 10 * kernel_fit(matrix, matrix[:1], y).ridge, "rows of one group tell each other"


def test_columns_and_their_kernel_leave_out_the_same_groups():
    x, y, groups = members(np.random.default_rng(1), groups=12, each=8)
    y = np.concatenate([y, x[:, :1] ** 2], axis=1)
    found, twin = column_fit(x, x[:5], y, groups), kernel_fit(x @ x.T, x[:5] @ x.T, y, groups)
    assert found.relative == twin.relative
    assert found.left_out == pytest.approx(twin.left_out, rel=1e-6)
    assert found.outputs == pytest.approx(twin.outputs, rel=1e-6)
    assert found.learns == twin.learns


def test_the_ridge_on_centres_is_chosen_among_other_groups():
    """Rows in random order say what choosing among rows of known groups would have found."""
    x, y, groups = members(np.random.default_rng(2), groups=50)
    fit, shown = centres_fit(RBF(1.0), x, x[:1], y, groups=groups)
    assert len(shown) == len(fit.left_out) == 300
    mixed = np.random.default_rng(0).permutation(len(y))
    assert fit.ridge > 10 * centres_fit(RBF(1.0), x[mixed], x[:1], y[mixed])[0].ridge


def test_a_width_is_chosen_by_groups_that_are_left_out():
    """With a target of the slope alone, what rows of one group say of each other is nothing that new groups share."""
    kernels, found = tuple(RBF(s) for s in (0.1, 0.5, 2.0, 8.0)), []
    for seed in range(5):
        x, y, groups = members(np.random.default_rng([3, seed]), seen=2.0)
        found.append(
            [float(kernels[kernels.index(chosen(kernels, x, y, known))].lengthscale) for known in (groups, None)]
        )
    assert np.median(found, axis=0)[0] > np.median(found, axis=0)[1]


@pytest.mark.parametrize(
    ("name", "each"), [("rbf", 20), ("neighbours", 20), ("svm", 20), ("boosting", 80), ("lasso", 20)]
)
@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_new_groups_are_predicted_better_by_settings_that_suit_new_groups(name, each):
    """The mean over tables: on one of them chance may choose either."""
    lost = {True: 0.0, False: 0.0}
    for seed in range(6):
        x, y, groups = members(np.random.default_rng([7, seed]), groups=2 * GROUPS, each=each)
        train, n = groups < GROUPS, int((groups < GROUPS).sum())
        rows = np.concatenate([x[train], x[~train]])
        (model,) = models([name], x, "regression", y)
        for known in lost:
            fit = model.fit(rows, y[:n], "regression", groups[:n] if known else None)
            lost[known] += float(((fit.outputs - y[n:]) ** 2).mean())
    assert lost[True] < (0.9 if name in ("neighbours", "rbf", "svm") else 0.98) * lost[False]


@pytest.mark.parametrize("name", ["logistic", "lasso", "boosting", "neighbours", "svm", "rbf", "linear"])
def test_classes_that_one_group_alone_has_are_no_obstacle(name):
    x, _, groups = members(np.random.default_rng(5), groups=10, each=10 if name != "boosting" else 250)
    y = np.eye(3)[np.where(groups == 9, 2, groups % 2)]
    n = int((groups < 8).sum())
    order = np.concatenate([np.flatnonzero(groups != 8), np.flatnonzero(groups == 8)])
    n = int((groups != 8).sum())
    (model,) = models([name], x, "classification", y)
    fit = model.fit(x[order], y[order[:n]], "classification", groups[order[:n]])
    assert fit.chances is not None
    assert np.isfinite(fit.chances).all()
    assert fit.chances.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "fifth"), [(12, 2), (23, 4), (3002, 600), (49, 9)])
def test_whole_groups_that_hold_a_fifth_choose_where_five_does_not_divide_the_rows(n, fifth):
    exact = np.repeat([0, 1, 2], [n - 2 * fifth, fifth, fifth])
    assert last_rows(n, n, 0.1, exact) == n - fifth
    short = np.repeat([0, 1, 2], [n - 2 * fifth, fifth + 1, fifth - 1])
    assert last_rows(n, n, 0.1, short) == n - 2 * fifth, "the last group has less than a fifth, rounded down"
    more = np.repeat([0, 1, 2], [n - 2 * fifth - 1, fifth, fifth + 1])
    assert last_rows(n, n, 0.1, more) == n - fifth - 1
