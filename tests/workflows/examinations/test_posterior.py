"""Laplace's posterior: held against the exact posterior of linear models, dense matrices, and drawn parameters."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, PoissonRegressor, Ridge

import lemmata
from lemmata.interfaces.report._model import model_page
from lemmata.subjects.trained_models import (
    _posterior,
    polished_copy,
    posterior_spread,
    read_model,
    read_task,
    read_trained,
)
from lemmata.workflows.examinations import ExaminationRecord, row_table
from lemmata.workflows.examinations._posterior import log_means, posterior_rows


def network(own, x):
    return jnp.tanh(x @ own["a"] + own["b"]) @ own["c"]


def twice(own, x):
    """A matrix that a row passes twice: no dense network."""
    return jnp.tanh(jnp.tanh(x @ own["a"]) @ own["a"] + own["b"]) @ own["c"]


def dot(w, rows):
    return rows @ w


def dense(model, x, y, task, decay, others):
    """The same by whole matrices: the spread, the effective dimension, the movement."""
    jacobian, curvature, f = model.jacobian(x), task.curvatures(model.outputs(x)), model.outputs(x)
    m = np.einsum("iap,iab,ibq->pq", jacobian, curvature, jacobian)
    inverse = np.linalg.inv(m + len(x) * decay * np.eye(len(m)))
    new = model.jacobian(others)
    gradient = np.einsum("iap,ia->p", jacobian, task.means(f) - y) + len(x) * decay * model.theta
    moved = np.linalg.norm(jacobian @ (inverse @ gradient)) / np.linalg.norm(f)
    return np.einsum("iap,pq,ibq->iab", new, inverse, new), np.trace(m @ inverse), moved


@pytest.mark.parametrize("loss", ["huber 1.0", "log, smoothed by 0.1", "log, weights 0=3", "squared", "log"])
def test_every_loss_has_its_own_curvature_and_gradient(loss, monkeypatch):
    """Held against whole matrices, with the slopes and the Hessians of this loss."""
    rng = np.random.default_rng(4)
    x, classes = rng.normal(size=(40, 3)), loss.startswith("log")
    y = (x[:, 0] > 0).astype(int) if classes else x @ [1.0, 2.0, 3.0] + rng.normal(size=40)
    start = jnp.asarray(rng.normal(size=(3, 2 if classes else 1)))
    trained = read_trained((dot, start), x, y, held=(x[:30], y[:30]), decay=0.3, loss=loss)
    model, task = trained.model, trained.task
    f, jacobian = model.outputs(x), model.jacobian(x)
    m = np.einsum("iap,iab,ibq->pq", jacobian, task.curvatures(f, trained.y), jacobian)
    inverse = np.linalg.inv(m + 40 * 0.3 * np.eye(len(m)))
    gradient = np.einsum("iap,ia->p", jacobian, task.slopes(f, trained.y)) + 40 * 0.3 * model.theta
    moved = np.linalg.norm(jacobian @ (inverse @ gradient)) / np.linalg.norm(f)
    for costs in ((1.0, 2.0), (2.0, 1.0)):  # by parameters, by outputs
        monkeypatch.setattr(_posterior, "_costs", lambda *_, costs=costs: costs)
        found = posterior_spread(model, x, trained.y, task, 0.3, x[:5])
        np.testing.assert_allclose(
            found.spread, np.einsum("iap,pq,ibq->iab", model.jacobian(x[:5]), inverse, model.jacobian(x[:5])), rtol=1e-8
        )
        assert found.movement == pytest.approx(moved)


def test_a_model_of_counts_has_no_intervals_of_values():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = rng.poisson(np.exp(x[:, 0])).astype(float)
    model = PoissonRegressor(alpha=1e-2).fit(x[:100], y[:100])
    found = posterior_rows(read_trained(model, x[:100], y[:100], held=(x[100:], y[100:])))
    assert "predicts counts" in found.summary.reason
    assert not len(found.rows)


@pytest.mark.parametrize("function", [network, twice])
@pytest.mark.parametrize("shape", [(40, 3), (6, 12)])
@pytest.mark.parametrize("loss", ["classes", "values"])
def test_spread_is_that_of_dense_matrices_by_every_route(function, shape, loss):
    (n, width), rng = shape, np.random.default_rng(0)
    own = {"a": rng.normal(size=(width, width)), "b": rng.normal(size=width), "c": rng.normal(size=(width, 3))}
    x, others = rng.normal(size=(n, width)), rng.normal(size=(5, width))
    y = rng.integers(0, 3, n) if loss == "classes" else rng.normal(size=(n, 3))
    model = read_model((function, {name: jnp.asarray(part) for name, part in own.items()}))
    task = read_task(model, x, y, (0, 1, 2) if loss == "classes" else None)
    encoded = task.encode(y)
    spread, dimension, moved = dense(model, x, encoded, task, 0.1, others)
    told = (model, x, encoded, task, 0.1, others)
    found = [_posterior._by_parameters(*told), _posterior._by_outputs(*told, None)]
    known = _posterior._factored(model, x, others)
    assert (known is None) == (function is twice)
    if known is not None:
        found.append(_posterior._by_outputs(*told, known))
    chosen = posterior_spread(*told)
    assert chosen.whole
    for own in (*found, (chosen.spread, chosen.dimension, chosen.movement)):
        np.testing.assert_allclose(own[0], spread, rtol=1e-8, atol=1e-12)
        assert own[1] == pytest.approx(dimension)
        assert own[2] == pytest.approx(moved)


def test_the_readout_alone_is_uncertain_where_the_rest_is_too_dear(monkeypatch):
    rng = np.random.default_rng(1)
    own = {"a": rng.normal(size=(2, 30)), "b": rng.normal(size=30), "c": rng.normal(size=(30, 2))}
    x, y, others = rng.normal(size=(50, 2)), rng.normal(size=(50, 2)), rng.normal(size=(4, 2))
    model = read_model((network, {name: jnp.asarray(part) for name, part in own.items()}))
    task = read_task(model, x, y)
    monkeypatch.setattr(_posterior, "OPERATIONS", 60**2 * (54 * 2 + 60))
    found = posterior_spread(model, x, y, task, 0.1, others)
    hidden, new = (np.tanh(rows @ own["a"] + own["b"]) for rows in (x, others))
    exact = np.einsum("ip,pq,iq->i", new, np.linalg.inv(hidden.T @ hidden + 5 * np.eye(30)), new)
    assert not found.whole
    np.testing.assert_allclose(found.spread, exact[:, None, None] * np.eye(2), rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(_posterior, "OPERATIONS", 10)
    assert posterior_spread(model, x, y, task, 0.1, others) is None


def linear(seed=0, rows=60, new=300, inputs=4):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=inputs)
    x, held = rng.normal(size=(rows, inputs)), rng.normal(size=(new, inputs))
    return x, x @ w + 0.7 * rng.normal(size=rows), held, held @ w + 0.7 * rng.normal(size=new)


def test_deviations_are_those_of_exact_bayesian_linear_regression():
    """Of scikit-learn's BayesianRidge, whose prior precision over noise precision is the decay of the rows."""
    x, y, held, targets = linear()
    exact = BayesianRidge(fit_intercept=False, tol=1e-10, max_iter=5000).fit(x, y)
    decay = exact.lambda_ / exact.alpha_ / len(x)
    trained = read_trained((dot, jnp.asarray(exact.coef_)), x, y, held=(held, targets), decay=float(decay))
    polished_copy(trained)
    found = posterior_rows(trained)
    _, deviations = exact.predict(held, return_std=True)
    # both take the noise from residuals over n - gamma, scikit-learn with a prior of 1e-6
    np.testing.assert_allclose(found.deviations[:, 0], deviations, rtol=1e-5)
    assert found.summary.noise[0] == pytest.approx(exact.alpha_**-0.5, rel=1e-5)


