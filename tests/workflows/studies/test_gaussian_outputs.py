"""Predicted accuracy against brute force over random training sets, and where it is known exactly."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtr

from lemmata.interfaces.report._views import quality
from lemmata.options import StudyOptions
from lemmata.spectra import Spectrum, measured_curve
from lemmata.workflows.studies import load_dataset, run_study
from lemmata.workflows.studies._all_rows import with_all_rows
from lemmata.workflows.studies._gaussian_outputs import _right, predicted_accuracy
from lemmata.workflows.studies._kernel_fit import centred_fit
from lemmata.workflows.studies._kernel_theory import theory
from lemmata.workflows.studies._measure import measure
from lemmata.workflows.studies._models import models

SPLITS = 150


def clouds(rows: int, classes: int, apart: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([rows, classes])
    label = np.arange(rows) % classes
    x = rng.normal(size=(rows, 5)) + apart * rng.normal(size=(classes, 5))[label]
    return x, np.eye(classes)[label]


def gram(x: np.ndarray, lengthscale: float | None) -> np.ndarray:
    if lengthscale is None:
        return x @ x.T / x.shape[1]
    return np.exp(-((x[:, None] - x[None]) ** 2).sum(-1) / (2 * lengthscale**2))


def eigensystem(matrix: np.ndarray, y: np.ndarray):
    fit, values, vectors = centred_fit(matrix, matrix[:1], y)
    floor = jnp.asarray(1e-12 * values[-1])
    return fit, Spectrum(jnp.asarray(values[::-1]), jnp.asarray(vectors[:, ::-1]), floor, jnp.asarray(values[0]))


def brute_force(matrix: np.ndarray, y: np.ndarray, n: int, ridge: float) -> tuple[float, float]:
    """Mean accuracy over random training sets of n rows, and its standard error."""
    rng, found = np.random.default_rng(n), []
    for _ in range(SPLITS):
        rows = rng.permutation(len(y))
        train, rest = rows[:n], rows[n:]
        centre = np.eye(n) - 1 / n
        dual = np.linalg.solve(centre @ matrix[np.ix_(train, train)] @ centre + ridge * np.eye(n), centre @ y[train])
        cross = matrix[np.ix_(rest, train)] - matrix[np.ix_(train, train)].mean(axis=0)
        outputs = y[train].mean(axis=0) + cross @ centre @ dual
        found.append((outputs.argmax(axis=1) == y[rest].argmax(axis=1)).mean())
    return float(np.mean(found)), float(np.std(found) / np.sqrt(SPLITS))


@pytest.mark.parametrize(("classes", "apart"), [(2, 0.6), (4, 1.0)])
@pytest.mark.parametrize("lengthscale", [None, 3.0, 1.5])
def test_random_training_sets_have_the_predicted_accuracy(classes, apart, lengthscale):
    """Within 2.5 points and two standard errors; the Gaussian law is an approximation, and 15 rows are few."""
    x, y = clouds(120, classes, apart)
    matrix, ridge = gram(x, lengthscale), 0.1
    sizes = np.array([15.0, 30.0, 60.0, 96.0])
    _, modes = eigensystem(matrix, y)
    targets = jnp.asarray(y - y.mean(axis=0))
    mu = np.asarray(measured_curve(modes, targets, sizes, ridge, intercept=True, solves=0).equivalent.mu)
    for n, told in zip(sizes, predicted_accuracy(modes, y, sizes, mu), strict=True):
        found, error = brute_force(matrix, y, int(n), ridge)
        assert abs(told - found) < 0.025 + 2 * error, (n, told, found, error)


def test_with_all_rows_it_is_that_of_leave_one_out():
    x, y = clouds(90, 3, 0.8)
    fit, modes = eigensystem(gram(x, 2.0), y)
    right = fit.left_out.argmax(axis=1) == y.argmax(axis=1)
    assert 0.5 < right.mean() < 1
    told = predicted_accuracy(modes, y, np.array([90.0]), np.array([fit.ridge]))
    np.testing.assert_allclose(told, right.mean(), rtol=0, atol=1e-12)


def test_the_chance_of_two_classes_is_that_of_the_draws():
    """A third class that is far behind and never varies turns the formula into draws."""
    rng = np.random.default_rng(0)
    outputs, share = rng.normal(size=(400, 2)), rng.uniform(0.1, 1.0, size=(400, 2))
    moments = np.array([[[2.0, -0.5], [-0.5, 1.0]], [[0.5, 0.2], [0.2, 0.3]]])
    labels = np.arange(400) % 2
    exact = _right(outputs, share, moments, labels, np.zeros((2, 2, 2, 0)))
    variance = share @ np.array([4.0, 0.4])
    ahead = (outputs[:, 0] - outputs[:, 1]) * np.where(labels == 0, 1, -1)
    np.testing.assert_allclose(exact, ndtr(ahead / np.sqrt(variance)).mean(), rtol=1e-12)
    wide = np.pad(moments, ((0, 1), (0, 1), (0, 1)))
    drawn = _right(
        np.column_stack([outputs, np.full(400, -1e3)]),
        np.column_stack([share, np.zeros(400)]),
        wide,
        labels,
        rng.standard_normal((3, 3, 3, 4000)),
    )
    assert abs(drawn - exact) < 0.01


def test_a_study_predicts_accuracy_where_there_are_classes():
    x, y = clouds(150, 3, 1.0)
    data = load_dataset((x, np.array(["a", "b", "c"])[y.argmax(axis=1)]))
    measured = with_all_rows(measure(models(["rbf"], data.x, data.task)[0], data, 0), data)
    points = theory(measured, data)
    assert len(points) == len(measured.losses["accuracy"].sizes)
    wrong = measured.losses["accuracy"].mean
    for point, loss in zip(points, wrong, strict=True):
        assert point.measured_accuracy == pytest.approx(1 - loss, rel=1e-12)
        assert point.accuracy == pytest.approx(1 - loss, abs=0.06)


def test_the_page_says_how_far_predicted_and_measured_accuracy_are_apart():
    x, y = clouds(90, 3, 1.0)
    data = load_dataset((x, np.array(["a", "b", "c"])[y.argmax(axis=1)]))
    record = run_study(data, StudyOptions(models="linear"))
    gaps = [
        abs(point.accuracy - point.measured_accuracy)
        for point in record.models[0].theory
        if point.accuracy is not None and point.measured_accuracy is not None
    ]
    assert f"{100 * np.median(gaps):.1f} points in the median" in quality(record)
    assert f"{100 * max(gaps):.1f} at most" in quality(record)
