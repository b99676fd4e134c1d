"""Problems of convolutional machines: shares of known sites, and the first step of Gram matrices away from a prior."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.machines import induced_posterior, pool_grams, rectify_grams, replace_gram
from lemmata.subjects.machines._grams_of_images import RandomImages, arc_cosine
from lemmata.subjects.machines.convolutional_tops import PooledSites, Sites, StiffMachines


def test_the_arc_cosine_of_right_angles_and_of_equal_points():
    found = arc_cosine(np.array([[4.0, 0.0, -2.0], [0.0, 1.0, 0.0], [-2.0, 0.0, 1.0]]))
    np.testing.assert_allclose(found, [[4, 2 / np.pi, 0], [2 / np.pi, 1, 1 / np.pi], [0, 1 / np.pi, 1]], atol=1e-12)


def test_a_convolution_of_one_site_sees_itself_and_zeros():
    problem = RandomImages().sample({"n": 2, "side": 1, "inducing": 3}, jax.random.key(0))
    joint = problem.start
    inducing, cross, variance = problem.parts(problem.convolved(joint, 0))
    p = len(problem.patches)
    np.testing.assert_allclose(variance[:, 0], np.diagonal(joint)[p:] / 9, rtol=1e-12)
    np.testing.assert_allclose(cross[:, 0], joint[p:, :p] @ problem.mixings[0, 1, 1].T / 9, rtol=1e-12)
    expected = sum(c @ joint[:p, :p] @ c.T for c in problem.mixings[0].reshape(9, p, p)) / 9
    np.testing.assert_allclose(inducing, expected, rtol=1e-12)


def test_means_over_two_sites_that_are_equal_or_opposite():
    """One inducing point, then two sites each of two images."""
    points = np.array([[1.0, 0], [2, 1], [2, 1], [1, 3], [-1, -3]])
    problem = PooledSites(points @ points.T, 1, 2)
    np.testing.assert_allclose(problem.exact, [5.0, 0.0])
    np.testing.assert_allclose(problem.mean_variance, [5.0, 10.0])
    expected = {"dropped": [4.0, 0.0], "independent": [4.5, 4.5], "dependent": [5.0, 9.0]}
    for word, values in expected.items():
        np.testing.assert_allclose(pool_grams(problem.carried, residuals=word).variance, values, atol=1e-12)


def test_inducing_points_span_the_sites_where_all_are_spanned():
    population = Sites(spanned=True)
    for seed in range(6):
        problem = population.sample(population.settings().resolve(None), jax.random.key(seed))
        p = problem.inducing
        own, cross = problem.joint[:p, :p], problem.joint[p:, :p]
        np.testing.assert_allclose(cross @ np.linalg.solve(own, cross.T), problem.joint[p:, p:], atol=1e-9)
        assert np.abs(own - np.eye(p)).max() > 0.1


def test_stiff_gram_matrices_step_along_the_slope_of_the_bound():
    """At the maximiser nu (I - (V V')^-1) / 2 = L' (slope in G) L, and V V' - I is about 2/nu times that."""
    population = StiffMachines()
    problem = population.sample(population.settings().resolve(None), jax.random.key(3))
    root = np.linalg.cholesky(problem.grams.inducing)

    def bound(gram: np.ndarray) -> float:
        top = pool_grams(rectify_grams(replace_gram(problem.grams, jnp.asarray(gram))))
        return float(induced_posterior(top, problem.targets, problem.noise).bound)

    p, step = len(root), 1e-5
    slope = np.zeros((p, p))
    for i, j in np.ndindex(p, p):
        move = np.zeros((p, p))
        move[i, j] = move[j, i] = 1.0
        ends = [bound(root @ (np.eye(p) + sign * step * move) @ root.T) for sign in (1, -1)]
        slope[i, j] = (ends[0] - ends[1]) / (2 * step) / (1 if i == j else 2)
    factor, reached = problem.best(1e5)
    np.testing.assert_allclose(1e5 * (factor @ factor.T - np.eye(p)), 2 * slope, rtol=0.01, atol=1e-3)
    assert reached == pytest.approx(bound(root @ factor @ factor.T @ root.T), rel=1e-10)
