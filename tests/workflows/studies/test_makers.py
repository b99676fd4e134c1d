"""Which of scikit-learn's estimators are made, by the number of rows, the columns and the groups; nothing is fitted."""

import numpy as np
import pytest
import threadpoolctl
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import ElasticNetCV, GammaRegressor, LassoCV, PoissonRegressor

from lemmata.workflows.studies import _run, _trees, _usual
from lemmata.workflows.studies._architectures import architectures
from lemmata.workflows.studies._final_settings import LEAF_OF_MANY, usual_estimator
from lemmata.workflows.studies._validation import group_parts

RNG = np.random.default_rng(0)


def rows(n, columns=3, outputs=1):
    return RNG.normal(size=(n, columns)), RNG.normal(size=(n, outputs))


class Kind:
    """Stands for gradient boosting: it keeps what it was asked for, and stops after 17 rounds."""

    fits: list = []  # noqa: RUF012 -- emptied by each test
    n_iter_ = 17

    def __init__(self, **options):
        self.options = options

    def fit(self, x, y, X_val, y_val):
        Kind.fits.append((self.options, len(x), len(y), len(X_val), y_val))
        return self


EARLY = {"random_state": 0, "max_iter": 1000, "early_stopping": True, "n_iter_no_change": 20}


@pytest.mark.parametrize(
    ("n", "groups", "options", "fits"),
    [
        (1999, None, {"random_state": 0, "early_stopping": False}, 0),
        (1999, 10, {"random_state": 0, "early_stopping": False}, 0), (2000, None, EARLY, 0), (2000, 1, EARLY, 0),
        (2000, 10, {"random_state": 0, "max_iter": 17, "early_stopping": False}, 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_rounds_of_boosting_are_chosen_on_groups_that_are_left_out(n, groups, options, fits, task):
    Kind.fits = []
    x, y = rows(n)
    y = np.eye(2)[(y[:, 0] > 0).astype(int)] if task == "classification" else y
    of = None if groups is None else np.sort(np.arange(n) % groups)
    made = _trees.boosting_of(Kind, x, y, task, of)
    assert made.options == options
    assert len(Kind.fits) == fits
    for asked, trained, targets, left, told in Kind.fits:
        assert asked == EARLY
        assert (trained, targets, left) == (1600, 1600, 400), "a fifth of ten groups is left out"
        wanted = y.argmax(axis=1) if task == "classification" else y[:, 0]
        assert set(told) <= set(wanted)


def test_a_class_of_the_groups_that_are_left_out_alone_is_not_asked_for():
    Kind.fits, groups = [], np.sort(np.arange(2000) % 5)
    classes = (groups == groups[group_parts(groups)[-1][0]]).astype(int)
    made = _trees.boosting_of(Kind, rows(2000)[0], np.eye(2)[classes], "classification", groups)
    assert (made.options, Kind.fits) == (EARLY, []), "no row is left to choose by"
    classes[groups != groups[group_parts(groups)[-1][0]]] = np.arange(1600) % 2
    classes[np.flatnonzero(classes)[-3:]] = 2
    made = _trees.boosting_of(Kind, rows(2000)[0], np.eye(3)[classes], "classification", groups)
    assert made.options["max_iter"] == 17
    assert set(Kind.fits[0][4]) <= {0, 1}


def test_forests_of_many_rows_have_fewer_trees_with_larger_leaves():
    kind = lambda trees, **options: (trees, options)
    for n, trees in ((10, 100), (3000, 100), (3001, 99), (6000, 50), (12_000, 25), (1_000_000, 25)):
        many = n > 3000
        assert _trees.forest(kind, 3, n) == (
            trees, {"random_state": 0, "min_samples_leaf": 3 if many else 1, "n_jobs": 2 if many else None},
        )  # fmt: skip


@pytest.mark.parametrize(("ratio", "kind"), [((1.0,), LassoCV), ((0.2, 0.8), ElasticNetCV)])
def test_absolute_penalties_are_chosen_on_parts_of_whole_groups(ratio, kind):
    x, y = rows(40)
    (make,) = _usual.lassos(ratio, x, y, "regression")
    made = make()
    assert isinstance(made, kind)
    assert made.cv.get_n_splits() == 5
    assert _usual.lassos(ratio, x[:6], y[:6], "regression")[0]().cv.get_n_splits() == 3
    if len(ratio) > 1:
        assert made.l1_ratio == list(ratio)
    groups = np.sort(np.arange(40) % 8)
    (make,) = _usual.lassos(ratio, x, y, "regression", groups)
    parts = make().cv
    assert sorted(np.concatenate([part for _, part in parts]).tolist()) == list(range(40))
    for others, part in parts:
        assert sorted([*others, *part]) == list(range(40))
        assert not set(groups[others]) & set(groups[part])


def test_penalties_of_classes_and_links():
    x, y = rows(40)
    for ratio in ((1.0,), (0.2, 0.8)):
        made = [make().estimator for make in _usual.lassos(ratio, x, np.eye(2)[[0, 1] * 20], "classification")]
        assert [own.C for own in made] == pytest.approx([0.01, 0.1, 1.0, 10.0])
        assert {own.l1_ratio for own in made} == {1.0}
    for width, classes, solver in ((150, 2, "newton-cholesky"), (151, 2, "lbfgs")):
        made = [make() for make in _usual.logistics(rows(9, width)[0], rows(9, 1, classes)[1], "classification")]
        assert [own.C for own in made] == pytest.approx([1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0])
        assert {own.solver for own in made} == {solver}
    for kind, own, width, solver in (
        ("poisson", PoissonRegressor, 300, "newton-cholesky"), ("gamma", GammaRegressor, 301, "lbfgs"),
    ):  # fmt: skip
        made = [make() for make in _usual.counting(kind, rows(9, width)[0], y, "regression")]
        assert {type(each) for each in made} == {own}
        assert [each.alpha for each in made] == pytest.approx([1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0])
        assert {each.solver for each in made} == {solver}


def test_one_thread_of_a_fit_is_one_of_openmp():
    x, y = rows(50)
    HistGradientBoostingRegressor(max_iter=1).fit(x, y[:, 0])  # loads OpenMP
    threads = lambda: {own["num_threads"] for own in threadpoolctl.threadpool_info() if own["user_api"] == "openmp"}
    with threadpoolctl.threadpool_limits(2, user_api="openmp"):
        assert threads() == {2}
        _run._one_openmp_thread()
        assert threads() == {1}


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(("n", "trees"), [(_trees.FULL_FOREST, 100), (2 * _trees.FULL_FOREST, 50)])
def test_a_saved_forest_is_that_of_the_study_and_asks_for_no_processes(task, n, trees):
    made = usual_estimator("forest", *rows(n), task)
    leaf = LEAF_OF_MANY if task == "regression" and n > _trees.FULL_FOREST else 1
    assert type(made).__name__ == ("RandomForestRegressor" if task == "regression" else "RandomForestClassifier")
    told = made.get_params()
    assert {name: told[name] for name in ("n_estimators", "min_samples_leaf", "n_jobs", "random_state")} == {
        "n_estimators": trees, "min_samples_leaf": leaf, "n_jobs": None, "random_state": 0,
    }  # fmt: skip


def test_the_scales_of_kernels_are_those_of_the_columns():
    x = np.array([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    names = ("linear", "rbf", "laplace", "matern-3/2", "matern-5/2", "softmax")
    linear, *stationary, softmax = (each.kernel for each in architectures(names, x))
    assert float(linear.scale) == 4.0
    assert [float(kernel.lengthscale) for kernel in stationary] == [2.0] * 4
    assert [float(kernel.nu) for kernel in stationary[2:]] == [1.5, 2.5]
    np.testing.assert_array_equal(softmax.transform(x), x / 5.0)  # the largest norm is 5
    np.testing.assert_array_equal(architectures(["softmax"], 0 * x)[0].kernel.transform(x), x)