def test_without_decay_intervals_are_those_of_least_squares():
    x, y, held, targets = linear()
    model = LinearRegression().fit(x, y)
    found = lemmata.study_model(model, x, y, held=(held, targets))
    design, new = (np.column_stack([rows, np.ones(len(rows))]) for rows in (x, held))
    noise = ((y - model.predict(x)) ** 2).sum() / (60 - 5)
    exact = np.sqrt(noise * (1 + np.einsum("ip,pq,iq->i", new, np.linalg.inv(design.T @ design), new)))
    deviations = found.rows.filter(part="held out")["posterior_deviation"]
    np.testing.assert_allclose(deviations, exact, rtol=1e-6)
    inside = np.abs(targets - model.predict(held)) <= stats.t.ppf(0.95, 55) * exact
    assert found.record.posterior.covered.value == pytest.approx(inside.mean())
    assert found.record.posterior.dimension == pytest.approx(5)
    assert "intervals at level" in model_page(found.record)
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record


def test_intervals_hold_nine_targets_of_ten_and_fail_where_the_noise_is_another():
    shares, fails = [], []
    for seed in range(60):
        x, y, held, targets = linear(seed, rows=20)
        for k, factor in enumerate((1.0, 2.0)):
            shown = held @ np.linalg.lstsq(held, targets, rcond=None)[0]
            new = shown + factor * (targets - shown)
            trained = read_trained(LinearRegression(fit_intercept=False).fit(x, y), x, y, held=(held, new))
            own = posterior_rows(trained).summary
            (shares if k == 0 else fails).append(own.covered.value if k == 0 else own.status == "disagrees")
    assert abs(np.mean(shares) - 0.9) < 4 * np.std(shares) / 60**0.5
    assert np.mean(fails) > 0.9


