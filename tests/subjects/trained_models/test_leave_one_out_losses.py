"""Leaving one out under other losses, beside refits; and of least squares without a penalty, where it is exact."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from sklearn.linear_model import HuberRegressor, LinearRegression, LogisticRegression, PoissonRegressor

from lemmata.subjects.trained_models import Loss, objective_of, read_trained, rows_left_out
from lemmata.subjects.trained_models._fixed_weights import rows_fix_weights

RNG = np.random.default_rng(3)
N = 80
X = RNG.normal(size=(N, 3))
LINE = X @ np.array([1.0, -1.0, 0.5])
VALUES = LINE + 0.5 * RNG.standard_t(2, size=N)
COUNTS = RNG.poisson(np.exp(LINE / 2)).astype(float)
RARE = (RNG.random(N) < 1 / (1 + np.exp(1.5 - LINE))).astype(int)
TIGHT = {"tol": 1e-10, "max_iter": 5000}


def refitted(fit, y, read):
    """What a model fitted to all other rows says of each row."""
    rest = [np.arange(N) != i for i in range(N)]
    return np.array([read(fit(X[others], y[others]), X[i : i + 1]) for i, others in enumerate(rest)])


def size(change):
    return float(np.sqrt(np.mean(change**2)))


@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_without_a_penalty_has_its_leverages(intercept):
    """e_i / (1 - h_i) with h the diagonal of X (X'X)^-1 X', from a QR decomposition; and refits."""
    fit = lambda x, y: LinearRegression(fit_intercept=intercept).fit(x, y)
    model = fit(X, VALUES)
    trained = read_trained(model, X, VALUES)
    found = rows_left_out(trained)
    assert objective_of(trained).decay == 0.0
    q = np.linalg.qr(np.column_stack([X, np.ones((N, int(intercept)))]))[0]
    leverages = (q**2).sum(1)
    np.testing.assert_allclose(found.leverage, leverages, rtol=1e-9)
    residuals = VALUES - model.predict(X)
    np.testing.assert_allclose(VALUES - found.outputs[:, 0], residuals / (1 - leverages), rtol=1e-9)
    refits = refitted(fit, VALUES, lambda own, row: own.predict(row)[0])
    np.testing.assert_allclose(found.outputs[:, 0], refits, rtol=1e-9, atol=1e-10)
    assert found.dimension == pytest.approx(3 + intercept, rel=1e-9)


def test_rows_fix_the_weights_of_linear_models_with_more_rows_than_weights():
    assert rows_fix_weights(read_trained(LinearRegression().fit(X, VALUES), X, VALUES))
    twice = np.column_stack([X, X[:, 0]])
    assert not rows_fix_weights(read_trained(LinearRegression().fit(twice, VALUES), twice, VALUES))
    few = slice(0, 3)
    assert not rows_fix_weights(read_trained(LinearRegression().fit(X[few], VALUES[few]), X[few], VALUES[few]))
    bent = (lambda own, x: jnp.tanh(x @ own), jnp.ones((3, 1)))
    assert not rows_fix_weights(read_trained(bent, X, VALUES))


def test_classes_without_a_penalty():
    """Three logits may move together: 8 of 12 directions are fixed, and all probabilities."""
    rng = np.random.default_rng(7)
    y = (X @ rng.normal(size=(3, 3)) + rng.gumbel(size=(N, 3))).argmax(1)
    fit = lambda x, labels: LogisticRegression(C=np.inf, **TIGHT).fit(x, labels)
    model = fit(X, y)
    trained = read_trained(model, X, y, decay=0.0)
    found = rows_left_out(trained)
    assert found.dimension == pytest.approx(8, abs=1e-3)  # the faint ridge takes 1e-8 of the mean from each direction
    refits = refitted(fit, y, lambda own, row: own.predict_proba(row)[0])
    moved = size(refits - model.predict_proba(X))
    assert moved > 0.01
    assert size(trained.task.means(found.outputs) - refits) < 0.1 * moved


def test_class_weights():
    weights = {k: N / (2 * np.sum(k == RARE)) for k in (0, 1)}
    model = LogisticRegression(class_weight="balanced", **TIGHT).fit(X, RARE)
    trained = read_trained(model, X, RARE)
    assert isinstance(trained.task.loss, Loss)
    assert trained.task.loss.weights == pytest.approx((weights[0], weights[1]))
    assert objective_of(trained).decay == pytest.approx(1 / N, rel=1e-6)  # C = 1: |w|²/2 beside the sum
    found = rows_left_out(trained).outputs @ np.array([-1.0, 1.0])
    refits = refitted(
        lambda x, y: LogisticRegression(class_weight=weights, **TIGHT).fit(x, y), RARE,
        lambda own, row: own.decision_function(row)[0],
    )  # fmt: skip
    moved = size(refits - model.decision_function(X))
    assert moved > 0.05
    assert size(found - refits) < 0.1 * moved
    plain = rows_left_out(read_trained(model, X, RARE, loss="log")).outputs @ np.array([-1.0, 1.0])
    assert size(plain - refits) > 2 * moved  # a copy without weights is another model


def test_counts():
    model = PoissonRegressor(alpha=0.1, **TIGHT).fit(X, COUNTS)
    trained = read_trained(model, X, COUNTS)
    np.testing.assert_allclose(trained.task.means(trained.model.outputs(X))[:, 0], model.predict(X), rtol=1e-12)
    assert objective_of(trained).inferred_decay() == pytest.approx(0.1, rel=1e-5)
    found = rows_left_out(trained)
    assert found.movement < 1e-6
    refits = refitted(
        lambda x, y: PoissonRegressor(alpha=0.1 * N / (N - 1), **TIGHT).fit(x, y), COUNTS,
        lambda own, row: np.log(own.predict(row)[0]),
    )  # fmt: skip
    moved = size(refits - np.log(model.predict(X)))
    assert moved > 0.02
    assert size(found.outputs[:, 0] - refits) < 0.1 * moved


def test_huber():
    """At the scale that HuberRegressor finds, by BFGS; and beside its own refits, which find another scale."""
    fit = lambda x, y: HuberRegressor(alpha=0.5, **TIGHT).fit(x, y)
    model = fit(X, VALUES)
    trained, width = read_trained(model, X, VALUES), float(model.epsilon * model.scale_)
    assert isinstance(trained.task.loss, Loss)
    assert trained.task.loss.width == pytest.approx(width)
    stated = objective_of(trained)
    assert stated.inferred_decay() == pytest.approx(stated.decay, rel=1e-3)  # where its own descent ended
    found = rows_left_out(trained).outputs[:, 0]

    def at_its_scale(x, y):
        wide, kept = np.column_stack([x, np.ones(len(x))]), np.array([1.0, 1.0, 1.0, 0.0])

        def objective(w):
            r = wide @ w - y
            losses = np.where(np.abs(r) <= width, r**2 / 2, width * np.abs(r) - width**2 / 2)
            decay = model.scale_ * 0.5 * kept * w
            return losses.sum() + w @ decay / 2, wide.T @ np.clip(r, -width, width) + decay

        return scipy.optimize.minimize(objective, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-9}).x

    fixed = refitted(at_its_scale, VALUES, lambda w, row: row[0] @ w[:3] + w[3])
    free = refitted(fit, VALUES, lambda own, row: own.predict(row)[0])
    moved = size(fixed - model.predict(X))
    assert moved > 0.01
    assert size(found - fixed) < 0.1 * moved
    assert size(found - free) < 0.15 * moved


def test_smoothed_labels():
    """A linear model of labels smoothed by 0.2, refitted by BFGS."""
    share, decay, y = 0.2, 0.02, np.eye(2)[RARE]

    def fit(x, targets):
        q = ((1 - share) * targets + share / 2)[:, 1]

        def objective(w):
            f = x @ w
            slope = x.T @ (1 / (1 + np.exp(-f)) - q) + N * decay * w
            return (np.logaddexp(0, f) - q * f).sum() + N * decay / 2 * (w @ w), slope

        return scipy.optimize.minimize(objective, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-9}).x

    w = fit(X, y)
    model = (lambda own, x: x @ own, jnp.asarray(w[:, None]))
    trained = read_trained(model, X, RARE, loss="log, smoothed by 0.2")
    assert objective_of(trained).decay == pytest.approx(decay, rel=1e-6)
    assert objective_of(read_trained(model, X, RARE)).decay > 1.5 * decay  # as log loss alone would imply
    found = rows_left_out(trained).outputs @ np.array([-1.0, 1.0])
    refits = refitted(fit, y, lambda own, row: row[0] @ own)
    moved = size(refits - X @ w)
    assert moved > 0.01
    assert size(found - refits) < 0.1 * moved
