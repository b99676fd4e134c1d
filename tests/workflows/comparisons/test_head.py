"""Ridge regression with an intercept, its ridge chosen by leave-one-out: against refits without a row, and by hand."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.workflows.comparisons import _head as head


@pytest.fixture
def problem():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60, 4))
    y = np.stack([np.sin(x[:, 0]) + 3, x[:, 1] * x[:, 2]], axis=1)
    return x, y + 0.1 * rng.standard_normal(y.shape)


def centred(kernel, rows):
    """The kernel on features less their mean over the training rows."""
    columns, within = kernel[:, rows].mean(axis=1), kernel[np.ix_(rows, rows)].mean()
    return kernel - columns[:, None] - columns[None] + within


def test_predictions_are_those_of_another_library(problem):
    x, y = problem
    training, test = np.arange(40), np.arange(40, 60)
    z = head.standardised(x, training)
    kernel = head.head_kernel(z, z, 1.0)
    fit = head.fits(kernel[np.ix_(training, training)], kernel[np.ix_(test, training)], [y[training]])[0]
    own = centred(kernel, training)
    ridge = head.RIDGES[fit.ridge] * np.trace(own[:40, :40]) / 40
    mean = y[training].mean(axis=0)
    other = KernelRidge(alpha=ridge, kernel="precomputed").fit(own[:40, :40], y[training] - mean)
    assert np.allclose(fit.outputs, mean + other.predict(own[40:, :40]), atol=1e-8)


def test_the_ridge_has_the_smallest_error_of_refits_without_a_row(problem):
    x, y = problem
    training = np.arange(25)
    z = head.standardised(x, training)
    kernel = head.head_kernel(z, z, 1.0)[:25, :25]
    fit = head.fits(kernel, kernel[:1], [y[:25]])[0]
    size = np.trace(centred(kernel, training)) / 25
    errors = []
    for ridge in head.RIDGES * size:
        left = 0.0
        for i in range(25):
            rows = np.delete(training, i)
            own, mean = centred(kernel, rows), y[rows].mean(axis=0)
            dual = np.linalg.solve(own[np.ix_(rows, rows)] + ridge * np.eye(24), y[rows] - mean)
            left += ((y[i] - mean - own[i, rows] @ dual) ** 2).sum()
        errors.append(left / 25)
    assert fit.ridge == int(np.argmin(errors))
    assert fit.left_out == pytest.approx(min(errors), rel=1e-6)


def test_shuffled_targets_have_a_ridge_of_their_own(problem):
    x, y = problem
    kernel = head.head_kernel(x, x, 1.0)
    mixed_up = y[np.random.default_rng(0).permutation(40)]
    first, second = head.fits(kernel[:40, :40], kernel[40:, :40], [y[:40], mixed_up])
    assert first.ridge < second.ridge
    assert first.left_out < 0.5 * y[:40].var(axis=0).sum() < second.left_out


def test_coordinates_that_do_not_vary_on_training_rows_are_left_out():
    x = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [4.0, 9.0]])
    z = head.standardised(x, np.arange(3))
    assert z.shape == (4, 1)
    assert z[:3].mean() == pytest.approx(0)
    assert z[:3].std() == pytest.approx(1)
    assert np.allclose(head.head_kernel(z[:, :0], z[:, :0], 1.0), 0.5)


def test_the_trace_is_the_number_of_rows():
    z = head.standardised(np.random.default_rng(2).standard_normal((30, 5)), np.arange(30))
    assert np.trace(head.head_kernel(z, z, 2.0)) == pytest.approx(30)
