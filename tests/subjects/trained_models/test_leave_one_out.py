"""Leaving one out by a Newton step: exact where it must be, and beside refits where it is an approximation."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from lemmata.errors import MemoryPlanError, SolverError
from lemmata.subjects.trained_models import Objective, leave_one_out, polish, read_model, read_task
from lemmata.subjects.trained_models._jax import jax_model

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("features", [4, 60])
def test_exact_for_ridge_regression(features):
    """Both Gram matrices, the small one of parameters and that of rows."""
    x, y = RNG.normal(size=(30, features)), RNG.normal(size=30)
    weights = np.linalg.solve(x.T @ x + 2.0 * np.eye(features), x.T @ y)
    model = read_model((lambda w, rows: rows @ w, jnp.asarray(weights)))
    task = read_task(model, x, y)
    found = leave_one_out(model, x, task.encode(y), task, 2.0 / 30).outputs[:, 0]
    for i in range(30):
        rest = np.arange(30) != i
        refit = Ridge(2.0, fit_intercept=False).fit(x[rest], y[rest])
        assert found[i] == pytest.approx(refit.predict(x[i : i + 1])[0], abs=1e-9)


def test_beside_refits_of_logistic_regression():
    x = RNG.normal(size=(60, 5))
    y = (x @ RNG.normal(size=(5, 3)) + RNG.normal(size=(60, 3))).argmax(1)
    fit = lambda rows, labels: LogisticRegression(C=1.0, tol=1e-10, max_iter=5000).fit(rows, labels)
    estimator = fit(x, y)
    model = read_model(estimator)
    task = read_task(model, x, y)
    found = leave_one_out(model, x, task.encode(y), task, 1 / 60)
    refits = np.stack([fit(np.delete(x, i, 0), np.delete(y, i)).decision_function(x[i : i + 1])[0] for i in range(60)])
    size = lambda change: np.sqrt(np.mean(change**2))
    moved = size(refits - estimator.decision_function(x))
    assert moved > 0.1
    assert size(found.outputs - refits) < 0.1 * moved
    assert 8 < found.dimension < 18  # of 18 parameters, of which C - 1 of C directions count


def test_the_two_routes_agree_on_classes():
    """With more parameters than outputs the Gram matrix of outputs is used; parameters that do nothing decide which."""
    x = RNG.normal(size=(12, 3))
    y = np.eye(3)[RNG.integers(0, 3, 12)]
    weights = RNG.normal(size=(3, 3))
    small = read_model((lambda w, rows: jnp.tanh(rows @ w), jnp.asarray(weights)))
    padded = np.vstack([weights, np.zeros((40, 3))])
    large = read_model((lambda w, rows: jnp.tanh(rows @ w[:3]) + 0 * w[3:].sum(), jnp.asarray(padded)))
    task = read_task(small, x, y)
    assert len(small.theta) < 36 < len(large.theta)
    one, two = (leave_one_out(model, x, y, task, 0.05) for model in (small, large))
    np.testing.assert_allclose(one.outputs, two.outputs, atol=1e-9)
    assert one.dimension == pytest.approx(two.dimension)


def test_a_row_that_nothing_else_fixes_is_refused():
    x, y = np.eye(3), np.arange(3.0)
    model = read_model((lambda w, rows: rows @ w, jnp.asarray(y)))
    task = read_task(model, x, y)
    with pytest.raises(SolverError, match="leverage 1"):
        leave_one_out(model, x, task.encode(y), task, 1e-13)


def test_too_many_numbers_are_refused():
    model = read_model((lambda w, rows: rows @ w, jnp.zeros((1000, 100))))
    x = np.zeros((1000, 1000))
    task = read_task(model, x, np.arange(1000) % 100)
    with pytest.raises(MemoryPlanError, match="GiB for 100000 outputs and 100000 parameters"):
        leave_one_out(model, x, task.encode(np.arange(1000) % 100), task, 0.1)


@pytest.mark.parametrize("features", [4, 60])
def test_movement_is_that_of_a_newton_step(features):
    """For a quadratic objective the step ends at the minimum, whichever Gram matrix is smaller."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(20, features)), rng.normal(size=20)
    best = np.linalg.solve(x.T @ x + 3.0 * np.eye(features), x.T @ y)
    elsewhere = best + 0.3 * rng.normal(size=features)
    models = [read_model((lambda w, rows: rows @ w, jnp.asarray(weights))) for weights in (best, elsewhere)]
    task = read_task(models[0], x, y)
    still, moved = (leave_one_out(model, x, task.encode(y), task, 3.0 / 20).movement for model in models)
    assert still < 1e-12
    assert moved == pytest.approx(np.linalg.norm(x @ (elsewhere - best)) / np.linalg.norm(x @ elsewhere), rel=1e-9)


