"""A copy at a stationary point, from weights in either precision."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import Objective, _polish, polish, read_model, read_task

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 5)).astype(np.float32)
LABELS = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
LOGITS = lambda params, x: x @ params["w"] + params["b"]


def objective(dtype, decay=0.02):
    start = {"w": jnp.zeros((5, 2), dtype) + jnp.asarray(0.1, dtype), "b": jnp.ones(2, dtype)}
    model, x = read_model((LOGITS, start)), X.astype(dtype)
    task = read_task(model, x, LABELS)
    return Objective(model, x, task.encode(LABELS), task, decay)


def test_single_precision_ends_where_float64_does():
    single, double = (polish(objective(dtype), 500, 1e-6) for dtype in (np.float32, np.float64))
    assert single.model.theta.dtype == np.float64
    assert max(single.residual, double.residual) <= 1e-6  # which single precision does not reach
    assert single.model.theta == pytest.approx(double.model.theta, abs=1e-5)
    assert single.moved == pytest.approx(double.moved, rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("steps", [1, 4])
def test_both_precisions_together_take_the_steps_that_are_allowed(monkeypatch, dtype, steps):
    monkeypatch.setattr(_polish, "PRODUCTS", ())
    found = polish(objective(dtype), steps, 1e-9)
    assert found.steps == steps
    assert 1e-9 < found.residual < objective(dtype).residual()


def test_rounding_of_single_precision_costs_no_steps_of_float64():
    whole = polish(objective(np.float32), 500, 1e-7)
    assert whole.residual <= 1e-7
    assert whole.steps < 100


def test_a_first_step_that_gains_next_to_nothing_does_not_end_the_descent():
    """From (1e-4, 0) the first step gains the 5e-9 of x; the 5e-6 of y come after it."""
    curvature, end = np.array([1.0, 1e-5]), np.array([0.0, 1.0])
    seen = []

    class Bowl(Objective):
        def value(self, theta):
            seen.append(float(curvature @ (theta - end) ** 2 / 2))
            return seen[-1], curvature * (theta - end)

    found, steps = _polish._descended(object.__new__(Bowl), np.array([1e-4, 0.0]), 100, 1e-12, _polish._SINGLE)
    assert seen[0] - min(seen[:3]) < 1e-8
    assert found == pytest.approx(end, abs=1e-3)
    assert 1 < steps < 100


def network(unit, dtype=np.float64):
    """A network of one layer with three hidden units, which descent leaves early."""
    rng = np.random.default_rng(2)
    start = {"v": jnp.asarray(rng.normal(size=(5, 3))), "w": jnp.asarray(rng.normal(size=(3, 2)))}
    model, x = read_model((lambda own, x: unit(x @ own["v"]) @ own["w"], start)), X.astype(dtype)
    task = read_task(model, x, LABELS)
    return Objective(model, x, task.encode(LABELS), task, 0.02)


def test_steps_of_newton_end_at_rounding_where_the_objective_is_smooth():
    found = polish(network(jnp.tanh), 300, 1e-3)
    assert found.residual < 1e-7
    another = polish(network(jnp.tanh), 300, 1e-4)
    assert another.model.theta == pytest.approx(found.model.theta, abs=1e-7)


def test_no_step_is_taken_over_kinks(monkeypatch):
    whole = polish(network(jnp.abs), 40, 1e-3)
    monkeypatch.setattr(_polish, "PRODUCTS", ())
    assert (polish(network(jnp.abs), 40, 1e-3).model.theta == whole.model.theta).all()
    assert whole.residual > 1e-3
