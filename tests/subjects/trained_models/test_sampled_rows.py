"""Rows left out by products, and the smallest curvature, against dense matrices and refits."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.core import key_from
from lemmata.errors import SettingError
from lemmata.subjects.trained_models import (
    Objective,
    leave_one_out,
    leave_sampled_rows_out,
    objective_of,
    polish,
    polished_copy,
    read_model,
    read_task,
    read_trained,
    rows_left_out,
    smallest_curvature,
)
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

SETTING = {"n": 40, "d": 4, "hidden": 5, "decay": 0.02, "noise": 0.1}


@pytest.fixture(scope="module")
def trained():
    return TrainedNetworks().sample(SETTING, key_from(3, "sampled rows"))


def at_polished(trained):
    return dataclasses.replace(objective_of(trained), model=polished_copy(trained).model)


def test_rows_left_out_by_products_are_those_of_the_dual_matrix(trained):
    rows = np.array([0, 7, 33])
    found = leave_sampled_rows_out(at_polished(trained), rows, steps=500, tolerance=1e-13)
    own = rows_left_out(trained)
    np.testing.assert_allclose(found.outputs, own.outputs[rows], rtol=1e-9)
    assert abs(found.movement - own.movement) < 1e-6
    assert found.residual < 1e-12
    early = leave_sampled_rows_out(at_polished(trained), rows, steps=2)
    assert early.residual > 0.05, "two steps are too few, and it is said"
    assert early.products <= 2 * 4
    assert np.abs(early.outputs - own.outputs[rows]).max() > 1e-4


@pytest.mark.parametrize("steps", [1, 30])
def test_movement_is_that_of_the_dual_away_from_a_stationary_point(steps):
    far = TrainedNetworks(steps=steps).sample(SETTING, key_from(4, "far"))
    objective = dataclasses.replace(objective_of(far), model=far.model.in_double())
    found = leave_sampled_rows_out(objective, np.array([1]), steps=500, tolerance=1e-13)
    own = leave_one_out(objective.model, far.x, far.y, far.task, objective.decay)
    assert abs(found.movement - own.movement) < 1e-8 * own.movement
    assert own.movement > 0.1
    np.testing.assert_allclose(found.outputs[0], own.outputs[1], rtol=1e-8)


def test_values_left_out_are_those_of_a_refit_and_what_does_not_decay_is_nearly_free():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    linear = lambda own, x: (x @ own["w"] + own["b"])[:, None]
    params = {"b": jnp.zeros(()), "w": jnp.zeros(3)}
    plain = read_model((linear, params))
    model = dataclasses.replace(plain, decayed=np.arange(4) > 0)
    task = read_task(model, x, y)
    made = lambda x, y: Objective(model, x, task.encode(y), task, 0.2 * 30 / len(x))
    best = dataclasses.replace(made(x, y), model=polish(made(x, y), 500, 1e-10).model)
    found = leave_sampled_rows_out(best, np.array([4]), steps=200, tolerance=1e-13)
    rest = polish(made(np.delete(x, 4, 0), np.delete(y, 4)), 500, 1e-10).model
    np.testing.assert_allclose(found.outputs[0], rest.outputs(x[4:5])[0], atol=2e-3)  # the other's decay is not 0
    np.testing.assert_allclose(found.outputs[0], leave_one_out(best.model, x, best.y, task, 0.2).outputs[4], rtol=1e-9)


def test_what_has_no_matrix_or_no_decay_is_refused():
    rng = np.random.default_rng(0)
    table = {"table": rng.normal(size=(5, 5))}
    language = read_trained((lambda own, tokens: own["table"][tokens], table), rng.integers(0, 5, (9, 6)), None)
    with pytest.raises(SettingError, match="documents") as refused:
        leave_sampled_rows_out(dataclasses.replace(objective_of(language), decay=0.1), np.array([0]))
    assert "leave_rows_out" in str(refused.value)
    free = TrainedNetworks(steps=1).sample(SETTING, key_from(5, "free"))
    with pytest.raises(SettingError, match="decay"):
        leave_sampled_rows_out(dataclasses.replace(objective_of(free), decay=0.0), np.array([0]))


@pytest.mark.parametrize("steps", [0, 40])
def test_the_smallest_curvature_is_that_of_the_dense_hessian(steps):
    """At a stationary point it is above 0; where training stopped early it is far below."""
    found = []
    for seed in range(4):
        own = TrainedNetworks(steps=steps, decay=0.01).sample(SETTING | {"decay": 0.01}, key_from(seed, "curvature"))
        objective = dataclasses.replace(objective_of(own), model=own.model.in_double())
        model, n = objective.model, len(own.x)
        columns = [model.hvp(v, own.x, own.y, own.task.loss) for v in np.eye(len(model.theta))]
        dense = np.linalg.eigvalsh(np.array(columns) / n)[0] + objective.decay
        curvature = smallest_curvature(objective, 1e-4 * objective.decay, seed=seed)
        assert abs(curvature.value - dense) < 0.02 * objective.decay
        assert curvature.value > dense - 1e-9, "a Ritz value is never below"
        assert curvature.residual <= 1e-4 * objective.decay
        found.append(dense)
    assert (min(found) > 0) == (steps == 0)


def test_products_that_were_not_enough_are_told():
    own = TrainedNetworks(steps=40).sample(SETTING, key_from(1, "few"))
    curvature = smallest_curvature(objective_of(own), 0.0, most=3)
    assert (curvature.products, curvature.residual > 0) == (3, True)
