"""Stepwise learning: modes, flows and embeddings by naive twins, by SciPy's integrator and in feature space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError
from scipy.integrate import solve_ivp
from scipy.linalg import sqrtm

from lemmata.errors import LemmataError
from lemmata.kernels import RBF, Linear, gram
from lemmata.subjects.dynamics import (
    StepwisePrediction,
    aligned_start,
    contrastive_gram,
    contrastive_matrix,
    correlation_loss,
    embedding_flow,
    stepwise_times,
    terminal_embedding,
    terminal_weights,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3)) * [2.0, 1.0, 0.5]
VIEWS = X + 0.3 * RNG.normal(size=X.shape)


def arrays():
    return jnp.asarray(X), jnp.asarray(VIEWS)


def naive_matrix():
    return sum(np.outer(a, b) + np.outer(b, a) for a, b in zip(X, VIEWS, strict=True)) / (2 * len(X))


def test_the_contrastive_matrix_is_the_loop():
    np.testing.assert_allclose(contrastive_matrix(*arrays()), naive_matrix(), atol=1e-14)


def test_the_contrastive_gram_is_that_of_a_matrix_root_and_a_swap():
    matrix = np.asarray(gram(RBF(1.0), jnp.concatenate(arrays())))
    swap = np.kron([[0, 1], [1, 0]], np.eye(len(X)))
    root = np.real(sqrtm(matrix))
    np.testing.assert_allclose(contrastive_gram(RBF(1.0), *arrays()), root @ swap @ root / (2 * len(X)), atol=1e-7)
    values = np.linalg.eigvalsh(contrastive_gram(Linear(), *arrays()))
    np.testing.assert_allclose(values[-3:], np.linalg.eigvalsh(naive_matrix()), atol=1e-12)


def test_the_flow_is_scipys_and_its_slope_that_of_the_loss():
    gamma, start = jnp.asarray(naive_matrix()), jnp.asarray(0.1 * RNG.normal(size=(2, 3)))
    times = np.array([0.05, 0.2, 1.0])
    slope = lambda _, w: (
        -np.asarray(jax.grad(lambda own: correlation_loss(gamma, own))(jnp.asarray(w.reshape(2, 3)))).reshape(-1)
    )
    found = solve_ivp(slope, (0, 1.0), np.asarray(start).reshape(-1), "RK45", times, rtol=1e-8, atol=1e-10)
    path = embedding_flow(gamma, start, jnp.asarray(times))
    np.testing.assert_allclose(path.reshape(3, 6).T, found.y, rtol=1e-5, atol=1e-6)


def test_sizes_reach_a_half_at_step_times_and_the_loss_rests_on_plateaus():
    steps = StepwisePrediction(jnp.array([2.0, 0.5, 0.1]), jnp.full(3, 1e-6))
    np.testing.assert_allclose(np.diagonal(steps.sizes(steps.times)), 0.5, rtol=1e-12)
    between = jnp.append((steps.times[1:] + steps.times[:-1]) / 2, 3 * steps.times[-1])
    assert steps.plateaus.tolist() == [3.0, 2.0, 1.0, 0.0]
    np.testing.assert_allclose(steps.loss(between), steps.plateaus[1:], atol=1e-3)
    # at time 0 the size is s² gamma
    np.testing.assert_allclose(steps.sizes(0.0), 1e-12 * steps.eigenvalues, rtol=1e-9)


def test_an_aligned_start_is_the_diagonal_of_r():
    weights, vectors = RNG.normal(size=(3, 5)), np.linalg.qr(RNG.normal(size=(5, 5)))[0][:, :3]
    r = np.linalg.qr(weights @ vectors)[1]
    found = aligned_start(jnp.asarray(weights), jnp.asarray(vectors))
    np.testing.assert_allclose(found, np.abs(np.diagonal(r)), rtol=1e-12)


def test_training_from_a_random_small_start_ends_at_the_terminal_weights():
    start = 1e-6 * jnp.asarray(RNG.normal(size=(2, 3)))
    steps = stepwise_times(*arrays(), 2, start)
    (weights,) = embedding_flow(contrastive_matrix(*arrays()), start, 3 * steps.times[-1:])
    ideal, values = terminal_weights(*arrays(), 2)
    np.testing.assert_allclose(values, steps.eigenvalues)
    np.testing.assert_allclose(weights.T @ weights, ideal.T @ ideal, atol=0.01)
    assert float(correlation_loss(contrastive_matrix(*arrays()), ideal)) < 1e-20


def test_a_linear_kernel_has_the_terminal_weights():
    weights, _ = terminal_weights(*arrays(), 2)
    embedded = terminal_embedding(Linear(), *arrays(), 2)(jnp.asarray(X))
    np.testing.assert_allclose(np.abs(embedded), np.abs(X @ weights.T), atol=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: contrastive_matrix(x, y[:5]),
        lambda x, y: contrastive_gram(RBF(1.0), x * jnp.nan, y),
        lambda x, y: terminal_weights(x, -x, 1),
        lambda x, y: terminal_embedding(RBF(1.0), x, y, 0),
        lambda x, y: stepwise_times(x, y, 2, 0.0),
        lambda x, y: stepwise_times(x, y, 2, 10.0),
        lambda x, y: stepwise_times(x, y, 2, jnp.ones((3, 3))),
        lambda x, y: stepwise_times(x, y, 2, jnp.ones((2, 3)), RBF(1.0)),
        lambda x, y: aligned_start(jnp.ones((2, 3)), jnp.ones((3, 3))),
        lambda x, y: embedding_flow(jnp.eye(3), jnp.ones((2, 2)), jnp.ones(1)),
        lambda x, y: embedding_flow(jnp.eye(3), jnp.ones((2, 3)), jnp.array([1.0, 0.5])),
    ],
    ids=range(11),
)
def test_bad_input_is_refused(call):
    with pytest.raises((LemmataError, TypeCheckError)):  # shapes are checked by the types first where these are on
        call(*arrays())