def test_movement_counts_a_free_intercept():
    """Moved by its intercept alone, a classifier is no longer at rest; fitted, it is."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(40, 3))
    y = (x @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3))).argmax(1)
    estimator = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000).fit(x, y)

    def movement() -> float:
        model = read_model(estimator)
        task = read_task(model, x, y)
        return leave_one_out(model, x, task.encode(y), task, 1 / 40).movement

    assert movement() < 1e-5
    estimator.intercept_ = estimator.intercept_ + np.array([0.5, 0.0, 0.0])
    model = read_model(estimator)
    task = read_task(model, x, y)
    f, jacobian = model.outputs(x), model.jacobian(x)
    prior = np.where(model.decayed, 1.0, 1e-4)  # nearly none on the intercept
    curved = np.einsum("iap,iab,ibq->pq", jacobian, task.curvatures(f), jacobian) + np.diag(prior)
    gradient = model.vjp(task.means(f) - task.encode(y), x) + model.decayed * model.theta
    step = jacobian @ np.linalg.solve(curved, gradient)
    assert movement() == pytest.approx(np.linalg.norm(step) / np.linalg.norm(f), rel=1e-9)


@pytest.mark.parametrize("hidden", [1, 9])
def test_blocks_of_the_jacobian_change_nothing_and_none_is_wide(hidden, monkeypatch):
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(20, 4)), rng.integers(0, 3, 20)
    f = lambda own, rows: jnp.tanh(rows @ own["a"]) @ own["b"]
    params = {"a": rng.normal(size=(4, hidden)), "b": rng.normal(size=(hidden, 3))}
    decayed = {"a": True, "b": False}
    model = jax_model(f, params, decayed=decayed)  # 7 parameters for 60 outputs, or 63
    task = read_task(model, x, y)
    whole = leave_one_out(model, x, task.encode(y), task, 0.05)
    assert (len(model.theta) > 60) == (hidden == 9)
    seen, real = [], type(model).jacobian
    monkeypatch.setattr("lemmata.subjects.trained_models._leave_one_out._BLOCK", 2000)
    monkeypatch.setattr(
        "lemmata.subjects.trained_models._leave_one_out.factors", lambda *told: None
    )  # a dense network needs no blocks
    monkeypatch.setattr(type(model), "jacobian", lambda self, rows: seen.append(len(rows)) or real(self, rows))
    streamed = leave_one_out(model, x, task.encode(y), task, 0.05)
    assert len(seen) > 1
    assert max(seen) * 3 * len(model.theta) * 8 <= 2000
    for name in ("outputs", "leverage"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=1e-8, atol=1e-10)
    assert streamed.movement == pytest.approx(whole.movement, rel=1e-8)


def classes(x, f):
    return (f(x) + RNG.normal(size=(len(x), 3))).argmax(1)


def polished(f, params, x, y, decay):
    model = read_model((f, params))
    task = read_task(model, x, y)
    return polish(Objective(model, x, task.encode(y), task, decay)).model, (x, task.encode(y), task, decay)


@pytest.mark.parametrize("features", [4, 60])
def test_a_step_of_a_linear_model_leads_where_its_linearisation_says(features):
    """By the Gram matrix of parameters, and by that of outputs."""
    x, w = RNG.normal(size=(40, features)), RNG.normal(size=(features, 3))
    params = {"w": jnp.zeros((features, 3)), "b": jnp.zeros(3)}
    model, rest = polished(
        lambda own, rows: rows @ own["w"] + own["b"], params, x, classes(x, lambda own: own @ w), 0.05
    )
    found = leave_one_out(model, *rest)
    assert found.leverage.max() > 0.1
    assert found.bend < 1e-10


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_steps_are_the_same_by_every_route(monkeypatch):
    """A network of hyperbolic tangents by its outputs, and within the span of all of them."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(30, 20), torch.nn.Tanh(), torch.nn.Linear(20, 3)).double()
    x, w = RNG.normal(size=(60, 30)), RNG.normal(size=(30, 3))
    own = read_model(net)
    task = read_task(own, x, classes(x, lambda rows: rows @ w))
    y = task.encode(classes(x, lambda rows: rows @ w))
    model = polish(Objective(own, x, y, task, 0.02)).model
    whole = leave_one_out(model, x, y, task, 0.02)
    monkeypatch.setattr("lemmata.subjects.trained_models._leave_one_out.EXACT", 10)
    monkeypatch.setattr("lemmata.subjects.trained_models._compressed._LEFT", 1e-9)
    within = leave_one_out(model, x, y, task, 0.02)
    assert 0.01 < whole.bend < 0.2
    assert within.bend == pytest.approx(whole.bend, rel=0.1)


def test_a_layer_that_undoes_the_size_of_its_weights_makes_steps_bend():
    """The decay shrinks its weights for ever, and a step grows beside them."""
    x, w = RNG.normal(size=(60, 8)), RNG.normal(size=(8, 3))
    y = classes(x, lambda rows: 2 * rows @ w)

    def normalised(own, rows):
        hidden = rows @ own["w"]
        hidden = (hidden - hidden.mean(1, keepdims=True)) / jnp.sqrt(hidden.var(1, keepdims=True) + 1e-5)
        return jnp.tanh(hidden) @ own["v"]

    params = {"w": jnp.asarray(RNG.normal(size=(8, 20)) / 3), "v": jnp.asarray(RNG.normal(size=(20, 3)) / 5)}
    plain = polished(lambda own, rows: jnp.tanh(rows @ own["w"]) @ own["v"], params, x, y, 0.01)
    bends = [leave_one_out(model, *rest).bend for model, rest in (polished(normalised, params, x, y, 0.01), plain)]
    assert bends[0] > 0.2 > 2 * bends[1]