def test_mean_probabilities_are_those_of_drawn_outputs():
    rng = np.random.default_rng(2)
    f, half = 2 * rng.normal(size=(30, 4)), rng.normal(size=(30, 4, 4))
    spread = half @ half.transpose(0, 2, 1) / 4
    drawn = f + np.einsum("iab,sib->sia", half / 2, rng.normal(size=(20_000, 30, 4)))
    exact, found = softmax(drawn, axis=2).mean(0), np.exp(log_means(f, spread))
    error = softmax(drawn, axis=2).std(0) * (1 / 2000 + 1 / 20_000) ** 0.5
    assert (np.abs(found - exact) < 5 * error).all()
    assert np.abs(softmax(f, axis=1) - exact).max() > 10 * error.max()
    np.testing.assert_allclose(found.sum(1), 1)
    np.testing.assert_allclose(log_means(f, 0 * spread), log_softmax(f, axis=1), atol=1e-12)
    two, wide = f[:, :2], spread[:, :2, :2]
    apart = wide[:, 0, 0] + wide[:, 1, 1] - 2 * wide[:, 0, 1]
    probit = expit((two[:, 0] - two[:, 1]) / np.sqrt(1 + np.pi / 8 * apart))
    np.testing.assert_allclose(np.exp(log_means(two, wide))[:, 0], probit)
    shifted = log_means(f + rng.normal(size=(30, 1)), spread + 5.0, seed=1)
    np.testing.assert_allclose(np.exp(shifted), found, atol=6 * error.max())
    exact = softmax(drawn[:, :, :2], axis=2).mean(0)
    assert np.abs(np.exp(log_means(two, wide)) - exact).max() < 0.025  # as far as MacKay's probit is from the integral


def test_probabilities_of_classes_stand_in_the_table_and_are_scored():
    rng = np.random.default_rng(3)
    x, held = rng.normal(size=(80, 6)), rng.normal(size=(400, 6))
    label = lambda rows: np.argmax(2 * rows[:, :3] + rng.gumbel(size=(len(rows), 3)), axis=1)
    y, targets = label(x), label(held)
    model = LogisticRegression(C=100.0, tol=1e-10, max_iter=10000).fit(x, y)
    found = lemmata.study_model(model, x, y, held=(held, targets))
    new, own = found.rows.filter(part="held out"), found.record.posterior
    assert own.plain == pytest.approx(-np.log(model.predict_proba(held)[np.arange(400), targets]).mean(), rel=1e-2)
    assert own.corrected == pytest.approx(-np.log(new["posterior_probability"]).mean())
    assert own.gain.value == pytest.approx(own.plain - own.corrected)
    assert own.gain.lower > 0  # 80 rows and next to no penalty: the model is much too sure
    assert own.status == "agrees"
    assert "better than" in model_page(found.record)
    assert found.rows.filter(part="training")["posterior_probability"].null_count() == 80
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record
    worse = dataclasses.replace(own, gain=own.gain.__class__(-0.1, -0.2, -0.05))
    assert worse.status == "disagrees"
    assert "worse than" in model_page(dataclasses.replace(found.record, posterior=worse))


def test_where_it_says_nothing_it_says_why():
    x, y, held, targets = linear()
    far = read_trained((dot, jnp.zeros(4) + 0.1), x, y, held=(held, targets), decay=0.0)
    assert "another Newton step would change" in posterior_rows(far).summary.reason
    few = read_trained(LinearRegression().fit(x[:6], y[:6]), x[:6], y[:6], held=(held, targets))
    assert "residuals" in posterior_rows(few).summary.reason
    twin = np.column_stack([x, x[:, 0]])
    singular = read_trained((dot, jnp.asarray([1.0] * 5)), twin, y, held=(np.column_stack([held, held[:, 0]]), targets))
    assert posterior_rows(singular).summary.reason
    assert posterior_rows(read_trained(LinearRegression().fit(x, y), x, y)) is None
    unasked = read_trained(Ridge(1.0).fit(x, y), x, y, held=(held, targets))
    assert "posterior_deviation" not in row_table(unasked, None).columns
    assert posterior_rows(unasked).summary.reason == ""
    assert "posterior_deviation" in row_table(unasked, None).columns
