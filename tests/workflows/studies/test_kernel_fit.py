"""Kernel ridge regression with an intercept: against plain linear algebra and against leaving rows out one by one."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import Ridge

from lemmata.workflows.studies._kernel_fit import RIDGES, best_of, centred_fit, chances, kernel_fit, without_folds


@pytest.fixture
def problem():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 4)) + 3.0
    y = np.stack([x[:, 0] + 5.0, x @ [1.0, 0, -2.0, 0.5]], axis=1) + 0.3 * rng.normal(size=(30, 2))
    return x[:22], x[22:], y[:22]


def direct(x, held, y, ridge):
    return Ridge(ridge).fit(x, y).predict(held)


def test_predictions_are_those_of_ridge_regression_with_an_intercept(problem):
    x, held, y = problem
    fit = kernel_fit(x @ x.T, held @ x.T, y)
    np.testing.assert_allclose(fit.outputs, direct(x, held, y, fit.ridge), rtol=1e-9)


def test_left_out_predictions_are_those_of_machines_without_the_row(problem):
    x, held, y = problem
    fit = kernel_fit(x @ x.T, held @ x.T, y)
    for i in (0, 7, 21):
        rest = np.arange(22) != i
        np.testing.assert_allclose(fit.left_out[i], direct(x[rest], x[i : i + 1], y[rest], fit.ridge)[0], rtol=1e-8)


def test_folds_are_predicted_by_machines_without_them(problem):
    x, _, y = problem
    fit, values, vectors = centred_fit(x @ x.T, x[:1] @ x.T, y)
    folds = [np.arange(start, 22, 5) for start in range(5)]
    found = without_folds(values, vectors, fit.ridge, y, folds)
    for rows in folds:
        rest = np.setdiff1d(np.arange(22), rows)
        np.testing.assert_allclose(found[rows], direct(x[rest], x[rows], y[rest], fit.ridge), rtol=1e-8)


def test_the_ridge_is_the_best_by_leaving_out(problem):
    x, held, y = problem
    fit = kernel_fit(x @ x.T, held @ x.T, y)
    centred = x - x.mean(axis=0)
    size = (centred**2).sum() / 22
    assert fit.ridge == pytest.approx(fit.relative * size)
    chosen = ((y - fit.left_out) ** 2).sum()
    for ridge in RIDGES * size:
        rows = [direct(np.delete(x, i, 0), x[i : i + 1], np.delete(y, i, 0), ridge)[0] for i in range(22)]
        assert ((y - rows) ** 2).sum() >= chosen * (1 - 1e-9)


def test_a_kernel_that_learns_nothing_says_so():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=(40, 1))
    assert not kernel_fit(np.eye(40), np.zeros((3, 40)), y).learns
    assert kernel_fit(x @ x.T, x[:3] @ x.T, x[:, :1]).learns


def test_chances_are_probabilities_as_sharp_as_leaving_out_allows():
    rng = np.random.default_rng(1)
    label = np.arange(60) % 3
    x = rng.normal(size=(60, 2)) + 3 * np.stack([np.cos(2.1 * label), np.sin(2.1 * label)], axis=1)
    y = np.eye(3)[label]
    fit = kernel_fit(x @ x.T, x @ x.T, y)
    found = chances(fit, y)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    loss = lambda scores: -np.log((softmax(scores, axis=1) * y).sum(axis=1)).mean()
    assert -np.log((chances(fit, y, fit.left_out) * y).sum(axis=1)).mean() <= loss(fit.left_out)


def test_the_best_gram_matrix_is_chosen():
    x = np.linspace(-2, 2, 50)[:, None]
    y = np.sin(4 * x)
    narrow, wide = (np.exp(-((x - x.T) ** 2) / (2 * s**2)) for s in (0.3, 30.0))
    assert best_of([wide, narrow], y) == 1
