"""The Gauss-Newton matrix written out, its dimension by two routes, and the damping of most evidence by a grid."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import MemoryPlanError
from lemmata.subjects.trained_models import (
    Task,
    damping_of_most_evidence,
    dimension_by_products,
    directed,
    gauss_newton_eigenvalues,
    leave_one_out,
    margins,
    product_of_norms,
    read_model,
)

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 4))
Y = np.eye(3)[RNG.integers(0, 3, 30)]
TASK = Task("softmax", "logits", (0, 1, 2))


def network(params, x):
    return jnp.tanh(x @ params["a"]) @ params["b"]


def model(width=5):
    return read_model(
        (network, {"a": jnp.asarray(RNG.normal(size=(4, width))), "b": jnp.asarray(RNG.normal(size=(width, 3)))})
    )


def written_out(own):
    jacobian = own.jacobian(X)
    return np.einsum("iap,iab,ibq->pq", jacobian, TASK.curvatures(own.outputs(X)), jacobian)


@pytest.mark.parametrize("width", [5, 40])  # fewer parameters than outputs, and more
def test_eigenvalues_are_those_of_the_matrix_written_out(width):
    own = model(width)
    found = gauss_newton_eigenvalues(own, X, TASK)
    assert len(found) == min(90, 7 * width)
    expected = np.linalg.eigvalsh(written_out(own))[::-1][: len(found)]
    assert found[::-1] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("width", [5, 40])
def test_the_dimension_by_products_is_that_of_the_trace(width):
    own, ridge = model(width), 0.6
    matrix = written_out(own)
    exact = np.trace(np.linalg.solve(matrix + ridge * np.eye(len(matrix)), matrix))
    found = dimension_by_products(own, X, TASK, ridge, probes=400, steps=60, seed=1)
    assert found.value == pytest.approx(exact, abs=4 * found.high.std() / 20)
    low, high = found.interval(0.95)
    reaches = 1.966 / 20 * (found.low.std(ddof=1) + found.high.std(ddof=1))
    assert high - low == pytest.approx(found.high.mean() - found.low.mean() + reaches, rel=1e-3)
    assert exact == pytest.approx(leave_one_out(own, X, Y, TASK, ridge / 30).dimension)


def test_parameters_without_decay_count_as_nearly_free():
    own = model(5)
    free = dataclasses.replace(own, decayed=np.arange(35) >= 20)
    values = gauss_newton_eigenvalues(free, X, TASK)
    assert (values / (values + 0.6)).sum() == pytest.approx(leave_one_out(free, X, Y, TASK, 0.02).dimension)
    found = dimension_by_products(free, X, TASK, 0.6, probes=200, steps=35, seed=1)
    assert found.value == pytest.approx((values / (values + 0.6)).sum(), abs=4 * found.high.std() / 14)


@pytest.mark.parametrize("steps", [2, 4, 8])
def test_few_steps_leave_the_quadratic_form_between_their_two_rules(steps):
    """u' K (K + r)^-1 u for the random signs that are drawn, from the eigensystem of the matrix written out."""
    own, ridge = model(40), 1e-4
    values, vectors = np.linalg.eigh(TASK.curvatures(own.outputs(X)))
    root = np.einsum("iab,ib,icb->iac", vectors, np.sqrt(np.maximum(values, 0)), vectors)
    weighted = np.einsum("iab,ibp->iap", root, own.jacobian(X)).reshape(90, -1)
    dual = weighted @ weighted.T
    exact_form = dual @ np.linalg.inv(dual + ridge * np.eye(90))
    found = dimension_by_products(own, X, TASK, ridge, probes=5, steps=steps, seed=1)
    rng = np.random.default_rng([1, 15])
    signs = [rng.choice([-1.0, 1.0], 90) for _ in range(5)]
    exact = np.array([u @ exact_form @ u for u in signs])
    assert np.all(found.low <= exact * (1 + 1e-9))
    assert np.all(exact <= found.high * (1 + 1e-9))
    if steps == 2:
        assert np.all(found.high - found.low > 0.1)


def test_the_rules_are_brought_no_nearer_than_a_twentieth():
    own, steps = model(40), 60
    exact = [leave_one_out(own, X, Y, TASK, ridge / 30).dimension for ridge in (30.0, 1e-3)]
    easy, hard = (dimension_by_products(own, X, TASK, ridge, probes=200, steps=steps, seed=1) for ridge in (30.0, 1e-3))
    assert easy.products < hard.products < 200 * steps
    for found, dimension in zip((easy, hard), exact, strict=True):
        assert np.all(found.high - found.low <= 0.05 * found.high)
        low, high = found.interval(0.999)
        assert low <= dimension <= high


def test_the_damping_of_most_evidence_is_the_best_of_a_grid():
    values, theta = RNG.gamma(1.0, size=30), RNG.normal(size=50)
    found = damping_of_most_evidence(values, theta, 20)
    evidence = lambda delta: (
        -10 * delta * theta @ theta - np.linalg.slogdet(np.eye(30) + np.diag(values) / (20 * delta))[1] / 2
    )
    grid = np.geomspace(1e-4, 1e2, 400)
    best = grid[np.argmax([evidence(delta) for delta in grid])]
    assert found == pytest.approx(best, rel=0.04)
    assert evidence(found) >= evidence(best)


def test_too_many_outputs_are_refused():
    own = model(9000)
    with pytest.raises(MemoryPlanError):
        gauss_newton_eigenvalues(own, np.zeros((12000, 4)), TASK)


def test_margins_and_norms_by_hand():
    f = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, -1.0]])
    assert margins(f, np.eye(3)[[0, 2]]) == pytest.approx([1.0, -5.0])
    own = model(5)
    parts = own.split(own.theta)
    expected = np.linalg.norm(parts["a"], 2) * np.linalg.norm(parts["b"], 2)
    assert product_of_norms(own) == pytest.approx(expected)
    assert product_of_norms(own.at(2 * own.theta)) == pytest.approx(4 * expected)


def test_weights_of_a_support_vector_machine_are_along_the_largest_margin():
    """Two rows, two classes, linear: the largest margin is along their difference, and any other direction is not."""
    rows, y = np.array([[1.0, 2.0], [-3.0, 1.0]]), np.eye(2)
    linear = lambda params, x: x @ params["w"]
    gap = rows[0] / np.linalg.norm(rows[0]) - rows[1] / np.linalg.norm(rows[1])
    best = np.stack([gap, -gap], axis=1)
    found = directed(read_model((linear, {"w": jnp.asarray(best)})), rows, y, 0)
    assert found.cosine == pytest.approx(1.0)
    assert found.used == 2
    assert found.smallest == pytest.approx(float(min(2 * rows[0] @ gap, -2 * rows[1] @ gap)))
    away = np.stack([[gap[1], -gap[0]], [gap[1], -gap[0]]], axis=1)
    assert directed(read_model((linear, {"w": jnp.asarray(away)})), rows, y, 0).cosine == pytest.approx(0.0, abs=1e-9)
