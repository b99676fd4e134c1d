"""The largest stable step, predicted and measured, against the eigenvalues of a Hessian that is written out."""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor

from lemmata.subjects.trained_models import read_trained
from lemmata.subjects.trained_models._polish import objective_of
from lemmata.subjects.trained_models.curvature import LargestStableStep, Moves, sharpness


def standardised(loaded, columns=5):
    x, y = loaded(return_X_y=True)
    return (x[:, :columns] - x[:, :columns].mean(0)) / x[:, :columns].std(0), y


WINE, CANCER = standardised(load_wine), standardised(load_breast_cancer)
DIABETES = standardised(load_diabetes)
DIABETES = (DIABETES[0], (DIABETES[1] - DIABETES[1].mean()) / DIABETES[1].std())
MODELS = {
    "logistic": (LogisticRegression(), WINE),
    "logistic of two classes": (LogisticRegression(C=100.0), CANCER),
    "ridge": (Ridge(), DIABETES),
    "network": (MLPClassifier((6,), max_iter=600, random_state=0), WINE),
    "network after ten epochs": (MLPClassifier((6,), max_iter=10, random_state=1), WINE),
    "network of tanh": (MLPClassifier((5, 4), activation="tanh", max_iter=40, random_state=2), CANCER),
    "values": (MLPRegressor(hidden_layer_sizes=(8,), max_iter=300, random_state=0), DIABETES),
    "values after five epochs": (MLPRegressor(hidden_layer_sizes=(8,), max_iter=5, random_state=1), DIABETES),
}


def hessian(problem):
    """Central differences of the gradient, a column for each parameter."""
    objective, theta, step = objective_of(problem), problem.model.theta.astype(float), 1e-5
    columns = []
    for k in range(len(theta)):
        e = np.zeros(len(theta))
        e[k] = step
        columns.append((objective.value(theta + e)[1] - objective.value(theta - e)[1]) / (2 * step))
    found = np.stack(columns)
    return (found + found.T) / 2


@pytest.mark.parametrize("name", MODELS)
def test_moves_begin_to_grow_where_the_hessian_says(name):
    """Of models that were stopped early, too: there the loss may fall at rates at which moves already grow."""
    estimator, (x, y) = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(x, y)
    problem = read_trained(estimator, x, y, decay=0.003)
    largest = float(np.linalg.eigvalsh(hessian(problem)).max())
    assert sharpness(problem)[0] == pytest.approx(largest, rel=1e-2)
    low, middle, high = Moves(problem).onset()
    assert low < middle < high < 1.05 * low
    assert middle == pytest.approx(2 / largest, rel=0.05)


def saddle(curvatures):
    """A function whose Hessian is diagonal: the mean of c w²/2 over rows x = 1, as a squared loss of 0.

    The output is such that half its square is the sum of c_k w_k²/2 up to a constant, whatever the sign of c.
    """
    c = jnp.asarray(curvatures)
    model = (lambda w, x: x * jnp.sqrt(8.0 + (c * w**2).sum()), jnp.full(len(curvatures), 0.3))
    return read_trained(model, np.ones((4, 1)), np.zeros(4), decay=0.0)


@pytest.mark.parametrize("curvatures", [[1.0, 0.2], [1.0, -0.3], [1.0, -0.8, 0.99], [0.5, -0.45]])
def test_a_negative_curvature_is_no_onset(curvatures):
    """Along it moves grow at every rate, and never alternate."""
    with jax.enable_x64(True):
        problem = saddle(curvatures)
        values = np.linalg.eigvalsh(hessian(problem))
        assert values.min() < -0.1 or min(curvatures) > 0
        assert Moves(problem).onset()[1] == pytest.approx(2 / values.max(), rel=0.06)


def test_where_no_move_is_pulled_back_nothing_is_said():
    with jax.enable_x64(True):
        problem = saddle([-1.0, -0.5])
        (hypothesis,) = LargestStableStep().hypotheses(problem)
        assert not hypothesis.holds
        assert np.isinf(Moves(problem).onset()[1])


def test_weights_that_do_not_decay_have_no_curvature_of_the_decay():
    """The intercept of a linear model: with a decay of 50 the Hessian of the others alone is shifted."""
    x = np.concatenate([np.full((30, 1), 3.0), np.eye(30)[:, :1]], axis=1)
    problem = read_trained(Ridge(alpha=1.0).fit(x[:, 1:], x[:, 1]), x[:, 1:], x[:, 1], decay=50.0)
    assert sharpness(problem)[0] == pytest.approx(np.linalg.eigvalsh(hessian(problem)).max(), rel=1e-3)
    free = dataclasses.replace(problem, decay=0.0)
    assert sharpness(free)[0] < 3
